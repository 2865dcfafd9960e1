//! Scenarios drawn from a seed, swarm fashion: each seed switches features and faults on or off and weights them, so that
//! campaigns reach combinations that one fixed mix never would.

mod faults;
mod input;
mod plan;
mod sink;

use super::weaker_modes::weaken;
use super::{Ending, Limits, NetworkConfig, NetworkSemantics, Resubmission, Scenario};
use crate::choices::{ChoiceKind, Choices, Draw, Label, SeedChoices, Subject};
use faults::{draw_faults, expected_duration_ns};
use input::draw_input;
use sink::{draw_sink, draw_topology};
use splitrace_runtime::config::*;
use splitrace_runtime::defects::DefectSet;
use splitrace_runtime::ids::{JobId, LineageId, OperatorUid, WatermarkGroup};

/// Draws numbered properties; each property has a stream of its own, so adding one changes no other.
pub(super) struct Drawer<C> {
    choices: C,
}

impl<C: Choices> Drawer<C> {
    pub(super) fn below(&mut self, property: Property, count: u64) -> u64 {
        let label = Label::new(ChoiceKind::Scenario, Subject::Number(property as u32));
        self.choices.choose(label, Draw::Below(count))
    }

    pub(super) fn within(&mut self, property: Property, least: u64, most: u64) -> u64 {
        debug_assert!(least <= most, "a range has a least and a most");
        least + self.below(property, most - least + 1)
    }

    /// True in `percent` of 100.
    pub(super) fn percent(&mut self, property: Property, percent: u64) -> bool {
        self.permille(property, percent * 10)
    }

    /// True in `permille` of 1000.
    pub(super) fn permille(&mut self, property: Property, permille: u64) -> bool {
        // The benign value 0 means 'off'.
        self.below(property, 1_000) >= 1_000 - permille
    }
}

/// The drawn properties. Append only: a number is a stream.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(super) enum Property {
    Vertices,
    Coordinated,
    Parallelism,
    Splits,
    Records,
    Policy,
    RecordInterval,
    Filter,
    WriteBuffer,
    CheckpointInterval,
    CheckpointTimeout,
    Concurrent,
    Pause,
    RestartDelay,
    Region,
    TaskManagers,
    Sink,
    Semantics,
    Jitter,
    Serialise,
    JobManagerCrashes,
    TaskManagerCrashes,
    TaskFailures,
    Partitions,
    FrameFaults,
    FrameOdds,
    Pauses,
    Outside,
    Windows,
    Second,
    Zombies,
    Batch,
    Skew,
    Heal,
    EventCount,
    Resends,
    OutsideOdds,
    NoCheckpoints,
    NoFinalCheckpoint,
    Unbounded,
    CancelTime,
    FewRestarts,
    RestartAttempts,
    UserFailure,
    UserFailureRecord,
    UserFailureMoment,
    UserFailureAttempts,
    FavouredWindow,
    Fetchers,
    FetcherThreads,
    QueueCapacity,
    RestartStrategy,
    Retained,
    Resubmission,
    ResubmissionAfter,
    ResubmissionParallelism,
    ResubmissionOlder,
    Reassignment,
    ResubmissionEnding,
    Savepoint,
    SavepointAfter,
    ResubmissionDelay,
    Alignment,
    AlignmentDrift,
    AlignmentPeriod,
    AlignmentSkew,
    SlowSource,
    Exchange,
    ExchangeEdge,
    ExchangeParallelism,
    ExchangeCredit,
    AssignsInSnapshot,
    Returned,
    SignalsEveryone,
    EnumeratorFailure,
    EnumeratorFailureAt,
    Unaligned,
    Slots,
    SpareSlots,
    BlockedEvents,
    BlockedEventsMax,
    CommitScript,
    CommitRefusals,
    CommitTransaction,
    Discovery,
    DiscoveryDelay,
    DiscoveryOnce,
    DiscoveryPeriod,
    DiscoverySplits,
    DiscoveryFailing,
    DiscoveryLook,
    RollsOnCheckpoint,
    BulkFormat,
    PartSize,
    RolloverInterval,
    InactivityInterval,
    BucketCheckInterval,
    Buckets,
    StoreCrashes,
    ReadsFiles,
    BlockBytes,
    ChunkBytes,
    FileQueue,
    LogPartitions,
    Committers,
    CommittersParallelism,
    CommittersCredit,
    ReadsLog,
    UpstreamRecords,
    UpstreamAborts,
    PartitionInterval,
    StartsLater,
    StartOffset,
    PartitionDiscovery,
    FetchRecords,
    FetchPoll,
    InObjectStore,
    GlobalCommitter,
    Plan,
    PlanPoint,
    PlanNth,
    PlanSide,
    PlanAction,
    PlanSpan,
    Clogs,
    Swizzles,
    SlowLinks,
    ProcessStops,
    ClockSteps,
    ClockDrift,
    SlowClose,
    SkewLength,
    Compaction,
    CompactionEvery,
    CompletionFailure,
    CompletionFailureAt,
}

