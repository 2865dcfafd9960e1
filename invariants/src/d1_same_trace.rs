//! D1: the same scenario and choices give the same trace, byte for byte.
//!
//! It compares two runs, so it is no [`Checker`](crate::Checker): a run carries a [`TraceHash`], two hashes are compared,
//! and when they differ [`compare`] finds the first event that does.

use crate::code::Code;
use crate::event_hasher::WordHash;
use crate::violation::{Subject, Violation};
use serde::Serialize;
use splitrace_runtime::event::{Event, Header};
use splitrace_runtime::ids::{ActorId, ExecutionAttemptId, ProcessId};
use std::fmt;

/// A running hash of a trace: each event's canonical encoding (see `event_hasher`), chained with the hash of all before
/// it, and its number.
///
/// The encoding is the same on every machine and in every build. No event is copied for it.
#[derive(Clone, Debug, Default)]
pub struct TraceHash {
    value: u64,
    events: u64,
}

impl TraceHash {
    /// The hash of the empty trace.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next event.
    ///
    /// # Panics
    /// When an event cannot be encoded: the schema holds only plain data, so that is a bug.
    pub fn observe(&mut self, event: &Event) {
        let mut hash = WordHash::new(self.value);
        self.events += 1;
        header(&event.header, self.events, &mut hash);
        event.kind.serialize(&mut hash).expect("an event is plain data and encodes");
        self.value = hash.value();
    }

    /// The hash so far.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// How many events it took.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }
}

/// The header of the event of this number. Every event has one, so it goes in by hand, small fields together in one word;
/// each of them has bits of its own. A new field does not compile until it stands here.
fn header(header: &Header, number: u64, hash: &mut WordHash) {
    let Header {
        schema_version,
        job,
        lineage,
        leader_epoch,
        process,
        sequence,
        ref causes,
        actor,
        virtual_time_ns,
        local_time_ns,
    } = *header;
    let count = causes.len() as u64;
    debug_assert!(
        count < 1 << 16 && number < 1 << 48,
        "{count} causes of event {number} overlap in their word"
    );
    hash.word(number << 16 | count);
    hash.word(u64::from(schema_version) << 32 | u64::from(leader_epoch.0));
    hash.word(u64::from(job.0) << 32 | u64::from(lineage.0));
    let (kind, vertex, place) = actor_place(actor);
    hash.word(process_place(process) << 24 | kind << 16 | vertex);
    hash.word(place);
    if let ActorId::Fetcher { fetcher, .. } = actor {
        hash.word(u64::from(fetcher.0));
    }
    hash.word(sequence);
    hash.word(virtual_time_ns);
    hash.word(local_time_ns);
    for cause in causes {
        hash.word(process_place(cause.process));
        hash.word(cause.sequence);
    }
}

/// A process in 34 bits.
const fn process_place(process: ProcessId) -> u64 {
    match process {
        ProcessId::JobManager => 0,
        ProcessId::TaskManager(index) => 1 << 32 | index as u64,
        ProcessId::HighAvailability => 2 << 32,
        ProcessId::Store => 3 << 32,
    }
}

/// An actor as its kind, the operator or vertex in 16 bits, and its place among others of the kind.
const fn actor_place(actor: ActorId) -> (u64, u64, u64) {
    match actor {
        ActorId::MainThread => (0, 0, 0),
        ActorId::SourceCoordinator(operator) => (1, operator.0 as u64, 0),
        ActorId::TaskManager(index) => (2, 0, index as u64),
        ActorId::Task(ExecutionAttemptId { vertex, subtask, attempt }) => {
            (3, vertex.0 as u64, (subtask.0 as u64) << 32 | attempt.0 as u64)
        }
        ActorId::HighAvailability => (4, 0, 0),
        ActorId::Store => (5, 0, 0),
        ActorId::World => (6, 0, 0),
        ActorId::CoordinatorWorker(operator) => (8, operator.0 as u64, 0),
        // Its number goes in beside this.
        ActorId::Fetcher { task, .. } => {
            let (_, vertex, place) = actor_place(ActorId::Task(task));
            (7, vertex, place)
        }
    }
}

/// The first place where two traces differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// The index of the first event that differs.
    pub index: u64,
    /// The left trace's event there, if it has one.
    pub left: Option<Event>,
    /// The right trace's event there, if it has one.
    pub right: Option<Event>,
}

impl Divergence {
    /// As a violation of D1.
    ///
    /// # Panics
    /// When neither trace has an event there: then nothing diverged.
    #[must_use]
    pub fn violation(&self) -> Violation {
        let event = self.left.as_ref().or(self.right.as_ref()).expect("one of the traces goes on there");
        Violation::new(Code::D1, Subject::TraceIndex(self.index), &event.header, self.to_string())
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |event: &Option<Event>| {
            event.as_ref().map_or("the end".to_owned(), |event| {
                format!(
                    "{} of {} at {} ns",
                    event.kind.name(),
                    event.header.actor,
                    event.header.virtual_time_ns
                )
            })
        };
        let (left, right) = (side(&self.left), side(&self.right));
        write!(formatter, "the traces part at event {}: {left} against {right}", self.index)
    }
}

