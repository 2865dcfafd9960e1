//! How the collector's contract is broken.

use crate::ids::{CheckpointId, SubtaskIndex};

/// A message that a collector cannot take, or a commit that it cannot begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CommittableError {
    /// No summary has named the checkpoint (FACT 64).
    #[error("a committable of subtask {subtask} for {checkpoint}, which no summary has named")]
    UnknownCheckpoint {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Where the committable comes from.
        subtask: SubtaskIndex,
    },
    /// The checkpoint is known, but this subtask has sent no summary for it (FACT 64).
    #[error("a committable of subtask {subtask} for {checkpoint} came before its summary")]
    UnknownSubtask {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Where the committable comes from.
        subtask: SubtaskIndex,
    },
    /// More than announced (FACT 64).
    #[error("subtask {subtask} sends more committables for {checkpoint} than it has announced")]
    Surplus {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Where the committable comes from.
        subtask: SubtaskIndex,
    },
    /// A second summary (FACT 64).
    #[error("a second summary of subtask {subtask} for {checkpoint}")]
    DuplicateSummary {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Who announces again.
        subtask: SubtaskIndex,
    },
    /// What a subtask has announced has not all come (FACT 68).
    #[error(
        "Trying to commit incomplete batch of {checkpoint}: {received} of {announced} committables of subtask {subtask}"
    )]
    IncompleteBatch {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Whose committables are missing.
        subtask: SubtaskIndex,
        /// How many its summary announced.
        announced: u32,
        /// How many came.
        received: u32,
    },
}