impl Scenario {
    /// The default draw of a seed.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        Self::draw_from(SeedChoices::new(seed))
    }

    /// A scenario from any source of choices; all zeros give a small tame one.
    #[must_use]
    pub fn draw_from(choices: impl Choices) -> Self {
        let mut drawer = Drawer { choices };
        let mut job = draw_job(&mut drawer);
        let network = draw_network(&mut drawer);
        let savepoint = drawer.percent(Property::Savepoint, 10);
        let savepoint_after = drawer.within(Property::SavepointAfter, 1, 4) as u32;
        let savepoint_after_checkpoints = savepoint.then_some(savepoint_after);
        let faults = draw_faults(&mut drawer, expected_duration_ns(&job, &network));
        let cancel_after_ns = weaken(&mut drawer, &mut job, &faults);
        let resubmission = draw_resubmission(&mut drawer, &job);
        let second_ns = 1_000 * NANOS_PER_MILLI;
        let mut scenario = Self {
            cancel_after_ns,
            savepoint_after_checkpoints,
            resubmission,
            plan: plan::draw_plan(&mut drawer, &network),
            limits: Limits {
                steps_max: 100_000,
                virtual_time_max_ns: 300 * second_ns,
                no_progress_max_ns: 10 * second_ns,
                settle_ns: 300 * NANOS_PER_MILLI,
            },
            network,
            faults,
            job,
        };
        draw_input(&mut drawer, &mut scenario.job.vertices);
        scenario.job.slots_per_task_manager = draw_slots(&mut drawer, &scenario);
        scenario
    }
}

/// Some jobs count slots, and mostly have hardly one to spare: a lost task manager is waited for then.
fn draw_slots<C: Choices>(drawer: &mut Drawer<C>, scenario: &Scenario) -> Option<u32> {
    let are_counted = drawer.percent(Property::Slots, 25);
    let spare = drawer.below(Property::SpareSlots, 2) as u32;
    are_counted.then(|| scenario.widest().div_ceil(scenario.job.task_managers) + spare)
}

/// Some gateways keep back only so many events: more than are sent while a checkpoint goes well, and fewer than while one
/// is held up.
fn draw_blocked_events_max<C: Choices>(drawer: &mut Drawer<C>) -> Option<u32> {
    let is_bounded = drawer.percent(Property::BlockedEvents, 25);
    let max = drawer.within(Property::BlockedEventsMax, 10, 20) as u32;
    is_bounded.then_some(max)
}

fn draw_job<C: Choices>(drawer: &mut Drawer<C>) -> JobConfig {
    let vertex_count = 1 + u64::from(drawer.percent(Property::Vertices, 15));
    let coordinated = drawer.percent(Property::Coordinated, 20);
    let exchanges = drawer.percent(Property::Exchange, 20);
    let vertices: Vec<VertexConfig> =
        (0..vertex_count).map(|index| draw_vertex(drawer, index, coordinated && index == 0)).collect();
    let mut vertices = draw_alignment(drawer, vertices);
    let topology = draw_topology(drawer);
    let failure = draw_completion_failure(drawer, vertices.len());
    for vertex in &mut vertices {
        vertex.source.script.failure = vertex.source.script.failure.or(failure);
        vertex.exchange = exchanges.then(|| draw_exchange(drawer, vertex.parallelism));
        vertex.topology = topology;
    }
    let unaligned = vertices.iter().any(VertexConfig::has_unaligned_exchange);
    let concurrent_max = 1 + drawer.below(Property::Concurrent, 3) as u32;
    let interval_ns = drawer.within(Property::CheckpointInterval, 20, 120) * NANOS_PER_MILLI;
    JobConfig {
        job: JobId(0),
        lineage: LineageId(0),
        vertices,
        checkpointing: Some(CheckpointConfig {
            interval_ns,
            timeout_ns: drawer.within(Property::CheckpointTimeout, 300, 1_500) * NANOS_PER_MILLI,
            pause_min_ns: if drawer.percent(Property::Pause, 30) { interval_ns / 2 } else { 0 },
            concurrent_max: if unaligned { 1 } else { concurrent_max },
            failures_tolerable: 1_000,
            retained_max: 1 + drawer.below(Property::Retained, 3) as u32,
            after_tasks_finish: true,
            blocked_events_max: draw_blocked_events_max(drawer),
        }),
        restart: draw_restart(drawer),
        region: if drawer.percent(Property::Region, 35) { RegionScope::Vertex } else { RegionScope::Subtask },
        task_managers: 1 + drawer.below(Property::TaskManagers, 3) as u32,
        slots_per_task_manager: None,
        heartbeat: HeartbeatConfig { interval_ns: 60 * NANOS_PER_MILLI, timeout_ns: 250 * NANOS_PER_MILLI },
        high_availability_timeout_ns: JobConfig::HIGH_AVAILABILITY_TIMEOUT_NS,
        sink: draw_sink(drawer),
        defects: DefectSet::NONE,
    }
}

