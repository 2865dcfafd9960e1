//! The byte-level ports: what a task calls of a reader, and a source coordinator of an enumerator.

use crate::api::input_io::{InputAnswer, InputOperation};
use crate::ids::{CheckpointId, ExecutionAttemptId, FetcherNumber, SplitId, SubtaskIndex};
use crate::message::{ReaderEvent, SplitPayload};
use crate::reader_base::FetcherContext;
use crate::records::{Record, SplitPosition};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// What a reader says of its next poll (Flink's `InputStatus`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InputStatus {
    /// Poll again at once.
    MoreAvailable,
    /// Nothing now: poll again when [`ReaderPort::is_available`] says so.
    NothingAvailable,
    /// Nothing ever again. What is added after this is never read (FACT 55).
    EndOfInput,
}

/// An exception of user code. It fails the task or, in a coordinator's callback, the job (FACT 38).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct UserError {
    /// What the exception says.
    pub message: String,
}

impl UserError {
    /// An exception with this text.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// Why splits were not paused or resumed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum PauseError {
    /// The connector cannot (Flink's `UnsupportedOperationException`). A job may allow that.
    #[error("this reader cannot pause or resume splits ({0} of them)")]
    Unsupported(usize),
    /// User code threw.
    #[error(transparent)]
    Failed(#[from] UserError),
}

impl PauseError {
    /// The error of a connector that cannot pause splits.
    #[must_use]
    pub const fn unsupported(pause: &[SplitId], resume: &[SplitId]) -> Self {
        Self::Unsupported(pause.len() + resume.len())
    }

    /// What is left of an outcome where splits may stay unaligned.
    ///
    /// # Errors
    /// The same, unless it is 'unsupported' and that is allowed.
    pub fn tolerate(outcome: Result<(), Self>, allows_unaligned: bool) -> Result<(), Self> {
        match outcome {
            Err(Self::Unsupported(_)) if allows_unaligned => Ok(()),
            outcome => outcome,
        }
    }
}

/// Why a call into the enumerator's context failed. Nothing of the call has happened, unless the error says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum ContextError {
    /// The source has fewer subtasks.
    #[error("{subtask} is out of bounds, there are {parallelism}")]
    NoSuchSubtask {
        /// The subtask of the call.
        subtask: SubtaskIndex,
        /// How many there are.
        parallelism: u32,
    },
    /// No reader of the subtask is registered (FACT 39).
    #[error("{0} is not registered, so it can be told nothing of splits")]
    NotRegistered(SubtaskIndex),
    /// The reader is registered and its gateway is not ready. An assignment *was* recorded, and sent to whoever came
    /// before in it (FACT 40).
    #[error("{0} is not ready yet to receive events")]
    NotReady(ExecutionAttemptId),
    /// The subtask has no gateway.
    #[error("{0} is not ready yet to receive events")]
    NoGateway(SubtaskIndex),
}

impl From<ContextError> for UserError {
    fn from(error: ContextError) -> Self {
        Self::new(error.to_string())
    }
}

/// What a reader asks of its task; the reader fills it, the `SourceOperator` drains it after each call.
///
/// A plain struct instead of a callback object: a call that returns a list of wishes can be cut, logged and compared.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ReaderContext {
    /// Events to the coordinator, in order.
    pub events: Vec<ReaderEvent>,
    /// Set the timer `ReaderWake` to fire after so many nanoseconds.
    pub wake_after_ns: Option<u64>,
    /// Splits that the reader dropped at their end: its later snapshots do not hold them.
    pub finished: Vec<SplitId>,
    /// Splits that have no records for now: they hold no watermark back until their next one (Flink's `markIdle`).
    pub idle: Vec<SplitId>,
    /// The call has not come back and will not for so many nanoseconds: the task's thread is blocked in user code and
    /// handles no mail, barriers included. Then the task calls `wake` and polls again, which goes on with the call.
    pub blocked_for_ns: Option<u64>,
    /// What happened between the reader and its fetchers, in order; empty for a reader without any.
    pub fetching: Vec<FetchingNote>,
}

/// Something between a reader and its fetchers that its task tells of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FetchingNote {
    /// This fetcher's thread is to start.
    FetcherStarted(FetcherNumber),
    /// A batch was taken out of the hand-over queue, which still holds so many.
    BatchTaken {
        /// How many batches are left in the queue.
        queued: u32,
    },
}

/// A source reader behind bytes. Every call comes from the task's mailbox thread.
pub trait ReaderPort: Debug + Send + Sync {
    /// Begins; comes after the restored splits were added and the registration was sent (FACT 51).
    fn start(&mut self, context: &mut ReaderContext);

