//! Named points: what a plan asks for happens there, once, and a run says what of it was reached.

use splitrace_invariants::Outcome;
use splitrace_runtime::config::{NANOS_PER_MILLI, RegionScope};
use splitrace_runtime::event::{Event, EventKind, FaultKind};
use splitrace_runtime::ids::CheckpointId;
use splitrace_sim::choices::SeedChoices;
use splitrace_sim::run::{RunReport, run_with};
use splitrace_sim::scenario::{DemoMode, DemoOptions, Scenario};

fn planned(plan: &[&str]) -> Scenario {
    let mut scenario =
        Scenario::demo(DemoMode::Normal, DemoOptions { interval_ms: 300, ..DemoOptions::default() });
    scenario.faults.heal_after_ns = 10_000 * NANOS_PER_MILLI;
    scenario.network.resend_max = 2;
    scenario.plan = plan.iter().map(|step| step.parse().expect("a step")).collect();
    scenario.validate().expect("it fits the demo");
    scenario
}

fn run(plan: &[&str], seed: u64) -> (RunReport, Vec<Event>) {
    let mut events = Vec::new();
    let mut keep = |event: &Event| events.push(event.clone());
    let report = run_with(&planned(plan), SeedChoices::new(seed), Some(&mut keep));
    (report, events)
}

fn position(events: &[Event], is_it: impl Fn(&EventKind) -> bool) -> usize {
    events.iter().position(|event| is_it(&event.kind)).expect("it happened")
}

fn is_fault(kind: &EventKind, wanted: FaultKind) -> bool {
    matches!(kind, EventKind::FaultInjected { fault, .. } if *fault == wanted)
}

#[test]
fn the_examples_of_the_documentation_are_reached_and_survived() {
    let plan = [
        "after(checkpoint-complete checkpoint=5).before(commit) do fail-task",
        "before(send-acknowledge checkpoint=2) do delay 500ms",
        "before(answer-add-splits nth=2) do drop",
        "after(barrier checkpoint=3) do crash-task-manager 1",
    ];
    for seed in 0..5 {
        let (report, _) = run(&plan, seed);
        assert!(report.is_plan_carried_out(), "seed {seed}: {:?}", report.plan);
        assert!(matches!(report.outcome, Outcome::Passed), "seed {seed}: {}", report.outcome);
    }
}

#[test]
fn a_task_that_fails_before_its_commit_has_not_asked_for_it() {
    for seed in 0..5 {
        let (report, events) =
            run(&["after(checkpoint-complete checkpoint=2).before(commit) do fail-task"], seed);
        assert!(report.is_plan_carried_out() && report.is_success(), "seed {seed}: {}", report.outcome);
        let complete = position(&events, |kind| {
            matches!(kind, EventKind::CheckpointCompleted { checkpoint: CheckpointId(2), .. })
        });
        let failed = position(&events, |kind| is_fault(kind, FaultKind::TaskFailure));
        let asked = |event: &Event| matches!(event.kind, EventKind::CommitRequested { recommit: false, .. });
        assert!(complete < failed, "seed {seed}");
        assert!(!events[complete..failed].iter().any(asked), "seed {seed}: it was to fail before");
    }
}

#[test]
fn a_checkpoint_is_held_open() {
    let (report, events) = run(&["before(send-acknowledge checkpoint=2 subtask=0) do delay 250ms"], 1);
    assert!(report.is_plan_carried_out());
    let at_ns =
        |wanted: &dyn Fn(&EventKind) -> bool| events[position(&events, wanted)].header.virtual_time_ns;
    let begun = at_ns(&|kind| matches!(kind, EventKind::CheckpointTriggered { checkpoint: CheckpointId(2) }));
    let complete =
        at_ns(&|kind| matches!(kind, EventKind::CheckpointCompleted { checkpoint: CheckpointId(2), .. }));
    assert!(complete - begun >= 250 * NANOS_PER_MILLI, "{} ns", complete - begun);
}

#[test]
fn what_is_lost_stays_lost_and_what_is_dropped_comes_again() {
    let lost = |events: &[Event]| {
        events.iter().any(|event| matches!(event.kind, EventKind::OperatorEventLost { .. }))
    };
    let (report, events) = run(&["before(send-add-splits subtask=1) do lose"], 2);
    assert!(report.is_success() && lost(&events), "{}", report.outcome);
    let (report, events) = run(&["before(send-add-splits subtask=1) do drop"], 2);
    assert!(report.is_success() && !lost(&events), "{}", report.outcome);
}

#[test]
fn a_task_outlives_its_end() {
    let plan = [
        "after(new-split subtask=1) do outlive 200ms",
        "after(records-emitted subtask=1 nth=4) do fail-task vertex=0 subtask=0",
    ];
    let mut scenario = planned(&plan);
    scenario.job.region = RegionScope::Vertex;
    let mut zombies = 0;
    let mut count = |event: &Event| zombies += u32::from(is_fault(&event.kind, FaultKind::Zombie));
    let report = run_with(&scenario, SeedChoices::new(3), Some(&mut count));
    assert!(report.is_plan_carried_out() && report.is_success(), "{}: {:?}", report.outcome, report.plan);
    assert_eq!(zombies, 1);
}

#[test]
fn a_place_that_is_not_reached_is_told_and_nothing_breaks() {
    let (report, events) = run(&["after(checkpoint-complete checkpoint=4000) do crash-job-manager"], 0);
    assert!(report.is_success() && !report.is_plan_carried_out());
    assert!(!events.iter().any(|event| is_fault(&event.kind, FaultKind::JobManagerCrash)));
}

#[test]
fn a_planned_run_is_the_same_run_each_time() {
    let plan = ["after(assignment nth=3).before(barrier) do pause 40ms", "after(given-back) do crash-store"];
    let hash = |seed| run(&plan, seed).0.trace_hash;
    assert_eq!((hash(7), hash(8)), (hash(7), hash(8)));
}
