//! Hand-made histories for tests of checkers: a builder, a small model of an engine that is right, and random linear
//! extensions. Public but hidden, so that the simulator's tests can use it too.

mod every_kind;
mod extension;
mod model;

pub use every_kind::every_kind;
pub use extension::linear_extension;
pub use model::{FILTER_EVERY, ModelRun, Step, good_history};

use crate::checker::{RunEnd, RunSetup, RunStop};
use crate::promise::{Promise, PromiseInput};
use crate::violation::Moment;
use splitrace_runtime::config::*;
use splitrace_runtime::defects::DefectSet;
use splitrace_runtime::event::*;
use splitrace_runtime::ids::*;
use splitrace_runtime::records::{OffsetRange, RecordRanges, SplitPosition};

/// Events with headers that are made up as a host would: sequences count, time moves, causes are set on demand.
#[derive(Clone, Debug)]
pub struct History {
    events: Vec<Event>,
    epoch: LeaderEpoch,
    cause: Option<ProcessId>,
}

impl Default for History {
    fn default() -> Self {
        Self::new()
    }
}

impl History {
    /// No event yet; the first leader leads.
    #[must_use]
    pub const fn new() -> Self {
        Self { events: Vec::new(), epoch: LeaderEpoch(1), cause: None }
    }

    /// The events so far.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Later events belong to this leader.
    pub const fn lead(&mut self, epoch: u32) -> &mut Self {
        self.epoch = LeaderEpoch(epoch);
        self
    }

    /// The next event is caused by all that `process` has emitted so far.
    pub const fn after(&mut self, process: ProcessId) -> &mut Self {
        self.cause = Some(process);
        self
    }

    /// An event of any actor.
    pub fn push(&mut self, process: ProcessId, actor: ActorId, kind: EventKind) -> &mut Self {
        let count =
            |of: ProcessId| self.events.iter().filter(|event| event.header.process == of).count() as u64;
        let cause = self.cause.take().map(|process| Cause { process, sequence: count(process) });
        let header = Header {
            schema_version: SCHEMA_VERSION,
            job: JobId(0),
            lineage: LineageId(0),
            leader_epoch: self.epoch,
            process,
            sequence: count(process),
            causes: cause.into_iter().collect(),
            actor,
            virtual_time_ns: self.events.len() as u64,
            local_time_ns: 0,
        };
        self.events.push(Event { header, kind });
        self
    }

    /// An event of the job manager's main thread.
    pub fn main(&mut self, kind: EventKind) -> &mut Self {
        self.push(ProcessId::JobManager, ActorId::MainThread, kind)
    }

    /// An event of the source coordinator's thread.
    pub fn coordinator(&mut self, kind: EventKind) -> &mut Self {
        self.push(ProcessId::JobManager, ActorId::SourceCoordinator(OperatorUid(0)), kind)
    }

    /// An event of a task's thread.
    pub fn task(&mut self, task_manager: u32, attempt: ExecutionAttemptId, kind: EventKind) -> &mut Self {
        self.push(ProcessId::TaskManager(task_manager), ActorId::Task(attempt), kind)
    }

    /// An event of the outside store.
    pub fn store(&mut self, kind: EventKind) -> &mut Self {
        self.push(ProcessId::Store, ActorId::Store, kind)
    }

    /// An event of the high-availability service.
    pub fn availability(&mut self, kind: EventKind) -> &mut Self {
        self.push(ProcessId::HighAvailability, ActorId::HighAvailability, kind)
    }

    /// An event of the world; a crash belongs to the process that dies.
    pub fn world(&mut self, kind: EventKind) -> &mut Self {
        let process = match &kind {
            EventKind::ProcessStarted { address } | EventKind::ProcessCrashed { address } => address.process,
            _ => ProcessId::HighAvailability,
        };
        self.push(process, ActorId::World, kind)
    }

    /// A completed checkpoint.
    pub fn completed(&mut self, checkpoint: u64, contents: CheckpointContents) -> &mut Self {
        self.availability(EventKind::CheckpointCompleted {
            checkpoint: CheckpointId(checkpoint),
            contents: Box::new(contents),
        })
    }

    /// What the store says when records become visible, for an attempt of the first leader.
    #[must_use]
    pub fn visible(
        transaction: TransactionName,
        by: ExecutionAttemptId,
        ranges: &[OffsetRange],
    ) -> EventKind {
        let records = ranges.iter().copied().collect();
        EventKind::BecameVisible { transaction, by, epoch: LeaderEpoch(1), records }
    }
}

/// An execution of a subtask of the only vertex.
#[must_use]
pub fn attempt(subtask: u32, number: u32) -> ExecutionAttemptId {
    ExecutionAttemptId {
        vertex: OperatorUid(0),
        subtask: SubtaskIndex(subtask),
        attempt: AttemptNumber(number),
    }
}

/// A split of the only source.
#[must_use]
pub const fn split(index: u32) -> SplitId {
    SplitId { operator: OperatorUid(0), index }
}