/// The first event at which two traces differ, if any.
#[must_use]
pub fn compare(left: &[Event], right: &[Event]) -> Option<Divergence> {
    let common = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    if common == left.len() && common == right.len() {
        return None;
    }
    let (left, right) = (left.get(common).cloned(), right.get(common).cloned());
    Some(Divergence { index: common as u64, left, right })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{History, attempt, contents};
    use splitrace_runtime::event::{Cause, EventKind};
    use splitrace_runtime::ids::*;

    fn trace() -> Vec<Event> {
        let mut history = History::new();
        for number in 0..5 {
            history.task(0, attempt(0, number), EventKind::EndOfInput);
        }
        history.events().to_vec()
    }

    fn hash(events: &[Event]) -> u64 {
        let mut hash = TraceHash::new();
        events.iter().for_each(|event| hash.observe(event));
        hash.value()
    }

    #[test]
    fn equal_traces_hash_equal_and_the_first_difference_is_named() {
        let (left, mut right) = (trace(), trace());
        assert_eq!((hash(&left), compare(&left, &right)), (hash(&right), None));
        right[3].header.local_time_ns += 1;
        let divergence = compare(&left, &right).unwrap();
        assert_eq!(divergence.index, 3);
        assert_ne!(hash(&left), hash(&right));
        assert_eq!(divergence.violation().code, Code::D1);
    }

    #[test]
    fn every_field_of_a_header_counts() {
        let event = trace().remove(0);
        let task = |vertex, subtask, number| {
            ActorId::Task(ExecutionAttemptId {
                vertex: OperatorUid(vertex),
                subtask: SubtaskIndex(subtask),
                attempt: AttemptNumber(number),
            })
        };
        let cause = |process, sequence| Cause { process, sequence };
        let changes: Vec<fn(&mut Header)> = vec![
            |header| header.schema_version += 1,
            |header| header.job.0 += 1,
            |header| header.lineage.0 += 1,
            |header| header.leader_epoch.0 += 1,
            |header| header.sequence += 1,
            |header| header.virtual_time_ns += 1,
            |header| header.local_time_ns += 1,
        ];
        let mut headers = vec![event.header.clone()];
        headers.extend(changes.into_iter().map(|change| {
            let mut header = event.header.clone();
            change(&mut header);
            header
        }));
        let task_manager = ProcessId::TaskManager;
        for process in [ProcessId::JobManager, ProcessId::HighAvailability, ProcessId::Store, task_manager(1)]
        {
            headers.push(Header { process, ..event.header.clone() });
            headers.push(Header { causes: vec![cause(process, 1)], ..event.header.clone() });
            headers.push(Header { causes: vec![cause(process, 2)], ..event.header.clone() });
        }
        let actors = [task(1, 0, 0), task(0, 1, 0), task(0, 0, 1), ActorId::MainThread, ActorId::World];
        let places = [ActorId::SourceCoordinator(OperatorUid(0)), ActorId::SourceCoordinator(OperatorUid(1))];
        let others =
            [ActorId::TaskManager(0), ActorId::TaskManager(1), ActorId::HighAvailability, ActorId::Store];
        let actors = actors.into_iter().chain(places).chain(others);
        headers.extend(actors.map(|actor| Header { actor, ..event.header.clone() }));
        let hashes = headers.iter().map(|header| {
            let (header, kind) = (header.clone(), event.kind.clone());
            hash(&[Event { header, kind }])
        });
        let distinct: std::collections::BTreeSet<u64> = hashes.collect();
        let equal = headers.iter().filter(|header| **header == event.header).count() - 1;
        assert_eq!(distinct.len(), headers.len() - equal);
    }

    #[test]
    fn a_trace_that_goes_on_differs() {
        let trace = trace();
        let divergence = compare(&trace[..4], &trace).unwrap();
        assert_eq!((divergence.index, divergence.left.is_none()), (4, true));
        assert_ne!(hash(&trace[..4]), hash(&trace));
        assert_eq!(
            divergence.to_string(),
            "the traces part at event 4: the end against EndOfInput of task subtask 0 #4 at 4 ns"
        );
    }

    #[test]
    fn the_order_counts_and_a_large_event_finds_room() {
        let mut swapped = trace();
        swapped.swap(0, 1);
        assert_ne!(hash(&trace()), hash(&swapped));
        let mut history = History::new();
        let readers: Vec<_> = (0..2000).map(|index| (0, index, 1_000_000, 2_000_000)).collect();
        history.completed(1, contents(&[], &readers, &[]));
        let mut twice = TraceHash::new();
        twice.observe(&history.events()[0]);
        assert_eq!(twice.value(), hash(history.events()));
        assert_eq!(twice.events(), 1);
    }
}
