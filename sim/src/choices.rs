//! All nondeterminism is a choice: one labelled call on a [`Choices`] source.
//!
//! A label says what is decided (its kind), about whom (its subject) and for the how-manieth time (its visit, counted by
//! the source). It is neither a string nor a position in one long stream: every (kind, subject) has a stream of its own,
//! so a new choice in one place moves no other, and a schedule can be written down as the few choices that differ from
//! the default. Value 0 is always the benign default: no fault, no delay, oldest first. When recorded choices or bytes
//! end, everything is 0.
//!
//! What was refused: one shared generator (a new draw anywhere changes every later run), and labels made of file and line
//! (a blank line changes them).

mod bytes;
mod recorded;
mod seed;

pub use bytes::ByteChoices;
pub use recorded::{RecordedChoice, RecordedChoices, Recorder, Replayer};
pub use seed::SeedChoices;

use serde::{Deserialize, Serialize};
use splitrace_runtime::event::{FaultKind, Window};
use splitrace_runtime::ids::{ActorId, ProcessId};

/// What is decided.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChoiceKind {
    /// How long a frame takes beyond the least latency.
    Latency,
    /// What befalls a frame.
    FrameFault,
    /// How long a delay spike lasts.
    SpikeLength,
    /// How long a thread waits before a turn.
    ThreadDelay,
    /// How many records a turn may hand on.
    BatchSize,
    /// When a planned fault comes.
    FaultTime,
    /// Whom a fault hits.
    FaultTarget,
    /// Whether a crash waits for a step to cut, and how.
    CrashInStep,
    /// After how many outputs a step is cut.
    CutAt,
    /// How long a process stays down.
    DownTime,
    /// How long a partition lasts, and whether it holds frames back or loses them.
    PartitionLength,
    /// What befalls the protocol when a window opens.
    WindowFault,
    /// How long a delay inside a window lasts.
    WindowDelay,
    /// Whether and when a second fault comes into a recovery.
    SecondFault,
    /// What befalls a call to an outside system.
    OutsideFault,
    /// How long an outside system takes.
    OutsideDelay,
    /// Whether a stopped execution goes on as a zombie, and for how long.
    ZombieTime,
    /// Whether and how long a leader's last words are held up.
    LastWords,
    /// The clock of a process.
    ClockSkew,
    /// A property of a drawn scenario; the subject numbers it.
    Scenario,
    /// Which enabled step comes next, for policies other than the latency queue.
    Schedule,
    /// Whether a lost frame begins a burst in which its link loses everything, and how long.
    LossBurst,
    /// Whether another writer of a table commits just before a commit.
    ForeignCommit,
    /// Whether a link is slow, and how slow.
    SlowLink,
    /// How long all threads of a process stand still.
    StopLength,
    /// Whether a stopped execution takes long to go, and how long.
    SlowClose,
}

/// About whom it is decided.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The world as a whole.
    World,
    /// A process.
    Process(ProcessId),
    /// A directed link.
    Link(ProcessId, ProcessId),
    /// An actor.
    Actor(ActorId),
    /// A window of the protocol.
    Window(Window),
    /// The faults of one kind.
    Fault(FaultKind),
    /// A numbered thing.
    Number(u32),
}

/// Names a choice up to its visit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Label {
    /// What is decided.
    pub kind: ChoiceKind,
    /// About whom.
    pub subject: Subject,
}

impl Label {
    /// A label.
    #[must_use]
    pub const fn new(kind: ChoiceKind, subject: Subject) -> Self {
        Self { kind, subject }
    }

    /// The label as one number, different for different labels: kind, shape of the subject, then its parts. `None` for
    /// the few with a number too large for that. For look-ups only; the numbers may change from build to build.
    #[must_use]
    pub(crate) const fn packed(self) -> Option<u64> {
        let (shape, parts) = match self.subject {
            Subject::World => (0, 0),
            Subject::Process(process) => (1, process_number(process)),
            Subject::Link(from, to) => {
                let (from, to) = (process_number(from), process_number(to));
                if from >> LINK_END_BITS != 0 || to >> LINK_END_BITS != 0 {
                    return None;
                }
                (2, from << LINK_END_BITS | to)
            }
            Subject::Actor(actor) => match actor_number(actor) {
                Some(number) => (3, number),
                None => return None,
            },
            Subject::Window(window) => (4, window as u64),
            Subject::Fault(fault) => (5, fault as u64),
            Subject::Number(number) => (6, number as u64),
        };
        debug_assert!(parts >> PARTS_BITS == 0, "the parts leave room for the shape and the kind");
        Some((self.kind as u64) << (PARTS_BITS + 3) | shape << PARTS_BITS | parts)
    }
}

