//! When and how often tasks are restarted: Flink's restart strategies, by their names and with their semantics.
//!
//! Flink adds a random jitter to the exponential delay, so that many jobs do not restart at once; there is one job here, so
//! there is none.

use serde::{Deserialize, Serialize};

/// A restart strategy. Every failover asks it; two regions that fail together ask twice (FACT 102).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RestartConfig {
    /// `FixedDelayRestartBackoffTimeStrategy`: so many restarts in all, each after the same delay.
    FixedDelay {
        /// Time between the failure and the reset.
        delay_ns: u64,
        /// How many restarts the job has in all; 0 for Flink's `none`.
        attempts_max: u32,
    },
    /// `ExponentialDelayRestartBackoffTimeStrategy`: the delay grows with each restart, and is the first one again after a
    /// quiet time. A failure while a restart is still waited for belongs to that restart.
    ExponentialDelay {
        /// The first delay, at least 1.
        initial_ns: u64,
        /// The longest.
        max_ns: u64,
        /// The delay grows by so many percent each time; more than 100. Flink's default is 150.
        multiplier_percent: u32,
        /// So long after a restart without a failure the delay is the first one again.
        reset_after_ns: u64,
        /// How many restarts there may be before it is (`attempts-before-reset-backoff`).
        attempts_max: u32,
    },
    /// `FailureRateRestartBackoffTimeStrategy`: the job fails with the n-th failure inside an interval.
    FailureRate {
        /// Time between the failure and the reset.
        delay_ns: u64,
        /// The n-th failure inside the interval is the job's, at least 1.
        failures_max: u32,
        /// The interval, at least 1.
        interval_ns: u64,
    },
}

impl RestartConfig {
    /// The delay of the first restart.
    #[must_use]
    pub const fn first_delay_ns(&self) -> u64 {
        match *self {
            Self::FixedDelay { delay_ns, .. } | Self::FailureRate { delay_ns, .. } => delay_ns,
            Self::ExponentialDelay { initial_ns, .. } => initial_ns,
        }
    }

    /// The longest delay of a restart.
    #[must_use]
    pub const fn longest_delay_ns(&self) -> u64 {
        match *self {
            Self::FixedDelay { delay_ns, .. } | Self::FailureRate { delay_ns, .. } => delay_ns,
            Self::ExponentialDelay { max_ns, .. } => max_ns,
        }
    }

    /// At least so many failures are survived, however they come.
    #[must_use]
    pub const fn failures_survived(&self) -> u32 {
        match *self {
            Self::FixedDelay { attempts_max, .. } | Self::ExponentialDelay { attempts_max, .. } => {
                attempts_max
            }
            Self::FailureRate { failures_max, .. } => failures_max.saturating_sub(1),
        }
    }

    /// Whether the numbers make a strategy.
    #[must_use]
    pub const fn is_valid(&self) -> bool {
        match *self {
            Self::FixedDelay { .. } => true,
            Self::ExponentialDelay { initial_ns, max_ns, multiplier_percent, reset_after_ns, .. } => {
                initial_ns >= 1 && initial_ns <= max_ns && multiplier_percent > 100 && reset_after_ns >= 1
            }
            Self::FailureRate { failures_max, interval_ns, .. } => failures_max >= 1 && interval_ns >= 1,
        }
    }
}
