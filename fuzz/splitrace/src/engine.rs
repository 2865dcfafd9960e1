//! What the commands need of the simulator, in one place: the verdict of a run in plain words, the marks that
//! a campaign counts, scenarios from files.
//!
//! Only this module knows the simulator's own types for outcomes and for what was exercised. The rest of the
//! binary counts strings, so a new kind of fault or outcome changes this file alone.

pub use splitrace_sim::choices::RecordedChoices;
pub use splitrace_sim::replay::ReplayFile;
pub use splitrace_sim::run::RunReport;
pub use splitrace_sim::scenario::{DemoMode, DemoOptions, Scenario};

use crate::campaign::{FAILOVER, LEADER_LOSS, SECOND_FAULT, fault_mark, window_mark};
use crate::error::CommandError;
use crate::story::Story;
use serde::Serialize;
use splitrace_invariants::code::Code;
use splitrace_invariants::outcome::Outcome;
use splitrace_invariants::promise::Level;
use splitrace_invariants::violation::Subject;
use splitrace_runtime::defects::Defect;
use splitrace_runtime::event::Event;
use splitrace_sim::choices::{Choices, Replayer, SeedChoices};
use splitrace_sim::run::{RunOptions, record_seed, run_recorded, run_seed, run_with_options};
use std::path::Path;

/// A run's outcome in plain words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Verdict {
    /// The outcome's name: `passed`, `violated`, `deadlocked` and so on.
    pub outcome: String,
    /// The code of the violated invariant.
    pub code: Option<String>,
    /// What happened, in a sentence; empty when the run passed.
    pub sentence: String,
    /// The records concerned, as `split-0[3..5]`; empty where there are none.
    pub records: String,
    /// Whether the promise of the scenario allows it.
    pub clean: bool,
}

impl Verdict {
    /// Of a run.
    #[must_use]
    pub fn of(report: &RunReport) -> Self {
        let (code, sentence, subject) = match &report.outcome {
            Outcome::Passed => (None, String::new(), None),
            Outcome::Violated(violation) => {
                (Some(violation.code.to_string()), violation.sentence.clone(), Some(violation.subject))
            }
            other => (None, other.to_string(), None),
        };
        let records = match subject {
            Some(Subject::Records(range)) => range.to_string(),
            _ => String::new(),
        };
        let outcome = report.outcome.shape().to_owned();
        Self { outcome, code, sentence, records, clean: report.is_success() }
    }

    /// One line: `C1 violated: a record became visible twice (split-0[3..5])`.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = match &self.code {
            Some(code) => format!("{code} {}", self.outcome),
            None => self.outcome.clone(),
        };
        if !self.sentence.is_empty() {
            line.push_str(": ");
            line.push_str(&self.sentence);
        }
        if !self.records.is_empty() {
            line.push_str(&format!(" (records {})", self.records));
        }
        line
    }
}

/// The names of what a run exercised, as a campaign counts them; each at most once per run.
#[must_use]
pub fn marks(report: &RunReport) -> Vec<String> {
    let exercised = &report.exercised;
    let mut marks = Vec::new();
    let mut mark = |count: u64, name: &str| {
        if count > 0 {
            marks.push(name.to_owned());
        }
    };
    mark(exercised.failovers, FAILOVER);
    mark(exercised.second_failures_in_recovery, SECOND_FAULT);
    mark(exercised.job_manager_losses, LEADER_LOSS);
    mark(exercised.leader_terms_ended, "leader gave up");
    mark(exercised.checkpoints_completed, "checkpoint completed");
    mark(exercised.checkpoints_aborted, "checkpoint aborted");
    for (fault, count) in &exercised.faults {
        mark(*count, &fault_mark(*fault));
    }
    for (window, count) in &exercised.windows_hit {
        mark(*count, &window_mark(*window));
    }
    marks
}

/// The promise of a run, in one line.
#[must_use]
pub fn promise_line(report: &RunReport) -> String {
    if report.promise.is_exactly_once() {
        return "exactly-once".to_owned();
    }
    let reserve = |(code, level): (splitrace_invariants::code::Code, Level)| match level {
        Level::Full => None,
        reserved => Some(format!("{code} {reserved}")),
    };
    let reserves: Vec<String> = report.promise.levels().filter_map(reserve).collect();
    format!("not exactly-once ({})", reserves.join("; "))
}

