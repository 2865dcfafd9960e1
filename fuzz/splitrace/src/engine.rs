//! What the commands need of the simulator, in one place: the verdict of a run in plain words, the marks that
//! a campaign counts, scenarios from files.
//!
//! Only this module knows the simulator's own types for outcomes and for what was exercised. The rest of the
//! binary counts strings, so a new kind of fault or outcome changes this file alone.

pub use splitrace_sim::choices::RecordedChoices;
pub use splitrace_sim::demonstrations::Demonstration;
pub use splitrace_sim::points::{Action, EventPoint, Fact, MessagePoint, StepReport};
pub use splitrace_sim::replay::ReplayFile;
pub use splitrace_sim::run::{RunReport, Stop};
use splitrace_sim::scenario::NetworkSemantics;
pub use splitrace_sim::scenario::{DemoMode, DemoOptions, Maker, Scenario};

use crate::arguments::Switches;
use crate::campaign::{
    FAILOVER, Harm, LATE_WORDS, LEADER_CHANGE, LEADER_LOSS, SECOND_FAULT, THIRD_FAULT, TWO_COORDINATORS,
    entered_mark, event_mark, fault_mark, user_failure_mark, window_mark,
};
use crate::error::CommandError;
use crate::story::Story;
use crate::timeline::Rows;
use serde::Serialize;
use splitrace_invariants::Judgement;
use splitrace_invariants::code::Code;
use splitrace_invariants::outcome::Outcome;
use splitrace_invariants::promise::Level;
use splitrace_invariants::violation::Subject;
pub use splitrace_runtime::defects::Defect;
use splitrace_runtime::defects::{DefectSet, Profile};
use splitrace_runtime::event::{Event, FaultKind};
use splitrace_sim::choices::{Choices, Replayer, SeedChoices};
use splitrace_sim::run::{
    RunOptions, record_seed_with_options, run_recorded_with_options, run_seed, run_with_options,
};
use splitrace_sim::twice::{PartedRuns, first_divergence};
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
    mark(exercised.third_failures_in_recovery, THIRD_FAULT);
    mark(exercised.job_manager_losses, LEADER_LOSS);
    mark(exercised.leader_terms_ended, "leader gave up");
    mark(exercised.checkpoints_completed, "checkpoint completed");
    mark(exercised.checkpoints_aborted, "checkpoint aborted");
    for (fault, count) in &exercised.faults {
        mark(*count, &fault_mark(*fault));
    }
    for (kind, count) in &exercised.kinds {
        mark(*count, &event_mark(kind));
    }
    for (window, count) in &exercised.windows_entered {
        mark(*count, &entered_mark(*window));
    }
    let windows = &exercised.window_faults;
    let harms =
        [(Harm::Failure, &windows.failures), (Harm::Crash, &windows.crashes), (Harm::Delay, &windows.delays)];
    for (harm, counts) in harms {
        for (window, count) in counts {
            mark(*count, &window_mark(*window, harm));
        }
    }
    for (moment, count) in &exercised.user_failures {
        mark(*count, &user_failure_mark(*moment));
    }
    mark(exercised.runs_with_two_coordinators, TWO_COORDINATORS);
    let late = |kind: FaultKind| exercised.faults.get(&kind).copied().unwrap_or_default();
    let late_words = LATE_WORDS.into_iter().map(late).sum::<u64>();
    mark(late(FaultKind::StaleWrite).min(late_words), LEADER_CHANGE);
    marks
}

/// The promise of a run, in one line.
#[must_use]
pub fn promise_line(report: &RunReport) -> String {
    if report.promise.is_exactly_once() {
        return "exactly-once".to_owned();
    }
    let reserve = |(code, level): (Code, Level)| match level {
        Level::Full => None,
        reserved => Some(format!("{code} {reserved}")),
    };
    let reserves: Vec<String> = report.promise.levels().filter_map(reserve).collect();
    format!("not exactly-once ({})", reserves.join("; "))
}

/// What the promise of a scenario says, line by line.
#[must_use]
pub fn promise_lines(scenario: &Scenario) -> Vec<String> {
    let line = |(code, level): (Code, Level)| format!("{code} ({}): {level}", code.title());
    scenario.promise().levels().map(line).collect()
}

/// Whether a run's scenario promised exactly-once without a reserve.
#[must_use]
pub const fn is_full_promise(report: &RunReport) -> bool {
    report.promise.is_exactly_once()
}

