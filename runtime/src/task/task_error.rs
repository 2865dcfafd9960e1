//! Why a task fails. Each of these ends its thread; the job master then fails the region over.

use super::committable_collector::CommittableError;
use super::source_operator::SourceOperatorError;
use crate::api::sink::{CommitError, SinkStateError};
use crate::api::source_state::StateError;
use crate::config::FailureMoment;
use crate::ids::{CheckpointId, OperatorUid, TransactionName};

/// The error that ends a task's thread.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TaskError {
    /// User code threw.
    #[error("user code failed at record {record} ({moment:?})")]
    UserCode {
        /// At which moment.
        moment: FailureMoment,
        /// At which record.
        record: u64,
    },
    /// The writer cannot go on.
    #[error("the sink writer failed: {0}")]
    Writer(String),
    /// A record came after the end of the input; Flink's `IllegalStateException` of the writer's operator (FACT 62).
    #[error("Received element after endOfInput")]
    RecordAfterEnd,
    /// Flink's `IOException` of the committer (FACT 69).
    #[error("Failed to commit {count} committables after {retries} retries")]
    RetriesExhausted {
        /// Of which checkpoint.
        checkpoint: CheckpointId,
        /// How many are left.
        count: usize,
        /// How many immediate retries there were.
        retries: u32,
    },
    /// A committable failed for a reason nobody knows (FACT 74).
    #[error("Failed to commit {transaction}: {cause}")]
    CommitFailed {
        /// The transaction.
        transaction: TransactionName,
        /// What the committer said.
        cause: String,
    },
    /// A committable can never be committed, for a reason that the connector knows. No restart helps, so the job fails for
    /// good; Flink drops it in silence (FACT 73).
    #[error("{transaction} can never be committed: {cause}")]
    CommitGivenUp {
        /// The transaction.
        transaction: TransactionName,
        /// What the committer said.
        cause: String,
    },
    /// The committer does not come to a signal (FACT 74).
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The committable collector was used against its contract (FACTS 64, 68).
    #[error(transparent)]
    Committables(#[from] CommittableError),
    /// The savepoint that was to end the job was aborted; Flink's `Stop-with-savepoint failed.`
    #[error("Stop-with-savepoint failed: {0} was aborted")]
    StopFailed(CheckpointId),
    /// Sink state cannot be read.
    #[error("{0}")]
    SinkState(#[from] SinkStateError),
    /// Reader state cannot be read.
    #[error("the reader's state cannot be restored: {0}")]
    ReaderState(#[from] StateError),
    /// Channel state cannot be read.
    #[error("the state of the channels cannot be restored: {0}")]
    ChannelState(String),
    /// The state or an event of the coordinated operator cannot be read.
    #[error("bytes of the coordinated operator cannot be read: {0}")]
    CoordinatedOperator(String),
    /// The source operator cannot go on.
    #[error(transparent)]
    Source(#[from] SourceOperatorError),
    /// An event for an operator that is not in this chain, or that its operator does not know (FACT 57).
    #[error("unknown operator event for {0}")]
    UnknownOperatorEvent(OperatorUid),
}

impl TaskError {
    /// Whether a restart would only come to the same end (Flink's `SuppressRestartsException`).
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::CommitGivenUp { .. })
    }
}
