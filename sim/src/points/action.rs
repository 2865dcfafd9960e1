//! What breaks at a place.

use super::duration;
use super::point::PointError;
use splitrace_runtime::ids::ProcessId;
use std::fmt;
use std::str::FromStr;

/// What a plan does at a place. Where no target is named, it is the execution that the place's last point is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// A task throws.
    FailTask {
        /// The vertex, by its first operator's uid, and the subtask.
        target: Option<(u16, u32)>,
    },
    /// A task manager's process dies.
    CrashTaskManager {
        /// Which.
        target: Option<u32>,
    },
    /// The job manager's process dies.
    CrashJobManager,
    /// The store dies with all that is merely open in it, and is away for a while.
    CrashStore,
    /// The thread that was about to do the thing, or has just done it, stands still; of an outside system the replies do.
    Pause {
        /// So long, in nanoseconds.
        for_ns: u64,
    },
    /// What the process sends from here on arrives so much later.
    Hold {
        /// So long, in nanoseconds.
        for_ns: u64,
    },
    /// A link lets nothing through, in one direction.
    Cut {
        /// The sender.
        from: ProcessId,
        /// The receiver.
        to: ProcessId,
        /// So long, in nanoseconds.
        for_ns: u64,
    },
    /// The execution goes on for so long after it was told to stop: a zombie.
    Outlive {
        /// So long, in nanoseconds.
        for_ns: u64,
    },
    /// The message is lost once; its sender sends it again.
    Drop,
    /// The message is lost as often as it is sent.
    Lose,
    /// The message arrives twice.
    Double,
    /// The message arrives later, however often it is sent.
    Delay {
        /// So much, in nanoseconds.
        for_ns: u64,
    },
}

impl Action {
    /// Every action as it is written, with what it does.
    pub const FORMS: [(&'static str, &'static str); 12] = [
        ("fail-task [vertex=V] [subtask=N]", "a task throws: the execution concerned, or that one"),
        ("crash-task-manager [N]", "a task manager dies: that of the execution concerned, or that one"),
        ("crash-job-manager", "the job manager dies"),
        ("crash-store", "the store dies with what is merely open in it, and is away for a while"),
        ("pause SPAN", "the thread that is there stands still"),
        ("hold SPAN", "what its process sends from there on arrives so much later"),
        ("cut PROCESS PROCESS SPAN", "nothing gets from the first process to the second"),
        ("outlive SPAN", "the execution concerned goes on for so long after it was told to stop"),
        ("drop", "the message is lost once"),
        ("lose", "the message is lost as often as it is sent"),
        ("double", "the message arrives twice"),
        ("delay SPAN", "the message arrives so much later"),
    ];

    /// Whether it befalls a message.
    #[must_use]
    pub const fn is_of_message(self) -> bool {
        matches!(self, Self::Drop | Self::Lose | Self::Double | Self::Delay { .. })
    }

    /// How long it holds something up, in nanoseconds.
    #[must_use]
    pub const fn holds_up_ns(self) -> u64 {
        match self {
            Self::Pause { for_ns }
            | Self::Hold { for_ns }
            | Self::Cut { for_ns, .. }
            | Self::Outlive { for_ns }
            | Self::Delay { for_ns } => for_ns,
            _ => 0,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = duration::text;
        match *self {
            Self::FailTask { target: None } => formatter.write_str("fail-task"),
            Self::FailTask { target: Some((vertex, subtask)) } => {
                write!(formatter, "fail-task vertex={vertex} subtask={subtask}")
            }
            Self::CrashTaskManager { target: None } => formatter.write_str("crash-task-manager"),
            Self::CrashTaskManager { target: Some(number) } => {
                write!(formatter, "crash-task-manager {number}")
            }
            Self::CrashJobManager => formatter.write_str("crash-job-manager"),
            Self::CrashStore => formatter.write_str("crash-store"),
            Self::Pause { for_ns } => write!(formatter, "pause {}", text(for_ns)),
            Self::Hold { for_ns } => write!(formatter, "hold {}", text(for_ns)),
            Self::Cut { from, to, for_ns } => write!(formatter, "cut {from} {to} {}", text(for_ns)),
            Self::Outlive { for_ns } => write!(formatter, "outlive {}", text(for_ns)),
            Self::Drop => formatter.write_str("drop"),
            Self::Lose => formatter.write_str("lose"),
            Self::Double => formatter.write_str("double"),
            Self::Delay { for_ns } => write!(formatter, "delay {}", text(for_ns)),
        }
    }
}

impl FromStr for Action {
    type Err = PointError;

