//! Who gets which partition, and what a reader makes of answers.

use super::*;
use crate::api::input_io::{InputAnswer, InputOperation};
use crate::api::log_io::*;
use crate::api::source::*;
use crate::config::{FetcherConfig, LogReaderConfig, LogSourceConfig, StartPosition, UpstreamConfig};
use crate::connectors::recording_context::RecordingContext;
use crate::defects::DefectSet;
use crate::ids::{CheckpointId, OperatorUid, SplitId, SubtaskIndex};
use crate::reader_base::{Fetch, SplitReader, SplitsChange};

const READER: LogReaderConfig =
    LogReaderConfig { topic: 0, fetch_records_max: 4, poll_ns: 7, isolation: IsolationLevel::ReadCommitted };

fn source(start: StartPosition, stop_offset: Option<u64>) -> LogSource {
    let upstream = UpstreamConfig {
        transaction_records: 1,
        transaction_ns: 1,
        aborted_every: 0,
        partition_interval_ns: 0,
        committed: None,
    };
    let config = LogSourceConfig { start, stop_offset, discovery_period_ns: 5, reader: READER, upstream };
    let operator = OperatorUid(0);
    LogSource { operator, partitions: 3, config, fetchers: FetcherConfig::DEFAULT, defects: DefectSet::NONE }
}

fn split(index: u32, offset: u64) -> LogSplit {
    LogSplit { id: SplitId { operator: OperatorUid(0), index }, offset, stop: 9 }
}

/// What the worker makes of a topic with so many partitions.
fn look(enumerator: &mut LogEnumerator, partitions: usize, context: &mut RecordingContext) {
    let call = AsyncCallName(0);
    let asked = enumerator.ask_async(call);
    assert_eq!(asked, Some(InputOperation::Log(LogReadOperation::DescribeTopic { topic: 0 })));
    let there = vec![PartitionOffsets { last_stable_offset: 4, committed: Some(2) }; partitions];
    let result = enumerator.async_answered(call, InputAnswer::Log(LogReadAnswer::Partitions(there)));
    enumerator.handle_async_result(call, result, context).expect("it is a list");
}

fn held(enumerator: &mut LogEnumerator, context: &mut RecordingContext) -> Vec<LogSplit> {
    enumerator.snapshot_state(CheckpointId(1), context).expect("it can").0
}

#[test]
fn each_new_partition_goes_to_its_owner_once_and_the_end_is_told_when_all_are_known() {
    let mut enumerator = source(StartPosition::Earliest, Some(9)).create_enumerator();
    let mut context = RecordingContext::default();
    enumerator.start(&mut context).unwrap();
    enumerator.add_reader(SubtaskIndex(0), Vec::new(), &mut context).unwrap();
    assert_eq!(context.said(), "look, again after Some(5)");
    look(&mut enumerator, 2, &mut context);
    assert_eq!(context.said(), "2 discovered; split-0 to 0; split-1 to 1");
    look(&mut enumerator, 2, &mut context);
    assert_eq!(context.said(), "", "nothing is new");
    look(&mut enumerator, 3, &mut context);
    assert_eq!(context.said(), "1 discovered; split-2 to 0; no more to 0; no more to 1");
    assert_eq!(enumerator.ask_async(AsyncCallName(0)), None, "it knows them all");
}

#[test]
fn what_nobody_took_waits_in_the_state_and_what_comes_back_goes_to_whoever_lost_it() {
    let mut enumerator = source(StartPosition::Earliest, Some(9)).create_enumerator();
    let mut context = RecordingContext::with_registered(&[1]);
    enumerator.start(&mut context).unwrap();
    look(&mut enumerator, 3, &mut context);
    assert_eq!(context.said(), "look, again after Some(5); 3 discovered; split-1 to 1; no more to 1");
    assert_eq!(held(&mut enumerator, &mut context), [split(0, 0), split(2, 0)]);
    context.registered.clear();
    enumerator.add_splits_back(vec![split(0, 0)], SubtaskIndex(1), &mut context).unwrap();
    context.registered.push(SubtaskIndex(1));
    enumerator.add_reader(SubtaskIndex(1), Vec::new(), &mut context).unwrap();
    assert_eq!(context.said(), "split-0 to 1; no more to 1", "and not to its owner");
}

#[test]
fn a_restored_enumerator_finds_no_partition_again_and_the_defective_one_does() {
    let source = source(StartPosition::Earliest, Some(9));
    let known = Some(LogEnumeratorState { discovered: 2 });
    let begin = |mut enumerator: LogEnumerator| {
        let mut context = RecordingContext::default();
        enumerator.start(&mut context).unwrap();
        look(&mut enumerator, 2, &mut context);
        context.said()
    };
    assert_eq!(begin(source.restore_enumerator(Vec::new(), known)), "look, again after Some(5)");
    let forgetful = defective::ForgetfulLogSource(source).restore_enumerator(Vec::new(), known);
    assert!(begin(forgetful).contains("2 discovered"));
}

