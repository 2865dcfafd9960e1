//! What a scenario promises, per invariant: one reviewed table, held by a snapshot of all its cases.
//!
//! A verdict is judged against the promise and printed with it. A run that promises nothing passes nothing.

use crate::code::Code;
use serde::Serialize;
use splitrace_runtime::config::SinkKind;
use std::fmt;

/// What the promise depends on. Planted defects do not weaken it: they are there to break it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize)]
pub struct PromiseInput {
    /// Whether every source ends.
    pub bounded: bool,
    /// Whether checkpoints run.
    pub checkpointing: bool,
    /// Whether anything may fail: a drawn fault, or user code that throws.
    pub failover_possible: bool,
    /// What the sink writes to.
    pub sink: SinkKind,
    /// Whether a last checkpoint comes after tasks have finished. Means nothing without checkpoints.
    pub after_tasks_finish: bool,
    /// Whether the job is submitted again from a checkpoint that is not the latest: a lineage of its own.
    pub restores_older: bool,
}

/// How far an invariant is promised.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// As its sentence says.
    Full,
    /// Less than that, and how much less.
    Weaker(&'static str),
    /// Not at all, and why.
    None(&'static str),
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => formatter.write_str("full"),
            Self::Weaker(how) => write!(formatter, "weaker: {how}"),
            Self::None(reason) => write!(formatter, "none: {reason}"),
        }
    }
}

/// What a scenario promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize)]
pub struct Promise {
    /// What it follows from.
    pub input: PromiseInput,
    /// Whether the job may end FAILED: only where something may use up its restarts, or make a commit impossible.
    pub may_fail: bool,
    /// Whether the job may be cancelled. Nobody cancels a job unless the scenario says so.
    pub may_be_cancelled: bool,
}

const NO_CHECKPOINT: &str = "no checkpoint is ever taken";
const NO_CHECKPOINT_FAILOVER: &str =
    "without checkpoints a restarted subtask reads and numbers from the start";
const UNBOUNDED: &str = "an unbounded job has no end";
const NEW_LINEAGE: &str = "what only checkpoints after the restored one made visible may come once more";
const NAMES_TAKEN: &str =
    "names that later checkpoints used come again (FACT 88), and an append under a taken name does nothing";
const LATE_ZOMBIE: &str = "without a fence, what a zombie prepares once its successor has looked through the leftovers stays in doubt";
const LATE_BEGINNING: &str =
    "what a zombie begins once its successor has looked through the leftovers stays open until its time-out";
const EXPIRED: &str = "what is open for longer than its time-out the log itself aborts, whoever holds it; a commit that comes later is refused and \
                       fails the job for good";
const ORPHANS: &str = "a data file that no snapshot names is the table's own maintenance to remove";
const TAIL: &str = "what no periodic checkpoint covered stays uncommitted at the end (FACT 97)";

impl Promise {
    /// The promise that follows from `input`.
    #[must_use]
    pub const fn new(input: PromiseInput) -> Self {
        Self { input, may_fail: input.failover_possible, may_be_cancelled: false }
    }

