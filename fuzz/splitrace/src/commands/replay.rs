//! `splitrace replay`: the story of a run, and the proof that it is that run.
//!
//! A replay that differs from what was recorded is worse than none: it tells the story of another run. So it
//! is refused with exit code 2, and no story is told. A seed is run twice, watched and unwatched: watching
//! must not matter. When two runs of one program differ from each other, that is no wrong input but a violation of D1, and
//! it is told with the first event that differs.

use super::RunResult;
use super::run::replay_command;
use crate::arguments::ReplayArguments;
use crate::engine::{self, Parted, ReplayFile, RunReport, ScenarioSource};
use crate::error::CommandError;
use crate::report::Report;
use crate::story::{Story, named};
use serde::Serialize;
use splitrace_runtime::defects::Defect;
use std::path::Path;

/// The JSON of a replay.
#[derive(Serialize)]
struct ReplayResult {
    run: RunResult,
    reproduced: bool,
    /// Where two runs of it part: what one tells there, and what the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    parted: Option<[String; 2]>,
    story: Vec<String>,
    re_read: String,
}

/// A run that was done again.
struct Replayed {
    title: String,
    seed: Option<u64>,
    report: RunReport,
    story: Story,
    /// What this run and another of the same choices told where they part; nothing when the trace was the same again.
    sides: Option<[String; 2]>,
}

impl Replayed {
    /// Of a run whose trace was not the same again: D1 is what it violates.
    fn parted(title: String, seed: Option<u64>, parted: Parted) -> Self {
        let Parted { report, story, sides } = parted;
        Self { title, seed, report, story, sides: Some(sides) }
    }
}

/// Replays a file or a seed.
pub(super) fn execute(arguments: &ReplayArguments) -> Result<Report, CommandError> {
    let replayed = match (&arguments.file, arguments.seed) {
        (Some(path), _) => replay_file(path)?,
        (None, seed) => {
            let seed = seed.expect("clap asks for a file or a seed");
            let source = ScenarioSource::new(arguments.scenario.as_deref(), &arguments.switches)?;
            let title = replay_command(seed, arguments.scenario.as_deref(), &arguments.switches);
            replay_seed(&source, seed, title)?
        }
    };
    let Replayed { title, seed, report, story, sides } = replayed;
    let result = RunResult::of(seed, &report, true);
    let clean = result.verdict.clean;
    debug_assert!(sides.is_none() || !clean, "a run whose trace differs is not clean");
    let mut text = format!("{title}\n\n{}\n", story.text(arguments.all));
    text.push_str(&result.text());
    if !story.reads().again().is_empty() {
        text.push_str(&format!("read more than once: {}\n", named(story.reads().again())));
    }
    match &sides {
        None => text.push_str("reproduced: the same verdict and the same trace hash\n"),
        Some([one, other]) => text.push_str(&format!(
            "not reproducible: the same scenario and choices gave two traces; the story is that of the first\n\
             first:  {one}\nsecond: {other}\n"
        )),
    }
    let json = ReplayResult {
        run: result,
        reproduced: sides.is_none(),
        parted: sides,
        story: story.rows().iter().map(ToString::to_string).collect(),
        re_read: named(story.reads().again()),
    };
    Ok(Report::new(text, &json, clean))
}

fn replay_file(path: &Path) -> Result<Replayed, CommandError> {
    let file = ReplayFile::read(path).map_err(|error| match path.to_string_lossy().parse::<u64>() {
        Ok(seed) if !path.exists() => CommandError::SeedAsFile(seed),
        _ => CommandError::BadReplayFile(error),
    })?;
    let seed = file.seed;
    let of_seed = seed.map(|seed| format!(", seed {seed}")).unwrap_or_default();
    let title = format!("replay of '{}'{of_seed}", path.display());
    let (report, story) = engine::tell_recorded(&file.scenario, &file.choices);
    let Some(difference) = file.difference(&report) else {
        if let Some(seed) = seed.filter(|seed| !engine::is_seed_of(&file, *seed)) {
            return Err(CommandError::ForeignSeed { path: path.to_owned(), seed });
        }
        return Ok(Replayed { title, seed, report, story, sides: None });
    };
    if let Some(parted) = engine::parted_recorded(&file.scenario, &file.choices) {
        return Ok(Replayed::parted(title, seed, parted));
    }
    let pairs = engine::PAIRS_MAX;
    if engine::records_divergence(&file) {
        return Err(CommandError::NotReproduced(format!(
            "recorded is that two of its traces differ ({}), and {pairs} pairs of runs did not differ",
            file.outcome
        )));
    }
    let build = env!("CARGO_PKG_VERSION");
    let other = if file.splitrace == build {
        " (the program has changed since, or the file has)".to_owned()
    } else {
        format!(" (it was written by splitrace {}, and this is {build})", file.splitrace)
    };
    Err(CommandError::NotReproduced(format!("{difference}{other}")))
}

fn replay_seed(source: &ScenarioSource, seed: u64, title: String) -> Result<Replayed, CommandError> {
    let scenario = source.scenario(seed);
    let (report, story) = engine::tell_seed(&scenario, seed);
    let unwatched = engine::run_one(&scenario, seed);
    // What a planted leak does is chance: one pair that is alike shows nothing.
    let is_known_to_leak = scenario.job.defects.has(Defect::HashMapOrderLeaks);
    if is_known_to_leak && let Some(parted) = engine::parted_seed(&scenario, seed) {
        return Ok(Replayed::parted(title, Some(seed), parted));
    }
    if (&unwatched.outcome, unwatched.trace_hash) == (&report.outcome, report.trace_hash) {
        return Ok(Replayed { title, seed: Some(seed), report, story, sides: None });
    }
    // A campaign compares one pair of runs, so a pair that differed here is looked for until one is seen whole.
    match engine::parted_seed(&scenario, seed) {
        Some(parted) => Ok(Replayed::parted(title, Some(seed), parted)),
        None => Err(CommandError::NotReproduced(format!(
            "two runs of the seed differed ('{}' and '{}'), and {} more pairs did not",
            report.outcome,
            unwatched.outcome,
            engine::PAIRS_MAX
        ))),
    }
}
