//! The writer that keeps its records until the commit.
//!
//! It has no state of its own in a checkpoint: everything it holds is handed over at each `prepare_commit`, and what
//! it takes up afterwards is read again after a restore.

use super::defective::Forgetful;
use super::{TwoPhaseCommittable, first_transaction};
use crate::api::sink::{CommittingSinkWriter, SinkIo, SinkWriter, WriterInitContext};
use crate::ids::TransactionName;
use crate::records::Record;

/// Gathers records in memory; asks nothing of the store.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AppendWriter {
    transaction: TransactionName,
    records: Vec<Record>,
}

impl AppendWriter {
    /// A writer without records.
    #[must_use]
    pub fn new(context: &WriterInitContext) -> Self {
        Self { transaction: first_transaction(context), records: Vec::new() }
    }
}

impl SinkWriter for AppendWriter {
    fn transaction(&self) -> TransactionName {
        self.transaction
    }

    fn open(&mut self, _keep: &[TransactionName], _io: &mut SinkIo) {
        debug_assert!(self.records.is_empty(), "open comes first");
    }

    fn write(&mut self, record: Record, _io: &mut SinkIo) {
        self.records.push(record);
    }

    fn flush(&mut self, _end_of_input: bool, io: &mut SinkIo) {
        debug_assert!(io.is_empty(), "this writer asks for nothing");
    }
}

impl Forgetful for AppendWriter {
    fn forget_transaction(&mut self) {
        self.records.clear();
    }
}

impl CommittingSinkWriter for AppendWriter {
    type Committable = TwoPhaseCommittable;

    fn prepare_commit(&mut self, io: &mut SinkIo) -> Vec<TwoPhaseCommittable> {
        debug_assert!(io.is_empty(), "this writer asks for nothing");
        let name = self.transaction;
        self.transaction.number = name.number.next();
        // The next transaction will need as much room.
        let room = Vec::with_capacity(self.records.len());
        let records = std::mem::replace(&mut self.records, room);
        if records.is_empty() {
            return Vec::new();
        }
        vec![TwoPhaseCommittable::Append { name, records }]
    }
}
