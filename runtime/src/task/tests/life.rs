//! Start, restore, the happy path, and the cost of a record.

use super::harness::*;
use crate::actor::{Actor, Outbox, TurnDecision};
use crate::api::source::SimpleVersionedSerializer;
use crate::config::{AssignmentPolicy, EnumeratorScript, SinkKind, SourceConfig};
use crate::connectors::range_source::{RangeSource, RangeSplitSerializer};
use crate::ids::*;
use crate::message::*;
use crate::task::{Task, TaskStatus};

#[test]
fn a_first_attempt_registers_before_it_asks_and_then_runs() {
    let mut bench = Bench::created(descriptor(SinkKind::Append));
    assert!(bench.task.is_runnable() && bench.task.status() == TaskStatus::Created);
    bench.run();
    let expected = [
        "state Initializing 0",
        "CommitterCreated",
        "WriterCreated",
        "TaskRestored",
        "event Register { reported: [] }",
        "ReaderStarted",
        "event RequestSplit",
        "state Running 0",
    ];
    assert_eq!(bench.lines(), expected);
}

#[test]
fn a_transactional_writer_recovers_before_the_task_registers() {
    let mut bench = Bench::created(descriptor(SinkKind::Transactional));
    bench.run();
    assert_eq!(bench.lines(), ["state Initializing 0", "CommitterCreated", "WriterCreated", "init keep 0"]);
    assert_eq!(bench.task.status(), TaskStatus::OpeningWriter);
    let sentence = bench.task.waiting_for().unwrap();
    assert!(sentence.contains("waits for the store's reply to recover"), "{sentence}");
    bench.event(OperatorEvent::NoMoreSplits);
    assert!(bench.lines().is_empty(), "events wait until the task runs");
    bench.reply(StoreReply::Done);
    let lines = bench.lines_of(&["event", "state", "NoMoreSplitsNoticed"]);
    let expected =
        ["event Register { reported: [] }", "event RequestSplit", "state Running 0", "NoMoreSplitsNoticed"];
    assert_eq!(lines, expected);
    assert_eq!(bench.task.waiting_for(), None);
}

#[test]
fn a_record_costs_one_turn() {
    let mut bench = Bench::running(descriptor(SinkKind::Append), 9);
    bench.task.enqueue(TaskMail::Timer(Timer::ReaderWake));
    bench.turn();
    assert_eq!(bench.lines(), ["RecordsEmitted split-0[0..0]", "RecordsWritten s0-chk1 split-0[0..0]"]);
    assert!(!bench.task.is_runnable());
}

#[test]
fn mail_comes_before_the_default_action() {
    let mut bench = Bench::running(descriptor(SinkKind::Append), 9);
    bench.task.enqueue(TaskMail::Timer(Timer::ReaderWake));
    bench.task.enqueue(TaskMail::FromNetwork(TaskMessage::TriggerCheckpoint(CheckpointId(1))));
    bench.turn();
    assert!(bench.lines().is_empty(), "the wake-up alone does nothing while mail is there");
    bench.turn();
    assert_eq!(bench.lines()[0], "BarrierHandled chk 1");
    bench.turn();
    assert_eq!(bench.lines()[0], "RecordsEmitted split-0[0..0]");
}

#[test]
fn a_batch_is_told_in_ranges_and_filtered_records_are_declared() {
    let mut descriptor = descriptor(SinkKind::Append);
    descriptor.config.filter_every = 3;
    let mut bench = Bench::running(descriptor, 5);
    bench.batch_size_max = 10;
    bench.read(1);
    let expected = [
        "RecordsEmitted split-0[0..4]",
        "RecordsFiltered split-0[0..0]",
        "RecordsWritten s0-chk1 split-0[1..2]",
        "RecordsFiltered split-0[3..3]",
        "RecordsWritten s0-chk1 split-0[4..4]",
        "SplitFinished",
    ];
    assert_eq!(bench.lines(), expected);
    bench.trigger(1);
    assert_eq!(bench.lines_of(&["TransactionPrepared"]), ["TransactionPrepared s0-chk1 [1..2, 4..4]"]);
}

#[test]
fn a_transactional_writer_begins_at_the_first_record_and_sends_full_buffers() {
    let mut bench = Bench::running(descriptor(SinkKind::Transactional), 9);
    bench.read(3);
    assert_eq!(bench.calls.len(), 1, "one request is under way at a time");
    bench.answer_all();
    let calls = ["begin", "write"];
    assert_eq!(bench.lines_of(&calls), ["begin s0-chk1", "write s0-chk1 0 2"]);
    bench.trigger(1);
    bench.answer_all();
    let lines = bench.lines_of(&["begin", "write", "prepare", "acknowledge"]);
    assert_eq!(lines, ["write s0-chk1 1 1", "prepare s0-chk1 2", "acknowledge chk 1"]);
}