/// Some jobs keep their sources aligned in event time, two of them in one group. Splits begin at drawn times, so that some
/// are far ahead of the others; the drift that is allowed is a part of that.
fn draw_alignment<C: Choices>(drawer: &mut Drawer<C>, mut vertices: Vec<VertexConfig>) -> Vec<VertexConfig> {
    let aligned = drawer.percent(Property::Alignment, 15);
    let step_ms = 10;
    let max_drift_ms = step_ms * drawer.within(Property::AlignmentDrift, 1, 20);
    let period_ns = drawer.within(Property::AlignmentPeriod, 5, 40) * NANOS_PER_MILLI;
    for vertex in vertices.iter_mut().filter(|_| aligned) {
        let numbers_ms = (vertex.source.records_per_split * step_ms) as i64;
        let head_start_ms = drawer.below(Property::AlignmentSkew, 200) as i64;
        vertex.task.event_time = EventTime { step_ms, split_skew_ms: head_start_ms - numbers_ms };
        vertex.task.alignment = Some(AlignmentConfig {
            group: WatermarkGroup(0),
            max_drift_ms,
            period_ns,
            allow_unaligned_splits: vertex.task.reader == ReaderKind::Blocking,
        });
    }
    vertices
}

/// Each strategy with room for more failures than the faults of a run can bring about.
fn draw_restart<C: Choices>(drawer: &mut Drawer<C>) -> RestartConfig {
    let delay_ns = drawer.within(Property::RestartDelay, 0, 80) * NANOS_PER_MILLI;
    match drawer.below(Property::RestartStrategy, 10) {
        8 => RestartConfig::ExponentialDelay {
            initial_ns: delay_ns.max(NANOS_PER_MILLI),
            max_ns: 160 * NANOS_PER_MILLI,
            multiplier_percent: 150,
            reset_after_ns: 300 * NANOS_PER_MILLI,
            attempts_max: 10_000,
        },
        9 => {
            RestartConfig::FailureRate { delay_ns, failures_max: 10_000, interval_ns: 200 * NANOS_PER_MILLI }
        }
        _ => RestartConfig::FixedDelay { delay_ns, attempts_max: 10_000 },
    }
}

/// Some jobs are ended and submitted again, mostly from the latest checkpoint. The delay goes over a whole checkpoint
/// interval: a job that ends between a checkpoint's barrier and its completion leaves prepared work behind.
fn draw_resubmission<C: Choices>(drawer: &mut Drawer<C>, job: &JobConfig) -> Option<Resubmission> {
    // With committers of their own more often, soon and with fewer: what those hold must be dealt out anew.
    let are_apart = job.vertices.iter().any(|vertex| vertex.topology.committers.is_some());
    // Table formats too, mostly from an older checkpoint: numbers come twice then, over which they may stumble.
    let is_table_format = matches!(job.sink, SinkKind::SnapshotTable);
    let resubmits =
        drawer.percent(Property::Resubmission, if are_apart || is_table_format { 45 } else { 20 });
    let after_checkpoints = drawer.within(Property::ResubmissionAfter, 1, 4) as u32;
    let parallelism = drawer.within(Property::ResubmissionParallelism, 1, 3) as u32;
    let parallelism = if are_apart { 1 + parallelism / 3 } else { parallelism };
    let delay_ms = drawer.below(Property::ResubmissionDelay, 121);
    let delay_ns = if are_apart { delay_ms * delay_ms / 120 } else { delay_ms } * NANOS_PER_MILLI;
    let older = drawer.percent(Property::ResubmissionOlder, if is_table_format { 60 } else { 15 });
    // Of files that a later checkpoint made visible an older one goes on with what was hidden then.
    let older_by = u32::from(older && !matches!(job.sink, SinkKind::Files(_)));
    let endings = [Ending::Cancel, Ending::Stop, Ending::Drain, Ending::Cancel];
    let ending = endings[drawer.below(Property::ResubmissionEnding, 3 + u64::from(are_apart)) as usize];
    let coordinated = job.vertices.iter().any(|vertex| vertex.coordinated.is_some());
    let endless = job.vertices.iter().any(|vertex| !vertex.source.bounded);
    // What belongs to a subtask or to a channel cannot be dealt to others.
    let dealt = !coordinated && !job.has_unaligned_exchange();
    (resubmits && dealt && !endless && job.checkpointing.is_some()).then_some(Resubmission {
        after_checkpoints,
        ending,
        delay_ns,
        older_by,
        parallelism,
        pause_ns: 20 * NANOS_PER_MILLI,
    })
}

