//! The event vocabulary: what a run says of itself, as a versioned public schema.
//!
//! A verdict comes from these events alone, never from a role's private state, so the same checkers judge a simulated
//! run, a madsim run, a real one, and the log of somebody else's engine. Each kind names the invariants that read it.
//! Schema changes raise [`SCHEMA_VERSION`]; a golden file holds the encoding.
//!
//! Order: inside a process by [`Header::sequence`]; between processes by [`Header::causes`]. Never by time: clocks may be
//! skewed, and a checker must give one verdict on every order that those two allow.

use crate::ids::*;
use crate::message::{ExecutionState, JobResult};
use crate::records::{OffsetRange, RecordRanges, SplitPosition};
use serde::{Deserialize, Serialize};

/// The version of [`Event`]'s encoding.
pub const SCHEMA_VERSION: u16 = 6;

/// 'Every event of `process` with a sequence below `sequence` happened before this one': the message that led to it
/// was sent then.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Cause {
    /// The process that sent the message.
    pub process: ProcessId,
    /// How many events it had emitted by then.
    pub sequence: u64,
}

/// What stands before each event.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u16,
    /// The job.
    pub job: JobId,
    /// The lineage of its checkpoints.
    pub lineage: LineageId,
    /// The epoch of the leader that the actor obeys; 0 where there is none.
    pub leader_epoch: LeaderEpoch,
    /// The process.
    pub process: ProcessId,
    /// Counts the events of this process over all its lives.
    pub sequence: u64,
    /// What its process had heard of from others since its last event: the messages that led to it.
    pub causes: Vec<Cause>,
    /// The actor; it names operator, subtask and attempt where it has them.
    pub actor: ActorId,
    /// Virtual time in nanoseconds. For the reader; no checker orders by it.
    pub virtual_time_ns: u64,
    /// The process's own clock in nanoseconds.
    pub local_time_ns: u64,
}

/// One event.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Who, where, when.
    pub header: Header,
    /// What.
    pub kind: EventKind,
}

/// What a completed checkpoint holds, decoded from its stored bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct CheckpointContents {
    /// Splits in enumerator state.
    pub enumerators: Vec<SplitPosition>,
    /// Splits in reader state, with the subtask that holds them.
    pub readers: Vec<(SubtaskId, SplitPosition)>,
    /// Committables by transaction, with the subtask whose committer holds them and what a commit makes visible.
    pub committables: Vec<(SubtaskId, TransactionName, RecordRanges)>,
    /// Work in writer state that no committable names yet, by subtask, with its records.
    pub writers: Vec<(SubtaskId, TransactionName, RecordRanges)>,
    /// Subtasks that had finished before the checkpoint began.
    pub finished: Vec<SubtaskId>,
    /// The state of coordinated operators that are no source: the last event number by subtask.
    pub coordinated: Vec<(SubtaskId, u64)>,
    /// Buffers that barriers overtook in channels, each with the subtask that holds it.
    pub channels: Vec<(SubtaskId, RecordRanges)>,
}

/// Why a process or an actor stopped, what was done to a message, which window was hit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// A task ended by an exception that the world injected.
    TaskFailure,
    /// A task manager's process died.
    TaskManagerCrash,
    /// The job manager's process died.
    JobManagerCrash,
    /// A step's outputs were cut: the first few happened, the rest never.
    OutboxCut,
    /// A frame took far longer than usual.
    DelaySpike,
    /// A frame was lost.
    MessageLoss,
    /// A frame arrived twice.
    MessageDuplicate,
    /// A frame was overtaken by a later one of its link.
    MessageReorder,
    /// A link let nothing through for a while.
    Partition,
    /// The store did it, and its reply was lost.
    ReplyLost,
    /// The store answered 'not now'.
    StoreUnavailable,
    /// The store took long.
    StoreSlow,
    /// The store's process died and came back: what was merely open in it is lost.
    StoreCrash,
    /// Another writer of a table committed just before a commit of ours.
    ForeignCommit,
    /// A cancelled or lost execution went on for a while.
    Zombie,
    /// A thread stood still for a while.
    ThreadPause,
    /// Something else that a dead leader had sent arrived after its successor's first words, or after its lease.
    StaleLeader,
    /// A write of a dead leader was under way to the high-availability service when its successor got the lease.
    StaleWrite,
    /// A completion or abort notice of a dead leader arrived after its successor's first words.
    StaleNotice,
    /// A dead leader's word to run a task arrived after its successor's first words.
    StaleDeploy,
    /// A dead leader's word to stop a task arrived after its successor's first words.
    StaleCancel,
    /// A link held everything back for a while and released it together.
    Clog,
    /// A set of processes was clogged one by one, to be released in another order.
    Swizzle,
    /// A link took longer for every frame.
    SlowLink,
    /// A call was lost: it had no effect and no answer.
    RequestLost,
    /// All threads of a process stood still for a while.
    ProcessStop,
    /// A process's clock was set forwards or back.
    ClockStep,
    /// A stopped execution took long to go, and whoever stopped it waited for that.
    SlowClose,
}

