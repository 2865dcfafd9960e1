//! The head of the chain: the reader behind its port, its operating mode, its outputs, and the buffers that every poll
//! reuses.
//!
//! ```text
//! OutputNotInitialized ─first emit─▶ Reading ─reader ends──────────────▶ DataFinished (END_OF_DATA, then END_OF_INPUT)
//!          │       too far in event time │ ▲ the others catch up
//!          │                             ▼ │
//!          │               WaitingForAlignment
//!          └──────────── stop ─────────┴─▶ SourceDrained / SourceStopped ─▶ DataFinished (END_OF_DATA / STOPPED, ...)
//! ```
//! Flink's `SourceOperator` keeps the last splits in a list state; here the state is what a snapshot returns, and whoever
//! restores hands it back to [`SourceOperator::open`].

mod alignment;
#[cfg(test)]
mod alignment_tests;
mod outputs;
#[cfg(test)]
mod tests;

pub use outputs::SplitOutputs;

use crate::api::source::{InputStatus, PauseError, ReaderContext, ReaderPort, UserError};
use crate::defects::{Defect, DefectSet};
use crate::ids::{CheckpointId, SplitId};
use crate::message::{OperatorEvent, ReaderEvent, SplitPayload};
use crate::records::Record;
use alignment::Alignment;

/// What [`SourceOperator::emit_next`] does (Flink's `OperatingMode`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OperatingMode {
    /// Nothing was emitted yet: splits wait for their outputs.
    OutputNotInitialized,
    /// The reader is polled.
    Reading,
    /// The reader is too far ahead of its watermark group: nothing is polled until an announcement allows more.
    WaitingForAlignment,
    /// Stopped with a drain: END_OF_DATA comes next.
    SourceDrained,
    /// Stopped without one: STOPPED comes next.
    SourceStopped,
    /// Nothing but END_OF_INPUT comes.
    DataFinished,
}

/// Whether a stopped job also flushes what it holds (Flink's `StopMode`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StopMode {
    /// As at the end of the input: windows fire, writers flush.
    Drain,
    /// Nothing is flushed: the job is to go on from its savepoint.
    NoDrain,
}

/// What an emission tells its task (Flink's `DataInputStatus`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DataInputStatus {
    /// Emit again at once.
    MoreAvailable,
    /// Nothing now.
    NothingAvailable,
    /// No record comes any more; once (FACT 56).
    EndOfData,
    /// The source was stopped without a drain; once.
    Stopped,
    /// The input is over; from then on always.
    EndOfInput,
}

