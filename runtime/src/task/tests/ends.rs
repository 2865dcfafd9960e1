//! The end of the input in its three modes.

use super::harness::*;
use crate::api::sink::committables_held;
use crate::config::SinkKind;
use crate::message::*;

#[test]
fn with_checkpoints_a_task_finishes_when_one_after_its_end_is_complete() {
    for sink in [SinkKind::Append, SinkKind::Transactional] {
        let mut bench = Bench::running(descriptor(sink), 1);
        bench.trigger(1);
        bench.read(1);
        bench.log.clear();
        bench.end_input();
        let told = ["TransactionPrepared", "end-of-data", "EndOfInput", "state", "CommitRequested"];
        assert_eq!(
            bench.lines_of(&told),
            ["EndOfInput", "TransactionPrepared s0-chk2 [0..0]", "end-of-data"]
        );
        assert!(bench.task.waiting_for().unwrap().contains("after its end of input"));
        bench.complete(1);
        assert!(!bench.task.has_ended(), "checkpoint 1 began before the end");
        bench.trigger(4);
        assert_eq!(committables_held(sink, &bench.snapshot().committer).unwrap().len(), 1);
        let lines = bench.lines_of(&["TransactionPrepared", "prepare", "ReaderSnapshotTaken"]);
        assert_eq!(lines, ["ReaderSnapshotTaken chk 4 0"], "no prepare_commit after the end (FACT 60)");
        bench.complete(4);
        assert!(!bench.task.has_ended(), "its commit is not answered");
        bench.reply(StoreReply::Done);
        let lines = bench.lines_of(&["CommitsSettled", "state", "mail", "TaskEnded"]);
        let expected =
            ["CommitsSettled chk 4", "state Finished 4", "mail to task-manager-0", "TaskEnded Finished"];
        assert_eq!(lines, expected);
        assert!(bench.task.has_ended());
    }
}

#[test]
fn an_aborted_checkpoint_after_the_end_does_not_finish_the_task_but_the_next_does() {
    let mut bench = Bench::running(descriptor(SinkKind::Append), 1);
    bench.read(1);
    bench.end_input();
    bench.trigger(1);
    bench.abort(1);
    bench.trigger(2);
    assert!(!bench.task.has_ended());
    bench.complete(2);
    bench.answer_all();
    assert_eq!(bench.lines_of(&["append", "state"]), ["append-if-absent s0-chk1 1", "state Finished 2"]);
}

#[test]
fn without_checkpoints_everything_is_committed_at_the_end() {
    let mut descriptor = descriptor(SinkKind::Transactional);
    descriptor.checkpointing = false;
    let mut bench = Bench::running(descriptor, 3);
    bench.read(3);
    bench.end_input();
    let lines = bench.lines_of(&["commit", "CommitsSettled", "state", "EndOfInput"]);
    assert_eq!(lines, ["EndOfInput", "commit s0-chk1", "state Finished 0"]);
}

#[test]
fn with_the_final_checkpoint_off_the_last_transaction_is_never_committed() {
    let mut descriptor = descriptor(SinkKind::Append);
    descriptor.final_checkpoint = false;
    let mut bench = Bench::running(descriptor, 3);
    bench.read(3);
    bench.end_input();
    let lines = bench.lines_of(&["TransactionPrepared", "append", "state"]);
    assert_eq!(lines, ["TransactionPrepared s0-chk1 [0..2]", "state Finished 0"]);
}

#[test]
fn a_task_restored_after_its_end_starts_anew_and_commits_what_it_left() {
    let mut bench = Bench::running(descriptor(SinkKind::Append), 1);
    bench.read(1);
    bench.end_input();
    bench.trigger(1);
    let mut next = Bench::created(restored(SinkKind::Append, 1, bench.snapshot()));
    next.run();
    next.answer_all();
    let lines = next.lines_of(&["append", "event", "state Running"]);
    let expected = [
        "append-if-absent s0-chk1 1",
        "event Register { reported: [] }",
        "event RequestSplit",
        "state Running 0",
    ];
    assert_eq!(lines, expected);
    next.end_input();
    assert_eq!(next.lines_of(&["TransactionPrepared"]), ["TransactionPrepared s0-chk2 []"]);
}
