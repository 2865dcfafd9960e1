//! What crosses a process or thread boundary.
//!
//! [`Message`] is what goes over the network, and all of it serialises. [`Mail`] is what lands in an actor's mailbox:
//! a message's content, a timer, the outcome of a send, or mail from another thread of the same process.

use crate::api::file_io::{FileAnswer, FileOperation};
use crate::api::log_io::{LogAnswer, LogOperation};
use crate::api::snapshots_io::{SnapshotsAnswer, SnapshotsOperation};
use crate::api::source::{AsyncCallName, UserError};
use crate::api::table_io::{TableAnswer, TableOperation};
use crate::config::{EdgeKind, FileReaderConfig, JobConfig, LogReaderConfig, SinkKind, TaskConfig};
use crate::coordination::coordinator_error::CoordinatorError;
use crate::defects::DefectSet;
use crate::ids::*;
use crate::records::{Record, SplitPosition};
use crate::task::CommittableMessage;
use crate::topology::OperatorKind;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A split as bytes, with what the runtime itself must know of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct SplitPayload {
    /// Identity and position, as the facade's adapter read them off the typed split.
    pub at: SplitPosition,
    /// The version of the serialiser.
    pub version: u32,
    /// The serialised split.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// From a coordinator to its operator.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum OperatorEvent {
    /// Flink's `AddSplitEvent`.
    AddSplits(Vec<SplitPayload>),
    /// Flink's `NoMoreSplitsEvent`.
    NoMoreSplits,
    /// Flink's `WatermarkAlignmentEvent`: how far the reader may go in event time, in milliseconds.
    WatermarkAlignment {
        /// Whoever is beyond it waits.
        allowed_ms: i64,
    },
    /// A custom event of the connector.
    Custom(#[serde(with = "serde_bytes")] Vec<u8>),
    /// An event that this operator does not know, with what it says of itself (FACT 57).
    Unknown(String),
}

impl OperatorEvent {
    /// Whether an execution that does not take it for having ended may go on without: the next one of its kind says the
    /// same or more (FACT 19).
    #[must_use]
    pub const fn is_loss_tolerant(&self) -> bool {
        matches!(self, Self::WatermarkAlignment { .. })
    }
}

/// The watermark of whoever holds nobody back: it has ended, or has no records for now.
pub const MAX_WATERMARK_MS: i64 = i64::MAX;

/// From an operator to its coordinator.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ReaderEvent {
    /// Flink's `ReaderRegistrationEvent`, with the splits that it reports (FLIP-537; empty otherwise).
    Register {
        /// The restored splits of a source that reassigns on recovery.
        reported: Vec<SplitPayload>,
    },
    /// Flink's `RequestSplitEvent`.
    RequestSplit,
    /// A custom event of the connector.
    Custom(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Flink's `ReportedWatermarkEvent`, in milliseconds of event time: for the alignment of watermarks.
    ReportedWatermark(i64),
    /// A `ReaderRegistrationEvent` that names another subtask than the one that sends it: the job fails (FACT 38). A
    /// registration names nobody here, as an event carries its sender; only somebody else's reader can send this.
    RegisterAs(SubtaskIndex),
    /// An event that no source reader sends, by its name (FACT 38).
    Unrecognized(String),
}

/// Where an execution stands, as Flink names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ExecutionState {
    /// Sent to a task manager.
    Deploying,
    /// The task restores its state; its gateway is usable from here on.
    Initializing,
    /// The task runs.
    Running,
    /// The task ended well.
    Finished,
    /// The task ended because it was told to.
    Canceled,
    /// The task ended by an error.
    Failed,
}

impl ExecutionState {
    /// Whether nothing comes after it.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Finished | Self::Canceled | Self::Failed)
    }
}

/// The snapshot of one subtask. States cross as versioned bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct TaskSnapshot {
    /// `SourceReaderState`, as `api::source_state` encodes it.
    #[serde(with = "serde_bytes")]
    pub reader: Vec<u8>,
    /// The writer's state.
    #[serde(with = "serde_bytes")]
    pub writer: Vec<u8>,
    /// The committer's state: the committables that are not yet known as committed.
    #[serde(with = "serde_bytes")]
    pub committer: Vec<u8>,
    /// The state of a coordinated operator that is no source.
    #[serde(with = "serde_bytes")]
    pub coordinated: Vec<u8>,
    /// The buffers that the barrier overtook in the task's channels, as `exchange::channel_state` encodes them; empty for
    /// none.
    #[serde(with = "serde_bytes")]
    pub channels: Vec<u8>,
}