/// A split at a position.
#[must_use]
pub const fn position(index: u32, position: u64, end: u64) -> SplitPosition {
    SplitPosition { split: split(index), position, end }
}

/// Records of a split.
#[must_use]
pub const fn range(index: u32, start: u64, end: u64) -> OffsetRange {
    OffsetRange { split: split(index), start, end }
}

/// A transaction of a subtask of the only vertex.
#[must_use]
pub fn name(subtask: u32, number: u64) -> TransactionName {
    TransactionName::new(attempt(subtask, 0).subtask_id(), CheckpointId(number))
}

/// The file that a life of a writer begins as its how-manieth under that number.
#[must_use]
pub fn file(subtask: u32, number: u64, fence: Fence, counter: u32) -> TransactionName {
    TransactionName { part: Some(TransactionPart { fence, counter }), ..name(subtask, number) }
}

/// Contents from (split, position, end), (subtask, split, position, end) and (name, records), which the writer's subtask
/// holds.
#[must_use]
pub fn contents(
    enumerators: &[(u32, u64, u64)],
    readers: &[(u32, u32, u64, u64)],
    committables: &[(TransactionName, RecordRanges)],
) -> CheckpointContents {
    CheckpointContents {
        enumerators: enumerators.iter().map(|(split, at, end)| position(*split, *at, *end)).collect(),
        readers: readers
            .iter()
            .map(|(subtask, split, at, end)| (attempt(*subtask, 0).subtask_id(), position(*split, *at, *end)))
            .collect(),
        committables: committables
            .iter()
            .map(|(name, records)| (name.writer, *name, records.clone()))
            .collect(),
        ..CheckpointContents::default()
    }
}

/// A bounded job with checkpoints and failovers on a transactional sink.
#[must_use]
pub fn setup() -> RunSetup {
    let checkpointing = CheckpointConfig {
        interval_ns: NANOS_PER_MILLI,
        timeout_ns: 10 * NANOS_PER_MILLI,
        pause_min_ns: 0,
        concurrent_max: 1,
        failures_tolerable: 0,
        retained_max: 1,
        after_tasks_finish: true,
        blocked_events_max: None,
    };
    setup_with(Some(checkpointing), true)
}

/// A bounded job without checkpoints in which nothing fails.
#[must_use]
pub fn setup_without_checkpoints() -> RunSetup {
    setup_with(None, false)
}

/// A bounded job.
#[must_use]
pub fn setup_with(checkpointing: Option<CheckpointConfig>, failover_possible: bool) -> RunSetup {
    let promise = Promise::new(PromiseInput {
        restores_older: false,
        bounded: true,
        checkpointing: checkpointing.is_some(),
        failover_possible,
        sink: SinkKind::Transactional,
        after_tasks_finish: checkpointing.is_some_and(|config| config.after_tasks_finish),
    });
    let policy = AssignmentPolicy::Pull;
    let source = SourceConfig {
        split_count: 4,
        records_per_split: 10,
        policy,
        bounded: true,
        script: EnumeratorScript::NONE,
        discovery: None,
    };
    let task = TaskConfig {
        record_interval_ns: 0,
        filter_every: 0,
        user_failure: None,
        checkpoint_failure: None,
        write_buffer_records: 1,
        commit_retries_max: 10,
        commit_script: None,
        commit_back_off_ns: 0,
        store_timeout_ns: NANOS_PER_MILLI,
        reader: ReaderKind::Direct,
        stall: None,
        event_time: EventTime::NUMBER,
        alignment: None,
    };
    let vertex = VertexConfig {
        operator: OperatorUid(0),
        parallelism: 2,
        source,
        task,
        files: None,
        log: None,
        coordinated: None,
        exchange: None,
        topology: SinkTopologyConfig::CHAINED,
    };
    let config = JobConfig {
        job: JobId(0),
        lineage: LineageId(0),
        vertices: vec![vertex],
        checkpointing,
        restart: RestartConfig::FixedDelay { delay_ns: 0, attempts_max: 10 },
        region: RegionScope::Subtask,
        task_managers: 2,
        slots_per_task_manager: None,
        heartbeat: HeartbeatConfig { interval_ns: NANOS_PER_MILLI, timeout_ns: 5 * NANOS_PER_MILLI },
        high_availability_timeout_ns: 10 * NANOS_PER_MILLI,
        sink: SinkKind::Transactional,
        defects: DefectSet::NONE,
    };
    RunSetup { config, promise, visible_within_ns: 10 * NANOS_PER_MILLI, handed_over_within_ns: 0 }
}

/// A run that somebody stopped after its last event.
///
/// # Panics
/// When there is no event.
#[must_use]
pub fn end_of(events: &[Event]) -> RunEnd {
    let last = events.last().expect("a history holds events");
    RunEnd {
        job_ended: None,
        stop: RunStop::Stopped,
        at: Moment::from(&last.header),
        now_ns: last.header.virtual_time_ns,
    }
}
