//! What a connector author writes for a fetcher: blocking reads, as a state machine that says how long it blocks.

use crate::api::input_io::{InputAnswer, InputOperation};
use crate::api::source::{PauseError, SourceSplit, UserError};
use crate::ids::SplitId;
use crate::records::Record;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::Hash;

/// Records by split, as one fetch brings them (Flink's `RecordsWithSplitIds`).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RecordsBySplits {
    runs: VecDeque<(SplitId, VecDeque<Record>)>,
    finished: Vec<SplitId>,
}

impl RecordsBySplits {
    /// Adds records of one split behind those that are there.
    pub fn add(&mut self, split: SplitId, records: impl IntoIterator<Item = Record>) {
        let records: VecDeque<Record> = records.into_iter().collect();
        debug_assert!(records.iter().all(|record| record.split == split), "records of that split");
        if !records.is_empty() {
            self.runs.push_back((split, records));
        }
    }

    /// The split is at its end behind the records of this batch. It ends once, even where a reader was given it twice.
    pub fn add_finished(&mut self, split: SplitId) {
        if !self.finished.contains(&split) {
            self.finished.push(split);
        }
    }

    /// The splits that end behind this batch.
    #[must_use]
    pub fn finished(&self) -> &[SplitId] {
        &self.finished
    }

    /// How many records are left.
    #[must_use]
    pub fn record_count(&self) -> usize {
        self.runs.iter().map(|(_, records)| records.len()).sum()
    }

    /// The memory that the records are in is gone: those that are left cannot be read any more.
    pub fn lose_records(&mut self) {
        self.runs.clear();
    }

    /// The split that the next records are of.
    #[must_use]
    pub fn next_split(&self) -> Option<SplitId> {
        self.runs.front().map(|(split, _)| *split)
    }

    /// The offset of the next record.
    #[must_use]
    pub fn next_offset(&self) -> Option<u64> {
        self.runs.front()?.1.front().map(|record| record.offset)
    }

    /// Takes the next record.
    pub fn next_record(&mut self) -> Option<Record> {
        let (_, records) = self.runs.front_mut()?;
        let record = records.pop_front();
        if records.is_empty() {
            self.runs.pop_front();
        }
        record
    }
}

/// What became of a call of [`SplitReader::fetch`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Fetch {
    /// It came back with these records, maybe none.
    Records(RecordsBySplits),
    /// It blocks. It is called again when the time is over, or when the reader was woken up.
    Blocked {
        /// Nanoseconds; `None` blocks until it is woken up.
        for_ns: Option<u64>,
    },
    /// It waits for the answer to this operation, which goes to [`SplitReader::answered`]. It is called again then, or when
    /// the reader was woken up; the answer comes in either case.
    Asks(InputOperation),
}

/// A change of what a split reader reads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SplitsChange<S> {
    /// Read these too.
    Addition(Vec<S>),
    /// Read these no more.
    Removal(Vec<SplitId>),
}

/// Reads splits in a fetcher's thread. The fetcher makes one call after the other; only [`Self::wake_up`] comes from
/// the task's thread, while a fetch blocks.
pub trait SplitReader: Clone + Debug + Hash + Send + Sync + 'static {
    /// Its splits.
    type Split: SourceSplit;

    /// Fetches records, at most `records_max` (at least 1), or goes on with a fetch that blocked.
    ///
    /// # Errors
    /// Any failure; it ends the fetcher and then the task.
    fn fetch(&mut self, records_max: u32) -> Result<Fetch, UserError>;

    /// Takes or drops splits.
    ///
    /// # Errors
    /// Any failure; it ends the fetcher and then the task.
    fn handle_splits_changes(&mut self, change: SplitsChange<Self::Split>) -> Result<(), UserError>;

    /// The answer to what a fetch asked for. Only readers that ask are told any.
    fn answered(&mut self, answer: InputAnswer) {
        debug_assert!(false, "nothing was asked for: {answer:?}");
    }

    /// The blocked fetch is to come back at once, with what it has or with nothing.
    fn wake_up(&mut self);

    /// Reads `pause` no more until they are resumed. Watermark alignment asks for it.
    ///
    /// # Errors
    /// Any failure; not being able to is one, unless implemented.
    fn pause_or_resume_splits(&mut self, pause: &[SplitId], resume: &[SplitId]) -> Result<(), PauseError> {
        Err(PauseError::unsupported(pause, resume))
    }

    /// The fetcher ends.
    ///
    /// # Errors
    /// Any failure; it is the fetcher's.
    fn close(&mut self) -> Result<(), UserError> {
        Ok(())
    }
}
