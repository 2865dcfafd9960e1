//! The compare-and-set, and what the summaries tell.

use super::super::Store;
use super::super::store::tests_support::*;
use super::*;
use splitrace_runtime::config::SinkKind;
use splitrace_runtime::defects::DefectSet;
use splitrace_runtime::message::{StoreReply, StoreRequest};

fn table() -> Store {
    Store::new(SinkKind::SnapshotTable, DefectSet::NONE)
}

fn ask(store: &mut Store, operation: SnapshotsOperation) -> SnapshotsAnswer {
    let reply = call(store, execution(0, 0), 1, StoreRequest::Snapshots(operation)).reply;
    let Some(StoreReply::Snapshots(answer)) = reply else { panic!("a table format answers: {reply:?}") };
    answer
}

fn write(store: &mut Store, number: u64) {
    let file = name(0, number);
    let records = records(&[(number * 10, number * 10 + 4)]);
    assert_eq!(ask(store, SnapshotsOperation::WriteFile { file, records }), SnapshotsAnswer::Done);
}

fn commit(store: &mut Store, base: u64, number: u64) -> SnapshotsAnswer {
    ask(store, SnapshotsOperation::Commit { base, file: name(0, number) })
}

fn loaded(current: u64, added: &[u64]) -> SnapshotsAnswer {
    SnapshotsAnswer::Loaded { current, added: added.iter().map(|number| name(0, *number)).collect() }
}

#[test]
fn a_commit_on_an_old_snapshot_does_nothing() {
    let mut store = table();
    write(&mut store, 1);
    write(&mut store, 2);
    assert_eq!(commit(&mut store, 0, 1), SnapshotsAnswer::Done);
    assert_eq!(commit(&mut store, 0, 2), SnapshotsAnswer::Conflict);
    assert_eq!((store.visible().total(), store.open_transactions().len()), (4, 1));
    assert_eq!(commit(&mut store, 1, 2), SnapshotsAnswer::Done);
    assert_eq!(commit(&mut store, 2, 3), SnapshotsAnswer::NoFile);
}

#[test]
fn summaries_behind_a_snapshot_name_what_was_added() {
    let mut store = table();
    (1..4).for_each(|number| write(&mut store, number));
    (1..4).for_each(|number| assert_eq!(commit(&mut store, number - 1, number), SnapshotsAnswer::Done));
    for (since, expected) in
        [(Some(0), loaded(3, &[1, 2, 3])), (Some(2), loaded(3, &[3])), (None, loaded(3, &[]))]
    {
        assert_eq!(ask(&mut store, SnapshotsOperation::Load { since }), expected);
    }
}

#[test]
fn a_file_is_written_once_and_added_as_often_as_asked() {
    let mut store = table();
    write(&mut store, 1);
    write(&mut store, 1);
    assert_eq!(commit(&mut store, 0, 1), SnapshotsAnswer::Done);
    assert_eq!(commit(&mut store, 1, 1), SnapshotsAnswer::Done);
    assert_eq!((store.visible().total(), store.visible().duplicates()), (8, 4));
}

#[test]
fn somebody_else_may_get_in_between() {
    let mut store = table();
    write(&mut store, 1);
    store.interfere();
    assert_eq!(commit(&mut store, 0, 1), SnapshotsAnswer::Conflict);
    assert_eq!(ask(&mut store, SnapshotsOperation::Load { since: Some(0) }), loaded(1, &[]));
}
