//! A split reader that is wrong about being woken up.

use super::super::{RangeSplit, RangeSplitReader};
use crate::api::source::{PauseError, UserError};
use crate::ids::SplitId;
use crate::reader_base::{Fetch, SplitReader, SplitsChange};

/// A split reader whose wait cannot be broken off without a loss: what a woken fetch had waited for is taken and dropped.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LosingSplitReader {
    right: RangeSplitReader,
    woken: bool,
}

impl From<RangeSplitReader> for LosingSplitReader {
    fn from(right: RangeSplitReader) -> Self {
        Self { right, woken: false }
    }
}

impl SplitReader for LosingSplitReader {
    type Split = RangeSplit;

    fn fetch(&mut self, records_max: u32) -> Result<Fetch, UserError> {
        if std::mem::take(&mut self.woken) {
            drop(self.right.take_waited());
        }
        self.right.fetch(records_max)
    }

    fn handle_splits_changes(&mut self, change: SplitsChange<RangeSplit>) -> Result<(), UserError> {
        self.right.handle_splits_changes(change)
    }

    fn wake_up(&mut self) {
        self.woken = true;
        self.right.wake_up();
    }

    fn pause_or_resume_splits(&mut self, pause: &[SplitId], resume: &[SplitId]) -> Result<(), PauseError> {
        self.right.pause_or_resume_splits(pause, resume)
    }
}
