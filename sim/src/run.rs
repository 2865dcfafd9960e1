//! A whole run: a world, the latency queue as its policy, and a report.

use crate::choices::{Choices, RecordedChoices, Recorder, Replayer, SeedChoices};
use crate::judge::RecordTotals;
use crate::scenario::Scenario;
use crate::world::World;
use serde::Serialize;
use splitrace_invariants::{
    Code, Exercised, Judgement, Outcome, PanicPlace, Promise, RunEnd, RunStop, Violation,
};
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
    /// Every violation: more than the one in `outcome` only when the run went on after it.
    pub violations: Vec<Violation>,
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
    choices: impl Choices,
    observer: Option<&mut dyn FnMut(&Event)>,
) -> RunReport {
    run_with_options(scenario, choices, observer, RunOptions::default())
}

/// How a run is driven, beside what determines it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// A violation does not end the run: a demo shows the whole damage. The verdict is the same.
    pub goes_on_after_violation: bool,
}

/// As [`run_with`], with options.
pub fn run_with_options(
    scenario: &Scenario,
    mut choices: impl Choices,
    mut observer: Option<&mut dyn FnMut(&Event)>,
    options: RunOptions,
) -> RunReport {
    let mut world = World::new(scenario, &mut choices);
    if options.goes_on_after_violation {
        world.judge_mut().hear_all();
    }
    if observer.is_some() {
        world.keep_events();
    }
    let guarded = std::panic::catch_unwind(AssertUnwindSafe(|| {
        drive(scenario, options, &mut world, &mut choices, &mut |world: &mut World| {
            if let Some(observer) = observer.as_deref_mut() {
                world.drain_events().iter().for_each(observer);
            }
        })
    }));
    let outcome = guarded.unwrap_or_else(|panic| Outcome::Panicked {
        place: if world.is_judging() { PanicPlace::Checker } else { PanicPlace::Protocol },
        message: panic_message(&*panic),
    });
    report(scenario, &mut world, outcome)
}

/// Steps a world by the latency queue until it has an outcome.
fn drive(
    scenario: &Scenario,
    options: RunOptions,
    world: &mut World,
    choices: &mut dyn Choices,
    after_step: &mut dyn FnMut(&mut World),
) -> Outcome {
    let limits = scenario.limits;
    let mut ends_at_ns = u64::MAX;
    loop {
        if world.step_count() >= limits.steps_max && world.next_by_latency().is_some() {
            let limit = Outcome::StepLimit { steps: world.step_count() };
            return last_word(world, RunStop::StepLimit).unwrap_or(limit);
        }
        if !world.step_by_latency(choices) {
            break;
        }
        after_step(world);
        if !options.goes_on_after_violation
            && let Some(violation) = world.judge().violation()
        {
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
            return last_word(world, RunStop::VirtualTimeout)
                .unwrap_or(Outcome::VirtualTimeout { at_ns: now_ns });
        } else if world.is_healed() && now_ns > world.judge().last_progress_ns() + limits.no_progress_max_ns {
            break;
        }
    }
    let result = world.judge().job_result().cloned();
    if let Some(violated) = last_word(world, RunStop::Quiescent) {
        return violated;
    }
    match result {
        None => Outcome::Deadlocked { waiting: world.waiting() },
        Some(JobResult::Finished) => Outcome::Passed,
        Some(JobResult::Failed(cause)) => Outcome::JobFailed { cause },
        Some(JobResult::Cancelled) => Outcome::Cancelled,
    }
}

/// What the checkers say once nothing more comes; the first violation of all counts.
fn last_word(world: &mut World, stop: RunStop) -> Option<Outcome> {
    let end = RunEnd { job_ended: world.judge().job_result().cloned(), stop, at: world.judge().last()? };
    world.judge_mut().finish(&end);
    world.judge().violation().cloned().map(Outcome::Violated)
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
        violations: world.judge().violations().to_vec(),
        judgements: world.judge().judgements(),
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
