//! A broken invariant: which, of what, seen where.

use crate::code::Code;
use serde::{Deserialize, Serialize};
use splitrace_runtime::event::Header;
use splitrace_runtime::ids::*;
use splitrace_runtime::records::OffsetRange;
use std::fmt;

/// What an invariant was broken for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Subject {
    /// A split.
    Split(SplitId),
    /// A transaction, by its shown name.
    Transaction(TransactionName),
    /// Records of one split.
    Records(OffsetRange),
    /// A checkpoint.
    Checkpoint(CheckpointId),
    /// An execution.
    Attempt(ExecutionAttemptId),
    /// A subtask.
    Subtask(SubtaskId),
    /// An operator event.
    OperatorEvent {
        /// The operator.
        operator: OperatorUid,
        /// The event.
        id: OperatorEventId,
    },
    /// The job as a whole.
    Job,
    /// The event at this index of a trace.
    TraceIndex(u64),
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Split(split) => split.fmt(formatter),
            Self::Transaction(name) => name.fmt(formatter),
            Self::Records(range) => range.fmt(formatter),
            Self::Checkpoint(checkpoint) => checkpoint.fmt(formatter),
            Self::Attempt(attempt) => attempt.fmt(formatter),
            Self::Subtask(subtask) => subtask.fmt(formatter),
            Self::OperatorEvent { operator, id } => write!(formatter, "{id} of {operator}"),
            Self::Job => formatter.write_str("the job"),
            Self::TraceIndex(index) => write!(formatter, "trace event {index}"),
        }
    }
}

/// Where in a run something was seen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Moment {
    /// The process that emitted the event.
    pub process: ProcessId,
    /// The event's sequence in that process.
    pub sequence: u64,
    /// Virtual time in nanoseconds; for the reader only.
    pub virtual_time_ns: u64,
}

impl From<&Header> for Moment {
    fn from(header: &Header) -> Self {
        Self { process: header.process, sequence: header.sequence, virtual_time_ns: header.virtual_time_ns }
    }
}

/// A broken invariant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{code} {}: {sentence}", code.title())]
pub struct Violation {
    /// Which invariant.
    pub code: Code,
    /// What happened, in one sentence that names the subject.
    pub sentence: String,
    /// Of what.
    pub subject: Subject,
    /// The event at which it was certain; the run's last event when it was found at the end.
    pub at: Moment,
}

impl Violation {
    /// A violation seen at `at`.
    #[must_use]
    pub fn new(code: Code, subject: Subject, at: impl Into<Moment>, sentence: String) -> Self {
        debug_assert!(!sentence.is_empty(), "a violation says what happened");
        Self { code, sentence, subject, at: at.into() }
    }
}