/// One subtask inside a completed checkpoint.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct SubtaskState {
    /// The subtask.
    pub subtask: SubtaskId,
    /// Its state; default when it had finished before the checkpoint began.
    pub snapshot: Arc<TaskSnapshot>,
    /// Whether it had finished before the checkpoint began.
    pub finished: bool,
}

/// What a checkpoint is taken for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub enum CheckpointKind {
    /// Recovery restores it: a periodic one, or the one after the end of the input.
    #[default]
    Recovery,
    /// A savepoint while the job goes on: nobody is told that it is complete, and recovery never restores it.
    Savepoint,
    /// A savepoint that ends the job, after everything is read to its end (`drain`) or where it stands.
    Stop {
        /// Whether writers flush as at the end of the input.
        drain: bool,
    },
}

/// A whole checkpoint, as the store keeps it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CompletedCheckpoint {
    /// Its identifier.
    pub id: CheckpointId,
    /// What it was taken for.
    pub kind: CheckpointKind,
    /// The state of each coordinator.
    pub coordinators: Vec<(OperatorUid, Vec<u8>)>,
    /// The state of each subtask, in (vertex, subtask) order.
    pub subtasks: Vec<SubtaskState>,
}

/// The state a task is deployed with.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RestoredState {
    /// The checkpoint that it comes from.
    pub checkpoint: CheckpointId,
    /// The state of this subtask.
    pub snapshot: Arc<TaskSnapshot>,
    /// Transactions of this subtask's writer, and of those that it stands in for, that other subtasks' committers
    /// restore: those of another vertex, or after a change of parallelism.
    pub held_elsewhere: Vec<TransactionName>,
}

/// The other end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ChannelPeer {
    /// The execution.
    pub attempt: ExecutionAttemptId,
    /// Where it runs.
    pub address: ProcessAddress,
}

/// The channels out of a task.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ProducerEnd {
    /// How it picks a channel.
    pub edge: EdgeKind,
    /// A channel each, in the order of their subtasks.
    pub consumers: Vec<ChannelPeer>,
    /// Whether its barriers overtake buffers.
    pub unaligned: bool,
}

/// The channels into a task.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ConsumerEnd {
    /// How many buffers may be under way in a channel.
    pub credit: u32,
    /// A channel each, in the order of their subtasks; `None` for one that had finished before the restored
    /// checkpoint, from which nothing comes any more.
    pub producers: Vec<Option<ChannelPeer>>,
}

/// What separates the records before a checkpoint from those behind it, in each channel (Flink's `CheckpointBarrier`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CheckpointBarrier {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// Set for the savepoint that ends the job, with whether writers flush first.
    pub stop: Option<bool>,
    /// Whether it overtakes buffers. The savepoint that ends a job never does: it is to hold nothing but what operators
    /// know of.
    pub unaligned: bool,
}

/// What comes through a channel, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ChannelElement {
    /// The producer knows its consumer now.
    Opened,
    /// Records of one split, in the order in which they were read.
    Buffer(Vec<Record>),
    /// What a writer hands to committers at once: a summary and what it announces.
    Committables(Vec<CommittableMessage>),
    /// A barrier.
    Barrier(CheckpointBarrier),
    /// The producer reads no more (Flink's `EndOfData` with its `StopMode`).
    EndOfData {
        /// Whether writers flush: not when the job is stopped where it stands.
        drain: bool,
    },
    /// Nothing comes any more (Flink's `EndOfPartitionEvent`).
    EndOfPartition,
}

impl ChannelElement {
    /// Whether it is data, of which no more may be under way than the consumer has room for.
    #[must_use]
    pub const fn needs_credit(&self) -> bool {
        matches!(self, Self::Buffer(_) | Self::Committables(_))
    }
}

/// From the consumer of a channel to its producer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ChannelRequest {
    /// Send to me, at most so many buffers (Flink's `PartitionRequest` with its initial credit).
    Open {
        /// How many.
        credit: u32,
    },
    /// So many more buffers (Flink's `AddCredit`).
    Grant(u32),
    /// Everything up to the end of the data was taken (Flink's `acknowledgeAllRecordsProcessed`): only then may the
    /// producer finish, since a checkpoint takes a finished one for somebody of whom nothing is under way.
    DataTaken,
}

