//! As `SourceReaderBaseTest` and `SourceReaderTestBase`.

use super::*;
use crate::connectors::range_source::RangeSplitReader;
use crate::coordination::test_jobs::job;
use crate::ids::CheckpointId;
use InputStatus::{EndOfInput, MoreAvailable, NothingAvailable};
use proptest::prelude::*;

#[test]
fn an_empty_queue_is_nothing_available_and_nobody_is_told_to_look() {
    let mut threads = Threads::new(FetcherThreading::Multiplexed, 2, TestSplitReader::default());
    threads.add(&[split(0, 2)]);
    assert_eq!(threads.poll(), Ok(NothingAvailable));
    assert!(!threads.reader.is_available());
    threads.run_fetchers();
    assert!(threads.reader.is_available());
    assert_eq!((threads.poll(), threads.read.as_slice()), (Ok(MoreAvailable), [0].as_slice()));
}

#[test]
fn without_splits_the_end_comes_as_soon_as_it_is_known() {
    let mut threads = Threads::new(FetcherThreading::Multiplexed, 2, TestSplitReader::default());
    assert_eq!(threads.poll(), Ok(NothingAvailable));
    threads.no_more_splits();
    assert!(threads.reader.is_available());
    assert_eq!(threads.poll(), Ok(EndOfInput));
}

#[test]
fn splits_finish_at_different_moments_and_leave_the_state_with_their_batch() {
    for ends_apart in [false, true] {
        let split_reader = TestSplitReader { ends_apart, ..TestSplitReader::default() };
        let mut threads = Threads::new(FetcherThreading::Multiplexed, 2, split_reader);
        threads.add(&[split(0, 1), split(1, 3)]);
        threads.no_more_splits();
        assert_eq!(threads.run_to_the_end(), EndOfInput);
        assert_eq!(threads.context.finished, [id(0), id(1)]);
        assert_eq!(threads.read, [0, 100, 101, 102]);
        assert!(threads.reader.snapshot_state(CheckpointId(1)).is_empty());
    }
}

#[test]
fn what_lies_in_the_queue_when_all_fetchers_are_gone_is_read() {
    let mut threads = Threads::new(FetcherThreading::PerSplit, 2, TestSplitReader::default());
    threads.add(&[split(0, 1), split(1, 1)]);
    threads.no_more_splits();
    // Both splits end in the queue, both fetchers are idle.
    threads.run_fetchers();
    assert_eq!(threads.poll(), Ok(MoreAvailable));
    assert_eq!(threads.poll(), Ok(MoreAvailable), "the first split ended, the second's batch is there");
    assert_eq!((threads.poll_all(), threads.read.as_slice()), (EndOfInput, [0, 100].as_slice()));
}

#[test]
fn a_snapshot_knows_nothing_of_what_was_only_fetched() {
    let mut threads = Threads::new(FetcherThreading::Multiplexed, 2, TestSplitReader::default());
    threads.add(&[split(0, 9)]);
    threads.run_fetchers();
    threads.poll().unwrap();
    threads.run_fetchers();
    assert_eq!(threads.reader.manager().fetchers()[0].reader().records_fetched, 4);
    let state = threads.reader.snapshot_state(CheckpointId(1));
    assert_eq!(state[0].at.position, 1);
    let mut restored = Threads::new(FetcherThreading::Multiplexed, 2, TestSplitReader::default());
    restored.add(&state);
    restored.no_more_splits();
    assert_eq!(restored.run_to_the_end(), EndOfInput);
    assert_eq!(restored.read, (1..9).collect::<Vec<_>>(), "fetched before, and fetched again");
}

#[test]
fn a_split_at_its_end_is_held_until_its_batch_is_done() {
    let mut threads = Threads::new(FetcherThreading::Multiplexed, 2, TestSplitReader::default());
    threads.add(&[split(0, 1)]);
    threads.run_fetchers();
    threads.poll().unwrap();
    let state = threads.reader.snapshot_state(CheckpointId(1));
    assert_eq!((state[0].at.position, state[0].at.end), (1, 1));
    assert!(threads.context.finished.is_empty());
    threads.poll().unwrap();
    assert_eq!(threads.context.finished, [id(0)]);
    assert!(threads.reader.snapshot_state(CheckpointId(2)).is_empty());
}

#[test]
fn a_split_that_comes_twice_has_one_state_and_is_gone_with_the_first_of_its_ends() {
    let mut threads = Threads::new(FetcherThreading::PerSplit, 2, TestSplitReader::default());
    threads.add(&[split(0, 3)]);
    threads.run_fetchers();
    threads.poll().unwrap();
    threads.add(&[split(0, 3)]);
    assert_eq!(threads.reader.snapshot_state(CheckpointId(1)), [split(0, 3)], "the later one replaces it");
    let error = loop {
        threads.run_fetchers_on();
        if let Err(error) = threads.poll() {
            break error.to_string();
        }
    };
    assert!(error.contains("split-0, which was not added"), "{error}");
    assert_eq!(
        (threads.read.as_slice(), threads.context.finished.as_slice()),
        ([0, 1, 2].as_slice(), [id(0)].as_slice())
    );
}

