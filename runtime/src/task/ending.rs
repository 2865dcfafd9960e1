//! The end of the input, and of the task.
//!
//! ```text
//! EndOfInput · writer flush(true), prepare_commit ┆ TransactionPrepared · committables to the committer · END_OF_DATA
//! ```
//! in this order (FACTS 58-60); the job master hears of it last (┆ waits for the store). A task before an exchange sends
//! the end of the data on behind what its writer, if it has one, handed over, and finishes only once its consumers have
//! taken everything.
//!
//! With checkpoints the last transaction waits for one that began after the end (FACT 60, 96); with the final
//! checkpoint switched off it is prepared and never committed (FACT 97); without checkpoints it is committed at once
//! (FACT 79, 98).

use super::Task;
use super::status::TaskStatus;
use super::task_error::TaskError;
use crate::actor::Outbox;
use crate::defects::Defect;
use crate::event::EventKind;
use crate::ids::CheckpointId;
use crate::message::{ChannelElement, ExecutionState, JobManagerMessage, Stream};

impl Task {
    /// The reader returned END_OF_INPUT, or the data of every channel has ended.
    pub(super) fn end_input(&mut self, outbox: &mut Outbox) -> Result<(), TaskError> {
        debug_assert_eq!(self.status, TaskStatus::Running);
        debug_assert!(!self.input_ended, "the input ends once");
        outbox.emit(EventKind::EndOfInput);
        let Some(writer) = &mut self.tail.writer else { return self.data_ended(outbox) };
        writer.end_input(&mut self.store, outbox);
        self.status = TaskStatus::PreparingEndOfInput;
        if writer.is_idle() { self.prepared_end_of_input(outbox) } else { Ok(()) }
    }

    /// The last `prepare_commit` is settled.
    pub(super) fn prepared_end_of_input(&mut self, outbox: &mut Outbox) -> Result<(), TaskError> {
        debug_assert_eq!(self.status, TaskStatus::PreparingEndOfInput);
        let prepared = self.tail.writer_mut().take_prepared();
        self.status = TaskStatus::Running;
        self.hand_over(prepared, true, outbox)?;
        self.data_ended(outbox)
    }

    /// The task has done what it does at the end of its data: who comes behind it and the job master hear of it.
    fn data_ended(&mut self, outbox: &mut Outbox) -> Result<(), TaskError> {
        debug_assert!(!self.input_ended && self.status == TaskStatus::Running);
        self.input_ended = true;
        self.tail.broadcast(&ChannelElement::EndOfData { drain: true }, outbox);
        let attempt = self.descriptor.attempt;
        let message = JobManagerMessage::EndOfData { attempt };
        self.tell_job_manager(Stream::SubtaskEvents(attempt), message, None, outbox);
        if self.tail.committer.as_ref().is_some_and(|committer| committer.commits_at_end()) {
            return self.commit(None, None, outbox);
        }
        // A drain: what was flushed goes into the savepoint that ends the job.
        if let Some(savepoint) = self.progress.stop {
            return self.begin_checkpoint(savepoint, outbox);
        }
        self.finish_if_due(outbox);
        Ok(())
    }

    /// Ends the thread well, when nothing is left to wait for.
    pub(super) fn finish_if_due(&mut self, outbox: &mut Outbox) {
        debug_assert_eq!(self.status, TaskStatus::Running);
        let is_awaited = !self.descriptor.defects.has(Defect::FinalCheckpointNotAwaited);
        let waits_for_checkpoint =
            self.descriptor.checkpointing && self.descriptor.final_checkpoint && is_awaited;
        let covered = self.progress.last_completed.is_some_and(|completed| self.covers_end(completed));
        let is_done = match self.progress.stop {
            Some(savepoint) => self.progress.last_completed >= Some(savepoint),
            None => self.input_ended && (covered || !waits_for_checkpoint),
        };
        if is_done && self.head.has_ended() && self.tail.is_taken() && !self.owes_reading() {
            self.tail.broadcast(&ChannelElement::EndOfPartition, outbox);
            tracing::debug!(attempt = %self.descriptor.attempt, "task finished");
            self.tell_state(ExecutionState::Finished, outbox);
            self.end(ExecutionState::Finished, None, outbox);
        }
    }

    /// Whether this checkpoint began after the end of the input.
    pub(super) fn covers_end(&self, checkpoint: CheckpointId) -> bool {
        self.progress.first_after_end.is_some_and(|first| checkpoint >= first)
    }

    /// Splits that arrived and were not looked at yet: whoever sent them takes them for delivered. When they are looked at,
    /// the ended reader refuses them, and the task fails instead of finishing without them.
    fn owes_reading(&self) -> bool {
        let refuses = self.input_ended && self.progress.stop.is_none();
        refuses
            && self.mailbox.brings_splits()
            && !self.descriptor.defects.has(Defect::SplitToFinishedTaskLost)
    }
}
