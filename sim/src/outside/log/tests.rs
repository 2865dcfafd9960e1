//! Each rule of the log, kept and broken.

use super::super::store::tests_support::{execution, name, records};
use super::*;
use splitrace_runtime::ids::{AttemptNumber, Fence, LeaderEpoch};
use splitrace_runtime::records::RecordRanges;

const TIMEOUT_NS: u64 = 1_000;

/// A log with the time of its clock.
struct Bench {
    log: TransactionalLog,
    now_ns: u64,
    events: Vec<EventKind>,
}

impl Bench {
    fn new(defects: DefectSet) -> Self {
        Self { log: TransactionalLog::new(defects), now_ns: 0, events: Vec::new() }
    }

    fn ask(&mut self, operation: LogOperation) -> LogAnswer {
        self.ask_with(operation, true)
    }

    fn ask_with(&mut self, operation: LogOperation, acknowledged: bool) -> LogAnswer {
        self.events.clear();
        let caller = Caller { attempt: execution(0, 0), epoch: LeaderEpoch(1) };
        let moment = Moment { now_ns: self.now_ns, acknowledged };
        self.log.execute(caller, operation, moment, &mut self.events)
    }

    fn initialise(&mut self, number: u64) -> ProducerIdAndEpoch {
        let answer = self.ask(LogOperation::InitProducer { id: name(0, number), timeout_ns: TIMEOUT_NS });
        let LogAnswer::Producer(producer) = answer else { panic!("a producer: {answer:?}") };
        producer
    }

    /// A transaction with the records `start..end` in partition 0.
    fn open(&mut self, number: u64, start: u64, end: u64) -> ProducerIdAndEpoch {
        let producer = self.initialise(number);
        assert_eq!(self.ask(add(number, producer)), LogAnswer::Done);
        assert_eq!(self.ask(append(number, producer, 0, start, end)), LogAnswer::Done);
        producer
    }

    fn committed(&self) -> Vec<u64> {
        self.log.partitions[&0].read_committed(0).iter().map(|(_, record)| record.offset).collect()
    }
}

fn add(number: u64, producer: ProducerIdAndEpoch) -> LogOperation {
    LogOperation::AddPartitions { id: name(0, number), producer, partitions: vec![0] }
}

fn append(number: u64, producer: ProducerIdAndEpoch, sequence: u32, start: u64, end: u64) -> LogOperation {
    let records = records(&[(start, end)]);
    LogOperation::Append { id: name(0, number), producer, partition: 0, sequence, records }
}

fn end(number: u64, producer: ProducerIdAndEpoch, result: TransactionResult) -> LogOperation {
    LogOperation::EndTransaction { id: name(0, number), producer, result }
}

fn commit(number: u64, producer: ProducerIdAndEpoch) -> LogOperation {
    end(number, producer, TransactionResult::Commit)
}

fn ranges(start: u64, end: u64) -> RecordRanges {
    records(&[(start, end)]).iter().collect()
}

#[test]
fn a_commit_makes_visible_once_and_may_be_asked_again() {
    let mut bench = Bench::new(DefectSet::NONE);
    let producer = bench.open(1, 0, 4);
    let fence = Fence { leader_epoch: LeaderEpoch(1), attempt: AttemptNumber(0) };
    let durable = EventKind::TransactionDurable { transaction: name(0, 1), fence, records: ranges(0, 4) };
    assert_eq!(bench.events.last(), Some(&durable), "what is acknowledged is durable");
    assert!(bench.committed().is_empty());
    assert_eq!(bench.ask(commit(1, producer)), LogAnswer::Done);
    assert!(matches!(&bench.events[..], [EventKind::BecameVisible { .. }]), "{:?}", bench.events);
    assert_eq!(bench.ask(commit(1, producer)), LogAnswer::Done, "as the first time");
    assert_eq!(bench.events, [EventKind::AlreadyVisible { transaction: name(0, 1) }]);
    let abort = end(1, producer, TransactionResult::Abort);
    assert_eq!(bench.ask(abort), LogAnswer::InvalidTransactionState);
    assert_eq!((bench.log.visible().total(), bench.committed()), (4, vec![0, 1, 2, 3]));
    assert_eq!(bench.ask(add(1, producer)), LogAnswer::ProducerFenced, "a late request opens nothing");
}

#[test]
fn an_initialisation_fences_and_aborts_and_the_defect_leaves_all_as_it_was() {
    let mut bench = Bench::new(DefectSet::NONE);
    let old = bench.open(1, 0, 4);
    let new = bench.initialise(1);
    assert_eq!((new.producer_id, new.epoch), (old.producer_id, old.epoch + 1));
    assert_eq!(bench.events, [EventKind::TransactionRolledBack { transaction: name(0, 1), prepared: true }]);
    for late in [add(1, old), append(1, old, 1, 4, 5), commit(1, old)] {
        assert_eq!(bench.ask(late), LogAnswer::ProducerFenced);
        assert!(matches!(&bench.events[..], [EventKind::StoreRefused { .. }]), "{:?}", bench.events);
    }
    assert_eq!(bench.ask(commit(1, new)), LogAnswer::InvalidTransactionState, "nothing is open");
    let mut bench = Bench::new(DefectSet::NONE.with(Defect::ProducerEpochNotBumped));
    let old = bench.open(1, 0, 4);
    assert_eq!(bench.initialise(1), old);
    assert_eq!(bench.log.open_transactions().len(), 1);
}

