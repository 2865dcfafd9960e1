//! Range sources with a planted defect: whole enumerators and readers beside the right ones, which know nothing of them.

pub mod discovery;

use super::{
    DiscoveredSerializer, RangeEnumerator, RangeReader, RangeSource, RangeSplit, RangeSplitSerializer,
};
use crate::api::source::{
    AsyncCallName, Boundedness, InputStatus, PauseError, ReaderContext, Source, SourceReader,
    SplitEnumerator, SplitEnumeratorContext, UserError,
};
use crate::ids::{CheckpointId, SplitId, SubtaskIndex};
use crate::records::Record;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

/// What an enumerator's callback answers.
type Answer = Result<(), UserError>;

/// What a worker hands over.
type Found = Result<Vec<u8>, UserError>;

/// What an enumerator is given.
type Context<'a> = &'a mut dyn SplitEnumeratorContext<RangeSplit>;

/// The range source with another enumerator, another reader, or both.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AlteredSource<E, R> {
    source: RangeSource,
    parts: PhantomData<(E, R)>,
}

impl<E, R> AlteredSource<E, R> {
    /// Made of the right source.
    #[must_use]
    pub const fn new(source: RangeSource) -> Self {
        Self { source, parts: PhantomData }
    }
}

impl<E, R> Source for AlteredSource<E, R>
where
    E: SplitEnumerator<Split = RangeSplit, Extra = u32> + From<RangeEnumerator>,
    R: SourceReader<Split = RangeSplit> + From<RangeReader>,
{
    type Split = RangeSplit;
    type EnumeratorExtra = u32;
    type Enumerator = E;
    type Reader = R;
    type SplitSerializer = RangeSplitSerializer;
    type ExtraSerializer = DiscoveredSerializer;

    fn boundedness(&self) -> Boundedness {
        self.source.boundedness()
    }

    fn create_enumerator(&self) -> E {
        self.source.create_enumerator().into()
    }

    fn restore_enumerator(&self, pending: Vec<RangeSplit>, extra: Option<u32>) -> E {
        self.source.restore_enumerator(pending, extra).into()
    }

    fn create_reader(&self) -> R {
        self.source.create_reader().into()
    }

    fn split_serializer(&self) -> RangeSplitSerializer {
        RangeSplitSerializer
    }

    fn extra_serializer(&self) -> DiscoveredSerializer {
        DiscoveredSerializer
    }
}

/// An enumerator that, restored, plans its splits a second time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RepeatingEnumerator(RangeEnumerator);

impl From<RangeEnumerator> for RepeatingEnumerator {
    fn from(right: RangeEnumerator) -> Self {
        Self(right)
    }
}

impl SplitEnumerator for RepeatingEnumerator {
    type Split = RangeSplit;
    type Extra = u32;

    fn start(&mut self, context: Context<'_>) -> Answer {
        if self.0.discovered > 0 {
            let held: Vec<_> = self.0.pending.iter().map(|split| split.at.split).collect();
            let again = self.0.source.splits(0..self.0.discovered).into_iter();
            self.0.pending.extend(again.filter(|split| !held.contains(&split.at.split)));
        }
        self.0.start(context)
    }

    fn handle_split_request(&mut self, subtask: SubtaskIndex, context: Context<'_>) -> Answer {
        self.0.handle_split_request(subtask, context)
    }

    fn add_splits_back(
        &mut self,
        splits: Vec<RangeSplit>,
        subtask: SubtaskIndex,
        context: Context<'_>,
    ) -> Answer {
        self.0.add_splits_back(splits, subtask, context)
    }

    fn add_reader(
        &mut self,
        subtask: SubtaskIndex,
        reported: Vec<RangeSplit>,
        context: Context<'_>,
    ) -> Answer {
        self.0.add_reader(subtask, reported, context)
    }

    fn snapshot_state(
        &mut self,
        checkpoint: CheckpointId,
        context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(Vec<RangeSplit>, u32), UserError> {
        self.0.snapshot_state(checkpoint, context)
    }

    fn run_async(&mut self, call: AsyncCallName) -> Result<Vec<u8>, UserError> {
        self.0.run_async(call)
    }

    fn handle_async_result(&mut self, call: AsyncCallName, result: Found, context: Context<'_>) -> Answer {
        self.0.handle_async_result(call, result, context)
    }
}

/// An enumerator that hands splits out in the order of a hash whose key differs from process to process and from call to
/// call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LeakyEnumerator(RangeEnumerator);

impl From<RangeEnumerator> for LeakyEnumerator {
    fn from(right: RangeEnumerator) -> Self {
        Self(right)
    }
}

#[allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this is the planted leak that the comparison of two runs has to find"
)]
fn leak_order(pending: &mut VecDeque<RangeSplit>) {
    use std::hash::BuildHasher;
    let seeded = std::hash::RandomState::new();
    pending.make_contiguous().sort_by_key(|split| seeded.hash_one(split));
}

impl SplitEnumerator for LeakyEnumerator {
    type Split = RangeSplit;
    type Extra = u32;

    fn start(&mut self, context: Context<'_>) -> Answer {
        self.0.start(context)
    }

    fn handle_split_request(&mut self, subtask: SubtaskIndex, context: Context<'_>) -> Answer {
        leak_order(&mut self.0.pending);
        self.0.handle_split_request(subtask, context)
    }

    fn add_splits_back(
        &mut self,
        splits: Vec<RangeSplit>,
        subtask: SubtaskIndex,
        context: Context<'_>,
    ) -> Answer {
        self.0.add_splits_back(splits, subtask, context)
    }

