//! The experiment of Flink's demo job: 4 splits of 40 records, parallelism 2, one record per 80 ms and subtask, a
//! checkpoint every second, restart delay 1 s, and in the `fail` modes a failure at record 80.

use super::{FaultConfig, Limits, NetworkConfig, NetworkSemantics, Scenario};
use serde::{Deserialize, Serialize};
use splitrace_runtime::config::*;
use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_runtime::ids::{JobId, LineageId, OperatorUid};

/// A variant of the experiment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DemoMode {
    /// Nothing fails; readers ask for splits.
    Normal,
    /// Nothing fails; the enumerator deals the splits out.
    Push,
    /// One task fails once.
    Fail,
    /// As `fail`, with transaction ids that start again and a committer that is not idempotent.
    FailNaive,
    /// As `fail`, with transaction ids that start again and an idempotent committer.
    FailNaiveIdsIdempotent,
    /// The committer commits before the checkpoint is complete and is not idempotent; a task fails while committing.
    CommitEarly,
    /// No checkpoints: one commit at the end.
    Nockpt,
    /// No checkpoints, and a failure.
    NockptFail,
    /// No checkpoints and no end: cancelled after a while.
    NockptUnbounded,
    /// Nothing fails; the readers have a split fetcher each.
    Fetcher,
    /// The outside is silent for 12 s, and the reader waits for it inside its poll: a checkpoint times out.
    BlockingReader,
    /// The outside is silent for 12 s, and a split fetcher waits for it: checkpoints go on.
    BlockedFetcher,
}

/// What may be varied in a demo.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DemoOptions {
    /// The record at which the `fail` modes fail.
    pub fail_at_record: u64,
    /// At which moment of its journey.
    pub moment: FailureMoment,
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self { fail_at_record: 80, moment: FailureMoment::Read }
    }
}

const SECOND_NS: u64 = 1_000 * NANOS_PER_MILLI;

impl Scenario {
    /// The demo in a mode.
    #[must_use]
    pub fn demo(mode: DemoMode, options: DemoOptions) -> Self {
        let fails = matches!(
            mode,
            DemoMode::Fail
                | DemoMode::FailNaive
                | DemoMode::FailNaiveIdsIdempotent
                | DemoMode::NockptFail
                | DemoMode::CommitEarly
        );
        let checkpoints =
            !matches!(mode, DemoMode::Nockpt | DemoMode::NockptFail | DemoMode::NockptUnbounded);
        let bounded = mode != DemoMode::NockptUnbounded;
        let defects: DefectSet = match mode {
            DemoMode::FailNaive => {
                [Defect::TransactionIdsRestart, Defect::CommitterNotIdempotent].into_iter().collect()
            }
            DemoMode::FailNaiveIdsIdempotent => DefectSet::NONE.with(Defect::TransactionIdsRestart),
            // Early alone is seen by C3; that nobody looks whether the name is there makes the harm visible to C1 too.
            DemoMode::CommitEarly => {
                [Defect::CommitBeforeComplete, Defect::CommitterNotIdempotent].into_iter().collect()
            }
            _ => DefectSet::NONE,
        };
        let user_failure = fails.then_some(UserFailure {
            record: options.fail_at_record,
            attempts_below: 1,
            moment: options.moment,
        });
        let (reader, stall) = demo_reader(mode);
        let policy = if mode == DemoMode::Push { AssignmentPolicy::Push } else { AssignmentPolicy::Pull };
        Self {
            cancel_after_ns: (!bounded).then_some(9 * SECOND_NS),
            limits: Limits {
                steps_max: 200_000,
                virtual_time_max_ns: 120 * SECOND_NS,
                no_progress_max_ns: 40 * SECOND_NS,
                settle_ns: SECOND_NS / 2,
            },
            network: demo_network(),
            faults: FaultConfig::NONE,
            job: JobConfig {
                job: JobId(0),
                lineage: LineageId(0),
                vertices: vec![demo_vertex(policy, bounded, user_failure, reader, stall)],
                checkpointing: checkpoints.then_some(CheckpointConfig {
                    interval_ns: SECOND_NS,
                    timeout_ns: 10 * SECOND_NS,
                    pause_min_ns: 0,
                    concurrent_max: 1,
                    // What a silent outside costs is to be seen, not to end the job.
                    failures_tolerable: if stall.is_some() { 3 } else { 0 },
                    after_tasks_finish: true,
                }),
                restart: RestartConfig { delay_ns: SECOND_NS, attempts_max: 3 },
                region: RegionScope::Subtask,
                task_managers: 2,
                heartbeat: HeartbeatConfig { interval_ns: 2 * SECOND_NS, timeout_ns: 10 * SECOND_NS },
                sink: SinkKind::Append,
                defects,
            },
        }
    }
}

/// How the reader of a mode waits, and what it waits for.
fn demo_reader(mode: DemoMode) -> (ReaderKind, Option<Stall>) {
    let fetchers = FetcherConfig { threading: FetcherThreading::Multiplexed, queue_capacity: 2 };
    let stall = Stall { record: 60, for_ns: 12 * SECOND_NS };
    match mode {
        DemoMode::Fetcher => (ReaderKind::Fetchers(fetchers), None),
        DemoMode::BlockingReader => (ReaderKind::Blocking, Some(stall)),
        DemoMode::BlockedFetcher => (ReaderKind::Fetchers(fetchers), Some(stall)),
        _ => (ReaderKind::Direct, None),
    }
}

fn demo_vertex(
    policy: AssignmentPolicy,
    bounded: bool,
    user_failure: Option<UserFailure>,
    reader: ReaderKind,
    stall: Option<Stall>,
) -> VertexConfig {
    VertexConfig {
        operator: OperatorUid(0),
        parallelism: 2,
        source: SourceConfig { split_count: 4, records_per_split: 40, policy, bounded },
        task: TaskConfig {
            record_interval_ns: 80 * NANOS_PER_MILLI,
            filter_every: 0,
            user_failure,
            write_buffer_records: 16,
            commit_retries_max: 10,
            store_timeout_ns: SECOND_NS,
            reader,
            stall,
        },
        coordinated: None,
    }
}

fn demo_network() -> NetworkConfig {
    NetworkConfig {
        semantics: NetworkSemantics::UnorderedDuplicating,
        latency_min_ns: NANOS_PER_MILLI,
        latency_jitter_ns: 8 * NANOS_PER_MILLI,
        service_jitter_ns: 20 * NANOS_PER_MILLI,
        resend_after_ns: 200 * NANOS_PER_MILLI,
        resend_max: 8,
        serialise: false,
    }
}