    /// Appends up to `batch_size_max` (at least 1) records to `output`. A batch never crosses a split boundary, so that
    /// one event can name it by a range of offsets.
    ///
    /// # Errors
    /// What user code throws, here or in one of the reader's fetchers; it fails the task.
    fn poll_next(
        &mut self,
        batch_size_max: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> Result<InputStatus, UserError>;

    /// The splits at their reading positions.
    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<SplitPayload>;

    /// Takes restored or assigned splits.
    fn add_splits(&mut self, splits: Vec<SplitPayload>, context: &mut ReaderContext);

    /// No split will come any more.
    fn notify_no_more_splits(&mut self, context: &mut ReaderContext);

    /// Takes a custom event of the enumerator.
    fn handle_source_event(&mut self, event: Vec<u8>, context: &mut ReaderContext);

    /// The timer `ReaderWake` fired.
    fn wake(&mut self);

    /// Whether a poll may bring something. `false` suspends the task's default action; nothing polls meanwhile, and any
    /// of the other calls may turn it to `true`.
    fn is_available(&self) -> bool;

    /// The checkpoint is complete.
    fn notify_checkpoint_complete(&mut self, checkpoint: CheckpointId);

    /// The checkpoint is aborted.
    fn notify_checkpoint_aborted(&mut self, checkpoint: CheckpointId);

    /// Reads `pause` no more until they are resumed. Watermark alignment asks for it.
    ///
    /// # Errors
    /// When the reader cannot.
    fn pause_or_resume_splits(&mut self, pause: &[SplitId], resume: &[SplitId]) -> Result<(), PauseError> {
        Err(PauseError::unsupported(pause, resume))
    }

    /// Whether the thread of this fetcher could go on. Only readers with fetchers have such threads.
    fn fetcher_is_runnable(&self, _fetcher: FetcherNumber) -> bool {
        false
    }

    /// One turn of a fetcher's thread; it fetches at most `records_max` records.
    fn fetcher_turn(&mut self, _fetcher: FetcherNumber, _records_max: u32, _context: &mut FetcherContext) {}

    /// The time is over for which a fetcher's fetch blocks.
    fn fetch_due(&mut self, _fetcher: FetcherNumber) {}

    /// The answer to what a fetcher's fetch asked for.
    fn fetch_answered(&mut self, _fetcher: FetcherNumber, _answer: InputAnswer) {}

    /// The task's thread ends; nothing is called any more, but for the last turns of the reader's fetchers.
    fn close(&mut self) {}

    /// A copy, for forks of a world.
    fn clone_box(&self) -> Box<dyn ReaderPort>;

    /// Feeds the whole state into `hasher`.
    fn fingerprint(&self, hasher: &mut dyn Hasher);
}

impl Clone for Box<dyn ReaderPort> {
    fn clone(&self) -> Self {
        self.as_ref().clone_box()
    }
}

impl Hash for dyn ReaderPort {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.fingerprint(hasher);
    }
}

/// What an enumerator may ask of its coordinator (Flink's `SplitEnumeratorContext`, behind bytes).
pub trait EnumeratorContext {
    /// How many subtasks read.
    fn current_parallelism(&self) -> u32;

    /// The subtasks whose reader is registered now, in order.
    fn registered_readers(&self) -> Vec<SubtaskIndex>;

    /// Tells the run which splits exist from now on. An enumerator calls it when it plans, and not when it is restored.
    fn splits_discovered(&mut self, splits: &[SplitPosition]);

    /// Records the assignment in the tracker, then sends it (FACT 40).
    ///
    /// # Errors
    /// When one of the subtasks is not registered: nothing is recorded or sent for any of them (FACT 39). When one is
    /// registered but has no gateway: all is recorded, and the job is to fail (FACT 40).
    fn assign_splits(
        &mut self,
        assignment: Vec<(SubtaskIndex, Vec<SplitPayload>)>,
    ) -> Result<(), ContextError>;

    /// Tells a reader that no split will come; its requests are dropped from here on, until its reset (FACT 42).
    ///
    /// # Errors
    /// When the subtask is not registered or has no gateway. The latch is not set then: Flink sets it (FACT 43), and so
    /// swallows the subtask's requests for good.
    fn signal_no_more_splits(&mut self, subtask: SubtaskIndex) -> Result<(), ContextError>;

    /// Sends a custom event.
    ///
    /// # Errors
    /// When the subtask has no gateway.
    fn send_event_to_source_reader(
        &mut self,
        subtask: SubtaskIndex,
        event: Vec<u8>,
    ) -> Result<(), ContextError>;

    /// Has a worker run [`EnumeratorPort::run_async`], once or again and again; each result comes back to
    /// [`EnumeratorPort::handle_async_result`] in the coordinator's thread, with other calls in between (Flink's
    /// `callAsync`). A call of the same name replaces the older one.
    fn call_async(&mut self, call: AsyncCall);

    /// Has [`EnumeratorPort::handle_async_result`] called in the coordinator's thread, behind what waits there already,
    /// with an empty result (Flink's `runInCoordinatorThread`).
    fn run_in_coordinator_thread(&mut self, call: AsyncCallName);
}

/// An enumerator's own name for what it has run elsewhere. Closures cannot cross a protocol that is replayed and copied.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct AsyncCallName(pub u32);

/// When a worker runs something for an enumerator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AsyncCall {
    /// What.
    pub name: AsyncCallName,
    /// Nanoseconds until it first runs.
    pub initial_delay_ns: u64,
    /// Nanoseconds between two runs; `None` runs it once.
    pub period_ns: Option<u64>,
}

