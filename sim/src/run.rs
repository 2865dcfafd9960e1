//! A whole run: a world, the latency queue as its policy, and a report.

use crate::choices::{Choices, RecordedChoices, Recorder, Replayer, SeedChoices};
use crate::judge::RecordTotals;
use crate::points::StepReport;
use crate::scenario::Scenario;
use crate::world::World;
use serde::Serialize;
use splitrace_invariants::{
    Code, Exercised, Judgement, Outcome, PanicPlace, Promise, RunEnd, RunStop, Violation,
};
use splitrace_runtime::api::user_code::{AttributedPanic, message_of};
use splitrace_runtime::event::Event;
use splitrace_runtime::message::JobResult;
use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;

/// What a run says of itself.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// How it ended.
    pub outcome: Outcome,
    /// The hash over all its events: equal for equal (scenario, choices), on any machine and in any build.
    #[serde(with = "crate::trace_hash_text")]
    pub trace_hash: u64,
    /// What 'events per second' counts: messages that living processes took, and [`Self::role_steps`]. The same counts on
    /// the [bare loop](crate::yardstick).
    pub events: u64,
    /// Inputs handled by a role.
    pub role_steps: u64,
    /// Whatever happened, one by one: turns, frames, timers, faults; what `limits.steps_max` bounds.
    pub world_steps: u64,
    /// Events told to the checkers and the trace hash.
    pub event_count: u64,
    /// Virtual time at its end in nanoseconds.
    pub virtual_time_ns: u64,
    /// What was exercised.
    pub exercised: Exercised,
    /// Records read and made visible.
    pub records: RecordTotals,
    /// The choices that differ from the default; empty unless the run was recorded.
    pub choices: RecordedChoices,
    /// What became of each step of the scenario's plan.
    pub plan: Vec<StepReport>,
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

    /// Whether every place of the scenario's plan was reached. A plan that was not carried out shows nothing.
    #[must_use]
    pub fn is_plan_carried_out(&self) -> bool {
        self.plan.iter().all(|step| step.reached_at_ns.is_some())
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
    record_seed_with_options(scenario, seed, RunOptions::default())
}

/// As [`record_seed`], with options.
#[must_use]
pub fn record_seed_with_options(scenario: &Scenario, seed: u64, options: RunOptions<'_>) -> RunReport {
    let mut recorder = Recorder::new(SeedChoices::new(seed));
    let mut report = run_with_options(scenario, &mut recorder, None, options);
    report.choices = recorder.into_recorded();
    report
}

/// Runs a scenario with recorded choices.
#[must_use]
pub fn run_recorded(scenario: &Scenario, choices: &RecordedChoices) -> RunReport {
    run_recorded_with_options(scenario, choices, RunOptions::default())
}

/// As [`run_recorded`], with options.
#[must_use]
pub fn run_recorded_with_options(
    scenario: &Scenario,
    choices: &RecordedChoices,
    options: RunOptions<'_>,
) -> RunReport {
    let mut report = run_with_options(scenario, Replayer::new(choices), None, options);
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

/// Whether whoever asked for a run still wants it. The host asks, never the simulated code.
pub type Stop<'host> = &'host (dyn Fn() -> bool + Sync);

/// After so many world steps the host asks again whether to stop: some tenths of a millisecond.
pub const WORLD_STEPS_BETWEEN_STOPS: u64 = 512;

/// How a run is driven, beside what determines it.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'host> {
    /// A violation does not end the run: a demo shows the whole damage. The verdict is the same.
    pub goes_on_after_violation: bool,
    /// Once it says yes the run ends as [`Outcome::Interrupted`]. A run that was not stopped is the same run whether or
    /// not anybody could have stopped it.
    pub stop: Option<Stop<'host>>,
}

impl fmt::Debug for RunOptions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RunOptions")
            .field("goes_on_after_violation", &self.goes_on_after_violation)
            .field("can_be_stopped", &self.stop.is_some())
            .finish()
    }
}

/// As [`run_with`], with options.
pub fn run_with_options(
    scenario: &Scenario,
    mut choices: impl Choices,
    mut observer: Option<&mut dyn FnMut(&Event)>,
    options: RunOptions<'_>,
) -> RunReport {
    let mut world = World::new(scenario, &mut choices);
    if options.goes_on_after_violation {
        world.judge_mut().hear_all();
    }
    if observer.is_some() {
        world.keep_events();
    }
    let guarded = std::panic::catch_unwind(AssertUnwindSafe(|| {
        drive(scenario, options, &mut world, &mut choices, &mut observer)
    }));
    let outcome = guarded.unwrap_or_else(|panic| Outcome::Panicked {
        place: panic_place(&*panic, world.is_judging()),
        message: format!("{}, {}", message_of(&*panic), world.place_of_panic()),
    });
    report(scenario, &mut world, outcome)
}

/// Whose code panicked: a checker's, when one was looking at an event; a connector's, when the panic says so.
fn panic_place(panic: &(dyn Any + Send), is_judging: bool) -> PanicPlace {
    let is_users = panic.downcast_ref::<AttributedPanic>().is_some_and(|panic| panic.is_users);
    match (is_judging, is_users) {
        (true, _) => PanicPlace::Checker,
        (false, true) => PanicPlace::UserCode,
        (false, false) => PanicPlace::Protocol,
    }
}

