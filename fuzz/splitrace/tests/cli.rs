//! The built binary: exit codes, sentences, and that nothing is overwritten.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn splitrace(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_splitrace")).args(arguments).output().expect("the binary starts")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("no signal ends it")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs it, expects exit code 2, nothing on stdout, and these words in what it says.
fn refused(arguments: &[&str], words: &[&str]) {
    let output = splitrace(arguments);
    let said = stderr(&output);
    assert_eq!(code(&output), 2, "{arguments:?} said: {said}");
    assert_eq!(stdout(&output), "", "{arguments:?}");
    assert!(said.starts_with("error: "), "{arguments:?} said: {said}");
    assert!(!said.contains("panicked"), "{arguments:?} said: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?} should say '{word}', said: {said}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}

#[test]
fn wrong_usage_is_refused_in_a_sentence() {
    refused(&["demo", "sideways"], &["sideways", "possible values", "normal"]);
    refused(&["dance"], &["dance"]);
    refused(&["run"], &["--seed"]);
    refused(
        &["run", "--seed", "many"],
        &["a seed is a whole number from 0 to 18446744073709551615, not 'many'"],
    );
    refused(&["run", "--seed", "-1"], &["a seed is a whole number from 0 to 18446744073709551615, not '-1'"]);
    refused(&["replay", "--seed", "18446744073709551616"], &["a seed is a whole number from 0 to"]);
    refused(&["scenario", "show", "--seed", "-1"], &["a seed is a whole number from 0 to"]);
    refused(&["demo", "fail", "--fail-at", "-3"], &["the number of a record is a whole number from 0 to"]);
    refused(&["campaign", "--seeds", "-3..5"], &["looks like 0..2000", "not '-3..5'"]);
    refused(&["campaign", "--time", "-3s"], &["looks like", "not '-3s'"]);
    refused(&["campaign", "--out", "here", "--keep", "0"], &["whole number from 1 to 1000000, not '0'"]);
    refused(&["campaign", "--seeds", "9..3"], &["9..3 runs backwards", "did you mean 3..9"]);
    refused(&["campaign", "--seeds", "3..3"], &["holds no seed"]);
    refused(&["campaign", "--seeds", "all"], &["looks like 0..2000"]);
    refused(&["campaign", "--time", "60"], &["looks like", "60s"]);
    refused(&["campaign", "--seeds", "0..2", "--time", "1s"], &["cannot be used with"]);
    refused(&["campaign", "--first-seed", "7"], &["--time"]);
    refused(
        &["campaign", "--jobs", "0"],
        &["the number of threads is a whole number from 1 to 1024, not '0'"],
    );
    refused(&["campaign", "--defect", "gateway-never-close"], &["'gateway-never-closes'"]);
    refused(&["replay"], &["FILE", "--seed"]);
    refused(&["replay", "7"], &["no replay file '7'; did you mean --seed 7?"]);
    refused(&["replay", "--seed", "7", "file.json"], &["cannot be used with"]);
    refused(&["run", "--seed", "1", "--format", "xml"], &["xml", "json"]);
}

#[test]
fn a_demo_without_a_failure_has_none_to_move() {
    refused(&["demo", "normal", "--at", "write"], &["--at", "'normal' injects none"]);
    refused(&["demo", "nockpt-fail", "--at", "snapshot"], &["--at snapshot never comes", "no checkpoints"]);
    refused(
        &["demo", "nockpt-unbounded", "--fail-at", "3"],
        &["--fail-at", "'nockpt-unbounded' injects none"],
    );
    refused(&["demo", "fail", "--fail-at", "160"], &["--fail-at 160 lies behind the last record, 159"]);
}

#[test]
fn a_bad_scenario_file_is_told_where_it_is_bad() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bad = folder.path().join("bad.toml");
    std::fs::write(&bad, "cancel_after_ns = 3\nlimits = [[\n").expect("it is writable");
    for arguments in [
        &["scenario", "check", text(&bad)][..],
        &["run", "--seed", "1", "--scenario", text(&bad)],
        &["campaign", "--seeds", "0..2", "--scenario", text(&bad)],
        &["replay", "--seed", "1", "--scenario", text(&bad)],
    ] {
        refused(arguments, &["bad.toml", "is no valid scenario", "line", "column"]);
    }
    refused(
        &["scenario", "check", text(&folder.path().join("absent.toml"))],
        &["cannot read", "absent.toml"],
    );
}

#[test]
fn a_replay_file_that_is_none_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("file.json");
    let refused_once = |words: &[&str]| {
        refused(&["replay", text(&file)], words);
        let said = stderr(&splitrace(&["replay", text(&file)]));
        assert_eq!((said.matches("file.json").count(), said.lines().count()), (1, 1), "{said}");
    };
    refused_once(&["cannot replay", "No such file"]);
    std::fs::write(&file, "{ not json").expect("it is writable");
    refused_once(&["cannot replay", "is no replay file: line 1, column 3"]);
    std::fs::write(&file, "{\"version\": 999999}").expect("it is writable");
    refused_once(&["cannot replay", "of version 999999, but this program reads version 2 only"]);
    // The first version wrote hashes as plain numbers.
    std::fs::write(&file, "{\"version\": 1, \"splitrace\": \"0.1.0\", \"trace_hash\": 42}")
        .expect("it is writable");
    refused_once(&["of version 1, but this program reads version 2 only", "splitrace 0.1.0"]);
}

