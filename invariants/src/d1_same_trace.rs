//! D1: the same scenario and choices give the same trace, byte for byte.
//!
//! It compares two runs, so it is no [`Checker`](crate::Checker): a run carries a [`TraceHash`], two hashes are compared,
//! and when they differ [`compare`] finds the first event that does.

use crate::code::Code;
use crate::event_hasher::WordHash;
use crate::violation::{Subject, Violation};
use serde::Serialize;
use splitrace_runtime::event::Event;
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
        hash.word(self.events);
        event.serialize(&mut hash).expect("an event is plain data and encodes");
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
    use splitrace_runtime::event::EventKind;

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
