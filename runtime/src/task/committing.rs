//! Completion notices, commits, and the store's answers.

use super::Task;
use super::chain::{Head, Tail};
use super::checkpoint_committer::{CommitProgress, CommitTurn};
use super::committable_collector::END_OF_INPUT;
use super::status::TaskStatus;
use super::task_error::TaskError;
use crate::actor::Outbox;
use crate::api::sink::StoreAnswer;
use crate::defects::Defect;
use crate::event::EventKind;
use crate::ids::{CallId, CheckpointId};
use crate::message::{Notice, StoreReply, Timer};

impl Task {
    /// A checkpoint is complete.
    pub(super) fn notify_checkpoint_complete(
        &mut self,
        notice: Notice,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        let Notice { checkpoint, addressee, epoch } = notice;
        debug_assert_eq!(self.status, TaskStatus::Running, "notices wait while the task waits");
        outbox.emit(EventKind::CompletionNoticed { checkpoint, addressee, epoch });
        self.progress.last_completed = self.progress.last_completed.max(Some(checkpoint));
        self.user_code.completed(checkpoint, outbox)?;
        if let Head::Source(source) = &mut self.head {
            source.notify_checkpoint_complete(checkpoint);
        }
        if self.tail.committer.is_none() {
            self.finish_if_due(outbox);
            return Ok(());
        }
        if self.descriptor.defects.has(Defect::CommitsWaitForTheEnd) && !self.input_ended {
            return Ok(());
        }
        // An older notice that comes late finds everything up to the newest known one (FACT 65).
        let noticed = self.progress.last_completed.expect("it was set just now");
        self.commit(Some(self.commits_up_to(noticed)), Some(noticed), outbox)
    }

    /// Up to where a completed checkpoint lets the committer commit. A number that stands for the end of the input is above
    /// every checkpoint's, and needs a rule of its own: whether any checkpoint will do, or only one that began behind it.
    fn commits_up_to(&self, noticed: CheckpointId) -> CheckpointId {
        let with_magic_id = [Defect::EndOfInputMagicId, Defect::SecondEndOfInputRejected];
        match self.descriptor.defects.first_of(&with_magic_id) {
            Some(Defect::EndOfInputMagicId) if self.input_ended => END_OF_INPUT,
            Some(Defect::SecondEndOfInputRejected) if self.covers_end(noticed) => END_OF_INPUT,
            _ => noticed,
        }
    }

    /// Commits everything up to a checkpoint, or what is left at the end of the input; `noticed` is the checkpoint that is
    /// known as complete.
    pub(super) fn commit(
        &mut self,
        up_to: Option<CheckpointId>,
        noticed: Option<CheckpointId>,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        debug_assert_eq!(self.status, TaskStatus::Running, "one commit at a time");
        self.status = TaskStatus::Committing(noticed);
        let committer = self.tail.committer_mut();
        let turn = &mut CommitTurn { store: &mut self.store, outbox, emit: &mut |_| {} };
        let progress = match up_to {
            Some(checkpoint) => committer.notify_checkpoint_complete(checkpoint, turn)?,
            None => committer.end_input(turn)?,
        };
        match progress {
            CommitProgress::Settled => self.committed(noticed, outbox),
            CommitProgress::Waiting => {}
        }
        Ok(())
    }

    /// Every commit is answered.
    fn committed(&mut self, noticed: Option<CheckpointId>, outbox: &mut Outbox) {
        debug_assert_eq!(self.status, TaskStatus::Committing(noticed));
        self.status = TaskStatus::Running;
        if let Some(checkpoint) = noticed {
            outbox.emit(EventKind::CommitsSettled { checkpoint });
        }
        self.finish_if_due(outbox);
    }

    /// The store replies.
    pub(super) fn store_replied(
        &mut self,
        call: CallId,
        reply: StoreReply,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        if self.awaits(call) {
            self.store.answered(call, outbox);
            return self.store_answered(call, reply.into(), outbox);
        }
        // The call was given up and asked again under a new number.
        tracing::debug!(attempt = %self.descriptor.attempt, %call, "late reply dropped");
        Ok(())
    }

    /// The time that the writer asked for has come.
    pub(super) fn wake_writer(&mut self, outbox: &mut Outbox) {
        debug_assert_eq!(self.status, TaskStatus::Running, "a busy thread fires no timer");
        self.tail.writer_mut().on_processing_time(&mut self.store, outbox);
        self.set_writer_timer(outbox);
    }

    pub(super) fn set_writer_timer(&self, outbox: &mut Outbox) {
        let Some(writer) = &self.tail.writer else { return };
        if self.never_wakes_writer() {
            return;
        }
        if let Some(after_ms) = writer.wake_after_ms() {
            outbox.set_timer(Timer::WriterWake, after_ms * 1_000_000);
        }
    }

    /// Whether the timer was forgotten where this task began.
    fn never_wakes_writer(&self) -> bool {
        let is_restored = self.progress.restored().is_some();
        let forgets = [Defect::BucketChecksEndAtRestart, Defect::NoBucketChecksOnFreshStart];
        match self.descriptor.defects.first_of(&forgets) {
            Some(Defect::BucketChecksEndAtRestart) => is_restored,
            Some(_) => !is_restored,
            None => false,
        }
    }

    /// A call has had no reply in time.
    pub(super) fn store_call_timed_out(
        &mut self,
        call: CallId,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        if self.awaits(call) { self.store_answered(call, StoreAnswer::Unknown, outbox) } else { Ok(()) }
    }

    fn awaits(&self, call: CallId) -> bool {
        let Tail { writer, committer, .. } = &self.tail;
        writer.as_ref().is_some_and(|writer| writer.awaits(call))
            || committer.as_ref().is_some_and(|committer| committer.records_of(call).is_some())
    }

    fn store_answered(
        &mut self,
        call: CallId,
        answer: StoreAnswer,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        debug_assert!(self.awaits(call), "the caller looked before");
        let committer = self.tail.committer.as_ref();
        if let Some(records) = committer.and_then(|committer| committer.records_of(call)) {
            if matches!(answer, StoreAnswer::Done { .. }) {
                self.user_code.committing(records, outbox)?;
            }
            return self.commit_answered(call, answer, outbox);
        }
        let writer = self.tail.writer_mut();
        writer.answered(answer, &mut self.store, outbox)?;
        if !writer.is_idle() {
            return Ok(());
        }
        match self.status {
            TaskStatus::OpeningWriter => self.start(outbox),
            TaskStatus::PreparingCheckpoint(checkpoint) => self.prepared_checkpoint(checkpoint, outbox),
            TaskStatus::PreparingEndOfInput => self.prepared_end_of_input(outbox),
            _ => Ok(()),
        }
    }

    fn commit_answered(
        &mut self,
        call: CallId,
        answer: StoreAnswer,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        debug_assert!(matches!(self.status, TaskStatus::Committing(_) | TaskStatus::Recommitting));
        let committer = self.tail.committer_mut();
        let turn = &mut CommitTurn { store: &mut self.store, outbox, emit: &mut |_| {} };
        match (committer.answered(call, answer, turn)?, self.status) {
            (CommitProgress::Waiting, _) => Ok(()),
            (CommitProgress::Settled, TaskStatus::Recommitting) => self.recommitted(outbox),
            (CommitProgress::Settled, TaskStatus::Committing(noticed)) => {
                self.committed(noticed, outbox);
                Ok(())
            }
            (CommitProgress::Settled, status) => unreachable!("no commit is under way in {status:?}"),
        }
    }
}
