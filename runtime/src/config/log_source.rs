//! What a log source reads.

use crate::api::log_io::IsolationLevel;
use serde::{Deserialize, Serialize};

/// The topic of a source. Its partitions are the source's splits: `split_count` of them once all are there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSourceConfig {
    /// Where a partition is begun when it is found.
    pub start: StartPosition,
    /// The offset behind which each partition is read no further; `None` reads on for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_offset: Option<u64>,
    /// Nanoseconds between two looks for new partitions, at least 1.
    pub discovery_period_ns: u64,
    /// How its readers read.
    pub reader: LogReaderConfig,
    /// Who fills the topic.
    pub upstream: UpstreamConfig,
}

/// Where a partition is begun (Flink's `OffsetsInitializer`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartPosition {
    /// With its first record.
    Earliest,
    /// Behind what is committed when it is found.
    Latest,
    /// With this offset.
    Offset(u64),
    /// Where the source's group has left off; with its first record where it never was.
    Committed,
}

/// How a reader reads its partitions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogReaderConfig {
    /// The topic's number.
    pub topic: u16,
    /// At most so many records of a partition come at a time, at least 1.
    pub fetch_records_max: u32,
    /// Nanoseconds until a fetch that brought nothing is made again, at least 1.
    pub poll_ns: u64,
    /// How far it reads.
    #[serde(skip, default = "read_committed")]
    pub isolation: IsolationLevel,
}

/// Nothing else is exactly once.
const fn read_committed() -> IsolationLevel {
    IsolationLevel::ReadCommitted
}

/// The simulated producer of a topic. It fills each partition with transactions, one behind the other, each open until the
/// next begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Records of a transaction, at least 1; its marker takes one offset more.
    pub transaction_records: u64,
    /// Nanoseconds for which a transaction is open, at least 1.
    pub transaction_ns: u64,
    /// Of so many transactions the last is aborted, and what was in it is no input; 0 for none.
    pub aborted_every: u64,
    /// Nanoseconds between the creations of two partitions.
    pub partition_interval_ns: u64,
    /// The position that an earlier job of the same group has left in each partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed: Option<u64>,
}