/// Everything a task needs to run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TaskDescriptor {
    /// The execution.
    pub attempt: ExecutionAttemptId,
    /// Who deploys it: with the attempt it makes the task's [`Fence`].
    pub leader_epoch: LeaderEpoch,
    /// The task manager that runs it.
    pub task_manager: u32,
    /// Where its messages go.
    pub job_manager: ProcessAddress,
    /// How many subtasks the vertex has.
    pub parallelism: u32,
    /// Its settings.
    pub config: TaskConfig,
    /// How the reader reads files; `None` for one that reads numbers.
    pub files: Option<FileReaderConfig>,
    /// How its reader reads, where it reads a log.
    pub log: Option<LogReaderConfig>,
    /// Whether the source ends.
    pub bounded: bool,
    /// Whether readers ask for splits.
    pub pull: bool,
    /// Whether the reader reports its restored splits instead of keeping them (FACT 53).
    pub reports_splits: bool,
    /// Whether checkpoints run, and whether a last one comes after the end of input.
    pub checkpointing: bool,
    /// Flink's `checkpoints-after-tasks-finish`.
    pub final_checkpoint: bool,
    /// The sink.
    pub sink: SinkKind,
    /// The coordinated operator in the chain that is no source.
    pub coordinated: Option<OperatorUid>,
    /// The operators of its chain.
    pub operators: Vec<OperatorKind>,
    /// The channels into it; `None` where it begins with a source.
    pub consumes: Option<Box<ConsumerEnd>>,
    /// The channels out of it; `None` where the chain ends with it.
    pub produces: Option<Box<ProducerEnd>>,
    /// What it restores.
    pub restored: Option<RestoredState>,
    /// The planted defects.
    pub defects: DefectSet,
}

/// How a job ended.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum JobResult {
    /// All tasks finished.
    Finished,
    /// The restart strategy gave up, or a failure was beyond it.
    Failed(String),
    /// A user cancelled it.
    Cancelled,
    /// A user stopped it with this savepoint.
    Stopped(CheckpointId),
}

/// To the job manager's main thread, over the network.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum JobManagerMessage {
    /// A task manager offers itself to the leader it was told of.
    RegisterTaskManager,
    /// A task manager lives.
    Heartbeat,
    /// A task changed its state. INITIALIZING, RUNNING, FINISHED travel in the stream of the subtask's events.
    TaskStateChanged {
        /// The execution.
        attempt: ExecutionAttemptId,
        /// Its new state.
        state: ExecutionState,
        /// Why, when it failed.
        cause: Option<String>,
        /// The last checkpoint that the task acknowledged or declined: FINISHED counts only once that has arrived.
        last_acknowledged: Option<CheckpointId>,
    },
    /// From an operator to its coordinator.
    OperatorEvent {
        /// The execution that sends it.
        attempt: ExecutionAttemptId,
        /// The coordinator it is for.
        operator: OperatorUid,
        /// The event.
        event: ReaderEvent,
    },
    /// A subtask's snapshot is taken and durable.
    AcknowledgeCheckpoint {
        /// The execution.
        attempt: ExecutionAttemptId,
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The snapshot. Shared, since nobody changes it on its way from here into the store and back to a task.
        snapshot: Arc<TaskSnapshot>,
    },
    /// A subtask cannot take part.
    DeclineCheckpoint {
        /// The execution.
        attempt: ExecutionAttemptId,
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Why.
        reason: String,
    },
    /// All tasks of a source read END_OF_DATA; the last one makes the job master trigger the final checkpoint at once
    /// (FACT 96).
    EndOfData {
        /// The execution.
        attempt: ExecutionAttemptId,
    },
    /// The execution is failing for a reason that no restart takes away: the job is to fail for good.
    RestartsUseless {
        /// The execution.
        attempt: ExecutionAttemptId,
        /// Why.
        cause: String,
    },
}

/// To a task manager, over the network.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TaskManagerMessage {
    /// Run this task.
    Deploy(Box<TaskDescriptor>),
    /// Stop this execution and answer CANCELED.
    Cancel(ExecutionAttemptId),
    /// The high-availability service names a leader; tasks of an older epoch are to be cancelled.
    LeaderChanged {
        /// Its epoch.
        epoch: LeaderEpoch,
        /// Where it is.
        job_manager: ProcessAddress,
    },
    /// The job master had declared this task manager dead: drop all tasks and register anew.
    Disconnect,
}

