//! A run as rows of text, in the manner of the time line that the demo job prints on a real Flink cluster.
//!
//! [`Rows::row`] is a pure function of one event: no memory, so that a row in the middle of a long story
//! means the same as in a short one, and each kind can be tested by itself. Refused: merging a request with
//! its answer over several events, which reads a little better and needs a state machine of its own. Only the
//! source's policy must be known, as 'start -> sendSplitRequest' and 'push' are the same events.

mod job;
mod task;

use crate::timeline::task::{fetcher_row, task_row};
use splitrace_runtime::config::{AssignmentPolicy, JobConfig};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{CheckpointId, OperatorUid, SubtaskIndex};
use splitrace_runtime::message::MAX_WATERMARK_MS;
use splitrace_runtime::records::SplitPosition;
use splitrace_runtime::topology::{JobGraph, JobVertex, OperatorKind};
use std::fmt;

/// Who speaks in a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Label {
    /// The enumerator, on its source coordinator's thread.
    Enumerator,
    /// The source reader.
    Reader,
    /// The user function.
    Map,
    /// The sink's writer.
    Writer,
    /// The sink's committer.
    Commit,
    /// The job master and its checkpoint coordinator.
    JobMaster,
    /// The operator coordinator holder and its subtask gateways.
    Gateway,
    /// The outside store.
    Store,
    /// The world: faults, lives of processes.
    World,
    /// The program that submitted the job.
    Main,
}

impl Label {
    /// At most eight capital letters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enumerator => "ENUM",
            Self::Reader => "READER",
            Self::Map => "MAP",
            Self::Writer => "WRITER",
            Self::Commit => "COMMIT",
            Self::JobMaster => "JOB",
            Self::Gateway => "GATEWAY",
            Self::Store => "STORE",
            Self::World => "WORLD",
            Self::Main => "MAIN",
        }
    }

    /// Whether the demo's own time line has such rows.
    #[must_use]
    pub const fn is_in_demo(self) -> bool {
        !matches!(self, Self::Gateway | Self::Store)
    }
}

/// How much a row matters to a reader who has no room for all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Weight {
    /// One of many that only a close look needs.
    Detail,
    /// A step of the protocol.
    Step,
    /// A turn of the story: faults, failovers, the fate of checkpoints, the end.
    Turn,
}

/// One line of a time line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Virtual time in nanoseconds.
    pub virtual_time_ns: u64,
    /// Who speaks.
    pub label: Label,
    /// The thread, as Flink names it.
    pub thread: String,
    /// What it says.
    pub text: String,
    /// How much it matters.
    pub weight: Weight,
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = self.virtual_time_ns / 10_000_000;
        let seconds = format!("{}.{:02}", hundredths / 100, hundredths % 100);
        let label = self.label.name();
        write!(formatter, "[+{seconds:>5}s] {label:<8} {:<40.40} {}", self.thread, self.text)
    }
}

/// Renders the events of one job.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The sources whose readers ask for splits.
    pulling: Vec<OperatorUid>,
    /// The sources that do not know all their splits from the start.
    discovering: Vec<OperatorUid>,
    threads: ThreadNames,
}

impl Rows {
    /// For the events of a run of this job.
    #[must_use]
    pub fn new(job: &JobConfig) -> Self {
        let pulls = |policy| matches!(policy, AssignmentPolicy::Pull);
        let pulling = job.vertices.iter().filter(|vertex| pulls(vertex.source.policy));
        let threads = ThreadNames::new(job);
        let discovering = job.vertices.iter().filter(|vertex| vertex.source.discovery.is_some());
        Self {
            pulling: pulling.map(|vertex| vertex.operator).collect(),
            discovering: discovering.map(|vertex| vertex.operator).collect(),
            threads,
        }
    }

