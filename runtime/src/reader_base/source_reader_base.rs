//! The reader in the task's thread: split states, and what the fetchers handed over (Flink's `SourceReaderBase`).

use super::split_fetcher::FetcherContext;
use super::split_fetcher_manager::SplitFetcherManager;
use super::split_reader::{RecordsBySplits, SplitReader};
use crate::api::input_io::InputAnswer;
use crate::api::source::{
    FetchingNote, InputStatus, PauseError, ReaderContext, SourceReader, SourceSplit, UserError,
};
use crate::config::FetcherThreading;
use crate::defects::{Defect, DefectSet};
use crate::ids::{CheckpointId, FetcherNumber, SplitId};
use crate::message::ReaderEvent;
use crate::records::Record;
use std::fmt::Debug;
use std::hash::Hash;

/// Moves a split's state behind a record that is emitted now (Flink's `RecordEmitter`).
pub trait RecordEmitter<S>: Clone + Debug + Hash + Send + Sync + 'static {
    /// The record goes out; a snapshot from here on does not read it again.
    fn emitted(&self, record: &Record, state: &mut S);
}

/// How a reader with fetchers works.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReaderOptions {
    /// Who fetches.
    pub threading: FetcherThreading,
    /// For how many batches the hand-over queue has room (`source.reader.element.queue.capacity`, 2 in Flink).
    pub queue_capacity: u32,
    /// Whether the reader asks for a split when it has none.
    pub pull: bool,
    /// Whether splits that a split reader cannot pause are read on.
    pub allows_unaligned_splits: bool,
}

/// The reader.
#[derive(Clone, Hash, Debug)]
pub struct SourceReaderBase<R: SplitReader, E> {
    manager: SplitFetcherManager<R>,
    emitter: E,
    /// The splits at their positions, in the order in which they came: the only state.
    splits: Vec<R::Split>,
    /// The batch that is being emitted.
    current: Option<RecordsBySplits>,
    pull: bool,
    no_more_splits: bool,
}

impl<R: SplitReader, E: RecordEmitter<R::Split>> SourceReaderBase<R, E> {
    /// A reader without splits whose fetchers read with copies of `split_reader`.
    #[must_use]
    pub fn new(options: ReaderOptions, split_reader: R, emitter: E, defects: DefectSet) -> Self {
        let unbounded = defects.has(Defect::HandOverQueueUnbounded);
        let queue_capacity = if unbounded { u32::MAX } else { options.queue_capacity };
        Self {
            manager: SplitFetcherManager::new(
                ReaderOptions { queue_capacity, ..options },
                split_reader,
                defects,
            ),
            emitter,
            splits: Vec::new(),
            current: None,
            pull: options.pull,
            no_more_splits: false,
        }
    }

    /// The fetchers, which a test may look at.
    #[must_use]
    pub const fn manager(&self) -> &SplitFetcherManager<R> {
        &self.manager
    }

    fn request_if_without_splits(&self, context: &mut ReaderContext) {
        if self.pull && self.splits.is_empty() && !self.no_more_splits {
            context.events.push(ReaderEvent::RequestSplit);
        }
    }

    /// Emits records of one split from the batch at hand, up to a gap in their offsets; answers how many.
    fn emit(&mut self, batch_size_max: u32, output: &mut Vec<Record>) -> Result<u32, UserError> {
        let Some(batch) = &mut self.current else { return Ok(0) };
        let Some(split) = batch.next_split() else { return Ok(0) };
        let Some(state) = self.splits.iter_mut().find(|state| state.at().split == split) else {
            return Err(UserError::new(format!("a fetcher brought records of {split}, which was not added")));
        };
        let mut count = 0;
        let mut expected = batch.next_offset();
        while count < batch_size_max && batch.next_split() == Some(split) && batch.next_offset() == expected {
            let record = batch.next_record().expect("the batch has a next split");
            expected = Some(record.offset + 1);
            self.emitter.emitted(&record, state);
            output.push(record);
            count += 1;
        }
        debug_assert!(count > 0, "a run of records is not empty");
        Ok(count)
    }

