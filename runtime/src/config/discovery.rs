//! How a source comes to know of its splits, where it does not know them all from the start.
//!
//! A worker looks outside by itself, once or again and again, and the enumerator hears of it later (Flink's
//! `callAsync`). What it finds is the next splits of the plan: a position outside that moves on, as in a log or a table
//! with snapshots.

use serde::{Deserialize, Serialize};

/// Splits are discovered while the job runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiscoveryConfig {
    /// Nanoseconds until the worker looks first.
    pub initial_delay_ns: u64,
    /// Nanoseconds between two looks, at least 1; `None`: it looks once and finds all there is.
    pub period_ns: Option<u64>,
    /// How long a look takes, in nanoseconds: it sees what is there at its beginning.
    pub look_ns: u64,
    /// How many splits one of several looks finds at most, at least 1.
    pub splits_per_look: u32,
    /// Of so many looks one throws, the first of all and each that follows so many later; at least 2, or 0 for none.
    pub failing_of: u32,
    /// Whether the enumerator waits for the next look when one has failed; otherwise it throws, which fails the job.
    pub failures_tolerated: bool,
}

impl DiscoveryConfig {
    /// Whether every number is one that may be given.
    #[must_use]
    pub const fn is_valid(&self) -> bool {
        self.splits_per_look > 0 && self.failing_of != 1 && !matches!(self.period_ns, Some(0))
    }

    /// About how long it takes until `split_count` splits are known, in nanoseconds.
    #[must_use]
    pub fn duration_ns(&self, split_count: u32) -> u64 {
        debug_assert!(self.is_valid(), "checked when it was read");
        let looks = u64::from(split_count.div_ceil(self.splits_per_look));
        let step_ns = self.look_ns.max(self.period_ns.unwrap_or_default());
        self.initial_delay_ns
            + if self.period_ns.is_some() { looks.saturating_mul(step_ns) } else { self.look_ns }
    }
}
