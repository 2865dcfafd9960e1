//! A real job that is killed: whatever the moment, the finished files hold each input line exactly once.
//!
//! No test waits for a time to pass. A run is killed after a drawn number of changes that anybody can see: the state file
//! is replaced, a file of the output comes, grows, goes or gets its name. The draws are from a seed, and the moments are
//! not, since the clock is real: what they find again is the kind of moment.
#![cfg(unix)]

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const MEGABYTE: usize = 1_000_000;

/// A job of text lines in a folder of its own.
struct Workshop {
    folder: tempfile::TempDir,
    draws: ChaCha8Rng,
}

/// How the sink closes its files.
const ON_CHECKPOINT: &str = "policy = 'on-checkpoint'";
const BY_AGE: &str =
    "policy = 'default'\npart_bytes = 200000\nrollover = '100ms'\nbucket_check = '50ms'\nbuckets = 3";

impl Workshop {
    fn new(seed: u64, sink: &str) -> Self {
        println!("seed {seed}");
        let workshop = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
            draws: ChaCha8Rng::seed_from_u64(seed),
        };
        let job = format!(
            "state_folder = 'state'\nparallelism = 2\n[source]\nfolder = 'in'\nblock_bytes = 150000\n[sink]\n\
             folder = 'out'\n{sink}\n[checkpointing]\ninterval = '20ms'\n"
        );
        fs::create_dir(workshop.path("in")).expect("it is writable");
        fs::write(workshop.path("job.toml"), job).expect("it is writable");
        workshop
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.draws.next_u64() % below
    }

    /// So many bytes of lines in three files: empty ones, long ones, some with a carriage return, some beyond ASCII; the
    /// last file does not end with a line feed.
    fn make_text(&mut self, bytes: usize) {
        fs::create_dir_all(self.path("in/deeper")).expect("it is writable");
        let mut number = 0;
        for name in ["in/a.txt", "in/deeper/b.txt", "in/z.txt"] {
            let mut text = String::new();
            while text.len() < bytes / 3 {
                number += 1;
                match self.draw(10) {
                    0 => {}
                    1 => text.push_str(&format!("{number} naïve Grüße, 行 {number} 🦀")),
                    2 => text.push_str(&"long ".repeat(1 + self.draw(400) as usize)),
                    3 => text.push_str(&format!("{number} windows\r")),
                    _ => text.push_str(&format!("{number} {}", "x".repeat(self.draw(80) as usize))),
                }
                text.push('\n');
            }
            if name == "in/z.txt" {
                text.push_str("the end");
            }
            // A file is read as it is when it is first seen: so it comes as a whole.
            fs::write(self.path("unfinished"), text).expect("it is writable");
            fs::rename(self.path("unfinished"), self.path(name)).expect("the same disk");
        }
    }

    /// Changes a line of the job file.
    fn set(&self, from: &str, to: &str) {
        let job = fs::read_to_string(self.path("job.toml")).expect("it is there");
        assert!(job.contains(from), "no '{from}' in {job}");
        fs::write(self.path("job.toml"), job.replace(from, to)).expect("it is writable");
    }

    /// From here on a run goes on looking for files, so however slow whoever watches it is, it is there to be stopped.
    fn has_no_end(&self) {
        self.set("folder = 'in'\n", "folder = 'in'\ndiscover_every = '10ms'\n");
    }

    /// From here on a run ends behind what was found.
    fn has_an_end(&self) {
        self.set("discover_every = '10ms'\n", "");
    }

    fn run(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_splitrace"));
        command.args(["job", "run"]).arg(self.path("job.toml")).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What can be seen of the job from outside.
    fn sight(&self) -> Vec<(PathBuf, u64, u64)> {
        let mut seen = Vec::new();
        for folder in ["state", "out"] {
            walk(&self.path(folder), &mut |path, data| seen.push((path.to_owned(), data.ino(), data.len())));
        }
        seen.sort();
        seen
    }

    /// Waits for so many changes, or for the end of the run; answers whether the run still goes on.
    fn watch(&self, child: &mut Child, changes: u64) -> bool {
        let mut before = self.sight();
        let mut seen = 0;
        while seen < changes {
            if child.try_wait().expect("it is a child").is_some() {
                return false;
            }
            let now = self.sight();
            if now != before {
                seen += 1;
                before = now;
            }
        }
        true
    }

    /// One life that is killed at a drawn moment; answers whether it was.
    fn killed_life(&mut self, changes_max: u64) -> bool {
        let changes = 1 + self.draw(changes_max);
        let mut child = self.run().spawn().expect("the binary starts");
        let was_alive = self.watch(&mut child, changes);
        child.kill().expect("it can be killed, also once it has ended");
        let output = child.wait_with_output().expect("it is over");
        let is_killed = was_alive && output.status.code().is_none();
        println!("after {changes} changes: {}", if is_killed { "killed" } else { "it had ended" });
        assert!(is_killed || output.status.success(), "{}", said(&output));
        is_killed
    }

    /// A life that comes to the job's end.
    fn last_life(&self) -> String {
        let output = self.run().output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        said(&output)
    }

    /// A life that is killed once something is visible, which a completed checkpoint covers.
    fn killed_once_visible(&self) {
        let mut child = self.run().spawn().expect("the binary starts");
        while !self.is_anything_visible() {
            assert!(self.watch(&mut child, 1), "it ended before anything was visible");
        }
        child.kill().expect("it can be killed");
        assert_eq!(child.wait().expect("it is over").code(), None, "it was killed");
    }

    fn is_anything_visible(&self) -> bool {
        let mut is_visible = false;
        walk(&self.path("out"), &mut |path, _| is_visible |= !is_hidden(path));
        is_visible
    }

    /// How often each line is in the files that are not hidden. A carriage return before the end belongs to the end.
    fn lines(&self, folder: &str) -> BTreeMap<Vec<u8>, u64> {
        let mut lines = BTreeMap::new();
        walk(&self.path(folder), &mut |path, _| {
            if is_hidden(path) {
                return;
            }
            let content = fs::read(path).expect("it is readable");
            for line in content.split_inclusive(|byte| *byte == b'\n') {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                *lines.entry(line.to_vec()).or_insert(0) += 1;
            }
        });
        lines
    }

    fn check_each_line_once(&self) {
        let (expected, found) = (self.lines("in"), self.lines("out"));
        assert!(expected.len() > 100, "there was something to lose");
        for (line, count) in &expected {
            let there = found.get(line).copied().unwrap_or(0);
            assert_eq!(there, *count, "'{}'", String::from_utf8_lossy(line));
        }
        assert_eq!(found.len(), expected.len(), "nothing else came out");
        walk(&self.path("out"), &mut |path, _| {
            assert!(!is_hidden(path), "{} is left behind", path.display());
        });
    }
}

/// Calls for each file below a folder. What goes while it looks was there before and is seen as a change the next time.
fn walk(folder: &Path, see: &mut dyn FnMut(&Path, &fs::Metadata)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        match path.metadata() {
            Ok(data) if data.is_dir() => walk(&path, see),
            Ok(data) => see(&path, &data),
            Err(_) => {}
        }
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill starts");
    assert!(sent.success());
}

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
#[ignore = "minutes: `ci/nightly.sh` runs it"]
fn twenty_jobs_of_fifty_megabytes() {
    for seed in 100..120 {
        survive(seed, 50 * MEGABYTE, if seed % 2 == 0 { ON_CHECKPOINT } else { BY_AGE }, 200);
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

#[test]
fn a_wrong_job_file_is_told_with_its_line_before_anything_is_made() {
    let workshop = Workshop::new(9, "rollover = 'soon'");
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
