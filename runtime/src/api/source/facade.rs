//! The typed traits of source authors, after Flink's FLIP-27.
//!
//! A split *is* its reading position: there is no mutable split state beside it, a reader's snapshot is simply its
//! splits. An enumerator's snapshot is the splits it holds plus a value of its own, so that whoever audits a checkpoint
//! can find the splits in it (see [`source_state`](crate::api::source_state)).

use super::ports::{AsyncCall, AsyncCallName, InputStatus, PauseError, ReaderContext, UserError};
use crate::api::input_io::{InputAnswer, InputOperation};
use crate::api::source_state::{self, StateError};
use crate::ids::{CheckpointId, FetcherNumber, SplitId, SubtaskIndex};
use crate::message::SplitPayload;
use crate::reader_base::FetcherContext;
use crate::records::{Record, SplitPosition};
use std::fmt::Debug;
use std::hash::Hash;

/// Whether a source ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Boundedness {
    /// It ends after its last split.
    Bounded,
    /// It never ends.
    ContinuousUnbounded,
}

/// A split at its reading position.
pub trait SourceSplit: Clone + Debug + Hash + Send + Sync + 'static {
    /// Identity, next offset to read, and the offset behind the last record.
    fn at(&self) -> SplitPosition;
}

/// Turns values into bytes and back, across versions of the connector.
///
/// ```
/// use splitrace_runtime::api::source::SimpleVersionedSerializer;
/// use splitrace_runtime::api::source_state::StateError;
///
/// #[derive(Clone, Debug, Hash)]
/// struct NumberSerializer;
/// impl SimpleVersionedSerializer<u32> for NumberSerializer {
///     fn version(&self) -> u32 {
///         2
///     }
///     fn serialize(&self, value: &u32) -> Vec<u8> {
///         value.to_le_bytes().to_vec()
///     }
///     fn deserialize(&self, version: u32, bytes: &[u8]) -> Result<u32, StateError> {
///         match (version, bytes) {
///             (1, [byte]) => Ok(u32::from(*byte)),
///             (2, bytes) => bytes
///                 .try_into()
///                 .map(u32::from_le_bytes)
///                 .map_err(|_| StateError::Malformed("four bytes".to_owned())),
///             _ => Err(StateError::UnknownVersion(version)),
///         }
///     }
/// }
/// assert_eq!(NumberSerializer.deserialize(1, &[7]), Ok(7));
/// assert_eq!(NumberSerializer.deserialize(2, &NumberSerializer.serialize(&300)), Ok(300));
/// ```
pub trait SimpleVersionedSerializer<T> {
    /// The version that [`Self::serialize`] writes.
    fn version(&self) -> u32;

    /// Encodes a value.
    fn serialize(&self, value: &T) -> Vec<u8>;

    /// Decodes a value of any version that was ever written.
    ///
    /// # Errors
    /// When the version is unknown or the bytes are wrong.
    fn deserialize(&self, version: u32, bytes: &[u8]) -> Result<T, StateError>;
}

/// A source: makes enumerators and readers, and knows how their states are written.
pub trait Source: Clone + Debug + Hash + Send + Sync + 'static {
    /// Its splits.
    type Split: SourceSplit;
    /// What its enumerator keeps beside the splits it holds.
    type EnumeratorExtra;
    /// Its enumerator.
    type Enumerator: SplitEnumerator<Split = Self::Split, Extra = Self::EnumeratorExtra>;
    /// Its reader.
    type Reader: SourceReader<Split = Self::Split>;
    /// How its splits are written.
    type SplitSerializer: SimpleVersionedSerializer<Self::Split>;
    /// How [`Self::EnumeratorExtra`] is written.
    type ExtraSerializer: SimpleVersionedSerializer<Self::EnumeratorExtra>;

    /// Whether it ends.
    fn boundedness(&self) -> Boundedness;

    /// An enumerator for a job without a checkpoint.
    fn create_enumerator(&self) -> Self::Enumerator;

    /// An enumerator for a job that restores one; `extra` is `None` when the stored state was empty.
    fn restore_enumerator(
        &self,
        pending: Vec<Self::Split>,
        extra: Option<Self::EnumeratorExtra>,
    ) -> Self::Enumerator;

    /// A reader.
    fn create_reader(&self) -> Self::Reader;

    /// How splits are written.
    fn split_serializer(&self) -> Self::SplitSerializer;

    /// How the rest of the enumerator's state is written.
    fn extra_serializer(&self) -> Self::ExtraSerializer;

    /// Encodes a split with where it stands.
    fn encode_split(&self, split: &Self::Split) -> SplitPayload {
        let serializer = self.split_serializer();
        SplitPayload { at: split.at(), version: serializer.version(), bytes: serializer.serialize(split) }
    }

    /// Decodes a split.
    ///
    /// # Errors
    /// When the bytes are wrong, or stand for another split or position than the payload says.
    fn decode_split(&self, payload: &SplitPayload) -> Result<Self::Split, StateError> {
        let split = self.split_serializer().deserialize(payload.version, &payload.bytes)?;
        if split.at() == payload.at {
            return Ok(split);
        }
        Err(StateError::Malformed(format!("{} was stored as {}", payload.at, split.at())))
    }

    /// The splits that stored *reader* state holds, through the source's own serialiser: a serialiser that loses or
    /// moves a split shows here.
    ///
    /// # Errors
    /// When the bytes are wrong.
    fn splits_held(&self, state: &[u8]) -> Result<Vec<SplitPosition>, StateError> {
        let payloads = source_state::decode_reader_state(state)?;
        payloads.iter().map(|payload| self.decode_split(payload).map(|split| split.at())).collect()
    }

    /// The splits that stored *enumerator* state holds, through the source's own serialiser.
    ///
    /// # Errors
    /// When the bytes are wrong.
    fn enumerator_splits_held(&self, state: &[u8]) -> Result<Vec<SplitPosition>, StateError> {
        let payloads = source_state::decode_enumerator_state(state)?.pending;
        payloads.iter().map(|payload| self.decode_split(payload).map(|split| split.at())).collect()
    }
}

