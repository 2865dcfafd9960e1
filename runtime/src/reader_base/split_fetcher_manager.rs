//! The fetchers of one reader, from the task's side: who reads what, who is idle, who failed.
//!
//! Flink's `SplitFetcherManager`, with two of its threading models: one fetcher for all splits
//! (`SingleThreadFetcherManager`), or one for each. A fetcher that has nothing left is shut down when the reader finds
//! nothing to read; a later split starts a new one.

use super::hand_over_queue::HandOverQueue;
use super::source_reader_base::ReaderOptions;
use super::split_fetcher::{FetcherContext, FetcherTask, SplitFetcher};
use super::split_reader::{RecordsBySplits, SplitReader};
use crate::api::input_io::InputAnswer;
use crate::api::source::UserError;
use crate::config::FetcherThreading;
use crate::defects::{Defect, DefectSet};
use crate::ids::{FetcherNumber, SplitId};

/// The fetchers.
#[derive(Clone, Hash, Debug)]
pub struct SplitFetcherManager<R: SplitReader> {
    threading: FetcherThreading,
    allows_unaligned: bool,
    /// What each fetcher gets a copy of.
    prototype: R,
    next_number: FetcherNumber,
    queue: HandOverQueue<RecordsBySplits>,
    fetchers: Vec<SplitFetcher<R>>,
    /// Told to end, and not there yet.
    leaving: Vec<SplitFetcher<R>>,
    /// The first error of a fetcher.
    error: Option<UserError>,
    closed: bool,
    defects: DefectSet,
}

impl<R: SplitReader> SplitFetcherManager<R> {
    /// No fetcher yet. Each will read with a copy of `prototype`, which has no splits.
    #[must_use]
    pub fn new(options: ReaderOptions, prototype: R, defects: DefectSet) -> Self {
        Self {
            threading: options.threading,
            allows_unaligned: options.allows_unaligned_splits,
            prototype,
            next_number: FetcherNumber(0),
            queue: HandOverQueue::new(options.queue_capacity),
            fetchers: Vec::new(),
            leaving: Vec::new(),
            error: None,
            closed: false,
            defects,
        }
    }

    /// The queue.
    #[must_use]
    pub const fn queue(&self) -> &HandOverQueue<RecordsBySplits> {
        &self.queue
    }

    /// The queue, for the reader to take from.
    pub const fn queue_mut(&mut self) -> &mut HandOverQueue<RecordsBySplits> {
        &mut self.queue
    }

    /// The fetchers that were not told to end.
    #[must_use]
    pub fn fetchers(&self) -> &[SplitFetcher<R>] {
        &self.fetchers
    }

    /// Hands splits to fetchers; tells which of these are new and must be started.
    pub fn add_splits(&mut self, splits: Vec<R::Split>, started: &mut Vec<FetcherNumber>) {
        debug_assert!(!self.closed, "splits come to a living reader");
        match self.threading {
            FetcherThreading::Multiplexed => {
                if self.fetchers.is_empty() {
                    started.push(self.create());
                }
                self.fetchers[0].enqueue(FetcherTask::AddSplits(splits), &mut self.queue);
            }
            FetcherThreading::PerSplit => {
                for split in splits {
                    started.push(self.create());
                    let fetcher = self.fetchers.last_mut().expect("one was just made");
                    fetcher.enqueue(FetcherTask::AddSplits(vec![split]), &mut self.queue);
                }
            }
        }
    }

    fn create(&mut self) -> FetcherNumber {
        let number = self.next_number;
        self.next_number = FetcherNumber(number.0 + 1);
        let reader = self.prototype.clone();
        self.fetchers.push(SplitFetcher::new(number, reader, self.allows_unaligned, self.defects));
        number
    }

    /// Takes splits away from whoever reads them.
    pub fn remove_splits(&mut self, splits: &[SplitId]) {
        for fetcher in &mut self.fetchers {
            let held = held_by(fetcher, splits);
            if !held.is_empty() {
                fetcher.enqueue(FetcherTask::RemoveSplits(held), &mut self.queue);
            }
        }
    }

    /// Pauses and resumes splits, each where it is read.
    pub fn pause_or_resume_splits(&mut self, pause: &[SplitId], resume: &[SplitId]) {
        let is_read = |split| self.fetchers.iter().any(|fetcher| fetcher.assigned().contains(split));
        if !pause.iter().chain(resume).all(is_read) && self.defects.has(Defect::PauseOfEndedSplitRefused) {
            return;
        }
        for fetcher in &mut self.fetchers {
            let (pause, resume) = (held_by(fetcher, pause), held_by(fetcher, resume));
            if !(pause.is_empty() && resume.is_empty()) {
                fetcher.enqueue(FetcherTask::PauseOrResumeSplits { pause, resume }, &mut self.queue);
            }
        }
    }

