//! Each rule of the store, kept and broken.

use super::super::store::tests_support::*;
use super::super::{OutsideDecision, Store};
use super::*;
use splitrace_runtime::config::SinkKind;
use splitrace_runtime::ids::{AttemptNumber, LeaderEpoch};
use splitrace_runtime::records::RecordRanges;

fn store() -> Store {
    Store::new(SinkKind::Transactional, DefectSet::NONE)
}

fn fence(epoch: u32, attempt: u32) -> Fence {
    Fence { leader_epoch: LeaderEpoch(epoch), attempt: AttemptNumber(attempt) }
}

/// A call of subtask 0's attempt with the number `attempt` under epoch 1; answers the reply.
fn ask(store: &mut Store, attempt: u32, request: StoreRequest) -> StoreReply {
    ask_in(store, 1, attempt, request).reply.expect("no reply is lost here")
}

fn ask_in(store: &mut Store, epoch: u32, attempt: u32, request: StoreRequest) -> Answer {
    call(store, execution(0, attempt), epoch, request)
}

fn begin(number: u64) -> StoreRequest {
    StoreRequest::Begin { name: name(0, number) }
}

fn write(number: u64, index: u32, start: u64, end: u64) -> StoreRequest {
    StoreRequest::Write { name: name(0, number), index, records: records(&[(start, end)]) }
}

fn prepare(number: u64, writes: u32) -> StoreRequest {
    StoreRequest::Prepare { name: name(0, number), writes }
}

fn commit(number: u64) -> StoreRequest {
    StoreRequest::Commit { name: name(0, number) }
}

fn recover(keep: &[u64]) -> StoreRequest {
    let keep = keep.iter().map(|number| name(0, *number)).collect();
    StoreRequest::InitTransactions { writer: name(0, 0).writer, parallelism: 2, keep }
}

/// A prepared transaction with the records `start..end`.
fn prepared(store: &mut Store, attempt: u32, number: u64, start: u64, end: u64) {
    for request in [begin(number), write(number, 0, start, end), prepare(number, 1)] {
        assert_eq!(ask(store, attempt, request), StoreReply::Done);
    }
}

fn ranges(start: u64, end: u64) -> RecordRanges {
    records(&[(start, end)]).iter().collect()
}

#[test]
fn a_transaction_becomes_visible_at_its_commit_and_only_once() {
    let mut store = store();
    for request in [begin(1), write(1, 0, 0, 4), write(1, 1, 4, 6)] {
        assert_eq!(ask(&mut store, 0, request), StoreReply::Done);
    }
    let answer = ask_in(&mut store, 1, 0, prepare(1, 2));
    let durable =
        EventKind::TransactionDurable { transaction: name(0, 1), fence: fence(1, 0), records: ranges(0, 6) };
    assert_eq!(answer.events, [durable]);
    assert_eq!(store.visible().total(), 0);
    let open = store.open_transactions();
    assert_eq!((open.len(), open[0].prepared, &open[0].records), (1, true, &ranges(0, 6)));
    let done = ask_in(&mut store, 1, 0, commit(1));
    assert_eq!(done.reply, Some(StoreReply::Done));
    let (by, epoch) = (execution(0, 0), LeaderEpoch(1));
    let visible = EventKind::BecameVisible { transaction: name(0, 1), by, epoch, records: ranges(0, 6) };
    assert_eq!(done.events, [visible]);
    let again = ask_in(&mut store, 1, 0, commit(1));
    assert_eq!(again.reply, Some(StoreReply::AlreadyDone));
    assert_eq!(again.events, [EventKind::AlreadyVisible { transaction: name(0, 1) }]);
    assert_eq!((store.visible().total(), store.open_transactions().len()), (6, 0));
}

#[test]
fn repeated_calls_have_no_second_effect() {
    let mut store = store();
    for request in [begin(1), write(1, 0, 0, 4), prepare(1, 1)] {
        assert_eq!(ask(&mut store, 0, request.clone()), StoreReply::Done);
        let again = ask_in(&mut store, 1, 0, request);
        assert_eq!((again.reply, again.events.len()), (Some(StoreReply::AlreadyDone), 0));
    }
    assert_eq!(ask(&mut store, 0, write(1, 0, 0, 4)), StoreReply::AlreadyDone, "it is in what was prepared");
    assert_eq!(ask(&mut store, 0, begin(1)), StoreReply::AlreadyDone);
    assert_eq!(store.open_transactions()[0].records, ranges(0, 4));
}

