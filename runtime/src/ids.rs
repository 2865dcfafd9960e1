//! Identities: small typed integers, so that a subtask can never be mistaken for an attempt.
//!
//! Names appear only at the edge, in [`std::fmt::Display`]. Everything is `Copy`, ordered and serialisable, because
//! identities key ordered maps, cross the wire and are hashed into the trace.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! identity {
    ($(#[$meta:meta])* $name:ident($inner:ty), $format:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, Default)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, $format, self.0)
            }
        }
    };
}

identity!(
    /// A job, as one `JobMaster` runs it.
    JobId(u32), "job-{}");
identity!(
    /// A chain of checkpoints that extend each other. A restore that a user asks for from an older checkpoint starts a
    /// new lineage.
    LineageId(u32), "lineage-{}");
identity!(
    /// The fencing token of a job master: the high-availability service hands out a larger one at each grant.
    LeaderEpoch(u32), "epoch-{}");
identity!(
    /// One operator of the job graph that has a coordinator (a source, or a coordinated operator that is no source).
    OperatorUid(u16), "operator-{}");
identity!(
    /// The index of a parallel instance of a vertex.
    SubtaskIndex(u32), "subtask {}");
identity!(
    /// The how-manieth execution of a subtask, counted from 0 within a leader epoch.
    AttemptNumber(u32), "#{}");
identity!(
    /// A checkpoint. Flink counts from 1; `Option<CheckpointId>` with `None` stands for Flink's -1, 'no checkpoint'. 0 is
    /// the checkpoint of a batch job, which is none either; see [`CheckpointId::BATCH`].
    CheckpointId(u64), "chk {}");
identity!(
    /// Sources of one job whose watermarks are aligned with each other.
    WatermarkGroup(u16), "watermark group {}");
identity!(
    /// The how-manieth life of a process.
    Incarnation(u32), "life {}");
identity!(
    /// An operator event, numbered by the holder that released it. Unique within (leader epoch, operator).
    OperatorEventId(u64), "event {}");
identity!(
    /// A split fetcher of one execution's reader, counted from 0; no number is used twice.
    FetcherNumber(u32), "fetcher {}");
identity!(
    /// A request that waits for a reply, numbered by its asker.
    CallId(u64), "call {}");

impl CheckpointId {
    /// What the coordinators of a batch job snapshot for, again and again (Flink's `BATCH_CHECKPOINT_ID`, -1 there): no
    /// barrier belongs to it, and it may be marked any number of times (FACT 15).
    pub const BATCH: Self = Self(0);

    /// The identifier after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The bit that tells the writers' vertex behind an exchange from its source's.
const BEHIND_EXCHANGE: u16 = 1 << 11;

/// The lowest of the two bits that tell a vertex of a sink's topology from its source's.
const SINK_STAGE_SHIFT: u32 = 12;

/// A vertex of a sink's topology that is not its writers': the uids of a source's vertices lie in this order, which is that
/// in which committables pass through them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u16)]
pub enum SinkStage {
    /// The committers, where an exchange parts them from their writers.
    Committers = 1,
    /// The global committer behind all of them.
    GlobalCommitter = 2,
}

impl SinkStage {
    /// Every stage, in the order of their uids.
    pub const ALL: [Self; 2] = [Self::Committers, Self::GlobalCommitter];
}

impl OperatorUid {
    /// The uids that a configuration may name lie below this.
    pub const CONFIGURABLE_END: u16 = BEHIND_EXCHANGE;

    /// The uid of the vertex that an exchange of records cuts off the chain of this source: its writers'. It follows from
    /// the source's and is not configured, so that two vertices never share one.
    #[must_use]
    pub const fn behind_exchange(self) -> Self {
        debug_assert!(!self.is_behind_exchange(), "a chain is cut once");
        Self(self.0 | BEHIND_EXCHANGE)
    }

    /// The uid of a vertex further on in the topology of this source's sink; it follows from the source's, too.
    #[must_use]
    pub const fn sink_stage(self, stage: SinkStage) -> Self {
        debug_assert!(!self.is_behind_exchange(), "a sink's vertices are counted from the source");
        Self(self.0 | (stage as u16) << SINK_STAGE_SHIFT)
    }

