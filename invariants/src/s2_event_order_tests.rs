use super::*;
use crate::checker::Judgement;
use crate::testing::{History, attempt, setup};

const OPERATOR: OperatorUid = OperatorUid(0);

fn judge(history: &History) -> Result<Judgement, Violation> {
    let mut checker = EventOrder::new(&setup());
    history.events().iter().try_for_each(|event| checker.observe(event))?;
    Ok(checker.judgement())
}

fn release(history: &mut History, id: u64) {
    let id = OperatorEventId(id);
    history.main(EventKind::OperatorEventReleased { operator: OPERATOR, attempt: attempt(0, 0), id });
}

fn block(history: &mut History, id: u64, behind: u64) {
    let (id, checkpoint) = (OperatorEventId(id), CheckpointId(behind));
    history.main(EventKind::OperatorEventBlocked {
        operator: OPERATOR,
        attempt: attempt(0, 0),
        id,
        checkpoint,
    });
}

fn handle(history: &mut History, id: u64) {
    let id = OperatorEventId(id);
    history.task(0, attempt(0, 0), EventKind::OperatorEventHandled { operator: OPERATOR, id });
}

fn close(history: &mut History, number: u64) {
    history.main(EventKind::GatewaysClosed { operator: OPERATOR, checkpoint: CheckpointId(number) });
}

fn snapshot(history: &mut History, number: u64) {
    let checkpoint = CheckpointId(number);
    history.task(0, attempt(0, 0), EventKind::BarrierHandled { checkpoint });
    history.task(0, attempt(0, 0), EventKind::ReaderSnapshotTaken { checkpoint, splits: Vec::new() });
}

fn complete(history: &mut History, number: u64) {
    let checkpoint = CheckpointId(number);
    history.main(EventKind::CheckpointAcknowledged { checkpoint, attempt: attempt(0, 0), last: true });
    history.completed(number, Default::default());
}

#[test]
fn before_is_before_and_after_is_after() {
    let mut history = History::new();
    release(&mut history, 0);
    close(&mut history, 1);
    block(&mut history, 1, 1);
    handle(&mut history, 0);
    snapshot(&mut history, 1);
    release(&mut history, 1);
    handle(&mut history, 1);
    complete(&mut history, 1);
    assert_eq!(judge(&history), Ok(Judgement::Judged { count: 1 }));
}

#[test]
fn an_event_of_before_that_misses_the_snapshot_is_found() {
    let mut history = History::new();
    release(&mut history, 0);
    close(&mut history, 1);
    snapshot(&mut history, 1);
    handle(&mut history, 0);
    let aborted = history.clone();
    complete(&mut history, 1);
    let violation = judge(&history).unwrap_err();
    assert_eq!(violation.code, Code::S2);
    assert_eq!(violation.subject, Subject::OperatorEvent { operator: OPERATOR, id: OperatorEventId(0) });
    assert!(judge(&aborted).is_ok(), "only completed checkpoints are judged");
}

#[test]
fn an_event_of_after_that_slips_into_the_snapshot_is_found() {
    for blocked in [true, false] {
        let mut history = History::new();
        close(&mut history, 1);
        if blocked {
            block(&mut history, 0, 1);
        }
        release(&mut history, 0);
        handle(&mut history, 0);
        snapshot(&mut history, 1);
        complete(&mut history, 1);
        assert_eq!(judge(&history).unwrap_err().code, Code::S2);
    }
}

#[test]
fn an_event_between_two_closes_lies_between_two_snapshots() {
    let mut history = History::new();
    close(&mut history, 1);
    block(&mut history, 0, 1);
    close(&mut history, 2);
    snapshot(&mut history, 1);
    // It leaves after the second close and is still of before it (FACT 18).
    release(&mut history, 0);
    handle(&mut history, 0);
    complete(&mut history, 1);
    snapshot(&mut history, 2);
    complete(&mut history, 2);
    assert_eq!(judge(&history), Ok(Judgement::Judged { count: 2 }));
}

#[test]
fn closes_out_of_order_are_not_judged() {
    let mut history = History::new();
    close(&mut history, 2);
    release(&mut history, 0);
    close(&mut history, 1);
    handle(&mut history, 0);
    snapshot(&mut history, 2);
    complete(&mut history, 2);
    assert!(judge(&history).is_ok());
}

#[test]
fn an_execution_that_did_not_acknowledge_is_not_judged() {
    let mut history = History::new();
    release(&mut history, 0);
    close(&mut history, 1);
    snapshot(&mut history, 1);
    history.completed(1, Default::default());
    assert_eq!(judge(&history), Ok(Judgement::Judged { count: 0 }));
}
