//! Defects of log sources, and of what a job finds again that was ended and submitted anew.

use super::{Demonstration, job, scenario};
use crate::scenario::{DemoMode, DemoOptions, Ending, Resubmission, Scenario};
use splitrace_runtime::api::log_io::IsolationLevel;
use splitrace_runtime::config::*;
use splitrace_runtime::defects::Defect;

/// A topic of short transactions, every other of which is aborted, and partitions that come one by one.
fn reading_a_log(job: &mut JobConfig) {
    let vertex = &mut job.vertices[0];
    vertex.source.policy = AssignmentPolicy::Push;
    vertex.task.reader =
        ReaderKind::Fetchers(FetcherConfig { threading: FetcherThreading::Multiplexed, queue_capacity: 2 });
    let upstream = UpstreamConfig {
        transaction_records: 3,
        transaction_ns: 12 * NANOS_PER_MILLI,
        aborted_every: 2,
        partition_interval_ns: 15 * NANOS_PER_MILLI,
        committed: None,
    };
    vertex.log = Some(LogSourceConfig {
        start: StartPosition::Earliest,
        stop_offset: Some(crate::outside::input::topic::end_offset(
            vertex.source.records_per_split,
            upstream,
        )),
        discovery_period_ns: 10 * NANOS_PER_MILLI,
        reader: LogReaderConfig {
            topic: 0,
            fetch_records_max: 4,
            poll_ns: 3 * NANOS_PER_MILLI,
            isolation: IsolationLevel::ReadCommitted,
        },
        upstream,
    });
}

fn to_log(job: &mut JobConfig) {
    job.sink = SinkKind::Log(LogSinkConfig::DEFAULT);
}

/// The job is cancelled a while after its first checkpoint and comes back with one subtask.
fn scaled_down(scenario: &mut Scenario, delay_ns: u64) {
    scenario.job.vertices[0].parallelism = 2;
    scenario.job.sink = SinkKind::Transactional;
    scenario.resubmission = Some(Resubmission {
        after_checkpoints: 1,
        ending: Ending::Cancel,
        delay_ns,
        older_by: 0,
        parallelism: 1,
        pause_ns: 20 * NANOS_PER_MILLI,
    });
}

fn committers_apart(scenario: &mut Scenario) {
    scaled_down(scenario, NANOS_PER_MILLI);
    scenario.job.sink = SinkKind::Append;
    scenario.job.vertices[0].topology.committers =
        Some(CommittersConfig { parallelism: 2, credit: 2, global: false });
}

/// Files that are closed when they are two seconds old, in a job of a minute.
fn closing_old_files() -> Scenario {
    let options = DemoOptions {
        rollover_interval_ms: 2_000,
        bucket_check_interval_ms: 1_000,
        ..DemoOptions::of(DemoMode::FilesinkDefault)
    };
    let mut scenario = Scenario::demo(DemoMode::FilesinkDefault, options);
    scenario.cancel_after_ns = None;
    scenario.faults.heal_after_ns = 12_000 * NANOS_PER_MILLI;
    let source = &mut scenario.job.vertices[0].source;
    (source.bounded, source.records_per_split) = (true, 600);
    scenario.plan = vec!["after(records-emitted record=100) do fail-task".parse().expect("a step")];
    scenario.validate().expect("a demonstration is a valid scenario");
    scenario
}

/// Their demonstrations.
pub(super) const ALL: &[Demonstration] = &[
    Demonstration {
        defect: Defect::HashMapOrderLeaks,
        story: "an enumerator hands its splits out in the order of a hash map, another one in each run",
        scenario: || job(|job| job.vertices[0].source.split_count = 16, &[]),
    },
    Demonstration {
        defect: Defect::ReaderBeyondStableOffset,
        story: "a reader takes records of transactions that are open, or aborted later",
        scenario: || job(reading_a_log, &[]),
    },
    Demonstration {
        defect: Defect::DiscoveredPartitionsForgotten,
        story: "a leader dies, and the restored enumerator finds the same partitions once more",
        scenario: || job(reading_a_log, &["after(checkpoint-complete checkpoint=1) do crash-job-manager"]),
    },
    Demonstration {
        defect: Defect::TransactionTimeoutTooShort,
        story: "a commit comes so late that the log has aborted its transaction",
        scenario: || {
            job(to_log, &["after(checkpoint-complete checkpoint=1).before(commit subtask=0) do pause 700ms"])
        },
    },
    Demonstration {
        defect: Defect::OwnTransactionsOnly,
        story: "a job comes back with one subtask, and what the other one had prepared stays",
        scenario: || {
            scenario(
                |scenario| scaled_down(scenario, 60 * NANOS_PER_MILLI),
                &["before(send-acknowledge checkpoint=2 subtask=0) do delay 300ms"],
            )
        },
    },
    Demonstration {
        defect: Defect::VanishedCommittersForgotten,
        story: "a job comes back with one committer, and what the other one held is dealt to nobody",
        scenario: || {
            scenario(
                committers_apart,
                &[
                    "before(send-completion-notice subtask=1) do lose",
                    "before(send-completion-notice subtask=1 nth=2) do lose",
                ],
            )
        },
    },
    Demonstration {
        defect: Defect::BucketChecksEndAtRestart,
        story: "a restored writer never looks whether its files are old enough to be closed",
        scenario: closing_old_files,
    },
];
