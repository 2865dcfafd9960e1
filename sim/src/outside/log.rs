//! A partitioned log with transactions, in the manner of Kafka.
//!
//! Per transactional id it holds a producer with an epoch, and at most one open transaction. An initialisation raises the
//! epoch and aborts what is open; a commit, an abort and the log's own clock, which aborts what is open for too long, raise
//! it too (KIP-890). Requests of an older epoch are refused, with one exception: a commit that is asked again by the
//! producer that made it is answered as it was before. Requests that this log answers and Kafka's would too are answered
//! alike as far as its documents tell; there is none here to compare it with.
//!
//! **What a crash takes.** Everything that is acknowledged is on all replicas: open transactions, ended ones and appends
//! survive, and producers notice nothing but an outage. An append whose acknowledgement never went out may be on the leader
//! alone. It is not part of a partition yet, is in no ledger and is read by nobody; by the next answer the replicas have
//! caught up, and if the leader dies before, it is gone, and the producer, which asks again, finds its sequence open.
//!
//! Simplified: the marker of a transaction is in all its partitions in the step of the decision, and a transactional id is
//! never forgotten.

mod partition;
mod producer;

use super::VisibleLedger;
use super::content::Content;
use super::store::{Caller, OpenTransaction};
use partition::Partition;
use producer::{Ended, Outcome, Producer, Transaction};
use splitrace_runtime::api::log_io::{LogAnswer, LogOperation, ProducerIdAndEpoch, TransactionResult};
use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::{OperatorUid, TransactionName};
use splitrace_runtime::records::Record;
use std::collections::BTreeMap;

/// What the log must know of a call beside what it asks for.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The log's clock.
    pub now_ns: u64,
    /// Whether the answer goes out.
    pub acknowledged: bool,
}

/// An append that the leader has and its replicas may not have.
#[derive(Clone, Debug, Hash)]
struct Unreplicated {
    id: TransactionName,
    partition: u32,
    records: Vec<Record>,
}

/// See the module.
#[derive(Clone, Debug, Default, Hash)]
pub struct TransactionalLog {
    defects: DefectSet,
    partitions: BTreeMap<u32, Partition>,
    producers: BTreeMap<TransactionName, Producer>,
    /// In the order in which they came.
    unreplicated: Vec<Unreplicated>,
    visible: VisibleLedger,
}

impl TransactionalLog {
    /// An empty log.
    #[must_use]
    pub fn new(defects: DefectSet) -> Self {
        Self { defects, ..Self::default() }
    }

    /// What was made visible.
    #[must_use]
    pub const fn visible(&self) -> &VisibleLedger {
        &self.visible
    }

    /// What is open. All of it outlives its producer.
    #[must_use]
    pub fn open_transactions(&self) -> Vec<OpenTransaction> {
        let open = |(name, producer): (&TransactionName, &Producer)| {
            let transaction = producer.open.as_ref()?;
            let records = transaction.content.distinct();
            Some(OpenTransaction { name: *name, fence: transaction.fence, prepared: true, records })
        };
        self.producers.iter().filter_map(open).collect()
    }

    /// The leader of all partitions dies, and a replica takes over.
    pub(super) fn crash(&mut self) {
        for Unreplicated { id, partition, .. } in std::mem::take(&mut self.unreplicated) {
            let open = self.producers.get_mut(&id).and_then(|producer| producer.open.as_mut());
            let next = open.and_then(|open| open.sequences.get_mut(&partition));
            *next.expect("it is appended to an open transaction") -= 1;
        }
    }

    /// Carries an operation out.
    pub(super) fn execute(
        &mut self,
        caller: Caller,
        operation: LogOperation,
        moment: Moment,
        events: &mut Vec<EventKind>,
    ) -> LogAnswer {
        self.expire(moment.now_ns, events);
        if !matches!(operation, LogOperation::Append { .. }) {
            self.replicate(events);
        }
        let answer = match operation {
            LogOperation::InitProducer { id, timeout_ns } => self.initialise(id, timeout_ns, events),
            LogOperation::AddPartitions { id, producer, partitions } => {
                self.add_partitions(caller, (id, producer), &partitions, moment.now_ns, events)
            }
            LogOperation::Append { id, producer, partition, sequence, records } => {
                self.append(caller, (id, producer), (partition, sequence), records, events)
            }
            LogOperation::EndTransaction { id, producer, result } => {
                self.end(caller, id, producer, result, events)
            }
            LogOperation::ListTransactions { vertex } => self.list(caller, vertex, events),
        };
        if moment.acknowledged {
            self.replicate(events);
        }
        answer
    }

