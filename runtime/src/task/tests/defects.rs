//! Each planted defect changes one thing.

use super::harness::*;
use crate::config::SinkKind;
use crate::defects::{Defect, DefectSet};
use crate::message::*;

#[test]
fn a_committer_that_is_not_idempotent_appends_blindly() {
    let mut bench = Bench::with_defect(descriptor(SinkKind::Append), Defect::CommitterNotIdempotent, 4);
    bench.read(1);
    bench.trigger(1);
    bench.complete(1);
    assert_eq!(bench.lines_of(&["append"]), ["append s0-chk1 1"]);
}

#[test]
fn transaction_ids_restart() {
    let mut descriptor = restored(SinkKind::Append, 3, snapshot_with_split(4, 9));
    descriptor.defects = DefectSet::NONE.with(Defect::TransactionIdsRestart);
    let mut bench = Bench::created(descriptor);
    bench.run();
    bench.read(1);
    assert_eq!(bench.lines_of(&["RecordsWritten"]), ["RecordsWritten s0-chk1 split-0[4..4]"]);
}

#[test]
fn commit_before_complete() {
    let mut bench = Bench::with_defect(descriptor(SinkKind::Append), Defect::CommitBeforeComplete, 4);
    bench.read(1);
    bench.trigger(1);
    let lines = bench.lines_of(&["acknowledge", "append"]);
    assert_eq!(lines, ["acknowledge chk 1", "append-if-absent s0-chk1 1"]);
    bench.answer_all();
    bench.complete(1);
    assert_eq!(bench.lines_of(&["append", "CommitsSettled"]), ["CommitsSettled chk 1"]);
}

#[test]
fn restored_committables_are_dropped() {
    let mut bench = Bench::running(descriptor(SinkKind::Append), 4);
    bench.read(1);
    bench.trigger(1);
    let mut next = restored(SinkKind::Append, 1, bench.snapshot());
    next.defects = DefectSet::NONE.with(Defect::RestoredNotRecommitted);
    let mut next = Bench::created(next);
    next.run();
    assert_eq!(next.lines_of(&["append", "CommitsSettled"]), ["CommitsSettled chk 1"]);
}

#[test]
fn the_final_batch_is_dropped() {
    for sink in [SinkKind::Append, SinkKind::Transactional] {
        let mut bench = Bench::with_defect(descriptor(sink), Defect::FinalBatchDropped, 4);
        bench.read(1);
        bench.answer_all();
        bench.trigger(1);
        bench.answer_all();
        bench.read(3);
        bench.end_input();
        let lines = bench.lines_of(&["TransactionPrepared"]);
        assert_eq!(lines, ["TransactionPrepared s0-chk1 [0..0]", "TransactionPrepared s0-chk2 []"]);
    }
}

#[test]
fn a_replay_has_a_new_identity() {
    let mut bench = Bench::with_defect(descriptor(SinkKind::Append), Defect::ReplayUnderNewIdentity, 4);
    bench.read(1);
    bench.trigger(1);
    let mut next = restored(SinkKind::Append, 1, bench.snapshot());
    bench.complete(1);
    assert_eq!(bench.lines_of(&["append"]), ["append-if-absent s0-chk1 1"]);
    next.defects = DefectSet::NONE.with(Defect::ReplayUnderNewIdentity);
    let mut next = Bench::created(next);
    next.run();
    let lines = next.lines_of(&["append"]);
    assert!(lines.len() == 1 && lines[0].starts_with("append-if-absent s0-chk1-"), "{lines:?}");
}

#[test]
fn a_notice_commits_its_own_checkpoint_only() {
    let mut bench = Bench::with_defect(descriptor(SinkKind::Append), Defect::OnlyNoticedCommitted, 4);
    for checkpoint in 1..=2 {
        bench.read(1);
        bench.trigger(checkpoint);
    }
    bench.complete(2);
    assert_eq!(bench.lines_of(&["append"]), ["append-if-absent s0-chk2 1"]);
}

#[test]
fn an_end_with_a_magic_id_is_committed_by_any_checkpoint() {
    let mut bench = Bench::with_defect(descriptor(SinkKind::Append), Defect::EndOfInputMagicId, 1);
    bench.trigger(1);
    bench.read(1);
    bench.end_input();
    bench.complete(1);
    assert_eq!(bench.lines_of(&["append"]), ["append-if-absent s0-chk2 1"]);
}

#[test]
fn a_shutdown_commits_without_a_checkpoint() {
    let mut bench = Bench::with_defect(descriptor(SinkKind::Append), Defect::BadShutdownCommit, 1);
    bench.read(1);
    bench.end_input();
    assert_eq!(bench.lines_of(&["append", "state"]), ["append-if-absent s0-chk1 1"]);
    bench.trigger(1);
    bench.complete(1);
    assert_eq!(bench.lines_of(&["append", "state"]), ["state Finished 1"]);
    assert!(matches!(bench.task.status(), crate::task::TaskStatus::Ended(ExecutionState::Finished)));
}