#[test]
fn a_slow_store_holds_the_reader_back() {
    let mut bench = Bench::running(descriptor(SinkKind::Transactional), 100);
    bench.read(40);
    let read = bench.lines_of(&["RecordsEmitted"]).len();
    assert!((8..16).contains(&read), "{read} records were read while the store was silent");
    bench.answer_all();
    bench.read(2);
    assert!(!bench.lines_of(&["RecordsEmitted"]).is_empty());
}

#[test]
fn a_restored_task_gives_its_splits_to_the_reader_and_counts_on() {
    let snapshot = snapshot_with_split(4, 9);
    let mut bench = Bench::created(restored(SinkKind::Append, 3, snapshot));
    bench.run();
    let lines = bench.lines_of(&["TaskRestored", "SplitRestored", "event", "CommitsSettled"]);
    assert_eq!(
        lines,
        ["CommitsSettled chk 3", "TaskRestored", "SplitRestored", "event Register { reported: [] }"]
    );
    bench.read(1);
    assert_eq!(bench.lines(), ["RecordsEmitted split-0[4..4]", "RecordsWritten s0-chk4 split-0[4..4]"]);
}

#[test]
fn a_failure_from_outside_ends_the_thread_once() {
    let mut bench = Bench::running(descriptor(SinkKind::Append), 9);
    bench.task.enqueue(TaskMail::Timer(Timer::ReaderWake));
    let mut outbox = Outbox::new();
    bench.task.fail("lightning", &mut outbox);
    bench.task.fail("again", &mut outbox);
    assert_eq!(outbox.outputs().len(), 1);
    bench.task.enqueue(TaskMail::Timer(Timer::ReaderWake));
    assert!(!bench.task.is_runnable() && bench.task.has_ended());
}

#[test]
fn a_fork_has_the_same_fingerprint_until_it_goes_on() {
    let mut bench = Bench::running(descriptor(SinkKind::Transactional), 9);
    bench.read(3);
    let before = bench.fingerprint();
    let mut fork = bench.task.clone();
    fork.enqueue(TaskMail::Timer(Timer::ReaderWake));
    fork.turn(TurnDecision::default(), &mut Outbox::new());
    assert_eq!(bench.fingerprint(), before, "a fork leaves its origin alone");
    bench.task = fork;
    assert_ne!(bench.fingerprint(), before);
}

#[test]
fn the_coordinated_operator_keeps_its_last_event_across_a_restore() {
    let mut descriptor = descriptor(SinkKind::Append);
    descriptor.coordinated = Some(OperatorUid(9));
    let mut bench = Bench::running(descriptor, 9);
    let event = |number: u64| TaskMessage::OperatorEvent {
        operator: OperatorUid(9),
        id: OperatorEventId(number),
        event: OperatorEvent::Custom(postcard::to_stdvec(&number).unwrap()),
    };
    bench.mail(event(4));
    bench.mail(event(5));
    bench.trigger(1);
    assert_eq!(postcard::from_bytes(&bench.snapshot().coordinated), Ok(5u64));
    let mut next = restored(SinkKind::Append, 1, bench.snapshot());
    next.coordinated = Some(OperatorUid(9));
    let mut next = Bench::created(next);
    next.run();
    next.trigger(2);
    assert_eq!(next.snapshot().coordinated, bench.snapshot().coordinated);
    next.mail(TaskMessage::OperatorEvent {
        operator: OperatorUid(8),
        id: OperatorEventId(1),
        event: OperatorEvent::NoMoreSplits,
    });
    assert!(next.task.has_ended(), "an event for a stranger ends the task");
}

#[test]
fn the_range_reader_goes_through_the_whole_chain() {
    let mut bench = Bench::created(descriptor(SinkKind::Transactional));
    bench.task = Task::new(descriptor(SinkKind::Transactional));
    let plan = SourceConfig {
        split_count: 1,
        records_per_split: 5,
        policy: AssignmentPolicy::Pull,
        bounded: true,
        script: EnumeratorScript::NONE,
        discovery: None,
    };
    let task = bench.task.descriptor().config;
    let source = RangeSource { operator: OperatorUid(0), plan, task };
    let at = source.plan_splits()[0].at;
    bench.run();
    bench.answer_all();
    let bytes = RangeSplitSerializer.serialize(&source.plan_splits()[0]);
    bench.event(OperatorEvent::AddSplits(vec![SplitPayload { at, version: 1, bytes }]));
    bench.event(OperatorEvent::NoMoreSplits);
    bench.read(6);
    bench.answer_all();
    bench.trigger(1);
    bench.complete(1);
    bench.answer_all();
    let lines = bench.lines_of(&["SplitFinished", "EndOfInput", "commit", "state Finished"]);
    assert_eq!(lines, ["SplitFinished", "EndOfInput", "commit s0-chk1", "state Finished 1"]);
}
