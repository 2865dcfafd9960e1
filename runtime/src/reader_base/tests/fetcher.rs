//! As `SplitFetcherTest` and `SplitFetcherManagerTest`.

use super::*;
use InputStatus::{EndOfInput, MoreAvailable, NothingAvailable};

fn one(split_reader: TestSplitReader) -> (SplitFetcher<TestSplitReader>, HandOverQueue<RecordsBySplits>) {
    (SplitFetcher::new(FetcherNumber(0), split_reader, false, DefectSet::NONE), HandOverQueue::new(2))
}

fn turn(
    fetcher: &mut SplitFetcher<TestSplitReader>,
    queue: &mut HandOverQueue<RecordsBySplits>,
) -> FetcherContext {
    let mut context = FetcherContext::default();
    fetcher.turn(1, queue, &mut context);
    context
}

#[test]
fn a_new_fetcher_is_idle_and_blocked_until_it_has_a_split() {
    let (mut fetcher, mut queue) = one(TestSplitReader::default());
    assert!(fetcher.is_idle() && !fetcher.is_runnable(&queue));
    fetcher.enqueue(FetcherTask::AddSplits(vec![split(0, 2)]), &mut queue);
    assert!(!fetcher.is_idle() && fetcher.is_runnable(&queue));
    turn(&mut fetcher, &mut queue);
    assert!(!fetcher.is_idle());
    assert_eq!(fetcher.assigned(), [id(0)]);
}

#[test]
fn it_is_idle_once_the_batch_that_ends_its_splits_is_in_the_queue_and_says_so() {
    let (mut fetcher, mut queue) = one(TestSplitReader::default());
    fetcher.enqueue(FetcherTask::AddSplits(vec![split(0, 1)]), &mut queue);
    turn(&mut fetcher, &mut queue);
    assert_eq!(turn(&mut fetcher, &mut queue).fetched, Some(1));
    assert!(!fetcher.is_idle() && !queue.is_available());
    assert_eq!(turn(&mut fetcher, &mut queue).handed_over, Some(1));
    assert!(fetcher.is_idle() && queue.is_available());
    // Taken and looked at again: only a notice after the fetcher became idle would show.
    queue.poll();
    assert!(!queue.is_available());
}

#[test]
fn going_idle_without_a_batch_makes_the_reader_look_again() {
    let (mut fetcher, mut queue) = one(TestSplitReader::default());
    fetcher.enqueue(FetcherTask::AddSplits(vec![split(0, 5)]), &mut queue);
    turn(&mut fetcher, &mut queue);
    fetcher.enqueue(FetcherTask::RemoveSplits(vec![id(0)]), &mut queue);
    turn(&mut fetcher, &mut queue);
    assert!(fetcher.is_idle() && queue.is_empty() && queue.is_available());
}

#[test]
fn a_new_split_wakes_a_blocked_fetch_and_nothing_is_lost() {
    let (mut fetcher, mut queue) =
        one(TestSplitReader { blocks_at: VecDeque::from([1]), ..TestSplitReader::default() });
    fetcher.enqueue(FetcherTask::AddSplits(vec![split(0, 2)]), &mut queue);
    turn(&mut fetcher, &mut queue);
    assert_eq!(turn(&mut fetcher, &mut queue).wake_after_ns, Some(1));
    assert!(!fetcher.is_runnable(&queue), "a blocked fetch waits");
    fetcher.enqueue(FetcherTask::AddSplits(vec![split(1, 2)]), &mut queue);
    assert_eq!(fetcher.reader().calls, ["wakeUp"]);
    assert_eq!(turn(&mut fetcher, &mut queue).fetched, Some(0));
    turn(&mut fetcher, &mut queue);
    assert_eq!(fetcher.assigned(), [id(0), id(1)], "the task came before the put");
    for _ in 0..3 {
        turn(&mut fetcher, &mut queue);
    }
    assert_eq!(queue.len(), 1, "the batch in hand was put before the next fetch");
    assert_eq!(fetcher.reader().records_fetched, 2);
}

#[test]
fn a_full_queue_blocks_the_put_and_with_it_the_outside() {
    let mut threads = Threads::new(FetcherThreading::Multiplexed, 2, TestSplitReader::default());
    threads.add(&[split(0, 50)]);
    threads.run_fetchers();
    let fetcher = &threads.reader.manager().fetchers()[0];
    assert!(fetcher.has_in_hand());
    assert_eq!(fetcher.reader().records_fetched, 3, "two in the queue and one in hand");
    threads.poll().unwrap();
    threads.run_fetchers();
    assert_eq!(threads.reader.manager().fetchers()[0].reader().records_fetched, 4);
    assert_eq!(threads.read, [0]);
}

