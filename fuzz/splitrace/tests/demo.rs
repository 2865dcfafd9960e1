//! The demo's modes: what becomes visible, the verdict, the exit code. A seed shifts the timing and nothing
//! of these.

use std::process::Command;

struct Demo {
    code: i32,
    text: String,
}

fn demo(arguments: &[&str]) -> Demo {
    let output = Command::new(env!("CARGO_BIN_EXE_splitrace"))
        .arg("demo")
        .args(arguments)
        .output()
        .expect("the binary starts");
    let code = output.status.code().expect("no signal ends it");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.stderr.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Demo { code, text }
}

impl Demo {
    fn last_line(&self) -> &str {
        self.text.lines().last().unwrap_or_default()
    }

    #[track_caller]
    fn is(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{}", self.text);
        for word in words {
            assert!(self.text.contains(word), "'{word}' is missing in\n{}", self.text);
        }
    }
}

const EXACTLY_ONCE: &str = "committed records: total=160 distinct=160 expected=160 duplicates=0 missing=0";
const SEEDS: [&str; 3] = ["0", "1", "77"];

#[test]
fn honest_modes_commit_every_record_exactly_once() {
    for mode in ["normal", "push", "nockpt", "fetcher"] {
        for seed in SEEDS {
            let demo = demo(&[mode, "--seed", seed]);
            demo.is(0, &["job FINISHED", "records read=160 re-read=0"]);
            assert_eq!(demo.last_line(), EXACTLY_ONCE, "{mode} with seed {seed}");
        }
    }
}

#[test]
fn settings_that_make_no_scenario_are_refused() {
    for (arguments, sentence) in [
        ("rescale unaligned=1 delay=1 interval=20", "cannot be dealt to other subtasks"),
        ("nockpt-unbounded delay=0", "an unbounded source needs time between two records"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_splitrace"))
            .arg("demo")
            .args(arguments.split(' '))
            .output()
            .expect("the binary starts");
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(sentence), "{arguments}: {said}");
    }
}

#[test]
fn a_long_job_has_the_time_that_it_takes() {
    for arguments in [&["normal", "splits=100"][..], &["normal", "per=1000"], &["fail", "delay=10000"]] {
        let demo = demo(arguments);
        demo.is(0, &["job FINISHED", "duplicates=0 missing=0"]);
    }
}

#[test]
fn aligned_readers_wait_for_each_other_and_lose_nothing() {
    for seed in SEEDS {
        let demo = demo(&["watermark-alignment", "--seed", seed]);
        let words = [
            "watermark alignment: ",
            "pauses split-3",
            "resumes split-3",
            "waits for the others (up to ",
            "goes on",
        ];
        demo.is(0, &words);
        assert_eq!(demo.last_line(), EXACTLY_ONCE, "seed {seed}");
    }
}

#[test]
fn splits_are_discovered_while_the_job_runs_and_readers_wait_for_them() {
    for policy in ["push=0", "push=1"] {
        let demo = demo(&["discovery", policy]);
        demo.is(
            0,
            &["discovered by the worker: [split-0", "discovered by the worker: [split-3", "job FINISHED"],
        );
        let at = |words: &str| demo.text.find(words).unwrap_or_else(|| panic!("no '{words}'"));
        assert!(at("snapshotState(chk 1)") < at("discovered by the worker: [split-3"), "{}", demo.text);
        assert_eq!(demo.last_line(), EXACTLY_ONCE, "{policy}");
    }
}

#[test]
fn a_reader_that_blocks_its_task_costs_a_checkpoint_and_a_fetcher_does_not() {
    for (mode, aborts) in [("blocking-reader", true), ("blocked-fetcher", false)] {
        let demo = demo(&[mode]);
        demo.is(0, &["job FINISHED", "records read=160 re-read=0"]);
        assert_eq!(demo.text.contains("is aborted: it expired"), aborts, "{}", demo.text);
        assert_eq!(demo.last_line(), EXACTLY_ONCE, "{mode}");
    }
}

#[test]
fn without_checkpoints_nothing_is_committed_before_the_end_of_the_input() {
    let demo = demo(&["nockpt"]);
    let at = |words: &str| demo.text.find(words).unwrap_or_else(|| panic!("no '{words}' in\n{}", demo.text));
    let commit = demo.text.find("(retries=0)").expect("something is committed");
    assert!(at("flush(endOfInput=true)") < commit);
    assert!(!demo.text.contains("snapshotState"));
}

#[test]
fn a_failure_makes_records_be_read_twice_and_committed_once() {
    for seed in SEEDS {
        let demo = demo(&["fail", "--seed", seed]);
        demo.is(
            0,
            &[
                "!!! injected failure at record 80",
                "addSplitsBack([split-2[80,120)])",
                "read twice, committed once",
            ],
        );
        assert!(!demo.text.contains("re-read=0"), "{}", demo.text);
        // One subtask fails, and only that one is reset and deployed again.
        assert_eq!(demo.text.matches("addSplitsBack(").count(), 1, "{}", demo.text);
        assert_eq!(demo.text.matches("#1 from chk").count(), 1, "{}", demo.text);
        assert_eq!(demo.last_line(), EXACTLY_ONCE);
    }
}

