//! Reads one split at a time, in the order in which they came; a paused one is passed over.
//!
//! A split whose last record is out stays until the next poll, which drops it and says so. A snapshot in between holds it
//! at its end: from the outside it is still the reader's, and a restore drops it again without reading anything.

use super::RangeSplit;
use crate::api::source::{InputStatus, PauseError, ReaderContext, SourceReader, UserError};
use crate::config::{ReaderKind, TaskConfig};
use crate::ids::{CheckpointId, SplitId};
use crate::message::ReaderEvent;
use crate::records::Record;
use std::collections::VecDeque;

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RangeReader {
    config: TaskConfig,
    pull: bool,
    pub(super) splits: VecDeque<RangeSplit>,
    paused: Vec<SplitId>,
    no_more_splits: bool,
    /// The next record is not due before the wake timer fires.
    paced: bool,
    /// The poll blocks until the wake timer fires.
    blocked: bool,
}

impl RangeReader {
    pub(super) const fn new(config: TaskConfig, pull: bool) -> Self {
        Self {
            config,
            pull,
            splits: VecDeque::new(),
            paused: Vec::new(),
            no_more_splits: false,
            paced: false,
            blocked: false,
        }
    }

    fn request_if_idle(&self, context: &mut ReaderContext) {
        if self.pull && self.splits.is_empty() && !self.no_more_splits {
            context.events.push(ReaderEvent::RequestSplit);
        }
    }

    /// The split that is read: the first that is not paused.
    fn current(&self) -> Option<usize> {
        self.splits.iter().position(|split| !self.paused.contains(&split.at.split))
    }

    fn emit(
        &mut self,
        current: usize,
        batch_size_max: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> InputStatus {
        let at = &mut self.splits[current].at;
        let count = u64::from(batch_size_max).min(at.end - at.position);
        let count = self.config.count_before_stall(at.position, count);
        debug_assert!(count > 0, "a split at its end is dropped, not read");
        for offset in at.position..at.position + count {
            output.push(Record {
                split: at.split,
                offset,
                event_time_ms: self.config.event_time.of(at.split, offset),
                key: offset,
                payload: Vec::new(),
            });
        }
        at.position += count;
        debug_assert!(at.position <= at.end);
        if self.config.stall.is_some_and(|stall| stall.record == at.position && at.position < at.end) {
            context.idle.push(at.split);
        }
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
    fn emit_blocking(
        &mut self,
        current: usize,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> InputStatus {
        let position = self.splits[current].at.position;
        let wait_ns = self.config.wait_ns(position, 1);
        self.blocked = !self.blocked && wait_ns > 0;
        if self.blocked {
            context.blocked_for_ns = Some(wait_ns);
            return InputStatus::NothingAvailable;
        }
        self.emit(current, 1, output, context)
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
        let Some(current) = self.current() else {
            return Ok(if self.no_more_splits && self.splits.is_empty() {
                InputStatus::EndOfInput
            } else {
                InputStatus::NothingAvailable
            });
        };
        let RangeSplit { at } = self.splits[current];
        if at.position < at.end {
            if self.config.reader == ReaderKind::Blocking {
                return Ok(self.emit_blocking(current, output, context));
            }
            return Ok(self.emit(current, batch_size_max, output, context));
        }
        context.finished.push(at.split);
        self.splits.remove(current);
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
        !self.paced && (self.current().is_some() || self.splits.is_empty() && self.no_more_splits)
    }

    /// A reader that blocks its task is a careless one: it knows nothing of this.
    fn pause_or_resume_splits(&mut self, pause: &[SplitId], resume: &[SplitId]) -> Result<(), PauseError> {
        if self.config.reader == ReaderKind::Blocking {
            return Err(PauseError::unsupported(pause, resume));
        }
        self.paused.retain(|split| !resume.contains(split));
        self.paused.extend(pause);
        debug_assert!(resume.iter().all(|split| !self.paused.contains(split)), "one or the other");
        Ok(())
    }
}