#[test]
fn what_is_in_no_fit_state_is_not_found() {
    let mut store = store();
    assert_eq!(ask(&mut store, 0, write(1, 0, 0, 4)), StoreReply::NotFound);
    assert_eq!(ask(&mut store, 0, prepare(1, 0)), StoreReply::NotFound);
    assert_eq!(ask(&mut store, 0, commit(1)), StoreReply::NotFound);
    ask(&mut store, 0, begin(1));
    assert_eq!(ask(&mut store, 0, commit(1)), StoreReply::NotFound, "open work is not committed");
    ask(&mut store, 0, write(1, 1, 0, 4));
    for writes in [0, 1, 2, 3] {
        assert_eq!(ask(&mut store, 0, prepare(1, writes)), StoreReply::NotFound, "write 0 was lost");
    }
    ask(&mut store, 0, write(1, 0, 4, 5));
    assert_eq!(ask(&mut store, 0, prepare(1, 2)), StoreReply::Done);
    assert_eq!(ask(&mut store, 0, write(1, 2, 5, 6)), StoreReply::NotFound, "it is sealed");
    assert_eq!(store.visible().total(), 0);
}

#[test]
fn an_empty_transaction_can_be_prepared_and_committed() {
    let mut store = store();
    for request in [begin(1), prepare(1, 0)] {
        assert_eq!(ask(&mut store, 0, request), StoreReply::Done);
    }
    assert_eq!(ask_in(&mut store, 1, 0, commit(1)).events.len(), 1);
    assert_eq!(ask(&mut store, 0, commit(1)), StoreReply::AlreadyDone);
}

#[test]
fn recovery_fences_and_rolls_back_all_but_what_the_restored_checkpoint_holds() {
    let mut store = store();
    prepared(&mut store, 0, 1, 0, 4);
    prepared(&mut store, 0, 2, 4, 8);
    ask(&mut store, 0, begin(3));
    ask(&mut store, 0, write(3, 0, 8, 9));
    let other = StoreRequest::Begin { name: name(1, 3) };
    assert_eq!(call(&mut store, execution(1, 0), 1, other).reply, Some(StoreReply::Done));

    let answer = ask_in(&mut store, 1, 1, recover(&[1]));
    assert_eq!(answer.reply, Some(StoreReply::Done));
    let rolled_back =
        |number, prepared| EventKind::TransactionRolledBack { transaction: name(0, number), prepared };
    let fenced = EventKind::WriterFenced { writer: name(0, 0).writer, fence: fence(1, 1) };
    assert_eq!(answer.events, [fenced, rolled_back(3, false), rolled_back(2, true)]);
    let again = ask_in(&mut store, 1, 1, recover(&[1]));
    assert_eq!((again.reply, again.events.len()), (Some(StoreReply::AlreadyDone), 0));

    let open: Vec<_> = store.open_transactions().iter().map(|open| open.name).collect();
    assert_eq!(open, [name(0, 1), name(1, 3)], "the other writer is not concerned");
    assert_eq!(ask(&mut store, 1, commit(1)), StoreReply::Done);
    assert_eq!(ask(&mut store, 1, commit(2)), StoreReply::NotFound);
    prepared(&mut store, 1, 2, 4, 8);
    assert_eq!(
        ask(&mut store, 1, commit(2)),
        StoreReply::Done,
        "a name that was rolled back may be used again"
    );
    assert_eq!(store.visible().duplicates(), 0);
}

/// Restored with two writers instead of five: writer 2 and writer 4 are gone, and writer 0 stands in for both, but not
/// for writer 3.
#[test]
fn recovery_stands_in_for_the_writers_that_are_gone() {
    let mut store = store();
    for writer in 0..5 {
        for request in [
            StoreRequest::Begin { name: name(writer, 1) },
            StoreRequest::Write { name: name(writer, 1), index: 0, records: records(&[(0, 4)]) },
            StoreRequest::Prepare { name: name(writer, 1), writes: 1 },
            StoreRequest::Begin { name: name(writer, 2) },
        ] {
            assert_eq!(call(&mut store, execution(writer, 0), 1, request).reply, Some(StoreReply::Done));
        }
    }
    let request =
        StoreRequest::InitTransactions { writer: name(0, 0).writer, parallelism: 2, keep: vec![name(4, 1)] };
    let answer = call(&mut store, execution(0, 0), 2, request);
    assert_eq!(answer.reply, Some(StoreReply::Done));
    let left: Vec<_> = store.open_transactions().iter().map(|left| left.name).collect();
    assert_eq!(left, [name(1, 1), name(1, 2), name(3, 1), name(3, 2), name(4, 1)]);
    let late = call(&mut store, execution(4, 1), 1, StoreRequest::Begin { name: name(4, 3) });
    assert_eq!(late.reply, Some(StoreReply::Fenced), "what is left of the old job's writers is fenced off");
}