/// A notice of a checkpoint's end. It names its addressee, so that an execution that gets another one's can tell so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Notice {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// The execution that is to know.
    pub addressee: ExecutionAttemptId,
    /// The epoch that deployed it.
    pub epoch: LeaderEpoch,
}

/// To a task, over the network.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TaskMessage {
    /// From a coordinator.
    OperatorEvent {
        /// The operator in the chain that it is for.
        operator: OperatorUid,
        /// Its number, for S2.
        id: OperatorEventId,
        /// The event.
        event: OperatorEvent,
    },
    /// Begin a checkpoint.
    TriggerCheckpoint(CheckpointId),
    /// Begin the savepoint after which the job ends.
    TriggerStop {
        /// The savepoint.
        checkpoint: CheckpointId,
        /// Whether writers flush as at the end of the input.
        drain: bool,
    },
    /// A checkpoint is complete.
    NotifyCheckpointComplete(Notice),
    /// A checkpoint is aborted.
    NotifyCheckpointAborted(Notice),
    /// Through a channel.
    Channel {
        /// Its producer.
        producer: ExecutionAttemptId,
        /// What comes.
        element: ChannelElement,
    },
    /// From the other end of a channel that this task fills.
    ChannelRequest {
        /// Its consumer.
        consumer: ExecutionAttemptId,
        /// What it wants.
        request: ChannelRequest,
    },
    /// The store's answer.
    StoreReply {
        /// The call.
        call: CallId,
        /// The answer.
        reply: StoreReply,
    },
}

/// What a task asks of the outside store.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum StoreRequest {
    /// Append the records under the name unless the name is there: one atomic operation.
    AppendIfAbsent {
        /// The name.
        name: TransactionName,
        /// The records.
        records: Vec<Record>,
    },
    /// Append the records under the name, whatever is there. Only a defective committer asks for it.
    Append {
        /// The name.
        name: TransactionName,
        /// The records.
        records: Vec<Record>,
    },
    /// Recovery of a transactional writer: refuse older fences of this writer from now on, roll back its open work,
    /// and roll back its prepared work unless it is named in `keep` (what the restored checkpoint holds). The same for
    /// each writer that it stands in for: one that the store knows, at or above `parallelism`, so that the vertex has it
    /// no more, whose number modulo `parallelism` is this one's (FLINK-23854).
    InitTransactions {
        /// The writer.
        writer: SubtaskId,
        /// How many writers the vertex has, at least 1.
        parallelism: u32,
        /// What must survive.
        keep: Vec<TransactionName>,
    },
    /// Open a transaction.
    Begin {
        /// The name.
        name: TransactionName,
    },
    /// Write into an open transaction.
    Write {
        /// The name.
        name: TransactionName,
        /// The how-manieth write of this transaction; a repeated one has no effect.
        index: u32,
        /// The records.
        records: Vec<Record>,
    },
    /// Make an open transaction durable, so that only a commit or a rollback can end it.
    Prepare {
        /// The name.
        name: TransactionName,
        /// How many writes it must hold.
        writes: u32,
    },
    /// Make a prepared transaction visible. Carries no fence.
    Commit {
        /// The name.
        name: TransactionName,
    },
    /// Of a file system. Carries no fence either.
    File(FileOperation),
    /// Of a table with prepared transactions. Carries no fence either.
    Table(TableOperation),
    /// Of a table format.
    Snapshots(SnapshotsOperation),
    /// Of a partitioned log. Its fence is the producer's epoch.
    Log(LogOperation),
}

/// What the outside store answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum StoreReply {
    /// Done now.
    Done,
    /// It had been done before; nothing changed.
    AlreadyDone,
    /// A newer fence is known for this writer.
    Fenced,
    /// There is no such transaction in the needed state.
    NotFound,
    /// Not now; ask again.
    Unavailable,
    /// Of a file system.
    File(FileAnswer),
    /// Of a table with prepared transactions.
    Table(TableAnswer),
    /// Of a table format.
    Snapshots(SnapshotsAnswer),
    /// Of a partitioned log.
    Log(LogAnswer),
}