/// Steps a world by the latency queue until it has an outcome.
fn drive(
    scenario: &Scenario,
    options: RunOptions<'_>,
    world: &mut World,
    choices: &mut dyn Choices,
    observer: &mut Option<&mut dyn FnMut(&Event)>,
) -> Outcome {
    let limits = scenario.limits;
    let mut ends_at_ns = u64::MAX;
    loop {
        if world.step_count() >= limits.steps_max && world.next_by_latency().is_some() {
            let limit = Outcome::StepLimit { world_steps: world.step_count() };
            return last_word(world, RunStop::StepLimit).unwrap_or(limit);
        }
        if is_stopped(options.stop, world.step_count()) {
            let seen = world.judge().violation().cloned().map(Outcome::Violated);
            return seen.unwrap_or(Outcome::Interrupted { world_steps: world.step_count() });
        }
        if !world.step_by_latency(choices) {
            break;
        }
        if let Some(observer) = observer.as_deref_mut() {
            world.drain_events().iter().for_each(observer);
        }
        if !options.goes_on_after_violation
            && let Some(violation) = world.judge().violation()
        {
            return Outcome::Violated(violation.clone());
        }
        let now_ns = world.now_ns();
        if world.judge().job_result().is_some() && world.is_last_job() {
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
        Some(JobResult::Cancelled | JobResult::Stopped(_)) => Outcome::Cancelled,
    }
}

/// A look at the host's flag, rare enough to cost nothing.
fn is_stopped(stop: Option<Stop<'_>>, world_steps: u64) -> bool {
    stop.is_some_and(|stop| world_steps.is_multiple_of(WORLD_STEPS_BETWEEN_STOPS) && stop())
}

/// What the checkers say once nothing more comes; the first violation of all counts.
fn last_word(world: &mut World, stop: RunStop) -> Option<Outcome> {
    let (at, now_ns) = (world.judge().last()?, world.now_ns());
    let end = RunEnd { job_ended: world.judge().job_result().cloned(), stop, at, now_ns };
    world.judge_mut().finish(&end);
    world.judge().violation().cloned().map(Outcome::Violated)
}

fn report(scenario: &Scenario, world: &mut World, outcome: Outcome) -> RunReport {
    RunReport {
        outcome,
        trace_hash: world.judge().trace_hash(),
        events: world.event_step_count() + world.message_count(),
        role_steps: world.event_step_count(),
        world_steps: world.step_count(),
        event_count: world.judge().event_count(),
        virtual_time_ns: world.now_ns(),
        exercised: world.judge().exercised(),
        records: world.judge().totals(scenario.expected_records()),
        choices: RecordedChoices::default(),
        plan: world.plan_report(),
        promise: scenario.promise(),
        violations: world.judge().violations().to_vec(),
        judgements: world.judge().judgements(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{DemoMode, DemoOptions};
    use std::sync::atomic::{AtomicU64, Ordering};

    fn stopped_at_look(looks_before: u64) -> RunReport {
        let looks = AtomicU64::new(0);
        let stop = || looks.fetch_add(1, Ordering::Relaxed) >= looks_before;
        let options = RunOptions { stop: Some(&stop), ..RunOptions::default() };
        run_with_options(&demo(), SeedChoices::new(1), None, options)
    }

    fn demo() -> Scenario {
        Scenario::demo(DemoMode::Normal, DemoOptions::default())
    }

    #[test]
    fn a_panic_has_one_of_three_owners() {
        let of = |is_users| AttributedPanic {
            is_users,
            method: "SplitEnumerator::start",
            message: "oh".to_owned(),
        };
        assert_eq!(panic_place(&"oh", false), PanicPlace::Protocol);
        assert_eq!(panic_place(&of(false), false), PanicPlace::Protocol);
        assert_eq!(panic_place(&of(true), false), PanicPlace::UserCode);
        assert_eq!(panic_place(&"oh", true), PanicPlace::Checker);
    }

    #[test]
    fn a_stop_ends_a_run_where_it_is_and_counts_for_nothing() {
        let report = stopped_at_look(1);
        assert_eq!(report.outcome, Outcome::Interrupted { world_steps: WORLD_STEPS_BETWEEN_STOPS });
        assert_eq!(report.world_steps, WORLD_STEPS_BETWEEN_STOPS);
        assert!(!report.is_success() && report.violations.is_empty());
    }

    #[test]
    fn a_run_that_could_have_been_stopped_is_the_same_run() {
        let (watched, plain) = (stopped_at_look(u64::MAX), run_seed(&demo(), 1));
        assert_eq!((watched.trace_hash, watched.outcome), (plain.trace_hash, plain.outcome));
        assert!(plain.world_steps > WORLD_STEPS_BETWEEN_STOPS, "or it was never looked at");
        assert!(plain.role_steps < plain.events && plain.events < plain.world_steps + plain.role_steps);
    }
}