/// What a typed enumerator may ask for; errors as in [`EnumeratorContext`](super::EnumeratorContext).
pub trait SplitEnumeratorContext<S> {
    /// How many subtasks read.
    fn current_parallelism(&self) -> u32;

    /// The subtasks whose reader is registered now, in order.
    fn registered_readers(&self) -> Vec<SubtaskIndex>;

    /// Tells the run which splits exist from now on: once, when they are planned.
    fn splits_discovered(&mut self, splits: &[S]);

    /// Records the assignment, then sends it.
    ///
    /// # Errors
    /// When a subtask is not registered (nothing happened) or has no gateway.
    fn assign_splits(&mut self, assignment: Vec<(SubtaskIndex, Vec<S>)>) -> Result<(), UserError>;

    /// Tells a reader that no split will come.
    ///
    /// # Errors
    /// When the subtask is not registered or has no gateway.
    fn signal_no_more_splits(&mut self, subtask: SubtaskIndex) -> Result<(), UserError>;

    /// Sends a custom event.
    ///
    /// # Errors
    /// When the subtask has no gateway.
    fn send_event_to_source_reader(&mut self, subtask: SubtaskIndex, event: Vec<u8>)
    -> Result<(), UserError>;

    /// Has a worker run [`SplitEnumerator::run_async`], once or again and again.
    fn call_async(&mut self, call: AsyncCall);

    /// Has [`SplitEnumerator::handle_async_result`] called later in the coordinator's thread, with an empty result.
    fn run_in_coordinator_thread(&mut self, call: AsyncCallName);
}

