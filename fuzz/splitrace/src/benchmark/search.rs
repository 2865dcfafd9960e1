//! Looking for one defect from a base seed on.

use splitrace_invariants::Outcome;
use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_sim::run::{RunReport, record_seed, run_seed};
use splitrace_sim::scenario::Scenario;
use splitrace_sim::shrink::shrink;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The first seed that found it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Find {
    /// The seed.
    pub seed: u64,
    /// The invariant.
    pub invariant: String,
    /// How many of its choices were not benign.
    pub choices: usize,
}

/// What a campaign for one defect came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Searched {
    /// What it found first.
    pub find: Option<Find>,
    /// How many seeds that took.
    pub seeds: u64,
    /// How long.
    pub time: Duration,
}

/// What seed `seed` draws, with the defect.
fn defective(defect: Defect, seed: u64) -> Scenario {
    let mut scenario = Scenario::draw(seed);
    scenario.job.defects = DefectSet::NONE.with(defect);
    scenario
}

/// The invariant that a run found the defect by, if its entry names it.
fn found_by(defect: Defect, outcome: &Outcome) -> Option<String> {
    let Outcome::Violated(violation) = outcome else { return None };
    let code = violation.code.as_str();
    defect.entry().invariants.contains(&code).then(|| code.to_owned())
}

/// By which invariant this seed finds the defect. What breaks D1 takes two runs to see.
fn finds(defect: Defect, seed: u64) -> Option<String> {
    let scenario = defective(defect, seed);
    let report = run_seed(&scenario, seed);
    if defect.entry().invariants.contains(&"D1") {
        let parted = run_seed(&scenario, seed).trace_hash != report.trace_hash;
        return parted.then(|| "D1".to_owned());
    }
    found_by(defect, &report.outcome)
}

/// Runs seeds from `base` on until one finds the defect or `is_over` says so. The workers begin seeds in order and finish
/// what they have begun below the smallest find, so that it is the smallest of all.
pub fn search(
    defect: Defect,
    base: u64,
    jobs: u32,
    is_over: &(impl Fn() -> bool + Sync),
    elapsed: &(impl Fn() -> Duration + Sync),
) -> Searched {
    let next = AtomicU64::new(base);
    let smallest = AtomicU64::new(u64::MAX);
    let work = || {
        while !is_over() {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= smallest.load(Ordering::Relaxed) {
                break;
            }
            if finds(defect, seed).is_some() {
                smallest.fetch_min(seed, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs {
            scope.spawn(work);
        }
        work();
    });
    let time = elapsed();
    let seed = smallest.into_inner();
    if seed == u64::MAX {
        return Searched { find: None, seeds: next.into_inner() - base, time };
    }
    let invariant = finds(defect, seed).unwrap_or_else(|| "D1".to_owned());
    let choices = record_seed(&defective(defect, seed), seed).choices.deviations.len();
    Searched { find: Some(Find { seed, invariant, choices }), seeds: seed - base + 1, time }
}

/// How many choices of a find are needed; `None` for one that a single run does not show.
#[must_use]
pub fn shrunk_length(defect: Defect, find: &Find, runs_max: u32) -> Option<usize> {
    let scenario = defective(defect, find.seed);
    let recorded = record_seed(&scenario, find.seed);
    let still_fails = |report: &RunReport| found_by(defect, &report.outcome).is_some();
    still_fails(&recorded)
        .then(|| shrink(&scenario, &recorded.choices, still_fails, runs_max).choices.deviations.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(jobs: u32) -> Searched {
        search(Defect::TrackerNeverForgets, 40, jobs, &|| false, &|| Duration::ZERO)
    }

    #[test]
    fn what_is_found_first_does_not_depend_on_the_number_of_threads() {
        let one = first(1);
        let find = one.find.clone().expect("nearly every seed finds it");
        assert_eq!(one.seeds, find.seed - 40 + 1);
        assert_eq!(first(3), one);
        let left = shrunk_length(Defect::TrackerNeverForgets, &find, 200).expect("one run shows it");
        assert!(left <= find.choices);
    }

    #[test]
    fn a_search_that_is_over_finds_nothing() {
        let searched = search(Defect::TrackerNeverForgets, 0, 2, &|| true, &|| Duration::ZERO);
        assert_eq!((searched.find, searched.seeds), (None, 0));
    }

    #[test]
    fn a_defect_of_the_traces_takes_two_runs() {
        let searched = search(Defect::HashMapOrderLeaks, 0, 1, &|| false, &|| Duration::ZERO);
        assert_eq!(searched.find.map(|find| find.invariant).as_deref(), Some("D1"));
    }
}
