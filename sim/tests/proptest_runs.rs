//! Whole runs under proptest: honest runs hold, planted defects are found and come out small.

mod support;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_sim::choices::SeedChoices;
use splitrace_sim::run::{RunReport, run_recorded, run_with};
use splitrace_sim::scenario::Scenario;
use support::strategies::{Plan, plans, scenarios};

fn run(scenario: &Scenario, plan: &Plan) -> RunReport {
    match plan {
        Plan::Deviations(choices) => run_recorded(scenario, choices),
        Plan::Seed(seed) => run_with(scenario, SeedChoices::new(*seed), None),
    }
}

/// The same cases on every machine: new ones are a campaign's business.
fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 600, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn keeps_its_promise(scenario: &Scenario, plan: &Plan) -> Result<(), TestCaseError> {
    let report = run(scenario, plan);
    prop_assert!(report.is_success(), "{}", report.outcome);
    Ok(())
}

#[test]
fn honest_runs_keep_their_promise() {
    let mut re_read = 0;
    let mut runner = runner(300);
    let cases = (scenarios(), plans());
    for _ in 0..300 {
        let tree = cases.new_tree(&mut runner).expect("nothing is filtered");
        let (scenario, plan) = proptest::strategy::ValueTree::current(&tree);
        let report = run(&scenario, &plan);
        assert!(report.is_success(), "{}\n{plan:?}\n{}", report.outcome, scenario.to_toml());
        re_read += u32::from(report.records.re_read > 0);
    }
    assert!(re_read > 30, "only {re_read} of 300 runs read a record again: the strategies are too tame");
}

/// The smallest failing case that proptest comes to.
fn smallest(defect: Defect) -> (Scenario, Plan) {
    let cases = (scenarios(), plans()).prop_map(move |(mut scenario, plan)| {
        scenario.job.defects = DefectSet::NONE.with(defect);
        (scenario, plan)
    });
    let failure = runner(1_000).run(&cases, |(scenario, plan)| keeps_its_promise(&scenario, &plan));
    match failure {
        Err(TestError::Fail(_, smallest)) => smallest,
        other => panic!("{defect} is not found: {other:?}"),
    }
}

fn is_found_and_small(defect: Defect) {
    let (scenario, plan) = smallest(defect);
    let source = scenario.job.vertices[0].source;
    let outcome = run(&scenario, &plan).outcome;
    println!(
        "{defect}: {outcome}\n  shrunk to {} splits of {} records, {:?} deviations: {plan:?}",
        source.split_count,
        source.records_per_split,
        plan.size()
    );
    assert!(source.records_per_split < 20 || source.split_count < 6, "shrinking moves the scenario");
    assert!(plan.size().is_none_or(|size| size <= 8), "{:?} deviations are left", plan.size());
}

#[test]
fn a_committer_that_repeats_itself_is_found() {
    is_found_and_small(Defect::CommitterNotIdempotent);
}

#[test]
fn a_tracker_that_returns_nothing_is_found() {
    is_found_and_small(Defect::TrackerReturnsNothing);
}
