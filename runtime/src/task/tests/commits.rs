//! Commits: on restore, again and again, and of unknown outcome.

use super::harness::*;
use crate::config::{CommitRefusal, CommitScript, SinkKind};
use crate::defects::{Defect, DefectSet};
use crate::message::*;
use crate::task::TaskStatus;

/// A task that has acknowledged checkpoint 1 with two records prepared.
fn prepared(sink: SinkKind) -> Bench {
    prepared_as(descriptor(sink))
}

fn prepared_as(descriptor: TaskDescriptor) -> Bench {
    let mut bench = Bench::running(descriptor, 9);
    bench.read(2);
    bench.answer_all();
    bench.trigger(1);
    bench.answer_all();
    bench.log.clear();
    bench
}

#[test]
fn restored_committables_are_committed_before_the_writer_exists() {
    for sink in [SinkKind::Append, SinkKind::Transactional] {
        let snapshot = prepared(sink).snapshot_taken();
        let mut bench = Bench::created(restored(sink, 1, snapshot));
        bench.run();
        assert_eq!(bench.task.status(), TaskStatus::Recommitting);
        assert!(bench.task.waiting_for().unwrap().contains("reply to commit s0-chk1"));
        let lines = bench.lines_of(&["Commit", "Writer"]);
        assert_eq!(lines, ["CommitterCreated", "CommitRequested s0-chk1 0 true"]);
        bench.reply(StoreReply::AlreadyDone);
        let lines = bench.lines_of(&["Commit", "Writer", "init"]);
        let mut expected =
            vec!["CommitAnswered s0-chk1 AlreadyCommitted", "CommitsSettled chk 1", "WriterCreated"];
        if sink == SinkKind::Transactional {
            expected.push("init keep 1");
        }
        assert_eq!(lines, expected);
        bench.answer_all();
        assert_eq!(bench.task.status(), TaskStatus::Running);
    }
}

#[test]
fn eleven_calls_and_then_the_task_fails() {
    let mut bench = prepared(SinkKind::Append);
    bench.complete(1);
    for call in 0..11 {
        assert!(!bench.task.has_ended(), "call {call} is still allowed");
        bench.reply(StoreReply::Unavailable);
    }
    assert!(bench.task.has_ended() && bench.calls.is_empty());
    let lines = bench.lines();
    assert_eq!(lines.iter().filter(|line| line.starts_with("CommitRequested")).count(), 11);
    assert_eq!(lines.iter().filter(|line| line.starts_with("CommitRetried")).count(), 10);
    assert_eq!(lines.last().unwrap(), "TaskEnded Failed");
}

/// A task that has prepared two records for checkpoint 1 and hears that it is complete; its committer refuses.
fn refusing(refusal: CommitRefusal, retries: u32, defects: DefectSet) -> Bench {
    let mut descriptor = descriptor(SinkKind::Append);
    descriptor.config.commit_script = Some(CommitScript { refusal, transaction: None });
    descriptor.config.commit_retries_max = retries;
    descriptor.defects = defects;
    let mut bench = prepared_as(descriptor);
    bench.complete(1);
    bench
}

fn times(lines: &[String], start: &str) -> usize {
    lines.iter().filter(|line| line.starts_with(start)).count()
}

#[test]
fn fact_69_a_committer_that_signals_for_itself_is_asked_again_at_once() {
    for refusal in [CommitRefusal::Retry(3), CommitRefusal::Update(3)] {
        let mut bench = refusing(refusal, 10, DefectSet::NONE);
        let lines = bench.lines();
        assert_eq!((times(&lines, "CommitRetried"), times(&lines, "CommitRequested s0-chk1 3")), (3, 1));
        bench.reply(StoreReply::Done);
        assert_eq!(bench.lines_of(&["CommitsSettled", "TaskEnded"]), ["CommitsSettled chk 1"]);
    }
}

#[test]
fn facts_69_and_70_the_retries_are_those_of_the_configuration_and_ten_in_flink() {
    let flink = DefectSet::NONE.with(Defect::CommitterRetriesIgnored);
    for (retries, defects, calls) in [(0, DefectSet::NONE, 1), (25, DefectSet::NONE, 26), (25, flink, 11)] {
        let mut bench = refusing(CommitRefusal::Retry(u32::MAX), retries, defects);
        let lines = bench.lines();
        assert_eq!(times(&lines, "CommitAnswered s0-chk1 RetryLater"), calls);
        assert_eq!(lines.last().unwrap(), "TaskEnded Failed");
    }
}

#[test]
fn a_committer_that_backs_off_asks_later_with_each_retry_and_only_then_waits_for_the_reply() {
    const BACK_OFF_NS: u64 = 5;
    let mut descriptor = descriptor(SinkKind::Append);
    descriptor.config.commit_back_off_ns = BACK_OFF_NS;
    let mut bench = prepared_as(descriptor);
    bench.complete(1);
    for retry in 1..=10 {
        bench.reply(StoreReply::Unavailable);
        assert!(bench.calls.is_empty(), "it stands still");
        assert_eq!(bench.stand_still_over(), retry * BACK_OFF_NS);
    }
    assert_eq!(times(&bench.lines(), "CommitRequested"), 11);
    bench.reply(StoreReply::Done);
    assert_eq!(bench.lines_of(&["CommitsSettled", "TaskEnded"]), ["CommitsSettled chk 1"]);
}

