//! The fixed-delay restart strategy.

use crate::config::RestartConfig;

/// Flink's `FixedDelayRestartBackoffTimeStrategy`: a fixed number of restarts in all, each after the same delay.
///
/// Each failover uses one, so two regions that fail together use two (FACT 102). A new leader begins anew.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct RestartStrategy {
    config: RestartConfig,
    used: u32,
}

impl RestartStrategy {
    pub(super) const fn new(config: RestartConfig) -> Self {
        Self { config, used: 0 }
    }

    /// Uses one restart; answers its delay in nanoseconds, or `None` when none is left.
    pub(super) fn try_restart(&mut self) -> Option<u64> {
        debug_assert!(self.used <= self.config.attempts_max, "more restarts were used than there are");
        if self.used == self.config.attempts_max {
            return None;
        }
        self.used += 1;
        Some(self.config.delay_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_holds_exactly() {
        let mut strategy = RestartStrategy::new(RestartConfig { delay_ns: 5, attempts_max: 2 });
        assert_eq!(strategy.try_restart(), Some(5));
        assert_eq!(strategy.try_restart(), Some(5));
        assert_eq!(strategy.try_restart(), None);
        assert_eq!(strategy.try_restart(), None);
    }
}
