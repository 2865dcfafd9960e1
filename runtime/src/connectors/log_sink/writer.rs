//! The writer that appends its records to the partitions of an open transaction.
//!
//! Its producer is initialised when the writer is opened and anew in each `prepare_commit`. The task waits for both, so
//! that id and epoch are known before the next record comes. A transaction begins with the first partition that gets a
//! record. Every request may be asked again: an initialisation raises the epoch once more, and appends have a sequence.

use crate::api::log_io::{LogAnswer, LogOperation, ProducerIdAndEpoch};
use crate::api::sink::{
    CommittingSinkWriter, SinkIo, SinkWriter, StoreAnswer, WriterInitContext, WriterVerdict,
};
use crate::config::LogSinkConfig;
use crate::connectors::leftovers::{Leftovers, Successor, first_transaction};
use crate::connectors::named_committable::NamedCommittable;
use crate::connectors::record_batch::RecordBatch;
use crate::ids::TransactionName;
use crate::message::StoreRequest;
use crate::records::Record;
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LogWriter<L> {
    config: LogSinkConfig,
    /// The transactional id of the next record's transaction.
    transaction: TransactionName,
    /// Its producer, once it is initialised.
    producer: Option<ProducerIdAndEpoch>,
    /// The partitions that take part, with the number of appends to each.
    sequences: BTreeMap<u32, u32>,
    successor: Successor,
    leftovers: L,
    batch: RecordBatch,
    input_ended: bool,
}

impl<L: Leftovers> LogWriter<L> {
    /// A writer without a producer.
    #[must_use]
    pub fn new(config: LogSinkConfig, context: &WriterInitContext) -> Self {
        Self {
            config,
            transaction: first_transaction(context),
            producer: None,
            sequences: BTreeMap::new(),
            successor: Successor::new(context),
            leftovers: L::default(),
            batch: RecordBatch::new(context.write_buffer_records),
            input_ended: false,
        }
    }

    fn initialise(&self, id: TransactionName, io: &mut SinkIo) {
        let timeout_ns = self.config.transaction_timeout_ns;
        io.ask(StoreRequest::Log(LogOperation::InitProducer { id, timeout_ns }));
    }

    fn producer(&self) -> ProducerIdAndEpoch {
        self.producer.expect("the task waits until the producer is initialised")
    }

    /// The key decides on the partition, so that records of one key keep their order.
    fn by_partition(&self, records: Vec<Record>) -> BTreeMap<u32, Vec<Record>> {
        let mut parted: BTreeMap<u32, Vec<Record>> = BTreeMap::new();
        for record in records {
            let partition = (record.key % u64::from(self.config.partitions)) as u32;
            parted.entry(partition).or_default().push(record);
        }
        parted
    }

    fn send(&mut self, io: &mut SinkIo) {
        let Some(records) = self.batch.take_unsent() else { return };
        let (id, producer) = (self.transaction, self.producer());
        let parted = self.by_partition(records);
        let partitions: Vec<u32> =
            parted.keys().copied().filter(|partition| !self.sequences.contains_key(partition)).collect();
        if !partitions.is_empty() {
            io.ask(StoreRequest::Log(LogOperation::AddPartitions { id, producer, partitions }));
        }
        for (partition, records) in parted {
            let next = self.sequences.entry(partition).or_default();
            let sequence = *next;
            *next += 1;
            io.ask(StoreRequest::Log(LogOperation::Append { id, producer, partition, sequence, records }));
        }
        debug_assert!(!self.sequences.is_empty(), "records went to some partition");
    }

    /// Whoever initialises an id fences its producer and aborts what that has open.
    fn end_leftovers(&self, open: &[TransactionName], io: &mut SinkIo) {
        for &id in open.iter().filter(|name| self.leftovers.ends(&self.successor, **name)) {
            debug_assert!(id != self.transaction, "a life does not end its own work");
            self.initialise(id, io);
        }
    }
}

impl<L: Leftovers> SinkWriter for LogWriter<L> {
    fn transaction(&self) -> TransactionName {
        self.transaction
    }

    fn open(&mut self, keep: &[TransactionName], io: &mut SinkIo) {
        debug_assert!(io.is_empty() && self.batch.is_empty(), "open comes first");
        self.successor.keep(keep);
        let vertex = self.transaction.writer.vertex;
        io.ask(StoreRequest::Log(LogOperation::ListTransactions { vertex }));
        self.initialise(self.transaction, io);
    }

    fn write(&mut self, record: Record, io: &mut SinkIo) {
        if self.batch.push(record) {
            self.send(io);
        }
    }

    fn flush(&mut self, end_of_input: bool, io: &mut SinkIo) {
        self.input_ended |= end_of_input;
        self.send(io);
    }

    fn answered(&mut self, request: &StoreRequest, answer: StoreAnswer, io: &mut SinkIo) -> WriterVerdict {
        let StoreRequest::Log(operation) = request else {
            unreachable!("this writer asks a log only: {request:?}");
        };
        match (operation, answer) {
            (_, StoreAnswer::Done { .. }) => WriterVerdict::Settled,
            (_, StoreAnswer::Unavailable | StoreAnswer::Unknown) => WriterVerdict::AskAgain,
            (LogOperation::InitProducer { id, .. }, StoreAnswer::Log(LogAnswer::Producer(producer))) => {
                if *id == self.transaction {
                    self.producer = Some(producer);
                }
                WriterVerdict::Settled
            }
            (LogOperation::ListTransactions { .. }, StoreAnswer::Log(LogAnswer::Transactions(open))) => {
                self.end_leftovers(&open, io);
                WriterVerdict::Settled
            }
            (operation, answer) => {
                WriterVerdict::Failed(format!("{answer:?} to 'please {}'", operation.sentence()))
            }
        }
    }
}

impl<L: Leftovers> CommittingSinkWriter for LogWriter<L> {
    type Committable = NamedCommittable;

    fn prepare_commit(&mut self, io: &mut SinkIo) -> Vec<NamedCommittable> {
        let transaction = self.transaction;
        self.transaction.number = transaction.number.next();
        let producer = self.producer.take();
        if !self.input_ended {
            self.initialise(self.transaction, io);
        }
        self.sequences.clear();
        if self.batch.is_empty() {
            return Vec::new();
        }
        let token = producer.expect("records went out under a producer").to_token();
        vec![NamedCommittable { transaction, records: self.batch.end(), token }]
    }
}
