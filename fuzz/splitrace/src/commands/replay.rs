//! `splitrace replay`: the story of a run, and the proof that it is that run.
//!
//! A replay that differs from what was recorded is worse than none: it tells the story of another run. So it
//! is refused with exit code 2, and no story is told. A seed is run twice, watched and unwatched: watching
//! must not matter.

use super::RunResult;
use super::run::replay_command;
use crate::arguments::ReplayArguments;
use crate::engine::{self, ReplayFile, RunReport, ScenarioSource};
use crate::error::CommandError;
use crate::report::Report;
use crate::story::{Story, named};
use serde::Serialize;
use std::path::Path;

/// The JSON of a replay.
#[derive(Serialize)]
struct ReplayResult {
    run: RunResult,
    reproduced: bool,
    story: Vec<String>,
    re_read: String,
}

/// Replays a file or a seed.
pub(super) fn execute(arguments: &ReplayArguments) -> Result<Report, CommandError> {
    let (title, seed, (report, story)) = match (&arguments.file, arguments.seed) {
        (Some(path), _) => replay_file(path)?,
        (None, seed) => {
            let seed = seed.expect("clap asks for a file or a seed");
            let source = ScenarioSource::new(arguments.scenario.as_deref(), &arguments.defects)?;
            replay_seed(
                &source,
                seed,
                &replay_command(seed, arguments.scenario.as_deref(), &arguments.defects),
            )?
        }
    };
    let result = RunResult::of(seed, &report);
    let clean = result.verdict.clean;
    let mut text = format!("{title}\n\n{}\n", story.text(arguments.all));
    text.push_str(&result.text());
    if !story.reads().again().is_empty() {
        text.push_str(&format!("read more than once: {}\n", named(story.reads().again())));
    }
    text.push_str("reproduced: the same verdict and the same trace hash\n");
    let json = ReplayResult {
        run: result,
        reproduced: true,
        story: story.rows().iter().map(ToString::to_string).collect(),
        re_read: named(story.reads().again()),
    };
    Ok(Report::new(text, &json, clean))
}

type Told = (String, Option<u64>, (RunReport, Story));

fn replay_file(path: &Path) -> Result<Told, CommandError> {
    let file = ReplayFile::read(path)
        .map_err(|error| CommandError::BadReplayFile { path: path.to_owned(), message: error.to_string() })?;
    let told = engine::tell_recorded(&file.scenario, &file.choices);
    if let Some(difference) = file.difference(&told.0) {
        let build = env!("CARGO_PKG_VERSION");
        let other = if file.splitrace == build {
            String::new()
        } else {
            format!(" (it was written by splitrace {}, and this is {build})", file.splitrace)
        };
        return Err(CommandError::NotReproduced(format!("{difference}{other}")));
    }
    let seed = file.seed.map(|seed| format!(", seed {seed}")).unwrap_or_default();
    Ok((format!("replay of '{}'{seed}", path.display()), file.seed, told))
}

fn replay_seed(source: &ScenarioSource, seed: u64, command: &str) -> Result<Told, CommandError> {
    let scenario = source.scenario(seed);
    let told = engine::tell_seed(&scenario, seed);
    let unwatched = engine::replay_file(&scenario, seed);
    match unwatched.difference(&told.0) {
        Some(difference) => Err(CommandError::NotReproduced(difference)),
        None => Ok((command.to_owned(), Some(seed), told)),
    }
}
