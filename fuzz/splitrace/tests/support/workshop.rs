//! A real job in a folder of its own, which tests run, watch, stop and kill.
//!
//! No test waits for a time to pass. A run is killed after a drawn number of changes that anybody can see: the state file
//! is replaced, a file of the output comes, grows, goes or gets its name. The draws are from a seed, and the moments are
//! not, since the clock is real: what they find again is the kind of moment.
#![allow(dead_code, reason = "each test file uses its part")]

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub const MEGABYTE: usize = 1_000_000;

/// A job that reads text lines.
pub struct Workshop {
    folder: tempfile::TempDir,
    draws: ChaCha8Rng,
}

impl Workshop {
    pub fn new(seed: u64, sink: &str) -> Self {
        println!("seed {seed}");
        let workshop = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
            draws: ChaCha8Rng::seed_from_u64(seed),
        };
        let job = format!(
            "state_folder = 'state'\nparallelism = 2\n[source]\nfolder = 'in'\nblock_bytes = 150000\n[sink]\n\
             {sink}\n[checkpointing]\ninterval = '20ms'\n"
        );
        fs::create_dir(workshop.path("in")).expect("it is writable");
        fs::write(workshop.path("job.toml"), job).expect("it is writable");
        workshop
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn draw(&mut self, below: u64) -> u64 {
        self.draws.next_u64() % below
    }

    /// So many bytes of lines in three files: empty ones, long ones, some with a carriage return, some beyond ASCII; the
    /// last file does not end with a line feed.
    pub fn make_text(&mut self, bytes: usize) {
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
    pub fn set(&self, from: &str, to: &str) {
        let job = fs::read_to_string(self.path("job.toml")).expect("it is there");
        assert!(job.contains(from), "no '{from}' in {job}");
        fs::write(self.path("job.toml"), job.replace(from, to)).expect("it is writable");
    }

    /// From here on a run goes on looking for files, so however slow whoever watches it is, it is there to be stopped.
    pub fn has_no_end(&self) {
        self.set("folder = 'in'\n", "folder = 'in'\ndiscover_every = '10ms'\n");
    }

    /// From here on a run ends behind what was found.
    pub fn has_an_end(&self) {
        self.set("discover_every = '10ms'\n", "");
    }

    pub fn run(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_splitrace"));
        command.args(["job", "run"]).arg(self.path("job.toml")).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What can be seen of the job from outside.
    pub fn sight(&self) -> Vec<(PathBuf, u64, u64)> {
        let mut seen = Vec::new();
        for folder in ["state", "out"] {
            walk(&self.path(folder), &mut |path, data| seen.push((path.to_owned(), data.ino(), data.len())));
        }
        seen.sort();
        seen
    }

    /// Waits for so many changes, or for the end of the run; answers whether the run still goes on.
    pub fn watch(&self, child: &mut Child, changes: u64) -> bool {
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
    pub fn killed_life(&mut self, changes_max: u64) -> bool {
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
    pub fn last_life(&self) -> String {
        let output = self.run().output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        said(&output)
    }

    /// A life that is killed once something is visible, which a completed checkpoint covers.
    pub fn killed_once_visible(&self) {
        let mut child = self.run().spawn().expect("the binary starts");
        while !self.is_anything_visible() {
            assert!(self.watch(&mut child, 1), "it ended before anything was visible");
        }
        child.kill().expect("it can be killed");
        assert_eq!(child.wait().expect("it is over").code(), None, "it was killed");
    }

    pub fn is_anything_visible(&self) -> bool {
        let mut is_visible = false;
        walk(&self.path("out"), &mut |path, _| is_visible |= !is_hidden(path));
        is_visible
    }

    /// How often each line is in the files that are not hidden. A carriage return before the end belongs to the end.
    pub fn lines(&self, folder: &str) -> BTreeMap<Vec<u8>, u64> {
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

    /// Each line of the input is there as often as it is in the input.
    pub fn check_each_line_once(&self) {
        self.check(&self.lines("out"));
        walk(&self.path("out"), &mut |path, _| {
            assert!(!is_hidden(path), "{} is left behind", path.display());
        });
    }

    /// Whether this is what must come out.
    pub fn check(&self, found: &BTreeMap<Vec<u8>, u64>) {
        let expected = self.lines("in");
        assert!(expected.len() > 100, "there was something to lose");
        for (line, count) in &expected {
            let there = found.get(line).copied().unwrap_or(0);
            assert_eq!(there, *count, "'{}'", String::from_utf8_lossy(line));
        }
        assert_eq!(found.len(), expected.len(), "nothing else came out");
    }
}

/// Calls for each file below a folder. What goes while it looks was there before and is seen as a change the next time.
pub fn walk(folder: &Path, see: &mut dyn FnMut(&Path, &fs::Metadata)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        match path.metadata() {
            Ok(data) if data.is_dir() => walk(&path, see),
            Ok(data) => see(&path, &data),
            Err(_) => {}
        }
    }
}

pub fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

pub fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

pub fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill starts");
    assert!(sent.success());
}