impl FaultKind {
    /// Every kind of fault, in the order of their numbers.
    pub const ALL: [Self; 28] = [
        Self::TaskFailure,
        Self::TaskManagerCrash,
        Self::JobManagerCrash,
        Self::OutboxCut,
        Self::DelaySpike,
        Self::MessageLoss,
        Self::MessageDuplicate,
        Self::MessageReorder,
        Self::Partition,
        Self::ReplyLost,
        Self::StoreUnavailable,
        Self::StoreSlow,
        Self::StoreCrash,
        Self::ForeignCommit,
        Self::Zombie,
        Self::ThreadPause,
        Self::StaleLeader,
        Self::StaleWrite,
        Self::StaleNotice,
        Self::StaleDeploy,
        Self::StaleCancel,
        Self::Clog,
        Self::Swizzle,
        Self::SlowLink,
        Self::RequestLost,
        Self::ProcessStop,
        Self::ClockStep,
        Self::SlowClose,
    ];
}

/// The stretches of the protocol in which a fault hurts most. Each has one typed event at its opening and one at its
/// end, and each gets a crash and a delay inside it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// From `GatewaysMarked` to `GatewaysClosed`.
    MarkToClose,
    /// From `GatewaysClosed` to the subtask's `BarrierHandled`.
    CloseToBarrier,
    /// From `BarrierHandled` to the main thread's `CheckpointAcknowledged`.
    BarrierToAcknowledge,
    /// From the last `CheckpointAcknowledged` to the store's `CheckpointCompleted`.
    LastAcknowledgeToAdd,
    /// From `CheckpointCompleted` to the task's `CompletionNoticed`.
    AddToNotice,
    /// From `CompletionNoticed` to the store's `BecameVisible`.
    NoticeToCommit,
    /// From `BecameVisible` to the committer's `CommitAnswered`.
    CommitEffectToReply,
    /// From `TransactionPrepared` to the subtask's `ReaderSnapshotTaken`.
    PrepareToSnapshot,
    /// From `TaskStateChanged(Failed)` to the coordinator's `SplitsGivenBack`: the subtask's reset.
    FailureToReset,
    /// From `SplitsGivenBack` to `ReaderRegistered`.
    ResetToRegistration,
    /// From `ReaderRegistered` to its first `SplitsAssigned`.
    RegistrationToAssignment,
    /// From `EndOfInput` to `JobEnded`.
    EndOfInputToResult,
    /// From a split's last `RecordsEmitted` to its `SplitFinished`.
    SplitEndToFinish,
}

impl Window {
    /// Every window, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::MarkToClose,
        Self::CloseToBarrier,
        Self::BarrierToAcknowledge,
        Self::LastAcknowledgeToAdd,
        Self::AddToNotice,
        Self::NoticeToCommit,
        Self::CommitEffectToReply,
        Self::PrepareToSnapshot,
        Self::FailureToReset,
        Self::ResetToRegistration,
        Self::RegistrationToAssignment,
        Self::EndOfInputToResult,
        Self::SplitEndToFinish,
    ];
}