/// What is asked of the high-availability service. Every write is a compare-and-set on the leader epoch.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum HighAvailabilityRequest {
    /// A job manager wants to lead; the newest asker gets it.
    AcquireLease,
    /// Raise the checkpoint-id counter to at least this, durably, before that checkpoint is triggered.
    RaiseCounter(CheckpointId),
    /// Add a completed checkpoint. The checkpoint is complete when this is applied, not before.
    AddCheckpoint(Arc<CompletedCheckpoint>),
    /// The job has ended.
    PutResult(JobResult),
    /// A task manager wants to be told of leaders.
    Subscribe,
}

/// What the high-availability service answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum HighAvailabilityReply {
    /// The asker leads.
    LeaseGranted {
        /// Its epoch.
        epoch: LeaderEpoch,
        /// The highest checkpoint id that was ever raised.
        counter: CheckpointId,
        /// The latest completed checkpoint.
        latest: Option<Arc<CompletedCheckpoint>>,
        /// Set when the job has ended already: it must not run again.
        result: Option<JobResult>,
    },
    /// The write is applied.
    Applied,
    /// The asker's epoch is no longer the leader's; nothing was written.
    Fenced,
}

/// What goes over the network.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Message {
    /// To the main thread of the leader of `epoch`.
    JobManager {
        /// The leader that the sender believes in.
        epoch: LeaderEpoch,
        /// The content.
        message: JobManagerMessage,
    },
    /// To a task manager.
    TaskManager {
        /// The sender's epoch; an older one than the newest known is refused.
        epoch: LeaderEpoch,
        /// The content.
        message: TaskManagerMessage,
    },
    /// To a task; refused when that very execution does not run there.
    Task {
        /// The epoch that deployed it.
        epoch: LeaderEpoch,
        /// The execution.
        attempt: ExecutionAttemptId,
        /// The content.
        message: TaskMessage,
    },
    /// To the store.
    Store {
        /// Who asks, and its fence.
        attempt: ExecutionAttemptId,
        /// The epoch of the fence.
        epoch: LeaderEpoch,
        /// The call.
        call: CallId,
        /// The content.
        request: StoreRequest,
    },
    /// To the high-availability service.
    HighAvailability {
        /// The asker's epoch; `LeaderEpoch(0)` before it has one.
        epoch: LeaderEpoch,
        /// The call.
        call: CallId,
        /// The content.
        request: HighAvailabilityRequest,
    },
    /// From the high-availability service to a job manager's main thread.
    HighAvailabilityReply {
        /// The call.
        call: CallId,
        /// The content.
        reply: HighAvailabilityReply,
    },
}

/// What became of a send that carried a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum DeliveryOutcome {
    /// It is in the receiver's mailbox; not yet handled.
    Delivered,
    /// The receiver refused it: that execution does not run there.
    NotDelivered,
    /// The resend budget ran out or the session was reset: it may have been delivered.
    Unknown,
}

/// Names a send whose outcome the sender wants to know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct DeliveryToken(pub u64);

/// A timer of an actor. Setting it again replaces it; it fires as mail.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Timer {
    /// Main thread: trigger the next checkpoint.
    CheckpointInterval,
    /// Main thread: the least pause after the end of a checkpoint is over.
    CheckpointPause,
    /// Main thread: abort this checkpoint.
    CheckpointTimeout(CheckpointId),
    /// Main thread: the restart delay of this failover is over.
    RestartDelay(u64),
    /// Main thread: the exponential delay of the restart strategy is over.
    RestartBackoff,
    /// Main thread: nothing has failed for so long that the exponential delay is the first one again.
    RestartQuiet,
    /// Main thread: the n-th failure lies outside the interval of the failure rate.
    FailureForgotten(u32),
    /// Main thread: look whether task managers fell silent.
    HeartbeatCheck,
    /// Main thread: a call to the high-availability service has had no answer.
    HighAvailabilityTimeout(CallId),
    /// Task manager: send the next heartbeat.
    Heartbeat,
    /// Task: the reader has its next record.
    ReaderWake,
    /// Fetcher: the time is over for which its fetch blocks.
    FetchDue(FetcherNumber),
    /// Task: a store call has had no answer.
    StoreTimeout(CallId),
    /// Task: a committer that stood still asks the store.
    StoreCallDue(CallId),
    /// Task: the writer asked to be woken (Flink's `ProcessingTimeService`).
    WriterWake,
    /// Task: user code that stood still goes on.
    UserCodeStall,
    /// Task: the source reports its watermark.
    WatermarkReport,
    /// Task: ask the producers again that have not opened their channels.
    OpenChannels,
    /// Coordinator of an operator that is no source: send the next event.
    CoordinatedEvent,
    /// Coordinator of a source: a worker runs this for the enumerator.
    AsyncCall(AsyncCallName),
    /// Coordinator of a source: tell the readers how far they may go in event time.
    AlignmentAnnouncement,
    /// Coordinator of a source: what its worker runs is over.
    AsyncCallReturns,
}