#[test]
fn a_partition_is_begun_where_the_source_says_and_never_behind_its_stop() {
    let begun = |start, stop| {
        let mut enumerator = source(start, stop).create_enumerator();
        let mut context = RecordingContext::with_registered(&[]);
        enumerator.start(&mut context).unwrap();
        look(&mut enumerator, 1, &mut context);
        held(&mut enumerator, &mut context)[0].offset
    };
    assert_eq!(begun(StartPosition::Earliest, None), 0);
    assert_eq!(begun(StartPosition::Latest, None), 4);
    assert_eq!(begun(StartPosition::Committed, None), 2);
    assert_eq!(begun(StartPosition::Offset(6), None), 6);
    assert_eq!(begun(StartPosition::Offset(6), Some(5)), 5);
}

/// A split reader with these splits.
fn reading(splits: &[LogSplit]) -> LogSplitReader {
    let mut reader = LogSplitReader::new(READER);
    reader.handle_splits_changes(SplitsChange::Addition(splits.to_vec())).expect("it can");
    reader
}

fn asked(reader: &mut LogSplitReader) -> Vec<(u32, u64)> {
    match reader.fetch(9).expect("it is readable") {
        Fetch::Asks(InputOperation::Log(LogReadOperation::Fetch { positions, .. })) => positions,
        other => panic!("it asks: {other:?}"),
    }
}

fn fetched(partition: u32, from: u64, offsets: &[u64], next_offset: u64) -> FetchedPartition {
    let records = offsets.iter().map(|offset| (*offset, Vec::new())).collect();
    FetchedPartition { partition, from, records, next_offset }
}

fn answer(reader: &mut LogSplitReader, fetched: Vec<FetchedPartition>) {
    reader.answered(InputAnswer::Log(LogReadAnswer::Fetched(fetched)));
}

/// The offsets that the next fetch brings, and how many splits end behind them.
fn brought(reader: &mut LogSplitReader) -> (Vec<u64>, usize) {
    let Fetch::Records(mut batch) = reader.fetch(2).expect("it is readable") else { panic!("records") };
    let finished = batch.finished().len();
    (std::iter::from_fn(|| batch.next_record()).map(|record| record.offset).collect(), finished)
}

#[test]
fn one_fetch_reads_all_partitions_and_a_split_ends_behind_its_stop() {
    let mut reader = reading(&[split(0, 0), split(1, 5)]);
    assert_eq!(asked(&mut reader), [(0, 0), (1, 5)]);
    assert_eq!(reader.fetch(9), Ok(Fetch::Blocked { for_ns: None }), "one fetch at a time");
    answer(&mut reader, vec![fetched(0, 0, &[0, 1, 3], 4), fetched(1, 5, &[5, 8, 9], 12)]);
    assert_eq!(brought(&mut reader), (vec![0, 1], 0));
    assert_eq!(brought(&mut reader), (vec![3], 0));
    assert_eq!(brought(&mut reader), (vec![5, 8], 1), "what lies behind the stop is not read");
    assert_eq!(asked(&mut reader), [(0, 4)]);
}

#[test]
fn a_fetch_that_brings_nothing_is_made_again_later() {
    let mut reader = reading(&[split(0, 0)]);
    asked(&mut reader);
    answer(&mut reader, vec![fetched(0, 0, &[], 0)]);
    assert_eq!(reader.fetch(9), Ok(Fetch::Blocked { for_ns: Some(7) }));
    assert_eq!(asked(&mut reader), [(0, 0)]);
    answer(&mut reader, vec![fetched(0, 0, &[], 3)]);
    assert_eq!(asked(&mut reader), [(0, 3)], "it got on, if only past a marker");
}

#[test]
fn the_answer_for_a_split_that_is_read_from_elsewhere_by_now_counts_for_nothing() {
    let mut reader = reading(&[split(0, 0)]);
    asked(&mut reader);
    reader.handle_splits_changes(SplitsChange::Removal(vec![split(0, 0).id])).unwrap();
    reader.handle_splits_changes(SplitsChange::Addition(vec![split(0, 6)])).unwrap();
    answer(&mut reader, vec![fetched(0, 0, &[0, 1], 2)]);
    assert_eq!(reader.fetch(9), Ok(Fetch::Blocked { for_ns: Some(7) }));
    assert_eq!(asked(&mut reader), [(0, 6)]);
}

#[test]
fn a_paused_partition_is_neither_asked_for_nor_handed_on() {
    let mut reader = reading(&[split(0, 0), split(1, 0)]);
    asked(&mut reader);
    answer(&mut reader, vec![fetched(0, 0, &[0], 1), fetched(1, 0, &[0], 1)]);
    reader.pause_or_resume_splits(&[split(0, 0).id], &[]).unwrap();
    assert_eq!(brought(&mut reader), (vec![0], 0));
    assert_eq!(asked(&mut reader), [(1, 1)]);
    answer(&mut reader, vec![fetched(1, 1, &[], 1)]);
    reader.pause_or_resume_splits(&[], &[split(0, 0).id]).unwrap();
    assert_eq!(brought(&mut reader), (vec![0], 0));
}
