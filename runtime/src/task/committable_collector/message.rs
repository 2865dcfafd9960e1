//! What goes from writers to committers, and from these to whoever comes behind.

use crate::api::sink::PreparedCommittable;
use crate::ids::{CheckpointId, SubtaskIndex};
use serde::{Deserialize, Serialize};

/// The number that stands for the end of the input, above that of every checkpoint: Flink's `CommittableMessage.EOI`.
pub const END_OF_INPUT: CheckpointId = CheckpointId(i64::MAX as u64);

/// What the writer tells before the committables of a checkpoint, also when there are none (FACT 59).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CommittableSummary {
    /// The subtask that announces.
    pub subtask: SubtaskIndex,
    /// How many subtasks announce for the checkpoint.
    pub number_of_subtasks: u32,
    /// The checkpoint it files them under.
    pub checkpoint: CheckpointId,
    /// How many will come.
    pub committables: u32,
    /// How many were given up for a known reason. Flink leaves it at 0 (FACT 73), and here such a job fails.
    pub failed: u32,
}

/// A committable with where it comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CommittableWithLineage {
    /// The committable.
    pub committable: PreparedCommittable,
    /// The checkpoint it is filed under.
    pub checkpoint: CheckpointId,
    /// The subtask that prepared, or last committed, it.
    pub subtask: SubtaskIndex,
}

/// From the writer to the committer.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum CommittableMessage {
    /// Comes first.
    Summary(CommittableSummary),
    /// One committable.
    Committable(CommittableWithLineage),
}

impl CommittableMessage {
    /// The checkpoint that it is about.
    #[must_use]
    pub const fn checkpoint(&self) -> CheckpointId {
        match self {
            Self::Summary(summary) => summary.checkpoint,
            Self::Committable(committable) => committable.checkpoint,
        }
    }

    /// The subtask that sends it: a summary and the committables that it announces have the same.
    #[must_use]
    pub const fn subtask(&self) -> SubtaskIndex {
        match self {
            Self::Summary(summary) => summary.subtask,
            Self::Committable(committable) => committable.subtask,
        }
    }
}