/// What happened. Each kind names the invariants that read it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum EventKind {
    // ---- leadership and the job
    /// The high-availability service granted the lease. Read by K2, S3.
    LeaderGranted {
        /// The new leader's epoch.
        epoch: LeaderEpoch,
    },
    /// A leader gave up: it was fenced, or a write of its had an unknown outcome.
    LeaderTermEnded {
        /// Why.
        cause: String,
    },
    /// The checkpoint-id counter was raised durably. Read by K2.
    CounterRaised {
        /// To this.
        checkpoint: CheckpointId,
    },
    /// The high-availability service stored the job's result. Read by S4, C1, C2, R1.
    JobEnded {
        /// The result.
        result: JobResult,
    },
    /// The job was submitted again after its user had ended it. What follows is the new job's. Read by C2, S1.
    JobSubmitted {
        /// The retained checkpoint that it restores.
        checkpoint: Option<CheckpointId>,
        /// How many subtasks each source has from here on.
        parallelism: u32,
    },
    /// The job master handles a failure of these subtasks.
    FailoverStarted {
        /// Whether the coordinators are reset too.
        global: bool,
        /// The subtasks that restart.
        subtasks: Vec<SubtaskId>,
        /// Why.
        cause: String,
    },
    /// The job master sends a task to a task manager; the attempt is the current one of its subtask. Read by S1, S3, R1.
    TaskDeployed {
        /// The execution.
        attempt: ExecutionAttemptId,
        /// The task manager.
        task_manager: u32,
        /// The checkpoint that it restores.
        restored: Option<CheckpointId>,
    },
    /// The job master learnt or decided that an execution changed its state. Read by S1, S3, S4.
    TaskStateChanged {
        /// The execution.
        attempt: ExecutionAttemptId,
        /// The state.
        state: ExecutionState,
        /// Why, when it failed.
        cause: Option<String>,
    },

    // ---- enumerator and coordinator thread
    /// The enumerator was created or restored, and started. Read by S1.
    EnumeratorStarted {
        /// The splits that it holds.
        pending: Vec<SplitPosition>,
        /// The checkpoint it was restored from.
        restored: Option<CheckpointId>,
    },
    /// The enumerator discovered splits; a restored one does not repeat them. Read by S1, R1, C2.
    SplitsDiscovered {
        /// At their start.
        splits: Vec<SplitPosition>,
    },
    /// An event from a reader arrived at the coordinator (breakpoint).
    ReaderEventArrived {
        /// The execution that sent it.
        attempt: ExecutionAttemptId,
    },
    /// A reader registered. Read by S3.
    ReaderRegistered {
        /// The execution.
        attempt: ExecutionAttemptId,
        /// The splits that it reports.
        reported: Vec<SplitPosition>,
    },
    /// An idle reader asked for a split.
    SplitRequested {
        /// The execution.
        attempt: ExecutionAttemptId,
    },
    /// An assignment is recorded in the tracker (breakpoint). Read by S1, B1.
    SplitsAssigned {
        /// To this execution.
        attempt: ExecutionAttemptId,
        /// The splits.
        splits: Vec<SplitPosition>,
    },
    /// A reader was told that no split will come.
    NoMoreSplitsSignalled {
        /// The execution.
        attempt: ExecutionAttemptId,
    },
    /// The coordinator told subtasks how far they may go in event time.
    AlignmentAnnounced {
        /// In milliseconds: the least watermark of the group and the drift that is allowed.
        allowed_ms: i64,
        /// Whom it told.
        subtasks: Vec<SubtaskIndex>,
    },
    /// The tracker filed the uncheckpointed assignments under a checkpoint (breakpoint). Read by B1.
    AssignmentsFiled {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// How many assignments it remembers, filed under this checkpoint or another.
        remembered: u32,
    },
    /// The enumerator took its snapshot. Read by S1, S2.
    EnumeratorSnapshotTaken {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The splits that it holds.
        pending: Vec<SplitPosition>,
    },
    /// A subtask is reset; its later assignments go back to the enumerator (breakpoint). Read by S1, S3.
    SplitsGivenBack {
        /// The subtask.
        subtask: SubtaskId,
        /// The checkpoint it will be restored from.
        restored: Option<CheckpointId>,
        /// The splits.
        splits: Vec<SplitPosition>,
    },
    /// The coordinator was told that a checkpoint is complete.
    CoordinatorNotified {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Whether it was completed or aborted.
        completed: bool,
    },

    // ---- holder and gateways (main thread)
    /// Every gateway of the operator was marked for a checkpoint. Read by S2.
    GatewaysMarked {
        /// The operator.
        operator: OperatorUid,
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
    /// Every gateway of the operator was closed: what is sent from here on belongs behind the barrier (breakpoint).
    /// Read by S2.
    GatewaysClosed {
        /// The operator.
        operator: OperatorUid,
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
    /// The gateway of one subtask opened for a checkpoint (breakpoint). Read by S2, B1.
    GatewayOpened {
        /// The operator.
        operator: OperatorUid,
        /// The execution.
        attempt: ExecutionAttemptId,
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// How many blocked events it let go.
        released: u32,
    },
    /// A gateway kept an event back. Read by B1.
    OperatorEventBlocked {
        /// The operator.
        operator: OperatorUid,
        /// The execution.
        attempt: ExecutionAttemptId,
        /// The number it will carry.
        id: OperatorEventId,
        /// Behind this checkpoint.
        checkpoint: CheckpointId,
    },
    /// The holder sent an event out. An event that was blocked keeps the number it was given when the coordinator
    /// sent it. Read by S2, S3.
    OperatorEventReleased {
        /// The operator.
        operator: OperatorUid,
        /// To this execution.
        attempt: ExecutionAttemptId,
        /// Its number.
        id: OperatorEventId,
    },
    /// The holder failed over a subtask because an event was lost.
    OperatorEventLost {
        /// The operator.
        operator: OperatorUid,
        /// The execution.
        attempt: ExecutionAttemptId,
        /// The event.
        id: OperatorEventId,
    },

    // ---- checkpoint coordinator (main thread)
    /// A checkpoint begins. Read by K2, K1.
    CheckpointTriggered {
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
    /// The barriers of a checkpoint are injected: every running subtask is sent its trigger.
    BarriersInjected {
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
    /// The coordinator counted a subtask's acknowledgement. Read by S2.
    CheckpointAcknowledged {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The execution.
        attempt: ExecutionAttemptId,
        /// Whether it was the last one that was awaited.
        last: bool,
    },
    /// A checkpoint was given up. Read by C3, K1.
    CheckpointAborted {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Why.
        reason: String,
    },
    /// The store applied the add: the checkpoint is complete. Read by S1, S2, R1, C2, C3, K2.
    CheckpointCompleted {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// What it holds. Boxed, since it would make every event four times as large.
        contents: Box<CheckpointContents>,
    },
    /// The store holds a savepoint of a job that goes on: nobody is told, and recovery never restores it. Read by S1, R1.
    SavepointStored {
        /// The savepoint.
        checkpoint: CheckpointId,
        /// What it holds.
        contents: Box<CheckpointContents>,
    },
    /// The job master picked the checkpoint that a failover restores. Read by S1, R1.
    RestorePointChosen {
        /// The checkpoint.
        checkpoint: Option<CheckpointId>,
        /// Whether the coordinators are restored too.
        global: bool,
        /// The subtasks.
        subtasks: Vec<SubtaskId>,
    },

    /// The job master dealt the state of the checkpoint to other subtasks than took it. Read by S1, C2.
    StateRedistributed {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The splits in reader state, with the subtask that restores them.
        readers: Vec<(SubtaskId, SplitPosition)>,
        /// The committables, with the subtask that restores them.
        committables: Vec<(SubtaskId, TransactionName)>,
    },

    // ---- the task thread
    /// The task restored its state, before it registers. Read by S1, S2.
    TaskRestored {
        /// The checkpoint.
        checkpoint: Option<CheckpointId>,
    },
    /// A restored split went to the reader (breakpoint). Read by S1, R1.
    SplitRestored {
        /// The split.
        split: SplitPosition,
    },
    /// A newly assigned split went to the reader (breakpoint). Read by S1.
    SplitAdded {
        /// The split.
        split: SplitPosition,
    },
    /// The task handled an operator event. Read by S2, S3.
    OperatorEventHandled {
        /// The operator.
        operator: OperatorUid,
        /// The event.
        id: OperatorEventId,
    },
    /// The reader was told that no split will come.
    NoMoreSplitsNoticed,
    /// Splits went too far in event time, or need not wait any more.
    SplitsPaused {
        /// Not read from here on.
        paused: Vec<SplitId>,
        /// Read again.
        resumed: Vec<SplitId>,
    },
    /// The reader's watermark is beyond what its group allows: it is not polled. Read by S4.
    AlignmentWaitBegan {
        /// The reader's watermark, in milliseconds.
        watermark_ms: i64,
        /// The limit.
        allowed_ms: i64,
    },
    /// The group has caught up: the reader is polled again. Read by S4.
    AlignmentWaitEnded {
        /// The limit.
        allowed_ms: i64,
    },
    /// The reader handed records on. Read by S1, S4, R1.
    RecordsEmitted {
        /// The records.
        range: OffsetRange,
    },
    /// The user function dropped records on purpose; or the outside says that these offsets of a topic hold no input. Read
    /// by R1, C2.
    RecordsFiltered {
        /// The records.
        range: OffsetRange,
    },
    /// The writer took records. Read by S5, R1.
    RecordsWritten {
        /// Into this transaction.
        transaction: TransactionName,
        /// The records.
        range: OffsetRange,
    },
    /// The task thread knows that a split is at its end; the reader's later snapshots do not hold it. Read by S1, S4.
    SplitFinished {
        /// The split.
        split: SplitId,
    },
    /// The task began its part of a checkpoint: the barrier passes, nothing of it is done yet. Read by S2.
    BarrierHandled {
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
    /// The writer prepared a transaction (breakpoint). Also told when there is nothing in it. Read by R1, K2.
    TransactionPrepared {
        /// The transaction.
        transaction: TransactionName,
        /// Its records.
        records: RecordRanges,
        /// At the end of the input, not for a checkpoint.
        end_of_input: bool,
    },
    /// The reader's state went into the snapshot. Read by S1, S2.
    ReaderSnapshotTaken {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The splits that it holds.
        splits: Vec<SplitPosition>,
    },
    /// The reader returned END_OF_INPUT: the writer is flushed and prepares for the last time next. Read by S4 and C3.
    EndOfInput,
    /// The task was told that a checkpoint is complete. Read by S3.
    CompletionNoticed {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The execution that the notice names.
        addressee: ExecutionAttemptId,
        /// The epoch that deployed it.
        epoch: LeaderEpoch,
    },
    /// The task was told that a checkpoint is aborted. Read by S3.
    AbortNoticed {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The execution that the notice names.
        addressee: ExecutionAttemptId,
        /// The epoch that deployed it.
        epoch: LeaderEpoch,
    },
    /// The committer asked the store to commit (breakpoint). Read by S3, C3.
    CommitRequested {
        /// The transaction.
        transaction: TransactionName,
        /// Its records.
        records: RecordRanges,
        /// How often it was tried before.
        retries: u32,
        /// Whether a restored checkpoint held it (breakpoint 're-commit').
        recommit: bool,
    },
    /// The committer learnt what became of a commit. Read by C2.
    CommitAnswered {
        /// The transaction.
        transaction: TransactionName,
        /// The outcome.
        outcome: CommitOutcome,
    },
    /// The committer will ask again (breakpoint 'retry loop').
    CommitRetried {
        /// The transaction.
        transaction: TransactionName,
        /// How often it was tried before.
        retries: u32,
    },
    /// The committer has done with a checkpoint: all its committables are answered. Read by C2.
    CommitsSettled {
        /// The checkpoint that was complete.
        checkpoint: CheckpointId,
    },
    /// User code threw.
    UserFailure {
        /// Where.
        moment: crate::config::FailureMoment,
        /// At this record; the checkpoint where the moment is one of a checkpoint and no record is at hand.
        record: u64,
    },
    /// The task's thread ended by itself. Read by S1, S3.
    TaskEnded {
        /// FINISHED or FAILED.
        state: ExecutionState,
        /// Why, when it failed.
        cause: Option<String>,
    },
    /// The committer of a task was created, before its writer (FACT 63).
    CommitterCreated {
        /// The checkpoint it restores.
        restored: Option<CheckpointId>,
    },
    /// The writer of a task was created.
    WriterCreated {
        /// The checkpoint it restores.
        restored: Option<CheckpointId>,
    },
    /// The reader started.
    ReaderStarted {
        /// The splits that it holds.
        splits: Vec<SplitPosition>,
    },

    // ---- the outside store's ledger
    /// A transactional writer recovered: older fences are refused from here on. Read by S3.
    WriterFenced {
        /// The writer.
        writer: SubtaskId,
        /// The newest fence.
        fence: Fence,
    },
    /// A transaction was opened. Read by S3, K2.
    TransactionBegun {
        /// The transaction.
        transaction: TransactionName,
        /// The asker's fence.
        fence: Fence,
    },
    /// Records were written into an open transaction. Read by S3.
    TransactionWritten {
        /// The transaction.
        transaction: TransactionName,
        /// The asker's fence.
        fence: Fence,
        /// The records.
        records: RecordRanges,
    },
    /// A transaction became durable. Read by S3, R1.
    TransactionDurable {
        /// The transaction.
        transaction: TransactionName,
        /// The asker's fence.
        fence: Fence,
        /// Its records.
        records: RecordRanges,
    },
    /// Open or prepared work was rolled back. Read by S3.
    TransactionRolledBack {
        /// The transaction.
        transaction: TransactionName,
        /// Whether it had been prepared.
        prepared: bool,
    },
    /// Records became visible: the one thing that cannot be undone. Read by C1, C2, C3, K2, R1, S3,
    /// S5.
    BecameVisible {
        /// Under this name.
        transaction: TransactionName,
        /// The execution whose call did it.
        by: ExecutionAttemptId,
        /// The leader epoch of that execution.
        epoch: LeaderEpoch,
        /// The records.
        records: RecordRanges,
    },
    /// A commit found its work done before.
    AlreadyVisible {
        /// Under this name.
        transaction: TransactionName,
    },
    /// A writer looked for what earlier lives left behind in an outside system that fences nobody off: whatever it finds
    /// and nobody needs it ends, and what an older life begins, or prepares, after that stays. Read by C4.
    LeftoversListed {
        /// The writer.
        writer: SubtaskId,
        /// The life that looked.
        fence: Fence,
    },
    /// A call was refused because of its fence. Read by S3.
    StoreRefused {
        /// The transaction.
        transaction: TransactionName,
        /// The asker's fence.
        fence: Fence,
    },

    // ---- the world
    /// A process began a life.
    ProcessStarted {
        /// Its address.
        address: ProcessAddress,
    },
    /// A process died with all its actors. Read by S1, S3.
    ProcessCrashed {
        /// Its address.
        address: ProcessAddress,
    },
    /// An execution ended without a word: it was stopped, or its zombie time is over. Read by S1.
    ExecutionGone {
        /// The execution.
        attempt: ExecutionAttemptId,
    },
    /// The world broke something.
    FaultInjected {
        /// What.
        fault: FaultKind,
        /// Inside which window, when it was aimed at one.
        window: Option<Window>,
    },
    /// Faults stop here: what follows must come to its end. Read by S4, K1.
    Healed,

    // ---- a reader's fetchers
    /// The reader started a split fetcher.
    FetcherStarted {
        /// Which.
        fetcher: FetcherNumber,
    },
    /// A fetch came back; the fetcher has the batch in hand. Read by B1.
    BatchFetched {
        /// How many records are in it.
        records: u32,
    },
    /// The fetcher put its batch into the hand-over queue. Read by B1.
    BatchHandedOver {
        /// How many batches the queue holds now.
        queued: u32,
    },
    /// The reader took the oldest batch out of the hand-over queue. Read by B1.
    BatchTaken {
        /// How many batches the queue still holds.
        queued: u32,
    },
    /// A split fetcher's thread ended; what it had in hand is dropped. Read by B1.
    FetcherEnded {
        /// Why, when it failed.
        cause: Option<String>,
    },
}

/// What a committer knows of a commit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum CommitOutcome {
    /// The store did it now.
    Committed,
    /// It had been done before.
    AlreadyCommitted,
    /// No answer came: it may have been done.
    Maybe,
    /// The store refused for now.
    RetryLater,
    /// The store does not know the transaction.
    Failed,
}

impl EventKind {
    /// The kind's name, for counts by kind.
    #[must_use]
    pub fn name(&self) -> &'static str {
        names::name(self)
    }
}

mod names;
