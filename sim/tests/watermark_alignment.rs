//! Watermark alignment in the simulated world: how far readers drift apart with it and without, what a reader that cannot
//! pause its splits does, and that a failure in the middle of it loses nothing.

use splitrace_invariants::Outcome;
use splitrace_runtime::config::{ReaderKind, UserFailure};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::SplitId;
use splitrace_sim::choices::SeedChoices;
use splitrace_sim::run::{RunReport, run_with};
use splitrace_sim::scenario::{DemoMode, DemoOptions, Scenario};
use std::collections::BTreeMap;

fn demo() -> Scenario {
    Scenario::demo(DemoMode::WatermarkAlignment, DemoOptions::default())
}

fn told(scenario: &Scenario, seed: u64) -> (RunReport, Vec<Event>) {
    let mut events = Vec::new();
    let mut keep = |event: &Event| events.push(event.clone());
    let report = run_with(scenario, SeedChoices::new(seed), Some(&mut keep));
    (report, events)
}

fn count(events: &[Event], wanted: impl Fn(&EventKind) -> bool) -> usize {
    events.iter().filter(|event| wanted(&event.kind)).count()
}

/// The furthest that an emitted record was ahead of the slowest split that was still read, in milliseconds, once every
/// reader has heard a limit.
fn furthest_ms(scenario: &Scenario, events: &[Event]) -> u64 {
    let event_time = scenario.job.vertices[0].task.event_time;
    let mut reached: BTreeMap<SplitId, u64> = BTreeMap::new();
    let mut furthest_ms = 0;
    for event in events {
        match &event.kind {
            EventKind::RecordsEmitted { range } => {
                let at_ms = event_time.of(range.split, range.end - 1);
                reached.insert(range.split, at_ms);
                let slowest_ms = *reached.values().min().expect("it was just put in");
                if event.header.virtual_time_ns > 1_500_000_000 {
                    furthest_ms = furthest_ms.max(at_ms - slowest_ms);
                }
            }
            EventKind::SplitFinished { split } => {
                reached.remove(split);
            }
            _ => {}
        }
    }
    furthest_ms
}

#[test]
fn readers_stay_within_the_drift_of_each_other() {
    for seed in 0..5 {
        let (report, events) = told(&demo(), seed);
        assert_eq!(report.outcome, Outcome::Passed, "seed {seed}");
        let waits = count(&events, |kind| matches!(kind, EventKind::AlignmentWaitBegan { .. }));
        let goes_on = count(&events, |kind| matches!(kind, EventKind::AlignmentWaitEnded { .. }));
        assert!(waits > 0 && waits == goes_on, "seed {seed}: {waits} and {goes_on}");
        // A record is 100 ms after the one before, and one may be on the far side of the limit.
        assert!(furthest_ms(&demo(), &events) <= 600, "seed {seed}");

        let mut free = demo();
        free.job.vertices[0].task.alignment = None;
        let (report, events) = told(&free, seed);
        assert_eq!(report.outcome, Outcome::Passed, "seed {seed}");
        assert!(furthest_ms(&free, &events) >= 2_500, "seed {seed}: three splits' head start");
    }
}

#[test]
fn a_failure_of_a_reader_that_waits_or_is_waited_for_loses_nothing() {
    for record in [0, 50, 99, 130] {
        let mut scenario = demo();
        let moment = splitrace_runtime::config::FailureMoment::Read;
        scenario.job.vertices[0].task.user_failure = Some(UserFailure { record, attempts_below: 1, moment });
        let (report, events) = told(&scenario, 3);
        assert_eq!(report.outcome, Outcome::Passed, "record {record}");
        assert_eq!((report.records.total, report.records.duplicates), (160, 0), "record {record}");
        assert!(count(&events, |kind| matches!(kind, EventKind::FailoverStarted { .. })) > 0);
    }
}

#[test]
fn a_reader_that_cannot_pause_its_splits_fails_the_job_unless_that_is_allowed() {
    let mut scenario = demo();
    scenario.job.vertices[0].task.reader = ReaderKind::Blocking;
    let (report, _) = told(&scenario, 0);
    let Outcome::JobFailed { cause } = &report.outcome else { panic!("{}", report.outcome) };
    assert!(cause.contains("cannot pause or resume splits"), "{cause}");
    assert!(report.is_success(), "the promise knows of it");
    if let Some(alignment) = &mut scenario.job.vertices[0].task.alignment {
        alignment.allow_unaligned_splits = true;
    }
    assert_eq!(told(&scenario, 0).0.outcome, Outcome::Passed);
}
