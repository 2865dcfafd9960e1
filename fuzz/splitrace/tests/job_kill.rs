//! A real job that is killed: whatever the moment, the finished files hold each input line exactly once.
#![cfg(unix)]

#[path = "support/workshop.rs"]
mod workshop;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use workshop::{MEGABYTE, Workshop, interrupt, said};

/// How the sink closes its files.
const ON_CHECKPOINT: &str = "folder = 'out'\npolicy = 'on-checkpoint'";
const BY_AGE: &str = "folder = 'out'\npolicy = 'default'\npart_bytes = 200000\nrollover = '100ms'\nbucket_check = '50ms'\n\
                      buckets = 3";
const IN_OBJECTS: &str = "folder = 'out'\nmedium = 'object-store'";

/// Makes text, kills the job three times, lets it finish, and counts.
fn survive(seed: u64, bytes: usize, sink: &str, changes_max: u64) {
    let mut workshop = Workshop::new(seed, sink);
    workshop.make_text(bytes);
    let kills = (0..3).filter(|_| workshop.killed_life(changes_max)).count();
    assert!(kills > 0, "a job that is never killed proves nothing");
    workshop.last_life();
    workshop.check_each_line_once();
}

#[test]
fn three_kills_lose_and_double_no_line() {
    survive(1, 5 * MEGABYTE, ON_CHECKPOINT, 20);
}

#[test]
fn three_kills_lose_and_double_no_line_when_files_roll_by_age() {
    survive(2, 5 * MEGABYTE, BY_AGE, 40);
}

#[test]
fn three_kills_lose_and_double_no_line_in_an_object_store() {
    survive(10, 5 * MEGABYTE, IN_OBJECTS, 40);
}

#[test]
#[ignore = "minutes: `ci/nightly.sh` runs it"]
fn twenty_jobs_of_fifty_megabytes() {
    for seed in 100..120 {
        let sink = [ON_CHECKPOINT, BY_AGE, IN_OBJECTS][seed as usize % 3];
        survive(seed, 50 * MEGABYTE, sink, 200);
    }
}

/// What the state folder is for, and the proof that a line that came twice would be seen.
#[test]
fn without_its_state_a_killed_job_reads_again() {
    let mut workshop = Workshop::new(3, ON_CHECKPOINT);
    workshop.make_text(MEGABYTE);
    workshop.has_no_end();
    workshop.killed_once_visible();
    workshop.has_an_end();
    fs::remove_dir_all(workshop.path("state")).expect("it is there");
    workshop.last_life();
    let (expected, found) = (workshop.lines("in"), workshop.lines("out"));
    let twice = expected.iter().filter(|(line, count)| found.get(*line).is_some_and(|there| there > *count));
    assert!(twice.count() > 0, "nobody knew any more what had been committed");
}

#[test]
fn ctrl_c_stops_with_a_checkpoint_and_the_same_command_goes_on() {
    let mut workshop = Workshop::new(4, BY_AGE);
    workshop.make_text(5 * MEGABYTE);
    workshop.has_no_end();
    for _ in 0..2 {
        let mut child = workshop.run().spawn().expect("the binary starts");
        assert!(workshop.watch(&mut child, 6), "it has no end");
        interrupt(&child);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(said(&output).starts_with("stopped with a last checkpoint"), "{}", said(&output));
    }
    workshop.has_an_end();
    assert!(workshop.last_life().starts_with("finished: "));
    workshop.check_each_line_once();
}

#[test]
fn a_finished_job_stays_finished() {
    let mut workshop = Workshop::new(5, ON_CHECKPOINT);
    workshop.make_text(MEGABYTE / 10);
    assert!(workshop.last_life().starts_with("finished: "));
    let before = workshop.sight();
    let again = workshop.last_life();
    assert!(again.starts_with("finished before, nothing to do"), "{again}");
    assert_eq!(workshop.sight(), before, "nothing was touched");
    workshop.check_each_line_once();
}

