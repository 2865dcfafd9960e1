//! Bugs of the sink side that other systems have had: of writers, of committers, and of what a task makes of its end.

use super::{Demonstration, job, plain, scenario};
use crate::scenario::{Ending, Resubmission, Scenario};
use splitrace_runtime::config::{FileSinkConfig, JobConfig, LogSinkConfig, NANOS_PER_MILLI, SinkKind};
use splitrace_runtime::connectors::file_sink::RollingPolicy;
use splitrace_runtime::defects::Defect;

/// The first checkpoint is complete, and a task that has not heard of it dies.
const UNHEARD: &[&str] = &["after(checkpoint-complete checkpoint=1) do fail-task vertex=0 subtask=1"];
/// A commit is made, and the task that asked for it dies before it hears of that.
const UNANSWERED: &[&str] = &["after(visible subtask=1) do fail-task vertex=0 subtask=1"];

/// A job with this sink.
fn into(sink: SinkKind) -> impl FnOnce(&mut JobConfig) {
    move |job| job.sink = sink
}

fn log(job: &mut JobConfig) {
    job.sink = SinkKind::Log(LogSinkConfig::DEFAULT);
}

/// Files, each closed at the next checkpoint, in so many folders.
fn files(buckets: u32) -> impl FnOnce(&mut JobConfig) {
    let policy = RollingPolicy::OnCheckpoint;
    into(SinkKind::Files(FileSinkConfig { policy, buckets, ..FileSinkConfig::DEFAULT }))
}

/// Four times as many records.
fn longer(job: &mut JobConfig) {
    job.vertices[0].source.records_per_split = 40;
}

/// The job is cancelled and submitted again with so many subtasks, from a checkpoint that many before the latest.
fn resubmitted(vary: impl FnOnce(&mut JobConfig), parallelism: u32, older_by: u32) -> Scenario {
    let resubmission = Resubmission {
        after_checkpoints: 1 + older_by,
        ending: Ending::Cancel,
        // The latest checkpoint is committed by then.
        delay_ns: 20 * NANOS_PER_MILLI,
        older_by,
        parallelism,
        pause_ns: 20 * NANOS_PER_MILLI,
    };
    let vary = |scenario: &mut Scenario| {
        vary(&mut scenario.job);
        scenario.resubmission = Some(resubmission);
    };
    scenario(vary, &[])
}

