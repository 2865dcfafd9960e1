//! How long a file sink hides records, recorded and ours.
//!
//! The recorded cluster was a little slower to start and to read than ours, and looked into the folder four times a second;
//! so times are compared up to half a second, or a tenth of what they are, and counts of records up to two, or a tenth.

/// A look each quarter of a second, and some work; in tenths of a second, as all numbers here are tenths.
const SLACK_TENTHS: u64 = 5;
/// Two records.
const SLACK_RECORDS_TENTHS: u64 = 20;

/// A file as it appeared.
#[derive(Debug)]
struct Seen {
    at: u64,
    records: u64,
}

/// What is said of a run.
#[derive(Debug)]
struct Told {
    files: Vec<Seen>,
    least: u64,
    median: u64,
    most: u64,
}

/// The number behind these words, in tenths.
fn tenths_behind(line: &str, words: &str) -> u64 {
    let behind = line.split_once(words).unwrap_or_else(|| panic!("'{words}' in '{line}'")).1.trim_start();
    let end = behind.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(behind.len());
    let (whole, digit) = behind[..end].split_once('.').unwrap_or((&behind[..end], "0"));
    format!("{whole}{digit}")
        .parse()
        .unwrap_or_else(|error| panic!("a number behind '{words}' in '{line}': {error}"))
}

fn told(text: &str) -> Told {
    let files = text.lines().filter(|line| line.contains("new committed file"));
    let seen = |line: &str| {
        let (before, behind) = line.split_once(": ").expect("a file and its records");
        Seen { at: tenths_behind(before, "t="), records: tenths_behind(behind, "") }
    };
    let last = text.lines().find(|line| line.contains("latency min=")).expect("a summary");
    Told {
        files: files.map(seen).collect(),
        least: tenths_behind(last, "min="),
        median: tenths_behind(last, "median="),
        most: tenths_behind(last, "max="),
    }
}

fn is_near(one: u64, other: u64, slack: u64) -> bool {
    one.abs_diff(other) <= slack.max(one.max(other) / 10)
}

/// Compares what was recorded with what ours printed.
pub fn compare(name: &str, recorded: &str, ours: &str) {
    let (recorded, ours) = (told(recorded), told(ours));
    let shown = format!("{name}\nrecorded: {recorded:#?}\nours: {ours:#?}");
    assert!(!recorded.files.is_empty(), "{shown}");
    for (theirs, ours) in recorded.files.iter().zip(&ours.files) {
        assert!(is_near(theirs.at, ours.at, SLACK_TENTHS), "{shown}");
        assert!(is_near(theirs.records, ours.records, SLACK_RECORDS_TENTHS), "{shown}");
    }
    assert!(recorded.files.len().abs_diff(ours.files.len()) <= 1, "{shown}");
    for (theirs, ours) in
        [(recorded.least, ours.least), (recorded.median, ours.median), (recorded.most, ours.most)]
    {
        assert!(is_near(theirs, ours, SLACK_TENTHS), "{shown}");
    }
}
