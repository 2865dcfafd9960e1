//! The experiment of Flink's demo job: 4 splits of 40 records, parallelism 2, one record per 80 ms and subtask, a
//! checkpoint every second, restart delay 1 s, and in the `fail` modes a failure at record 80.
//!
//! Recorded runs of the real job exist for most modes; a test compares each of them with ours, so a mode here is told by
//! what user code does (see [`modes`]) and never by what is to come out of it.

mod mode;
mod modes;

pub use mode::DemoMode;

use super::{Limits, NetworkConfig, NetworkSemantics, Scenario};
use splitrace_runtime::config::*;
use splitrace_runtime::ids::{JobId, LineageId, OperatorUid};

/// What may be varied in a demo. What is `None` is the mode's own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DemoOptions {
    /// The record at which the `fail` modes fail.
    pub fail_at_record: Option<u64>,
    /// At which moment of its journey.
    pub moment: FailureMoment,
    /// Milliseconds between two records of a reader.
    pub delay_ms: u64,
    /// Milliseconds between two checkpoints.
    pub interval_ms: u64,
    /// Milliseconds between a failure and the restart.
    pub restart_delay_ms: u64,
    /// How many restarts the job has in all.
    pub restart_attempts: u32,
    /// How many splits.
    pub splits: u32,
    /// How many records each has.
    pub records_per_split: u64,
    /// How many subtasks.
    pub parallelism: u32,
    /// How many subtasks the job has when it is submitted again.
    pub second_parallelism: u32,
    /// Whether the enumerator deals the splits out, in every mode.
    pub push: bool,
    /// Whether records are dealt out to the writers through an exchange.
    pub shuffle: bool,
    /// Whether barriers overtake buffers in that exchange.
    pub unaligned: bool,
    /// How many subtasks the committers have in a vertex of their own; 0 where each follows its writer in one chain.
    pub committers: u32,
    /// Whether one global committer takes their place.
    pub global_committer: bool,
    /// Whether the committer of `commit-flaky` replaces the committable with each signal.
    pub commit_updates: bool,
    /// `sink.committer.retries` of the job's configuration.
    pub commit_retries: u32,
    /// The longest trip through the network, in milliseconds; with 0 nothing takes any time.
    pub latency_ms: u64,
    /// After so many seconds an endless job is cancelled.
    pub seconds: u64,
    /// A file that is so old is closed at the next check, in milliseconds.
    pub rollover_interval_ms: u64,
    /// Milliseconds between two checks.
    pub bucket_check_interval_ms: u64,
    /// A file that is larger is closed.
    pub part_size_bytes: u64,
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self {
            fail_at_record: None,
            moment: FailureMoment::Read,
            delay_ms: 80,
            interval_ms: 1_000,
            restart_delay_ms: 1_000,
            restart_attempts: 3,
            splits: 4,
            records_per_split: 40,
            parallelism: 2,
            second_parallelism: 3,
            push: false,
            shuffle: false,
            unaligned: false,
            committers: 0,
            global_committer: false,
            commit_updates: false,
            commit_retries: 10,
            latency_ms: 9,
            seconds: 9,
            rollover_interval_ms: 60_000,
            bucket_check_interval_ms: 60_000,
            part_size_bytes: 128 << 20,
        }
    }
}

impl DemoOptions {
    /// What a mode runs with when nothing is varied: the recorded job's settings.
    #[must_use]
    pub fn of(mode: DemoMode) -> Self {
        let endless =
            Self { delay_ms: 100, interval_ms: 2_000, splits: 1, parallelism: 1, ..Self::default() };
        match mode {
            DemoMode::FilesinkDefault => Self { seconds: 131, ..endless },
            DemoMode::FilesinkOncheckpoint => Self { seconds: 25, ..endless },
            _ => Self::default(),
        }
    }
}

const SECOND_NS: u64 = 1_000 * NANOS_PER_MILLI;
/// Nothing may take longer than this without being stuck.
const PATIENCE_NS: u64 = 40 * SECOND_NS;

impl Scenario {
    /// The demo in a mode.
    #[must_use]
    pub fn demo(mode: DemoMode, options: DemoOptions) -> Self {
        let bounded = !mode.is_endless();
        let restart_delay_ns = options.restart_delay_ms.saturating_mul(NANOS_PER_MILLI);
        Self {
            cancel_after_ns: (!bounded).then_some(options.seconds.saturating_mul(SECOND_NS)),
            savepoint_after_checkpoints: None,
            plan: Vec::new(),
            resubmission: mode.resubmission(options),
            limits: demo_limits(options),
            network: demo_network(options),
            faults: mode.faults(),
            job: JobConfig {
                job: JobId(0),
                lineage: LineageId(0),
                vertices: vec![demo_vertex(mode, options)],
                checkpointing: mode.has_checkpoints().then_some(CheckpointConfig {
                    interval_ns: options.interval_ms.saturating_mul(NANOS_PER_MILLI),
                    timeout_ns: 10 * SECOND_NS,
                    pause_min_ns: 0,
                    concurrent_max: 1,
                    failures_tolerable: mode.failures_tolerable(),
                    retained_max: 1,
                    after_tasks_finish: mode != DemoMode::FinalOff,
                    blocked_events_max: None,
                }),
                restart: RestartConfig::FixedDelay {
                    delay_ns: restart_delay_ns,
                    attempts_max: options.restart_attempts,
                },
                region: RegionScope::Subtask,
                task_managers: 2,
                slots_per_task_manager: None,
                heartbeat: HeartbeatConfig { interval_ns: 2 * SECOND_NS, timeout_ns: 10 * SECOND_NS },
                high_availability_timeout_ns: JobConfig::HIGH_AVAILABILITY_TIMEOUT_NS,
                sink: mode.sink(options),
                defects: mode.defects(),
            },
        }
    }
}

