//! Stopping with a savepoint, with and without a drain.

use super::harness::*;
use crate::config::SinkKind;
use crate::ids::CheckpointId;
use crate::message::*;

fn stop(bench: &mut Bench, drain: bool) {
    bench.mail(TaskMessage::TriggerStop { checkpoint: CheckpointId(1), drain });
    bench.run();
}

#[test]
fn without_a_drain_the_task_stops_where_it_stands_and_ends_after_its_commit() {
    let mut bench = Bench::running(descriptor(SinkKind::Append), 5);
    bench.read(2);
    bench.log.clear();
    stop(&mut bench, false);
    let told = ["TransactionPrepared", "ReaderSnapshotTaken", "EndOfInput", "RecordsEmitted"];
    assert_eq!(
        bench.lines_of(&told),
        ["TransactionPrepared s0-chk1 [0..1]", "ReaderSnapshotTaken chk 1 1"],
        "the rest of the split is in the savepoint"
    );
    assert!(!bench.task.has_ended());
    bench.complete(1);
    bench.answer_all();
    assert_eq!(bench.lines_of(&["append", "state"]), ["append-if-absent s0-chk1 2", "state Finished 1"]);
}

#[test]
fn with_a_drain_writers_flush_before_the_savepoint() {
    let mut bench = Bench::running(descriptor(SinkKind::Append), 5);
    bench.read(2);
    bench.log.clear();
    stop(&mut bench, true);
    let told = ["TransactionPrepared", "ReaderSnapshotTaken", "EndOfInput", "RecordsEmitted"];
    assert_eq!(
        bench.lines_of(&told),
        ["EndOfInput", "TransactionPrepared s0-chk1 [0..1]", "ReaderSnapshotTaken chk 1 1"]
    );
    bench.complete(1);
    bench.answer_all();
    assert!(bench.task.has_ended());
}

#[test]
fn a_stop_whose_savepoint_is_aborted_fails_the_task() {
    let mut bench = Bench::running(descriptor(SinkKind::Append), 5);
    bench.read(2);
    stop(&mut bench, false);
    bench.abort(1);
    assert_eq!(bench.lines_of(&["TaskEnded"]), ["TaskEnded Failed"]);
}

/// Else a drained source would take part in the next checkpoint with splits that nobody reads any more, and finish with it.
#[test]
fn the_next_checkpoint_tells_a_stopped_task_that_its_savepoint_was_given_up() {
    for drain in [false, true] {
        let mut bench = Bench::running(descriptor(SinkKind::Append), 5);
        bench.read(2);
        stop(&mut bench, drain);
        bench.trigger(2);
        assert_eq!(bench.lines_of(&["TaskEnded"]), ["TaskEnded Failed"], "drain: {drain}");
    }
}
