//! What a job's log sink does.

use serde::{Deserialize, Serialize};

/// A sink into one topic of a log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSinkConfig {
    /// Into how many partitions records are parted by their key, at least 1.
    pub partitions: u32,
    /// The log aborts a transaction that is open for longer, in nanoseconds, at least 1 (`transaction.timeout.ms`). What a
    /// completed checkpoint holds is open until its commit: the longest outage has to fit in here.
    pub transaction_timeout_ns: u64,
}

impl LogSinkConfig {
    /// Three partitions, and the longest time-out that Kafka's brokers allow unless told otherwise: a quarter of an hour.
    pub const DEFAULT: Self = Self { partitions: 3, transaction_timeout_ns: 900_000_000_000 };

    /// Whether every number is one that may be given.
    #[must_use]
    pub const fn is_valid(&self) -> bool {
        self.partitions > 0 && self.transaction_timeout_ns > 0
    }

    /// Whether a transaction may be aborted before its commit comes. No run lasts as long as the default.
    #[must_use]
    pub const fn may_expire(&self) -> bool {
        self.transaction_timeout_ns < Self::DEFAULT.transaction_timeout_ns
    }
}
