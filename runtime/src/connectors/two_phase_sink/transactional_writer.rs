//! The writer that sends its records into an open transaction of the store.
//!
//! ```text
//! InitTransactions · Begin n · Write 0 · Write 1 · Prepare n(2 writes) │ Begin n+1 · ...
//! ```
//! A transaction begins at its first record, so that an idle subtask leaves none open. The requests go out one after
//! the other, each after the answer of the one before: each is idempotent (writes carry an index), so that one of
//! unknown outcome is simply asked again.

use super::defective::Forgetful;
use super::{TwoPhaseCommittable, first_transaction};
use crate::api::sink::{CommittingSinkWriter, SinkIo, SinkWriter, WriterInitContext};
use crate::ids::TransactionName;
use crate::message::StoreRequest;
use crate::records::{Record, RecordRanges};

/// Buffers a few records, and knows which ones its open transaction has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TransactionalWriter {
    transaction: TransactionName,
    parallelism: u32,
    buffer: Vec<Record>,
    buffer_records_max: usize,
    /// How many writes the open transaction was sent; `None` when none is open.
    writes: Option<u32>,
    records: RecordRanges,
}

impl TransactionalWriter {
    /// A writer without an open transaction.
    #[must_use]
    pub fn new(context: &WriterInitContext) -> Self {
        Self {
            transaction: first_transaction(context),
            parallelism: context.parallelism,
            buffer: Vec::new(),
            buffer_records_max: context.write_buffer_records.max(1) as usize,
            writes: None,
            records: RecordRanges::new(),
        }
    }

    fn send_buffer(&mut self, io: &mut SinkIo) {
        if self.buffer.is_empty() {
            return;
        }
        let writes = self.writes.as_mut().expect("a record opens its transaction");
        let index = *writes;
        *writes += 1;
        let records = std::mem::take(&mut self.buffer);
        debug_assert!(records.len() <= self.buffer_records_max, "the buffer is bounded");
        io.ask(StoreRequest::Write { name: self.transaction, index, records });
    }
}

impl SinkWriter for TransactionalWriter {
    fn transaction(&self) -> TransactionName {
        self.transaction
    }

    fn open(&mut self, keep: &[TransactionName], io: &mut SinkIo) {
        debug_assert!(io.is_empty() && self.writes.is_none(), "open comes first");
        let (writer, parallelism) = (self.transaction.writer, self.parallelism);
        io.ask(StoreRequest::InitTransactions { writer, parallelism, keep: keep.to_vec() });
    }

    fn write(&mut self, record: Record, io: &mut SinkIo) {
        if self.writes.is_none() {
            debug_assert!(self.records.is_empty() && self.buffer.is_empty());
            self.writes = Some(0);
            io.ask(StoreRequest::Begin { name: self.transaction });
        }
        // A record that comes twice is written twice: whether that is right is for the checkers to say.
        self.records.insert_record(record.split, record.offset);
        self.buffer.push(record);
        if self.buffer.len() >= self.buffer_records_max {
            self.send_buffer(io);
        }
    }

    fn flush(&mut self, _end_of_input: bool, io: &mut SinkIo) {
        self.send_buffer(io);
        debug_assert!(self.buffer.is_empty(), "a flush leaves nothing behind");
    }
}

impl Forgetful for TransactionalWriter {
    fn forget_transaction(&mut self) {
        self.buffer.clear();
        self.writes = None;
        self.records = RecordRanges::new();
    }
}

impl CommittingSinkWriter for TransactionalWriter {
    type Committable = TwoPhaseCommittable;

    fn prepare_commit(&mut self, io: &mut SinkIo) -> Vec<TwoPhaseCommittable> {
        debug_assert!(self.buffer.is_empty(), "a flush comes before each prepare_commit (FACT 59)");
        let name = self.transaction;
        self.transaction.number = name.number.next();
        let Some(writes) = self.writes.take() else {
            return Vec::new();
        };
        debug_assert!(writes > 0, "an open transaction has records");
        io.ask(StoreRequest::Prepare { name, writes });
        vec![TwoPhaseCommittable::Transactional { name, records: std::mem::take(&mut self.records) }]
    }
}