/// Whether a run came to the end of its input with every record visible exactly once. A cancelled or failed job did not.
#[must_use]
pub fn is_all_visible(report: &RunReport) -> bool {
    report.outcome == Outcome::Passed && report.records.duplicates == 0 && report.records.missing == 0
}

/// Runs a seed.
#[must_use]
pub fn run_one(scenario: &Scenario, seed: u64) -> RunReport {
    run_seed(scenario, seed)
}

/// Runs a seed unless it is stopped.
#[must_use]
pub fn run_until(scenario: &Scenario, seed: u64, stop: Stop<'_>) -> RunReport {
    run_with_options(scenario, SeedChoices::new(seed), None, stoppable(stop))
}

/// Runs a seed unless it is stopped, and writes its choices down.
#[must_use]
pub fn record_until(scenario: &Scenario, seed: u64, stop: Stop<'_>) -> RunReport {
    record_seed_with_options(scenario, seed, stoppable(stop))
}

/// Runs recorded choices unless it is stopped.
#[must_use]
pub fn run_again_until(scenario: &Scenario, choices: &RecordedChoices, stop: Stop<'_>) -> RunReport {
    run_recorded_with_options(scenario, choices, stoppable(stop))
}

fn stoppable(stop: Stop<'_>) -> RunOptions<'_> {
    RunOptions { stop: Some(stop), ..RunOptions::default() }
}

/// Whether a run was stopped before it came to an end: it says nothing about its seed.
#[must_use]
pub const fn is_interrupted(report: &RunReport) -> bool {
    matches!(report.outcome, Outcome::Interrupted { .. })
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
    tell_with(scenario, SeedChoices::new(seed), RunOptions { goes_on_after_violation: true, stop: None })
}

fn tell(scenario: &Scenario, choices: impl Choices) -> (RunReport, Story) {
    tell_with(scenario, choices, RunOptions::default())
}

fn tell_with(scenario: &Scenario, choices: impl Choices, options: RunOptions<'_>) -> (RunReport, Story) {
    let mut story = Story::new(&scenario.job);
    let mut observer = |event: &Event| story.observe(event);
    let report = run_with_options(scenario, choices, Some(&mut observer), options);
    (report, story)
}

/// A replay file of a seed: the seed is run once more with its choices written down. `None` when it was stopped.
#[must_use]
pub fn replay_file(scenario: &Scenario, seed: u64, stop: Stop<'_>) -> Option<ReplayFile> {
    let report = record_until(scenario, seed, stop);
    (!is_interrupted(&report)).then(|| ReplayFile::of(scenario, Some(seed), &report))
}

/// As [`replay_file`], of a seed whose two runs differed: the file says so, if a pair of runs still differs.
#[must_use]
pub fn replay_file_of_divergence(scenario: &Scenario, seed: u64, stop: Stop<'_>) -> Option<ReplayFile> {
    let mut file = replay_file(scenario, seed, stop)?;
    if let Some(parted) = parted_recorded(scenario, &file.choices) {
        file.outcome = parted.report.outcome;
    }
    Some(file)
}

/// So many pairs of runs are compared before two traces that once differed count as the same.
pub const PAIRS_MAX: u32 = 32;

/// A run of which another with the same choices differed.
#[derive(Debug)]
pub struct Parted {
    /// Its report: D1 is violated.
    pub report: RunReport,
    /// Its story.
    pub story: Story,
    /// What this run told where the two part, and what the other did.
    pub sides: [String; 2],
}

/// Runs a seed in pairs until two traces part (D1).
#[must_use]
pub fn parted_seed(scenario: &Scenario, seed: u64) -> Option<Parted> {
    parted(scenario, || SeedChoices::new(seed))
}

/// Runs recorded choices in pairs until two traces part (D1).
#[must_use]
pub fn parted_recorded(scenario: &Scenario, choices: &RecordedChoices) -> Option<Parted> {
    parted(scenario, || Replayer::new(choices))
}

fn parted<C: Choices>(scenario: &Scenario, choices: impl Fn() -> C) -> Option<Parted> {
    let PartedRuns { report, events, divergence } = first_divergence(scenario, choices, PAIRS_MAX)?;
    let mut story = Story::new(&scenario.job);
    events.iter().for_each(|event| story.observe(event));
    let rows = Rows::new(&scenario.job);
    let side = |event: &Option<Event>| match event {
        None => "the end".to_owned(),
        Some(event) => rows.row(event).map_or_else(|| format!("{:?}", event.kind), |row| row.to_string()),
    };
    let sides = [side(&divergence.left), side(&divergence.right)];
    Some(Parted { report, story, sides })
}

/// Whether a replay file records that two runs of it differed.
#[must_use]
pub fn records_divergence(file: &ReplayFile) -> bool {
    matches!(&file.outcome, Outcome::Violated(violation) if violation.code == Code::D1)
}

/// Whether a seed gives the run that a replay file records. Where a planted leak makes each run another, nobody can tell.
#[must_use]
pub fn is_seed_of(file: &ReplayFile, seed: u64) -> bool {
    file.scenario.job.defects.has(Defect::HashMapOrderLeaks)
        || run_one(&file.scenario, seed).trace_hash == file.trace_hash
}

/// What each invariant did in a run that was compared with another of the same choices, or in one that was not.
#[must_use]
pub fn judgements(report: &RunReport, is_compared: bool) -> Vec<(Code, Judgement)> {
    let judged_by_two = |(code, judgement): &(Code, Judgement)| match code {
        Code::D1 if is_compared => (Code::D1, Judgement::Judged { count: 1 }),
        _ => (*code, judgement.clone()),
    };
    report.judgements.iter().map(judged_by_two).collect()
}

/// Which scenario a seed runs, with which defects.
#[derive(Clone, Debug)]
pub struct ScenarioSource {
    given: Option<Scenario>,
    switches: Switches,
}

impl ScenarioSource {
    /// The given file's scenario, or the one that each seed draws, with these defects and the profile's quirks beside its
    /// own. What is drawn for Flink's profile has a network that keeps the order of each connection, as Flink takes for
    /// granted: what needs a weaker one is no finding about Flink. A file says for itself what its network does.
    ///
    /// # Errors
    /// When the file cannot be read or is no valid scenario.
    pub fn new(file: Option<&Path>, switches: &Switches) -> Result<Self, CommandError> {
        let given = file.map(read_scenario).transpose()?;
        Ok(Self { given, switches: switches.clone() })
    }

    /// What makes the scenarios; `None` where a file gives the only one.
    #[must_use]
    pub fn maker(&self) -> Option<Maker> {
        self.given.is_none().then_some(self.switches.maker)
    }

    /// The scenario of a seed.
    #[must_use]
    pub fn scenario(&self, seed: u64) -> Scenario {
        match &self.given {
            Some(given) => with_defects(given.clone(), self.switches.all()),
            None => in_profile(self.switches.maker.scenario(seed), &self.switches),
        }
    }
}

/// A scenario of our own making in a profile: Flink's runs on the network that Flink takes for granted.
#[must_use]
pub fn in_profile(mut scenario: Scenario, switches: &Switches) -> Scenario {
    if switches.profile == Profile::Flink {
        scenario.network.semantics = NetworkSemantics::OrderedPerConnection;
    }
    with_defects(scenario, switches.all())
}

fn with_defects(mut scenario: Scenario, defects: DefectSet) -> Scenario {
    scenario.job.defects = scenario.job.defects.union(defects);
    scenario
}

/// Reads a scenario file.
///
/// # Errors
/// When it cannot be read or is no valid scenario.
pub fn read_scenario(path: &Path) -> Result<Scenario, CommandError> {
    let text = splitrace_sim::input_file::read(path)
        .map_err(|source| CommandError::UnreadableFile { path: path.to_owned(), source })?;
    Scenario::from_toml(&text)
        .map_err(|error| CommandError::BadScenario { path: path.to_owned(), message: error.to_string() })
}

/// The demo's job under the faults and the network that a seed draws.
#[must_use]
pub fn demo_with_faults(seed: u64) -> Scenario {
    Scenario { job: Scenario::demo(DemoMode::Normal, DemoOptions::default()).job, ..Scenario::draw(seed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_for_flinks_profile_keeps_the_order_of_each_connection() {
        let switches = Switches { profile: Profile::Flink, ..Switches::default() };
        let source = ScenarioSource::new(None, &switches).expect("nothing is read");
        let hardened = ScenarioSource::new(None, &Switches::default()).expect("nothing is read");
        let mut weaker = 0;
        for seed in 0..20 {
            let drawn = source.scenario(seed);
            assert_eq!(drawn.network.semantics, NetworkSemantics::OrderedPerConnection);
            assert_eq!(drawn.job.defects, Profile::Flink.quirks());
            assert_eq!(hardened.scenario(seed), Scenario::draw(seed));
            weaker += usize::from(hardened.scenario(seed).network.semantics != drawn.network.semantics);
        }
        assert!(weaker > 0, "the draw has other networks too");
    }
}