#[test]
fn an_unwritable_out_is_refused_before_the_campaign_begins() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("taken");
    std::fs::write(&file, "mine").expect("it is writable");
    // Were the check late, the open-ended time would make this test hang.
    let arguments = ["campaign", "--time", "10h", "--out", text(&file)];
    refused(&arguments, &["cannot write to the folder", "taken"]);
    assert_eq!(std::fs::read_to_string(&file).expect("it is still there"), "mine");
}

#[test]
fn an_error_in_json_is_json() {
    let output = splitrace(&["scenario", "check", "/nowhere/at/all.toml", "--format", "json"]);
    assert_eq!(code(&output), 2);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
    assert!(json["error"].as_str().is_some_and(|error| error.contains("all.toml")));
}

#[test]
fn help_teaches_with_examples() {
    for arguments in [
        &["--help"][..],
        &["demo", "--help"],
        &["run", "--help"],
        &["campaign", "--help"],
        &["replay", "--help"],
        &["bench", "--help"],
        &["scenario", "show", "--help"],
        &["scenario", "check", "--help"],
    ] {
        let output = splitrace(arguments);
        assert_eq!(code(&output), 0, "{arguments:?}");
        assert!(stdout(&output).contains("splitrace "), "{arguments:?}");
        assert!(stdout(&output).matches("--").count() >= 2, "{arguments:?}");
    }
    assert!(stdout(&splitrace(&["--help"])).contains("Exit code: 0 clean, 1 a violation was found, 2 wrong"));
}

#[test]
fn defects_are_listed_in_both_formats() {
    let output = splitrace(&["defects"]);
    assert_eq!(code(&output), 0);
    assert!(stdout(&output).contains("final-batch-dropped"));
    let output = splitrace(&["defects", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
    assert!(
        json.as_array()
            .is_some_and(|entries| entries.iter().any(|entry| entry["id"] == "gateway-never-closes"))
    );
}

#[test]
fn a_reader_that_hangs_up_causes_no_panic() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_splitrace"))
        .args(["replay", "--seed", "1", "--all"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(matches!(code(&output), 0 | 1), "{output:?}");
    assert!(!stderr(&output).contains("panicked"), "{output:?}");
}

#[test]
fn a_campaign_does_not_depend_on_the_number_of_jobs() {
    let run = |jobs: &str| {
        let arguments = ["campaign", "--seeds", "10..60", "--jobs", jobs, "--format", "json"];
        let output = splitrace(&arguments);
        assert!(matches!(code(&output), 0 | 1), "{}", stderr(&output));
        let mut json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
        for speed in ["wall_time_ms", "seeds_per_second", "events_per_second"] {
            json[speed] = serde_json::Value::Null;
        }
        json
    };
    let one = run("1");
    assert_eq!(one["summary"]["seeds"], 50);
    assert_eq!(run("3"), one);
}

#[test]
fn a_planted_defect_is_found_written_and_replayed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let arguments = [
        "campaign",
        "--seeds",
        "0..200",
        "--defect",
        "final-batch-dropped",
        "--out",
        text(folder.path()),
        "--keep",
        "1",
    ];
    let names = || {
        let files = std::fs::read_dir(folder.path()).expect("the folder is there");
        let mut names: Vec<_> = files.map(|file| file.expect("it is readable").path()).collect();
        names.sort();
        names
    };
    let output = splitrace(&arguments);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(stdout(&output).contains("defect final-batch-dropped: FOUND"), "{}", stdout(&output));
    let first = names();
    assert!(!first.is_empty());
    let before: Vec<_> = first.iter().map(|path| std::fs::read(path).expect("it is readable")).collect();

    let replay = splitrace(&["replay", text(&first[0])]);
    assert_eq!(code(&replay), 1, "{}", stderr(&replay));
    assert!(stdout(&replay).contains("reproduced: the same verdict and the same trace hash"));

    // A second campaign into the same folder leaves the first one's files alone, and writes nothing twice.
    let again = splitrace(&arguments);
    assert_eq!(code(&again), 1, "{}", stderr(&again));
    assert!(stdout(&again).contains("(it was there already)"), "{}", stdout(&again));
    assert_eq!(names(), first);
    let after: Vec<_> = first.iter().map(|path| std::fs::read(path).expect("it is readable")).collect();
    assert_eq!(before, after);

    // A file that says something else than what happens is refused.
    let mut json: serde_json::Value = serde_json::from_slice(&before[0]).expect("a replay file is JSON");
    assert!(json["trace_hash"].as_str().is_some_and(|hash| hash.starts_with("0x") && hash.len() == 18));
    let changed = folder.path().join("changed.json");
    let mut refuse = |field: &str, value: serde_json::Value, words: &[&str]| {
        let right = json.get(field).cloned();
        json[field] = value;
        std::fs::write(&changed, json.to_string()).expect("it is writable");
        refused(&["replay", text(&changed)], words);
        match right {
            Some(right) => json[field] = right,
            None => drop(json.as_object_mut().and_then(|fields| fields.remove(field))),
        }
    };
    let other = serde_json::json!("0x0000000000000001");
    refuse("trace_hash", other, &["does not reproduce", "trace hash", "0x0000000000000001"]);
    refuse("seed", 199_999.into(), &["changed.json", "names seed 199999", "gives another run"]);
    refuse("sed", 7.into(), &["changed.json", "unknown field `sed`"]);
}
