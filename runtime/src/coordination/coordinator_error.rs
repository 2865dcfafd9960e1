//! What goes wrong in a coordinator, and in a checkpoint of it: typed, so that whoever compares with Flink can word it as
//! Java does.

use crate::api::source::UserError;
use crate::api::source_state::StateError;
use crate::ids::{CheckpointId, ExecutionAttemptId, SubtaskId, SubtaskIndex};
use serde::{Deserialize, Serialize};

/// Why a coordinator fails its job, or a checkpoint.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum CoordinatorError {
    /// It was asked for something before its start (FACT 49).
    #[error("The coordinator has not started yet")]
    NotStarted,
    /// User code threw in a callback (FACT 38).
    #[error("{0}")]
    Enumerator(UserError),
    /// User code threw in its snapshot: this fails the checkpoint only (FACT 38).
    #[error("Failed to checkpoint SplitEnumerator: {0}")]
    Snapshot(UserError),
    /// The stored state cannot be read.
    #[error("the coordinator cannot be restored: {0}")]
    Restore(String),
    /// The execution is registered already (FACT 44).
    #[error("ReaderInfo of {0} already exists")]
    AlreadyRegistered(ExecutionAttemptId),
    /// A registration names another subtask than the one that sent it (FACT 38).
    #[error("{sender} registers {named}")]
    WrongSubtask {
        /// Who sent it.
        sender: ExecutionAttemptId,
        /// Whom it names.
        named: SubtaskIndex,
    },
    /// An event that no source reader sends (FACT 38).
    #[error("Unrecognized Operator Event: {0}")]
    UnrecognizedEvent(String),
    /// A watermark was reported though alignment is off.
    #[error("{0} reports a watermark, but alignment is off")]
    AlignmentIsOff(ExecutionAttemptId),
    /// A checkpoint regressed, and the job fails with it (FACT 15).
    #[error("Regressing checkpoint IDs. Previous {latest}, new {checkpoint}")]
    RegressingCheckpoint {
        /// The latest that was marked.
        latest: CheckpointId,
        /// The one that should be.
        checkpoint: CheckpointId,
    },
    /// Splits were on their way to an execution that has finished. No reset would give them back, so the job fails over as
    /// a whole. In Flink they are lost (FACTS 19, 46).
    #[error("splits were assigned to {0}, which has finished: nobody would ever read them")]
    SplitsToFinishedTask(ExecutionAttemptId),
    /// A coordinator that is no source has nothing recorded for what a subtask restores.
    #[error("no state is recorded for {subtask} at {restored:?}")]
    NothingRecorded {
        /// The subtask.
        subtask: SubtaskId,
        /// What it restores.
        restored: Option<CheckpointId>,
    },
}

impl From<StateError> for CoordinatorError {
    fn from(error: StateError) -> Self {
        Self::Restore(error.to_string())
    }
}

/// Why the coordinator's part of a checkpoint failed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum CheckpointFailure {
    /// The coordinator gave no state (FACT 23).
    #[error("{0}")]
    Coordinator(CoordinatorError),
    /// A gateway was not marked any more when it should close: the checkpoint was aborted, or a subtask was reset
    /// (FACTS 16, 26).
    #[error("Cannot close gateway")]
    CannotCloseGateway,
    /// A gateway keeps back as many events as it may (see `CheckpointConfig::blocked_events_max`).
    #[error("too many OperatorEvents wait behind this checkpoint")]
    TooManyBlockedEvents,
    /// An event from before the close was not received (FACT 19).
    #[error("some OperatorEvents before this checkpoint barrier were not received")]
    EventLost,
}