    /// The clock aborts what is open for too long.
    fn expire(&mut self, now_ns: u64, events: &mut Vec<EventKind>) {
        let late = self.producers.iter().filter(|(_, producer)| producer.is_late(now_ns));
        let late: Vec<TransactionName> = late.map(|(id, _)| *id).collect();
        if !late.is_empty() {
            self.replicate(events);
        }
        for id in late {
            self.close(id, Outcome::TimedOut, events);
        }
    }

    /// The replicas have caught up: what the leader has is part of the log.
    fn replicate(&mut self, events: &mut Vec<EventKind>) {
        for Unreplicated { id, partition, records } in std::mem::take(&mut self.unreplicated) {
            let producer = self.producers.get_mut(&id).expect("only known producers append");
            let transaction = producer.open.as_mut().expect("whatever ends a transaction replicates before");
            transaction.content.add(&records);
            let fence = transaction.fence;
            let written = records.iter().collect();
            events.push(EventKind::TransactionWritten { transaction: id, fence, records: written });
            let all = transaction.content.distinct();
            events.push(EventKind::TransactionDurable { transaction: id, fence, records: all });
            self.partitions.entry(partition).or_default().append(producer.producer_id, records);
        }
    }

    fn initialise(&mut self, id: TransactionName, timeout_ns: u64, events: &mut Vec<EventKind>) -> LogAnswer {
        let next = self.producers.len() as u32;
        let known = self.producers.entry(id).or_insert_with(|| Producer::new(next, timeout_ns));
        if known.producer_id == next {
            return LogAnswer::Producer(known.id_and_epoch());
        }
        if self.defects.has(Defect::ProducerEpochNotBumped) {
            return LogAnswer::Producer(known.id_and_epoch());
        }
        known.timeout_ns = timeout_ns;
        self.close(id, Outcome::Fenced, events);
        LogAnswer::Producer(self.producers[&id].id_and_epoch())
    }

    fn add_partitions(
        &mut self,
        caller: Caller,
        (id, producer): (TransactionName, ProducerIdAndEpoch),
        partitions: &[u32],
        now_ns: u64,
        events: &mut Vec<EventKind>,
    ) -> LogAnswer {
        let fence = caller.fence();
        let known = match self.admitted(id, producer) {
            Ok(known) => known,
            Err(answer) => return refused(answer, id, caller, events),
        };
        let transaction = known.open.get_or_insert_with(|| {
            events.push(EventKind::TransactionBegun { transaction: id, fence });
            Transaction::new(fence, now_ns)
        });
        for partition in partitions {
            transaction.sequences.entry(*partition).or_default();
        }
        debug_assert!(!transaction.sequences.is_empty(), "a transaction begins with a partition");
        LogAnswer::Done
    }

    fn append(
        &mut self,
        caller: Caller,
        (id, producer): (TransactionName, ProducerIdAndEpoch),
        (partition, sequence): (u32, u32),
        records: Vec<Record>,
        events: &mut Vec<EventKind>,
    ) -> LogAnswer {
        debug_assert!(!records.is_empty(), "nobody sends nothing");
        let known = match self.admitted(id, producer) {
            Ok(known) => known,
            Err(answer) => return refused(answer, id, caller, events),
        };
        let Some(next) = known.open.as_mut().and_then(|open| open.sequences.get_mut(&partition)) else {
            return LogAnswer::InvalidTransactionState;
        };
        if sequence > *next {
            return LogAnswer::OutOfOrderSequence;
        }
        let is_repeated = sequence < *next;
        *next = (*next).max(sequence + 1);
        if is_repeated && !self.defects.has(Defect::AppendSequenceNotChecked) {
            return LogAnswer::Done;
        }
        self.unreplicated.push(Unreplicated { id, partition, records });
        LogAnswer::Done
    }