    /// Whether it names a vertex behind an exchange, of records or of committables.
    #[must_use]
    pub const fn is_behind_exchange(self) -> bool {
        self.0 != self.source().0
    }

    /// Which vertex of a sink's topology it names; none for one with a reader or with writers.
    #[must_use]
    pub fn stage(self) -> Option<SinkStage> {
        SinkStage::ALL.into_iter().find(|stage| self.0 >> SINK_STAGE_SHIFT == *stage as u16)
    }

    /// The uid of the source from which the vertex gets its records; a source's own.
    #[must_use]
    pub const fn source(self) -> Self {
        Self(self.0 & (BEHIND_EXCHANGE - 1))
    }
}

/// A source split: which source, and which of its splits. The split's reading position is not part of its identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, Default)]
pub struct SplitId {
    /// The source operator that discovered it.
    pub operator: OperatorUid,
    /// The split's number within that source.
    pub index: u32,
}

impl fmt::Display for SplitId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.operator == OperatorUid(0) {
            write!(formatter, "split-{}", self.index)
        } else {
            write!(formatter, "split-{}.{}", self.operator.0, self.index)
        }
    }
}

/// One execution of one subtask of a vertex. A vertex carries the uid of its source operator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, Default)]
pub struct ExecutionAttemptId {
    /// The vertex, named by the uid of its first operator.
    pub vertex: OperatorUid,
    /// The parallel instance.
    pub subtask: SubtaskIndex,
    /// The execution, compared only within one leader epoch; see [`Fence`].
    pub attempt: AttemptNumber,
}

impl ExecutionAttemptId {
    /// The subtask whichever attempt runs it.
    #[must_use]
    pub const fn subtask_id(self) -> SubtaskId {
        SubtaskId { vertex: self.vertex, subtask: self.subtask }
    }
}

impl fmt::Display for ExecutionAttemptId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.subtask_id(), self.attempt)
    }
}

/// A subtask of a vertex, whichever attempt runs it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, Default)]
pub struct SubtaskId {
    /// The vertex, named by the uid of its first operator.
    pub vertex: OperatorUid,
    /// The parallel instance.
    pub subtask: SubtaskIndex,
}

impl SubtaskId {
    /// Who answers for this one's unfinished work in a vertex with `parallelism` subtasks: itself, or, where the vertex
    /// has been scaled down below it, the one whose number it has modulo `parallelism`. Flink's Kafka sink looks for
    /// the transactions of subtasks that are gone in the same way (FLINK-23854).
    ///
    /// # Panics
    /// When `parallelism` is 0.
    #[must_use]
    pub const fn stand_in(self, parallelism: u32) -> Self {
        assert!(parallelism > 0, "a vertex has subtasks");
        Self { vertex: self.vertex, subtask: SubtaskIndex(self.subtask.0 % parallelism) }
    }
}

impl fmt::Display for SubtaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.vertex.stage() {
            Some(SinkStage::Committers) => "committer ",
            Some(SinkStage::GlobalCommitter) => "global committer ",
            None if self.vertex.is_behind_exchange() => "sink ",
            None => "",
        })?;
        match self.vertex.source() {
            OperatorUid(0) => write!(formatter, "{}", self.subtask),
            source => write!(formatter, "{} of {source}", self.subtask),
        }
    }
}

/// Who may still write: (leader epoch, attempt), compared in that order. An outside system that can fence refuses
/// writes that carry an older fence than the newest it has seen for that writer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, Default)]
pub struct Fence {
    /// The leader epoch that deployed the attempt.
    pub leader_epoch: LeaderEpoch,
    /// The attempt.
    pub attempt: AttemptNumber,
}

impl fmt::Display for Fence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.leader_epoch, self.attempt)
    }
}

/// The shown name of a sink transaction, `s{subtask}-chk{n}`, prefixed with the operator where the job has several.
///
/// The number follows Flink's sink writer: restored checkpoint + 1 and one up per `prepare_commit`, so it may lag the
/// checkpoint that finally carries it (FACT 100).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, Default)]
pub struct TransactionName {
    /// The vertex and subtask that wrote it.
    pub writer: SubtaskId,
    /// The number in the name.
    pub number: CheckpointId,
    /// Set by a sink that begins several under one number, and by one whose outside system has no fence: then no two lives
    /// of a writer make the same name.
    pub part: Option<TransactionPart>,
}

