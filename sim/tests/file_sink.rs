//! What takes a file sink minutes of virtual time, which no drawn run has.

use splitrace_invariants::{Code, Outcome};
use splitrace_runtime::config::{FailureMoment, NANOS_PER_MILLI, UserFailure};
use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_sim::run::run_seed;
use splitrace_sim::scenario::{DemoMode, DemoOptions, Scenario};

/// Files of two seconds, checked each second, in a job of a minute whose user code fails once after ten seconds.
fn restarted() -> Scenario {
    let mode = DemoMode::FilesinkDefault;
    let options =
        DemoOptions { rollover_interval_ms: 2_000, bucket_check_interval_ms: 1_000, ..DemoOptions::of(mode) };
    let mut scenario = Scenario::demo(mode, options);
    // Whoever cancels a job has no claim to freshness any more.
    scenario.cancel_after_ns = None;
    // From here on nothing is excused by the failure.
    scenario.faults.heal_after_ns = 12_000 * NANOS_PER_MILLI;
    scenario.job.vertices[0].source.bounded = true;
    scenario.job.vertices[0].source.records_per_split = 600;
    scenario.job.vertices[0].task.user_failure =
        Some(UserFailure { record: 100, attempts_below: 1, moment: FailureMoment::Write });
    scenario
}

#[test]
fn files_are_closed_in_time_before_and_after_a_restart() {
    for seed in 0..5 {
        let report = run_seed(&restarted(), seed);
        assert!(matches!(report.outcome, Outcome::Passed), "seed {seed}: {}", report.outcome);
    }
}

fn is_found(scenario: &mut Scenario, defect: Defect) {
    scenario.job.defects = DefectSet::NONE.with(defect);
    for seed in 0..5 {
        let Outcome::Violated(violation) = run_seed(scenario, seed).outcome else {
            panic!("seed {seed}: a file stays open for a minute");
        };
        assert_eq!(violation.code, Code::C5, "{violation}");
    }
}

#[test]
fn a_restored_writer_that_is_never_woken_is_found() {
    is_found(&mut restarted(), Defect::BucketChecksEndAtRestart);
}

#[test]
fn a_new_writer_that_is_never_woken_is_found() {
    let mut scenario = restarted();
    scenario.job.vertices[0].task.user_failure = None;
    is_found(&mut scenario, Defect::NoBucketChecksOnFreshStart);
}
