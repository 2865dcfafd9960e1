//! Seeds under madsim: honest runs pass, a seed names one run, and planted defects are found.

use splitrace_invariants::Outcome;
use splitrace_madsim::{Exhibit, run_seed, scenario_of};
use splitrace_runtime::config::SinkKind;
use splitrace_runtime::defects::{Defect, DefectSet};
use std::collections::BTreeSet;
use std::ops::Range;

/// Runs honest seeds and says what they exercised; panics with every seed that failed.
fn check(seeds: Range<u64>) {
    let mut failures = Vec::new();
    let (mut crashes, mut clogs, mut turns, mut re_read) = (0, 0, 0, 0);
    let (mut leaders_lost, mut failovers, mut checkpoints) = (0, 0, 0);
    let (mut sinks, mut parallelisms) = (BTreeSet::new(), BTreeSet::new());
    for seed in seeds.clone() {
        let scenario = scenario_of(seed, DefectSet::NONE);
        sinks.insert(scenario.job.sink == SinkKind::Transactional);
        parallelisms.extend(scenario.job.vertices.iter().map(|vertex| vertex.parallelism));
        let exhibit = run_seed(&scenario, seed);
        crashes += exhibit.crash_count;
        clogs += exhibit.clog_count;
        turns += exhibit.turns;
        re_read += exhibit.records.re_read;
        leaders_lost += exhibit.exercised.job_manager_losses;
        failovers += exhibit.exercised.failovers;
        checkpoints += exhibit.exercised.checkpoints_completed;
        if !exhibit.is_success {
            failures.push(format!("seed {seed}: {}", exhibit.outcome));
        }
    }
    let count = seeds.end - seeds.start;
    println!(
        "{count} seeds: {turns} turns, {crashes} nodes killed, {clogs} links clogged, {leaders_lost} leaders lost, \
         {failovers} failovers, {checkpoints} checkpoints, {re_read} records re-read"
    );
    assert!(failures.is_empty(), "{} of {count} seeds failed:\n{}", failures.len(), failures.join("\n"));
    assert!(u64::from(crashes) >= count / 2, "runs in which nothing dies prove nothing");
    assert!(u64::from(clogs) >= count / 4, "runs in which no link is clogged prove little");
    assert!(leaders_lost >= count / 4 && failovers >= count / 4, "restarts of both kinds have to happen");
    assert!(checkpoints >= count, "without checkpoints there is nothing to restore");
    assert!(re_read > 0, "a restore has to bring records back");
    assert_eq!(sinks.len(), 2, "both sinks must be among them");
    assert!(parallelisms.len() >= 3, "several parallelisms must be among them: {parallelisms:?}");
}

#[test]
fn the_first_fifty_seeds_keep_every_invariant() {
    check(0..50);
}

#[test]
fn the_second_fifty_seeds_keep_every_invariant() {
    check(50..100);
}

#[test]
fn a_seed_names_one_run() {
    let mut hashes = BTreeSet::new();
    for seed in [0, 1, 7, 23, 42] {
        let scenario = scenario_of(seed, DefectSet::NONE);
        let (first, second) = (run_seed(&scenario, seed), run_seed(&scenario, seed));
        assert_eq!(first.trace_hash, second.trace_hash, "seed {seed} named two runs");
        assert_eq!(first.event_count, second.event_count);
        assert_eq!(first.virtual_time_ns, second.virtual_time_ns);
        hashes.insert(first.trace_hash);
    }
    assert_eq!(hashes.len(), 5, "different seeds are different runs");
}

/// The first seed at which a defect is found by one of its own invariants.
fn find(defect: Defect, seeds: Range<u64>) -> Option<(u64, Exhibit)> {
    seeds.map(|seed| (seed, run_seed(&scenario_of(seed, DefectSet::NONE.with(defect)), seed))).find(
        |(_, exhibit)| match &exhibit.outcome {
            Outcome::Violated(violation) => defect.entry().invariants.contains(&violation.code.as_str()),
            _ => false,
        },
    )
}

#[test]
fn planted_defects_are_found() {
    let defects = [
        Defect::CommitterNotIdempotent,
        Defect::TrackerReturnsNothing,
        Defect::GatewayNeverCloses,
        Defect::CounterRestartsAtRestored,
        Defect::NoMoreSplitsLatchKept,
    ];
    for defect in defects {
        let (seed, exhibit) =
            find(defect, 0..60).unwrap_or_else(|| panic!("{defect} was not found in 60 seeds"));
        println!("{defect} at seed {seed}: {}", exhibit.outcome);
    }
}
