//! A verdict must not hang on the order in which one machine happened to see the events: every order that sequence and
//! cause allow is judged alike, on recorded runs, good and bad.

use splitrace_invariants::testing::linear_extension;
use splitrace_invariants::{Checkers, Code, Moment, Outcome, RunEnd, RunStop};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::message::JobResult;
use splitrace_sim::choices::SeedChoices;
use splitrace_sim::run::run_with;
use splitrace_sim::scenario::Scenario;

const ORDERS: u64 = 20;

fn recorded(scenario: &Scenario, seed: u64) -> (Outcome, Vec<Event>) {
    let mut events = Vec::new();
    let mut keep = |event: &Event| events.push(event.clone());
    let report = run_with(scenario, SeedChoices::new(seed), Some(&mut keep));
    (report.outcome, events)
}

/// The code that is broken first, or none.
fn verdict(scenario: &Scenario, events: &[Event], result: Option<JobResult>) -> Option<(Code, String)> {
    let mut checkers = Checkers::new(&scenario.setup());
    let observed = events.iter().try_for_each(|event| checkers.observe(event));
    let last = events.last().expect("a run tells events");
    let (at, now_ns) = (Moment::from(&last.header), last.header.virtual_time_ns);
    let end = RunEnd { job_ended: result, stop: RunStop::Quiescent, at, now_ns };
    observed
        .and_then(|()| checkers.finish(&end))
        .err()
        .map(|violation| (violation.code, violation.to_string()))
}

fn result_of(events: &[Event]) -> Option<JobResult> {
    events.iter().find_map(|event| match &event.kind {
        EventKind::JobEnded { result } => Some(result.clone()),
        _ => None,
    })
}

#[test]
fn an_honest_run_is_right_in_every_order() {
    let mut moved = 0;
    for seed in 0..60 {
        let scenario = Scenario::draw(seed);
        let (outcome, events) = recorded(&scenario, seed);
        assert!(outcome.is_success(&scenario.promise()), "seed {seed}: {outcome}");
        let result = result_of(&events);
        for order in 0..ORDERS {
            let extension = linear_extension(&events, seed * ORDERS + order);
            moved += usize::from(extension != events);
            let found = verdict(&scenario, &extension, result.clone());
            assert_eq!(found, None, "seed {seed}, order {order}");
        }
    }
    assert!(moved > 1_000, "only {moved} orders differ from the live one");
}
