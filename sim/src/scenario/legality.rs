//! What no protocol could survive: such a scenario is refused with the reason, and is no flaky run.
//!
//! **The budget of all faults together.** They end, within the run's time, and leave the job more restarts than they use
//! up; what the outside acknowledged stays; a clock is off, but goes forwards; and whoever waits for a sign of life waits
//! longer than a healthy one takes. Loss of what the store or the high-availability service acknowledged, and frames that
//! change their content, cannot even be written: there is no such fault.
//!
//! What merely weakens the promise (few restarts, a transaction time-out that an outage may outlast, no checkpoints) is
//! legal: the promise says so. Refused was to leave this to the verdict of a run: a seed that fails because nothing could
//! have passed teaches nobody anything.

use super::Scenario;
use crate::world::faults::{SECOND_FAULTS_MAX, WINDOW_FAULTS_MAX};
use splitrace_runtime::config::{SinkKind, VertexConfig};
use thiserror::Error;

/// Why no protocol could keep what a scenario promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Illegality {
    /// See the sentence.
    #[error(
        "the store stays away from {after_ns} ns on, and faults end at {heal_after_ns} ns, when the run is over: nothing \
         could ever be committed"
    )]
    StoreOutForEver {
        /// From when on, in nanoseconds.
        after_ns: u64,
        /// When it would be back, in nanoseconds.
        heal_after_ns: u64,
    },
    /// See the sentence.
    #[error(
        "a link may be cut for {cut_ns} ns, and the run has {run_ns} ns: a partition that never heals leaves nobody to \
         finish the job"
    )]
    NeverReconnected {
        /// The longest cut, in nanoseconds.
        cut_ns: u64,
        /// The run's virtual time, in nanoseconds.
        run_ns: u64,
    },
    /// See the sentence.
    #[error(
        "faults end at {heal_after_ns} ns, and the run has {run_ns} ns: what is owed from healing on could never be shown"
    )]
    NeverHeals {
        /// When faults end, in nanoseconds.
        heal_after_ns: u64,
        /// The run's virtual time, in nanoseconds.
        run_ns: u64,
    },
    /// See the sentence.
    #[error(
        "{failures} failures may come, the restart strategy survives {survived}, and the job is promised not to fail: \
         whoever counted right would have to give up"
    )]
    RestartsUsedUp {
        /// How many failures the faults may bring about.
        failures: u64,
        /// How many are survived.
        survived: u32,
    },
    /// See the sentence.
    #[error(
        "user code throws in the first {attempts} attempts, and the restart strategy has {survived}: nobody gets beyond \
         that record"
    )]
    UserCodeNeverStops {
        /// In so many attempts.
        attempts: u32,
        /// How many failures are survived.
        survived: u32,
    },
    /// See the sentence.
    #[error(
        "a transaction is aborted after {timeout_ns} ns, and the store is away for {outage_ns} ns: what a checkpoint holds \
         would be gone before anybody could commit it"
    )]
    TransactionsExpireInOutage {
        /// The transaction time-out, in nanoseconds.
        timeout_ns: u64,
        /// The outage that is certain, in nanoseconds.
        outage_ns: u64,
    },
    /// See the sentence.
    #[error(
        "a transaction is aborted after {timeout_ns} ns by the log's clock, which may be set forwards by {clock_ns} ns: it \
         would end what a checkpoint holds at any moment"
    )]
    TransactionsExpireByClock {
        /// The transaction time-out, in nanoseconds.
        timeout_ns: u64,
        /// How far the clock may move beside the time, in nanoseconds.
        clock_ns: u64,
    },
    /// See the sentence.
    #[error(
        "a heartbeat may take {trip_ns} ns, and its sender counts as dead after {timeout_ns} ns: the living could not be \
         told from the dead"
    )]
    HeartbeatsTooLate {
        /// The longest healthy latency, in nanoseconds.
        trip_ns: u64,
        /// The heartbeat time-out, in nanoseconds.
        timeout_ns: u64,
    },
    /// See the sentence.
    #[error(
        "a clock that loses {drift_ppm} of 1,000,000 microseconds stands still or runs backwards: it measures nothing"
    )]
    ClockStandsStill {
        /// The drift in parts of a million.
        drift_ppm: u32,
    },
}

