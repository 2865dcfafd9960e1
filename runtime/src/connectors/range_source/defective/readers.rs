//! Readers that are wrong: each has the right one inside.

use super::super::{RangeReader, RangeSplit};
use crate::api::source::{InputStatus, PauseError, ReaderContext, SourceReader, UserError};
use crate::config::NANOS_PER_MILLI;
use crate::ids::{CheckpointId, SplitId};
use crate::records::Record;

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

/// How long the reader takes to be set up.
const SET_UP_NS: u64 = 30 * NANOS_PER_MILLI;

/// A reader that parks its restored splits until it is set up, and whose snapshots know of none that is parked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ParkingReader {
    right: RangeReader,
    is_started: bool,
    parked: Vec<RangeSplit>,
}

impl From<RangeReader> for ParkingReader {
    fn from(right: RangeReader) -> Self {
        Self { right, is_started: false, parked: Vec::new() }
    }
}

impl SourceReader for ParkingReader {
    type Split = RangeSplit;

    fn start(&mut self, context: &mut ReaderContext) {
        self.is_started = true;
        if self.parked.is_empty() {
            return self.right.start(context);
        }
        context.wake_after_ns = Some(SET_UP_NS);
    }

    fn poll_next(
        &mut self,
        batch_size_max: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> Result<InputStatus, UserError> {
        if !self.parked.is_empty() {
            return Ok(InputStatus::NothingAvailable);
        }
        self.right.poll_next(batch_size_max, output, context)
    }

    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<RangeSplit> {
        self.right.snapshot_state(checkpoint)
    }

    fn add_splits(&mut self, splits: Vec<RangeSplit>, context: &mut ReaderContext) {
        if self.is_started {
            self.right.add_splits(splits, context);
        } else {
            self.parked.extend(splits);
        }
    }

    fn notify_no_more_splits(&mut self, context: &mut ReaderContext) {
        self.right.notify_no_more_splits(context);
    }

    fn wake(&mut self) {
        self.right.splits.extend(self.parked.drain(..));
        self.right.wake();
    }

    fn is_available(&self) -> bool {
        self.parked.is_empty() && self.right.is_available()
    }

    fn pause_or_resume_splits(&mut self, pause: &[SplitId], resume: &[SplitId]) -> Result<(), PauseError> {
        self.right.pause_or_resume_splits(pause, resume)
    }
}