    fn add_reader(
        &mut self,
        subtask: SubtaskIndex,
        reported: Vec<RangeSplit>,
        context: Context<'_>,
    ) -> Answer {
        leak_order(&mut self.0.pending);
        self.0.add_reader(subtask, reported, context)
    }

    fn snapshot_state(
        &mut self,
        checkpoint: CheckpointId,
        context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(Vec<RangeSplit>, u32), UserError> {
        self.0.snapshot_state(checkpoint, context)
    }

    fn run_async(&mut self, call: AsyncCallName) -> Result<Vec<u8>, UserError> {
        self.0.run_async(call)
    }

    fn handle_async_result(&mut self, call: AsyncCallName, result: Found, context: Context<'_>) -> Answer {
        self.0.handle_async_result(call, result, context)
    }
}

/// A reader whose snapshot names the position behind the record that is still to be read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AheadReader(RangeReader);

impl From<RangeReader> for AheadReader {
    fn from(right: RangeReader) -> Self {
        Self(right)
    }
}

impl SourceReader for AheadReader {
    type Split = RangeSplit;

    fn start(&mut self, context: &mut ReaderContext) {
        self.0.start(context);
    }

    fn poll_next(
        &mut self,
        batch_size_max: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> Result<InputStatus, UserError> {
        self.0.poll_next(batch_size_max, output, context)
    }

    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<RangeSplit> {
        let mut splits = self.0.snapshot_state(checkpoint);
        if let Some(front) = splits.first_mut() {
            front.at.position = front.at.end.min(front.at.position + 1);
        }
        splits
    }

    fn add_splits(&mut self, splits: Vec<RangeSplit>, context: &mut ReaderContext) {
        self.0.add_splits(splits, context);
    }

    fn notify_no_more_splits(&mut self, context: &mut ReaderContext) {
        self.0.notify_no_more_splits(context);
    }

    fn wake(&mut self) {
        self.0.wake();
    }

    fn is_available(&self) -> bool {
        self.0.is_available()
    }
}

/// A reader that hands every pair of records of a split over the wrong way round.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SwappingReader {
    right: RangeReader,
    /// The first of a pair, kept back until the second is out.
    held: Option<Record>,
    /// Whether the second is out.
    passed: bool,
}

impl From<RangeReader> for SwappingReader {
    fn from(right: RangeReader) -> Self {
        Self { right, held: None, passed: false }
    }
}

impl SwappingReader {
    /// Whether the split that is being read has another record: without one there is nothing to swap with.
    fn has_next(&mut self) -> bool {
        let splits = self.right.snapshot_state(CheckpointId(0));
        splits.first().is_some_and(|front| front.at.position < front.at.end)
    }
}

impl SourceReader for SwappingReader {
    type Split = RangeSplit;

    fn start(&mut self, context: &mut ReaderContext) {
        self.right.start(context);
    }

    fn poll_next(
        &mut self,
        _batch_size_max: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> Result<InputStatus, UserError> {
        if std::mem::take(&mut self.passed) {
            output.extend(self.held.take());
            return Ok(InputStatus::MoreAvailable);
        }
        let before = output.len();
        let status = self.right.poll_next(1, output, context)?;
        if output.len() > before {
            if self.held.is_some() {
                self.passed = true;
                return Ok(InputStatus::MoreAvailable);
            }
            if self.has_next() {
                self.held = output.pop();
            }
        }
        Ok(status)
    }

    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<RangeSplit> {
        self.right.snapshot_state(checkpoint)
    }

    fn add_splits(&mut self, splits: Vec<RangeSplit>, context: &mut ReaderContext) {
        self.right.add_splits(splits, context);
    }

    fn notify_no_more_splits(&mut self, context: &mut ReaderContext) {
        self.right.notify_no_more_splits(context);
    }

    fn wake(&mut self) {
        self.right.wake();
    }

    fn is_available(&self) -> bool {
        self.passed || self.right.is_available()
    }
}

/// A reader whose paused splits lose the record at which they were paused.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SkippingReader(RangeReader);

impl From<RangeReader> for SkippingReader {
    fn from(right: RangeReader) -> Self {
        Self(right)
    }
}

impl SourceReader for SkippingReader {
    type Split = RangeSplit;

    fn start(&mut self, context: &mut ReaderContext) {
        self.0.start(context);
    }

    fn poll_next(
        &mut self,
        batch_size_max: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> Result<InputStatus, UserError> {
        self.0.poll_next(batch_size_max, output, context)
    }

    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<RangeSplit> {
        self.0.snapshot_state(checkpoint)
    }

    fn add_splits(&mut self, splits: Vec<RangeSplit>, context: &mut ReaderContext) {
        self.0.add_splits(splits, context);
    }

    fn notify_no_more_splits(&mut self, context: &mut ReaderContext) {
        self.0.notify_no_more_splits(context);
    }

    fn wake(&mut self) {
        self.0.wake();
    }

    fn is_available(&self) -> bool {
        self.0.is_available()
    }

    fn pause_or_resume_splits(&mut self, pause: &[SplitId], resume: &[SplitId]) -> Result<(), PauseError> {
        self.0.pause_or_resume_splits(pause, resume)?;
        for split in self.0.splits.iter_mut().filter(|split| resume.contains(&split.at.split)) {
            split.at.position = (split.at.position + 1).min(split.at.end);
        }
        Ok(())
    }
}
