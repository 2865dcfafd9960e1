//! For `cargo test`: fixed seeds against a scenario, with a message on failure that says how to see it again.
//!
//! A failing test prints what failed, for which seed, and a command to paste. Nothing is written to disk: a test that
//! leaves files behind is found by somebody else. A macro that makes a test of a scenario was refused: it would hide one
//! call.

use crate::run::{RunReport, run_seed};
use crate::scenario::Scenario;
use std::ops::Range;

/// Runs `scenario` with every seed of a range and panics at the first one that is no success, with the sentence, the
/// seed and the commands that replay it.
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
    seeds.map(|seed| check(scenario, seed, &replay_with_scenario(scenario, seed))).collect()
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
    let replay = |seed| format!("  cargo run --profile sim -- replay --seed {seed}");
    seeds.map(|seed| check(&Scenario::draw(seed), seed, &replay(seed))).collect()
}

fn check(scenario: &Scenario, seed: u64, replay: &str) -> RunReport {
    let report = run_seed(scenario, seed);
    assert!(report.is_success(), "seed {seed}: {}\nto replay it:\n{replay}", report.outcome);
    report
}

/// What to paste into a shell: the scenario is in no seed, so it goes along.
fn replay_with_scenario(scenario: &Scenario, seed: u64) -> String {
    format!(
        "cat > scenario.toml <<'END'\n{}END\n  cargo run --profile sim -- replay --seed {seed} --scenario scenario.toml",
        scenario.to_toml()
    )
}