impl Illegality {
    /// The key that would have to change.
    #[must_use]
    pub const fn place(&self) -> &'static str {
        match self {
            Self::StoreOutForEver { .. } => "faults.store_out_after_ns",
            Self::NeverReconnected { .. } => "faults.partition_max_ns",
            Self::NeverHeals { .. } => "faults.heal_after_ns",
            Self::RestartsUsedUp { .. } => "job.restart",
            Self::UserCodeNeverStops { .. } => "job.vertices",
            Self::TransactionsExpireInOutage { .. } | Self::TransactionsExpireByClock { .. } => {
                "job.sink.log"
            }
            Self::HeartbeatsTooLate { .. } => "job.heartbeat",
            Self::ClockStandsStill { .. } => "faults.processes.clock_drift_max_ppm",
        }
    }
}

/// No clock loses or gains more: at a million parts of a million it stands still.
const DRIFT_END_PPM: u32 = 1_000_000;

impl Scenario {
    /// Whether a protocol could keep what this scenario promises.
    ///
    /// # Errors
    /// The first reason why none could.
    pub fn check_legality(&self) -> Result<(), Illegality> {
        self.check_healing()?;
        self.check_restarts()?;
        self.check_transactions()?;
        let (trip_ns, timeout_ns) = (self.network.trip_ns(), self.job.heartbeat.timeout_ns);
        if trip_ns > timeout_ns {
            return Err(Illegality::HeartbeatsTooLate { trip_ns, timeout_ns });
        }
        let drift_ppm = self.faults.processes.clock_drift_max_ppm;
        if drift_ppm >= DRIFT_END_PPM {
            return Err(Illegality::ClockStandsStill { drift_ppm });
        }
        Ok(())
    }

    fn check_healing(&self) -> Result<(), Illegality> {
        let faults = &self.faults;
        let (heal_after_ns, run_ns) = (faults.heal_after_ns, self.limits.virtual_time_max_ns);
        if heal_after_ns < run_ns {
            return Ok(());
        }
        if let Some(after_ns) = faults.store_out_after_ns {
            return Err(Illegality::StoreOutForEver { after_ns, heal_after_ns });
        }
        let partition_ns = if faults.partitions_max > 0 { faults.partition_max_ns } else { 0 };
        let clog_ns = if faults.links.can_break() { faults.links.clog_max_ns } else { 0 };
        let cut_ns = partition_ns.max(clog_ns);
        if cut_ns >= run_ns {
            return Err(Illegality::NeverReconnected { cut_ns, run_ns });
        }
        Err(Illegality::NeverHeals { heal_after_ns, run_ns })
    }

    fn check_restarts(&self) -> Result<(), Illegality> {
        let survived = self.job.restart.failures_survived();
        if self.promise().may_fail {
            return Ok(());
        }
        let faults = &self.faults;
        let answers = if faults.window.numerator > 0 { WINDOW_FAULTS_MAX } else { 0 }
            + if faults.second.numerator > 0 { SECOND_FAULTS_MAX } else { 0 };
        let counts = [
            faults.task_failures_max,
            faults.task_manager_crashes_max,
            faults.job_manager_crashes_max,
            faults.processes.stops_max,
            answers,
        ];
        let failures = counts.into_iter().map(u64::from).sum::<u64>() + self.plan.len() as u64;
        if failures > u64::from(survived) {
            return Err(Illegality::RestartsUsedUp { failures, survived });
        }
        let thrown =
            |vertex: &VertexConfig| vertex.task.user_failure.map_or(0, |failure| failure.attempts_below);
        let attempts = self.job.vertices.iter().map(thrown).max().unwrap_or(0);
        if attempts > survived {
            return Err(Illegality::UserCodeNeverStops { attempts, survived });
        }
        Ok(())
    }

