//! What Flink's own tests of these classes assert, as litmus tests, and a random schedule of all threads.

mod fetcher;
mod queue;
mod reader;

use super::*;
use crate::api::source::{InputStatus, PauseError, ReaderContext, SourceReader, SourceSplit, UserError};
use crate::config::FetcherThreading;
use crate::connectors::range_source::{RangeRecordEmitter, RangeSplit};
use crate::defects::DefectSet;
use crate::ids::{FetcherNumber, OperatorUid, SplitId};
use crate::records::{Record, SplitPosition};
use std::collections::{BTreeSet, VecDeque};

const fn id(index: u32) -> SplitId {
    SplitId { operator: OperatorUid(0), index }
}

/// Split `index` holds the numbers `index * 100 .. index * 100 + count`.
fn split(index: u32, count: u64) -> RangeSplit {
    let position = u64::from(index) * 100;
    RangeSplit { at: SplitPosition { split: id(index), position, end: position + count } }
}

fn record(split: SplitId, offset: u64) -> Record {
    Record { split, offset, event_time_ms: offset, key: offset, payload: Vec::new() }
}

/// Brings one record of each of its splits per fetch, and blocks where it is told to.
#[derive(Clone, Debug, Default, Hash)]
struct TestSplitReader {
    splits: Vec<RangeSplit>,
    /// The numbers of fetches that block, until time or a wake-up ends that.
    blocks_at: VecDeque<u32>,
    fails_at: Option<u32>,
    fails_to_close: bool,
    /// The end of a split comes in a batch of its own.
    ends_apart: bool,
    fetches: u32,
    blocked: bool,
    woken: bool,
    /// What a fetch brought in all: what the outside sees of back-pressure.
    records_fetched: u32,
    calls: Vec<&'static str>,
}

impl TestSplitReader {
    fn read(&mut self) -> RecordsBySplits {
        let mut batch = RecordsBySplits::default();
        let ends_apart = self.ends_apart;
        self.splits.retain_mut(|split| {
            let at = &mut split.at;
            if at.position < at.end {
                batch.add(at.split, [record(at.split, at.position)]);
                at.position += 1;
                if at.position < at.end || ends_apart {
                    return true;
                }
            }
            batch.add_finished(at.split);
            false
        });
        self.records_fetched += batch.record_count() as u32;
        batch
    }
}

impl SplitReader for TestSplitReader {
    type Split = RangeSplit;

    fn fetch(&mut self, _: u32) -> Result<Fetch, UserError> {
        if std::mem::take(&mut self.woken) {
            self.blocked = false;
            return Ok(Fetch::Records(RecordsBySplits::default()));
        }
        if !std::mem::take(&mut self.blocked) {
            self.fetches += 1;
            if self.blocks_at.front() == Some(&self.fetches) {
                self.blocks_at.pop_front();
                self.blocked = true;
                return Ok(Fetch::Blocked { for_ns: Some(1) });
            }
        }
        if self.fails_at == Some(self.fetches) {
            return Err(UserError::new("the outside is gone"));
        }
        Ok(Fetch::Records(self.read()))
    }

    fn handle_splits_changes(&mut self, change: SplitsChange<RangeSplit>) -> Result<(), UserError> {
        match change {
            SplitsChange::Addition(splits) => self.splits.extend(splits),
            SplitsChange::Removal(ids) => self.splits.retain(|split| !ids.contains(&split.at().split)),
        }
        Ok(())
    }

    fn wake_up(&mut self) {
        self.woken = true;
        self.calls.push("wakeUp");
    }

    fn pause_or_resume_splits(&mut self, pause: &[SplitId], _: &[SplitId]) -> Result<(), PauseError> {
        self.calls.push(if pause.is_empty() { "resume" } else { "pause" });
        Ok(())
    }

    fn close(&mut self) -> Result<(), UserError> {
        if self.fails_to_close { Err(UserError::new("cannot close")) } else { Ok(()) }
    }
}

type Reader = SourceReaderBase<TestSplitReader, RangeRecordEmitter>;

/// A reader, the threads of its fetchers, and a clock that is always late.
#[derive(Clone)]
struct Threads {
    reader: Reader,
    context: ReaderContext,
    alive: BTreeSet<FetcherNumber>,
    blocked: BTreeSet<FetcherNumber>,
    read: Vec<u64>,
}

impl Threads {
    fn new(threading: FetcherThreading, queue_capacity: u32, split_reader: TestSplitReader) -> Self {
        let options =
            ReaderOptions { threading, queue_capacity, pull: false, allows_unaligned_splits: false };
        Self {
            reader: SourceReaderBase::new(options, split_reader, RangeRecordEmitter, DefectSet::NONE),
            context: ReaderContext::default(),
            alive: BTreeSet::new(),
            blocked: BTreeSet::new(),
            read: Vec::new(),
        }
    }

    fn add(&mut self, splits: &[RangeSplit]) {
        self.reader.add_splits(splits.to_vec(), &mut self.context);
        for note in self.context.fetching.drain(..) {
            if let crate::api::source::FetchingNote::FetcherStarted(fetcher) = note {
                assert!(self.alive.insert(fetcher), "each starts once");
            }
        }
    }

    fn no_more_splits(&mut self) {
        self.reader.notify_no_more_splits(&mut self.context);
    }

    fn runnable(&self) -> Vec<FetcherNumber> {
        let could = |fetcher: &FetcherNumber| self.reader.fetcher_is_runnable(*fetcher);
        self.alive.iter().copied().filter(could).collect()
    }

    /// One turn of a fetcher.
    fn turn(&mut self, fetcher: FetcherNumber) -> FetcherContext {
        let mut context = FetcherContext::default();
        self.blocked.remove(&fetcher);
        self.reader.fetcher_turn(fetcher, 1, &mut context);
        if context.wake_after_ns.is_some() {
            self.blocked.insert(fetcher);
        }
        if context.ended.is_some() {
            self.alive.remove(&fetcher);
            self.blocked.remove(&fetcher);
        }
        context
    }

    /// The time of a blocked fetch is over.
    fn due(&mut self, fetcher: FetcherNumber) {
        self.blocked.remove(&fetcher);
        self.reader.fetch_due(fetcher);
    }

    /// The fetchers go on until all of them wait for something.
    fn run_fetchers(&mut self) {
        while let Some(fetcher) = self.runnable().first().copied() {
            self.turn(fetcher);
        }
    }

    /// As [`Self::run_fetchers`], with time going on.
    fn run_fetchers_on(&mut self) {
        self.run_fetchers();
        while let Some(fetcher) = self.blocked.first().copied() {
            self.due(fetcher);
            self.run_fetchers();
        }
    }

    fn poll(&mut self) -> Result<InputStatus, UserError> {
        let mut output = Vec::new();
        let status = self.reader.poll_next(1, &mut output, &mut self.context);
        self.context.fetching.clear();
        self.read.extend(output.into_iter().map(|record| record.offset));
        status
    }

    /// Polls until a status other than 'more available' comes, and answers it.
    fn poll_all(&mut self) -> InputStatus {
        loop {
            match self.poll().unwrap() {
                InputStatus::MoreAvailable => {}
                status => return status,
            }
        }
    }

    /// Runs everything to its end; fetchers first.
    fn run_to_the_end(&mut self) -> InputStatus {
        loop {
            self.run_fetchers_on();
            let status = self.poll_all();
            if status == InputStatus::EndOfInput
                || (self.runnable().is_empty() && !self.reader.is_available())
            {
                return status;
            }
        }
    }
}