/// Far more than the settings let a job take, with every restart.
fn demo_limits(options: DemoOptions) -> Limits {
    let records = u64::from(options.splits).saturating_mul(options.records_per_split);
    let reading_ns = records.saturating_mul(options.delay_ms).saturating_mul(NANOS_PER_MILLI);
    let endless_ns = options.seconds.saturating_mul(SECOND_NS);
    let virtual_time_max_ns = (120 * SECOND_NS).saturating_add(reading_ns.max(endless_ns).saturating_mul(3));
    let checkpoints = virtual_time_max_ns / options.interval_ms.max(1).saturating_mul(NANOS_PER_MILLI);
    let endless_records = 1_000 * options.seconds / options.delay_ms.max(1) * u64::from(options.parallelism);
    Limits {
        steps_max: 200_000 + 50 * records.max(endless_records) + 200 * checkpoints,
        virtual_time_max_ns,
        no_progress_max_ns: PATIENCE_NS,
        settle_ns: SECOND_NS / 2,
    }
}

/// How the reader of a mode waits, and what it waits for.
fn demo_reader(mode: DemoMode) -> (ReaderKind, Option<Stall>) {
    let fetchers = FetcherConfig { threading: FetcherThreading::Multiplexed, queue_capacity: 2 };
    let stall = Stall { record: 60, for_ns: 12 * SECOND_NS };
    match mode {
        DemoMode::Fetcher | DemoMode::WatermarkAlignment => (ReaderKind::Fetchers(fetchers), None),
        DemoMode::BlockingReader => (ReaderKind::Blocking, Some(stall)),
        DemoMode::BlockedFetcher => (ReaderKind::Fetchers(fetchers), Some(stall)),
        _ => (ReaderKind::Direct, None),
    }
}

fn demo_vertex(mode: DemoMode, options: DemoOptions) -> VertexConfig {
    let push = options.push || mode.is_push();
    let (reader, stall) = demo_reader(mode);
    let (event_time, alignment) = mode.event_time(options);
    VertexConfig {
        operator: OperatorUid(0),
        parallelism: options.parallelism,
        source: SourceConfig {
            split_count: options.splits,
            records_per_split: options.records_per_split,
            policy: if push { AssignmentPolicy::Push } else { AssignmentPolicy::Pull },
            bounded: !mode.is_endless(),
            script: mode.script(),
            discovery: mode.discovery(),
        },
        task: TaskConfig {
            record_interval_ns: options.delay_ms.saturating_mul(NANOS_PER_MILLI),
            filter_every: 0,
            user_failure: mode.user_failure(options),
            checkpoint_failure: mode.checkpoint_failure(),
            write_buffer_records: 16,
            commit_retries_max: options.commit_retries,
            commit_script: mode.commit_script(options),
            commit_back_off_ns: mode.commit_back_off_ns(),
            store_timeout_ns: SECOND_NS,
            reader,
            stall,
            event_time,
            alignment,
        },
        files: None,
        log: None,
        coordinated: None,
        exchange: (options.shuffle || options.unaligned).then_some(ExchangeConfig {
            edge: EdgeKind::Rebalance,
            parallelism: options.parallelism,
            credit: 2,
            unaligned: options.unaligned,
        }),
        topology: demo_topology(options),
    }
}

fn demo_topology(options: DemoOptions) -> SinkTopologyConfig {
    let global = options.global_committer;
    let parallelism = if global { 1 } else { options.committers };
    let committers = (parallelism > 0).then_some(CommittersConfig { parallelism, credit: 2, global });
    SinkTopologyConfig { committers }
}

fn demo_network(options: DemoOptions) -> NetworkConfig {
    let latency_ns = options.latency_ms.saturating_mul(NANOS_PER_MILLI);
    let latency_min_ns = NANOS_PER_MILLI.min(latency_ns);
    NetworkConfig {
        semantics: NetworkSemantics::UnorderedDuplicating,
        latency_min_ns,
        latency_jitter_ns: latency_ns - latency_min_ns,
        service_jitter_ns: if latency_ns == 0 { 0 } else { 20 * NANOS_PER_MILLI },
        resend_after_ns: 200 * NANOS_PER_MILLI,
        resend_max: 8,
        serialise: false,
    }
}
