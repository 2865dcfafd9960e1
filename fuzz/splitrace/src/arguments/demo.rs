//! Arguments of `demo`: the mode, older flags, and settings as `key=value`.
//!
//! Settings are pairs because recorded runs of the real job name theirs so: one can paste a recorded command line. One
//! notation, snake case: `restart_delay=0`.

use super::Switches;
use crate::parse;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use splitrace_runtime::config::FailureMoment;
use splitrace_sim::scenario::{DemoMode, DemoOptions};

/// At which of the five moments of a record's journey user code fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Moment {
    /// The user function has the record; the writer never sees it
    Read,
    /// The writer has taken the record
    Write,
    /// Its transaction is prepared; nothing is snapshotted
    Prepared,
    /// The snapshot that holds it is acknowledged
    Snapshot,
    /// It is visible outside, and the committer does not know yet
    Committing,
}

impl From<Moment> for FailureMoment {
    fn from(moment: Moment) -> Self {
        match moment {
            Moment::Read => Self::Read,
            Moment::Write => Self::Write,
            Moment::Prepared => Self::Prepared,
            Moment::Snapshot => Self::Snapshot,
            Moment::Committing => Self::Committing,
        }
    }
}

/// Arguments of `demo`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  splitrace demo normal
  splitrace demo fail --at committing      fail right after the store has made the record visible
  splitrace demo fail --fail-at 60         fail at another record
  splitrace demo fail-naive; echo $?       1: records are committed twice
  splitrace demo fail-late delay=20 interval=250 restart_delay=0
  splitrace demo fail --defect tracker-returns-nothing

Settings (milliseconds and counts):
  delay=80            between two records of a reader
  interval=1000       between two checkpoints
  restart_delay=1000  between a failure and the restart
  restart_attempts=3  restarts in all
  splits=4 per=40     how many splits, and records in each
  par=2               how many subtasks
  par2=3              how many when the job is submitted again
  push=0              1: the enumerator deals the splits out
  shuffle=0           1: records are dealt out to the writers through an exchange between tasks
  unaligned=0         1: the same, and barriers overtake buffers in it
  committers=0        how many tasks of their own the committers are; 0: each follows its writer
  global=0            1: one global committer stands in their place
  fail_at=80          the record at which the fail modes fail
  commit_fail_how=retry  or update: commit-flaky replaces the committable with each signal
  retries=10          sink.committer.retries, which Flink 2.3.0 ignores
  latency=9           the longest trip through the network; 0: nothing takes time

Settings of endless jobs and of the file sink, whose defaults are par=1 splits=1 delay=100 interval=2000:
  seconds=131                  when the job is cancelled
  rollover_interval=60000      the age at which a file is closed
  bucket_check_interval=60000  between two checks of that
  part_size=134217728          the bytes behind which a file is closed

The last line counts what became visible outside. A record that is read twice but committed once is what
exactly-once means; 'duplicates' and 'missing' are what it forbids.")]
pub struct DemoArguments {
    /// What to show: 4 splits of 40 records, parallelism 2, one record per 80 ms, a checkpoint every second
    #[arg(value_parser = mode())]
    pub mode: DemoMode,
    /// Move the failure to another moment of the record's journey
    #[arg(long, value_enum, value_name = "MOMENT")]
    pub at: Option<Moment>,
    /// Move the failure to another record
    #[arg(long, value_name = "RECORD", value_parser = parse::record, allow_hyphen_values = true)]
    pub fail_at: Option<u64>,
    /// Settings of the job, as listed below
    #[arg(value_name = "KEY=VALUE", value_parser = setting)]
    pub settings: Vec<Setting>,
    /// Shift the timing; the verdict stays
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = parse::seed, allow_hyphen_values = true)]
    pub seed: u64,
    /// What is switched on beside what the mode itself shows
    #[command(flatten)]
    pub switches: Switches,
}

/// One `key=value`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    key: Key,
    value: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Key {
    Delay,
    Interval,
    RestartDelay,
    RestartAttempts,
    Splits,
    Per,
    Par,
    Par2,
    Push,
    Shuffle,
    Unaligned,
    Committers,
    Global,
    FailAt,
    CommitFailHow,
    Retries,
    Latency,
    Seconds,
    RolloverInterval,
    BucketCheckInterval,
    PartSize,
}

