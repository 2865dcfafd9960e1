use super::*;
use crate::testing::{History, attempt, contents, position, setup, split};
use splitrace_runtime::ids::ExecutionAttemptId;
use splitrace_runtime::message::ExecutionState;

fn judge(history: &History) -> Result<(), Violation> {
    let mut checker = SplitCensus::new(&setup());
    history.events().iter().try_for_each(|event| checker.observe(event))
}

fn found(history: &History) -> Subject {
    let violation = judge(history).expect_err("the census must find it");
    assert_eq!(violation.code, Code::S1);
    violation.subject
}

/// Two subtasks, two splits of ten records.
fn started() -> History {
    let mut history = History::new();
    history
        .coordinator(EventKind::SplitsDiscovered { splits: vec![position(0, 0, 10), position(1, 10, 20)] });
    for subtask in 0..2 {
        deploy(&mut history, attempt(subtask, 0), None);
    }
    history
}

fn deploy(history: &mut History, attempt: ExecutionAttemptId, restored: Option<u64>) {
    let restored = restored.map(CheckpointId);
    history.main(EventKind::TaskDeployed { attempt, task_manager: 0, restored });
}

fn state(history: &mut History, attempt: ExecutionAttemptId, state: ExecutionState) {
    history.main(EventKind::TaskStateChanged { attempt, state, cause: None });
}

fn assign(history: &mut History, attempt: ExecutionAttemptId, index: u32) {
    let splits = vec![position(index, u64::from(index) * 10, u64::from(index) * 10 + 10)];
    history.coordinator(EventKind::SplitsAssigned { attempt, splits });
}

fn finish(history: &mut History, attempt: ExecutionAttemptId, index: u32) {
    history.task(attempt.subtask.0, attempt, EventKind::SplitFinished { split: split(index) });
}

/// The snapshots of these executions, and the completion.
fn checkpoint(
    history: &mut History,
    number: u64,
    attempts: &[ExecutionAttemptId],
    contents: CheckpointContents,
) {
    let checkpoint = CheckpointId(number);
    history.coordinator(EventKind::EnumeratorSnapshotTaken { checkpoint, pending: Vec::new() });
    for attempt in attempts {
        let splits = Vec::new();
        history.task(attempt.subtask.0, *attempt, EventKind::ReaderSnapshotTaken { checkpoint, splits });
        history.main(EventKind::CheckpointAcknowledged { checkpoint, attempt: *attempt, last: false });
    }
    history.completed(number, contents);
}

const BOTH: fn() -> [ExecutionAttemptId; 2] = || [attempt(0, 0), attempt(1, 0)];

#[test]
fn enumerator_reader_and_finished_are_places() {
    let mut history = started();
    checkpoint(&mut history, 1, &BOTH(), contents(&[(0, 0, 10), (1, 10, 20)], &[], &[]));
    checkpoint(&mut history, 2, &BOTH(), contents(&[(1, 10, 20)], &[(0, 0, 10, 10)], &[]));
    // It ends between two snapshots, and is held at its end in the first of them.
    finish(&mut history, attempt(0, 0), 0);
    checkpoint(&mut history, 3, &BOTH(), contents(&[(1, 10, 20)], &[], &[]));
    checkpoint(&mut history, 4, &BOTH(), contents(&[(1, 10, 20)], &[], &[]));
    assert_eq!(judge(&history), Ok(()));
}

/// One subtask; split 0 has no record, split 1 has ten and is held.
fn with_empty_split(held: &[(u32, u32, u64, u64)], ends: bool) -> History {
    let mut history = History::new();
    history.coordinator(EventKind::SplitsDiscovered { splits: vec![position(0, 0, 0), position(1, 0, 10)] });
    deploy(&mut history, attempt(0, 0), None);
    if ends {
        finish(&mut history, attempt(0, 0), 0);
    }
    checkpoint(&mut history, 1, &[attempt(0, 0)], contents(&[], held, &[]));
    history
}

