//! The writer that gathers records and writes them as one data file before each barrier.

use crate::api::sink::{
    CommittingSinkWriter, SinkIo, SinkWriter, StoreAnswer, WriterInitContext, WriterVerdict,
};
use crate::api::snapshots_io::{SnapshotsAnswer, SnapshotsOperation};
use crate::connectors::leftovers::first_transaction;
use crate::connectors::named_committable::NamedCommittable;
use crate::connectors::record_batch::RecordBatch;
use crate::ids::TransactionName;
use crate::message::StoreRequest;
use crate::records::Record;

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SnapshotTableWriter {
    transaction: TransactionName,
    batch: RecordBatch,
    /// The snapshot that was current when this life began: whatever it writes is committed behind it.
    base: u64,
}

impl SnapshotTableWriter {
    /// A writer that has not looked at the table yet.
    #[must_use]
    pub fn new(context: &WriterInitContext) -> Self {
        Self { transaction: first_transaction(context), batch: RecordBatch::new(u32::MAX), base: 0 }
    }
}

impl SinkWriter for SnapshotTableWriter {
    fn transaction(&self) -> TransactionName {
        self.transaction
    }

    fn open(&mut self, _keep: &[TransactionName], io: &mut SinkIo) {
        debug_assert!(io.is_empty() && self.batch.is_empty(), "open comes first");
        io.ask(StoreRequest::Snapshots(SnapshotsOperation::Load { since: None }));
    }

    fn write(&mut self, record: Record, _io: &mut SinkIo) {
        self.batch.push(record);
    }

    fn flush(&mut self, _end_of_input: bool, _io: &mut SinkIo) {}

    fn answered(&mut self, request: &StoreRequest, answer: StoreAnswer, _io: &mut SinkIo) -> WriterVerdict {
        match answer {
            StoreAnswer::Snapshots(SnapshotsAnswer::Loaded { current, .. }) => {
                debug_assert!(current >= self.base, "snapshots are not taken back");
                self.base = current;
                WriterVerdict::Settled
            }
            StoreAnswer::Done { .. } => WriterVerdict::Settled,
            StoreAnswer::Unavailable | StoreAnswer::Unknown => WriterVerdict::AskAgain,
            other => WriterVerdict::Failed(format!("{other:?} is no answer to {request:?}")),
        }
    }
}

impl CommittingSinkWriter for SnapshotTableWriter {
    type Committable = NamedCommittable;

    fn prepare_commit(&mut self, io: &mut SinkIo) -> Vec<NamedCommittable> {
        let transaction = self.transaction;
        self.transaction.number = transaction.number.next();
        let Some(records) = self.batch.take_unsent() else {
            return Vec::new();
        };
        io.ask(StoreRequest::Snapshots(SnapshotsOperation::WriteFile { file: transaction, records }));
        vec![NamedCommittable { transaction, records: self.batch.end(), token: self.base }]
    }
}