#[test]
fn a_damaged_state_is_told_and_nothing_is_touched() {
    let mut workshop = Workshop::new(6, ON_CHECKPOINT);
    workshop.make_text(MEGABYTE / 10);
    workshop.last_life();
    let path = workshop.path("state/state");
    let mut state = fs::read(&path).expect("it is there");
    *state.last_mut().expect("it is not empty") ^= 1;
    fs::write(&path, state).expect("it is writable");
    let before = workshop.sight();
    let output = workshop.run().output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(2));
    let said = said(&output);
    assert!(said.starts_with("error: '") && said.contains("state/state' is damaged"), "{said}");
    assert_eq!(said.lines().count(), 1, "one sentence: {said}");
    assert_eq!(workshop.sight(), before);
}

/// Frames: a file that ends inside one fails the job, until the rest of it is there.
#[test]
fn a_job_that_fails_says_why_and_goes_on_when_that_is_mended() {
    let workshop = Workshop::new(8, ON_CHECKPOINT);
    workshop.set("folder = 'in'\n", "folder = 'in'\nformat = 'frames'\n");
    let frame = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes(), bytes].concat();
    let frames = [frame(b"first"), frame(b""), frame(b"second")].concat();
    fs::write(workshop.path("in/frames"), &frames[..frames.len() - 2]).expect("it is writable");
    let output = workshop.run().output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let text = said(&output);
    assert!(text.contains("the job failed: ") && text.contains("a task failed: "), "{text}");
    assert!(text.contains("frames ends inside the frame that begins at byte 13"), "{text}");
    fs::write(workshop.path("in/frames"), frames).expect("it is writable");
    workshop.last_life();
    let expected = [&b"first"[..], b"", b"second"].map(|line| (line.to_vec(), 1));
    assert_eq!(workshop.lines("out"), BTreeMap::from(expected));
}

/// Where part files lie is part of the job's state.
#[test]
fn another_medium_is_refused() {
    let mut workshop = Workshop::new(11, IN_OBJECTS);
    workshop.make_text(MEGABYTE);
    workshop.has_no_end();
    workshop.killed_once_visible();
    workshop.has_an_end();
    workshop.set("medium = 'object-store'", "medium = 'file-system'");
    let output = workshop.run().output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("is the state of a job with another sink"), "{}", said(&output));
    workshop.set("medium = 'file-system'", "medium = 'object-store'");
    workshop.last_life();
    workshop.check_each_line_once();
}

#[test]
fn a_wrong_job_file_is_told_with_its_line_before_anything_is_made() {
    let workshop = Workshop::new(9, "folder = 'out'\nrollover = 'soon'");
    for command in ["run", "check"] {
        let mut splitrace = Command::new(env!("CARGO_BIN_EXE_splitrace"));
        let output =
            splitrace.args(["job", command]).arg(workshop.path("job.toml")).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2));
        let text = said(&output);
        assert!(
            text.contains("job.toml' is no valid job: line 8: sink.rollover: a time looks like"),
            "{text}"
        );
    }
    assert_eq!(workshop.sight(), [], "neither state nor output");
}

/// A job without an end finds files that come later; while it runs, no second run of it may.
#[test]
fn a_job_runs_once_at_a_time_and_finds_what_comes_later() {
    let mut workshop = Workshop::new(7, ON_CHECKPOINT);
    workshop.has_no_end();
    let mut child = workshop.run().spawn().expect("the binary starts");
    assert!(workshop.watch(&mut child, 3), "it has no end");
    let second = workshop.run().output().expect("the binary starts");
    assert_eq!(second.status.code(), Some(2));
    assert!(said(&second).starts_with("error: another run of this job is under way"), "{}", said(&second));
    workshop.make_text(MEGABYTE / 10);
    let expected = workshop.lines("in").values().sum::<u64>();
    let is_visible = |workshop: &Workshop| {
        let visible = workshop.lines("out");
        visible.values().sum::<u64>() >= expected
    };
    while !is_visible(&workshop) {
        assert!(workshop.watch(&mut child, 1), "it has no end");
    }
    interrupt(&child);
    let output = child.wait_with_output().expect("it ends");
    assert!(said(&output).starts_with("stopped with a last checkpoint"), "{}", said(&output));
    workshop.check_each_line_once();
}
