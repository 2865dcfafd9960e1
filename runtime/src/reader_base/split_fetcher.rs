//! One fetcher's thread: its tasks in order, and fetching in between.
//!
//! ```text
//! BetweenTasks ─ task ──▶ BetweenTasks
//!      └─ fetch ─▶ Fetching ⟲ (blocked: time or wake-up) ─▶ Putting ⟲ (full: room or wake-up) ─▶ BetweenTasks
//! ```
//! A wake-up makes a blocked fetch come back and a blocked put give up, so that a new task is not kept waiting; a batch
//! that could not be put stays in hand and is put before the next fetch. Flink's `SplitFetcher` and `FetchTask`.

use super::hand_over_queue::{HandOverQueue, PutOutcome};
use super::idle_flag::{IdleFlag, STANDS_STILL_NS};
use super::split_reader::{Fetch, RecordsBySplits, SplitReader, SplitsChange};
use crate::api::input_io::{InputAnswer, InputOperation};
use crate::api::source::{PauseError, SourceSplit, UserError};
use crate::defects::{Defect, DefectSet};
use crate::ids::{FetcherNumber, SplitId};
use std::collections::VecDeque;

/// What a fetcher's turn wants done and told.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct FetcherContext {
    /// Set the fetcher's timer to fire after so many nanoseconds.
    pub wake_after_ns: Option<u64>,
    /// Carry this out for the fetch; its answer goes to [`SplitFetcher::fetch_answered`].
    pub asks: Option<InputOperation>,
    /// A fetch came back with so many records; they are in hand.
    pub fetched: Option<u32>,
    /// The batch in hand went into the queue, which then held so many.
    pub handed_over: Option<u32>,
    /// The thread has ended, with this error when it was one.
    pub ended: Option<Option<UserError>>,
}

/// Something that the task's thread wants done in the fetcher's.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FetcherTask<S> {
    /// Read these splits too.
    AddSplits(Vec<S>),
    /// Read these splits no more.
    RemoveSplits(Vec<SplitId>),
    /// Watermark alignment.
    PauseOrResumeSplits {
        /// Read these no more until they are resumed.
        pause: Vec<SplitId>,
        /// Read these again.
        resume: Vec<SplitId>,
    },
}

/// Where the thread is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stage {
    /// About to take a task, or to fetch; with neither it waits.
    BetweenTasks,
    /// In a fetch that blocks or waits for an answer; `due` when it is to be called again.
    Fetching { due: bool },
    /// With a batch in hand that was not put yet.
    Putting,
    /// In line for room.
    InLine,
}

/// A fetcher.
#[derive(Clone, Hash, Debug)]
pub struct SplitFetcher<R: SplitReader> {
    number: FetcherNumber,
    reader: R,
    tasks: VecDeque<FetcherTask<R::Split>>,
    /// What it reads; without any it does not fetch.
    assigned: Vec<SplitId>,
    stage: Stage,
    in_hand: Option<RecordsBySplits>,
    /// The round that runs now is to come to its end.
    woken: bool,
    closed: bool,
    /// A split reader that cannot pause splits reads them on.
    allows_unaligned: bool,
    /// Splits that have ended and are still counted; only a defect has any.
    settling: Vec<SplitId>,
    /// Only a defect looks at it.
    idle_flag: IdleFlag,
    defects: DefectSet,
}

impl<R: SplitReader> SplitFetcher<R> {
    /// A fetcher without splits. `allows_unaligned`: not being able to pause them is no error.
    #[must_use]
    pub fn new(number: FetcherNumber, reader: R, allows_unaligned: bool, defects: DefectSet) -> Self {
        Self {
            number,
            reader,
            allows_unaligned,
            settling: Vec::new(),
            idle_flag: IdleFlag::default(),
            defects,
            tasks: VecDeque::new(),
            assigned: Vec::new(),
            stage: Stage::BetweenTasks,
            in_hand: None,
            woken: false,
            closed: false,
        }
    }

    /// Its number.
    #[must_use]
    pub const fn number(&self) -> FetcherNumber {
        self.number
    }