#[test]
fn an_older_fence_is_refused_but_may_commit() {
    let mut store = store();
    prepared(&mut store, 0, 1, 0, 4);
    ask(&mut store, 0, begin(2));
    ask(&mut store, 1, recover(&[1]));
    for request in [begin(3), write(2, 0, 4, 8), prepare(2, 0)] {
        let refused = ask_in(&mut store, 1, 0, request);
        assert_eq!(refused.reply, Some(StoreReply::Fenced));
        assert!(
            matches!(refused.events[..], [EventKind::StoreRefused { fence: by, .. }] if by == fence(1, 0))
        );
    }
    let refused = ask_in(&mut store, 1, 0, recover(&[]));
    assert_eq!(refused.reply, Some(StoreReply::Fenced), "nor may it recover");
    assert_eq!(ask(&mut store, 0, commit(1)), StoreReply::Done);
    assert_eq!(ask_in(&mut store, 0, 7, begin(3)).reply, Some(StoreReply::Fenced), "the epoch counts first");
    assert_eq!(ask_in(&mut store, 2, 0, begin(3)).reply, Some(StoreReply::Done));
}

#[test]
fn a_begin_with_a_newer_fence_rolls_back_open_and_never_prepared_work() {
    let mut store = store();
    prepared(&mut store, 0, 1, 0, 4);
    ask(&mut store, 0, begin(2));
    let answer = ask_in(&mut store, 1, 1, begin(2));
    let kinds: Vec<_> = answer.events.iter().map(EventKind::name).collect();
    assert_eq!(answer.reply, Some(StoreReply::Done));
    assert_eq!(kinds.len(), 3, "fenced, rolled back, begun: {kinds:?}");
    assert_eq!(ask(&mut store, 1, prepare(2, 0)), StoreReply::Done);
    assert_eq!(ask(&mut store, 1, begin(1)), StoreReply::NotFound, "what is prepared is not begun over");
    assert_eq!(ask(&mut store, 1, commit(1)), StoreReply::Done);
}

#[test]
fn a_committed_name_that_is_begun_again_makes_its_new_content_visible() {
    let mut store = store();
    prepared(&mut store, 0, 1, 0, 4);
    ask(&mut store, 0, commit(1));
    ask(&mut store, 0, begin(1));
    assert_eq!(ask(&mut store, 0, commit(1)), StoreReply::AlreadyDone, "nothing is prepared under it now");
    ask(&mut store, 0, write(1, 0, 7, 9));
    ask(&mut store, 0, prepare(1, 1));
    assert_eq!(ask(&mut store, 0, commit(1)), StoreReply::Done);
    let seen: Vec<_> = store.visible().entries().iter().map(|entry| entry.records.clone()).collect();
    assert_eq!(seen, [ranges(0, 4), ranges(7, 9)]);
}

#[test]
fn a_record_that_was_written_twice_becomes_visible_twice() {
    let mut store = store();
    for request in [begin(1), write(1, 0, 0, 4), write(1, 1, 2, 6), prepare(1, 2), commit(1)] {
        ask(&mut store, 0, request);
    }
    let seen = store.visible();
    assert_eq!((seen.total(), seen.distinct(), seen.duplicates()), (8, &ranges(0, 6), 2));
}

#[test]
fn a_lost_reply_leaves_every_event_and_unavailable_none() {
    let mut store = store();
    prepared(&mut store, 0, 1, 0, 4);
    let lost = OutsideDecision { lose_reply: true, unavailable: false };
    let answer = call_with(&mut store, execution(0, 1), 1, recover(&[]), lost);
    assert_eq!((answer.reply, answer.events.len()), (None, 2));
    let unavailable = OutsideDecision { lose_reply: false, unavailable: true };
    let answer = call_with(&mut store, execution(0, 0), 1, begin(9), unavailable);
    assert_eq!(
        (answer.reply, answer.events.len()),
        (Some(StoreReply::Unavailable), 0),
        "not even the fence is seen"
    );
}

#[test]
fn the_planted_zombie_writes_and_prepares_beside_its_successor() {
    let mut store = Store::new(SinkKind::Transactional, DefectSet::NONE.with(Defect::ZombiePrepareAccepted));
    ask(&mut store, 0, begin(2));
    assert_eq!(ask(&mut store, 1, recover(&[])), StoreReply::Done);
    prepared(&mut store, 1, 2, 0, 4);
    assert_eq!(ask(&mut store, 0, write(2, 0, 4, 8)), StoreReply::Done);
    let answer = ask_in(&mut store, 1, 0, prepare(2, 1));
    assert!(
        matches!(answer.events[..], [EventKind::TransactionDurable { fence: by, .. }] if by == fence(1, 0)),
        "durable under a fence that is over, for S3 to see: {:?}",
        answer.events
    );
    assert_eq!(ask(&mut store, 0, begin(3)), StoreReply::Done);
    assert_eq!(ask(&mut store, 0, recover(&[])), StoreReply::Fenced);
}