#[test]
fn each_fetcher_may_have_one_batch_in_hand() {
    let mut threads = Threads::new(FetcherThreading::PerSplit, 2, TestSplitReader::default());
    threads.add(&[split(0, 9), split(1, 9), split(2, 9)]);
    threads.run_fetchers();
    let fetchers = threads.reader.manager().fetchers();
    assert_eq!(fetchers.len(), 3);
    assert_eq!(fetchers.iter().map(|fetcher| fetcher.reader().records_fetched).sum::<u32>(), 2 + 3);
    assert_eq!(fetchers.iter().filter(|fetcher| fetcher.has_in_hand()).count(), 3);
}

#[test]
fn a_task_is_looked_after_while_the_put_waits() {
    let mut threads = Threads::new(FetcherThreading::Multiplexed, 1, TestSplitReader::default());
    threads.add(&[split(0, 9)]);
    threads.run_fetchers();
    assert!(threads.runnable().is_empty(), "in line");
    threads.add(&[split(1, 9)]);
    threads.run_fetchers();
    assert_eq!(threads.reader.manager().fetchers()[0].assigned(), [id(0), id(1)]);
    assert_eq!(threads.reader.manager().fetchers()[0].reader().records_fetched, 2, "nothing new was fetched");
    threads.no_more_splits();
    assert_eq!(threads.run_to_the_end(), EndOfInput);
    threads.read.sort_unstable();
    assert_eq!(threads.read, (0..9).chain(100..109).collect::<Vec<_>>());
}

#[test]
fn closing_ends_a_fetcher_in_the_middle_of_a_fetch_and_of_a_put() {
    for (blocks_at, capacity) in [(VecDeque::from([1]), 2), (VecDeque::new(), 1)] {
        let split_reader = TestSplitReader { blocks_at, ..TestSplitReader::default() };
        let mut threads = Threads::new(FetcherThreading::Multiplexed, capacity, split_reader);
        threads.add(&[split(0, 9)]);
        threads.run_fetchers();
        assert!(threads.runnable().is_empty() && !threads.alive.is_empty(), "it is blocked");
        threads.reader.close();
        threads.run_fetchers();
        assert!(threads.alive.is_empty());
    }
}

#[test]
fn an_error_of_a_fetch_reaches_the_task_and_is_no_end_of_input() {
    for fails_at in 1..4 {
        let split_reader = TestSplitReader { fails_at: Some(fails_at), ..TestSplitReader::default() };
        let mut threads = Threads::new(FetcherThreading::Multiplexed, 2, split_reader);
        threads.add(&[split(0, 9)]);
        threads.no_more_splits();
        let error = loop {
            threads.run_fetchers();
            assert!(threads.reader.is_available(), "the task is told to look");
            match threads.poll() {
                Ok(status) => assert_ne!(status, EndOfInput),
                Err(error) => break error,
            }
        };
        assert!(error.message.ends_with("exception: the outside is gone"), "{error}");
        assert!(threads.alive.is_empty());
        assert!(threads.read.len() < fails_at as usize);
    }
}

#[test]
fn an_error_of_a_close_reaches_the_task_too() {
    let split_reader = TestSplitReader { fails_to_close: true, ..TestSplitReader::default() };
    let mut threads = Threads::new(FetcherThreading::Multiplexed, 2, split_reader);
    threads.add(&[split(0, 1)]);
    threads.run_fetchers();
    assert_eq!(threads.poll_all(), NothingAvailable);
    threads.run_fetchers();
    assert!(threads.poll().unwrap_err().message.ends_with("cannot close"));
}

#[test]
fn an_idle_fetcher_is_shut_down_and_a_later_split_starts_another() {
    let mut threads = Threads::new(FetcherThreading::Multiplexed, 2, TestSplitReader::default());
    threads.add(&[split(0, 1)]);
    threads.run_fetchers();
    assert_eq!(threads.poll(), Ok(MoreAvailable));
    assert_eq!(threads.poll(), Ok(NothingAvailable));
    assert!(threads.reader.manager().fetchers().is_empty());
    threads.run_fetchers();
    assert!(threads.alive.is_empty(), "its thread is over");
    threads.add(&[split(1, 1)]);
    assert_eq!(threads.alive, BTreeSet::from([FetcherNumber(1)]));
    threads.no_more_splits();
    assert_eq!(threads.run_to_the_end(), EndOfInput);
    assert_eq!(threads.read, [0, 100]);
}

#[test]
fn splits_are_paused_where_they_are_read() {
    let split_reader = TestSplitReader { blocks_at: VecDeque::from([1, 2, 3]), ..TestSplitReader::default() };
    let mut threads = Threads::new(FetcherThreading::PerSplit, 2, split_reader);
    threads.add(&[split(0, 9), split(1, 9)]);
    threads.run_fetchers();
    threads.reader.pause_or_resume_splits(&[id(1)], &[]).unwrap();
    threads.run_fetchers();
    threads.reader.pause_or_resume_splits(&[], &[id(1)]).unwrap();
    threads.run_fetchers();
    let calls = |at: usize| threads.reader.manager().fetchers()[at].reader().calls.clone();
    assert_eq!((calls(0), calls(1)), (vec![], vec!["wakeUp", "pause", "wakeUp", "resume"]));
}
