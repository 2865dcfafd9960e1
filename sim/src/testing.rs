//! For `cargo test`: fixed seeds against a scenario, with a message on failure that says how to see it again.

use crate::run::{RunReport, run_seed};
use crate::scenario::Scenario;
use std::ops::Range;

/// Runs `scenario` with every seed of a range and panics at the first one that is no success, with the sentence, the
/// seed and the command that replays it.
///
/// ```
/// use splitrace_sim::scenario::{DemoMode, DemoOptions, Scenario};
///
/// let scenario = Scenario::demo(DemoMode::Fail, DemoOptions::default());
/// splitrace_sim::testing::check_seeds(&scenario, 0..3);
/// ```
///
/// # Panics
/// When a run violates an invariant, deadlocks, hits a limit or panics.
pub fn check_seeds(scenario: &Scenario, seeds: Range<u64>) -> Vec<RunReport> {
    seeds.map(|seed| check(scenario, seed, "save the scenario printed above as scenario.toml, then\n  cargo run --profile sim -- replay --seed {seed} --scenario scenario.toml")).collect()
}

/// Runs the default draw of every seed of a range, as a campaign does, and panics at the first one that is no success.
///
/// ```
/// splitrace_sim::testing::check_drawn_seeds(0..3);
/// ```
///
/// # Panics
/// When a run violates an invariant, deadlocks, hits a limit or panics.
pub fn check_drawn_seeds(seeds: Range<u64>) -> Vec<RunReport> {
    seeds
        .map(|seed| check(&Scenario::draw(seed), seed, "cargo run --profile sim -- replay --seed {seed}"))
        .collect()
}

fn check(scenario: &Scenario, seed: u64, command: &str) -> RunReport {
    let report = run_seed(scenario, seed);
    assert!(
        report.is_success(),
        "seed {seed}: {}\n--- scenario\n{}---\nto replay it: {}",
        report.outcome,
        scenario.to_toml(),
        command.replace("{seed}", &seed.to_string())
    );
    report
}
