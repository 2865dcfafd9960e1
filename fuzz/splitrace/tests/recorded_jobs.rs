//! Recorded runs of Flink's demo job against the modes of our demo.
//!
//! Each log begins with the command line that made it. The same mode with the same settings is run here under a few
//! seeds, and must give the recorded counts, and under one of the seeds the recorded order of rows for every subtask, up to
//! renaming subtasks and up to what timing decides (see `recorded_jobs/rows.rs`). Where timing decides the counts as well,
//! both runs must follow the same formula, which each of them computes from its own rows.

#[path = "recorded_jobs/formulas.rs"]
mod formulas;
#[path = "recorded_jobs/hidden.rs"]
mod hidden;
#[path = "recorded_jobs/rows.rs"]
mod rows;

use clap::Parser;
use formulas::Formula;
use rows::{Part, Row};
use splitrace::arguments::CommandLine;
use splitrace::commands;
use splitrace_sim::scenario::DemoMode;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// So many seeds are tried until one gives the recorded order.
const SEEDS: u64 = 40;

/// What of a recorded log is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Compared {
    /// The counts are equal, and so is the order of rows.
    Whole,
    /// Timing decides the counts: both follow the formula; the order of rows is equal.
    ByFormula(Formula),
    /// As `ByFormula`, and the order of rows differs for the stated reason.
    FormulaOnly(Formula, &'static str),
    /// As `Whole`, for the job before and after it is submitted again; and every subtask restores the recorded splits.
    Rescaled,
    /// The counts are equal; the order of rows differs for the stated reason.
    CountsOnly(&'static str),
    /// A file sink: how long records are hidden, and how many a file holds.
    Hidden,
}

const ENDLESS_SPLITS: &str =
    "our unbounded source has splits without an end, the recorded one has none left to assign";

const CLOSE_CHECKPOINTS: &str =
    "the recorded cluster was slow to start, so its second checkpoint follows the first within milliseconds";

const JOBS: &[(&str, Compared)] = &[
    ("assign-in-snapshot", Compared::ByFormula(Formula::SplitReadTwice)),
    ("commit-flaky", Compared::Whole),
    ("commit-flaky-update", Compared::Whole),
    ("commit-known", Compared::CountsOnly(CLOSE_CHECKPOINTS)),
    ("commit-then-crash", Compared::Whole),
    ("commit-throw", Compared::FormulaOnly(Formula::RestoredOnly, CLOSE_CHECKPOINTS)),
    ("commit-unknown", Compared::FormulaOnly(Formula::RestoredOnly, CLOSE_CHECKPOINTS)),
    ("enum-fail", Compared::Whole),
    ("enum-restart", Compared::Whole),
    ("enum-snapshot-fail", Compared::Whole),
    ("fail", Compared::Whole),
    ("fail-again", Compared::Whole),
    ("fail-in-snapshot", Compared::Whole),
    ("fail-in-snapshot-nodelay", Compared::Whole),
    ("fail-late", Compared::Whole),
    ("fail-mid", Compared::Whole),
    ("fail-naive", Compared::ByFormula(Formula::CommittedTwice)),
    ("fail-naive-ids-idempotent", Compared::ByFormula(Formula::NamesTaken)),
    ("fail-while-pending", Compared::Whole),
    ("fail-while-pending-nodelay", Compared::Whole),
    ("final-off", Compared::ByFormula(Formula::LastBatch)),
    ("final-off-1s", Compared::ByFormula(Formula::LastBatch)),
    ("final-on", Compared::Whole),
    ("nockpt", Compared::Whole),
    ("nockpt-fail", Compared::Whole),
    ("nockpt-shuffle", Compared::Whole),
    ("nockpt-unbounded", Compared::CountsOnly(ENDLESS_SPLITS)),
    ("normal", Compared::Whole),
    ("push", Compared::Whole),
    ("push-fail", Compared::Whole),
    ("push-fail-nodelay", Compared::Whole),
    ("reassign-fail", Compared::Whole),
    ("reassign-to-finished", Compared::ByFormula(Formula::ReportedSplit)),
    ("rescale", Compared::Rescaled),
    ("rescale-3to2", Compared::Rescaled),
    ("rescale-7", Compared::Rescaled),
    ("rescale-down", Compared::Rescaled),
    ("rescale-few", Compared::Rescaled),
    ("rescale-push", Compared::Rescaled),
    ("rescale-reassign", Compared::Rescaled),
    ("retry-later", Compared::Whole),
    ("retry-later-0", Compared::Whole),
    ("retry-later-25", Compared::Whole),
    ("shuffle-fail", Compared::Whole),
    ("filesink-default", Compared::Hidden),
    ("filesink-oncheckpoint", Compared::Hidden),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

fn log(name: &str) -> String {
    let file = if name.starts_with("filesink") { format!("{name}.log") } else { format!("demo-{name}.log") };
    std::fs::read_to_string(folder().join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Our mode and settings for a recorded command line, `# ./run.sh demo fail delay=20`.
fn command_line(log: &str) -> Vec<String> {
    if let Some((_, mode)) = log.split_once("mode=").filter(|_| !log.starts_with('#')) {
        let mode = mode.split(':').next().expect("a mode").trim_start_matches("filesink-");
        return ["splitrace", "demo", &format!("filesink-{mode}")].map(str::to_owned).to_vec();
    }
    let first = log.lines().next().expect("a first line");
    let words = first.split_whitespace().skip_while(|word| *word != "demo").map(in_our_notation);
    let mut line: Vec<String> = std::iter::once("splitrace".to_owned()).chain(words).collect();
    // Ours has no mode of its own for the first, the recorded program none for the second: `nockpt failAt=80`.
    if line[2] == "shuffle-fail" {
        line.splice(2..3, ["fail".to_owned(), "shuffle=1".to_owned()]);
    }
    if line.contains(&"nockpt".to_owned()) && line.contains(&"fail_at=80".to_owned()) {
        line[2] = "nockpt-fail".to_owned();
    }
    line
}

fn in_our_notation(word: &str) -> String {
    [
        ("restartDelay", "restart_delay"),
        ("restartAttempts", "restart_attempts"),
        ("failAt", "fail_at"),
        ("commitFailHow", "commit_fail_how"),
    ]
    .iter()
    .fold(word.to_owned(), |word, (theirs, ours)| word.replace(theirs, ours))
}

fn printed(line: &[String], seed: u64) -> String {
    let seeded = line.iter().cloned().chain(["--seed".to_owned(), seed.to_string()]);
    let report = commands::execute(&CommandLine::parse_from(seeded)).expect("the settings make sense");
    report.text().to_owned()
}

fn ours(line: &[String], seed: u64) -> Vec<Row> {
    // The time line is in the recorded job's own form, and the counts are its last line.
    let text = printed(line, seed);
    let mut rows = rows::recorded(&text);
    let last = text.lines().last().unwrap_or_default();
    rows.push(Row { label: "MAIN".to_owned(), thread: "main".to_owned(), text: last.to_owned() });
    rows
}

/// The order of rows, for every task, without the subtasks' numbers.
fn order(rows: &[Row]) -> (Vec<Vec<&'static str>>, Vec<&'static str>) {
    let tasks = rows::task_tokens(rows);
    let mut subtasks: Vec<Vec<&'static str>> = tasks
        .iter()
        .map(|((subtask, part), tokens)| {
            let mut words = rows::canonical(tokens);
            if *part != Part::Sink {
                words.push("| enumerator:");
                words.extend(rows::enumerator(rows, *subtask));
            }
            words
        })
        .collect();
    subtasks.sort_unstable();
    (subtasks, rows::checkpoints(rows))
}

fn compare(name: &str, compared: Compared) {
    let text = log(name);
    let line = command_line(&text);
    if compared == Compared::Hidden {
        return hidden::compare(name, &text, &printed(&line, 0));
    }
    let recorded = rows::recorded(&text);
    let expected = rows::counts(&recorded);
    let first = ours(&line, 0);
    match compared {
        Compared::Hidden => unreachable!("compared above"),
        Compared::Whole | Compared::Rescaled | Compared::CountsOnly(_) => {
            assert_eq!(rows::counts(&first), expected, "{name}: other counts than recorded");
        }
        Compared::ByFormula(formula) | Compared::FormulaOnly(formula, _) => {
            formulas::check(formula, &recorded, &format!("{name}, recorded"));
            formulas::check(formula, &first, &format!("{name}, ours"));
        }
    }
    if matches!(compared, Compared::CountsOnly(_) | Compared::FormulaOnly(..)) {
        return;
    }
    let is_rescaled = compared == Compared::Rescaled;
    let what_counts = |rows: &[Row]| {
        let (first, second) = rows::before_and_after_submission(rows);
        assert_eq!(is_rescaled, !second.is_empty(), "{name}: submitted again or not");
        let restored = if is_rescaled { rows::restored(second) } else { BTreeMap::new() };
        (order(first), order(second), restored)
    };
    let wanted = what_counts(&recorded);
    let found = (0..SEEDS).find(|seed| what_counts(&ours(&line, *seed)) == wanted);
    assert!(
        found.is_some(),
        "{name}: no seed below {SEEDS} gives the recorded order\nrecorded: {wanted:#?}\nseed 0: {:#?}",
        what_counts(&first)
    );
}

macro_rules! jobs {
    ($($test:ident = $name:literal;)+) => {
        const TESTED: &[&str] = &[$($name),+];
        $(
            #[test]
            fn $test() {
                let (_, compared) = JOBS.iter().find(|(name, _)| *name == $name).expect("it is listed");
                compare($name, *compared);
            }
        )+
    };
}

jobs! {
    assign_in_snapshot = "assign-in-snapshot";
    commit_flaky = "commit-flaky";
    commit_flaky_update = "commit-flaky-update";
    commit_known = "commit-known";
    commit_then_crash = "commit-then-crash";
    commit_throw = "commit-throw";
    commit_unknown = "commit-unknown";
    enum_fail = "enum-fail";
    enum_restart = "enum-restart";
    enum_snapshot_fail = "enum-snapshot-fail";
    fail = "fail";
    fail_again = "fail-again";
    fail_in_snapshot = "fail-in-snapshot";
    fail_in_snapshot_nodelay = "fail-in-snapshot-nodelay";
    fail_late = "fail-late";
    fail_mid = "fail-mid";
    fail_naive = "fail-naive";
    fail_naive_ids_idempotent = "fail-naive-ids-idempotent";
    fail_while_pending = "fail-while-pending";
    fail_while_pending_nodelay = "fail-while-pending-nodelay";
    final_off = "final-off";
    final_off_1s = "final-off-1s";
    final_on = "final-on";
    nockpt = "nockpt";
    nockpt_fail = "nockpt-fail";
    nockpt_shuffle = "nockpt-shuffle";
    nockpt_unbounded = "nockpt-unbounded";
    normal = "normal";
    push = "push";
    push_fail = "push-fail";
    push_fail_nodelay = "push-fail-nodelay";
    reassign_fail = "reassign-fail";
    reassign_to_finished = "reassign-to-finished";
    rescale = "rescale";
    rescale_3to2 = "rescale-3to2";
    rescale_7 = "rescale-7";
    rescale_down = "rescale-down";
    rescale_few = "rescale-few";
    rescale_push = "rescale-push";
    rescale_reassign = "rescale-reassign";
    retry_later = "retry-later";
    retry_later_0 = "retry-later-0";
    retry_later_25 = "retry-later-25";
    shuffle_fail = "shuffle-fail";
    filesink_default = "filesink-default";
    filesink_oncheckpoint = "filesink-oncheckpoint";
}

#[test]
fn every_recorded_log_is_compared() {
    let mut files: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder of recorded logs")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|file| file.ends_with(".log"))
        .map(|file| file.trim_start_matches("demo-").trim_end_matches(".log").to_owned())
        .collect();
    files.sort();
    let mut listed: Vec<String> = JOBS.iter().map(|(name, _)| (*name).to_owned()).collect();
    listed.sort();
    assert_eq!(listed, files);
    assert!(JOBS.iter().map(|(name, _)| *name).eq(TESTED.iter().copied()));
}

#[test]
fn every_mode_has_a_recorded_job_or_is_ours_alone() {
    let recorded: BTreeMap<String, String> =
        JOBS.iter().map(|(name, _)| (command_line(&log(name))[2].clone(), (*name).to_owned())).collect();
    let without: Vec<&str> =
        DemoMode::ALL.iter().map(|mode| mode.id()).filter(|mode| !recorded.contains_key(*mode)).collect();
    assert_eq!(
        without,
        [
            "outage",
            "outage-back-off",
            "commit-early",
            "fetcher",
            "blocking-reader",
            "blocked-fetcher",
            "watermark-alignment",
            "discovery"
        ],
        "modes that no recorded job stands behind"
    );
}

/// How often each committable was refused before it was committed, and how often where it never was.
fn refusals(rows: &[Row]) -> (Vec<u64>, usize) {
    let commits = rows.iter().filter(|row| row.label == "COMMIT");
    let mut before: Vec<u64> =
        commits.clone().filter_map(|row| rows::number_after(&row.text, "(retries=")).collect();
    before.sort_unstable();
    before.dedup();
    let refused = |row: &&Row| row.text.contains("-> retry") || row.text.contains("-> update");
    let ours = |row: &&Row| row.text.contains("refused for now");
    (before, commits.filter(|row| refused(row) || ours(row)).count())
}

#[test]
fn a_committer_that_refuses_is_called_as_often_as_recorded() {
    for (name, per_commit) in
        [("commit-flaky", Some(3)), ("commit-flaky-update", Some(3)), ("retry-later-0", None)]
    {
        let text = log(name);
        let recorded = refusals(&rows::recorded(&text));
        let ours = refusals(&ours(&command_line(&text), 0));
        assert_eq!(recorded.0, ours.0, "{name}: retries before the commit");
        assert_eq!(ours.0, Vec::from_iter(per_commit), "{name}");
        if per_commit.is_none() {
            assert_eq!((recorded.1, ours.1), (22, 22), "{name}: 11 calls of each committer (FACT 69)");
        }
    }
}
