//! The same scenario and choices are the same run: twice, the thousandth time, on another thread, and on the day on which
//! the snapshot was taken. (Across processes and build profiles: `fuzz/splitrace/tests/hashes.rs` and
//! `ci/compare_profiles.sh`.)

use splitrace_invariants::{Code, compare};
use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_sim::choices::SeedChoices;
use splitrace_sim::run::{RunReport, run_seed, run_with};
use splitrace_sim::scenario::Scenario;
use std::collections::BTreeMap;
use std::fmt::Write;

fn drawn(seed: u64) -> RunReport {
    run_seed(&Scenario::draw(seed), seed)
}

fn events_of(scenario: &Scenario, seed: u64) -> (RunReport, Vec<Event>) {
    let mut events = Vec::new();
    let mut keep = |event: &Event| events.push(event.clone());
    let report = run_with(scenario, SeedChoices::new(seed), Some(&mut keep));
    (report, events)
}

#[test]
fn a_seed_is_the_same_run_the_first_time_and_the_thousandth() {
    let first: Vec<u64> = (0..10).map(|seed| drawn(seed).trace_hash).collect();
    for other in 1_000..1_980 {
        let _ = drawn(other);
    }
    let last: Vec<u64> = (0..10).rev().map(|seed| drawn(seed).trace_hash).collect();
    assert!(first.iter().eq(last.iter().rev()), "{first:x?} against, reversed, {last:x?}");
    let distinct: std::collections::BTreeSet<_> = first.iter().collect();
    assert_eq!(distinct.len(), first.len(), "different seeds are different runs");
}

#[test]
fn a_seed_is_the_same_run_alone_and_beside_others() {
    let alone: Vec<u64> = (20..50).map(|seed| drawn(seed).trace_hash).collect();
    let beside = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| (20..50).map(|seed| drawn(seed).trace_hash).collect::<Vec<u64>>()))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no run panics")).collect::<Vec<_>>()
    });
    assert!(beside.iter().all(|hashes| *hashes == alone));
}

#[test]
fn looking_on_changes_nothing() {
    for seed in 0..20 {
        let (report, events) = events_of(&Scenario::draw(seed), seed);
        assert_eq!(report.trace_hash, drawn(seed).trace_hash, "seed {seed}");
        assert_eq!(report.event_count, events.len() as u64, "seed {seed}");
    }
}

/// A change of these lines is a change of what a seed means: the commit that makes it says why.
#[test]
fn what_twenty_seeds_mean_is_pinned() {
    let mut text = String::new();
    for seed in 0..20 {
        let (report, events) = events_of(&Scenario::draw(seed), seed);
        let mut counts = BTreeMap::<&str, u32>::new();
        events.iter().for_each(|event| *counts.entry(event.kind.name()).or_default() += 1);
        writeln!(
            text,
            "seed {seed}: {:016x} {}, {} steps",
            report.trace_hash, report.outcome, report.role_steps
        )
        .expect("a string takes text");
        let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        writeln!(text, "  {}", counts.join(", ")).expect("a string takes text");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_leaked_hash_map_order_is_caught_and_its_first_event_is_named() {
    let divergence = (0..50).find_map(|seed| {
        let mut scenario = Scenario::draw(seed);
        scenario.job.defects = DefectSet::NONE.with(Defect::HashMapOrderLeaks);
        let (left, left_events) = events_of(&scenario, seed);
        let (right, right_events) = events_of(&scenario, seed);
        let divergence = compare(&left_events, &right_events);
        assert_eq!(divergence.is_some(), left.trace_hash != right.trace_hash, "seed {seed}");
        divergence
    });
    let divergence = divergence.expect("two of a hundred runs differ");
    let named = divergence.left.as_ref().expect("both runs go on").kind.clone();
    assert!(matches!(named, EventKind::SplitsAssigned { .. }), "the first that differs: {named:?}");
    let violation = divergence.violation();
    assert_eq!(violation.code, Code::D1);
    let sentence = violation.to_string();
    assert!(sentence.contains("SplitsAssigned of source-coordinator"), "{sentence}");
}
