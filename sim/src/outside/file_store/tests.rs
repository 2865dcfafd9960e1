//! What the ledger tells of files.

use super::super::Store;
use super::super::store::tests_support::*;
use super::*;
use crate::choices::{BenignChoices, SeedChoices};
use splitrace_runtime::config::{FileSinkConfig, SinkKind};
use splitrace_runtime::defects::DefectSet;
use splitrace_runtime::ids::{AttemptNumber, CheckpointId, LeaderEpoch, TransactionPart};

const HIDDEN: &str = ".part-x-0.inprogress.o0s0e1a0c3n2";

fn store() -> Store {
    Store::new(SinkKind::Files(FileSinkConfig::DEFAULT), DefectSet::NONE)
}

fn transaction() -> TransactionName {
    let fence = Fence { leader_epoch: LeaderEpoch(1), attempt: AttemptNumber(0) };
    TransactionName { part: Some(TransactionPart { fence, counter: 2 }), ..name(0, 3) }
}

/// One operation of the first life of subtask 0: what the file system answers, and the events by their names.
fn ask(store: &mut Store, operation: FileOperation) -> (FileAnswer, Vec<EventKind>) {
    let answer = call(store, execution(0, 0), 1, StoreRequest::File(operation));
    match answer.reply {
        Some(StoreReply::File(reply)) => (reply, answer.events),
        other => panic!("a file system answers: {other:?}"),
    }
}

fn write(at: u64, lines: &str) -> FileOperation {
    FileOperation::Write { path: HIDDEN.to_owned(), at, bytes: lines.as_bytes().to_vec() }
}

fn publish(length: u64) -> FileOperation {
    FileOperation::Publish { hidden: HIDDEN.to_owned(), target: "part-x-0".to_owned(), length }
}

#[test]
fn what_is_visible_is_what_the_renamed_bytes_say() {
    let mut store = store();
    let (_, events) = ask(&mut store, write(0, "0.0.7\n0.0.8\n"));
    assert!(matches!(events[..], [EventKind::TransactionBegun { .. }, EventKind::TransactionWritten { .. }]));
    // What somebody added after the committable was made does not count.
    ask(&mut store, write(12, "0.0.9\n"));
    assert_eq!(store.open_transactions()[0].records.len(), 3);
    let (answer, events) = ask(&mut store, publish(12));
    assert_eq!(answer, FileAnswer::Done);
    let [EventKind::BecameVisible { transaction: shown, records, .. }] = &events[..] else {
        panic!("one rename: {events:?}");
    };
    assert_eq!((*shown, records.len()), (transaction(), 2));
    let (answer, events) = ask(&mut store, publish(12));
    assert_eq!(answer, FileAnswer::AlreadyDone);
    assert!(matches!(events[..], [EventKind::AlreadyVisible { .. }]));
    assert_eq!((store.visible().total(), store.open_transactions().len()), (2, 0));
}

#[test]
fn a_line_that_is_there_twice_is_seen_twice() {
    let mut store = store();
    ask(&mut store, write(0, "0.0.7\n0.0.7\n"));
    ask(&mut store, publish(12));
    assert_eq!((store.visible().total(), store.visible().duplicates()), (2, 1));
}

#[test]
fn a_file_that_is_gone_is_told_only_when_it_was_there() {
    let mut store = store();
    ask(&mut store, write(0, "0.0.7\n"));
    let delete = FileOperation::Delete { path: HIDDEN.to_owned() };
    let (_, events) = ask(&mut store, delete.clone());
    assert!(matches!(events[..], [EventKind::TransactionRolledBack { prepared: false, .. }]));
    let (answer, events) = ask(&mut store, delete);
    assert_eq!((answer, events.len()), (FileAnswer::AlreadyDone, 0));
    let (answer, events) = ask(&mut store, publish(6));
    assert_eq!((answer, events.len()), (FileAnswer::NotFound, 0), "nothing became visible");
}

#[test]
fn power_takes_files_back_and_a_sync_notices() {
    let lose = |choices: &mut dyn Choices| {
        let mut files = FileStore::new(FileMedium::FileSystem);
        let caller = Caller { attempt: execution(0, 0), epoch: LeaderEpoch(1) };
        let mut events = Vec::new();
        files.execute(caller, StoreRequest::File(write(0, "0.0.7\n")), &mut events);
        files.crash(choices, &mut events);
        let sync = FileOperation::Sync { path: HIDDEN.to_owned(), length: 6 };
        (files.execute(caller, StoreRequest::File(sync), &mut events), events)
    };
    let (kept, _) = lose(&mut BenignChoices);
    assert_eq!(kept, StoreReply::File(FileAnswer::Done));
    let mut answers = Vec::new();
    for seed in 0..60 {
        let (answer, events) = lose(&mut SeedChoices::new(seed));
        let rolled_back = events.iter().any(|event| matches!(event, EventKind::TransactionRolledBack { .. }));
        assert_eq!(answer == StoreReply::File(FileAnswer::NotFound), rolled_back, "{events:?}");
        answers.push(answer);
    }
    assert!(answers.contains(&StoreReply::File(FileAnswer::NotFound)), "all of it was lost in some run");
    assert!(answers.iter().any(|answer| matches!(answer, StoreReply::File(FileAnswer::TooShort(1..=5)))));
    assert_eq!(transaction().number, CheckpointId(3));
}

#[test]
fn what_nobody_sends_any_more_is_rolled_back_and_a_published_object_is_visible_once() {
    let config = FileSinkConfig { medium: FileMedium::ObjectStore, ..FileSinkConfig::DEFAULT };
    let mut store = Store::new(SinkKind::Files(config), DefectSet::NONE);
    assert!(store.has_connections());
    ask(&mut store, write(0, "0.0.7\n"));
    let mut events = Vec::new();
    store.lose_client(execution(0, 0), LeaderEpoch(1), &mut events);
    let rolled_back = EventKind::TransactionRolledBack { transaction: transaction(), prepared: false };
    assert_eq!((events, store.open_transactions().len()), (vec![rolled_back], 0));
    ask(&mut store, write(0, "0.0.7\n"));
    ask(&mut store, FileOperation::Sync { path: HIDDEN.to_owned(), length: 6 });
    ask(&mut store, publish(6));
    // Whether or not the crash brings the hidden one back, the records are there once.
    for seed in 0..4 {
        let (mut store, mut events) = (store.clone(), Vec::new());
        store.crash(&mut SeedChoices::new(seed), &mut events);
        let (answer, told) = ask(&mut store, publish(6));
        assert_eq!((answer, events.len(), store.visible().total()), (FileAnswer::AlreadyDone, 0, 1));
        assert!(matches!(told[..], [EventKind::AlreadyVisible { .. }]), "{told:?}");
    }
}