#[test]
fn an_empty_split_is_held_or_finished_like_any_other() {
    let other = (0, 1, 4, 10);
    assert_eq!(judge(&with_empty_split(&[(0, 0, 0, 0), other], false)), Ok(()), "held");
    assert_eq!(judge(&with_empty_split(&[other], true)), Ok(()), "it ends without a record");
    assert_eq!(found(&with_empty_split(&[other], false)), Subject::Split(split(0)), "in no place");
    assert_eq!(found(&with_empty_split(&[(0, 0, 0, 0), other], true)), Subject::Split(split(0)), "in two");
}

#[test]
fn a_split_that_is_restored_at_its_end_is_held_until_it_finishes() {
    let mut history = started();
    let held = [(0, 0, 10, 10), (1, 1, 12, 20)];
    checkpoint(&mut history, 1, &BOTH(), contents(&[], &held, &[]));
    state(&mut history, attempt(0, 0), ExecutionState::Failed);
    deploy(&mut history, attempt(0, 1), Some(1));
    let current = [attempt(0, 1), attempt(1, 0)];
    // Its position is its end, yet it is in a state: that is its one place.
    checkpoint(&mut history, 2, &current, contents(&[], &held, &[]));
    assert_eq!(judge(&history), Ok(()));
    let mut unfinished = history.clone();
    checkpoint(&mut unfinished, 3, &current, contents(&[], &held[1..], &[]));
    assert_eq!(found(&unfinished), Subject::Split(split(0)), "an end position alone finishes nothing");
    finish(&mut history, attempt(0, 1), 0);
    checkpoint(&mut history, 3, &current, contents(&[], &held[1..], &[]));
    assert_eq!(judge(&history), Ok(()));
}

#[test]
fn a_split_in_no_place_is_lost() {
    let mut history = started();
    checkpoint(&mut history, 1, &BOTH(), contents(&[(0, 0, 10)], &[], &[]));
    let violation = judge(&history).unwrap_err();
    assert_eq!(
        violation.to_string(),
        "S1 split census: in chk 1 split-1 is in no state and nobody has finished it"
    );
}

#[test]
fn an_end_behind_the_snapshot_does_not_count() {
    let mut history = started();
    let checkpoint = CheckpointId(1);
    history.coordinator(EventKind::EnumeratorSnapshotTaken { checkpoint, pending: Vec::new() });
    history.task(0, attempt(0, 0), EventKind::ReaderSnapshotTaken { checkpoint, splits: Vec::new() });
    finish(&mut history, attempt(0, 0), 0);
    history.main(EventKind::CheckpointAcknowledged { checkpoint, attempt: attempt(0, 0), last: true });
    history.completed(1, contents(&[(1, 10, 20)], &[], &[]));
    assert_eq!(found(&history), Subject::Split(split(0)));
}

#[test]
fn two_places_are_one_too_many() {
    let twice = [
        contents(&[(0, 0, 10), (1, 10, 20)], &[(0, 0, 5, 10)], &[]),
        contents(&[(1, 10, 20)], &[(0, 0, 5, 10), (1, 0, 5, 10)], &[]),
        contents(&[(0, 0, 10), (0, 0, 10), (1, 10, 20)], &[], &[]),
    ];
    for contents in twice {
        let mut history = started();
        checkpoint(&mut history, 1, &BOTH(), contents);
        assert_eq!(found(&history), Subject::Split(split(0)));
    }
    let mut history = started();
    finish(&mut history, attempt(0, 0), 0);
    checkpoint(&mut history, 1, &BOTH(), contents(&[(1, 10, 20)], &[(1, 0, 10, 10)], &[]));
    assert_eq!(found(&history), Subject::Split(split(0)), "finished and in a state");
}

#[test]
fn what_is_discovered_after_the_snapshot_is_nowhere_yet() {
    let mut history = started();
    let checkpoint = CheckpointId(1);
    history.coordinator(EventKind::EnumeratorSnapshotTaken { checkpoint, pending: Vec::new() });
    history.coordinator(EventKind::SplitsDiscovered { splits: vec![position(2, 20, 30)] });
    history.completed(1, contents(&[(0, 0, 10), (1, 10, 20)], &[], &[]));
    assert_eq!(judge(&history), Ok(()));
    self::checkpoint(&mut history, 2, &BOTH(), contents(&[(0, 0, 10), (1, 10, 20)], &[], &[]));
    assert_eq!(found(&history), Subject::Split(split(2)));
}

