//! The head of the chain: the reader behind its port, and the buffers that every poll reuses.

use crate::api::source::{InputStatus, ReaderContext, ReaderPort};
use crate::ids::CheckpointId;
use crate::message::SplitPayload;
use crate::records::Record;

/// Flink's `SourceOperator` around a reader.
#[derive(Clone, Hash, Debug)]
pub struct SourceOperator {
    reader: Box<dyn ReaderPort>,
    /// What the reader asked for in its last call; emptied after each.
    context: ReaderContext,
    /// The records of the last poll; empty between turns.
    records: Vec<Record>,
}

impl SourceOperator {
    /// Around this reader.
    #[must_use]
    pub fn new(reader: Box<dyn ReaderPort>) -> Self {
        Self { reader, context: ReaderContext::default(), records: Vec::new() }
    }

    /// Whether a poll would give something.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.reader.is_available()
    }

    /// What the reader asked for in its last call.
    pub const fn context(&mut self) -> &mut ReaderContext {
        &mut self.context
    }

    /// Starts the reader.
    pub fn start(&mut self) {
        self.reader.start(&mut self.context);
    }

    /// Asks for the next records; they are lent out by [`SourceOperator::take_records`].
    pub fn poll_next(&mut self, batch_size_max: u32) -> InputStatus {
        debug_assert!(batch_size_max >= 1, "a poll may hand on a record");
        debug_assert!(self.records.is_empty(), "the records of the last poll went down the chain");
        let status = self.reader.poll_next(batch_size_max, &mut self.records, &mut self.context);
        debug_assert!(self.records.len() <= batch_size_max as usize, "the batch is bounded");
        status
    }

    /// Lends the records of the last poll, with their room.
    pub fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    /// Gets the room back.
    pub fn give_back(&mut self, mut records: Vec<Record>) {
        records.clear();
        self.records = records;
    }

    /// The next record may be read.
    pub fn wake(&mut self) {
        self.reader.wake();
    }

    /// Splits for the reader.
    pub fn add_splits(&mut self, splits: Vec<SplitPayload>) {
        debug_assert!(!splits.is_empty(), "Flink does not call addSplits for none (FACT 51)");
        self.reader.add_splits(splits, &mut self.context);
    }

    /// No split will come.
    pub fn notify_no_more_splits(&mut self) {
        self.reader.notify_no_more_splits(&mut self.context);
    }

    /// A custom event of the source.
    pub fn handle_source_event(&mut self, event: Vec<u8>) {
        self.reader.handle_source_event(event, &mut self.context);
    }

    /// The splits that the reader holds, at their positions.
    pub fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<SplitPayload> {
        debug_assert!(self.records.is_empty(), "no record is between reader and writer at a barrier");
        self.reader.snapshot_state(checkpoint)
    }

    /// A checkpoint is complete.
    pub fn notify_checkpoint_complete(&mut self, checkpoint: CheckpointId) {
        self.reader.notify_checkpoint_complete(checkpoint);
    }

    /// A checkpoint is aborted.
    pub fn notify_checkpoint_aborted(&mut self, checkpoint: CheckpointId) {
        self.reader.notify_checkpoint_aborted(checkpoint);
    }
}