#[test]
fn fact_73_what_is_lost_for_a_known_reason_ends_the_job_and_is_dropped_in_flink() {
    let mut bench = refusing(CommitRefusal::KnownReason, 10, DefectSet::NONE);
    assert_eq!(bench.lines_of(&["CommitsSettled", "TaskEnded"]), ["TaskEnded Failed"]);
    let flink = DefectSet::NONE.with(Defect::KnownReasonDropped);
    let mut bench = refusing(CommitRefusal::KnownReason, 10, flink);
    assert_eq!(bench.lines_of(&["CommitsSettled", "TaskEnded"]), ["CommitsSettled chk 1"]);
}

#[test]
fn fact_74_an_unknown_reason_fails_the_task_unless_the_committable_was_restored() {
    let mut bench = refusing(CommitRefusal::UnknownReason, 10, DefectSet::NONE);
    assert_eq!(
        bench.lines_of(&["CommitAnswered", "TaskEnded"]),
        ["CommitAnswered s0-chk1 Failed", "TaskEnded Failed"]
    );
    let snapshot = prepared(SinkKind::Append).snapshot_taken();
    let mut again = restored(SinkKind::Append, 1, snapshot);
    let refusal = CommitRefusal::UnknownReason;
    again.config.commit_script = Some(CommitScript { refusal, transaction: None });
    let mut bench = Bench::created(again);
    bench.run();
    assert_eq!(bench.lines_of(&["CommitRequested"]), ["CommitRequested s0-chk1 0 true"]);
}

#[test]
fn ten_refusals_are_survived() {
    let mut bench = prepared(SinkKind::Append);
    bench.complete(1);
    for _ in 0..10 {
        bench.reply(StoreReply::Unavailable);
    }
    bench.reply(StoreReply::Done);
    assert_eq!(bench.lines_of(&["CommitsSettled", "TaskEnded"]), ["CommitsSettled chk 1"]);
}

#[test]
fn a_commit_without_an_answer_is_maybe_and_its_late_reply_is_dropped() {
    let mut bench = prepared(SinkKind::Append);
    bench.complete(1);
    let late = bench.time_out();
    let expected = [
        "CompletionNoticed chk 1",
        "append-if-absent s0-chk1 2",
        "CommitRequested s0-chk1 0 false",
        "CommitAnswered s0-chk1 Maybe",
        "CommitRetried s0-chk1 1",
        "append-if-absent s0-chk1 2",
        "CommitRequested s0-chk1 1 false",
    ];
    assert_eq!(bench.lines(), expected);
    bench.mail(TaskMessage::StoreReply { call: late, reply: StoreReply::Done });
    assert!(bench.lines().is_empty(), "the superseded call says nothing any more");
    bench.reply(StoreReply::AlreadyDone);
    assert_eq!(bench.lines(), ["CommitAnswered s0-chk1 AlreadyCommitted", "CommitsSettled chk 1"]);
}

#[test]
fn an_unknown_transaction_fails_the_task_at_once() {
    let mut bench = prepared(SinkKind::Transactional);
    bench.complete(1);
    bench.reply(StoreReply::NotFound);
    let lines = bench.lines_of(&["CommitAnswered", "CommitRetried", "TaskEnded"]);
    assert_eq!(lines, ["CommitAnswered s0-chk1 Failed", "TaskEnded Failed"]);
}

#[test]
fn a_task_that_commits_leaves_its_mail_alone() {
    let mut bench = prepared(SinkKind::Transactional);
    bench.complete(1);
    bench.log.clear();
    bench.trigger(2);
    bench.read(1);
    assert!(bench.lines().is_empty());
    bench.reply(StoreReply::Done);
    let lines = bench.lines_of(&["Commits", "BarrierHandled", "RecordsEmitted"]);
    assert_eq!(lines, ["CommitsSettled chk 1", "BarrierHandled chk 2", "RecordsEmitted split-0[2..2]"]);
}

#[test]
fn a_late_notice_commits_up_to_the_newest_known() {
    let mut bench = prepared(SinkKind::Append);
    bench.trigger(2);
    bench.complete(2);
    bench.answer_all();
    bench.log.clear();
    bench.complete(1);
    assert_eq!(bench.lines(), ["CompletionNoticed chk 1", "CommitsSettled chk 2"]);
}

#[test]
fn requests_of_a_writer_are_asked_again_and_a_fence_ends_it() {
    let mut bench = Bench::running(descriptor(SinkKind::Transactional), 9);
    bench.read(1);
    bench.time_out();
    bench.reply(StoreReply::Unavailable);
    assert_eq!(bench.lines_of(&["begin"]).len(), 3);
    bench.reply(StoreReply::Fenced);
    assert_eq!(bench.lines_of(&["mail", "TaskEnded"]), ["mail to task-manager-0", "TaskEnded Failed"]);
}

#[test]
fn a_restored_committable_survives_a_second_failure_while_it_is_committed_again() {
    let first = prepared(SinkKind::Append).snapshot_taken();
    let mut second = Bench::created(restored(SinkKind::Append, 1, first.clone()));
    second.run();
    second.reply(StoreReply::Unavailable);
    let mut third = Bench::created(restored(SinkKind::Append, 1, first));
    third.run();
    assert_eq!(third.lines_of(&["append"]), ["append-if-absent s0-chk1 2"]);
}

impl Bench {
    /// The snapshot of the checkpoint that `prepared` acknowledged, taken again from the task's next one.
    fn snapshot_taken(mut self) -> TaskSnapshot {
        self.trigger(2);
        self.answer_all();
        self.snapshot()
    }
}
