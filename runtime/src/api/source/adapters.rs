//! From the typed facade to the byte-level ports: one adapter each, used by every connector.
//!
//! Bytes that cannot be decoded are an exception of user code. A reader's port has no way to throw, so there it is a
//! panic with the reason: the bytes were written by the same source, and only a serialiser that is wrong gets there.

use super::facade::{SimpleVersionedSerializer, SourceSplit};
use super::facade::{Source, SourceReader, SplitEnumerator, SplitEnumeratorContext};
use super::ports::{
    AsyncCall, AsyncCallName, EnumeratorContext, EnumeratorFactory, EnumeratorPort, InputStatus, PauseError,
    ReaderContext, ReaderPort, UserError,
};
use crate::api::input_io::{InputAnswer, InputOperation};
use crate::api::source_state::{self, EnumeratorState, StateError};
use crate::api::user_code;
use crate::ids::{CheckpointId, FetcherNumber, SplitId, SubtaskIndex};
use crate::message::SplitPayload;
use crate::reader_base::FetcherContext;
use crate::records::Record;
use std::hash::{Hash, Hasher};

impl From<StateError> for UserError {
    fn from(error: StateError) -> Self {
        Self::new(error.to_string())
    }
}

fn decode_splits<S: Source>(source: &S, splits: &[SplitPayload]) -> Result<Vec<S::Split>, StateError> {
    splits.iter().map(|split| source.decode_split(split)).collect()
}

/// A typed reader as a [`ReaderPort`].
#[derive(Clone, Debug, Hash)]
pub struct ReaderAdapter<S: Source, R = <S as Source>::Reader> {
    source: S,
    reader: R,
}

impl<S: Source> ReaderAdapter<S> {
    /// A new reader of the source.
    #[must_use]
    pub fn new(source: S) -> Self {
        let reader = user_code::call("Source::create_reader", || source.create_reader());
        Self { source, reader }
    }
}

impl<S: Source, R: SourceReader<Split = S::Split>> ReaderAdapter<S, R> {
    /// Another reader for the splits of the source.
    #[must_use]
    pub const fn with_reader(source: S, reader: R) -> Self {
        Self { source, reader }
    }
}

impl<S: Source, R: SourceReader<Split = S::Split>> ReaderPort for ReaderAdapter<S, R> {
    fn start(&mut self, context: &mut ReaderContext) {
        user_code::call("SourceReader::start", || self.reader.start(context));
    }

    fn poll_next(
        &mut self,
        batch_size_max: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> Result<InputStatus, UserError> {
        debug_assert!(batch_size_max > 0, "an empty batch is no progress");
        let before = output.len();
        let status = user_code::call("SourceReader::poll_next", || {
            self.reader.poll_next(batch_size_max, output, context)
        })?;
        debug_assert!(output.len() - before <= batch_size_max as usize, "at most what was asked for");
        debug_assert!(
            output[before..].windows(2).all(|pair| pair[0].split == pair[1].split),
            "one split in a batch"
        );
        Ok(status)
    }

    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<SplitPayload> {
        let splits =
            user_code::call("SourceReader::snapshot_state", || self.reader.snapshot_state(checkpoint));
        splits.iter().map(|split| self.source.encode_split(split)).collect()
    }

    fn add_splits(&mut self, splits: Vec<SplitPayload>, context: &mut ReaderContext) {
        let decoded = decode_splits(&self.source, &splits).expect("the source wrote these splits itself");
        debug_assert!(decoded.iter().zip(&splits).all(|(split, payload)| split.at() == payload.at));
        user_code::call("SourceReader::add_splits", || self.reader.add_splits(decoded, context));
    }

    fn notify_no_more_splits(&mut self, context: &mut ReaderContext) {
        user_code::call("SourceReader::notify_no_more_splits", || self.reader.notify_no_more_splits(context));
    }

    fn handle_source_event(&mut self, event: Vec<u8>, context: &mut ReaderContext) {
        user_code::call("SourceReader::handle_source_event", || {
            self.reader.handle_source_event(event, context)
        });
    }

    fn wake(&mut self) {
        self.reader.wake();
    }

    fn is_available(&self) -> bool {
        self.reader.is_available()
    }

    fn notify_checkpoint_complete(&mut self, checkpoint: CheckpointId) {
        user_code::call("SourceReader::notify_checkpoint_complete", || {
            self.reader.notify_checkpoint_complete(checkpoint)
        });
    }

    fn notify_checkpoint_aborted(&mut self, checkpoint: CheckpointId) {
        user_code::call("SourceReader::notify_checkpoint_aborted", || {
            self.reader.notify_checkpoint_aborted(checkpoint)
        });
    }

    fn pause_or_resume_splits(&mut self, pause: &[SplitId], resume: &[SplitId]) -> Result<(), PauseError> {
        user_code::call("SourceReader::pause_or_resume_splits", || {
            self.reader.pause_or_resume_splits(pause, resume)
        })
    }

    fn fetcher_is_runnable(&self, fetcher: FetcherNumber) -> bool {
        self.reader.fetcher_is_runnable(fetcher)
    }

    fn fetcher_turn(&mut self, fetcher: FetcherNumber, records_max: u32, context: &mut FetcherContext) {
        user_code::call("SplitReader::fetch", || self.reader.fetcher_turn(fetcher, records_max, context));
    }

    fn fetch_due(&mut self, fetcher: FetcherNumber) {
        self.reader.fetch_due(fetcher);
    }

    fn fetch_answered(&mut self, fetcher: FetcherNumber, answer: InputAnswer) {
        user_code::call("SplitReader::fetch_answered", || self.reader.fetch_answered(fetcher, answer));
    }

    fn close(&mut self) {
        user_code::call("SourceReader::close", || self.reader.close());
    }

    fn clone_box(&self) -> Box<dyn ReaderPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.hash(&mut hasher);
    }
}

