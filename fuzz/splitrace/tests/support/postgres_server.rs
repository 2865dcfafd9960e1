//! A PostgreSQL server of one's own: in a folder that goes away with it, on a Unix socket, under a user without rights when
//! the test runs as root, since a server refuses to run as root.

#![allow(dead_code, reason = "each test file uses its part")]

use libtest_mimic::{Arguments, Failed, Trial};
use postgres::{Config, NoTls};
use std::fs::OpenOptions;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// `nobody` and its group, on every Linux.
const NOBODY: u32 = 65_534;
/// A server that takes no connections after so many attempts never will.
const ATTEMPTS_MAX: u32 = 3_000;

/// The folder of the server's programs: the first on the path that holds them all, or the newest that Debian installed.
pub fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut debian: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|versions| versions.flatten().map(|version| version.path().join("bin")).collect())
        .unwrap_or_default();
    debian.sort();
    let holds_all =
        |folder: &PathBuf| ["initdb", "pg_ctl", "postgres"].iter().all(|name| folder.join(name).is_file());
    std::env::split_paths(&path).chain(debian.into_iter().rev()).find(holds_all)
}

/// A test that is given the server's programs.
pub type ServerTest = fn(PathBuf) -> Result<(), Failed>;

/// Runs tests with a server. Where none is found they say so on stderr and are shown as ignored, never as passed; with
/// `SPLITRACE_REQUIRE_POSTGRES` set, as in `.ci/run`, that is a failure. Long ones run only when they are asked for.
pub fn run_tests(tests: &[(&str, ServerTest)], long: &[(&str, ServerTest)]) -> ExitCode {
    let found = programs();
    let required = std::env::var_os("SPLITRACE_REQUIRE_POSTGRES").is_some();
    if found.is_none() && !required {
        eprintln!("NOT RUN: no PostgreSQL server found, so nothing was compared or run with one");
    }
    let trial = |(name, test): &(&str, ServerTest), is_long: bool| {
        let (programs, test) = (found.clone(), *test);
        let run = move || {
            test(programs.ok_or("no PostgreSQL server: neither on the path nor below /usr/lib/postgresql")?)
        };
        Trial::test(*name, run).with_ignored_flag(is_long || (found.is_none() && !required))
    };
    let trials = tests.iter().map(|test| trial(test, false)).chain(long.iter().map(|test| trial(test, true)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// See the module. It is stopped when it is dropped.
pub struct PostgresServer {
    programs: PathBuf,
    folder: TempDir,
    is_root: bool,
    /// The running server; its own child, so that it is gone for good once it was waited for.
    process: Option<Child>,
}

impl PostgresServer {
    /// Makes a server and starts it.
    pub fn start(programs: PathBuf) -> Self {
        let folder =
            tempfile::Builder::new().prefix("splitrace-postgres").tempdir().expect("a folder for the server");
        let is_root = folder.path().metadata().expect("it was just made").uid() == 0;
        if is_root {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("root may give a folder away");
        }
        let mut server = Self { programs, folder, is_root, process: None };
        let mut initdb = server.command("initdb");
        let made = initdb.args(["-U", "splitrace", "--auth=trust"]).status().expect("the program starts");
        assert!(made.success(), "initdb failed: {made}\n{}", server.log());
        server.resume();
        server
    }

    /// How to reach it.
    pub fn config(&self) -> Config {
        let mut config = Config::new();
        config.host_path(self.folder.path()).user("splitrace").dbname("postgres");
        config
    }

    /// How a job file says that.
    pub fn words(&self) -> String {
        format!("host={} user=splitrace dbname=postgres", self.folder.path().display())
    }

    /// Kills the server, for good.
    pub fn kill(&mut self) {
        self.signal_all("-KILL");
    }

    /// Kills the server and every process of it at once, and starts it again: it recovers from its log.
    pub fn kill_and_resume(&mut self) {
        self.signal_all("-KILL");
        self.resume();
    }

    /// Starts the server and waits until it takes connections. One that is started before all processes of its predecessor
    /// are gone gives up by itself, and is started again.
    #[allow(
        clippy::disallowed_methods,
        reason = "a server that somebody else wrote tells nobody when it is ready"
    )]
    pub fn resume(&mut self) {
        for _ in 0..ATTEMPTS_MAX {
            let process = self.process.get_or_insert_with(|| {
                let mut postgres = command_in(&self.programs, &self.folder, self.is_root, "postgres");
                postgres.arg("-k").arg(self.folder.path());
                postgres.args([
                    "-c",
                    "listen_addresses=",
                    "-c",
                    "max_prepared_transactions=64",
                    "-c",
                    "fsync=on",
                ]);
                postgres.spawn().expect("the program starts")
            });
            if process.try_wait().expect("it is a child").is_some() {
                self.process = None;
            } else if self.config().connect(NoTls).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the server takes no connections:\n{}", self.log());
    }

    /// Sends a signal to the server and to all its processes, and waits for the server's end.
    fn signal_all(&mut self, signal: &str) {
        let Some(mut process) = self.process.take() else { return };
        let pid = process.id();
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let all = std::iter::once(pid.to_string()).chain(children.split_whitespace().map(str::to_owned));
        let sent = Command::new("kill").arg(signal).args(all).stderr(Stdio::null()).status();
        assert!(sent.is_ok(), "there is a kill");
        process.wait().expect("it is a child");
    }

    fn command(&self, program: &str) -> Command {
        command_in(&self.programs, &self.folder, self.is_root, program)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

/// A program of the server, about its data, with what it says in the log.
fn command_in(programs: &Path, folder: &TempDir, is_root: bool, program: &str) -> Command {
    let log = OpenOptions::new().create(true).append(true).open(folder.path().join("log")).expect("a log");
    let mut command = Command::new(programs.join(program));
    command.arg("-D").arg(folder.path().join("data")).current_dir(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    if is_root {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.signal_all("-QUIT");
    }
}