/// Discovers splits and hands them out. Runs in the coordinator's logical thread, one call at a time.
pub trait SplitEnumerator: Clone + Debug + Hash + Send + Sync + 'static {
    /// Its splits.
    type Split;
    /// What it keeps beside the splits that it holds.
    type Extra;

    /// Begins.
    ///
    /// # Errors
    /// Any failure; it fails the job.
    fn start(&mut self, context: &mut dyn SplitEnumeratorContext<Self::Split>) -> Result<(), UserError>;

    /// An idle reader asks.
    ///
    /// # Errors
    /// Any failure; it fails the job.
    fn handle_split_request(
        &mut self,
        subtask: SubtaskIndex,
        context: &mut dyn SplitEnumeratorContext<Self::Split>,
    ) -> Result<(), UserError>;

    /// A custom event of a reader; ignored unless implemented.
    ///
    /// # Errors
    /// Any failure; it fails the job.
    fn handle_source_event(
        &mut self,
        _subtask: SubtaskIndex,
        _event: &[u8],
        _context: &mut dyn SplitEnumeratorContext<Self::Split>,
    ) -> Result<(), UserError> {
        Ok(())
    }

    /// A subtask was reset; these splits come back, maybe none.
    ///
    /// # Errors
    /// Any failure; it fails the job.
    fn add_splits_back(
        &mut self,
        splits: Vec<Self::Split>,
        subtask: SubtaskIndex,
        context: &mut dyn SplitEnumeratorContext<Self::Split>,
    ) -> Result<(), UserError>;

    /// A reader registered.
    ///
    /// # Errors
    /// Any failure; it fails the job.
    fn add_reader(
        &mut self,
        subtask: SubtaskIndex,
        reported: Vec<Self::Split>,
        context: &mut dyn SplitEnumeratorContext<Self::Split>,
    ) -> Result<(), UserError>;

    /// The splits that it holds and the rest of its state. A split that is assigned meanwhile must not be among them.
    ///
    /// # Errors
    /// Any failure; it fails this checkpoint, not the job.
    fn snapshot_state(
        &mut self,
        checkpoint: CheckpointId,
        context: &mut dyn SplitEnumeratorContext<Self::Split>,
    ) -> Result<(Vec<Self::Split>, Self::Extra), UserError>;

    /// A checkpoint is complete; ignored unless implemented.
    ///
    /// # Errors
    /// Any failure; it fails the job.
    fn notify_checkpoint_complete(
        &mut self,
        _checkpoint: CheckpointId,
        _context: &mut dyn SplitEnumeratorContext<Self::Split>,
    ) -> Result<(), UserError> {
        Ok(())
    }

    /// A checkpoint is aborted; ignored unless implemented.
    ///
    /// # Errors
    /// Any failure; it fails the job.
    fn notify_checkpoint_aborted(
        &mut self,
        _checkpoint: CheckpointId,
        _context: &mut dyn SplitEnumeratorContext<Self::Split>,
    ) -> Result<(), UserError> {
        Ok(())
    }

    /// Runs what was asked for with [`SplitEnumeratorContext::call_async`], as a worker does; nothing unless implemented.
    ///
    /// # Errors
    /// Any failure; it is handed to [`Self::handle_async_result`].
    fn run_async(&mut self, _call: AsyncCallName) -> Result<Vec<u8>, UserError> {
        Ok(Vec::new())
    }

    /// What the worker is to ask the outside for before it runs the call; nothing unless implemented. Where it asks,
    /// [`Self::async_answered`] comes in place of [`Self::run_async`].
    fn ask_async(&mut self, _call: AsyncCallName) -> Option<InputOperation> {
        None
    }

    /// Makes a result of the answer that the worker got.
    ///
    /// # Errors
    /// Any failure; it is handed to [`Self::handle_async_result`].
    fn async_answered(&mut self, _call: AsyncCallName, answer: InputAnswer) -> Result<Vec<u8>, UserError> {
        Err(UserError::new(format!("nothing was asked for, and this was the answer: {answer:?}")))
    }

    /// What a worker found; ignored unless implemented.
    ///
    /// # Errors
    /// Any failure; it fails the job.
    fn handle_async_result(
        &mut self,
        _call: AsyncCallName,
        _result: Result<Vec<u8>, UserError>,
        _context: &mut dyn SplitEnumeratorContext<Self::Split>,
    ) -> Result<(), UserError> {
        Ok(())
    }

    /// It is replaced; nothing to do unless implemented.
    ///
    /// # Errors
    /// Any failure.
    fn close(&mut self) -> Result<(), UserError> {
        Ok(())
    }
}

/// Reads splits. Runs in the task's mailbox thread; the calls are those of [`ReaderPort`](super::ReaderPort).
pub trait SourceReader: Clone + Debug + Hash + Send + Sync + 'static {
    /// Its splits.
    type Split;

    /// Begins; restored splits were added before.
    fn start(&mut self, context: &mut ReaderContext);

    /// Appends up to `batch_size_max` records of one split.
    ///
    /// # Errors
    /// Any failure; it fails the task.
    fn poll_next(
        &mut self,
        batch_size_max: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> Result<InputStatus, UserError>;

    /// Its splits at their reading positions.
    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<Self::Split>;

    /// Takes restored or assigned splits.
    fn add_splits(&mut self, splits: Vec<Self::Split>, context: &mut ReaderContext);

    /// No split will come any more.
    fn notify_no_more_splits(&mut self, context: &mut ReaderContext);

    /// Takes a custom event; ignored unless implemented.
    fn handle_source_event(&mut self, _event: Vec<u8>, _context: &mut ReaderContext) {}

    /// The wake timer fired.
    fn wake(&mut self) {}

    /// Whether a poll may bring something.
    fn is_available(&self) -> bool;

    /// A checkpoint is complete; ignored unless implemented.
    fn notify_checkpoint_complete(&mut self, _checkpoint: CheckpointId) {}

    /// A checkpoint is aborted; ignored unless implemented.
    fn notify_checkpoint_aborted(&mut self, _checkpoint: CheckpointId) {}

    /// Reads `pause` no more until they are resumed.
    ///
    /// # Errors
    /// Not being able to is one, unless implemented.
    fn pause_or_resume_splits(&mut self, pause: &[SplitId], resume: &[SplitId]) -> Result<(), PauseError> {
        Err(PauseError::unsupported(pause, resume))
    }

    /// Whether the thread of this fetcher could go on; only
    /// [`SourceReaderBase`](crate::reader_base::SourceReaderBase) has such threads.
    fn fetcher_is_runnable(&self, _fetcher: FetcherNumber) -> bool {
        false
    }

    /// One turn of a fetcher's thread.
    fn fetcher_turn(&mut self, _fetcher: FetcherNumber, _records_max: u32, _context: &mut FetcherContext) {}

    /// The time is over for which a fetcher's fetch blocks.
    fn fetch_due(&mut self, _fetcher: FetcherNumber) {}

    /// The answer to what a fetcher's fetch asked for.
    fn fetch_answered(&mut self, _fetcher: FetcherNumber, _answer: InputAnswer) {}

    /// The task ends; nothing to do unless implemented.
    fn close(&mut self) {}
}
