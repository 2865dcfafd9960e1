//! A whole run: a world, the latency queue as its policy, and a report.

use crate::choices::{Choices, RecordedChoices, Recorder, Replayer, SeedChoices};
use crate::judge::RecordTotals;
use crate::scenario::Scenario;
use crate::world::World;
use serde::Serialize;
use splitrace_invariants::{Code, Exercised, Judgement, Outcome, PanicPlace, Promise, RunEnd, RunStop};
use splitrace_runtime::event::Event;
use splitrace_runtime::message::JobResult;
use std::panic::AssertUnwindSafe;

/// What a run says of itself.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// How it ended.
    pub outcome: Outcome,
    /// The hash over all its events: equal for equal (scenario, choices), on any machine and in any build.
    pub trace_hash: u64,
    /// Inputs handled by a role: what 'events per second' counts.
    pub steps: u64,
    /// Events told.
    pub event_count: u64,
    /// Virtual time at its end in nanoseconds.
    pub virtual_time_ns: u64,
    /// What was exercised.
    pub exercised: Exercised,
    /// Records read and made visible.
    pub records: RecordTotals,
    /// The choices that differ from the default; empty unless the run was recorded.
    pub choices: RecordedChoices,
    /// What the scenario promised.
    pub promise: Promise,
    /// Which invariants judged, and how often.
    pub judgements: Vec<(Code, Judgement)>,
}

impl RunReport {
    /// Whether nothing is wrong: passed, or an end that the promise allows.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.outcome.is_success(&self.promise)
    }
}

/// Runs a scenario with the choices of a seed.
#[must_use]
pub fn run_seed(scenario: &Scenario, seed: u64) -> RunReport {
    run_with(scenario, SeedChoices::new(seed), None)
}

/// As [`run_seed`], and writes the choices down.
#[must_use]
pub fn record_seed(scenario: &Scenario, seed: u64) -> RunReport {
    let mut recorder = Recorder::new(SeedChoices::new(seed));
    let mut report = run_with(scenario, &mut recorder, None);
    report.choices = recorder.into_recorded();
    report
}

/// Runs a scenario with recorded choices.
#[must_use]
pub fn run_recorded(scenario: &Scenario, choices: &RecordedChoices) -> RunReport {
    let mut report = run_with(scenario, Replayer::new(choices), None);
    report.choices = choices.clone();
    report
}

/// Runs a scenario with any source of choices; `observer` sees every event.
pub fn run_with(
    scenario: &Scenario,
    mut choices: impl Choices,
    mut observer: Option<&mut dyn FnMut(&Event)>,
) -> RunReport {
    let mut world = World::new(scenario, &mut choices);
    if observer.is_some() {
        world.keep_events();
    }
    let guarded = std::panic::catch_unwind(AssertUnwindSafe(|| {
        drive(scenario, &mut world, &mut choices, &mut |world: &mut World| {
            if let Some(observer) = observer.as_deref_mut() {
                world.drain_events().iter().for_each(observer);
            }
        })
    }));
    let outcome = guarded.unwrap_or_else(|panic| Outcome::Panicked {
        place: PanicPlace::Protocol,
        message: panic_message(&*panic),
    });
    report(scenario, &mut world, outcome)
}

/// Steps a world by the latency queue until it has an outcome.
fn drive(
    scenario: &Scenario,
    world: &mut World,
    choices: &mut dyn Choices,
    after_step: &mut dyn FnMut(&mut World),
) -> Outcome {
    let limits = scenario.limits;
    let mut ends_at_ns = u64::MAX;
    loop {
        if world.step_count() >= limits.steps_max && world.next_by_latency().is_some() {
            return Outcome::StepLimit { steps: world.step_count() };
        }
        if !world.step_by_latency(choices) {
            break;
        }
        after_step(world);
        if let Some(violation) = world.judge().violation() {
            return Outcome::Violated(violation.clone());
        }
        let now_ns = world.now_ns();
        if world.judge().job_result().is_some() {
            if ends_at_ns == u64::MAX {
                ends_at_ns = now_ns + limits.settle_ns;
            }
            if now_ns > ends_at_ns {
                break;
            }
        } else if now_ns > limits.virtual_time_max_ns {
            return Outcome::VirtualTimeout { at_ns: now_ns };
        } else if world.is_healed() && now_ns > world.judge().last_progress_ns() + limits.no_progress_max_ns {
            break;
        }
    }
    last_word(world)
}

/// What the checkers say once nothing more comes, and how the job ended.
fn last_word(world: &mut World) -> Outcome {
    let result = world.judge().job_result().cloned();
    let Some(at) = world.judge().last() else {
        return Outcome::Deadlocked { waiting: world.waiting() };
    };
    let end = RunEnd { job_ended: result.clone(), stop: RunStop::Quiescent, at };
    let deadlocked = result.is_none();
    let waiting = if deadlocked { world.waiting() } else { Vec::new() };
    if let Err(violation) = world.judge_mut().checkers_mut().finish(&end) {
        return Outcome::Violated(violation);
    }
    match result {
        None => Outcome::Deadlocked { waiting },
        Some(JobResult::Finished) => Outcome::Passed,
        Some(JobResult::Failed(cause)) => Outcome::JobFailed { cause },
        Some(JobResult::Cancelled) => Outcome::Cancelled,
    }
}

fn report(scenario: &Scenario, world: &mut World, outcome: Outcome) -> RunReport {
    RunReport {
        outcome,
        trace_hash: world.judge().trace_hash(),
        steps: world.event_step_count(),
        event_count: world.judge().event_count(),
        virtual_time_ns: world.now_ns(),
        exercised: world.judge().exercised(),
        records: world.judge().totals(scenario.expected_records()),
        choices: RecordedChoices::default(),
        promise: scenario.promise(),
        judgements: world.judge_mut().checkers_mut().judgements(),
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
