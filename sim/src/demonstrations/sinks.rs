//! Defects of sinks and of the outside systems behind them.

use super::{Demonstration, job, plain};
use splitrace_runtime::config::{
    CommitRefusal, CommitScript, FileSinkConfig, JobConfig, LogSinkConfig, NANOS_PER_MILLI, SinkKind,
};
use splitrace_runtime::connectors::file_sink::RollingPolicy;
use splitrace_runtime::defects::Defect;

/// A subtask fails right after its first commit.
const FAILS_AFTER_COMMIT: &[&str] = &["after(visible checkpoint=1 subtask=0) do fail-task"];
/// A subtask fails with a transaction that no checkpoint holds yet.
const FAILS_WITH_OPEN_WORK: &[&str] = &[
    "after(completion-noticed checkpoint=1).after(transaction-written subtask=0) do fail-task vertex=0 subtask=0",
];
/// A commit is done and its reply is lost.
const COMMIT_REPLY_LOST: &[&str] = &["after(visible).before(send-store-reply) do lose"];

fn appending(job: &mut JobConfig) {
    job.sink = SinkKind::Append;
}

fn to_table(job: &mut JobConfig) {
    job.sink = SinkKind::PreparedTable;
}

/// Long splits, of which every other record is written through.
fn writing_often(job: &mut JobConfig) {
    job.sink = SinkKind::Transactional;
    job.vertices[0].source.records_per_split = 100;
    job.vertices[0].task.write_buffer_records = 2;
}

fn writing_often_to_table(job: &mut JobConfig) {
    writing_often(job);
    to_table(job);
    job.vertices[0].task.store_timeout_ns = 50 * NANOS_PER_MILLI;
}

fn to_snapshots(job: &mut JobConfig) {
    job.sink = SinkKind::SnapshotTable;
}

fn to_log(job: &mut JobConfig) {
    job.sink = SinkKind::Log(LogSinkConfig::DEFAULT);
}

fn to_files(job: &mut JobConfig) {
    job.sink =
        SinkKind::Files(FileSinkConfig { policy: RollingPolicy::OnCheckpoint, ..FileSinkConfig::DEFAULT });
}

fn refusing(job: &mut JobConfig, refusal: CommitRefusal) {
    job.vertices[0].task.commit_script = Some(CommitScript { refusal, transaction: Some(1) });
}

/// Their demonstrations.
pub(super) const ALL: &[Demonstration] = &[
    Demonstration {
        defect: Defect::CommitterNotIdempotent,
        story: "a commit is done, its reply is lost, and it is done again",
        scenario: || job(appending, COMMIT_REPLY_LOST),
    },
    Demonstration {
        defect: Defect::TransactionIdsRestart,
        story: "a restarted writer counts its transactions from the start again",
        scenario: || job(plain, FAILS_AFTER_COMMIT),
    },
    Demonstration {
        defect: Defect::FinalBatchDropped,
        story: "the last records of the input are not handed over",
        scenario: || job(plain, &[]),
    },
    Demonstration {
        defect: Defect::UnknownErrorIsSuccess,
        story: "a commit fails for an unknown reason and counts as done",
        scenario: || job(|job| refusing(job, CommitRefusal::UnknownReason), &[]),
    },
    Demonstration {
        defect: Defect::ZombiePrepareAccepted,
        story: "a task manager that is thought dead goes on writing",
        scenario: || {
            job(
                writing_often,
                &[
                    "after(new-split subtask=1) do cut task-manager-1 job-manager 900ms",
                    "after(new-split subtask=1) do cut job-manager task-manager-1 900ms",
                ],
            )
        },
    },
    Demonstration {
        defect: Defect::PreparedLeftInDoubt,
        story: "a subtask fails with a prepared transaction that no checkpoint holds",
        scenario: || {
            job(
                to_table,
                &["after(transaction-durable checkpoint=1 subtask=0) do fail-task vertex=0 subtask=0"],
            )
        },
    },
    Demonstration {
        defect: Defect::WholePrefixRolledBack,
        story: "a restarted subtask rolls back what another one has prepared",
        scenario: || {
            job(
                to_table,
                &[
                    "after(transaction-durable checkpoint=1 subtask=1).before(commit subtask=1) do pause 100ms",
                    "after(checkpoint-complete checkpoint=1) do fail-task vertex=0 subtask=0",
                ],
            )
        },
    },
    Demonstration {
        defect: Defect::UnknownGidIsCommitted,
        story: "a prepare never reaches the table and counts as done",
        scenario: || job(writing_often_to_table, &["after(barrier checkpoint=1 subtask=0) do crash-store"]),
    },
    Demonstration {
        defect: Defect::SnapshotSummaryNotChecked,
        story: "a commit is done, its reply is lost, and its file is added again",
        scenario: || job(to_snapshots, COMMIT_REPLY_LOST),
    },
    Demonstration {
        defect: Defect::LostCommitRetriedAsNew,
        story: "a commit is done, its reply is lost, another one comes in between, and it is made as a new one",
        scenario: || job(to_snapshots, COMMIT_REPLY_LOST),
    },
    Demonstration {
        defect: Defect::ProducerEpochNotBumped,
        story: "a restarted producer keeps its epoch and leaves its open transaction as it is",
        scenario: || job(to_log, FAILS_WITH_OPEN_WORK),
    },
    Demonstration {
        defect: Defect::AppendSequenceNotChecked,
        story: "an append is done, its reply is lost, and it is done again",
        scenario: || job(to_log, &["after(transaction-written).before(send-store-reply) do lose"]),
    },
    Demonstration {
        defect: Defect::LingeringTransactionsLeft,
        story: "a subtask fails with an open transaction, which nobody aborts",
        scenario: || job(to_log, FAILS_WITH_OPEN_WORK),
    },
    Demonstration {
        defect: Defect::RestoredProducerInitialised,
        story: "a restored committer initialises the producer whose transaction it is to commit",
        scenario: || {
            job(to_log, &["after(checkpoint-complete checkpoint=1).before(commit subtask=0) do fail-task"])
        },
    },
    Demonstration {
        defect: Defect::FileNamesRestart,
        story: "a restarted writer begins a file under a name that its predecessor has used",
        scenario: || job(to_files, FAILS_AFTER_COMMIT),
    },
    Demonstration {
        defect: Defect::PendingFileNotSynced,
        story: "a file is handed over before it is durable, and the machine goes down",
        scenario: || job(to_files, &["after(visible checkpoint=1 subtask=0) do crash-store"]),
    },
    Demonstration {
        defect: Defect::CommitGivenUpSilently,
        story: "a commit is refused for now and never tried again",
        scenario: || job(|job| refusing(job, CommitRefusal::Retry(2)), &[]),
    },
];