/// Their demonstrations.
pub(super) const ALL: &[Demonstration] = &[
    Demonstration {
        defect: Defect::SecondEndOfInputRejected,
        story: "a task dies when a checkpoint that holds its last batch is complete, and its next life comes to the end, too",
        scenario: || {
            let dies = "after(end-of-input subtask=1).after(acknowledged subtask=1).after(checkpoint-complete) do \
                        fail-task vertex=0 subtask=1";
            job(plain, &[dies])
        },
    },
    Demonstration {
        defect: Defect::EndOfInputMagicId,
        story: "a checkpoint whose barrier came before the end of the input completes behind it",
        scenario: || job(plain, &["before(send-acknowledge checkpoint=1 subtask=0) do delay 100ms"]),
    },
    Demonstration {
        defect: Defect::RestoredCheckpointLost,
        story: "a task dies before it hears that a checkpoint is complete, and restores what it is to commit",
        scenario: || job(plain, UNHEARD),
    },
    Demonstration {
        defect: Defect::OneEntryPerCheckpoint,
        story: "two subtasks have committables in a checkpoint from which a job goes on with one",
        scenario: || resubmitted(longer, 1, 0),
    },
    Demonstration {
        defect: Defect::OnlyNoticedCommitted,
        story: "the notice of a checkpoint is lost, and that of the next one comes",
        scenario: || job(plain, &["before(send-completion-notice checkpoint=1 subtask=1) do lose"]),
    },
    Demonstration {
        defect: Defect::NoCheckpointBesideFinished,
        story: "of two tasks that have come to their end one hears that the last checkpoint is complete, and leaves",
        scenario: || {
            let lost = "after(end-of-input subtask=1).before(send-completion-notice subtask=1) do lose";
            job(plain, &[lost])
        },
    },
    Demonstration {
        defect: Defect::CloseAbortsHandedOver,
        story: "writers come to their end and are closed before the last checkpoint is complete",
        scenario: || job(log, &[]),
    },
    Demonstration {
        defect: Defect::SupersededTransactionsLeft,
        story: "a task dies with two transactions that no completed checkpoint holds",
        scenario: || {
            let plan = [
                "before(send-acknowledge checkpoint=1 subtask=0) do delay 150ms",
                "after(prepare-commit checkpoint=2 subtask=1) do fail-task",
            ];
            let concurrent = |job: &mut JobConfig| {
                log(job);
                longer(job);
                job.checkpointing.as_mut().expect("it has checkpoints").concurrent_max = 2;
            };
            job(concurrent, &plan)
        },
    },
    Demonstration {
        defect: Defect::WriteErrorSwallowed,
        story: "the log never hears of an append",
        scenario: || job(log, &["before(send-store-call subtask=1 nth=4) do lose"]),
    },
    Demonstration {
        defect: Defect::RepeatedCommitIsError,
        story: "a commit is made, its answer is not heard, and a restart makes it again",
        scenario: || job(plain, UNANSWERED),
    },
    Demonstration {
        defect: Defect::LabelsLeftBehind,
        story: "a task dies when it has prepared a transaction, and its next life begins one of that name",
        scenario: || {
            let dies = "after(prepare-commit checkpoint=1 subtask=1) do fail-task";
            job(into(SinkKind::Transactional), &[dies])
        },
    },
    Demonstration {
        defect: Defect::TailNotReadBack,
        story: "a task dies with a file open that a completed checkpoint goes on with",
        scenario: || job(into(SinkKind::Files(FileSinkConfig::DEFAULT)), UNHEARD),
    },
    Demonstration {
        defect: Defect::DedupeKeyOfThisLife,
        story: "a commit is made, its answer is not heard, and a restart looks for it under another name",
        scenario: || job(into(SinkKind::SnapshotTable), UNANSWERED),
    },
    Demonstration {
        defect: Defect::CommittedSoughtOnRetryOnly,
        story: "a commit is made, its answer is not heard, and a restart takes it for a first one",
        scenario: || job(into(SinkKind::SnapshotTable), UNANSWERED),
    },
    Demonstration {
        defect: Defect::HighWaterMarkFilter,
        story: "a job goes on from an older checkpoint, so that numbers come again",
        scenario: || {
            let retaining = |job: &mut JobConfig| {
                job.sink = SinkKind::SnapshotTable;
                longer(job);
                job.checkpointing.as_mut().expect("it has checkpoints").retained_max = 2;
            };
            resubmitted(retaining, 2, 1)
        },
    },
    Demonstration {
        defect: Defect::LateCommittableIgnored,
        story: "one subtask commits a checkpoint before another has heard of the one before it",
        scenario: || {
            let plan = [
                "before(send-completion-notice checkpoint=1 subtask=1) do lose",
                "before(send-completion-notice checkpoint=2 subtask=1) do delay 20ms",
            ];
            job(into(SinkKind::SnapshotTable), &plan)
        },
    },
    Demonstration {
        defect: Defect::FinishedFileIsError,
        story: "a file is made visible, the answer is not heard, and a restart makes it visible again",
        scenario: || job(files(1), UNANSWERED),
    },
    Demonstration {
        defect: Defect::RecommitEndsAtFirstDone,
        story: "of two files one becomes visible before the task dies, and its next life has no answer about the other",
        scenario: || {
            let plan = [
                "after(commit subtask=1).before(send-store-call subtask=1 nth=2) do lose",
                "after(visible subtask=1) do fail-task vertex=0 subtask=1",
                "after(recommit subtask=1).before(send-store-call subtask=1 nth=2) do lose",
            ];
            job(files(2), &plan)
        },
    },
    Demonstration {
        defect: Defect::FinalCheckpointNotAwaited,
        story: "tasks come to their end, and nothing fails",
        scenario: || job(plain, &[]),
    },
    Demonstration {
        defect: Defect::ReplayUnderNewIdentity,
        story: "a commit is made, its answer is not heard, and a restart makes it again under another name",
        scenario: || job(plain, UNANSWERED),
    },
];