    /// The split reader, which a test may look at from outside.
    #[must_use]
    pub const fn reader(&self) -> &R {
        &self.reader
    }

    /// What it reads.
    #[must_use]
    pub fn assigned(&self) -> &[SplitId] {
        &self.assigned
    }

    /// Whether it has nothing to do and nothing to come.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        if self.defects.has(Defect::IdleFlagOverAddedSplit) {
            return self.idle_flag == IdleFlag::Set;
        }
        self.has_nothing_to_do()
    }

    fn has_nothing_to_do(&self) -> bool {
        self.assigned.is_empty() && self.tasks.is_empty() && self.stage == Stage::BetweenTasks
    }

    /// Whether it holds a batch that the queue has not taken.
    #[must_use]
    pub const fn has_in_hand(&self) -> bool {
        self.in_hand.is_some()
    }

    /// Whether its thread could go on.
    #[must_use]
    pub fn is_runnable(&self, queue: &HandOverQueue<RecordsBySplits>) -> bool {
        match self.stage {
            Stage::BetweenTasks => {
                let is_flagging = self.idle_flag == IdleFlag::Checked { due: true };
                self.closed || !self.tasks.is_empty() || !self.assigned.is_empty() || is_flagging
            }
            Stage::Fetching { due } => due,
            Stage::Putting => true,
            Stage::InLine => queue.lets_try(self.number),
        }
    }

    /// A task for it, from the task's thread.
    pub fn enqueue(&mut self, task: FetcherTask<R::Split>, queue: &mut HandOverQueue<RecordsBySplits>) {
        debug_assert!(!self.closed, "a fetcher that was shut down is given nothing");
        self.tasks.push_back(task);
        self.idle_flag.clear();
        self.wake_up(queue);
    }

    /// Brings what it does now to an end, so that it looks at its tasks.
    pub fn wake_up(&mut self, queue: &mut HandOverQueue<RecordsBySplits>) {
        match &mut self.stage {
            Stage::BetweenTasks => {}
            Stage::Fetching { due } => {
                *due = true;
                self.woken = true;
                self.reader.wake_up();
            }
            Stage::Putting | Stage::InLine => {
                self.woken = true;
                queue.wake_up_putter(self.number);
            }
        }
    }

    /// Its time in a blocked fetch is over.
    pub fn fetch_due(&mut self) {
        self.idle_flag.go_on();
        if let Stage::Fetching { due } = &mut self.stage {
            *due = true;
        }
    }

    /// The answer to what a fetch asked for.
    pub fn fetch_answered(&mut self, answer: InputAnswer) {
        self.reader.answered(answer);
        self.fetch_due();
    }

    /// Ends it, in the middle of a fetch too.
    pub fn shut_down(&mut self, queue: &mut HandOverQueue<RecordsBySplits>) {
        self.closed = true;
        self.wake_up(queue);
        debug_assert!(self.is_runnable(queue), "it learns of it at once");
    }

    /// One turn of its thread; the context says when it was the last.
    pub fn turn(
        &mut self,
        records_max: u32,
        queue: &mut HandOverQueue<RecordsBySplits>,
        context: &mut FetcherContext,
    ) {
        debug_assert!(self.is_runnable(queue), "a blocked thread takes no turn");
        debug_assert!(self.in_hand.is_none() || self.stage != (Stage::Fetching { due: true }));
        if self.settles() {
            return;
        }
        if self.idle_flag.set_if_checked() {
            return queue.notify_available();
        }
        let outcome = match self.stage {
            Stage::BetweenTasks if self.closed => return self.end(None, context),
            Stage::BetweenTasks => match self.tasks.pop_front() {
                Some(task) => self.run_task(task),
                None if self.in_hand.is_some() => {
                    self.stage = Stage::Putting;
                    Ok(())
                }
                None => self.fetch(records_max, context),
            },
            Stage::Fetching { .. } => self.fetch(records_max, context),
            Stage::Putting if self.woken => {
                self.woken = false;
                self.stage = Stage::BetweenTasks;
                Ok(())
            }
            Stage::Putting | Stage::InLine => {
                self.put(queue, context);
                Ok(())
            }
        };
        if let Err(error) = outcome {
            return self.end(Some(error), context);
        }
        if self.has_nothing_to_do() {
            self.becomes_idle(queue, context);
        }
    }

    /// The reader may have looked at the queue for the last time before the fetcher became idle.
    fn becomes_idle(&mut self, queue: &mut HandOverQueue<RecordsBySplits>, context: &mut FetcherContext) {
        if self.defects.has(Defect::IdleFlagOverAddedSplit) {
            self.idle_flag = IdleFlag::Checked { due: false };
            context.wake_after_ns = Some(STANDS_STILL_NS);
        } else {
            queue.notify_available();
        }
    }

    /// Splits leave that have ended a turn before; nobody is told.
    fn settles(&mut self) -> bool {
        let settled = std::mem::take(&mut self.settling);
        self.assigned.retain(|split| !settled.contains(split));
        !settled.is_empty()
    }

    fn run_task(&mut self, task: FetcherTask<R::Split>) -> Result<(), UserError> {
        match task {
            FetcherTask::AddSplits(splits) => {
                self.assigned.extend(splits.iter().map(|split| split.at().split));
                self.reader.handle_splits_changes(SplitsChange::Addition(splits))
            }
            FetcherTask::RemoveSplits(splits) => {
                self.assigned.retain(|split| !splits.contains(split));
                self.reader.handle_splits_changes(SplitsChange::Removal(splits))
            }
            FetcherTask::PauseOrResumeSplits { pause, resume } => {
                let outcome = self.reader.pause_or_resume_splits(&pause, &resume);
                PauseError::tolerate(outcome, self.allows_unaligned)
                    .map_err(|error| UserError::new(error.to_string()))
            }
        }
    }

    fn fetch(&mut self, records_max: u32, context: &mut FetcherContext) -> Result<(), UserError> {
        debug_assert!(self.in_hand.is_none(), "what is in hand is put before the next fetch");
        match self.reader.fetch(records_max)? {
            Fetch::Blocked { for_ns } => {
                debug_assert!(!self.woken, "a reader that was woken up comes back");
                self.stage = Stage::Fetching { due: false };
                context.wake_after_ns = for_ns;
            }
            Fetch::Asks(operation) => {
                debug_assert!(!self.woken, "a reader that was woken up comes back");
                self.stage = Stage::Fetching { due: false };
                context.asks = Some(operation);
            }
            Fetch::Records(records) => {
                context.fetched = Some(records.record_count() as u32);
                self.in_hand = Some(records);
                self.stage =
                    if std::mem::take(&mut self.woken) { Stage::BetweenTasks } else { Stage::Putting };
            }
        }
        Ok(())
    }

    fn put(&mut self, queue: &mut HandOverQueue<RecordsBySplits>, context: &mut FetcherContext) {
        let batch = self.in_hand.take().expect("a batch is in hand");
        let finished = batch.finished().to_vec();
        match queue.put(self.number, batch) {
            PutOutcome::Done => {
                context.handed_over = Some(queue.len() as u32);
                self.count_out(finished);
                self.stage = Stage::BetweenTasks;
            }
            PutOutcome::Full(batch) => {
                self.in_hand = Some(batch);
                self.stage = Stage::InLine;
                return;
            }
            PutOutcome::Woken(batch) => {
                self.in_hand = Some(batch);
                self.stage = Stage::BetweenTasks;
            }
        }
        self.woken = false;
    }

    /// These have ended, and their end is in the queue.
    fn count_out(&mut self, finished: Vec<SplitId>) {
        if self.defects.has(Defect::IdleFetcherSilent) {
            self.settling = finished;
        } else {
            self.assigned.retain(|split| !finished.contains(split));
        }
    }

    fn end(&mut self, error: Option<UserError>, context: &mut FetcherContext) {
        debug_assert!(self.closed || error.is_some(), "a fetcher ends for a reason");
        // What it holds in hand goes with it: nobody but the outside knows that it was fetched.
        let error = error.or(self.reader.close().err());
        context.ended = Some(error);
    }
}
