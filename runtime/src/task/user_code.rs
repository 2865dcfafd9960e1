//! The failures that a scenario plants into user code: one record at one of five moments, or one checkpoint at one of
//! three, in the first few attempts.

use super::chain::{Head, Tail};
use super::task_error::TaskError;
use crate::actor::Outbox;
use crate::config::{CheckpointFailure, CheckpointMoment, FailureMoment, TaskConfig, UserFailure};
use crate::event::EventKind;
use crate::ids::{CheckpointId, ExecutionAttemptId};
use crate::records::{Record, RecordRanges};

/// What user code is going to throw, if anything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UserCode {
    armed: Option<UserFailure>,
    checkpoint: Option<CheckpointFailure>,
    /// This is the subtask that the checkpoint fails; the others only stall.
    is_failing_subtask: bool,
    /// The subtask has acknowledged the checkpoint with which it fails, and nobody has heard how that one ended.
    pending: bool,
    /// The record is in a prepared transaction that no acknowledged snapshot holds yet.
    prepared: bool,
}

impl UserCode {
    /// Armed only in the attempts below the bound, and only with what fails in this part of the chain: before an
    /// exchange there is no writer or no committer, behind it no reader and no user function.
    #[must_use]
    pub(super) fn new(config: &TaskConfig, execution: ExecutionAttemptId, head: &Head, tail: &Tail) -> Self {
        let attempt = execution.attempt.0;
        let has_reader = matches!(head, Head::Source(_));
        let armed = config.user_failure.filter(|failure| {
            let is_here = match failure.moment {
                FailureMoment::Read => has_reader,
                FailureMoment::Committing => tail.committer.is_some(),
                _ => tail.writer.is_some(),
            };
            attempt < failure.attempts_below && is_here
        });
        let checkpoint =
            config.checkpoint_failure.filter(|failure| attempt < failure.attempts_below && has_reader);
        debug_assert!(armed.is_none() || config.user_failure.is_some());
        let is_failing_subtask = checkpoint.is_some_and(|failure| failure.subtask == execution.subtask.0);
        Self { armed, checkpoint, is_failing_subtask, pending: false, prepared: false }
    }

    /// The failure has come as often as it is meant to, here or elsewhere in the job.
    pub const fn disarm(&mut self) {
        self.armed = None;
        self.checkpoint = None;
        self.pending = false;
        self.prepared = false;
    }

    /// For how many nanoseconds user code stalls when the barrier of this checkpoint comes; `None` for not at all.
    #[must_use]
    pub fn stalls_at(&self, checkpoint: CheckpointId) -> Option<u64> {
        let failure = self.checkpoint.filter(|failure| failure.checkpoint == checkpoint.0)?;
        match failure.moment {
            CheckpointMoment::Pending { stall_ns } if !self.is_failing_subtask => Some(stall_ns),
            _ => None,
        }
    }

    /// The reader took its snapshot.
    ///
    /// # Errors
    /// When user code throws at that moment.
    pub fn reader_snapshot(&self, checkpoint: CheckpointId, outbox: &mut Outbox) -> Result<(), TaskError> {
        self.throw_in(checkpoint, CheckpointMoment::ReaderSnapshot, outbox)
    }

    /// The notice of a completion came.
    ///
    /// # Errors
    /// When user code throws at that moment.
    pub fn completed(&self, checkpoint: CheckpointId, outbox: &mut Outbox) -> Result<(), TaskError> {
        self.throw_in(checkpoint, CheckpointMoment::Completed, outbox)
    }

    fn throw_in(
        &self,
        checkpoint: CheckpointId,
        moment: CheckpointMoment,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        let fails = self.is_failing_subtask
            && self
                .checkpoint
                .is_some_and(|failure| failure.checkpoint == checkpoint.0 && failure.moment == moment);
        if fails {
            // There is no record at this moment: its place is taken by the checkpoint.
            let (record, attempts_below) = (checkpoint.0, 1);
            let moment = moment.failure_moment();
            return Err(Self::throw(UserFailure { record, attempts_below, moment }, outbox));
        }
        Ok(())
    }

    /// Where a batch is cut, and the failure that cuts it: an exception at record k leaves those before it handed on
    /// and written. At [`FailureMoment::Write`] the writer has taken the record itself too.
    #[must_use]
    pub fn cut(&self, records: &[Record]) -> Option<(usize, UserFailure)> {
        if self.pending {
            let record = records.first()?.offset;
            let failure = UserFailure { record, attempts_below: 1, moment: FailureMoment::CheckpointPending };
            return Some((0, failure));
        }
        let failure = self.armed?;
        let index = match failure.moment {
            FailureMoment::Read => 0,
            FailureMoment::Write => 1,
            _ => return None,
        };
        let at = records.iter().position(|record| record.offset == failure.record)?;
        Some((at + index, failure))
    }

    /// `prepare_commit` gave these records.
    ///
    /// # Errors
    /// When user code throws at that moment.
    pub fn prepared(&mut self, records: &RecordRanges, outbox: &mut Outbox) -> Result<(), TaskError> {
        if self.armed.is_some_and(|failure| holds(records, failure.record)) {
            debug_assert!(!self.prepared, "a record is prepared once in an attempt");
            self.prepared = true;
            return self.throw_at(FailureMoment::Prepared, outbox);
        }
        Ok(())
    }

    /// The snapshot that holds everything prepared so far was acknowledged.
    ///
    /// # Errors
    /// When user code throws at that moment.
    pub fn acknowledged(&mut self, checkpoint: CheckpointId, outbox: &mut Outbox) -> Result<(), TaskError> {
        self.pending = self.is_failing_subtask
            && self.checkpoint.is_some_and(|failure| {
                failure.checkpoint == checkpoint.0
                    && matches!(failure.moment, CheckpointMoment::Pending { .. })
            });
        if std::mem::take(&mut self.prepared) {
            return self.throw_at(FailureMoment::Snapshot, outbox);
        }
        Ok(())
    }

    /// The store's reply to the commit of these records arrived.
    ///
    /// # Errors
    /// When user code throws at that moment.
    pub fn committing(&self, records: &RecordRanges, outbox: &mut Outbox) -> Result<(), TaskError> {
        if self.armed.is_some_and(|failure| holds(records, failure.record)) {
            return self.throw_at(FailureMoment::Committing, outbox);
        }
        Ok(())
    }

    /// Throws.
    #[must_use]
    pub fn throw(failure: UserFailure, outbox: &mut Outbox) -> TaskError {
        let UserFailure { record, moment, .. } = failure;
        outbox.emit(EventKind::UserFailure { moment, record });
        TaskError::UserCode { moment, record }
    }

    fn throw_at(&self, moment: FailureMoment, outbox: &mut Outbox) -> Result<(), TaskError> {
        match self.armed {
            Some(failure) if failure.moment == moment => Err(Self::throw(failure, outbox)),
            _ => Ok(()),
        }
    }
}

fn holds(records: &RecordRanges, offset: u64) -> bool {
    records.ranges().iter().any(|range| range.start <= offset && offset < range.end)
}
