//! `splitrace run`: one seed, one verdict.

use super::RunResult;
use crate::arguments::{RunArguments, Switches};
use crate::engine::{ScenarioSource, run_one};
use crate::error::CommandError;
use crate::invocation::{program, quoted};
use crate::report::Report;

/// Runs a seed.
pub(super) fn execute(arguments: &RunArguments) -> Result<Report, CommandError> {
    let source = ScenarioSource::new(arguments.scenario.as_deref(), &arguments.switches)?;
    let report = run_one(&source.scenario(arguments.seed), arguments.seed);
    let result = RunResult::of(Some(arguments.seed), &report, false);
    let mut text = format!("seed {}\n{}", arguments.seed, result.text());
    if !result.verdict.clean {
        let replay = replay_command(arguments.seed, arguments.scenario.as_deref(), &arguments.switches);
        text.push_str(&format!("its story: {replay}\n"));
    }
    Ok(Report::new(text, &result, result.verdict.clean))
}

/// The command that tells the story of a seed.
pub(super) fn replay_command(seed: u64, scenario: Option<&std::path::Path>, switches: &Switches) -> String {
    let mut command = format!("{} replay --seed {seed}", program());
    if let Some(path) = scenario {
        command.push_str(&format!(" --scenario {}", quoted(&path.display().to_string())));
    }
    command + &switches.options()
}
