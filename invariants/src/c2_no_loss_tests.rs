use super::*;
use crate::testing::{
    History, attempt, contents, end_of, name, position, range, setup, setup_with, setup_without_checkpoints,
};

fn judge_with(setup: &RunSetup, history: &History, ended: bool) -> Result<(), Violation> {
    let mut checker = NoLoss::new(setup);
    history.events().iter().try_for_each(|event| checker.observe(event))?;
    checker.finish(&RunEnd { job_ended: ended.then_some(JobResult::Finished), ..end_of(history.events()) })
}

fn judge(history: &History, ended: bool) -> Result<(), Violation> {
    judge_with(&setup(), history, ended)
}

/// One split of ten records; chk 1 holds the first four of subtask 0.
fn covered() -> History {
    let mut history = History::new();
    history.coordinator(EventKind::SplitsDiscovered { splits: vec![position(0, 0, 10)] });
    history.completed(1, contents(&[], &[], &[(name(0, 1), [range(0, 0, 4)].into_iter().collect())]));
    history
}

fn answer(history: &mut History, number: u32, outcome: CommitOutcome) {
    let answer = EventKind::CommitAnswered { transaction: name(0, 1), outcome };
    history.task(number, attempt(0, number), answer);
}

fn settle(history: &mut History, number: u32, checkpoint: u64) {
    let settled = EventKind::CommitsSettled { checkpoint: CheckpointId(checkpoint) };
    history.task(number, attempt(0, number), settled);
}

fn show(history: &mut History, number: u64, start: u64, end: u64) {
    history.store(History::visible(name(0, number), attempt(0, 0), &[range(0, start, end)]));
}

#[test]
fn what_is_settled_is_visible() {
    let mut history = covered();
    show(&mut history, 1, 0, 4);
    answer(&mut history, 0, CommitOutcome::Committed);
    settle(&mut history, 0, 1);
    assert_eq!(judge(&history, false), Ok(()));
}

#[test]
fn a_settled_commit_that_does_not_show_is_a_loss() {
    for outcome in [CommitOutcome::Committed, CommitOutcome::Failed, CommitOutcome::AlreadyCommitted] {
        let mut history = covered();
        answer(&mut history, 0, outcome);
        settle(&mut history, 0, 1);
        let violation = judge(&history, false).unwrap_err();
        assert_eq!((violation.code, violation.subject), (Code::C2, Subject::Transaction(name(0, 1))));
    }
}

#[test]
fn maybe_stays_owed_until_the_end() {
    let mut history = covered();
    answer(&mut history, 0, CommitOutcome::Maybe);
    settle(&mut history, 0, 1);
    assert_eq!(judge(&history, false), Ok(()));
    let mut other = history.clone();
    // Another execution has no such excuse.
    settle(&mut other, 1, 1);
    assert!(judge(&other, false).is_err());
    assert_eq!(judge(&history, true).unwrap_err().subject, Subject::Records(range(0, 0, 10)));
    show(&mut history, 1, 0, 4);
    show(&mut history, 2, 4, 10);
    assert_eq!(judge(&history, true), Ok(()));
}

#[test]
fn a_later_checkpoint_is_not_settled_by_an_earlier_one() {
    let mut history = covered();
    show(&mut history, 1, 0, 4);
    history.completed(2, contents(&[], &[], &[(name(0, 2), [range(0, 4, 6)].into_iter().collect())]));
    settle(&mut history, 0, 1);
    assert_eq!(judge(&history, false), Ok(()));
    settle(&mut history, 0, 2);
    assert!(judge(&history, false).is_err());
}

#[test]
fn at_the_end_all_is_visible_or_filtered() {
    let mut history = covered();
    show(&mut history, 1, 0, 4);
    show(&mut history, 2, 5, 10);
    let violation = judge(&history, true).unwrap_err();
    assert_eq!(
        violation.to_string(),
        "C2 no loss: the job is finished, but split-0[4..4] never became visible"
    );
    history.task(0, attempt(0, 0), EventKind::RecordsFiltered { range: range(0, 4, 5) });
    assert_eq!(judge(&history, true), Ok(()));
}

