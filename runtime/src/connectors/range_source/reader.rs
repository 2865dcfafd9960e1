//! Reads one split at a time, in the order in which they came.
//!
//! A split whose last record is out stays until the next poll, which drops it and says so. A snapshot in between holds it
//! at its end: from the outside it is still the reader's, and a restore drops it again without reading anything.

use super::RangeSplit;
use crate::api::source::{InputStatus, ReaderContext, SourceReader, UserError};
use crate::config::{ReaderKind, TaskConfig};
use crate::ids::CheckpointId;
use crate::message::ReaderEvent;
use crate::records::Record;
use std::collections::VecDeque;

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RangeReader {
    config: TaskConfig,
    pull: bool,
    splits: VecDeque<RangeSplit>,
    no_more_splits: bool,
    /// The next record is not due before the wake timer fires.
    paced: bool,
    /// The poll blocks until the wake timer fires.
    blocked: bool,
}

impl RangeReader {
    pub(super) const fn new(config: TaskConfig, pull: bool) -> Self {
        Self { config, pull, splits: VecDeque::new(), no_more_splits: false, paced: false, blocked: false }
    }

    fn request_if_idle(&self, context: &mut ReaderContext) {
        if self.pull && self.splits.is_empty() && !self.no_more_splits {
            context.events.push(ReaderEvent::RequestSplit);
        }
    }

    fn emit(
        &mut self,
        batch_size_max: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> InputStatus {
        let at = &mut self.splits.front_mut().expect("a split to read").at;
        let count = u64::from(batch_size_max).min(at.end - at.position);
        let count = self.config.count_before_stall(at.position, count);
        debug_assert!(count > 0, "a split at its end is dropped, not read");
        for offset in at.position..at.position + count {
            output.push(Record {
                split: at.split,
                offset,
                event_time_ms: offset,
                key: offset,
                payload: Vec::new(),
            });
        }
        at.position += count;
        debug_assert!(at.position <= at.end);
        if self.config.reader == ReaderKind::Blocking {
            return InputStatus::MoreAvailable;
        }
        // A batch takes as long as its records would one by one.
        let wait_ns = self.config.wait_ns(at.position, count);
        if wait_ns == 0 {
            return InputStatus::MoreAvailable;
        }
        self.paced = true;
        context.wake_after_ns = Some(wait_ns);
        InputStatus::NothingAvailable
    }
}

impl RangeReader {
    /// Waits for the next record inside the poll, as a careless connector does: the call comes back with it.
    fn emit_blocking(&mut self, output: &mut Vec<Record>, context: &mut ReaderContext) -> InputStatus {
        let position = self.splits.front().expect("a split to read").at.position;
        let wait_ns = self.config.wait_ns(position, 1);
        self.blocked = !self.blocked && wait_ns > 0;
        if self.blocked {
            context.blocked_for_ns = Some(wait_ns);
            return InputStatus::NothingAvailable;
        }
        self.emit(1, output, context)
    }
}

impl SourceReader for RangeReader {
    type Split = RangeSplit;

    fn start(&mut self, context: &mut ReaderContext) {
        self.request_if_idle(context);
    }

    fn poll_next(
        &mut self,
        batch_size_max: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> Result<InputStatus, UserError> {
        if self.paced {
            return Ok(InputStatus::NothingAvailable);
        }
        let Some(front) = self.splits.front() else {
            return Ok(if self.no_more_splits {
                InputStatus::EndOfInput
            } else {
                InputStatus::NothingAvailable
            });
        };
        if front.at.position < front.at.end {
            if self.config.reader == ReaderKind::Blocking {
                return Ok(self.emit_blocking(output, context));
            }
            return Ok(self.emit(batch_size_max, output, context));
        }
        context.finished.push(front.at.split);
        self.splits.pop_front();
        self.request_if_idle(context);
        Ok(if self.is_available() { InputStatus::MoreAvailable } else { InputStatus::NothingAvailable })
    }

    fn snapshot_state(&mut self, _checkpoint: CheckpointId) -> Vec<RangeSplit> {
        let splits: Vec<RangeSplit> = self.splits.iter().copied().collect();
        debug_assert!(splits.iter().all(|split| split.at.position <= split.at.end));
        splits
    }

    fn add_splits(&mut self, splits: Vec<RangeSplit>, _context: &mut ReaderContext) {
        debug_assert!(splits.iter().all(|split| split.at.position <= split.at.end));
        self.splits.extend(splits);
    }

    fn notify_no_more_splits(&mut self, _context: &mut ReaderContext) {
        self.no_more_splits = true;
    }

    fn wake(&mut self) {
        self.paced = false;
    }

    fn is_available(&self) -> bool {
        !self.paced && (!self.splits.is_empty() || self.no_more_splits)
    }
}