/// From a coordinator's thread to the main thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum CoordinatorToMain {
    /// Send an event through the gateway of this execution.
    SendEvent {
        /// The execution whose gateway the coordinator holds.
        attempt: ExecutionAttemptId,
        /// The event.
        event: OperatorEvent,
    },
    /// The future of `checkpointCoordinator` completed.
    CheckpointResult {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The coordinator's state, or why there is none.
        state: Result<Vec<u8>, CoordinatorError>,
    },
    /// The holder to itself: what this checkpoint waits for can no longer come.
    EventsForgotten(CheckpointId),
    /// Flink's `failJob`: a global failover.
    FailJob {
        /// Why.
        cause: CoordinatorError,
    },
}

/// To a coordinator's thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum CoordinatorMail {
    /// Begin a new coordinator: restored from `state`, or created anew when there is none. What an older generation
    /// still has to say is dropped by the main thread.
    Start {
        /// Counts the coordinators of this operator within the process.
        generation: u32,
        /// The checkpoint and the coordinator's state in it.
        restored: Option<(CheckpointId, Vec<u8>)>,
    },
    /// From the operator of this execution.
    FromReader {
        /// The execution.
        attempt: ExecutionAttemptId,
        /// The event.
        event: ReaderEvent,
    },
    /// A gateway for this execution is usable.
    ExecutionAttemptReady(ExecutionAttemptId),
    /// This execution failed; its gateway and registration are gone.
    ExecutionAttemptFailed {
        /// The execution.
        attempt: ExecutionAttemptId,
        /// The last completed checkpoint known now; only a defective coordinator looks at it.
        last_completed: Option<CheckpointId>,
    },
    /// The subtask is going to be restored from this checkpoint: give back what it was assigned later.
    SubtaskReset {
        /// The subtask.
        subtask: SubtaskId,
        /// The checkpoint that it restores, if any.
        restored: Option<CheckpointId>,
    },
    /// Take a snapshot.
    Checkpoint(CheckpointId),
    /// A checkpoint is complete.
    NotifyCheckpointComplete(CheckpointId),
    /// A checkpoint is aborted.
    NotifyCheckpointAborted(CheckpointId),
    /// A worker has run something for the enumerator.
    AsyncResult {
        /// The coordinator that asked; a newer one does not care.
        generation: u32,
        /// What was run.
        call: AsyncCallName,
        /// What came of it.
        result: Result<Vec<u8>, UserError>,
    },
    /// From the coordinator of another source of the same watermark group.
    GroupWatermark {
        /// The source.
        source: OperatorUid,
        /// The least watermark of its readers in milliseconds; `None` forgets it, as that source begins anew.
        watermark_ms: Option<i64>,
    },
    /// A timer of this actor.
    Timer(Timer),
}

/// To the main thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum MainMail {
    /// The process has started.
    ProcessStarted {
        /// Where this process is.
        address: ProcessAddress,
    },
    /// From the network. The sender's address names the task manager where that matters.
    FromNetwork {
        /// Who sent it.
        from: ProcessAddress,
        /// The epoch that the sender believes in; the main thread refuses any but its own.
        epoch: LeaderEpoch,
        /// The content.
        message: JobManagerMessage,
    },
    /// The high-availability service answers.
    HighAvailabilityReply {
        /// The call.
        call: CallId,
        /// The content.
        reply: HighAvailabilityReply,
    },
    /// What became of an operator event.
    DeliveryOutcome {
        /// The send.
        token: DeliveryToken,
        /// What became of it.
        outcome: DeliveryOutcome,
    },
    /// From a coordinator's thread.
    FromCoordinator {
        /// Whose.
        operator: OperatorUid,
        /// Which generation of it.
        generation: u32,
        /// The content.
        message: CoordinatorToMain,
    },
    /// A timer of this actor.
    Timer(Timer),
    /// A user cancels the job.
    Cancel,
    /// A user wants a savepoint.
    Savepoint,
    /// A user stops the job with a savepoint.
    StopWithSavepoint {
        /// Whether writers flush as at the end of the input.
        drain: bool,
    },
}