#[test]
fn each_moment_of_a_records_journey_can_fail_and_nothing_is_lost_or_doubled() {
    let consequences = [
        ("read", "MAP      ", "addSplitsBack([split-2[80,120)])"),
        ("write", "WRITER   ", "after the writer took it"),
        ("prepared", "WRITER   ", "after prepareCommit"),
        ("snapshot", "WRITER   ", "after the snapshot was acknowledged"),
        ("committing", "COMMIT   ", "already committed -> signalAlreadyCommitted"),
    ];
    for (moment, label, consequence) in consequences {
        let demo = demo(&["fail", "--at", moment]);
        demo.is(0, &["!!! injected failure at record 80", consequence]);
        let failure = demo.text.lines().find(|line| line.contains("!!!")).unwrap_or_default();
        assert!(failure.contains(label), "{moment}: {failure}");
        assert_eq!(demo.last_line(), EXACTLY_ONCE, "{moment}");
    }
}

#[test]
fn the_failing_record_decides_what_is_given_back() {
    // 60 is read from a split that the restored checkpoint holds already.
    demo(&["fail", "--fail-at", "60"]).is(0, &["nothing to give back from failed"]);
    demo(&["fail", "--fail-at", "80"]).is(0, &["addSplitsBack([split-2[80,120)])"]);
    // By record 90 a checkpoint has completed since split-2 was assigned, so the reader restores it at its position.
    demo(&["fail", "--fail-at", "90"])
        .is(0, &["nothing to give back from failed", "addSplits[split-2[90,120)] (restored)"]);
}

#[test]
fn careless_sinks_are_caught() {
    for seed in SEEDS {
        demo(&["fail-naive", "--seed", seed]).is(1, &["!!! C1 violated", "committed more than once: "]);
        demo(&["commit-early", "--seed", seed]).is(1, &["!!! C3 violated", "!!! and C1 "]);
    }
    demo(&["fail-naive-ids-idempotent"]).is(1, &["!!! K2 violated", "!!! and C2 "]);
    // The twice committed transaction's records are the duplicates, as in the recorded run of the real job.
    let naive = demo(&["fail-naive"]);
    naive.is(1, &["committed more than once: split-0[26..37]"]);
    assert!(naive.last_line().contains("total=172 distinct=160 expected=160 duplicates=12 missing=0"));
}

#[test]
fn an_unbounded_job_without_checkpoints_commits_nothing_and_that_is_all_it_promised() {
    let demo = demo(&["nockpt-unbounded"]);
    demo.is(0, &["cancelled"]);
    assert!(demo.last_line().starts_with("committed records: total=0 distinct=0"), "{}", demo.text);
}

#[test]
fn a_failure_without_checkpoints_gives_everything_back() {
    let failed = demo(&["nockpt-fail"]);
    failed.is(0, &["will be restored from checkpoint none", "addSplitsBack("]);
    assert_eq!(failed.text.matches("injected failure").count(), 1, "{}", failed.text);
    assert_eq!(failed.last_line(), EXACTLY_ONCE);
}

#[test]
fn an_outage_uses_up_eleven_calls_at_once_and_a_committer_that_backs_off_sits_it_out() {
    for seed in SEEDS {
        let at_once = demo(&["outage", "--seed", seed]);
        at_once.is(0, &["Failed to commit 1 committables after 10 retries", "job FAILED"]);
        let patient = demo(&["outage-back-off", "--seed", seed]);
        patient.is(0, &["is tried again", "job FINISHED", "records read=160 re-read=0"]);
        assert_eq!(patient.last_line(), EXACTLY_ONCE, "seed {seed}");
    }
}

/// When the first file of a run appears, in seconds.
fn first_file_at(settings: &[&str]) -> f64 {
    let output = demo(&[&["filesink-default"], settings].concat());
    let line = output.text.lines().find(|line| line.contains("new committed file")).expect("a file appears");
    line["t=".len()..].trim_start().split('s').next().and_then(|time| time.parse().ok()).expect("a time")
}

#[test]
fn a_file_is_a_minute_old_one_check_later_unless_its_first_record_came_with_the_first_one() {
    assert!((120.0..121.0).contains(&first_file_at(&[])), "FACT 91");
    assert!(
        (60.0..60.5).contains(&first_file_at(&["latency=0"])),
        "nothing takes time: the record is there at once"
    );
    let sooner = first_file_at(&["rollover_interval=2000", "bucket_check_interval=3000", "seconds=9"]);
    assert!((3.0..6.5).contains(&sooner), "{sooner}");
    let small = first_file_at(&["part_size=100", "seconds=9", "interval=500"]);
    assert!((1.5..2.6).contains(&small), "17 lines of 6 bytes are over the limit: {small}");
}
