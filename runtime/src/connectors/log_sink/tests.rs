//! What the writer and the committers make of answers.

use super::*;
use crate::api::log_io::{LogAnswer, LogOperation, ProducerIdAndEpoch, TransactionResult};
use crate::api::sink::{
    CommitRequest, CommitSignal, Committer, CommittingSinkWriter, SinkIo, SinkWriter, StoreAnswer,
    WriterVerdict,
};
use crate::ids::*;
use crate::message::StoreRequest;
use crate::records::Record;

const PRODUCER: ProducerIdAndEpoch = ProducerIdAndEpoch { producer_id: 7, epoch: 2 };

fn context(attempt: u32, restored: Option<u64>) -> WriterInitContext {
    WriterInitContext {
        subtask: SubtaskId::default(),
        fence: Fence { leader_epoch: LeaderEpoch(1), attempt: AttemptNumber(attempt) },
        parallelism: 1,
        restored: restored.map(CheckpointId),
        write_buffer_records: 3,
        commit_script: None,
        commit_back_off_ns: 0,
    }
}

fn name(number: u64, attempt: u32) -> TransactionName {
    let part = Some(TransactionPart { fence: context(attempt, None).fence, counter: 0 });
    TransactionName { writer: SubtaskId::default(), number: CheckpointId(number), part }
}

fn record(offset: u64, key: u64) -> Record {
    Record { split: SplitId::default(), offset, event_time_ms: 0, key, payload: Vec::new() }
}

fn asked(io: &mut SinkIo) -> Vec<LogOperation> {
    std::iter::from_fn(|| io.next_request())
        .map(|request| match request {
            StoreRequest::Log(operation) => operation,
            other => panic!("a log is asked in its own words: {other:?}"),
        })
        .collect()
}

fn sentences(io: &mut SinkIo) -> Vec<String> {
    asked(io).iter().map(LogOperation::sentence).collect()
}

fn initialise(id: TransactionName) -> LogOperation {
    LogOperation::InitProducer { id, timeout_ns: LogSinkConfig::DEFAULT.transaction_timeout_ns }
}

fn producer() -> StoreAnswer {
    StoreAnswer::Log(LogAnswer::Producer(PRODUCER))
}

/// A second life that has restored checkpoint 3, after its answers.
fn opened() -> (LogWriter<WhatIsLost>, SinkIo) {
    let sink = LogSink::<WhatIsLost>::new(LogSinkConfig { partitions: 2, ..LogSinkConfig::DEFAULT });
    let mut writer = sink.create_writer(&context(1, Some(3)));
    let mut io = SinkIo::default();
    writer.open(&[name(3, 0)], &mut io);
    let [list, first] = &asked(&mut io)[..] else { panic!("a look and a producer") };
    assert_eq!(*first, initialise(name(4, 1)));
    let open = StoreAnswer::Log(LogAnswer::Transactions(vec![name(3, 0), name(4, 0), name(9, 2)]));
    let list = StoreRequest::Log(list.clone());
    assert_eq!(writer.answered(&list, open, &mut io), WriterVerdict::Settled);
    assert_eq!(asked(&mut io), [initialise(name(4, 0))], "what is kept, and a newer life's, stays");
    let other = StoreAnswer::Log(LogAnswer::Producer(ProducerIdAndEpoch { producer_id: 1, epoch: 1 }));
    let lost = StoreRequest::Log(initialise(name(4, 0)));
    assert_eq!(writer.answered(&lost, other, &mut io), WriterVerdict::Settled);
    let own = StoreRequest::Log(initialise(name(4, 1)));
    assert_eq!(writer.answered(&own, StoreAnswer::Unknown, &mut io), WriterVerdict::AskAgain);
    assert_eq!(writer.answered(&own, producer(), &mut io), WriterVerdict::Settled);
    (writer, io)
}

#[test]
fn a_transaction_begins_with_its_partitions_and_its_committable_names_the_producer() {
    let (mut writer, mut io) = opened();
    (0..3).for_each(|offset| writer.write(record(offset, offset), &mut io));
    writer.write(record(3, 1), &mut io);
    writer.flush(false, &mut io);
    let committables = writer.prepare_commit(&mut io);
    assert_eq!(
        sentences(&mut io),
        [
            "add partitions [0, 1] to s0-chk4-e1a1n0",
            "append 2 records of s0-chk4-e1a1n0 to partition 0",
            "append 1 records of s0-chk4-e1a1n0 to partition 1",
            "append 1 records of s0-chk4-e1a1n0 to partition 1",
            "initialise the producer of s0-chk5-e1a1n0",
        ]
    );
    let [committable] = &committables[..] else { panic!("one transaction: {committables:?}") };
    assert_eq!((committable.transaction, committable.records.len()), (name(4, 1), 4));
    assert_eq!(ProducerIdAndEpoch::from_token(committable.token), PRODUCER);
}

