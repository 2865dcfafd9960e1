//! For each defect a small scenario, written by hand, in which it shows: the bug of the report in as few steps as it takes.
//!
//! A demonstration draws nothing. Every choice is the benign one (no fault, the oldest message first, the least time),
//! and what breaks is in its plan, at [named points](crate::points). So it is the same run whatever is drawn elsewhere, it
//! passes without the defect and fails with it, and it reads as the schedule that explains the bug. A random search finds
//! the same defects without such help; the benchmark measures how soon.
//!
//! Refused: recorded choices of a run that a search had found. They show the bug too, but nobody can read them, and every
//! change of the world makes them stale.

mod compaction;
mod coordination;
mod historical_sinks;
mod logs;
mod reading;
mod sinks;
mod sources;
mod tasks;

use crate::choices::{BenignChoices, RecordedChoices};
use crate::run::{RunReport, run_recorded};
use crate::scenario::{DemoMode, DemoOptions, FaultConfig, NetworkConfig, NetworkSemantics, Scenario};
use crate::twice::first_divergence;
use splitrace_invariants::{Code, Outcome};
use splitrace_runtime::config::{HeartbeatConfig, JobConfig, NANOS_PER_MILLI};
use splitrace_runtime::defects::{Defect, DefectSet};

/// So many pairs of runs are compared where one run shows nothing.
const PAIRS_MAX: u32 = 8;

/// How a defect is demonstrated.
#[derive(Clone, Copy, Debug)]
pub struct Demonstration {
    /// What is demonstrated.
    pub defect: Defect,
    /// What happens, in a sentence.
    pub story: &'static str,
    /// Its scenario, without the defect.
    pub scenario: fn() -> Scenario,
}

impl Demonstration {
    /// Every demonstration.
    #[must_use]
    pub fn all() -> Vec<Self> {
        [
            compaction::ALL,
            coordination::ALL,
            logs::ALL,
            reading::ALL,
            sources::ALL,
            tasks::ALL,
            sinks::ALL,
            historical_sinks::ALL,
        ]
        .concat()
    }

    /// How this defect is demonstrated.
    #[must_use]
    pub fn of(defect: Defect) -> Option<Self> {
        Self::all().into_iter().find(|demonstration| demonstration.defect == defect)
    }

    /// The scenario with the defect switched on.
    #[must_use]
    pub fn defective(&self) -> Scenario {
        let mut scenario = (self.scenario)();
        scenario.job.defects = DefectSet::NONE.with(self.defect);
        scenario
    }

    /// Runs it without the defect.
    #[must_use]
    pub fn run_clean(&self) -> RunReport {
        run_recorded(&(self.scenario)(), &RecordedChoices::default())
    }

    /// Runs it with the defect.
    #[must_use]
    pub fn run_defective(&self) -> RunReport {
        run_recorded(&self.defective(), &RecordedChoices::default())
    }

    /// Whether a run with the defect is ended by an invariant that the defect's entry names. What breaks D1 takes two runs
    /// to see, and may hide from a pair.
    #[must_use]
    pub fn is_found(&self) -> bool {
        let named = self.defect.entry().invariants;
        if named.contains(&Code::D1.as_str()) {
            let scenario = self.defective();
            return first_divergence(&scenario, || BenignChoices, PAIRS_MAX).is_some();
        }
        match self.run_defective().outcome {
            Outcome::Violated(violation) => named.contains(&violation.code.as_str()),
            _ => false,
        }
    }
}

/// A job of one source with two subtasks, four splits of ten records, a record every 4 ms and a checkpoint every 50 ms, on
/// a network that takes 1 ms; what is varied and the plan make a demonstration of it.
fn job(vary: impl FnOnce(&mut JobConfig), plan: &[&str]) -> Scenario {
    scenario(|scenario| vary(&mut scenario.job), plan)
}

/// As [`job`], where more than the job is varied.
fn scenario(vary: impl FnOnce(&mut Scenario), plan: &[&str]) -> Scenario {
    let options = DemoOptions {
        delay_ms: 4,
        interval_ms: 50,
        restart_delay_ms: 20,
        restart_attempts: 100_000,
        records_per_split: 10,
        ..DemoOptions::default()
    };
    let mut scenario = Scenario::demo(DemoMode::Normal, options);
    scenario.network = NetworkConfig {
        semantics: NetworkSemantics::UnorderedDuplicating,
        latency_min_ns: NANOS_PER_MILLI,
        latency_jitter_ns: 0,
        service_jitter_ns: 0,
        resend_after_ns: 20 * NANOS_PER_MILLI,
        resend_max: 3,
        ..scenario.network
    };
    scenario.faults = FaultConfig {
        heal_after_ns: 2_000 * NANOS_PER_MILLI,
        down_time_max_ns: 1_280 * NANOS_PER_MILLI,
        ..FaultConfig::NONE
    };
    scenario.job.heartbeat =
        HeartbeatConfig { interval_ns: 60 * NANOS_PER_MILLI, timeout_ns: 250 * NANOS_PER_MILLI };
    if let Some(checkpointing) = &mut scenario.job.checkpointing {
        checkpointing.timeout_ns = 200 * NANOS_PER_MILLI;
        checkpointing.failures_tolerable = 1_000;
    }
    scenario.limits.no_progress_max_ns = 5_000 * NANOS_PER_MILLI;
    scenario.limits.virtual_time_max_ns = 20_000 * NANOS_PER_MILLI;
    vary(&mut scenario);
    scenario.plan = plan.iter().map(|step| step.parse().expect("a demonstration's plan is right")).collect();
    scenario.validate().expect("a demonstration is a valid scenario");
    scenario
}

/// Varies nothing.
fn plain(_: &mut JobConfig) {}