/// Each key with its least and most value.
const KEYS: &[(&str, Key, u32, u32)] = &[
    ("delay", Key::Delay, 0, 10_000),
    ("interval", Key::Interval, 1, 10_000),
    ("restart_delay", Key::RestartDelay, 0, 10_000),
    ("restart_attempts", Key::RestartAttempts, 0, 900),
    ("splits", Key::Splits, 0, 100),
    ("per", Key::Per, 0, 1_000),
    ("par", Key::Par, 1, 16),
    ("par2", Key::Par2, 1, 16),
    ("push", Key::Push, 0, 1),
    ("shuffle", Key::Shuffle, 0, 1),
    ("unaligned", Key::Unaligned, 0, 1),
    ("committers", Key::Committers, 0, 16),
    ("global", Key::Global, 0, 1),
    ("fail_at", Key::FailAt, 0, 100_000),
    ("commit_fail_how", Key::CommitFailHow, 0, 1),
    ("retries", Key::Retries, 0, 100),
    ("latency", Key::Latency, 0, 100),
    ("seconds", Key::Seconds, 1, 3_600),
    ("rollover_interval", Key::RolloverInterval, 1, 600_000),
    ("bucket_check_interval", Key::BucketCheckInterval, 1, 600_000),
    ("part_size", Key::PartSize, 1, 1 << 30),
];

impl Setting {
    /// Puts it into the options.
    pub fn apply(self, options: &mut DemoOptions) {
        let number = u64::from(self.value);
        match self.key {
            Key::Delay => options.delay_ms = number,
            Key::Interval => options.interval_ms = number,
            Key::RestartDelay => options.restart_delay_ms = number,
            Key::RestartAttempts => options.restart_attempts = self.value,
            Key::Splits => options.splits = self.value,
            Key::Per => options.records_per_split = number,
            Key::Par => options.parallelism = self.value,
            Key::Par2 => options.second_parallelism = self.value,
            Key::Push => options.push = self.value == 1,
            Key::Shuffle => options.shuffle = self.value == 1,
            Key::Unaligned => options.unaligned = self.value == 1,
            Key::Committers => options.committers = self.value,
            Key::Global => options.global_committer = self.value == 1,
            Key::FailAt => options.fail_at_record = Some(number),
            Key::CommitFailHow => options.commit_updates = self.value == 1,
            Key::Retries => options.commit_retries = self.value,
            Key::Latency => options.latency_ms = number,
            Key::Seconds => options.seconds = number,
            Key::RolloverInterval => options.rollover_interval_ms = number,
            Key::BucketCheckInterval => options.bucket_check_interval_ms = number,
            Key::PartSize => options.part_size_bytes = number,
        }
    }
}

/// Reads a mode, and lists them all with their sentences.
fn mode() -> impl TypedValueParser<Value = DemoMode> {
    let names = DemoMode::ALL.iter().map(|mode| PossibleValue::new(mode.id()).help(mode.sentence()));
    PossibleValuesParser::new(names)
        .map(|id| DemoMode::from_id(&id).expect("the parser lets no other name through"))
}

/// Reads one `key=value`.
fn setting(text: &str) -> Result<Setting, String> {
    let names = || KEYS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!("a setting is key=value; the keys are {}", names()));
    };
    let Some((_, key, least, most)) = KEYS.iter().find(|(known, ..)| *known == name) else {
        return Err(format!("no such key '{name}'; there are {}", names()));
    };
    let value = match (*key, value) {
        (Key::CommitFailHow, "retry") => "0",
        (Key::CommitFailHow, "update") => "1",
        _ => value,
    };
    match value.parse() {
        Ok(value) if (*least..=*most).contains(&value) => Ok(Setting { key: *key, value }),
        _ => Err(format!("'{value}' is no number from {least} to {most}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_refused_by_their_key() {
        let mut options = DemoOptions::default();
        for text in ["delay=20", "restart_delay=0", "par=3", "push=1", "commit_fail_how=update"] {
            setting(text).expect(text).apply(&mut options);
        }
        assert_eq!((options.delay_ms, options.restart_delay_ms), (20, 0));
        assert_eq!((options.parallelism, options.push, options.commit_updates), (3, true, true));
        assert!(setting("restartDelay=0").unwrap_err().contains("restart_delay"));
        assert!(setting("par=0").unwrap_err().contains("from 1 to 16"));
        assert!(setting("par").unwrap_err().contains("key=value"));
    }
}