/// So many bits of a packed label are for the parts of the subject.
const PARTS_BITS: u32 = 56;
/// So many are for one end of a link.
const LINK_END_BITS: u32 = 28;

/// Below 2^33.
const fn process_number(process: ProcessId) -> u64 {
    match process {
        ProcessId::JobManager => 0,
        ProcessId::HighAvailability => 1,
        ProcessId::Store => 2,
        ProcessId::TaskManager(index) => 3 + index as u64,
    }
}

/// Below 2^56.
const fn actor_number(actor: ActorId) -> Option<u64> {
    Some(match actor {
        ActorId::MainThread => 0,
        ActorId::HighAvailability => 1,
        ActorId::Store => 2,
        ActorId::World => 3,
        ActorId::SourceCoordinator(operator) => 1 << 54 | operator.0 as u64,
        ActorId::CoordinatorWorker(operator) => 1 << 54 | 1 << 16 | operator.0 as u64,
        ActorId::TaskManager(index) => 2 << 54 | index as u64,
        ActorId::Task(attempt) => {
            let (subtask, number) = (attempt.subtask.0 as u64, attempt.attempt.0 as u64);
            if subtask >> 20 != 0 || number >> 18 != 0 {
                return None;
            }
            3 << 54 | (attempt.vertex.0 as u64) << 38 | subtask << 18 | number
        }
        ActorId::Fetcher { task, fetcher } => {
            let (vertex, subtask) = (task.vertex.0 as u64, task.subtask.0 as u64);
            let (number, fetcher) = (task.attempt.0 as u64, fetcher.0 as u64);
            if vertex >> 12 != 0 || subtask >> 12 != 0 || number >> 14 != 0 || fetcher >> 14 != 0 {
                return None;
            }
            1 << 53 | vertex << 40 | subtask << 28 | number << 14 | fetcher
        }
    })
}

/// The values a choice may take and how likely a seed makes them. Only integers: no float decides anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Draw {
    /// `0..count`, all equally likely. `count` is at least 1.
    Below(u64),
    /// 0, but with odds `numerator / denominator` one of `1..=max`, equally likely.
    Odds {
        /// The numerator; 0 means always 0.
        numerator: u32,
        /// The denominator, at least 1.
        denominator: u32,
        /// The largest value, at least 1.
        max: u64,
    },
}

impl Draw {
    /// Maps a raw word of a seed's stream to a value. Our own mapping, so that no library update changes a seed.
    #[must_use]
    pub fn value(self, raw: u64) -> u64 {
        match self {
            Self::Below(count) => {
                debug_assert!(count >= 1, "a choice has at least one alternative");
                scale(raw, count)
            }
            Self::Odds { numerator, denominator, max } => {
                debug_assert!(denominator >= 1 && max >= 1, "odds have a denominator and an alternative");
                // The high half decides whether, the low half which.
                let hit = scale(raw & !0xffff_ffff, u64::from(denominator)) < u64::from(numerator);
                if hit { 1 + scale(raw << 32, max) } else { 0 }
            }
        }
    }

    /// The largest value it allows.
    #[must_use]
    pub const fn max(self) -> u64 {
        match self {
            Self::Below(count) => count - 1,
            Self::Odds { numerator: 0, .. } => 0,
            Self::Odds { max, .. } => max,
        }
    }

    /// A value from elsewhere (a recording, bytes), made legal.
    #[must_use]
    pub const fn clamp(self, value: u64) -> u64 {
        if value <= self.max() { value } else { value % (self.max() + 1) }
    }
}

/// `raw / 2^64 * count`, rounded down.
fn scale(raw: u64, count: u64) -> u64 {
    ((u128::from(raw) * u128::from(count)) >> 64) as u64
}

/// Where choices come from: a seed, a recording, bytes, a search.
pub trait Choices {
    /// Decides. The answer lies in `0..=draw.max()`.
    fn choose(&mut self, label: Label, draw: Draw) -> u64;
}