    /// How far `code` is promised.
    #[must_use]
    pub const fn level(&self, code: Code) -> Level {
        let input = &self.input;
        let starts_over = !input.checkpointing && input.failover_possible;
        match code {
            Code::R1 | Code::C2 | Code::C5
                if input.restores_older && matches!(input.sink, SinkKind::Append) =>
            {
                Level::None(NAMES_TAKEN)
            }
            Code::K2 if input.restores_older => {
                Level::Weaker("names that only later checkpoints used come again")
            }
            Code::C1 if input.restores_older => Level::Weaker(NEW_LINEAGE),
            Code::S1 if input.checkpointing => Level::Full,
            Code::S1 => Level::Weaker("no checkpoint to count in: at most one current attempt reads a split"),
            Code::R1 | Code::S2 | Code::K1 if !input.checkpointing => Level::None(NO_CHECKPOINT),
            Code::R1 if input.bounded && !input.after_tasks_finish => Level::None(TAIL),
            Code::K1 if input.bounded && !input.after_tasks_finish => {
                Level::None("none is triggered any more once a task has finished (FACT 97)")
            }
            Code::S3 => match input.sink {
                SinkKind::Transactional
                | SinkKind::Files(_)
                | SinkKind::PreparedTable
                | SinkKind::SnapshotTable => Level::Full,
                SinkKind::Log(log) if log.may_expire() => Level::Weaker(EXPIRED),
                SinkKind::Log(_) => Level::Full,
                SinkKind::Append => Level::Weaker("an append carries no fence: events and assignments only"),
            },
            Code::S4 if !input.bounded => Level::None(UNBOUNDED),
            Code::S5 if starts_over => {
                Level::Weaker("within one attempt: a restarted subtask reads from the start")
            }
            Code::S5 if input.restores_older => {
                Level::Weaker("within one attempt: what later checkpoints made visible is read again")
            }
            Code::S5 if matches!(input.sink, SinkKind::Files(_)) => Level::Weaker(
                "within one attempt: files that one checkpoint holds become visible in any order",
            ),
            Code::K2 | Code::C1 if starts_over => Level::None(NO_CHECKPOINT_FAILOVER),
            Code::C2 if !input.checkpointing && !input.bounded => {
                Level::None("an unbounded job without checkpoints never commits (FACT 98)")
            }
            Code::C2 if starts_over => Level::Weaker("only while no failover happens"),
            Code::C2 if input.checkpointing && input.bounded && !input.after_tasks_finish => {
                Level::Weaker(TAIL)
            }
            Code::C4 if input.checkpointing && input.bounded && !input.after_tasks_finish => {
                Level::None(TAIL)
            }
            Code::C4 if matches!(input.sink, SinkKind::SnapshotTable) => Level::None(ORPHANS),
            Code::C4 if matches!(input.sink, SinkKind::PreparedTable) => Level::Weaker(LATE_ZOMBIE),
            Code::C4 if matches!(input.sink, SinkKind::Log(_)) => Level::Weaker(LATE_BEGINNING),
            Code::C5 if !input.checkpointing => Level::None(NO_CHECKPOINT),
            Code::C5 if input.bounded && !input.after_tasks_finish => Level::Weaker(TAIL),
            Code::R1 | Code::S2 | Code::S4 | Code::S5 | Code::K1 | Code::K2 => Level::Full,
            Code::C1 | Code::C2 | Code::C3 | Code::C4 | Code::C5 | Code::B1 | Code::D1 => Level::Full,
        }
    }

    /// Every invariant with its level.
    pub fn levels(&self) -> impl Iterator<Item = (Code, Level)> + '_ {
        Code::ALL.iter().map(|code| (*code, self.level(*code)))
    }

    /// Whether this is exactly-once without reservation: nothing lost, nothing twice, nothing early.
    #[must_use]
    pub const fn is_exactly_once(&self) -> bool {
        matches!(
            (self.level(Code::C1), self.level(Code::C2), self.level(Code::C3)),
            (Level::Full, Level::Full, Level::Full)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitrace_runtime::config::{FileSinkConfig, LogSinkConfig};
    use std::fmt::Write;

    /// Every combination of what a promise depends on.
    fn inputs() -> Vec<PromiseInput> {
        let mut inputs = Vec::new();
        let sinks = [
            SinkKind::Append,
            SinkKind::Transactional,
            SinkKind::Files(FileSinkConfig::DEFAULT),
            SinkKind::PreparedTable,
            SinkKind::SnapshotTable,
            SinkKind::Log(LogSinkConfig::DEFAULT),
            SinkKind::Log(LogSinkConfig { transaction_timeout_ns: 1_000_000_000, ..LogSinkConfig::DEFAULT }),
        ];
        for (sink, bits) in sinks.into_iter().flat_map(|sink| (0..32u32).map(move |bits| (sink, bits))) {
            let bit = |index: u32| bits >> index & 1 == 1;
            let input = PromiseInput {
                bounded: bit(0),
                checkpointing: bit(1),
                failover_possible: bit(2),
                sink,
                after_tasks_finish: bit(3),
                restores_older: bit(4),
            };
            if input.restores_older && !input.checkpointing {
                continue;
            }
            inputs.push(input);
        }
        inputs
    }

    #[test]
    fn all_promises() {
        let mut table = String::new();
        for input in inputs() {
            let promise = Promise::new(input);
            writeln!(
                table,
                "{} {} {} {} {}{}{}",
                if input.bounded { "bounded" } else { "unbounded" },
                if input.checkpointing { "checkpoints" } else { "no-checkpoints" },
                if input.failover_possible { "failovers" } else { "no-failover" },
                input.sink.name(),
                if input.after_tasks_finish { "final-checkpoint" } else { "no-final-checkpoint" },
                if input.restores_older { " older-checkpoint" } else { "" },
                if matches!(input.sink, SinkKind::Log(log) if log.may_expire()) {
                    " short-time-out"
                } else {
                    ""
                },
            )
            .unwrap();
            for (code, level) in promise.levels() {
                if level != Level::Full {
                    writeln!(table, "    {code} {level}").unwrap();
                }
            }
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn exactly_once_needs_checkpoints_or_an_undisturbed_end() {
        for input in inputs().into_iter().filter(|input| input.after_tasks_finish && input.bounded) {
            let expected = (input.checkpointing || !input.failover_possible) && !input.restores_older;
            assert_eq!(Promise::new(input).is_exactly_once(), expected, "{input:?}");
        }
    }
}