    /// The row of an event; `None` for those that only checkers read.
    #[must_use]
    pub fn row(&self, event: &Event) -> Option<Row> {
        let line = match &event.header.actor {
            splitrace_runtime::ids::ActorId::Task(attempt) => {
                task_row(&event.kind, *attempt, self.is_pull(attempt.vertex), &self.threads)
            }
            splitrace_runtime::ids::ActorId::SourceCoordinator(operator) => {
                let habit = job::EnumeratorHabit {
                    pulls: self.is_pull(*operator),
                    discovers: self.discovering.contains(operator),
                };
                job::coordinator_row(&event.kind, *operator, habit, &self.threads)
            }
            splitrace_runtime::ids::ActorId::Fetcher { task, fetcher } => {
                fetcher_row(&event.kind, *task, *fetcher, &self.threads)
            }
            _ => job::row(&event.kind, &self.threads),
        }?;
        let virtual_time_ns = event.header.virtual_time_ns;
        let Line { label, thread, text, weight } = line;
        Some(Row { virtual_time_ns, label, thread, text, weight })
    }

    /// A row that the program which submitted the job adds itself.
    #[must_use]
    pub fn main(virtual_time_ns: u64, text: String) -> Row {
        Row { virtual_time_ns, label: Label::Main, thread: "main".to_owned(), text, weight: Weight::Turn }
    }

    fn is_pull(&self, operator: OperatorUid) -> bool {
        self.pulling.contains(&operator)
    }
}

/// A row without its time.
struct Line {
    label: Label,
    thread: String,
    text: String,
    weight: Weight,
}

impl Line {
    fn new(label: Label, thread: String, text: String, weight: Weight) -> Option<Self> {
        Some(Self { label, thread, text, weight })
    }
}

/// The names of tasks' threads: of their chains, cut as Flink's log cuts them.
#[derive(Clone, Debug)]
struct ThreadNames {
    graph: JobGraph,
}

impl ThreadNames {
    fn new(job: &JobConfig) -> Self {
        Self { graph: JobGraph::new(job) }
    }

    /// The operators of a vertex.
    fn operators(&self, vertex: OperatorUid) -> &[OperatorKind] {
        self.found(vertex).map_or(&[], |vertex| &vertex.operators)
    }

    fn of(&self, vertex: OperatorUid) -> String {
        let name = self.found(vertex).map_or_else(|| vertex.to_string(), |vertex| vertex.name.clone());
        name.chars().take(FLINK_LOG_COLUMNS).collect()
    }

    /// Events of another job's log may name what this one does not have.
    fn found(&self, vertex: OperatorUid) -> Option<&JobVertex> {
        self.graph.vertices().iter().find(|held| held.uid == vertex)
    }
}

/// So many characters of a thread's name are in Flink's log.
const FLINK_LOG_COLUMNS: usize = 40;

/// 'subtask 0', with the operator where it is not the first.
fn subtask_name(subtask: SubtaskIndex) -> String {
    format!("subtask {}", subtask.0)
}

/// A watermark, or that there is no limit.
fn watermark(watermark_ms: i64) -> String {
    if watermark_ms == MAX_WATERMARK_MS { "any time".to_owned() } else { format!("{watermark_ms} ms") }
}

/// `[split-0[0,40), split-1[40,80)]`.
fn positions(splits: &[SplitPosition]) -> String {
    let shown: Vec<String> = splits.iter().map(ToString::to_string).collect();
    format!("[{}]", shown.join(", "))
}

/// `5`, or `none` for Flink's empty optional.
fn checkpoint_or_none(checkpoint: Option<CheckpointId>) -> String {
    checkpoint.map_or_else(|| "none".to_owned(), |checkpoint| checkpoint.0.to_string())
}

/// Whether the run broke something here: such rows carry `!!!`.
#[must_use]
pub const fn is_fault(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::FaultInjected { .. } | EventKind::ProcessCrashed { .. } | EventKind::UserFailure { .. }
    )
}

#[cfg(test)]
mod tests;