/// A typed enumerator as an [`EnumeratorPort`].
#[derive(Clone, Debug, Hash)]
pub struct EnumeratorAdapter<S: Source> {
    source: S,
    enumerator: S::Enumerator,
}

impl<S: Source> EnumeratorAdapter<S> {
    /// A new enumerator of the source, for a job without a checkpoint.
    #[must_use]
    pub fn create(source: S) -> Self {
        let enumerator = user_code::call("Source::create_enumerator", || source.create_enumerator());
        Self { source, enumerator }
    }

    /// The enumerator that stored bytes describe.
    ///
    /// # Errors
    /// When the bytes are wrong.
    pub fn restore(source: S, state: &[u8]) -> Result<Self, StateError> {
        let decoded = source_state::decode_enumerator_state(state)?;
        let pending = decode_splits(&source, &decoded.pending)?;
        let extra = match decoded.extra.split_first() {
            // The version stands before the bytes, in one byte: a connector has few versions.
            Some((version, bytes)) => {
                Some(source.extra_serializer().deserialize(u32::from(*version), bytes)?)
            }
            None => None,
        };
        let restored = || source.restore_enumerator(pending, extra);
        let enumerator = user_code::call("Source::restore_enumerator", restored);
        Ok(Self { source, enumerator })
    }
}

/// Makes the enumerators of a typed source.
#[derive(Clone, Debug)]
pub struct SourceEnumerators<S>(pub S);

impl<S: Source> EnumeratorFactory for SourceEnumerators<S> {
    fn create(&self) -> Result<Box<dyn EnumeratorPort>, UserError> {
        Ok(Box::new(EnumeratorAdapter::create(self.0.clone())))
    }

    fn restore(&self, state: &[u8]) -> Result<Box<dyn EnumeratorPort>, UserError> {
        Ok(Box::new(EnumeratorAdapter::restore(self.0.clone(), state)?))
    }
}

/// The coordinator's context as the typed enumerator sees it.
struct TypedContext<'a, S> {
    source: &'a S,
    context: &'a mut dyn EnumeratorContext,
}

impl<S: Source> SplitEnumeratorContext<S::Split> for TypedContext<'_, S> {
    fn current_parallelism(&self) -> u32 {
        self.context.current_parallelism()
    }

    fn registered_readers(&self) -> Vec<SubtaskIndex> {
        self.context.registered_readers()
    }

    fn splits_discovered(&mut self, splits: &[S::Split]) {
        let positions: Vec<_> = splits.iter().map(SourceSplit::at).collect();
        user_code::call_back("splits_discovered", || self.context.splits_discovered(&positions));
    }

    fn assign_splits(&mut self, assignment: Vec<(SubtaskIndex, Vec<S::Split>)>) -> Result<(), UserError> {
        let encode =
            |splits: Vec<S::Split>| splits.iter().map(|split| self.source.encode_split(split)).collect();
        let encoded = assignment.into_iter().map(|(subtask, splits)| (subtask, encode(splits))).collect();
        Ok(user_code::call_back("assign_splits", || self.context.assign_splits(encoded))?)
    }

    fn signal_no_more_splits(&mut self, subtask: SubtaskIndex) -> Result<(), UserError> {
        Ok(user_code::call_back("signal_no_more_splits", || self.context.signal_no_more_splits(subtask))?)
    }

    fn send_event_to_source_reader(
        &mut self,
        subtask: SubtaskIndex,
        event: Vec<u8>,
    ) -> Result<(), UserError> {
        Ok(user_code::call_back("send_event_to_source_reader", || {
            self.context.send_event_to_source_reader(subtask, event)
        })?)
    }

    fn call_async(&mut self, call: AsyncCall) {
        user_code::call_back("call_async", || self.context.call_async(call));
    }

    fn run_in_coordinator_thread(&mut self, call: AsyncCallName) {
        user_code::call_back("run_in_coordinator_thread", || self.context.run_in_coordinator_thread(call));
    }
}

