//! What the answers say: what was judged, how failures are grouped, commands that can be pasted, the same words for the
//! same things in text and JSON, and that an answer which cannot be written is none.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_splitrace"));
    // Under `cargo test` cargo's variables are those of this package, as they are under `cargo run`.
    command.env_remove("CARGO_PKG_NAME");
    command
}

fn splitrace(arguments: &[&str]) -> Output {
    binary().args(arguments).output().expect("the binary starts")
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

fn json(arguments: &[&str]) -> Value {
    let output = splitrace(&[arguments, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON document")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scenario = folder.path().join("scenario.toml");
    std::fs::write(&scenario, splitrace(&["scenario", "show", "--seed", "3"]).stdout)
        .expect("it is writable");
    for arguments in [
        &["run", "--seed", "3"][..],
        &["run", "--seed", "3", "--format", "json"],
        &["replay", "--seed", "3"],
        &["replay", "--seed", "3", "--format", "json"],
        &["demo", "normal"],
        &["campaign", "--seeds", "0..3"],
        &["campaign", "--seeds", "0..3", "--format", "json"],
        &["defects"],
        &["scenario", "show", "--seed", "3"],
        &["scenario", "check", text(&scenario)],
        &["bench", "--time", "20ms"],
        &["--help"],
        &["campaign", "--help"],
        &["--version"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let output = binary().args(arguments).stdout(full).output().expect("the binary starts");
        let said = stderr(&output);
        assert_eq!(code(&output), 2, "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        assert!(said.contains("error: the report could not be written"), "{arguments:?}: {said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_campaign_keeps_its_files_although_its_summary_cannot_be_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let output = binary()
        .args(["campaign", "--seeds", "0..100", "--defect", "final-batch-dropped", "--keep", "1", "--out"])
        .arg(folder.path())
        .stdout(full)
        .output()
        .expect("the binary starts");
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(std::fs::read_dir(folder.path()).expect("it is there").count() > 0);
}

#[test]
fn a_verdict_says_what_was_judged_and_what_was_not() {
    for arguments in [["run", "--seed", "3"], ["replay", "--seed", "3"]] {
        let output = stdout(&splitrace(&arguments));
        let lines: Vec<&str> = output.lines().collect();
        let judged = lines.iter().find(|line| line.starts_with("judged: ")).expect("something is judged");
        assert!(judged.contains("S1 ") && judged.contains("C1 "), "{judged}");
        let is_not_judged = |line: &&str| line.starts_with("not judged: ") && line.contains("D1");
        assert_eq!(lines.iter().any(is_not_judged), arguments[0] == "run", "{output}");
        // A replay compares two runs, a run does not.
        assert_eq!(judged.contains("D1 once"), arguments[0] == "replay", "{output}");
        let one = &json(&arguments);
        let judgements = one.get("run").unwrap_or(one)["judgements"].as_array().expect("a list").clone();
        assert_eq!(judgements.len(), splitrace_invariants::Code::ALL.len());
        let d1 = judgements.iter().find(|one| one["code"] == "D1").expect("each has a place");
        assert_eq!(d1["judged"].is_null(), arguments[0] == "run", "{d1}");
    }
}

#[test]
fn a_campaign_sums_up_what_was_judged() {
    let arguments = ["campaign", "--seeds", "0..40"];
    let output = stdout(&splitrace(&arguments));
    let line = |code: &str| {
        let of_code = |line: &&str| line.contains(&format!(" %  {code} "));
        output.lines().find(of_code).unwrap_or_else(|| panic!("no line of {code} in\n{output}")).to_owned()
    };
    assert!(line("C1").contains("no duplicates: ") && line("C1").contains(" times"), "{}", line("C1"));
    assert!(line("D1").contains("not judged in 37 seeds: one run proves nothing"), "{}", line("D1"));
    let judgements = &json(&arguments)["summary"]["judgements"];
    assert_eq!(judgements["D1"]["seeds"], 3);
    assert!(judgements["C1"]["times"].as_u64().is_some_and(|times| times > 0));
}

#[test]
fn steps_and_hashes_have_one_name_and_one_notation() {
    let (run, in_text) = (json(&["run", "--seed", "3"]), stdout(&splitrace(&["run", "--seed", "3"])));
    let hash = run["trace_hash"].as_str().expect("a string");
    let counts = format!(
        "{} role steps, {} world steps, {} events told in ",
        run["role_steps"], run["world_steps"], run["events_told"]
    );
    assert!(in_text.contains(&counts), "{counts} in\n{in_text}");
    assert!(in_text.contains(&format!("trace hash {hash}\n")), "{in_text}");
    assert!(hash.starts_with("0x") && hash.len() == 18, "{hash}");
    assert!(run.get("steps").is_none(), "a step is a role's or the world's");
}

#[test]
fn one_kind_of_failure_is_one_line_whatever_it_names() {
    let output =
        stdout(&splitrace(&["campaign", "--seeds", "0..150", "--defect", "committer-not-idempotent"]));
    assert!(output.contains("\n1 distinct failure:\n"), "{output}");
    assert!(output.contains(" more like it): C1 violated: "), "{output}");
    let one = stdout(&splitrace(&["campaign", "--seeds", "4..5", "--defect", "committer-not-idempotent"]));
    assert!(!one.contains("and 0 more") && !one.contains("of 1 seeds"), "{one}");
}

#[test]
fn a_printed_command_can_be_pasted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scenario = folder.path().join("it's mine.toml");
    std::fs::write(&scenario, splitrace(&["scenario", "show", "--seed", "0"]).stdout)
        .expect("it is writable");
    let arguments = ["--defect", "final-batch-dropped", "--scenario", text(&scenario)];
    let output = stdout(&splitrace(&[&["campaign", "--seeds", "0..30"], &arguments[..]].concat()));
    let printed = output.lines().find(|line| line.contains(" replay --seed ")).expect("a seed fails");
    let pasted = Command::new("sh").arg("-c").arg(printed.trim()).output().expect("there is a shell");
    assert_eq!(code(&pasted), 1, "{printed}: {}", stderr(&pasted));
    assert!(stdout(&pasted).contains("reproduced: the same verdict"), "{printed}");
}

#[test]
fn a_trace_that_differs_is_told_with_its_first_event_and_not_as_wrong_input() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let defect = ["--defect", "hash-map-order-leaks"];
    let arguments =
        [&["campaign", "--seeds", "0..10", "--keep", "1", "--out", text(folder.path())], &defect[..]];
    let found = json(&arguments.concat());
    assert_eq!(found["failures"][0]["code"], "D1", "{found}");
    let seed = found["failures"][0]["seed"].to_string();
    let file = folder.path().join(format!("seed-{seed}.json"));
    let of_seed = [&["replay", "--seed", &seed], &defect[..]].concat();
    for arguments in [&of_seed[..], &["replay", text(&file)]] {
        let output = splitrace(arguments);
        let said = stdout(&output);
        assert_eq!(code(&output), 1, "{arguments:?}: {}", stderr(&output));
        assert!(said.contains("verdict: D1 violated: the traces part at event "), "{said}");
        assert!(said.contains("SplitsAssigned of source-coordinator"), "{said}");
        assert!(said.contains("not reproducible: the same scenario and choices gave two traces"), "{said}");
        let side =
            |name: &str| said.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
        assert!(side("first:  ").contains("split-") && side("second: ").contains("split-"), "{said}");
        assert_ne!(side("first:  "), side("second: "));
    }
}

#[test]
fn a_source_without_splits_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("empty.toml");
    let drawn = stdout(&splitrace(&["scenario", "show", "--seed", "3"]));
    let lines =
        drawn.lines().map(|line| if line.starts_with("split_count") { "split_count = 0" } else { line });
    std::fs::write(&file, lines.collect::<Vec<_>>().join("\n")).expect("it is writable");
    let output = splitrace(&["scenario", "check", text(&file)]);
    assert_eq!(code(&output), 2, "{}", stdout(&output));
    assert!(
        stderr(&output).contains("job.vertices[0].source.split_count: it is at least 1"),
        "{}",
        stderr(&output)
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_trace_that_nobody_takes_is_lost_and_the_verdict_stays() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let output = binary().args(["run", "--seed", "3", "--trace", "debug"]).stderr(full).output();
    let output = output.expect("the binary starts");
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    assert!(stdout(&output).contains("passed"), "{}", stdout(&output));
}
