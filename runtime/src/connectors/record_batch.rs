//! The records of a writer's open transaction: which they are, and the last few that are not sent yet.

use crate::records::{Record, RecordRanges};

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct RecordBatch {
    unsent: Vec<Record>,
    unsent_max: usize,
    all: RecordRanges,
}

impl RecordBatch {
    /// No records; at most so many wait to be sent.
    pub(super) fn new(unsent_max: u32) -> Self {
        Self { unsent: Vec::new(), unsent_max: unsent_max.max(1) as usize, all: RecordRanges::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        debug_assert!(!self.all.is_empty() || self.unsent.is_empty(), "what waits is among all");
        self.all.is_empty()
    }

    /// Takes a record; answers whether it is time to send. A record that comes twice is sent twice: whether that is right
    /// is for the checkers to say.
    pub(super) fn push(&mut self, record: Record) -> bool {
        self.all.insert_record(record.split, record.offset);
        self.unsent.push(record);
        debug_assert!(self.unsent.len() <= self.unsent_max, "whoever is told to send sends");
        self.unsent.len() >= self.unsent_max
    }

    /// What is to be sent; `None` when nothing waits.
    pub(super) fn take_unsent(&mut self) -> Option<Vec<Record>> {
        (!self.unsent.is_empty()).then(|| std::mem::take(&mut self.unsent))
    }

    /// Ends the transaction: all its records.
    pub(super) fn end(&mut self) -> RecordRanges {
        debug_assert!(self.unsent.is_empty(), "a flush comes before each prepare_commit (FACT 59)");
        std::mem::take(&mut self.all)
    }
}