#[test]
fn without_a_final_checkpoint_the_tail_may_be_missing() {
    let mut history = covered();
    show(&mut history, 1, 0, 4);
    settle(&mut history, 0, 1);
    let mut checkpointing = setup().config.checkpointing.unwrap();
    checkpointing.after_tasks_finish = false;
    assert_eq!(judge_with(&setup_with(Some(checkpointing), true), &history, true), Ok(()));
    assert!(judge(&history, true).is_err());
}

#[test]
fn without_checkpoints_the_end_counts_unless_a_failover_happened() {
    let mut history = History::new();
    history.coordinator(EventKind::SplitsDiscovered { splits: vec![position(0, 0, 10)] });
    assert!(judge_with(&setup_without_checkpoints(), &history, true).is_err());
    let may_fail = setup_with(None, true);
    assert!(judge_with(&may_fail, &history, true).is_err());
    history.main(EventKind::FailoverStarted { global: false, subtasks: Vec::new(), cause: String::new() });
    assert_eq!(judge_with(&may_fail, &history, true), Ok(()));
}

/// What subtask 0 of the job before wrote is subtask 1's in the next one; the subtask 1 of the job before has nothing to do
/// with it.
#[test]
fn what_was_dealt_is_owed_by_the_job_to_which_it_was_dealt() {
    let mut history = covered();
    let dealt = EventKind::StateRedistributed {
        checkpoint: CheckpointId(1),
        readers: Vec::new(),
        committables: vec![(attempt(1, 0).subtask_id(), name(0, 1))],
    };
    history.lead(2).main(dealt);
    let settled = EventKind::CommitsSettled { checkpoint: CheckpointId(1) };
    let settle_under = |history: &mut History, epoch| {
        history.lead(epoch).task(0, attempt(1, 0), settled.clone());
    };
    settle_under(&mut history, 1);
    assert_eq!(judge(&history, false), Ok(()));
    settle_under(&mut history, 2);
    assert_eq!(judge(&history, false).unwrap_err().subject, Subject::Transaction(name(0, 1)));
}

/// Where a vertex of committers holds what its writers prepared, it owes the commit, and its writers owe nothing.
#[test]
fn whoever_holds_a_committable_owes_it() {
    let committer = ExecutionAttemptId {
        vertex: attempt(0, 0).vertex.sink_stage(SinkStage::Committers),
        ..attempt(1, 0)
    };
    let mut history = History::new();
    let mut held = contents(&[], &[], &[(name(0, 1), [range(0, 0, 4)].into_iter().collect())]);
    held.committables[0].0 = committer.subtask_id();
    history.completed(1, held);
    settle(&mut history, 0, 1);
    assert_eq!(judge(&history, false), Ok(()), "the writer's subtask commits nothing");
    history.task(0, committer, EventKind::CommitsSettled { checkpoint: CheckpointId(1) });
    assert_eq!(judge(&history, false).unwrap_err().subject, Subject::Transaction(name(0, 1)));
}

/// Without a last checkpoint a subtask leaves whether or not it has heard of the completion, in either order of the two.
#[test]
fn who_left_without_a_last_checkpoint_owes_nothing_more() {
    let ended = EventKind::TaskEnded { state: ExecutionState::Finished, cause: None };
    let mut left_after = covered();
    left_after.task(0, attempt(0, 0), ended.clone());
    let mut left_before = History::new();
    left_before.task(0, attempt(0, 0), ended);
    left_before.completed(1, contents(&[], &[], &[(name(0, 1), [range(0, 0, 4)].into_iter().collect())]));
    for mut history in [left_after, left_before] {
        settle(&mut history, 1, 1);
        assert!(judge(&history, false).is_err(), "with a last checkpoint it would have waited");
        let mut setup = setup();
        setup.promise.input.after_tasks_finish = false;
        assert_eq!(judge_with(&setup, &history, false), Ok(()));
    }
}
