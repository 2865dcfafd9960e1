//! The writer that inserts its records in a session and prepares the transaction before each barrier.
//!
//! A transaction begins at its first record. Before the first one, a connection that breaks is made anew; with a
//! transaction open its records are gone with it, so the task fails, and its successor reads them again.

use crate::api::sink::{
    CommittingSinkWriter, SinkIo, SinkWriter, StoreAnswer, WriterInitContext, WriterVerdict,
};
use crate::api::table_io::{TableAnswer, TableOperation};
use crate::connectors::leftovers::{Leftovers, Successor, first_transaction};
use crate::connectors::named_committable::NamedCommittable;
use crate::connectors::record_batch::RecordBatch;
use crate::ids::TransactionName;
use crate::message::StoreRequest;
use crate::records::Record;

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PreparedTableWriter<L> {
    transaction: TransactionName,
    successor: Successor,
    leftovers: L,
    session: u32,
    batch: RecordBatch,
}

impl<L: Leftovers> PreparedTableWriter<L> {
    /// A writer without a session.
    #[must_use]
    pub fn new(context: &WriterInitContext) -> Self {
        Self {
            transaction: first_transaction(context),
            successor: Successor::new(context),
            leftovers: L::default(),
            session: 0,
            batch: RecordBatch::new(context.write_buffer_records),
        }
    }

    fn send(&mut self, io: &mut SinkIo) {
        if let Some(records) = self.batch.take_unsent() {
            io.ask(StoreRequest::Table(TableOperation::Insert { session: self.session, records }));
        }
    }

    fn connect_anew(&mut self, io: &mut SinkIo) -> WriterVerdict {
        debug_assert!(self.batch.is_empty(), "the writer is opened before it takes records");
        self.session += 1;
        io.ask(StoreRequest::Table(TableOperation::Connect { session: self.session }));
        WriterVerdict::Settled
    }

    fn end_leftovers(&self, prepared: &[TransactionName], io: &mut SinkIo) -> WriterVerdict {
        for &transaction in prepared.iter().filter(|name| self.leftovers.ends(&self.successor, **name)) {
            io.ask(StoreRequest::Table(TableOperation::RollbackPrepared { transaction }));
        }
        WriterVerdict::Settled
    }
}

impl<L: Leftovers> SinkWriter for PreparedTableWriter<L> {
    fn transaction(&self) -> TransactionName {
        self.transaction
    }

    fn open(&mut self, keep: &[TransactionName], io: &mut SinkIo) {
        debug_assert!(io.is_empty() && self.batch.is_empty(), "open comes first");
        self.successor.keep(keep);
        io.ask(StoreRequest::Table(TableOperation::Connect { session: self.session }));
        let vertex = self.transaction.writer.vertex;
        io.ask(StoreRequest::Table(TableOperation::ListPrepared { vertex }));
    }

    fn write(&mut self, record: Record, io: &mut SinkIo) {
        let (session, transaction) = (self.session, self.transaction);
        if self.batch.is_empty() {
            io.ask(StoreRequest::Table(TableOperation::Begin { session, transaction }));
        }
        if self.batch.push(record) {
            self.send(io);
        }
    }

    fn flush(&mut self, _end_of_input: bool, io: &mut SinkIo) {
        self.send(io);
    }

    fn answered(&mut self, request: &StoreRequest, answer: StoreAnswer, io: &mut SinkIo) -> WriterVerdict {
        let StoreRequest::Table(operation) = request else {
            unreachable!("this writer asks a table only: {request:?}");
        };
        match (operation, answer) {
            (_, StoreAnswer::Done { .. }) => WriterVerdict::Settled,
            (_, StoreAnswer::Unavailable) => WriterVerdict::AskAgain,
            (
                TableOperation::Connect { .. },
                StoreAnswer::Unknown | StoreAnswer::Table(TableAnswer::NoSession),
            ) => self.connect_anew(io),
            (TableOperation::ListPrepared { .. }, StoreAnswer::Table(TableAnswer::Prepared(prepared))) => {
                self.end_leftovers(&prepared, io)
            }
            (
                TableOperation::ListPrepared { .. } | TableOperation::RollbackPrepared { .. },
                StoreAnswer::Unknown,
            ) => WriterVerdict::AskAgain,
            // Its answer was lost, or somebody else did it.
            (TableOperation::RollbackPrepared { .. }, StoreAnswer::NotFound) => WriterVerdict::Settled,
            (operation, answer) => {
                WriterVerdict::Failed(format!("{answer:?} to 'please {}'", operation.sentence()))
            }
        }
    }
}

impl<L: Leftovers> CommittingSinkWriter for PreparedTableWriter<L> {
    type Committable = NamedCommittable;

    fn prepare_commit(&mut self, io: &mut SinkIo) -> Vec<NamedCommittable> {
        let transaction = self.transaction;
        self.transaction.number = transaction.number.next();
        if self.batch.is_empty() {
            return Vec::new();
        }
        io.ask(StoreRequest::Table(TableOperation::Prepare { session: self.session }));
        vec![NamedCommittable { transaction, records: self.batch.end(), token: 0 }]
    }
}
