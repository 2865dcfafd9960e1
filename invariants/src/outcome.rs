//! How a run came out, each way of its own kind: none of them is ever taken for another, or for success.

use crate::promise::Promise;
use crate::violation::Violation;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Whose code panicked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PanicPlace {
    /// A role of the protocol: a bug of ours.
    Protocol,
    /// A source, a sink or a user function.
    UserCode,
    /// A checker: a bug of ours.
    Checker,
}

impl fmt::Display for PanicPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Protocol => "the protocol",
            Self::UserCode => "user code",
            Self::Checker => "a checker",
        })
    }
}

/// How a run came out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It came to its end, and every invariant that could be judged held.
    Passed,
    /// An invariant was broken.
    Violated(Violation),
    /// The job ended FAILED.
    JobFailed {
        /// Why.
        cause: String,
    },
    /// A user cancelled the job.
    Cancelled,
    /// Nothing moves, and somebody waits for something that is owed.
    Deadlocked {
        /// Who waits for what, one each.
        waiting: Vec<String>,
    },
    /// The world steps were used up.
    StepLimit {
        /// How many there were.
        world_steps: u64,
    },
    /// The virtual time was used up.
    VirtualTimeout {
        /// Virtual nanoseconds from the start.
        at_ns: u64,
    },
    /// Something panicked.
    Panicked {
        /// Whose code.
        place: PanicPlace,
        /// What it said.
        message: String,
    },
    /// Its host was told to stop before the run had come to an end: neither a success nor a failure of the seed.
    Interrupted {
        /// How many world steps there were.
        world_steps: u64,
    },
}

impl Outcome {
    /// Whether the run is as promised. FAILED and cancelled are fine only where the promise allows them.
    #[must_use]
    pub const fn is_success(&self, promise: &Promise) -> bool {
        match self {
            Self::Passed => true,
            Self::JobFailed { .. } => promise.may_fail,
            Self::Cancelled => promise.may_be_cancelled,
            Self::Violated(_)
            | Self::Deadlocked { .. }
            | Self::StepLimit { .. }
            | Self::VirtualTimeout { .. }
            | Self::Panicked { .. }
            | Self::Interrupted { .. } => false,
        }
    }

    /// The name of its shape, for counts.
    #[must_use]
    pub const fn shape(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Violated(_) => "violated",
            Self::JobFailed { .. } => "job-failed",
            Self::Cancelled => "cancelled",
            Self::Deadlocked { .. } => "deadlocked",
            Self::StepLimit { .. } => "step-limit",
            Self::VirtualTimeout { .. } => "virtual-timeout",
            Self::Panicked { .. } => "panicked",
            Self::Interrupted { .. } => "interrupted",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => formatter.write_str("passed"),
            Self::Violated(violation) => write!(formatter, "violated {violation}"),
            Self::JobFailed { cause } => write!(formatter, "the job failed: {cause}"),
            Self::Cancelled => formatter.write_str("the job was cancelled"),
            Self::Deadlocked { waiting } if waiting.is_empty() => {
                formatter.write_str("deadlocked, and nobody says what it waits for")
            }
            Self::Deadlocked { waiting } => write!(formatter, "deadlocked: {}", waiting.join("; ")),
            Self::StepLimit { world_steps } => {
                write!(formatter, "not at its end after {world_steps} world steps")
            }
            Self::VirtualTimeout { at_ns } => {
                write!(formatter, "not at its end after {at_ns} ns of virtual time")
            }
            Self::Panicked { place, message } => write!(formatter, "{place} panicked: {message}"),
            Self::Interrupted { world_steps } => {
                write!(formatter, "interrupted after {world_steps} world steps, before its end")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;
    use crate::testing::setup;
    use crate::violation::{Moment, Subject};
    use splitrace_runtime::ids::ProcessId;

    fn all() -> Vec<Outcome> {
        let at = Moment { process: ProcessId::Store, sequence: 7, virtual_time_ns: 9 };
        let sentence = "two of a kind".to_owned();
        vec![
            Outcome::Passed,
            Outcome::Violated(Violation::new(Code::C1, Subject::Job, at, sentence)),
            Outcome::JobFailed { cause: "restarts are used up".to_owned() },
            Outcome::Cancelled,
            Outcome::Deadlocked { waiting: vec!["task subtask 0 #0 waits for call 3".to_owned()] },
            Outcome::StepLimit { world_steps: 1000 },
            Outcome::VirtualTimeout { at_ns: 5 },
            Outcome::Panicked { place: PanicPlace::Checker, message: "oh".to_owned() },
            Outcome::Interrupted { world_steps: 1024 },
        ]
    }

    #[test]
    fn only_passed_and_what_the_promise_allows_is_success() {
        let mut promise = setup().promise;
        (promise.may_fail, promise.may_be_cancelled) = (true, true);
        let fine: Vec<_> =
            all().iter().filter(|outcome| outcome.is_success(&promise)).map(Outcome::shape).collect();
        assert_eq!(fine, ["passed", "job-failed", "cancelled"]);
        (promise.may_fail, promise.may_be_cancelled) = (false, false);
        assert_eq!(all().iter().filter(|outcome| outcome.is_success(&promise)).count(), 1);
    }

    #[test]
    fn each_is_one_sentence_and_survives_its_encoding() {
        let sentences: Vec<_> = all().iter().map(Outcome::to_string).collect();
        insta::assert_snapshot!(sentences.join("\n"));
        let bytes = postcard::to_stdvec(&all()).unwrap();
        assert_eq!(postcard::from_bytes::<Vec<Outcome>>(&bytes).unwrap(), all());
    }
}