    /// Shuts down the fetchers that are idle; answers whether none is left.
    pub fn shut_down_finished_fetchers(&mut self) -> bool {
        let idle = |fetcher: &SplitFetcher<R>| fetcher.is_idle();
        while let Some(at) = self.fetchers.iter().position(idle) {
            let mut fetcher = self.fetchers.remove(at);
            fetcher.shut_down(&mut self.queue);
            self.leaving.push(fetcher);
        }
        let counts_leaving = self.defects.has(Defect::LastFetcherEndsSilently);
        self.fetchers.is_empty() && (self.leaving.is_empty() || !counts_leaving)
    }

    /// Hands a fetcher's error over to the task's thread.
    ///
    /// # Errors
    /// The first error of a fetcher.
    pub fn check_errors(&self) -> Result<(), UserError> {
        match &self.error {
            Some(error) => {
                Err(UserError::new(format!("one or more fetchers have encountered an exception: {error}")))
            }
            None => Ok(()),
        }
    }

    /// Shuts all of them down.
    pub fn close(&mut self) {
        self.closed = true;
        for mut fetcher in std::mem::take(&mut self.fetchers) {
            fetcher.shut_down(&mut self.queue);
            self.leaving.push(fetcher);
        }
        debug_assert!(self.fetchers.is_empty(), "nobody is left behind");
    }

    /// Whether a fetcher's thread could go on.
    #[must_use]
    pub fn is_runnable(&self, number: FetcherNumber) -> bool {
        let mut all = self.fetchers.iter().chain(&self.leaving);
        all.find(|fetcher| fetcher.number() == number).is_some_and(|fetcher| fetcher.is_runnable(&self.queue))
    }

    /// One turn of a fetcher's thread.
    pub fn turn(&mut self, number: FetcherNumber, records_max: u32, context: &mut FetcherContext) {
        let mut all = self.fetchers.iter_mut().chain(&mut self.leaving);
        let Some(fetcher) = all.find(|fetcher| fetcher.number() == number) else {
            debug_assert!(false, "a thread that has ended takes no turn");
            return;
        };
        fetcher.turn(records_max, &mut self.queue, context);
        if fetcher.is_idle() && self.defects.has(Defect::SplitReaderClosedEarly) {
            self.queue.change_untaken(number, RecordsBySplits::lose_records);
        }
        if let Some(error) = &context.ended {
            if let Some(error) = error {
                self.error.get_or_insert_with(|| error.clone());
            }
            self.fetchers.retain(|fetcher| fetcher.number() != number);
            self.leaving.retain(|fetcher| fetcher.number() != number);
            self.split_reader_closed();
            self.queue.forget(number);
            self.publish_end(error.is_some());
        }
    }

    /// A split reader is closed for good. Where a defect has all fetchers share one, it is the others' too.
    fn split_reader_closed(&mut self) {
        if self.defects.has(Defect::SplitReaderShared) {
            let of_others: Vec<SplitId> =
                self.fetchers.iter().flat_map(|fetcher| fetcher.assigned().iter().copied()).collect();
            self.remove_splits(&of_others);
        }
    }

    /// Fewer fetchers, or an error: the reader must look.
    fn publish_end(&mut self, failed: bool) {
        if failed || !self.defects.has(Defect::LastFetcherEndsSilently) {
            self.queue.notify_available();
        }
    }

    /// The time is over for which a fetcher's fetch blocks.
    pub fn fetch_due(&mut self, number: FetcherNumber) {
        let mut all = self.fetchers.iter_mut().chain(&mut self.leaving);
        if let Some(fetcher) = all.find(|fetcher| fetcher.number() == number) {
            fetcher.fetch_due();
        }
    }

    /// The answer to what a fetcher's fetch asked for; one that has ended does not care.
    pub fn fetch_answered(&mut self, number: FetcherNumber, answer: InputAnswer) {
        let mut all = self.fetchers.iter_mut().chain(&mut self.leaving);
        if let Some(fetcher) = all.find(|fetcher| fetcher.number() == number) {
            fetcher.fetch_answered(answer);
        }
    }
}

fn held_by<R: SplitReader>(fetcher: &SplitFetcher<R>, splits: &[SplitId]) -> Vec<SplitId> {
    splits.iter().copied().filter(|split| fetcher.assigned().contains(split)).collect()
}