/// What tells apart the transactions that a writer counts under one number: the life that began it, and a counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TransactionPart {
    /// The life of the writer.
    pub fence: Fence,
    /// How many it had begun before.
    pub counter: u32,
}

impl TransactionName {
    /// The one transaction that a writer begins under a number.
    #[must_use]
    pub const fn new(writer: SubtaskId, number: CheckpointId) -> Self {
        Self { writer, number, part: None }
    }
}

impl fmt::Display for TransactionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A sink is named after its source: each source has one.
        let source = self.writer.vertex.source();
        if source != OperatorUid(0) {
            write!(formatter, "o{}-", source.0)?;
        }
        write!(formatter, "s{}-chk{}", self.writer.subtask.0, self.number.0)?;
        match self.part {
            None => Ok(()),
            Some(TransactionPart { fence: Fence { leader_epoch, attempt }, counter }) => {
                write!(formatter, "-e{}a{}n{counter}", leader_epoch.0, attempt.0)
            }
        }
    }
}

/// An operating-system process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ProcessId {
    /// Runs the job master's main thread and one thread per source coordinator.
    JobManager,
    /// Runs tasks.
    TaskManager(u32),
    /// Leader lease, checkpoint-id counter, completed checkpoints, job result.
    HighAvailability,
    /// The outside system that records are committed to.
    Store,
}

impl fmt::Display for ProcessId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::JobManager => formatter.write_str("job-manager"),
            Self::TaskManager(index) => write!(formatter, "task-manager-{index}"),
            Self::HighAvailability => formatter.write_str("high-availability"),
            Self::Store => formatter.write_str("store"),
        }
    }
}

/// One life of a process: where a frame is addressed to. A frame for an older life is refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ProcessAddress {
    /// The process.
    pub process: ProcessId,
    /// Its life.
    pub incarnation: Incarnation,
}

impl ProcessAddress {
    /// The high-availability service; it keeps one life, its state is durable.
    pub const HIGH_AVAILABILITY: Self =
        Self { process: ProcessId::HighAvailability, incarnation: Incarnation(0) };
    /// The outside store; it keeps one life, its state is durable.
    pub const STORE: Self = Self { process: ProcessId::Store, incarnation: Incarnation(0) };
}

impl fmt::Display for ProcessAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.process, self.incarnation)
    }
}

/// A single-threaded state machine inside a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ActorId {
    /// The job manager's main thread: job master, checkpoint coordinator, holders with their gateways.
    MainThread,
    /// The logical thread of one source coordinator.
    SourceCoordinator(OperatorUid),
    /// A task manager's endpoint.
    TaskManager(u32),
    /// A task's mailbox thread.
    Task(ExecutionAttemptId),
    /// The high-availability service.
    HighAvailability,
    /// The outside store.
    Store,
    /// The world around: faults, starts and ends of processes.
    World,
    /// The thread of a split fetcher; it shares its memory with the task's.
    Fetcher {
        /// The execution whose reader it fetches for.
        task: ExecutionAttemptId,
        /// Which fetcher.
        fetcher: FetcherNumber,
    },
    /// The worker beside a source coordinator; it shares its memory with the coordinator's thread.
    CoordinatorWorker(OperatorUid),
}

impl fmt::Display for ActorId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MainThread => formatter.write_str("main-thread"),
            Self::SourceCoordinator(operator) => write!(formatter, "source-coordinator {operator}"),
            Self::TaskManager(index) => write!(formatter, "task-manager-{index}"),
            Self::Task(attempt) => write!(formatter, "task {attempt}"),
            Self::HighAvailability => formatter.write_str("high-availability"),
            Self::Store => formatter.write_str("store"),
            Self::World => formatter.write_str("world"),
            Self::Fetcher { task, fetcher } => write!(formatter, "{fetcher} of task {task}"),
            Self::CoordinatorWorker(operator) => write!(formatter, "source-coordinator-worker {operator}"),
        }
    }
}