impl<S: Source> EnumeratorPort for EnumeratorAdapter<S> {
    fn start(&mut self, context: &mut dyn EnumeratorContext) -> Result<(), UserError> {
        let context = &mut TypedContext { source: &self.source, context };
        user_code::call("SplitEnumerator::start", || self.enumerator.start(context))
    }

    fn handle_split_request(
        &mut self,
        subtask: SubtaskIndex,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        let context = &mut TypedContext { source: &self.source, context };
        user_code::call("SplitEnumerator::handle_split_request", || {
            self.enumerator.handle_split_request(subtask, context)
        })
    }

    fn handle_source_event(
        &mut self,
        subtask: SubtaskIndex,
        event: &[u8],
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        let context = &mut TypedContext { source: &self.source, context };
        user_code::call("SplitEnumerator::handle_source_event", || {
            self.enumerator.handle_source_event(subtask, event, context)
        })
    }

    fn add_splits_back(
        &mut self,
        splits: Vec<SplitPayload>,
        subtask: SubtaskIndex,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        let splits = decode_splits(&self.source, &splits)?;
        let context = &mut TypedContext { source: &self.source, context };
        user_code::call("SplitEnumerator::add_splits_back", || {
            self.enumerator.add_splits_back(splits, subtask, context)
        })
    }

    fn add_reader(
        &mut self,
        subtask: SubtaskIndex,
        reported: Vec<SplitPayload>,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        let reported = decode_splits(&self.source, &reported)?;
        let context = &mut TypedContext { source: &self.source, context };
        user_code::call("SplitEnumerator::add_reader", || {
            self.enumerator.add_reader(subtask, reported, context)
        })
    }

    fn snapshot_state(
        &mut self,
        checkpoint: CheckpointId,
        context: &mut dyn EnumeratorContext,
    ) -> Result<Vec<u8>, UserError> {
        let mut context = TypedContext { source: &self.source, context };
        let (pending, extra) = user_code::call("SplitEnumerator::snapshot_state", || {
            self.enumerator.snapshot_state(checkpoint, &mut context)
        })?;
        let serializer = self.source.extra_serializer();
        let version =
            u8::try_from(serializer.version()).map_err(|error| UserError::new(error.to_string()))?;
        let mut bytes = vec![version];
        bytes.extend(serializer.serialize(&extra));
        let pending = pending.iter().map(|split| self.source.encode_split(split)).collect();
        Ok(source_state::encode_enumerator_state(&EnumeratorState { pending, extra: bytes }))
    }

    fn notify_checkpoint_complete(
        &mut self,
        checkpoint: CheckpointId,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        let context = &mut TypedContext { source: &self.source, context };
        user_code::call("SplitEnumerator::notify_checkpoint_complete", || {
            self.enumerator.notify_checkpoint_complete(checkpoint, context)
        })
    }

    fn notify_checkpoint_aborted(
        &mut self,
        checkpoint: CheckpointId,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        let context = &mut TypedContext { source: &self.source, context };
        user_code::call("SplitEnumerator::notify_checkpoint_aborted", || {
            self.enumerator.notify_checkpoint_aborted(checkpoint, context)
        })
    }

    fn run_async(&mut self, call: AsyncCallName) -> Result<Vec<u8>, UserError> {
        user_code::call("SplitEnumerator::run_async", || self.enumerator.run_async(call))
    }

    fn ask_async(&mut self, call: AsyncCallName) -> Option<InputOperation> {
        user_code::call("SplitEnumerator::ask_async", || self.enumerator.ask_async(call))
    }

    fn async_answered(&mut self, call: AsyncCallName, answer: InputAnswer) -> Result<Vec<u8>, UserError> {
        user_code::call("SplitEnumerator::async_answered", || self.enumerator.async_answered(call, answer))
    }

    fn handle_async_result(
        &mut self,
        call: AsyncCallName,
        result: Result<Vec<u8>, UserError>,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        let mut context = TypedContext { source: &self.source, context };
        self.enumerator.handle_async_result(call, result, &mut context)
    }

    fn close(&mut self) -> Result<(), UserError> {
        self.enumerator.close()
    }

    fn clone_box(&self) -> Box<dyn EnumeratorPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.hash(&mut hasher);
    }
}
