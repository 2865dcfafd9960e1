//! The range source for split fetchers: it waits inside `fetch`, and reads its splits in turns.

use super::RangeSplit;
use crate::api::source::{PauseError, SourceSplit, UserError};
use crate::config::TaskConfig;
use crate::ids::SplitId;
use crate::reader_base::{Fetch, PausedSplits, RecordEmitter, RecordsBySplits, SplitReader, SplitsChange};
use crate::records::Record;

/// A fetch that blocks: what it will bring.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    split: SplitId,
    count: u64,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RangeSplitReader {
    config: TaskConfig,
    /// The splits, the one that is read next first.
    splits: Vec<RangeSplit>,
    paused: PausedSplits,
    waiting: Option<Waiting>,
    woken: bool,
}

impl RangeSplitReader {
    /// A split reader without splits.
    #[must_use]
    pub const fn new(config: TaskConfig) -> Self {
        Self { config, splits: Vec::new(), paused: PausedSplits::new(), waiting: None, woken: false }
    }

    /// Where its splits stand: ahead of what the task has emitted.
    pub fn splits(&self) -> &[RangeSplit] {
        &self.splits
    }

    /// What a fetch waits for, at once.
    pub(super) fn take_waited(&mut self) -> Option<RecordsBySplits> {
        let waited = self.waiting.take()?;
        Some(self.read(waited))
    }

    /// The splits that were added at their end bring no record.
    fn take_ended(&mut self) -> Option<RecordsBySplits> {
        let mut batch = RecordsBySplits::default();
        let ended = self.splits.iter().filter(|split| split.at.position == split.at.end);
        ended.for_each(|split| batch.add_finished(split.at.split));
        self.splits.retain(|split| split.at.position < split.at.end);
        (!batch.finished().is_empty()).then_some(batch)
    }

    /// Reads what the wait was for; the split is read again after the others.
    fn read(&mut self, waited: Waiting) -> RecordsBySplits {
        let mut batch = RecordsBySplits::default();
        let Some(index) = self.splits.iter().position(|split| split.at.split == waited.split) else {
            debug_assert!(false, "a split is taken away between two fetches");
            return batch;
        };
        let mut split = self.splits.remove(index);
        let at = &mut split.at;
        let end = at.position + waited.count;
        debug_assert!(end <= at.end && waited.count > 0, "it waited for what there is");
        batch.add(
            at.split,
            (at.position..end).map(|offset| Record {
                split: waited.split,
                offset,
                event_time_ms: self.config.event_time.of(waited.split, offset),
                key: offset,
                payload: Vec::new(),
            }),
        );
        at.position = end;
        if at.position == at.end {
            batch.add_finished(at.split);
        } else {
            self.splits.push(split);
        }
        batch
    }
}

impl SplitReader for RangeSplitReader {
    type Split = RangeSplit;

    fn fetch(&mut self, records_max: u32) -> Result<Fetch, UserError> {
        debug_assert!(records_max >= 1, "a fetch may bring a record");
        let waited = self.waiting.take();
        if std::mem::take(&mut self.woken) {
            return Ok(Fetch::Records(RecordsBySplits::default()));
        }
        if let Some(waited) = waited {
            return Ok(Fetch::Records(self.read(waited)));
        }
        if let Some(ended) = self.take_ended() {
            return Ok(Fetch::Records(ended));
        }
        let Some(next) = self.splits.iter().find(|split| !self.paused.contains(&split.at.split)) else {
            return Ok(Fetch::Blocked { for_ns: None });
        };
        let count = u64::from(records_max).min(next.at.end - next.at.position);
        let count = self.config.count_before_stall(next.at.position, count);
        let waiting = Waiting { split: next.at.split, count };
        let wait_ns = self.config.wait_ns(next.at.position, count);
        if wait_ns == 0 {
            return Ok(Fetch::Records(self.read(waiting)));
        }
        self.waiting = Some(waiting);
        Ok(Fetch::Blocked { for_ns: Some(wait_ns) })
    }

    fn handle_splits_changes(&mut self, change: SplitsChange<RangeSplit>) -> Result<(), UserError> {
        debug_assert!(self.waiting.is_none(), "no fetch runs meanwhile");
        match change {
            SplitsChange::Addition(splits) => self.splits.extend(splits),
            SplitsChange::Removal(removed) => {
                self.splits.retain(|split| !removed.contains(&split.at().split));
                self.paused.forget(&removed);
            }
        }
        Ok(())
    }

    fn wake_up(&mut self) {
        self.woken = true;
    }

    fn pause_or_resume_splits(&mut self, pause: &[SplitId], resume: &[SplitId]) -> Result<(), PauseError> {
        self.paused.pause_or_resume(pause, resume);
        Ok(())
    }
}

/// A record's offset is the number itself: the split goes on behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RangeRecordEmitter;

impl RecordEmitter<RangeSplit> for RangeRecordEmitter {
    fn emitted(&self, record: &Record, state: &mut RangeSplit) {
        debug_assert_eq!(record.split, state.at.split, "the state is the split's own");
        state.at.position = record.offset + 1;
    }
}
