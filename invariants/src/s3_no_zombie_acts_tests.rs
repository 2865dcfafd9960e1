use super::*;
use crate::testing::{History, attempt, contents, file, name, range, setup};

fn judge(history: &History) -> Result<(), Violation> {
    let mut checker = NoZombieActs::new(&setup());
    history.events().iter().try_for_each(|event| checker.observe(event))
}

fn found(history: &History) -> Subject {
    let violation = judge(history).expect_err("the act must be found");
    assert_eq!(violation.code, Code::S3);
    violation.subject
}

fn fence(number: u32) -> Fence {
    Fence { leader_epoch: LeaderEpoch(1), attempt: AttemptNumber(number) }
}

fn durable(number: u64, by: u32) -> EventKind {
    let records = [range(0, number, number + 1)].into_iter().collect();
    EventKind::TransactionDurable { transaction: name(0, number), fence: fence(by), records }
}

fn held(number: u64) -> CheckpointContents {
    contents(&[], &[], &[(name(0, number), [range(0, number, number + 1)].into_iter().collect())])
}

#[test]
fn an_older_fence_must_not_write() {
    let writer = attempt(0, 0).subtask_id();
    let mut history = History::new();
    history.store(EventKind::WriterFenced { writer, fence: fence(0) });
    history.store(EventKind::TransactionBegun { transaction: name(0, 1), fence: fence(0) });
    history.store(durable(1, 0));
    history.store(EventKind::WriterFenced { writer, fence: fence(1) });
    history.store(durable(2, 1));
    assert_eq!(judge(&history), Ok(()));
    history.store(durable(3, 0));
    assert_eq!(found(&history), Subject::Transaction(name(0, 3)));
}

#[test]
fn an_epoch_outweighs_an_attempt() {
    let mut history = History::new();
    let newer = Fence { leader_epoch: LeaderEpoch(2), attempt: AttemptNumber(0) };
    history.store(EventKind::TransactionBegun { transaction: name(0, 1), fence: newer });
    history.store(EventKind::TransactionBegun { transaction: name(0, 2), fence: fence(7) });
    assert_eq!(found(&history), Subject::Transaction(name(0, 2)));
}

/// A file of the first life, written by this one.
fn file_written(by: u32) -> EventKind {
    EventKind::TransactionWritten {
        transaction: file(0, 1, fence(0), 1),
        fence: fence(by),
        records: RecordRanges::new(),
    }
}

#[test]
fn lives_that_nobody_fences_off_write_into_files_of_their_own() {
    let mut history = History::new();
    history.store(file_written(0));
    history.store(EventKind::TransactionBegun { transaction: file(0, 1, fence(1), 1), fence: fence(1) });
    // The newer life takes over what the older one wrote, without writing into it.
    let transaction = file(0, 1, fence(0), 1);
    history.store(EventKind::TransactionDurable {
        transaction,
        fence: fence(1),
        records: RecordRanges::new(),
    });
    history.store(file_written(0));
    assert_eq!(judge(&history), Ok(()));
    history.store(file_written(1));
    history.store(file_written(0));
    assert_eq!(found(&history), Subject::Transaction(transaction));
}

#[test]
fn an_event_acts_on_its_addressee_only() {
    let (operator, id) = (OperatorUid(0), OperatorEventId(5));
    let mut history = History::new();
    history.main(EventKind::OperatorEventReleased { operator, attempt: attempt(0, 0), id });
    let mut other = history.clone();
    history.task(0, attempt(0, 0), EventKind::OperatorEventHandled { operator, id });
    assert_eq!(judge(&history), Ok(()));
    other.task(0, attempt(0, 1), EventKind::OperatorEventHandled { operator, id });
    assert_eq!(found(&other), Subject::OperatorEvent { operator, id });
}

#[test]
fn a_notice_acts_on_its_addressee_only() {
    let complete = |number: u32, epoch: u32| EventKind::CompletionNoticed {
        checkpoint: CheckpointId(1),
        addressee: attempt(0, number),
        epoch: LeaderEpoch(epoch),
    };
    let abort = |number: u32, epoch: u32| EventKind::AbortNoticed {
        checkpoint: CheckpointId(2),
        addressee: attempt(0, number),
        epoch: LeaderEpoch(epoch),
    };
    let mut history = History::new();
    history.task(0, attempt(0, 1), complete(1, 1)).task(0, attempt(0, 1), abort(1, 1));
    assert_eq!(judge(&history), Ok(()));
    // An older execution's, and that of an execution of the same number under an older leader.
    for (number, epoch) in [(0, 1), (1, 0)] {
        for notice in [complete(number, epoch), abort(number, epoch)] {
            let mut late = history.clone();
            late.task(0, attempt(0, 1), notice);
            assert_eq!(found(&late), Subject::Attempt(attempt(0, number)));
        }
    }
}

