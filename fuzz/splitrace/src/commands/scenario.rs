//! `splitrace scenario`: what a seed draws, and whether a file is a scenario.

use crate::arguments::ScenarioCommand;
use crate::engine::{Scenario, in_profile, promise_lines, read_scenario};
use crate::error::CommandError;
use crate::report::Report;
use serde_json::json;

/// Shows or checks a scenario.
pub(super) fn execute(command: &ScenarioCommand) -> Result<Report, CommandError> {
    match command {
        ScenarioCommand::Show(arguments) => {
            let scenario = in_profile(Scenario::draw(arguments.seed), &arguments.switches);
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
    }
}

/// The promise as TOML comments.
fn promise_comment(scenario: &Scenario) -> String {
    promise_lines(scenario)
        .iter()
        .fold("# what it promises:\n".to_owned(), |text, line| text + "#   " + line + "\n")
}