/// The whole of a reader's life under one schedule: which thread goes on, when time passes, when it is replaced by one
/// that restores its snapshot. Each record comes once, in the order of its split, and the bound holds at every moment.
fn follow(threading: FetcherThreading, capacity: u32, counts: &[u64], schedule: &[u8]) {
    let blocks_at: VecDeque<u32> = (1..40).step_by(3).collect();
    let split_reader = TestSplitReader { blocks_at, ..TestSplitReader::default() };
    let fresh = || Threads::new(threading, capacity, split_reader.clone());
    let splits: Vec<RangeSplit> = (0u32..).zip(counts).map(|(index, count)| split(index, *count)).collect();
    let mut threads = fresh();
    threads.add(&splits);
    threads.no_more_splits();
    let mut read = Vec::new();
    for choice in schedule {
        let runnable = threads.runnable();
        match choice % 4 {
            0 => drop(threads.poll().unwrap()),
            1 if !threads.blocked.is_empty() => {
                let first = *threads.blocked.first().unwrap();
                threads.due(first);
            }
            2 if *choice > 250 => {
                let state = threads.reader.snapshot_state(CheckpointId(1));
                read.append(&mut threads.read);
                threads = fresh();
                threads.add(&state);
                threads.no_more_splits();
            }
            _ if !runnable.is_empty() => {
                threads.turn(runnable[*choice as usize / 4 % runnable.len()]);
            }
            _ => {}
        }
        let queued = threads.reader.manager().queue().len();
        assert!(queued <= capacity as usize, "{queued} batches in a queue of {capacity}");
    }
    assert_eq!(threads.run_to_the_end(), EndOfInput);
    threads.run_fetchers_on();
    assert!(threads.alive.is_empty(), "no thread outlives its work");
    read.append(&mut threads.read);
    for split in &splits {
        let of_split = |offset: &u64| *offset / 100 == u64::from(split.at.split.index);
        let got: Vec<u64> = read.iter().copied().filter(of_split).collect();
        assert_eq!(got, (split.at.position..split.at.end).collect::<Vec<_>>());
    }
}

proptest! {
    #[test]
    fn every_record_comes_once_under_every_schedule(
        per_split in any::<bool>(),
        capacity in 1u32..4,
        counts in prop::collection::vec(0u64..6, 0..4),
        schedule in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let threading = if per_split { FetcherThreading::PerSplit } else { FetcherThreading::Multiplexed };
        follow(threading, capacity, &counts, &schedule);
    }
}

#[test]
fn the_range_split_reader_reads_its_splits_in_turns_and_comes_back_when_woken() {
    let mut config = job(1, DefectSet::NONE).vertices[0].task;
    config.record_interval_ns = 10;
    let mut reader = RangeSplitReader::new(config);
    reader
        .handle_splits_changes(SplitsChange::Addition(vec![split(0, 3), split(1, 0), split(2, 1)]))
        .unwrap();
    let mut offsets = Vec::new();
    let mut fetch = |reader: &mut RangeSplitReader| match reader.fetch(2).unwrap() {
        Fetch::Blocked { for_ns } => format!("blocked {for_ns:?}"),
        Fetch::Asks(operation) => panic!("it reads no file: {operation:?}"),
        Fetch::Records(mut batch) => {
            offsets.clear();
            let finished = batch.finished().to_vec();
            offsets.extend(std::iter::from_fn(|| batch.next_record()).map(|record| record.offset));
            format!("{offsets:?} {finished:?}")
        }
    };
    assert_eq!(fetch(&mut reader), format!("[] {:?}", [id(1)]));
    assert_eq!(fetch(&mut reader), "blocked Some(20)");
    reader.wake_up();
    assert_eq!(fetch(&mut reader), "[] []");
    fetch(&mut reader);
    assert_eq!(fetch(&mut reader), "[0, 1] []");
    reader.pause_or_resume_splits(&[id(2)], &[]).unwrap();
    fetch(&mut reader);
    assert_eq!(fetch(&mut reader), format!("[2] {:?}", [id(0)]));
    assert_eq!(fetch(&mut reader), "blocked None", "what is left is paused");
    reader.wake_up();
    fetch(&mut reader);
    reader.pause_or_resume_splits(&[], &[id(2)]).unwrap();
    fetch(&mut reader);
    assert_eq!(fetch(&mut reader), format!("[200] {:?}", [id(2)]));
}