/// What authors of enumerators may write beside the obvious: each of it rarely, and independently of the rest.
fn draw_script<C: Choices>(drawer: &mut Drawer<C>) -> EnumeratorScript {
    let reassignment = match drawer.below(Property::Reassignment, 40) {
        35 => Some(Reassignment::Other),
        36 | 37 => Some(Reassignment::Same),
        38 | 39 => Some(Reassignment::Spread),
        _ => None,
    };
    let returned = match drawer.below(Property::Returned, 40) {
        37 | 38 => ReturnedSplits::FirstReader,
        39 => ReturnedSplits::WhoLostThem,
        _ => ReturnedSplits::Wait,
    };
    let at = drawer.within(Property::EnumeratorFailureAt, 1, 5);
    // Not in a split request: a new enumerator throws there again, for as long as there is no checkpoint to restore.
    let throws = drawer.percent(Property::EnumeratorFailure, 4);
    let assigns = drawer.percent(Property::AssignsInSnapshot, 4);
    EnumeratorScript {
        failure: throws.then_some(EnumeratorFailure::Snapshot(at)),
        assigns_in_snapshot: assigns.then_some(SnapshotAssignment::Always),
        reassignment,
        returned,
        signals_everyone: drawer.percent(Property::SignalsEveryone, 4),
    }
}

/// In some jobs every enumerator throws when the same checkpoint is complete, and the job fails over as a whole: for two
/// reasons at once where it has two sources, which is drawn more often. Behind a completion there is a checkpoint to
/// restore, and what is restored does not throw.
fn draw_completion_failure<C: Choices>(drawer: &mut Drawer<C>, sources: usize) -> Option<EnumeratorFailure> {
    let throws = drawer.percent(Property::CompletionFailure, if sources > 1 { 40 } else { 6 });
    let checkpoint = drawer.within(Property::CompletionFailureAt, 1, 4);
    throws.then_some(EnumeratorFailure::Completion(checkpoint))
}

/// Some sources discover their splits while the job runs, most of them a few at a time. A failed look is waited out: an
/// enumerator that throws would do so again for as long as there is no checkpoint to restore.
fn draw_discovery<C: Choices>(drawer: &mut Drawer<C>) -> Option<DiscoveryConfig> {
    let discovers = drawer.percent(Property::Discovery, 15);
    let period_ns = drawer.within(Property::DiscoveryPeriod, 2, 40) * NANOS_PER_MILLI;
    let once = drawer.percent(Property::DiscoveryOnce, 20);
    discovers.then_some(DiscoveryConfig {
        initial_delay_ns: drawer.below(Property::DiscoveryDelay, 30) * NANOS_PER_MILLI,
        period_ns: (!once).then_some(period_ns),
        look_ns: [0, 5, 20, 60][drawer.below(Property::DiscoveryLook, 4) as usize] * NANOS_PER_MILLI,
        splits_per_look: drawer.within(Property::DiscoverySplits, 1, 3) as u32,
        failing_of: [0, 0, 2, 3][drawer.below(Property::DiscoveryFailing, 4) as usize],
        failures_tolerated: true,
    })
}

/// Few sources are slow: their jobs outlast by far what a bound on delays allows.
fn draw_record_interval_ns<C: Choices>(drawer: &mut Drawer<C>) -> u64 {
    let slowness = if drawer.percent(Property::SlowSource, 3) { 12 } else { 1 };
    slowness * drawer.within(Property::RecordInterval, 1, 8) * NANOS_PER_MILLI
}