/// To a task manager's endpoint.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TaskManagerMail {
    /// The process has started.
    ProcessStarted {
        /// Where this process is.
        address: ProcessAddress,
    },
    /// From the network.
    FromNetwork {
        /// Who sent it.
        from: ProcessAddress,
        /// The epoch of the sender.
        epoch: LeaderEpoch,
        /// The content.
        message: TaskManagerMessage,
    },
    /// A task of this process ended by itself.
    TaskEnded {
        /// The execution.
        attempt: ExecutionAttemptId,
        /// The epoch that deployed it: attempt numbers begin anew in each, and a zombie may end late.
        epoch: LeaderEpoch,
        /// FINISHED or FAILED.
        state: ExecutionState,
        /// Why, when it failed.
        cause: Option<String>,
    },
    /// A timer of this actor.
    Timer(Timer),
}

/// To a task's mailbox. All of it has one FIFO priority.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TaskMail {
    /// From the network.
    FromNetwork(TaskMessage),
    /// A timer of this actor.
    Timer(Timer),
}

/// To any actor.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Mail {
    /// To the main thread.
    Main(MainMail),
    /// To a coordinator.
    Coordinator(CoordinatorMail),
    /// To a task manager.
    TaskManager(TaskManagerMail),
    /// To a task.
    Task(TaskMail),
}

/// The order of a send among others. Order holds inside a stream; between streams there is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Stream {
    /// Operator events to a subtask.
    OperatorEvents(ExecutionAttemptId),
    /// A subtask's events to its coordinators, with INITIALIZING, RUNNING, END_OF_DATA and FINISHED.
    SubtaskEvents(ExecutionAttemptId),
    /// Checkpoint triggers to a subtask.
    Triggers(ExecutionAttemptId),
    /// Acknowledgements and declines of a subtask.
    Acknowledgements(ExecutionAttemptId),
    /// Completion and abort notices to a subtask: unordered among themselves.
    Notices(ExecutionAttemptId),
    /// Deploy, cancel, disconnect to a task manager.
    Deployment,
    /// A task manager's registration and the failures of its tasks.
    TaskManager,
    /// Heartbeats: unordered, never resent.
    Heartbeats,
    /// Calls to the store of one execution.
    StoreCalls(ExecutionAttemptId),
    /// The store's replies to one execution.
    StoreReplies(ExecutionAttemptId),
    /// Calls to the high-availability service and its replies.
    HighAvailability,
    /// What the producer of a channel sends once it is open: buffers, barriers and ends.
    Channel {
        /// The producer.
        from: ExecutionAttemptId,
        /// The consumer's subtask.
        to: SubtaskIndex,
    },
    /// What the consumer of a channel says to its producer once it is open: credit, and what it has taken.
    ChannelRequests {
        /// The consumer.
        from: ExecutionAttemptId,
        /// The producer's subtask.
        to: SubtaskIndex,
    },
    /// Requests to open channels: repeated until they are answered, so a loss breaks nothing.
    ChannelOpening(ExecutionAttemptId),
}

impl Stream {
    /// The task that cannot go on when a message of this stream is lost.
    #[must_use]
    pub const fn owner(self) -> Option<ExecutionAttemptId> {
        match self {
            Self::SubtaskEvents(attempt)
            | Self::Channel { from: attempt, .. }
            | Self::ChannelRequests { from: attempt, .. } => Some(attempt),
            _ => None,
        }
    }

    /// Whether messages of this stream keep their order.
    #[must_use]
    pub const fn is_ordered(self) -> bool {
        !matches!(self, Self::Notices(_) | Self::Heartbeats)
    }

    /// Whether an unacknowledged message is sent again.
    #[must_use]
    pub const fn is_resent(self) -> bool {
        !matches!(self, Self::Heartbeats)
    }

    /// Whether roles ask what became of messages of this stream: of no other does a send carry a [`DeliveryToken`].
    #[must_use]
    pub const fn has_outcomes(self) -> bool {
        matches!(self, Self::OperatorEvents(_) | Self::Triggers(_))
    }
}

/// The job configuration behind a shared pointer: each role keeps one, forks share it.
pub type SharedJobConfig = Arc<JobConfig>;
