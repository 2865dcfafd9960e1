//! Flink's restart strategies, without a clock: what Flink compares with the present time is a timer here.
//!
//! A new leader begins anew with each of them.

use crate::actor::Outbox;
use crate::config::RestartConfig;
use crate::message::Timer;

/// When a failover restarts its tasks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Restart {
    /// After so many nanoseconds.
    After(u64),
    /// When the back-off that is under way is over, and with its attempt.
    WithBackoff,
    /// Not at all: the job fails.
    Never,
}

/// A strategy and how far it is used up.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct RestartStrategy {
    config: RestartConfig,
    /// Restarts so far; of the exponential delay those since its last quiet time.
    used: u32,
    /// Failures whose interval is not over.
    recent_failures: u32,
    /// Counts failures, to name their timers.
    failures: u32,
    /// The exponential delay's timer runs.
    backing_off: bool,
}

impl RestartStrategy {
    pub(super) const fn new(config: RestartConfig) -> Self {
        Self { config, used: 0, recent_failures: 0, failures: 0, backing_off: false }
    }

    /// A failure: may its tasks restart, and when? (Flink's `notifyFailure`, then `canRestart`.)
    pub(super) fn on_failure(&mut self, out: &mut Outbox) -> Restart {
        match self.config {
            RestartConfig::FixedDelay { delay_ns, attempts_max } => {
                self.used = self.used.saturating_add(1);
                if self.used > attempts_max { Restart::Never } else { Restart::After(delay_ns) }
            }
            RestartConfig::FailureRate { delay_ns, failures_max, interval_ns } => {
                self.failures += 1;
                self.recent_failures += 1;
                out.set_timer(Timer::FailureForgotten(self.failures), interval_ns);
                if self.recent_failures >= failures_max { Restart::Never } else { Restart::After(delay_ns) }
            }
            RestartConfig::ExponentialDelay { attempts_max, .. } => {
                if self.backing_off {
                    return Restart::WithBackoff;
                }
                let delay_ns = self.exponential_delay_ns();
                self.used = self.used.saturating_add(1);
                if self.used > attempts_max {
                    return Restart::Never;
                }
                out.cancel_timer(Timer::RestartQuiet);
                out.set_timer(Timer::RestartBackoff, delay_ns);
                self.backing_off = true;
                Restart::WithBackoff
            }
        }
    }

    fn exponential_delay_ns(&self) -> u64 {
        let RestartConfig::ExponentialDelay { initial_ns, max_ns, multiplier_percent, .. } = self.config
        else {
            return self.config.first_delay_ns();
        };
        let mut delay_ns = u128::from(initial_ns);
        for _ in 0..self.used {
            delay_ns = delay_ns * u128::from(multiplier_percent) / 100;
            if delay_ns >= u128::from(max_ns) {
                return max_ns;
            }
        }
        debug_assert!(delay_ns <= u128::from(max_ns), "it stops at the longest");
        u64::try_from(delay_ns).unwrap_or(max_ns)
    }

    /// The interval of one failure is over.
    pub(super) fn failure_forgotten(&mut self) {
        debug_assert!(self.recent_failures > 0, "each failure is forgotten once");
        self.recent_failures = self.recent_failures.saturating_sub(1);
    }

    /// The back-off is over: what fails from here on is another attempt.
    pub(super) fn backoff_over(&mut self, out: &mut Outbox) {
        debug_assert!(self.backing_off, "a back-off ends once");
        self.backing_off = false;
        if let RestartConfig::ExponentialDelay { reset_after_ns, .. } = self.config {
            out.set_timer(Timer::RestartQuiet, reset_after_ns);
        }
    }

    /// Nothing has failed for long: the next delay is the first one again.
    pub(super) const fn quiet(&mut self) {
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::Effect;

    fn timers(out: &Outbox) -> Vec<(Timer, u64)> {
        out.outputs()
            .iter()
            .filter_map(|output| match &output.effect {
                Some(Effect::SetTimer { timer, after_ns }) => Some((*timer, *after_ns)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn the_fixed_delays_budget_holds_exactly() {
        let mut out = Outbox::new();
        let mut strategy = RestartStrategy::new(RestartConfig::FixedDelay { delay_ns: 5, attempts_max: 2 });
        let answers = [Restart::After(5), Restart::After(5), Restart::Never, Restart::Never];
        assert!(answers.into_iter().all(|answer| strategy.on_failure(&mut out) == answer));
    }

    #[test]
    fn the_nth_failure_inside_the_interval_is_the_jobs() {
        let mut out = Outbox::new();
        let config = RestartConfig::FailureRate { delay_ns: 5, failures_max: 3, interval_ns: 100 };
        let mut strategy = RestartStrategy::new(config);
        assert_eq!(strategy.on_failure(&mut out), Restart::After(5));
        assert_eq!(strategy.on_failure(&mut out), Restart::After(5));
        strategy.failure_forgotten();
        assert_eq!(strategy.on_failure(&mut out), Restart::After(5), "only two are in the interval");
        assert_eq!(strategy.on_failure(&mut out), Restart::Never);
        assert_eq!(timers(&out)[0], (Timer::FailureForgotten(1), 100));
    }

    #[test]
    fn the_exponential_delay_grows_joins_failures_and_begins_anew() {
        let mut out = Outbox::new();
        let config = RestartConfig::ExponentialDelay {
            initial_ns: 100,
            max_ns: 200,
            multiplier_percent: 150,
            reset_after_ns: 1_000,
            attempts_max: 4,
        };
        let mut strategy = RestartStrategy::new(config);
        let mut delays = Vec::new();
        for quiet in [false, false, false, true, false] {
            let mut out = Outbox::new();
            assert_eq!(strategy.on_failure(&mut out), Restart::WithBackoff);
            delays.extend(timers(&out).iter().map(|(_, after_ns)| *after_ns));
            assert_eq!(strategy.on_failure(&mut out), Restart::WithBackoff, "the same attempt");
            strategy.backoff_over(&mut out);
            if quiet {
                strategy.quiet();
            }
        }
        assert_eq!(delays, [100, 150, 200, 200, 100]);
        for _ in 0..3 {
            assert_eq!(strategy.on_failure(&mut out), Restart::WithBackoff);
            strategy.backoff_over(&mut out);
        }
        assert_eq!(strategy.on_failure(&mut out), Restart::Never);
    }
}