fn draw_vertex<C: Choices>(drawer: &mut Drawer<C>, index: u64, coordinated: bool) -> VertexConfig {
    VertexConfig {
        operator: OperatorUid(index as u16),
        parallelism: drawer.within(Property::Parallelism, 1, 3) as u32,
        source: SourceConfig {
            split_count: drawer.within(Property::Splits, 1, 7) as u32,
            records_per_split: drawer.within(Property::Records, 0, 24),
            policy: if drawer.percent(Property::Policy, 35) {
                AssignmentPolicy::Push
            } else {
                AssignmentPolicy::Pull
            },
            bounded: true,
            script: draw_script(drawer),
            discovery: draw_discovery(drawer),
        },
        task: TaskConfig {
            record_interval_ns: draw_record_interval_ns(drawer),
            filter_every: if drawer.percent(Property::Filter, 25) { 5 } else { 0 },
            user_failure: None,
            checkpoint_failure: None,
            write_buffer_records: drawer.within(Property::WriteBuffer, 1, 8) as u32,
            commit_retries_max: 10,
            commit_script: draw_commit_script(drawer),
            commit_back_off_ns: 0,
            store_timeout_ns: 400 * NANOS_PER_MILLI,
            reader: draw_reader(drawer),
            stall: None,
            event_time: EventTime::NUMBER,
            alignment: None,
        },
        files: None,
        log: None,
        coordinated: coordinated.then(|| CoordinatedConfig {
            operator: OperatorUid(100 + index as u16),
            event_interval_ns: 7 * NANOS_PER_MILLI,
            event_count: drawer.within(Property::EventCount, 3, 30) as u32,
        }),
        exchange: None,
        topology: SinkTopologyConfig::CHAINED,
    }
}

/// Every other exchange deals records out in turn, which mixes the splits most.
fn draw_exchange<C: Choices>(drawer: &mut Drawer<C>, readers: u32) -> ExchangeConfig {
    let edge = match drawer.below(Property::ExchangeEdge, 8) {
        0 => EdgeKind::Forward,
        1..=4 => EdgeKind::Rebalance,
        5..=6 => EdgeKind::Hash,
        _ => EdgeKind::Global,
    };
    let writers = drawer.within(Property::ExchangeParallelism, 1, 3) as u32;
    ExchangeConfig {
        edge,
        parallelism: if edge == EdgeKind::Forward { readers } else { writers },
        credit: drawer.within(Property::ExchangeCredit, 1, 4) as u32,
        unaligned: drawer.percent(Property::Unaligned, 40),
    }
}

/// A few committers refuse: often in a way that passes, rarely for good.
fn draw_commit_script<C: Choices>(drawer: &mut Drawer<C>) -> Option<CommitScript> {
    let times = drawer.within(Property::CommitRefusals, 1, 6) as u32;
    let transaction = drawer.within(Property::CommitTransaction, 1, 4);
    let (refusal, transaction) = match drawer.below(Property::CommitScript, 200) {
        190..=192 => (CommitRefusal::Retry(times), None),
        193..=194 => (CommitRefusal::Update(times), None),
        195..=197 => (CommitRefusal::UnknownReason, Some(transaction)),
        198..=199 => (CommitRefusal::KnownReason, Some(transaction)),
        _ => return None,
    };
    Some(CommitScript { refusal, transaction })
}

/// Most readers say when to ask again, some have split fetchers, a few block their task.
fn draw_reader<C: Choices>(drawer: &mut Drawer<C>) -> ReaderKind {
    let fetchers = FetcherConfig {
        threading: [FetcherThreading::Multiplexed, FetcherThreading::PerSplit]
            [drawer.below(Property::FetcherThreads, 2) as usize],
        queue_capacity: drawer.within(Property::QueueCapacity, 1, 3) as u32,
    };
    match drawer.below(Property::Fetchers, 100) {
        0..=64 => ReaderKind::Direct,
        65..=94 => ReaderKind::Fetchers(fetchers),
        _ => ReaderKind::Blocking,
    }
}

fn draw_network<C: Choices>(drawer: &mut Drawer<C>) -> NetworkConfig {
    let semantics = match drawer.below(Property::Semantics, 10) {
        0..=6 => NetworkSemantics::UnorderedDuplicating,
        7..=8 => NetworkSemantics::Unordered,
        _ => NetworkSemantics::OrderedPerConnection,
    };
    NetworkConfig {
        semantics,
        latency_min_ns: NANOS_PER_MILLI / 5,
        latency_jitter_ns: [1, 2, 4, 10][drawer.below(Property::Jitter, 4) as usize] * NANOS_PER_MILLI,
        service_jitter_ns: 2 * NANOS_PER_MILLI,
        resend_after_ns: 40 * NANOS_PER_MILLI,
        // Few resends let a send end as lost while its receiver lives on; many make it as reliable as Flink's TCP.
        resend_max: [6, 2, 1, 1][drawer.below(Property::Resends, 4) as usize],
        serialise: drawer.percent(Property::Serialise, 50),
    }
}
