//! How long a file sink hides records, recorded and ours.
//!
//! The recorded cluster was a little slower to start and to read than ours, and looked into the folder four times a second;
//! so times are compared up to [`SLACK_SECONDS`], or a tenth of what they are, and counts of records up to a tenth.

/// A look each quarter of a second, and some work.
const SLACK_SECONDS: f64 = 0.5;

/// A file as it appeared.
#[derive(Debug)]
struct Seen {
    at: f64,
    records: f64,
}

/// What is said of a run.
#[derive(Debug)]
struct Told {
    files: Vec<Seen>,
    least: f64,
    median: f64,
    most: f64,
}

fn number_behind(line: &str, words: &str) -> f64 {
    let behind = line.split_once(words).unwrap_or_else(|| panic!("'{words}' in '{line}'")).1.trim_start();
    let end = behind.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(behind.len());
    behind[..end].parse().unwrap_or_else(|error| panic!("a number behind '{words}' in '{line}': {error}"))
}

fn told(text: &str) -> Told {
    let files = text.lines().filter(|line| line.contains("new committed file"));
    let seen = |line: &str| {
        let (before, behind) = line.split_once(": ").expect("a file and its records");
        Seen { at: number_behind(before, "t="), records: number_behind(behind, "") }
    };
    let last = text.lines().find(|line| line.contains("latency min=")).expect("a summary");
    Told {
        files: files.map(seen).collect(),
        least: number_behind(last, "min="),
        median: number_behind(last, "median="),
        most: number_behind(last, "max="),
    }
}

fn is_near(one: f64, other: f64, slack: f64) -> bool {
    (one - other).abs() <= slack.max(one.max(other) / 10.0)
}

/// Compares what was recorded with what ours printed.
pub fn compare(name: &str, recorded: &str, ours: &str) {
    let (recorded, ours) = (told(recorded), told(ours));
    let shown = format!("{name}\nrecorded: {recorded:#?}\nours: {ours:#?}");
    assert!(!recorded.files.is_empty(), "{shown}");
    for (theirs, ours) in recorded.files.iter().zip(&ours.files) {
        assert!(is_near(theirs.at, ours.at, SLACK_SECONDS), "{shown}");
        assert!(is_near(theirs.records, ours.records, 2.0), "{shown}");
    }
    assert!(recorded.files.len().abs_diff(ours.files.len()) <= 1, "{shown}");
    for (theirs, ours) in
        [(recorded.least, ours.least), (recorded.median, ours.median), (recorded.most, ours.most)]
    {
        assert!(is_near(theirs, ours, SLACK_SECONDS), "{shown}");
    }
}
