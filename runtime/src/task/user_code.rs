//! The failure that a scenario plants into user code: one record, one of five moments, the first few attempts.

use super::task_error::TaskError;
use crate::actor::Outbox;
use crate::config::{FailureMoment, UserFailure};
use crate::event::EventKind;
use crate::ids::AttemptNumber;
use crate::records::{Record, RecordRanges};

/// What user code is going to throw, if anything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UserCode {
    armed: Option<UserFailure>,
    /// The record is in a prepared transaction that no acknowledged snapshot holds yet.
    prepared: bool,
}

impl UserCode {
    /// Armed only in the attempts below the bound.
    #[must_use]
    pub fn new(failure: Option<UserFailure>, attempt: AttemptNumber) -> Self {
        let armed = failure.filter(|failure| attempt.0 < failure.attempts_below);
        debug_assert!(armed.is_none() || failure.is_some());
        Self { armed, prepared: false }
    }

    /// The failure has come as often as it is meant to, here or elsewhere in the job.
    pub const fn disarm(&mut self) {
        self.armed = None;
        self.prepared = false;
    }

    /// Where a batch is cut, and the failure that cuts it: an exception at record k leaves those before it handed on
    /// and written. At [`FailureMoment::Write`] the writer has taken the record itself too.
    #[must_use]
    pub fn cut(&self, records: &[Record]) -> Option<(usize, UserFailure)> {
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
    pub fn acknowledged(&mut self, outbox: &mut Outbox) -> Result<(), TaskError> {
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
