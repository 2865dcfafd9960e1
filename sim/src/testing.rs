//! For `cargo test`: fixed seeds against a scenario, with a message on failure that says how to see it again.
//!
//! A failing test prints what failed, for which seed, and a command to paste. Nothing is written to disk: a test that
//! leaves files behind is found by somebody else. A macro that makes a test of a scenario was refused: it would hide one
//! call.

use crate::run::{RunReport, run_seed};
use crate::scenario::Scenario;
use std::ops::Range;
use std::path::Path;

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
    seeds.map(|seed| check(&Scenario::draw(seed), seed, &format!("  {}", replay_command(seed)))).collect()
}

fn check(scenario: &Scenario, seed: u64, replay: &str) -> RunReport {
    let report = run_seed(scenario, seed);
    assert!(report.is_success(), "seed {seed}: {}\nto replay it:\n{replay}", report.outcome);
    report
}

/// The command that replays a seed, wherever it is pasted: a test may stand in a crate that only depends on this one, so
/// the workspace that has the command is named by the path from which this crate was built.
fn replay_command(seed: u64) -> String {
    let sim = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = sim.parent().unwrap_or(sim).join("Cargo.toml");
    let quoted = manifest.display().to_string().replace('\'', r"'\''");
    format!("cargo run --manifest-path '{quoted}' -p splitrace --profile sim -- replay --seed {seed}")
}

/// What to paste into a shell: the scenario is in no seed, so it goes along, under a name that takes no file away.
fn replay_with_scenario(scenario: &Scenario, seed: u64) -> String {
    let file = format!("splitrace-seed-{seed}.toml");
    let (toml, command) = (scenario.to_toml(), replay_command(seed));
    format!("  cat > {file} <<'END'\n{toml}END\n  {command} --scenario {file}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{DemoMode, DemoOptions};

    #[test]
    fn a_failing_seed_is_told_with_a_command_that_works_from_any_folder() {
        let scenario = Scenario::demo(DemoMode::FailNaive, DemoOptions::default());
        let panic = std::panic::catch_unwind(|| check_seeds(&scenario, 3..4)).expect_err("C1 is violated");
        let said = panic.downcast_ref::<String>().expect("a sentence");
        assert!(said.starts_with("seed 3: violated C1"), "{said}");
        let (_, after) = said.split_once("--manifest-path '").expect("it names a workspace");
        let (manifest, rest) = after.split_once("' ").expect("it is quoted");
        assert!(Path::new(manifest).is_absolute());
        let manifest = std::fs::read_to_string(manifest).expect("the manifest is there");
        assert!(manifest.contains("[workspace]") && manifest.contains("[profile.sim]"));
        assert_eq!(rest, "-p splitrace --profile sim -- replay --seed 3 --scenario splitrace-seed-3.toml");
        let (_, toml) = said.split_once("<<'END'\n").expect("the scenario goes along");
        let (toml, _) = toml.split_once("END\n").expect("it ends");
        assert_eq!(Scenario::from_toml(toml), Ok(scenario));
    }
}