    fn check_transactions(&self) -> Result<(), Illegality> {
        let SinkKind::Log(log) = self.job.sink else { return Ok(()) };
        let timeout_ns = log.transaction_timeout_ns;
        let faults = &self.faults;
        let outage_ns =
            faults.store_out_after_ns.map_or(0, |after_ns| faults.heal_after_ns.saturating_sub(after_ns));
        if outage_ns >= timeout_ns {
            return Err(Illegality::TransactionsExpireInOutage { timeout_ns, outage_ns });
        }
        let clock_ns = faults.processes.clock_moves_ns(faults.heal_after_ns);
        if clock_ns >= timeout_ns {
            return Err(Illegality::TransactionsExpireByClock { timeout_ns, clock_ns });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Maker;
    use splitrace_runtime::config::{FailureMoment, LogSinkConfig, RestartConfig, UserFailure};

    fn refused(change: impl FnOnce(&mut Scenario)) -> (Illegality, String) {
        let mut scenario = Scenario::draw(7);
        assert_eq!(scenario.validate(), Ok(()), "it is legal before the change");
        change(&mut scenario);
        let why = scenario.check_legality().expect_err("no protocol survives it");
        let told = scenario.validate().expect_err("it is refused").to_string();
        assert_eq!(told, format!("{}: no protocol could survive this: {why}", why.place()));
        (why, told)
    }

    fn log(scenario: &mut Scenario, transaction_timeout_ns: u64) {
        scenario.job.sink = SinkKind::Log(LogSinkConfig { transaction_timeout_ns, ..LogSinkConfig::DEFAULT });
    }

    #[test]
    fn what_never_ends_is_refused() {
        let run_ns = Scenario::draw(7).limits.virtual_time_max_ns;
        let (why, told) = refused(|scenario| {
            scenario.faults.heal_after_ns = run_ns;
            scenario.faults.store_out_after_ns = Some(5);
        });
        assert_eq!(why, Illegality::StoreOutForEver { after_ns: 5, heal_after_ns: run_ns });
        assert!(told.contains("nothing could ever be committed"), "{told}");
        let (why, _) = refused(|scenario| {
            scenario.faults.heal_after_ns = run_ns;
            scenario.faults.partitions_max = 1;
            scenario.faults.partition_max_ns = run_ns;
            scenario.limits.no_progress_max_ns = 4 * run_ns;
        });
        assert_eq!(why, Illegality::NeverReconnected { cut_ns: run_ns, run_ns });
        let (why, _) = refused(|scenario| scenario.faults.heal_after_ns = run_ns + 1);
        assert_eq!(why, Illegality::NeverHeals { heal_after_ns: run_ns + 1, run_ns });
    }

    #[test]
    fn more_failures_than_restarts_are_refused_where_the_job_is_not_to_fail() {
        let restart = |attempts_max| RestartConfig::FixedDelay { delay_ns: 1, attempts_max };
        let (why, _) = refused(|scenario| {
            scenario.job.restart = restart(1_000);
            scenario.faults.task_failures_max = 5_000;
        });
        assert!(matches!(why, Illegality::RestartsUsedUp { failures: 5_000.., survived: 1_000 }), "{why:?}");
        let (why, _) = refused(|scenario| {
            scenario.job.restart = restart(1_000);
            let moment = FailureMoment::Read;
            scenario.job.vertices[0].task.user_failure =
                Some(UserFailure { record: 0, attempts_below: 1_001, moment });
        });
        assert_eq!(why, Illegality::UserCodeNeverStops { attempts: 1_001, survived: 1_000 });
        let mut few = Scenario::draw(7);
        few.job.restart = restart(1);
        assert_eq!(few.check_legality(), Ok(()), "with few restarts the job may fail, by promise");
    }

    #[test]
    fn transactions_that_cannot_outlive_the_faults_are_refused() {
        let (why, _) = refused(|scenario| {
            scenario.faults.heal_after_ns = 3_000_000_000;
            scenario.faults.store_out_after_ns = Some(0);
            log(scenario, 2_000_000_000);
        });
        let expected =
            Illegality::TransactionsExpireInOutage { timeout_ns: 2_000_000_000, outage_ns: 3_000_000_000 };
        assert_eq!(why, expected);
        let (why, told) = refused(|scenario| {
            scenario.faults.store_out_after_ns = None;
            scenario.faults.processes.clock_steps_max = 2;
            scenario.faults.processes.clock_step_max_ns = 1_000_000_000;
            log(scenario, 2_000_000_000);
        });
        assert!(
            matches!(why, Illegality::TransactionsExpireByClock { timeout_ns: 2_000_000_000, .. }),
            "{why:?}"
        );
        assert!(told.contains("set forwards"), "{told}");
    }

    #[test]
    fn the_living_must_be_told_from_the_dead_and_clocks_go_forwards() {
        let (why, _) = refused(|scenario| {
            scenario.job.heartbeat.interval_ns = 1;
            scenario.job.heartbeat.timeout_ns = scenario.network.trip_ns() - 1;
        });
        assert!(matches!(why, Illegality::HeartbeatsTooLate { trip_ns, timeout_ns } if trip_ns > timeout_ns));
        let (why, _) = refused(|scenario| scenario.faults.processes.clock_drift_max_ppm = 1_000_000);
        assert_eq!(why, Illegality::ClockStandsStill { drift_ppm: 1_000_000 });
    }

    #[test]
    fn whatever_a_maker_makes_is_legal() {
        for maker in Maker::ALL {
            for seed in 0..100 {
                assert_eq!(maker.scenario(seed).validate(), Ok(()), "{maker} {seed}");
            }
        }
    }
}
