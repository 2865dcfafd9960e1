//! A campaign is stopped inside a run: by Ctrl-C and by its time. What was found is told and kept.
//!
//! No test waits for a time to pass: each waits for what a process says or for its end. The run that is stopped would take
//! minutes, so a campaign that could only stop between runs would be seen.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

fn splitrace(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_splitrace"));
    command.args(arguments);
    command
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}

/// A scenario whose run goes on for a hundred million world steps, or minutes.
fn endless(folder: &Path) -> PathBuf {
    let shown = splitrace(&["scenario", "show", "--seed", "3"]).output().expect("the binary starts");
    let mut scenario: toml::Table =
        toml::from_str(&String::from_utf8_lossy(&shown.stdout)).expect("a scenario is TOML");
    let set = |table: &mut toml::Table, key: &str, value: i64| {
        assert!(table.insert(key.to_owned(), toml::Value::Integer(value)).is_some(), "{key} is there");
    };
    let limits = scenario["limits"].as_table_mut().expect("a table");
    set(limits, "steps_max", 100_000_000);
    set(limits, "virtual_time_max_ns", 1 << 52);
    set(limits, "no_progress_max_ns", 1 << 52);
    let vertices = scenario["job"]["vertices"].as_array_mut().expect("a list");
    for vertex in vertices {
        let source = vertex["source"].as_table_mut().expect("a table");
        set(source, "records_per_split", 1 << 40);
    }
    let path = folder.join("endless.toml");
    std::fs::write(&path, toml::to_string(&scenario).expect("it is a scenario")).expect("it is writable");
    path
}

/// Sends Ctrl-C.
fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill starts");
    assert!(sent.success());
}

#[test]
fn time_ends_a_long_run_and_no_seed_is_no_success() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scenario = endless(folder.path());
    let arguments = ["campaign", "--time", "10ms", "--jobs", "1", "--scenario", text(&scenario)];
    let output = splitrace(&arguments).output().expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("error: no seed came to its end within 10ms, so nothing was checked"), "{said}");
}

#[test]
fn the_shortest_time_runs_a_seed() {
    let arguments = ["campaign", "--time", "1ms", "--jobs", "1", "--format", "json"];
    let output = splitrace(&arguments).output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert!(json["summary"]["seeds"].as_u64().is_some_and(|seeds| seeds >= 1), "{json}");
}

#[test]
fn an_interruption_ends_a_long_run_and_is_neither_success_nor_failure() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scenario = endless(folder.path());
    // A run that is traced says when it is on its way.
    let arguments = ["campaign", "--jobs", "1", "--trace", "debug", "--scenario", text(&scenario)];
    let mut child = splitrace(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut trace = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    trace.read_line(&mut line).expect("the run traces");
    interrupt(&child);
    std::io::copy(&mut trace, &mut std::io::sink()).expect("it ends");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("(interrupted; this is what was run): 0 runs in "), "{said}");
    assert!(said.contains("stopped before their end, so not judged: seed 0"), "{said}");
    assert!(said.ends_with("no violation: 0 of 0 seeds failed; interrupted before the end\n"), "{said}");
}

/// A campaign with failures that would go on for hours, interrupted once it has begun.
fn interrupted_campaign(folder: &Path, format: &str) -> Child {
    let arguments =
        ["campaign", "--time", "10h", "--jobs", "1", "--defect", "final-batch-dropped", "--keep", "1"];
    let mut child = splitrace(&arguments)
        .args(["--out", text(folder), "--format", format, "--trace", "error"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // A violation is traced as an error: from here on there is something to keep.
    let mut trace = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    trace.read_line(&mut line).expect("the run traces");
    interrupt(&child);
    // It ends before its answer, some thousand letters, could fill the other pipe.
    std::io::copy(&mut trace, &mut std::io::sink()).expect("it ends");
    child
}

#[test]
fn an_interrupted_campaign_tells_and_keeps_what_it_found() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = interrupted_campaign(folder.path(), "text").wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let at = |words: &str| said.find(words).unwrap_or_else(|| panic!("no '{words}' in\n{said}"));
    assert!(
        at("violations found: ") < at("replay file "),
        "the summary comes before the files are written:\n{said}"
    );
    let kept = std::fs::read_dir(folder.path()).expect("it is there").count();
    assert_eq!(said.matches("replay file ").count(), kept);
    assert!(kept > 0);
}

#[test]
fn in_json_an_interrupted_campaign_is_still_one_document() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut child = interrupted_campaign(folder.path(), "json");
    let mut said = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut said).expect("it is text");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    let json: serde_json::Value = serde_json::from_str(&said).expect("one document");
    assert_eq!((&json["interrupted"], &json["files_left_out"]), (&true.into(), &0.into()));
    assert!(json["files"].as_array().is_some_and(|files| !files.is_empty()));
}

/// `nohup` leaves a campaign with SIGHUP ignored: that must not make it deaf to the other signals.
#[test]
#[cfg(target_os = "linux")]
fn a_campaign_that_outlives_its_terminal_still_hears_ctrl_c() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut child = Command::new("nohup")
        .arg(env!("CARGO_BIN_EXE_splitrace"))
        .args(["campaign", "--time", "10h", "--jobs", "1", "--defect", "final-batch-dropped", "--keep", "1"])
        .args(["--out", text(folder.path()), "--trace", "error"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("nohup is there");
    let mut trace = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    while !line.contains("violated") {
        line.clear();
        assert!(trace.read_line(&mut line).expect("the run traces") > 0, "it ended before it found anything");
    }
    let hang_up = Command::new("kill").args(["-HUP", &child.id().to_string()]).status().expect("kill starts");
    assert!(hang_up.success());
    interrupt(&child);
    std::io::copy(&mut trace, &mut std::io::sink()).expect("it ends");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("interrupted"), "{said}");
}
