//! What the writer and the committer make of answers.

use super::defective::Trusting;
use super::*;
use crate::api::sink::{
    CommitRequest, CommitSignal, Committer, CommittingSinkWriter, SinkIo, SinkWriter, StoreAnswer,
    WriterVerdict,
};
use crate::api::table_io::{TableAnswer, TableOperation};
use crate::ids::*;
use crate::message::StoreRequest;
use crate::records::Record;

fn context(attempt: u32) -> WriterInitContext {
    let fence = Fence { leader_epoch: LeaderEpoch(1), attempt: AttemptNumber(attempt) };
    WriterInitContext {
        subtask: SubtaskId::default(),
        fence,
        parallelism: 1,
        restored: Some(CheckpointId(3)),
        write_buffer_records: 2,
        commit_script: None,
        commit_back_off_ns: 0,
    }
}

fn name(number: u64, attempt: u32) -> TransactionName {
    let part = Some(TransactionPart { fence: context(attempt).fence, counter: 0 });
    TransactionName { writer: SubtaskId::default(), number: CheckpointId(number), part }
}

fn record(offset: u64) -> Record {
    Record { split: SplitId::default(), offset, event_time_ms: 0, key: 0, payload: Vec::new() }
}

fn asked(io: &mut SinkIo) -> Vec<TableOperation> {
    std::iter::from_fn(|| io.next_request())
        .map(|request| match request {
            StoreRequest::Table(operation) => operation,
            other => panic!("a table is asked in its own words: {other:?}"),
        })
        .collect()
}

fn sentences(io: &mut SinkIo) -> Vec<String> {
    asked(io).iter().map(TableOperation::sentence).collect()
}

fn opened(attempt: u32, keep: &[TransactionName]) -> (PreparedTableWriter<WhatIsLost>, SinkIo) {
    let mut writer = PreparedTableSink(WhatIsLost).create_writer(&context(attempt));
    let mut io = SinkIo::default();
    writer.open(keep, &mut io);
    assert_eq!(sentences(&mut io), ["open session 0", "list what operator-0 has prepared"]);
    (writer, io)
}

#[test]
fn a_transaction_begins_at_its_first_record_and_an_empty_one_is_not_prepared() {
    let (mut writer, mut io) = opened(0, &[]);
    assert!(writer.prepare_commit(&mut io).is_empty() && io.is_empty());
    (0..3).for_each(|offset| writer.write(record(offset), &mut io));
    writer.flush(false, &mut io);
    let committables = writer.prepare_commit(&mut io);
    assert_eq!(
        sentences(&mut io),
        [
            "begin s0-chk5-e1a0n0",
            "insert 2 rows in session 0",
            "insert 1 rows in session 0",
            "prepare what session 0 holds"
        ]
    );
    let [committable] = &committables[..] else { panic!("one transaction: {committables:?}") };
    assert_eq!((committable.transaction, committable.records.len()), (name(5, 0), 3));
    assert_eq!(writer.transaction(), name(6, 0));
}

#[test]
fn a_successor_ends_what_is_lost_and_keeps_what_the_checkpoint_holds() {
    let (mut writer, mut io) = opened(1, &[name(3, 0)]);
    let list = StoreRequest::Table(TableOperation::ListPrepared { vertex: OperatorUid(0) });
    let prepared = StoreAnswer::Table(TableAnswer::Prepared(vec![name(3, 0), name(4, 0), name(4, 1)]));
    assert_eq!(writer.answered(&list, prepared, &mut io), WriterVerdict::Settled);
    let roll_back = TableOperation::RollbackPrepared { transaction: name(4, 0) };
    assert_eq!(asked(&mut io), std::slice::from_ref(&roll_back));
    let roll_back = StoreRequest::Table(roll_back);
    // Its answer was lost, and the table does not know the name any more.
    assert_eq!(writer.answered(&roll_back, StoreAnswer::Unknown, &mut io), WriterVerdict::AskAgain);
    assert_eq!(writer.answered(&roll_back, StoreAnswer::NotFound, &mut io), WriterVerdict::Settled);
}

#[test]
fn a_connection_is_made_anew_only_while_nothing_is_lost_with_it() {
    let (mut writer, mut io) = opened(0, &[]);
    let connect = StoreRequest::Table(TableOperation::Connect { session: 0 });
    assert_eq!(writer.answered(&connect, StoreAnswer::Unknown, &mut io), WriterVerdict::Settled);
    assert_eq!(asked(&mut io), [TableOperation::Connect { session: 1 }]);
    writer.write(record(0), &mut io);
    let StoreRequest::Table(begin) = io.next_request().expect("it begins") else { panic!("a table") };
    assert_eq!(begin, TableOperation::Begin { session: 1, transaction: name(4, 0) });
    for operation in [begin, TableOperation::Prepare { session: 1 }] {
        let request = StoreRequest::Table(operation);
        assert_eq!(writer.answered(&request, StoreAnswer::Unavailable, &mut io), WriterVerdict::AskAgain);
        for answer in [StoreAnswer::Unknown, StoreAnswer::Table(TableAnswer::NoSession)] {
            assert!(matches!(writer.answered(&request, answer, &mut io), WriterVerdict::Failed(_)));
        }
    }
}

fn committing(committer: &mut impl Committer<Committable = NamedCommittable>) -> Vec<CommitSignal> {
    let records = [record(0)].iter().collect();
    let committable = NamedCommittable { transaction: name(3, 0), records, token: 0 };
    let answers = [
        StoreAnswer::Done { before: false },
        StoreAnswer::Unknown,
        StoreAnswer::NotFound,
        StoreAnswer::Table(TableAnswer::Proof(true)),
        StoreAnswer::Table(TableAnswer::Proof(false)),
    ];
    let mut signals = Vec::new();
    for answer in answers {
        let mut request = CommitRequest::new(committable.clone(), 0);
        let mut io = SinkIo::default();
        committer.answered(&mut request, answer, &mut io);
        match asked(&mut io).pop() {
            None => signals.push(request.signal()),
            Some(next) => assert_eq!(next, TableOperation::LookForProof { transaction: name(3, 0) }),
        }
    }
    signals
}

#[test]
fn an_unknown_name_is_committed_only_if_its_proof_is_there() {
    let signals = committing(&mut PreparedTableCommitter);
    let [CommitSignal::Committed, CommitSignal::RetryLater, CommitSignal::AlreadyCommitted, lost] =
        &signals[..]
    else {
        panic!("the unknown name asks on: {signals:?}");
    };
    assert!(matches!(lost, CommitSignal::FailedWithUnknownReason(why) if why.contains("lost")));
}

#[test]
fn the_defective_one_believes() {
    let sink = DefectiveSink::<_, Trusting, Trusting>::new(PreparedTableSink(WhatIsLost));
    let mut committer = sink.create_committer(&context(0));
    assert_eq!(committing(&mut committer)[2], CommitSignal::AlreadyCommitted);
    let mut writer = sink.create_writer(&context(0));
    let prepare = StoreRequest::Table(TableOperation::Prepare { session: 0 });
    let verdict = writer.answered(&prepare, StoreAnswer::Unknown, &mut SinkIo::default());
    assert_eq!(verdict, WriterVerdict::Settled);
}