#[test]
fn appends_to_a_partition_are_numbered_and_each_transaction_begins_anew() {
    let (mut writer, mut io) = opened();
    let mut sequences = Vec::new();
    for round in 0..2 {
        for offset in 0..6 {
            writer.write(record(10 * round + offset, 0), &mut io);
        }
        writer.flush(false, &mut io);
        writer.prepare_commit(&mut io);
        for operation in asked(&mut io) {
            match operation {
                LogOperation::Append { sequence, partition: 0, .. } => sequences.push(sequence),
                LogOperation::InitProducer { id, .. } => {
                    writer.answered(&StoreRequest::Log(initialise(id)), producer(), &mut io);
                }
                _ => {}
            }
        }
    }
    assert_eq!(sequences, [0, 1, 0, 1]);
}

#[test]
fn an_empty_transaction_has_no_committable_and_the_last_one_no_successor() {
    let (mut writer, mut io) = opened();
    assert!(writer.prepare_commit(&mut io).is_empty());
    assert_eq!(asked(&mut io), [initialise(name(5, 1))]);
    writer.flush(true, &mut io);
    assert!(writer.prepare_commit(&mut io).is_empty() && io.is_empty());
}

#[test]
fn a_fenced_writer_ends() {
    let (mut writer, mut io) = opened();
    let add = LogOperation::AddPartitions { id: name(4, 1), producer: PRODUCER, partitions: vec![0] };
    let add = StoreRequest::Log(add);
    for answer in [StoreAnswer::Fenced, StoreAnswer::Log(LogAnswer::TransactionTimedOut)] {
        assert!(matches!(writer.answered(&add, answer, &mut io), WriterVerdict::Failed(_)));
    }
    assert_eq!(writer.answered(&add, StoreAnswer::Unknown, &mut io), WriterVerdict::AskAgain);
}

/// What a committer signals at an answer to its first question, or what it asks then.
fn signalled(
    mut committer: impl Committer<Committable = NamedCommittable>,
    answer: StoreAnswer,
) -> Result<CommitSignal, LogOperation> {
    let records = [record(0, 0)].iter().collect();
    let committable = NamedCommittable { transaction: name(3, 0), records, token: PRODUCER.to_token() };
    let mut request = CommitRequest::new(committable, 0);
    let mut io = SinkIo::default();
    committer.commit(&mut request, &mut io);
    assert_eq!(asked(&mut io).len(), 1, "one question at a time");
    committer.answered(&mut request, answer, &mut io);
    asked(&mut io).pop().map_or(Ok(request.signal()), Err)
}

#[test]
fn whatever_was_aborted_is_lost_for_a_known_reason_and_what_is_in_doubt_is_asked_again() {
    assert_eq!(signalled(LogCommitter, StoreAnswer::Done { before: false }), Ok(CommitSignal::Committed));
    for answer in [StoreAnswer::Unknown, StoreAnswer::Unavailable] {
        assert_eq!(signalled(LogCommitter, answer), Ok(CommitSignal::RetryLater));
    }
    let lost = [
        StoreAnswer::Fenced,
        StoreAnswer::Log(LogAnswer::TransactionTimedOut),
        StoreAnswer::Log(LogAnswer::InvalidTransactionState),
        StoreAnswer::Log(LogAnswer::UnknownProducer),
    ];
    for answer in lost {
        let signal = signalled(LogCommitter, answer);
        let Ok(CommitSignal::FailedWithKnownReason(why)) = signal else { panic!("{signal:?}") };
        assert!(why.ends_with("is lost"), "{why}");
    }
}

#[test]
fn the_defective_one_takes_the_producer_over_and_commits_nothing() {
    let right = LogSink::<WhatIsLost>::new(LogSinkConfig::DEFAULT);
    let sink = WithCommitters::<_, InitialisesRestored>::new(right);
    let asked = signalled(sink.create_committer(&context(1, Some(3))), producer());
    let Err(LogOperation::EndTransaction { producer, .. }) = asked else { panic!("a commit: {asked:?}") };
    assert_eq!(producer, PRODUCER);
    let first = sink.create_committer(&context(0, None));
    assert_eq!(signalled(first, StoreAnswer::Done { before: false }), Ok(CommitSignal::Committed));
}

#[test]
fn the_defective_writers_lose_an_append_and_abort_what_they_handed_over() {
    let right = LogSink::<WhatIsLost>::new(LogSinkConfig::DEFAULT);
    let mut swallowing = WithWriters::<_, SwallowsErrors>::new(right).create_writer(&context(0, None));
    let append = LogOperation::Append {
        id: name(1, 0),
        producer: PRODUCER,
        partition: 0,
        sequence: 0,
        records: vec![record(0, 0)],
    };
    let failed = StoreAnswer::Log(LogAnswer::OutOfOrderSequence);
    let verdict = swallowing.answered(&StoreRequest::Log(append), failed, &mut SinkIo::default());
    assert_eq!(verdict, WriterVerdict::Settled);

    let mut closing = WithWriters::<_, AbortsWhenClosed>::new(right).create_writer(&context(0, None));
    let mut io = SinkIo::default();
    closing.answered(&StoreRequest::Log(initialise(name(1, 0))), producer(), &mut io);
    closing.write(record(0, 0), &mut io);
    closing.flush(true, &mut io);
    let prepared = closing.prepare_commit(&mut io);
    assert_eq!(prepared.len(), 1);
    let result = TransactionResult::Abort;
    let abort = LogOperation::EndTransaction { id: name(1, 0), producer: PRODUCER, result };
    assert_eq!(asked(&mut io).last(), Some(&abort));
}
