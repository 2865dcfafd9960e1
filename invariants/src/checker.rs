//! What a checker is, and what surrounds it: the run's setup and the run's end.

use crate::code::Code;
use crate::kinds::KindSet;
use crate::promise::{Level, Promise};
use crate::violation::{Moment, Violation};
use serde::{Deserialize, Serialize};
use splitrace_runtime::config::JobConfig;
use splitrace_runtime::event::{Event, Header};
use splitrace_runtime::ids::{ActorId, ExecutionAttemptId, Fence};
use splitrace_runtime::message::JobResult;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// What a checker may know before the first event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunSetup {
    /// The job.
    pub config: JobConfig,
    /// What the scenario promises.
    pub promise: Promise,
    /// How long it may take from the completion of a checkpoint until what it covers is visible, in nanoseconds of virtual
    /// time, where nothing is broken: the bound that the sink states.
    pub visible_within_ns: u64,
    /// How long a sink may keep work in its writer's state until a completed checkpoint has handed it to the committer, in
    /// nanoseconds of virtual time: what a rolling policy states. 0 for a sink that hands over everything at each
    /// checkpoint.
    pub handed_over_within_ns: u64,
}

/// Why a run stopped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum RunStop {
    /// Nothing could happen any more, or only timers that lead nowhere.
    Quiescent,
    /// The virtual time was used up.
    VirtualTimeout,
    /// The number of steps was used up: nothing is known of what would have come.
    StepLimit,
    /// Whoever runs it had seen enough.
    Stopped,
}

/// How a run ended, as its host saw it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RunEnd {
    /// The job's result, as the high-availability service stored it.
    pub job_ended: Option<JobResult>,
    /// Why the run stopped.
    pub stop: RunStop,
    /// The last event.
    pub at: Moment,
    /// Virtual time in nanoseconds when its host stopped: at or behind the last event.
    pub now_ns: u64,
}

/// What a checker did.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Judgement {
    /// It judged so many times; 0 says that there was nothing to judge.
    Judged {
        /// How many checkpoints, transactions, events or ends, whatever the invariant speaks of.
        count: u64,
    },
    /// It did not judge, and why.
    NotJudged(String),
}

/// One invariant as a read-only observer of events.
///
/// A checker emits nothing, asks nothing, and reads no clock. It is `Clone` because worlds fork, and its state goes
/// into the world's fingerprint because two worlds whose checkers differ are not the same state. It writes down which
/// kinds of events it reads, so that a run with many checkers costs each event no more than the few that it concerns.
pub trait Checker: Clone + Debug + Hash {
    /// Which invariant.
    const CODE: Code;
    /// The kinds of events that can change its state or its verdict. Any other event leaves both alone.
    const READS: KindSet;

    /// Whether it judges, and how often it did.
    fn docket(&self) -> &Docket;

    /// Takes the next event of a linear extension of sequence and cause that is of a kind in [`Self::READS`], of a run
    /// whose promise covers the invariant. Whoever hands it others wastes time and changes nothing.
    ///
    /// # Errors
    /// The invariant is broken. The checker's state is not meaningful afterwards.
    fn read(&mut self, event: &Event) -> Result<(), Violation>;

    /// Takes the next event of a linear extension of sequence and cause.
    ///
    /// # Errors
    /// The invariant is broken. The checker's state is not meaningful afterwards.
    fn observe(&mut self, event: &Event) -> Result<(), Violation> {
        if self.docket().is_open() && Self::READS.contains(&event.kind) { self.read(event) } else { Ok(()) }
    }

    /// Judges what can only be judged at the end of the run; most have judged all by then.
    ///
    /// # Errors
    /// The invariant is broken.
    fn finish(&mut self, _end: &RunEnd) -> Result<(), Violation> {
        Ok(())
    }

    /// What it did so far.
    fn judgement(&self) -> Judgement {
        self.docket().judgement()
    }

    /// Feeds its whole state into `hasher`.
    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.hash(&mut hasher);
    }
}

/// Whether a checker judges at all, and how often it did.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Docket {
    /// Set when the promise does not cover the invariant.
    silent: Option<&'static str>,
    count: u64,
}

impl Docket {
    /// Looks the invariant up in the promise.
    #[must_use]
    pub fn new(setup: &RunSetup, code: Code) -> Self {
        let silent = match setup.promise.level(code) {
            Level::None(reason) => Some(reason),
            Level::Full | Level::Weaker(_) => None,
        };
        Self { silent, count: 0 }
    }

    /// Whether the checker has to judge.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.silent.is_none()
    }

    /// One more judgement.
    pub const fn judged(&mut self) {
        self.count += 1;
    }

    /// So many more.
    pub const fn judged_times(&mut self, count: u64) {
        self.count += count;
    }

    /// As the checker's answer.
    #[must_use]
    pub fn judgement(&self) -> Judgement {
        match self.silent {
            Some(reason) => Judgement::NotJudged(reason.to_owned()),
            None => Judgement::Judged { count: self.count },
        }
    }
}

/// The execution whose thread emitted an event, and its fence; nothing when no task did.
pub(crate) fn task_of(header: &Header) -> Option<(ExecutionAttemptId, Fence)> {
    match header.actor {
        ActorId::Task(attempt) => {
            Some((attempt, Fence { leader_epoch: header.leader_epoch, attempt: attempt.attempt }))
        }
        _ => None,
    }
}