    fn from_str(text: &str) -> Result<Self, PointError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        Ok(match words[..] {
            ["fail-task"] => Self::FailTask { target: None },
            ["fail-task", ref facts @ ..] => Self::FailTask { target: Some(task(facts)?) },
            ["crash-task-manager"] => Self::CrashTaskManager { target: None },
            ["crash-task-manager", number] => {
                Self::CrashTaskManager { target: Some(whole(number, "a task manager's")?) }
            }
            ["crash-job-manager"] => Self::CrashJobManager,
            ["crash-store"] => Self::CrashStore,
            ["pause", span] => Self::Pause { for_ns: duration::parse(span)? },
            ["hold", span] => Self::Hold { for_ns: duration::parse(span)? },
            ["cut", from, to, span] if from != to => {
                Self::Cut { from: process(from)?, to: process(to)?, for_ns: duration::parse(span)? }
            }
            ["outlive", span] => Self::Outlive { for_ns: duration::parse(span)? },
            ["drop"] => Self::Drop,
            ["lose"] => Self::Lose,
            ["double"] => Self::Double,
            ["delay", span] => Self::Delay { for_ns: duration::parse(span)? },
            _ => {
                let forms = Self::FORMS.map(|(form, _)| form).join("; ");
                return Err(PointError(format!("'{text}' is no action; there are: {forms}")));
            }
        })
    }
}

/// `vertex=V subtask=N`, the vertex 0 where it is not named.
fn task(facts: &[&str]) -> Result<(u16, u32), PointError> {
    let (mut vertex, mut subtask) = (0, None);
    for fact in facts {
        match fact.split_once('=') {
            Some(("vertex", number)) => vertex = whole(number, "a vertex's")?,
            Some(("subtask", number)) => subtask = Some(whole(number, "a subtask's")?),
            _ => return Err(PointError(format!("'{fact}' names no task: write vertex=V subtask=N"))),
        }
    }
    let subtask = subtask.ok_or_else(|| PointError("a task is named with its subtask=N".to_owned()))?;
    Ok((vertex, subtask))
}

fn whole<N: FromStr>(text: &str, whose: &str) -> Result<N, PointError> {
    text.parse().map_err(|_| PointError(format!("'{text}' is not {whose} number")))
}

fn process(name: &str) -> Result<ProcessId, PointError> {
    match name {
        "job-manager" => Ok(ProcessId::JobManager),
        "high-availability" => Ok(ProcessId::HighAvailability),
        "store" => Ok(ProcessId::Store),
        _ => name.strip_prefix("task-manager-").and_then(|number| number.parse().ok()).map_or_else(
            || {
                let known = "job-manager, task-manager-N, high-availability, store";
                Err(PointError(format!("there is no process '{name}', but {known}")))
            },
            |number| Ok(ProcessId::TaskManager(number)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_read_as_they_are_written() {
        for text in [
            "fail-task",
            "fail-task vertex=1 subtask=2",
            "crash-task-manager",
            "crash-task-manager 1",
            "crash-job-manager",
            "crash-store",
            "pause 20ms",
            "hold 1s",
            "cut job-manager task-manager-0 500ms",
            "outlive 300ms",
            "drop",
            "lose",
            "double",
            "delay 7us",
        ] {
            assert_eq!(text.parse::<Action>().map(|action| action.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn a_wrong_action_is_told_with_what_would_be_right() {
        for (text, part) in [
            ("", "there are: fail-task"),
            ("fail-task subtask", "names no task"),
            ("fail-task vertex=1", "with its subtask=N"),
            ("crash-task-manager x", "not a task manager's number"),
            ("pause 5", "no span of time"),
            ("cut store store 5ms", "is no action"),
            ("cut store moon 5ms", "there is no process 'moon'"),
            ("drop it", "is no action"),
        ] {
            let error = text.parse::<Action>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