/// What the promise of a scenario says, line by line.
#[must_use]
pub fn promise_lines(scenario: &Scenario) -> Vec<String> {
    let line = |(code, level): (Code, Level)| {
        let judged = if code.has_checker() { "" } else { " (not judged: it has no checker yet)" };
        format!("{code} ({}): {level}{judged}", code.title())
    };
    scenario.promise().levels().map(line).collect()
}

/// Whether a run's scenario promised exactly-once without a reserve.
#[must_use]
pub const fn is_full_promise(report: &RunReport) -> bool {
    report.promise.is_exactly_once()
}

/// Runs a seed.
#[must_use]
pub fn run_one(scenario: &Scenario, seed: u64) -> RunReport {
    run_seed(scenario, seed)
}

/// Runs a seed and writes its choices down.
#[must_use]
pub fn record(scenario: &Scenario, seed: u64) -> RunReport {
    record_seed(scenario, seed)
}

/// Runs recorded choices.
#[must_use]
pub fn run_again(scenario: &Scenario, choices: &RecordedChoices) -> RunReport {
    run_recorded(scenario, choices)
}

/// Runs a seed and collects its story.
#[must_use]
pub fn tell_seed(scenario: &Scenario, seed: u64) -> (RunReport, Story) {
    tell(scenario, SeedChoices::new(seed))
}

/// Runs recorded choices and collects their story.
#[must_use]
pub fn tell_recorded(scenario: &Scenario, choices: &RecordedChoices) -> (RunReport, Story) {
    tell(scenario, Replayer::new(choices))
}

/// Runs a seed to its end whatever is violated on the way, so that the whole damage is seen.
#[must_use]
pub fn tell_to_the_end(scenario: &Scenario, seed: u64) -> (RunReport, Story) {
    tell_with(scenario, SeedChoices::new(seed), RunOptions { goes_on_after_violation: true })
}

fn tell(scenario: &Scenario, choices: impl Choices) -> (RunReport, Story) {
    tell_with(scenario, choices, RunOptions::default())
}

fn tell_with(scenario: &Scenario, choices: impl Choices, options: RunOptions) -> (RunReport, Story) {
    let mut story = Story::new(&scenario.job);
    let mut observer = |event: &Event| story.observe(event);
    let report = run_with_options(scenario, choices, Some(&mut observer), options);
    (report, story)
}

/// A replay file of a seed: the seed is run once more with its choices written down.
#[must_use]
pub fn replay_file(scenario: &Scenario, seed: u64) -> ReplayFile {
    ReplayFile::of(scenario, Some(seed), &record_seed(scenario, seed))
}

/// Which scenario a seed runs, with which defects.
#[derive(Clone, Debug)]
pub struct ScenarioSource {
    given: Option<Scenario>,
    defects: Vec<Defect>,
}

impl ScenarioSource {
    /// The given file's scenario, or the one that each seed draws, with these defects beside its own.
    ///
    /// # Errors
    /// When the file cannot be read or is no valid scenario.
    pub fn new(file: Option<&Path>, defects: &[Defect]) -> Result<Self, CommandError> {
        Ok(Self { given: file.map(read_scenario).transpose()?, defects: defects.to_vec() })
    }

    /// The scenario of a seed.
    #[must_use]
    pub fn scenario(&self, seed: u64) -> Scenario {
        let mut scenario = self.given.clone().unwrap_or_else(|| Scenario::draw(seed));
        for defect in &self.defects {
            scenario.job.defects = scenario.job.defects.with(*defect);
        }
        scenario
    }
}

/// Reads a scenario file.
///
/// # Errors
/// When it cannot be read or is no valid scenario.
pub fn read_scenario(path: &Path) -> Result<Scenario, CommandError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| CommandError::UnreadableFile { path: path.to_owned(), source })?;
    Scenario::from_toml(&text)
        .map_err(|error| CommandError::BadScenario { path: path.to_owned(), message: error.to_string() })
}

/// The demo's job under the faults and the network that a seed draws.
#[must_use]
pub fn demo_with_faults(seed: u64) -> Scenario {
    Scenario { job: Scenario::demo(DemoMode::Normal, DemoOptions::default()).job, ..Scenario::draw(seed) }
}