    fn end(
        &mut self,
        caller: Caller,
        id: TransactionName,
        producer: ProducerIdAndEpoch,
        result: TransactionResult,
        events: &mut Vec<EventKind>,
    ) -> LogAnswer {
        let Some(known) = self.producers.get(&id) else { return LogAnswer::UnknownProducer };
        if let Some(before) = known.ended_before(producer) {
            return again(before, id, result, events);
        }
        if let Err(answer) = self.admitted(id, producer) {
            return refused(answer, id, caller, events);
        }
        if self.producers[&id].open.is_none() {
            return LogAnswer::InvalidTransactionState;
        }
        match result {
            TransactionResult::Abort => {
                self.close(id, Outcome::Aborted, events);
            }
            TransactionResult::Commit => {
                let content = self.close(id, Outcome::Committed, events);
                self.show(id, content, caller, events);
            }
        }
        debug_assert!(!events.is_empty(), "an end is in the ledger");
        LogAnswer::Done
    }

    /// Ends what is open under an id, with markers in its partitions, and fences its producer. Answers what was in it.
    fn close(&mut self, id: TransactionName, outcome: Outcome, events: &mut Vec<EventKind>) -> Content {
        debug_assert!(self.unreplicated.is_empty(), "what is written comes before its marker");
        let known = self.producers.get_mut(&id).expect("the caller has found it");
        let ended = known.open.take();
        // Whoever is fenced does not learn what became of its transaction.
        let is_told = ended.is_some() && outcome != Outcome::Fenced;
        known.ended = is_told.then_some(Ended { epoch: known.epoch, outcome });
        known.epoch = known.epoch.wrapping_add(1);
        let Some(transaction) = ended else { return Content::default() };
        for partition in transaction.sequences.keys() {
            let partition = self.partitions.entry(*partition).or_default();
            partition.mark(known.producer_id, outcome.result());
        }
        if outcome != Outcome::Committed {
            events.push(EventKind::TransactionRolledBack { transaction: id, prepared: true });
        }
        transaction.content
    }

    fn show(&mut self, name: TransactionName, content: Content, caller: Caller, events: &mut Vec<EventKind>) {
        for records in content.into_layers() {
            self.visible.add(name, records.clone());
            let (by, epoch) = (caller.attempt, caller.epoch);
            events.push(EventKind::BecameVisible { transaction: name, by, epoch, records });
        }
    }

    fn list(&self, caller: Caller, vertex: OperatorUid, events: &mut Vec<EventKind>) -> LogAnswer {
        let (writer, fence) = (caller.attempt.subtask_id(), caller.fence());
        events.push(EventKind::LeftoversListed { writer, fence });
        let is_open = |(id, producer): &(&TransactionName, &Producer)| {
            id.writer.vertex == vertex && producer.open.is_some()
        };
        LogAnswer::Transactions(self.producers.iter().filter(is_open).map(|(id, _)| *id).collect())
    }

    /// The producer of the id, if it is this one.
    fn admitted(
        &mut self,
        id: TransactionName,
        producer: ProducerIdAndEpoch,
    ) -> Result<&mut Producer, LogAnswer> {
        match self.producers.get_mut(&id) {
            None => Err(LogAnswer::UnknownProducer),
            Some(known) => match known.refusal(producer) {
                Some(answer) => Err(answer),
                None => Ok(known),
            },
        }
    }
}

/// The answer to who is not admitted, with what the ledger tells of it.
fn refused(
    answer: LogAnswer,
    transaction: TransactionName,
    caller: Caller,
    events: &mut Vec<EventKind>,
) -> LogAnswer {
    if answer == LogAnswer::ProducerFenced {
        events.push(EventKind::StoreRefused { transaction, fence: caller.fence() });
    }
    answer
}

/// What a producer hears that asks once more for the end of its transaction.
fn again(
    before: Outcome,
    transaction: TransactionName,
    result: TransactionResult,
    events: &mut Vec<EventKind>,
) -> LogAnswer {
    match (before, result) {
        (Outcome::Committed, TransactionResult::Commit) => {
            events.push(EventKind::AlreadyVisible { transaction });
            LogAnswer::Done
        }
        (Outcome::Aborted | Outcome::TimedOut, TransactionResult::Abort) => LogAnswer::Done,
        (Outcome::TimedOut, TransactionResult::Commit) => LogAnswer::TransactionTimedOut,
        (Outcome::Committed | Outcome::Aborted, _) => LogAnswer::InvalidTransactionState,
        (Outcome::Fenced, _) => LogAnswer::ProducerFenced,
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
