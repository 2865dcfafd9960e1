//! Over which vertices the operators of a sink are spread.

use serde::{Deserialize, Serialize};

/// What a sink's topology has beside a writer with its committer in one chain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SinkTopologyConfig {
    /// The committers are a vertex of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committers: Option<CommittersConfig>,
}

/// Committers behind an exchange of committables. Barriers never overtake these, whatever the exchanges of records do: a
/// committer counts on it that all committables of a checkpoint come before its barrier (FLINK-36287).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommittersConfig {
    /// How many subtasks; 1 for a global committer.
    pub parallelism: u32,
    /// How many buffers (each the committables of one checkpoint) may be under way in one channel, at least 1.
    pub credit: u32,
    /// It is one global committer, which commits a checkpoint as a whole, and no committer comes before it (Flink's
    /// `GlobalCommitterOperator`).
    #[serde(default)]
    pub global: bool,
}

impl CommittersConfig {
    /// Whether this can be built.
    #[must_use]
    pub const fn is_valid(&self) -> bool {
        let subtasks_max = if self.global { 1 } else { 64 };
        1 <= self.parallelism && self.parallelism <= subtasks_max && 1 <= self.credit && self.credit <= 1_000
    }

    /// The same in a job whose vertices have so many subtasks.
    #[must_use]
    pub const fn rescaled(self, parallelism: u32) -> Self {
        Self { parallelism: if self.global { 1 } else { parallelism }, ..self }
    }
}

impl SinkTopologyConfig {
    /// Writer and committer in one chain, as Flink makes it of a sink without topologies.
    pub const CHAINED: Self = Self { committers: None };

    /// Whether it is that.
    #[must_use]
    pub fn is_chained(&self) -> bool {
        *self == Self::CHAINED
    }
}