/// A failure of subtask 0; the coordinator may handle the reset before or after the next deployment.
fn reset(deployed_first: bool) -> History {
    let (old, subtask) = (attempt(0, 0), attempt(0, 0).subtask_id());
    let mut history = History::new();
    let deploy = |attempt| EventKind::TaskDeployed { attempt, task_manager: 0, restored: None };
    let back = EventKind::SplitsGivenBack { subtask, restored: None, splits: Vec::new() };
    history.main(deploy(old));
    history.coordinator(EventKind::ReaderRegistered { attempt: old, reported: Vec::new() });
    history.main(EventKind::RestorePointChosen { checkpoint: None, global: false, subtasks: vec![subtask] });
    // The coordinator has not heard of it.
    history.coordinator(EventKind::SplitsAssigned { attempt: old, splits: Vec::new() });
    if deployed_first {
        history.main(deploy(attempt(0, 1)));
    }
    history.coordinator(back);
    if !deployed_first {
        history.main(deploy(attempt(0, 1)));
    }
    history
}

#[test]
fn the_coordinator_serves_the_old_execution_until_it_handles_the_reset() {
    for deployed_first in [true, false] {
        let mut history = reset(deployed_first);
        let mut late = history.clone();
        history.coordinator(EventKind::ReaderRegistered { attempt: attempt(0, 1), reported: Vec::new() });
        assert_eq!(judge(&history), Ok(()));
        late.coordinator(EventKind::ReaderRegistered { attempt: attempt(0, 0), reported: Vec::new() });
        assert_eq!(found(&late), Subject::Attempt(attempt(0, 0)));
    }
}

#[test]
fn a_new_coordinator_knows_no_older_execution() {
    let (old, subtask) = (attempt(0, 0), attempt(0, 0).subtask_id());
    let mut history = History::new();
    history.main(EventKind::TaskDeployed { attempt: old, task_manager: 0, restored: None });
    history.main(EventKind::RestorePointChosen { checkpoint: None, global: true, subtasks: vec![subtask] });
    history.main(EventKind::TaskDeployed { attempt: attempt(0, 1), task_manager: 0, restored: None });
    history.coordinator(EventKind::ReaderRegistered { attempt: old, reported: Vec::new() });
    history.coordinator(EventKind::EnumeratorStarted { pending: Vec::new(), restored: None });
    history.coordinator(EventKind::ReaderRegistered { attempt: attempt(0, 1), reported: Vec::new() });
    assert_eq!(judge(&history), Ok(()));
    history.coordinator(EventKind::SplitsAssigned { attempt: old, splits: Vec::new() });
    assert_eq!(found(&history), Subject::Attempt(old));
}

#[test]
fn what_a_completed_checkpoint_holds_must_not_be_rolled_back_whichever_is_told_first() {
    let rolled_back = EventKind::TransactionRolledBack { transaction: name(0, 1), prepared: true };
    for completed_first in [true, false] {
        let mut history = History::new();
        history.store(durable(1, 0));
        if completed_first {
            history.completed(1, held(1));
        }
        history.store(rolled_back.clone());
        if !completed_first {
            assert_eq!(judge(&history), Ok(()), "nothing holds it yet");
            history.completed(1, held(1));
        }
        assert_eq!(found(&history), Subject::Transaction(name(0, 1)));
    }
}

#[test]
fn what_no_completed_checkpoint_holds_may_be_rolled_back_and_its_name_used_again() {
    let mut history = History::new();
    history.store(durable(1, 0));
    history.store(durable(2, 0));
    history.completed(1, held(1));
    history.store(EventKind::TransactionRolledBack { transaction: name(0, 2), prepared: true });
    history.store(durable(2, 1));
    history.completed(2, held(2));
    history.store(History::visible(name(0, 2), attempt(0, 0), &[range(0, 2, 3)]));
    assert_eq!(judge(&history), Ok(()));
}