impl<C: Choices + ?Sized> Choices for &mut C {
    fn choose(&mut self, label: Label, draw: Draw) -> u64 {
        (**self).choose(label, draw)
    }
}

/// Every choice is the benign default.
#[derive(Clone, Copy, Debug, Default)]
pub struct BenignChoices;

impl Choices for BenignChoices {
    fn choose(&mut self, _label: Label, _draw: Draw) -> u64 {
        0
    }
}

/// Every choice is the one farthest from the benign default: where it says what is lost, everything is.
#[derive(Clone, Copy, Debug, Default)]
pub struct HarshestChoices;

impl Choices for HarshestChoices {
    fn choose(&mut self, _label: Label, draw: Draw) -> u64 {
        match draw {
            Draw::Below(count) => count - 1,
            Draw::Odds { numerator: 0, .. } => 0,
            Draw::Odds { max, .. } => max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odds_hit_as_often_as_they_say_and_reach_every_value() {
        let draw = Draw::Odds { numerator: 1, denominator: 4, max: 3 };
        let mut counts = [0u32; 4];
        let label = Label::new(ChoiceKind::Latency, Subject::World);
        let mut seed = SeedChoices::new(7);
        for _ in 0..40_000 {
            counts[seed.choose(label, draw) as usize] += 1;
        }
        assert!((29_000..31_000).contains(&counts[0]), "{counts:?}");
        assert!(counts[1..].iter().all(|count| (3_000..3_700).contains(count)), "{counts:?}");
    }

    #[test]
    fn different_labels_pack_to_different_numbers() {
        use splitrace_runtime::ids::*;
        use std::collections::BTreeSet;
        let processes = [ProcessId::JobManager, ProcessId::HighAvailability, ProcessId::Store]
            .into_iter()
            .chain([ProcessId::TaskManager(0), ProcessId::TaskManager(1), ProcessId::TaskManager(u32::MAX)]);
        let numbers = [0, 1, u32::MAX];
        let mut actors = vec![ActorId::MainThread, ActorId::HighAvailability, ActorId::Store, ActorId::World];
        for number in numbers {
            actors.extend([
                ActorId::SourceCoordinator(OperatorUid(number as u16)),
                ActorId::CoordinatorWorker(OperatorUid(number as u16)),
                ActorId::TaskManager(number),
            ]);
            for (vertex, subtask, attempt) in [(number as u16, 0, 0), (0, number, 0), (0, 0, number)] {
                let task = ExecutionAttemptId {
                    vertex: OperatorUid(vertex),
                    subtask: SubtaskIndex(subtask),
                    attempt: AttemptNumber(attempt),
                };
                actors.push(ActorId::Task(task));
                actors
                    .extend([0, 1].map(|fetcher| ActorId::Fetcher { task, fetcher: FetcherNumber(fetcher) }));
            }
        }
        let mut subjects = vec![Subject::World];
        for from in processes.clone() {
            subjects.push(Subject::Process(from));
            subjects.extend(processes.clone().map(|to| Subject::Link(from, to)));
        }
        subjects.extend(actors.into_iter().map(Subject::Actor));
        subjects.extend([Window::MarkToClose, Window::SplitEndToFinish].map(Subject::Window));
        subjects.extend([FaultKind::TaskFailure, FaultKind::ThreadPause].map(Subject::Fault));
        subjects.extend(numbers.map(Subject::Number));
        let kinds = [ChoiceKind::Latency, ChoiceKind::FrameFault, ChoiceKind::Schedule];
        let labels: BTreeSet<Label> = kinds
            .iter()
            .flat_map(|kind| subjects.iter().map(|subject| Label::new(*kind, *subject)))
            .collect();
        let packed: Vec<u64> = labels.iter().filter_map(|label| label.packed()).collect();
        assert_eq!(packed.iter().collect::<BTreeSet<_>>().len(), packed.len());
        assert!(packed.len() * 3 > labels.len() * 2, "only what has a huge number does not pack");
    }

    #[test]
    fn no_odds_is_always_benign_and_values_are_made_legal() {
        let never = Draw::Odds { numerator: 0, denominator: 1, max: 9 };
        assert_eq!(never.value(u64::MAX), 0);
        assert_eq!(never.clamp(5), 0);
        assert_eq!(Draw::Below(4).clamp(9), 1);
        assert_eq!(Draw::Below(1).value(u64::MAX), 0);
    }
}