/// A split enumerator behind bytes. Every call comes from the coordinator's logical thread, one at a time (FACT 34).
///
/// An error of any call but [`Self::snapshot_state`] fails the job, that one fails its checkpoint only (FACT 38).
pub trait EnumeratorPort: Debug + Send + Sync {
    /// Begins.
    ///
    /// # Errors
    /// What user code throws.
    fn start(&mut self, context: &mut dyn EnumeratorContext) -> Result<(), UserError>;

    /// An idle reader asks for a split.
    ///
    /// # Errors
    /// What user code throws.
    fn handle_split_request(
        &mut self,
        subtask: SubtaskIndex,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError>;

    /// A custom event of a reader.
    ///
    /// # Errors
    /// What user code throws.
    fn handle_source_event(
        &mut self,
        subtask: SubtaskIndex,
        event: &[u8],
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError>;

    /// The subtask was reset: these were assigned to it after the checkpoint that it restores. Always called, also with
    /// no split (FACT 46).
    ///
    /// # Errors
    /// What user code throws.
    fn add_splits_back(
        &mut self,
        splits: Vec<SplitPayload>,
        subtask: SubtaskIndex,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError>;

    /// A reader registered, with the splits that it reports (FACT 53).
    ///
    /// # Errors
    /// What user code throws.
    fn add_reader(
        &mut self,
        subtask: SubtaskIndex,
        reported: Vec<SplitPayload>,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError>;

    /// The state, as `api::source_state` encodes it. What it assigns meanwhile must not be in the state any more: the
    /// reader's snapshot will hold it. (In Flink such a split is read twice after a failure, FACT 36.)
    ///
    /// # Errors
    /// What user code throws.
    fn snapshot_state(
        &mut self,
        checkpoint: CheckpointId,
        context: &mut dyn EnumeratorContext,
    ) -> Result<Vec<u8>, UserError>;

    /// The checkpoint is complete.
    ///
    /// # Errors
    /// What user code throws.
    fn notify_checkpoint_complete(
        &mut self,
        checkpoint: CheckpointId,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError>;

    /// The checkpoint is aborted.
    ///
    /// # Errors
    /// What user code throws.
    fn notify_checkpoint_aborted(
        &mut self,
        checkpoint: CheckpointId,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError>;

    /// Runs what was asked for with [`EnumeratorContext::call_async`], as a worker does: it sees the outside and not the
    /// coordinator. Nothing unless implemented.
    ///
    /// # Errors
    /// What user code throws: it goes to [`Self::handle_async_result`], and fails nothing by itself.
    fn run_async(&mut self, _call: AsyncCallName) -> Result<Vec<u8>, UserError> {
        Ok(Vec::new())
    }

    /// What the worker is to ask the outside for before it runs the call; nothing unless implemented. Where it asks,
    /// [`Self::async_answered`] comes in place of [`Self::run_async`]: an enumerator that is pure cannot look by itself.
    fn ask_async(&mut self, _call: AsyncCallName) -> Option<InputOperation> {
        None
    }

    /// Makes a result of the answer that the worker got.
    ///
    /// # Errors
    /// What user code throws: it goes to [`Self::handle_async_result`], and fails nothing by itself.
    fn async_answered(&mut self, _call: AsyncCallName, answer: InputAnswer) -> Result<Vec<u8>, UserError> {
        Err(UserError::new(format!("nothing was asked for, and this was the answer: {answer:?}")))
    }

    /// What a worker found, in the coordinator's thread. Ignored unless implemented.
    ///
    /// # Errors
    /// What user code throws; it fails the job.
    fn handle_async_result(
        &mut self,
        _call: AsyncCallName,
        _result: Result<Vec<u8>, UserError>,
        _context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        Ok(())
    }

    /// The coordinator is replaced (FACT 47).
    ///
    /// # Errors
    /// What user code throws; it is logged, nothing else.
    fn close(&mut self) -> Result<(), UserError>;

    /// A copy, for forks of a world.
    fn clone_box(&self) -> Box<dyn EnumeratorPort>;

    /// Feeds the whole state into `hasher`.
    fn fingerprint(&self, hasher: &mut dyn Hasher);
}

/// Makes the enumerators of a source.
pub trait EnumeratorFactory: Debug + Send + Sync {
    /// An enumerator for a job without a checkpoint.
    ///
    /// # Errors
    /// What user code throws; it fails the job.
    fn create(&self) -> Result<Box<dyn EnumeratorPort>, UserError>;

    /// An enumerator that restores its state.
    ///
    /// # Errors
    /// When the bytes are wrong, or what user code throws; it fails the job.
    fn restore(&self, state: &[u8]) -> Result<Box<dyn EnumeratorPort>, UserError>;
}

impl Clone for Box<dyn EnumeratorPort> {
    fn clone(&self) -> Self {
        self.as_ref().clone_box()
    }
}

impl Hash for dyn EnumeratorPort {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.fingerprint(hasher);
    }
}
