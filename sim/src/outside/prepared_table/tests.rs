//! What dies with a session, and what survives.

use super::super::store::tests_support::*;
use super::super::{OutsideDecision, Store};
use super::*;
use crate::choices::BenignChoices;
use splitrace_runtime::config::SinkKind;
use splitrace_runtime::defects::DefectSet;
use splitrace_runtime::message::{StoreReply, StoreRequest};

fn table() -> Store {
    Store::new(SinkKind::PreparedTable, DefectSet::NONE)
}

fn ask(store: &mut Store, attempt: u32, operation: TableOperation) -> TableAnswer {
    let reply = call(store, execution(0, attempt), 1, StoreRequest::Table(operation)).reply;
    let Some(StoreReply::Table(answer)) = reply else { panic!("a table answers: {reply:?}") };
    answer
}

fn begin(session: u32, number: u64) -> TableOperation {
    TableOperation::Begin { session, transaction: name(0, number) }
}

fn insert(session: u32, start: u64, end: u64) -> TableOperation {
    TableOperation::Insert { session, records: records(&[(start, end)]) }
}

/// A session of this attempt with so many records in an open transaction.
fn open(store: &mut Store, attempt: u32, number: u64) {
    for operation in [TableOperation::Connect { session: 0 }, begin(0, number), insert(0, 0, 4)] {
        assert_eq!(ask(store, attempt, operation), TableAnswer::Done);
    }
}

fn prepared(store: &mut Store, attempt: u32) -> Vec<TransactionName> {
    let answer = ask(store, attempt, TableOperation::ListPrepared { vertex: OperatorUid(0) });
    let TableAnswer::Prepared(names) = answer else { panic!("a list: {answer:?}") };
    names
}

#[test]
fn an_open_transaction_dies_with_its_session_and_a_prepared_one_survives() {
    for end in [0, 1, 2] {
        let mut store = table();
        open(&mut store, 0, 1);
        assert_eq!(ask(&mut store, 0, TableOperation::Prepare { session: 0 }), TableAnswer::Done);
        assert_eq!(ask(&mut store, 0, begin(0, 2)), TableAnswer::Done);
        let mut events = Vec::new();
        match end {
            0 => store.crash(&mut BenignChoices, &mut events),
            1 => store.lose_client(execution(0, 0), LeaderEpoch(1), &mut events),
            _ => {
                let connect = StoreRequest::Table(TableOperation::Connect { session: 1 });
                events = call(&mut store, execution(0, 0), 1, connect).events;
            }
        }
        let rolled_back = EventKind::TransactionRolledBack { transaction: name(0, 2), prepared: false };
        assert_eq!(events, [rolled_back]);
        assert_eq!(
            ask(&mut store, 0, insert(0, 4, 5)),
            TableAnswer::NoSession,
            "what comes late acts on nothing"
        );
        assert_eq!(prepared(&mut store, 1), [name(0, 1)]);
        assert_eq!(store.visible().total(), 0);
    }
}

#[test]
fn a_committed_name_is_unknown_and_its_proof_tells() {
    let mut store = table();
    open(&mut store, 0, 1);
    let transaction = name(0, 1);
    let (commit, proof) =
        (TableOperation::CommitPrepared { transaction }, TableOperation::LookForProof { transaction });
    assert_eq!(ask(&mut store, 0, commit.clone()), TableAnswer::DoesNotExist, "it is merely open");
    assert_eq!(ask(&mut store, 0, proof.clone()), TableAnswer::Proof(false));
    ask(&mut store, 0, TableOperation::Prepare { session: 0 });
    assert_eq!(ask(&mut store, 7, commit.clone()), TableAnswer::Done, "anybody commits");
    assert_eq!(ask(&mut store, 7, commit), TableAnswer::DoesNotExist);
    assert_eq!(ask(&mut store, 7, proof), TableAnswer::Proof(true));
    assert_eq!((store.visible().total(), store.visible().duplicates()), (4, 0));
}

#[test]
fn a_rolled_back_name_has_no_proof_and_a_name_in_use_ends_the_open_transaction() {
    let mut store = table();
    open(&mut store, 0, 1);
    ask(&mut store, 0, TableOperation::Prepare { session: 0 });
    open(&mut store, 1, 1);
    assert_eq!(ask(&mut store, 1, TableOperation::Prepare { session: 0 }), TableAnswer::NameInUse);
    assert_eq!(ask(&mut store, 1, TableOperation::Prepare { session: 0 }), TableAnswer::NoTransaction);
    let transaction = name(0, 1);
    assert_eq!(ask(&mut store, 1, TableOperation::RollbackPrepared { transaction }), TableAnswer::Done);
    assert_eq!(
        ask(&mut store, 1, TableOperation::RollbackPrepared { transaction }),
        TableAnswer::DoesNotExist
    );
    assert_eq!(ask(&mut store, 1, TableOperation::LookForProof { transaction }), TableAnswer::Proof(false));
}

#[test]
fn a_zombie_is_not_refused() {
    let mut store = table();
    open(&mut store, 0, 1);
    open(&mut store, 1, 2);
    assert!(prepared(&mut store, 1).is_empty());
    assert_eq!(ask(&mut store, 0, TableOperation::Prepare { session: 0 }), TableAnswer::Done);
    assert_eq!(store.open_transactions().iter().filter(|open| open.prepared).count(), 1);
}

#[test]
fn a_reply_of_a_session_is_lost_with_it() {
    let lost = OutsideDecision { unavailable: false, lose_reply: true };
    let mut store = table();
    open(&mut store, 0, 1);
    let request = StoreRequest::Table(insert(0, 4, 5));
    let answer = call_with(&mut store, execution(0, 0), 1, request, lost);
    assert_eq!((answer.reply, answer.events.len()), (None, 2), "written, and rolled back");
    assert_eq!(ask(&mut store, 0, TableOperation::Prepare { session: 0 }), TableAnswer::NoSession);
    let look = StoreRequest::Table(TableOperation::LookForProof { transaction: name(0, 1) });
    open(&mut store, 1, 2);
    call_with(&mut store, execution(0, 1), 1, look, lost);
    assert_eq!(
        ask(&mut store, 1, TableOperation::Prepare { session: 0 }),
        TableAnswer::Done,
        "another connection's"
    );
}