    /// The batch at hand is emitted: its finished splits leave the state.
    fn finish_batch(&mut self, context: &mut ReaderContext) {
        let Some(batch) = self.current.take() else { return };
        debug_assert_eq!(batch.record_count(), 0, "every record of the batch went out");
        if batch.finished().is_empty() {
            return;
        }
        self.splits.retain(|state| !batch.finished().contains(&state.at().split));
        context.finished.extend(batch.finished());
        self.request_if_without_splits(context);
    }

    fn finished_or_available_later(&mut self) -> Result<InputStatus, UserError> {
        let none_left = self.manager.shut_down_finished_fetchers();
        if !(self.no_more_splits && none_left) {
            return Ok(InputStatus::NothingAvailable);
        }
        if !self.manager.queue().is_empty() {
            // A fetcher handed its last batch over in between.
            return Ok(InputStatus::MoreAvailable);
        }
        // A fetcher that failed is gone too, and that is no end of input.
        self.manager.check_errors()?;
        Ok(InputStatus::EndOfInput)
    }
}

impl<R: SplitReader, E: RecordEmitter<R::Split>> SourceReader for SourceReaderBase<R, E> {
    type Split = R::Split;

    fn start(&mut self, context: &mut ReaderContext) {
        self.request_if_without_splits(context);
    }

    fn poll_next(
        &mut self,
        batch_size_max: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> Result<InputStatus, UserError> {
        if self.current.is_some() {
            if self.emit(batch_size_max, output)? > 0 {
                // Maybe there is no more: the next poll finds out, and no record pays for the question.
                return Ok(InputStatus::MoreAvailable);
            }
            self.finish_batch(context);
        }
        self.manager.check_errors()?;
        let Some(batch) = self.manager.queue_mut().poll() else { return self.finished_or_available_later() };
        context.fetching.push(FetchingNote::BatchTaken { queued: self.manager.queue().len() as u32 });
        self.current = Some(batch);
        if self.emit(batch_size_max, output)? > 0 {
            return Ok(InputStatus::MoreAvailable);
        }
        self.finish_batch(context);
        self.finished_or_available_later()
    }

    fn snapshot_state(&mut self, _checkpoint: CheckpointId) -> Vec<R::Split> {
        self.splits.clone()
    }

    /// The state of a split that is there already is replaced, as in Flink's map by split id: whatever the fetchers bring
    /// of either moves the one that is left, and the first end of the two takes it away.
    fn add_splits(&mut self, splits: Vec<R::Split>, context: &mut ReaderContext) {
        self.splits.retain(|held| splits.iter().all(|added| added.at().split != held.at().split));
        self.splits.extend(splits.iter().cloned());
        let mut started = Vec::new();
        self.manager.add_splits(splits, &mut started);
        context.fetching.extend(started.into_iter().map(FetchingNote::FetcherStarted));
    }

    fn notify_no_more_splits(&mut self, _context: &mut ReaderContext) {
        self.no_more_splits = true;
        self.manager.queue_mut().notify_available();
    }

    fn is_available(&self) -> bool {
        self.current.is_some() || self.manager.queue().is_available()
    }

    fn pause_or_resume_splits(&mut self, pause: &[SplitId], resume: &[SplitId]) -> Result<(), PauseError> {
        self.manager.pause_or_resume_splits(pause, resume);
        Ok(())
    }

    fn fetcher_is_runnable(&self, fetcher: FetcherNumber) -> bool {
        self.manager.is_runnable(fetcher)
    }

    fn fetcher_turn(&mut self, fetcher: FetcherNumber, records_max: u32, context: &mut FetcherContext) {
        self.manager.turn(fetcher, records_max, context);
    }

    fn fetch_due(&mut self, fetcher: FetcherNumber) {
        self.manager.fetch_due(fetcher);
    }

    fn fetch_answered(&mut self, fetcher: FetcherNumber, answer: InputAnswer) {
        self.manager.fetch_answered(fetcher, answer);
    }

    fn close(&mut self) {
        self.manager.close();
    }
}
