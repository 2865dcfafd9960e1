//! Three named ways from a seed to a scenario.
//!
//! All begin with the same draw, so a seed is the same job at heart under each: `swarm` leaves it as it is, `lite` makes it
//! small and lets little break (to read a story), `perf` makes it big and lets nothing break (to measure).

use super::{FaultConfig, Scenario};
use serde::{Deserialize, Serialize};
use splitrace_runtime::config::{NANOS_PER_MILLI, RestartConfig, VertexConfig};
use std::fmt;

/// How a seed becomes a scenario.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Maker {
    /// Each seed draws which features and faults are on at all, and how heavy: see [`Scenario::swarm`].
    #[default]
    Swarm,
    /// Small, with few faults: see [`Scenario::lite`].
    Lite,
    /// Big, without faults: see [`Scenario::perf`].
    Perf,
}

impl Maker {
    /// Every maker, the default first.
    pub const ALL: [Self; 3] = [Self::Swarm, Self::Lite, Self::Perf];

    /// Its name on the command line.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Swarm => "swarm",
            Self::Lite => "lite",
            Self::Perf => "perf",
        }
    }

    /// The maker with this name.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|maker| maker.id() == id)
    }

    /// What it makes of a seed.
    #[must_use]
    pub fn scenario(self, seed: u64) -> Scenario {
        match self {
            Self::Swarm => Scenario::swarm(seed),
            Self::Lite => Scenario::lite(seed),
            Self::Perf => Scenario::perf(seed),
        }
    }
}

impl fmt::Display for Maker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.id())
    }
}

/// The most splits of a `lite` source.
const LITE_SPLITS_MAX: u32 = 3;
/// The most records (bytes, of files) of a `lite` split.
const LITE_RECORDS_MAX: u64 = 10;
/// A `perf` source has so many times as many splits.
const PERF_SPLITS_FACTOR: u32 = 3;
/// A `perf` split has so many times as many records.
const PERF_RECORDS_FACTOR: u64 = 20;
/// A `perf` run takes at most so many world steps.
const PERF_STEPS_MAX: u64 = 10_000_000;

impl Scenario {
    /// The default: every feature and every fault is on or off by a draw of its own. The same as [`Scenario::draw`].
    #[must_use]
    pub fn swarm(seed: u64) -> Self {
        Self::draw(seed)
    }

    /// One small source, at most one task failure and one crash, lost and late frames if the seed has them: short stories.
    #[must_use]
    pub fn lite(seed: u64) -> Self {
        let mut scenario = Self::draw(seed);
        let drawn = scenario.faults;
        scenario.faults = FaultConfig {
            heal_after_ns: drawn.heal_after_ns,
            plan_until_ns: drawn.plan_until_ns,
            task_failures_max: 1,
            task_manager_crashes_max: drawn.task_manager_crashes_max.min(1),
            down_time_max_ns: drawn.down_time_max_ns,
            frame: drawn.frame,
            spike_max_ns: drawn.spike_max_ns,
            batch_size_max: drawn.batch_size_max,
            ..FaultConfig::NONE
        };
        scenario.plan.clear();
        scenario.resubmission = None;
        scenario.savepoint_after_checkpoints = None;
        scenario.job.vertices.truncate(1);
        // What a topic holds says its own configuration.
        for vertex in scenario.job.vertices.iter_mut().filter(|vertex| vertex.log.is_none()) {
            vertex.source.split_count = vertex.source.split_count.min(LITE_SPLITS_MAX);
            vertex.source.records_per_split = vertex.source.records_per_split.min(LITE_RECORDS_MAX);
        }
        debug_assert_eq!(scenario.validate(), Ok(()));
        scenario
    }

    /// The job of the seed, sixty times as large, and nothing breaks, not even user code.
    #[must_use]
    pub fn perf(seed: u64) -> Self {
        let mut scenario = Self::draw(seed);
        scenario.faults = FaultConfig { batch_size_max: scenario.faults.batch_size_max, ..FaultConfig::NONE };
        scenario.plan.clear();
        scenario.resubmission = None;
        scenario.savepoint_after_checkpoints = None;
        scenario.limits.steps_max = PERF_STEPS_MAX;
        scenario.job.restart = RestartConfig::FixedDelay { delay_ns: NANOS_PER_MILLI, attempts_max: 10_000 };
        scenario.job.vertices.iter_mut().for_each(enlarge);
        debug_assert_eq!(scenario.validate(), Ok(()));
        scenario
    }
}

fn enlarge(vertex: &mut VertexConfig) {
    // What a topic holds says its own configuration.
    if vertex.log.is_none() {
        vertex.source.split_count *= PERF_SPLITS_FACTOR;
        vertex.source.records_per_split *= PERF_RECORDS_FACTOR;
    }
    vertex.source.script.failure = None;
    vertex.task.user_failure = None;
    vertex.task.commit_script = None;
    vertex.task.record_interval_ns = vertex.task.record_interval_ns.min(NANOS_PER_MILLI);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::run_seed;
    use splitrace_runtime::event::FaultKind;

    #[test]
    fn each_maker_has_a_name() {
        for maker in Maker::ALL {
            assert_eq!(Maker::from_id(maker.id()), Some(maker));
        }
        assert_eq!((Maker::from_id("none"), Maker::default()), (None, Maker::Swarm));
    }

    #[test]
    fn lite_is_small_and_perf_is_big_and_nothing_breaks_there() {
        let (mut lite, mut swarm) = (0, 0);
        for seed in 0..20 {
            let report = run_seed(&Scenario::lite(seed), seed);
            assert!(report.is_success(), "lite {seed}: {}", report.outcome);
            lite += report.events;
            swarm += run_seed(&Scenario::swarm(seed), seed).events;
        }
        assert!(lite < swarm, "{lite} events are no less than {swarm}");
        for seed in 0..3 {
            let report = run_seed(&Scenario::perf(seed), seed);
            assert!(report.is_success(), "perf {seed}: {}", report.outcome);
            // Frames overtake each other on a healthy network, too.
            let mut faults = report.exercised.faults.keys();
            assert!(faults.all(|fault| *fault == FaultKind::MessageReorder), "perf {seed}");
        }
    }
}