#[test]
fn a_rollback_takes_an_end_back() {
    let mut history = started();
    finish(&mut history, attempt(0, 0), 0);
    checkpoint(&mut history, 1, &BOTH(), contents(&[(1, 10, 20)], &[], &[]));
    finish(&mut history, attempt(0, 0), 1);
    state(&mut history, attempt(0, 0), ExecutionState::Failed);
    deploy(&mut history, attempt(0, 1), Some(1));
    let attempts = [attempt(0, 1), attempt(1, 0)];
    let mut lost = history.clone();
    // Split 0 stays finished; split 1, finished after chk 1 and rolled back, does not.
    checkpoint(&mut history, 2, &attempts, contents(&[(1, 10, 20)], &[], &[]));
    assert_eq!(judge(&history), Ok(()));
    checkpoint(&mut lost, 2, &attempts, contents(&[], &[], &[]));
    assert_eq!(found(&lost), Subject::Split(split(1)));
}

#[test]
fn a_rollback_to_nothing_lets_a_split_be_read_and_finished_again() {
    let mut history = started();
    finish(&mut history, attempt(0, 0), 0);
    state(&mut history, attempt(0, 0), ExecutionState::Failed);
    deploy(&mut history, attempt(0, 1), None);
    let attempts = [attempt(0, 1), attempt(1, 0)];
    // The old execution's thread goes on; nothing of it counts.
    finish(&mut history, attempt(0, 0), 1);
    checkpoint(&mut history, 1, &attempts, contents(&[(0, 0, 10), (1, 10, 20)], &[], &[]));
    finish(&mut history, attempt(1, 0), 0);
    checkpoint(&mut history, 2, &attempts, contents(&[(1, 10, 20)], &[], &[]));
    assert_eq!(judge(&history), Ok(()));
}

#[test]
fn a_finished_subtask_keeps_its_finished_splits() {
    let mut history = started();
    finish(&mut history, attempt(0, 0), 0);
    state(&mut history, attempt(0, 0), ExecutionState::Finished);
    let mut without = contents(&[(1, 10, 20)], &[], &[]);
    without.finished.push(attempt(0, 0).subtask_id());
    checkpoint(&mut history, 1, &[attempt(1, 0)], without.clone());
    checkpoint(&mut history, 2, &[attempt(1, 0)], without);
    assert_eq!(judge(&history), Ok(()));
}

#[test]
fn two_current_executions_must_not_hold_one_split() {
    let mut history = started();
    assign(&mut history, attempt(0, 0), 0);
    assign(&mut history, attempt(1, 0), 0);
    assert_eq!(found(&history), Subject::Split(split(0)));
}

#[test]
fn a_split_goes_on_once_its_holder_is_known_to_be_gone() {
    let mut history = started();
    assign(&mut history, attempt(0, 0), 0);
    state(&mut history, attempt(0, 0), ExecutionState::Failed);
    // The coordinator has not heard yet.
    assign(&mut history, attempt(0, 0), 1);
    assign(&mut history, attempt(1, 0), 0);
    assign(&mut history, attempt(1, 0), 1);
    assert_eq!(judge(&history), Ok(()));
}

#[test]
fn a_restored_split_must_not_be_read_elsewhere() {
    let mut history = started();
    assign(&mut history, attempt(0, 0), 0);
    checkpoint(&mut history, 1, &BOTH(), contents(&[(1, 10, 20)], &[(0, 0, 0, 10)], &[]));
    state(&mut history, attempt(0, 0), ExecutionState::Failed);
    // Given back although chk 1 holds it.
    assign(&mut history, attempt(1, 0), 0);
    deploy(&mut history, attempt(0, 1), Some(1));
    assert_eq!(found(&history), Subject::Split(split(0)));
}

#[test]
fn a_new_leader_starts_with_no_holders() {
    let mut history = started();
    assign(&mut history, attempt(0, 0), 0);
    history.lead(2);
    deploy(&mut history, attempt(0, 0), None);
    deploy(&mut history, attempt(1, 0), None);
    assign(&mut history, attempt(1, 0), 0);
    assert_eq!(judge(&history), Ok(()));
}
