//! How records get from one task to the next.

use serde::{Deserialize, Serialize};

/// Which subtasks of two vertices a channel connects, and which of its channels a record takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// Subtask i to subtask i; both vertices have the same parallelism (Flink's `ForwardPartitioner`).
    Forward,
    /// Everybody to everybody, a producer's records in turn (Flink's `RebalancePartitioner`).
    Rebalance,
    /// Everybody to everybody, by the record's key (Flink's `KeyGroupStreamPartitioner`).
    Hash,
    /// Everybody to the first subtask (Flink's `GlobalPartitioner`).
    Global,
}

impl EdgeKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Forward, Self::Rebalance, Self::Hash, Self::Global];
}

/// An exchange.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangeConfig {
    /// Its edges.
    pub edge: EdgeKind,
    /// How many subtasks are behind it.
    pub parallelism: u32,
    /// How many buffers (each a batch of records) may be under way in one channel, at least 1.
    pub credit: u32,
    /// Whether barriers overtake buffers, which then are state of the checkpoint (Flink's unaligned checkpoints).
    #[serde(default)]
    pub unaligned: bool,
}
