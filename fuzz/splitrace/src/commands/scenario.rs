//! `splitrace scenario`: what a seed draws, whether a file is a scenario, and what shows a defect.

use crate::arguments::ScenarioCommand;
use crate::engine::{Defect, Demonstration, Scenario, in_profile, promise_lines, read_scenario};
use crate::error::CommandError;
use crate::invocation::program;
use crate::report::Report;
use serde_json::json;

/// Shows or checks a scenario.
pub(super) fn execute(command: &ScenarioCommand) -> Result<Report, CommandError> {
    match command {
        ScenarioCommand::Show(arguments) => {
            let scenario = in_profile(arguments.switches.maker.scenario(arguments.seed), &arguments.switches);
            let options = arguments.switches.options();
            let mut text = format!("# the scenario that seed {}{options} draws\n", arguments.seed);
            text.push_str(&promise_comment(&scenario));
            text.push('\n');
            text.push_str(&scenario.to_toml());
            let json = json!({ "seed": arguments.seed, "toml": scenario.to_toml(), "promise": promise_lines(&scenario) });
            Ok(Report::new(text, &json, true))
        }
        ScenarioCommand::Check(arguments) => {
            let scenario = read_scenario(&arguments.file)?;
            let text =
                format!("'{}' is a valid scenario\n{}", arguments.file.display(), promise_comment(&scenario));
            Ok(Report::new(text, &json!({ "valid": true, "promise": promise_lines(&scenario) }), true))
        }
        ScenarioCommand::Demonstrate(arguments) => demonstrate(arguments.defect),
    }
}

fn demonstrate(defect: Defect) -> Result<Report, CommandError> {
    let demonstration =
        Demonstration::of(defect).ok_or(CommandError::NotDemonstrated { defect: defect.entry().id })?;
    let (id, scenario) = (defect.entry().id, (demonstration.scenario)());
    let (clean, defective) = (demonstration.run_clean().outcome, demonstration.run_defective().outcome);
    let text = format!(
        "# {}\n# {id}: {}\n# without it: {clean}\n# with it:    {defective}\n# see it: {} run --seed 0 --scenario FILE \
         --defect {id}\n\n{}",
        demonstration.story,
        defect.entry().sentence,
        program(),
        scenario.to_toml()
    );
    let json = json!({
        "defect": id,
        "story": demonstration.story,
        "toml": scenario.to_toml(),
        "clean": clean.to_string(),
        "defective": defective.to_string(),
    });
    Ok(Report::new(text, &json, true))
}

/// The promise as TOML comments.
fn promise_comment(scenario: &Scenario) -> String {
    promise_lines(scenario)
        .iter()
        .fold("# what it promises:\n".to_owned(), |text, line| text + "#   " + line + "\n")
}
