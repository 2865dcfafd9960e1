//! Seeds that every `cargo test` runs, and what it says when one of them fails.

use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_sim::choices::SeedChoices;
use splitrace_sim::run::run_with;
use splitrace_sim::scenario::{DemoMode, DemoOptions, Scenario};
use splitrace_sim::testing::{check_drawn_seeds, check_seeds};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn failure_of(check: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(check)).expect_err("the planted defect must be found");
    *panic.downcast::<String>().expect("a message with arguments")
}

#[test]
fn drawn_seeds_keep_their_promise() {
    let reports = check_drawn_seeds(0..150);
    assert_eq!(reports.len(), 150);
    let failovers = reports.iter().filter(|report| report.records.re_read > 0).count();
    assert!(failovers > 30, "only {failovers} runs read a record again: the faults are too tame");
}

#[test]
fn the_demo_keeps_its_promise_under_many_schedules() {
    for mode in [DemoMode::Normal, DemoMode::Fail] {
        for report in check_seeds(&Scenario::demo(mode, DemoOptions::default()), 0..15) {
            assert_eq!((report.records.duplicates, report.records.missing), (0, 0));
        }
    }
}

#[test]
fn a_failing_seed_says_what_failed_and_how_to_see_it_again() {
    let mut scenario = Scenario::demo(DemoMode::Fail, DemoOptions::default());
    scenario.job.defects = DefectSet::NONE.with(Defect::CommitterNotIdempotent);
    let message = failure_of(|| drop(check_seeds(&scenario, 0..200)));
    let seed: u64 = message
        .strip_prefix("seed ")
        .and_then(|rest| rest.split(':').next())
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| panic!("the message begins with the seed: {message}"));
    let sentence = run_with(&scenario, SeedChoices::new(seed), None).outcome.to_string();
    assert!(sentence.starts_with("violated C1"), "{sentence}");
    assert!(message.contains(&sentence), "{message}");
    let file = format!("splitrace-seed-{seed}.toml");
    let command = format!("-p splitrace --profile sim -- replay --seed {seed} --scenario {file}");
    assert!(message.ends_with(&command), "{message}");
    let pasted = message.split("<<'END'\n").nth(1).and_then(|rest| rest.split("END\n").next());
    let pasted = Scenario::from_toml(pasted.expect("the scenario stands in the message"));
    assert_eq!(pasted.expect("what is pasted is read back"), scenario);
}