/// What ends the task's thread. Each is an exception in Flink.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SourceOperatorError {
    /// The reader threw.
    #[error("the source reader failed: {0}")]
    Reader(#[from] UserError),
    /// Splits could not be paused or resumed.
    #[error("watermark alignment failed: {0}")]
    Alignment(#[from] PauseError),
    /// Flink's `IllegalStateException` (FACT 57).
    #[error("Received unexpected operator event {0}")]
    UnexpectedEvent(String),
    /// Splits came after a stop that came before the first emission: there is no output for them. A
    /// `NullPointerException` in Flink (FACT 57).
    #[error("there is no output for {split}: the source was stopped before it emitted anything")]
    NoMainOutput {
        /// The first of the splits.
        split: SplitId,
    },
    /// Splits came after the reader's END_OF_INPUT: nobody would ever read them. Flink takes them (FACT 55).
    #[error("{split} was assigned to a reader that had ended: it would never be read")]
    SplitAfterEndOfInput {
        /// The first of the splits.
        split: SplitId,
    },
}

/// Flink's `SourceOperator` around a reader.
#[derive(Clone, Hash, Debug)]
pub struct SourceOperator {
    reader: Box<dyn ReaderPort>,
    /// What the reader asked for in its last call; emptied after each.
    context: ReaderContext,
    /// The records of the last poll; empty between turns.
    records: Vec<Record>,
    mode: OperatingMode,
    /// The reader itself said END_OF_INPUT: it will not be polled again, in this execution or after a drain.
    reader_ended: bool,
    /// Restored splits go into the registration, not to the reader (FACT 53).
    reassigns_on_recovery: bool,
    /// `None` before the first emission.
    outputs: Option<SplitOutputs>,
    /// Splits that came before the first emission.
    splits_to_initialize: Vec<SplitId>,
    /// `None` when the source waits for nobody in event time.
    alignment: Option<Box<Alignment>>,
    defects: DefectSet,
}

impl SourceOperator {
    /// Around this reader. `reassigns_on_recovery` is Flink's `SupportsSplitReassignmentOnRecovery` (FACT 53).
    #[must_use]
    pub fn new(reader: Box<dyn ReaderPort>, reassigns_on_recovery: bool, defects: DefectSet) -> Self {
        Self {
            reader,
            context: ReaderContext::default(),
            records: Vec::new(),
            mode: OperatingMode::OutputNotInitialized,
            reader_ended: false,
            reassigns_on_recovery,
            outputs: None,
            splits_to_initialize: Vec::new(),
            alignment: None,
            defects,
        }
    }

    /// What the next emission does.
    #[must_use]
    pub const fn mode(&self) -> OperatingMode {
        self.mode
    }

    /// Whether restored splits travel in the registration (FACT 53).
    #[must_use]
    pub const fn reassigns_on_recovery(&self) -> bool {
        self.reassigns_on_recovery
    }

    /// The per-split outputs; `None` before the first emission.
    #[must_use]
    pub const fn outputs(&self) -> Option<&SplitOutputs> {
        self.outputs.as_ref()
    }

    /// The reader.
    #[must_use]
    pub fn reader(&self) -> &dyn ReaderPort {
        self.reader.as_ref()
    }

    /// The reader, for its fetchers' turns.
    pub fn reader_mut(&mut self) -> &mut dyn ReaderPort {
        self.reader.as_mut()
    }

    /// What the reader asked for in its last call.
    pub const fn context(&mut self) -> &mut ReaderContext {
        &mut self.context
    }

    /// Restored splits to the reader, in one call and in their order; the registration; the reader's start (FACT 51).
    /// `tell` sends to the coordinator. What the reader asks for in its start is left in the context.
    pub fn open(&mut self, restored: Vec<SplitPayload>, tell: &mut dyn FnMut(ReaderEvent)) {
        let reported = if self.reassigns_on_recovery {
            restored
        } else {
            if !restored.is_empty() {
                self.splits_to_initialize.extend(restored.iter().map(|split| split.at.split));
                self.reader.add_splits(restored, &mut self.context);
                self.context.events.drain(..).for_each(&mut *tell);
            }
            Vec::new()
        };
        tell(ReaderEvent::Register { reported });
        debug_assert!(self.context.events.is_empty(), "nothing overtakes the registration");
        self.reader.start(&mut self.context);
    }

    /// Whether an emission would bring something, be it the news that nothing comes any more.
    #[must_use]
    pub fn is_available(&self) -> bool {
        match self.mode {
            OperatingMode::OutputNotInitialized | OperatingMode::Reading => self.reader.is_available(),
            OperatingMode::WaitingForAlignment => false,
            OperatingMode::SourceDrained | OperatingMode::SourceStopped | OperatingMode::DataFinished => true,
        }
    }

    /// Polls the reader once; its records are lent out by [`SourceOperator::take_records`]. Whoever may emit more
    /// before the mailbox has its turn asks [`SourceOperator::goes_on`].
    ///
    /// # Errors
    /// What the reader throws.
    pub fn emit_next(&mut self, batch_size_max: u32) -> Result<DataInputStatus, SourceOperatorError> {
        debug_assert!(batch_size_max >= 1, "a poll may hand on a record");
        debug_assert!(self.records.is_empty(), "the records of the last poll went down the chain");
        match self.mode {
            OperatingMode::Reading => {}
            OperatingMode::OutputNotInitialized => self.initialize_outputs(),
            OperatingMode::WaitingForAlignment => return Ok(DataInputStatus::NothingAvailable),
            _ => return Ok(self.emit_end()),
        }
        let status = self.reader.poll_next(batch_size_max, &mut self.records, &mut self.context)?;
        debug_assert!(self.records.len() <= batch_size_max as usize, "the batch is bounded");
        self.advance_outputs()?;
        Ok(match status {
            InputStatus::MoreAvailable => DataInputStatus::MoreAvailable,
            InputStatus::NothingAvailable => DataInputStatus::NothingAvailable,
            InputStatus::EndOfInput => {
                self.reader_ended = true;
                self.mode = OperatingMode::DataFinished;
                self.report_end();
                DataInputStatus::EndOfData
            }
        })
    }

    fn advance_outputs(&mut self) -> Result<(), SourceOperatorError> {
        let outputs = self.outputs.as_mut().expect("they are made before the first poll");
        let latest_ms = self.records.iter().map(|record| record.event_time_ms).max();
        let emitted = latest_ms.map(|event_time_ms| (self.records[0].split, event_time_ms));
        if let Some((split, event_time_ms)) = emitted {
            debug_assert!(self.records.windows(2).all(|pair| pair[0].split == pair[1].split));
            outputs.emitted(split, event_time_ms);
        }
        for split in self.context.idle.drain(..) {
            outputs.mark_idle(split);
        }
        for split in &self.context.finished {
            outputs.release(*split);
        }
        self.align(emitted)
    }

    /// Whether the same turn of the default action polls again: the reader was being read *before* the emission that
    /// answered `status`, it has more, the mailbox lets a batch be emitted (FACT 56), and nobody is waited for.
    #[must_use]
    pub fn goes_on(&self, before: OperatingMode, status: DataInputStatus, can_emit_batch: bool) -> bool {
        can_emit_batch
            && before == OperatingMode::Reading
            && status == DataInputStatus::MoreAvailable
            && self.mode == OperatingMode::Reading
    }

    fn initialize_outputs(&mut self) {
        debug_assert!(self.outputs.is_none(), "the outputs are made once");
        let mut outputs = SplitOutputs::default();
        for split in std::mem::take(&mut self.splits_to_initialize) {
            outputs.create(split);
        }
        self.outputs = Some(outputs);
        self.mode = OperatingMode::Reading;
    }

    fn emit_end(&mut self) -> DataInputStatus {
        let status = match self.mode {
            OperatingMode::SourceDrained => DataInputStatus::EndOfData,
            OperatingMode::SourceStopped => DataInputStatus::Stopped,
            _ => DataInputStatus::EndOfInput,
        };
        if std::mem::replace(&mut self.mode, OperatingMode::DataFinished) == OperatingMode::SourceDrained {
            self.report_end();
        }
        status
    }

    /// Stops reading; nothing when that is over anyway.
    pub fn stop(&mut self, mode: StopMode) {
        use OperatingMode::{OutputNotInitialized, Reading, WaitingForAlignment};
        if matches!(self.mode, OutputNotInitialized | Reading | WaitingForAlignment) {
            self.mode = match mode {
                StopMode::Drain => OperatingMode::SourceDrained,
                StopMode::NoDrain => OperatingMode::SourceStopped,
            };
        }
        debug_assert!(self.is_available(), "the task learns at once that nothing comes any more");
    }

    /// Lends the records of the last poll, with their room.
    pub fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    /// Gets the room back.
    pub fn give_back(&mut self, mut records: Vec<Record>) {
        records.clear();
        self.records = records;
    }

    /// The timer `ReaderWake` fired.
    pub fn wake(&mut self) {
        self.reader.wake();
    }

    /// An event of the coordinator.
    ///
    /// # Errors
    /// When the event is unknown, or brings splits that could not be read or put out.
    pub fn handle_operator_event(&mut self, event: OperatorEvent) -> Result<(), SourceOperatorError> {
        match event {
            OperatorEvent::AddSplits(splits) => return self.add_splits(splits),
            OperatorEvent::WatermarkAlignment { allowed_ms } => return self.allow(allowed_ms),
            OperatorEvent::NoMoreSplits => self.reader.notify_no_more_splits(&mut self.context),
            OperatorEvent::Custom(event) => self.reader.handle_source_event(event, &mut self.context),
            OperatorEvent::Unknown(event) => return Err(SourceOperatorError::UnexpectedEvent(event)),
        }
        Ok(())
    }

    fn add_splits(&mut self, splits: Vec<SplitPayload>) -> Result<(), SourceOperatorError> {
        if let Some(first) = splits.first()
            && self.reader_ended
            && !self.defects.has(Defect::SplitAfterEndOfInputLost)
        {
            return Err(SourceOperatorError::SplitAfterEndOfInput { split: first.at.split });
        }
        if self.mode == OperatingMode::OutputNotInitialized {
            self.splits_to_initialize.extend(splits.iter().map(|split| split.at.split));
        } else {
            for split in splits.iter().map(|split| split.at.split) {
                match &mut self.outputs {
                    Some(outputs) => outputs.create(split),
                    None => return Err(SourceOperatorError::NoMainOutput { split }),
                }
            }
        }
        self.reader.add_splits(splits, &mut self.context);
        Ok(())
    }

    /// The splits that the reader holds, at their positions.
    pub fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<SplitPayload> {
        debug_assert!(self.records.is_empty(), "no record is between reader and writer at a barrier");
        self.reader.snapshot_state(checkpoint)
    }

    /// A checkpoint is complete.
    pub fn notify_checkpoint_complete(&mut self, checkpoint: CheckpointId) {
        self.reader.notify_checkpoint_complete(checkpoint);
    }

    /// A checkpoint is aborted.
    pub fn notify_checkpoint_aborted(&mut self, checkpoint: CheckpointId) {
        self.reader.notify_checkpoint_aborted(checkpoint);
    }

    /// The task's thread ends, whether well or not.
    pub fn close(&mut self) {
        self.reader.close();
    }
}