#[test]
fn an_append_counts_once_in_its_place() {
    for (defects, total) in
        [(DefectSet::NONE, 5), (DefectSet::NONE.with(Defect::AppendSequenceNotChecked), 9)]
    {
        let mut bench = Bench::new(defects);
        let producer = bench.open(1, 0, 4);
        assert_eq!(bench.ask(append(1, producer, 0, 0, 4)), LogAnswer::Done, "it had no answer");
        assert_eq!(bench.ask(append(1, producer, 2, 5, 6)), LogAnswer::OutOfOrderSequence);
        assert_eq!(bench.ask(append(1, producer, 1, 4, 5)), LogAnswer::Done);
        bench.ask(commit(1, producer));
        assert_eq!(bench.log.visible().total(), total);
    }
}

#[test]
fn an_append_that_nobody_was_told_of_dies_with_the_leader() {
    for crashes in [false, true] {
        let mut bench = Bench::new(DefectSet::NONE);
        let producer = bench.open(1, 0, 4);
        assert_eq!(bench.ask_with(append(1, producer, 1, 4, 6), false), LogAnswer::Done);
        assert!(bench.events.is_empty(), "no ledger tells of it yet");
        if crashes {
            bench.log.crash();
        }
        assert_eq!(bench.ask(append(1, producer, 1, 4, 6)), LogAnswer::Done);
        let written = bench.events.iter().any(|event| matches!(event, EventKind::TransactionWritten { .. }));
        assert!(written, "by the next answer all replicas have it");
        bench.ask(commit(1, producer));
        assert_eq!((bench.log.visible().total(), bench.committed().len()), (6, 6), "crashes: {crashes}");
    }
}

#[test]
fn the_clock_aborts_what_is_open_for_too_long_and_a_later_commit_is_told() {
    let mut bench = Bench::new(DefectSet::NONE);
    let producer = bench.open(1, 0, 4);
    bench.now_ns = TIMEOUT_NS;
    assert_eq!(bench.ask(append(1, producer, 1, 4, 5)), LogAnswer::Done, "not yet");
    bench.now_ns = TIMEOUT_NS + 1;
    assert_eq!(bench.ask(commit(1, producer)), LogAnswer::TransactionTimedOut);
    let rolled_back = EventKind::TransactionRolledBack { transaction: name(0, 1), prepared: true };
    assert_eq!(bench.events, [rolled_back]);
    assert_eq!(bench.ask(commit(1, producer)), LogAnswer::TransactionTimedOut);
    assert_eq!(bench.ask(append(1, producer, 2, 5, 6)), LogAnswer::TransactionTimedOut);
    assert_eq!(bench.log.visible().total(), 0);
}

#[test]
fn an_open_transaction_holds_back_what_was_committed_behind_it() {
    let mut bench = Bench::new(DefectSet::NONE);
    let first = bench.open(1, 0, 2);
    let second = bench.open(2, 2, 4);
    bench.ask(commit(2, second));
    assert_eq!(bench.log.partitions[&0].last_stable_offset(), 0);
    assert!(bench.committed().is_empty(), "nobody reads past an open transaction");
    bench.ask(end(1, first, TransactionResult::Abort));
    assert_eq!(bench.committed(), [2, 3], "and aborted records are passed over");
    assert_eq!(bench.log.partitions[&0].last_stable_offset(), bench.log.partitions[&0].end());
}

#[test]
fn only_what_is_open_under_a_prefix_is_listed_and_strangers_are_unknown() {
    let mut bench = Bench::new(DefectSet::NONE);
    let done = bench.open(1, 0, 2);
    bench.ask(commit(1, done));
    bench.open(2, 2, 4);
    let list = |vertex| LogOperation::ListTransactions { vertex: OperatorUid(vertex) };
    assert_eq!(bench.ask(list(0)), LogAnswer::Transactions(vec![name(0, 2)]));
    assert!(matches!(&bench.events[..], [EventKind::LeftoversListed { .. }]));
    assert_eq!(bench.ask(list(1)), LogAnswer::Transactions(Vec::new()));
    assert_eq!(bench.ask(commit(7, done)), LogAnswer::UnknownProducer);
    let stranger = ProducerIdAndEpoch { producer_id: 9, ..done };
    assert_eq!(bench.ask(commit(2, stranger)), LogAnswer::UnknownProducer);
}
