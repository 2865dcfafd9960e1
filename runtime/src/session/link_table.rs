//! The links of one direction to one peer, found by stream.
//!
//! Every frame looks a link up, so the search is over packed keys in one run of memory: measured, comparing
//! [`Stream`]s field by field in place took longer than all the rest of a receive.

use crate::ids::ExecutionAttemptId;
use crate::message::Stream;
use std::hash::{Hash, Hasher};

/// Links in the order of their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LinkTable<L> {
    keys: Vec<u128>,
    links: Vec<L>,
}

/// Keys follow from the links, so they are left out.
impl<L: Hash> Hash for LinkTable<L> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.links.hash(state);
    }
}

impl<L> LinkTable<L> {
    pub(super) const fn new() -> Self {
        Self { keys: Vec::new(), links: Vec::new() }
    }

    pub(super) fn get_mut(&mut self, stream: Stream) -> Option<&mut L> {
        let index = self.keys.binary_search(&key(stream)).ok()?;
        Some(&mut self.links[index])
    }

    pub(super) fn get_or_insert_with(&mut self, stream: Stream, make: impl FnOnce() -> L) -> &mut L {
        let key = key(stream);
        let index = match self.keys.binary_search(&key) {
            Ok(index) => index,
            Err(index) => {
                self.keys.insert(index, key);
                self.links.insert(index, make());
                index
            }
        };
        debug_assert!(self.keys.len() == self.links.len(), "one key per link");
        &mut self.links[index]
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, L> {
        self.links.iter()
    }

    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, L> {
        self.links.iter_mut()
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.links.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }
}

/// A stream as one number: its kind, the other end where it has one, then the execution that it belongs to.
const fn key(stream: Stream) -> u128 {
    const fn of(kind: u128, attempt: ExecutionAttemptId) -> u128 {
        kind << 112
            | (attempt.vertex.0 as u128) << 64
            | (attempt.subtask.0 as u128) << 32
            | attempt.attempt.0 as u128
    }
    match stream {
        Stream::OperatorEvents(attempt) => of(0, attempt),
        Stream::SubtaskEvents(attempt) => of(1, attempt),
        Stream::Triggers(attempt) => of(2, attempt),
        Stream::Acknowledgements(attempt) => of(3, attempt),
        Stream::Notices(attempt) => of(4, attempt),
        Stream::StoreCalls(attempt) => of(5, attempt),
        Stream::StoreReplies(attempt) => of(6, attempt),
        Stream::Deployment => 7 << 112,
        Stream::TaskManager => 8 << 112,
        Stream::Heartbeats => 9 << 112,
        Stream::HighAvailability => 10 << 112,
        Stream::Channel { from, to } => of(11, from) | (to.0 as u128) << 80,
        Stream::ChannelOpening(attempt) => of(12, attempt),
        Stream::ChannelRequests { from, to } => of(13, from) | (to.0 as u128) << 80,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AttemptNumber, OperatorUid, SubtaskIndex};
    use std::collections::BTreeSet;

    #[test]
    fn different_streams_have_different_keys() {
        let kinds = [
            Stream::OperatorEvents,
            Stream::SubtaskEvents,
            Stream::Triggers,
            Stream::Acknowledgements,
            Stream::Notices,
            Stream::StoreCalls,
            Stream::StoreReplies,
            Stream::ChannelOpening,
        ];
        let channels = [0, u32::MAX].map(SubtaskIndex);
        let mut streams =
            vec![Stream::Deployment, Stream::TaskManager, Stream::Heartbeats, Stream::HighAvailability];
        for number in [0, 1, u32::MAX] {
            for attempt in
                [(OperatorUid(number as u16), 0, 0), (OperatorUid(0), number, 0), (OperatorUid(0), 0, number)]
            {
                let (vertex, subtask, attempt) = attempt;
                let (subtask, attempt) = (SubtaskIndex(subtask), AttemptNumber(attempt));
                let attempt = ExecutionAttemptId { vertex, subtask, attempt };
                streams.extend(kinds.map(|kind| kind(attempt)));
                streams.extend(channels.map(|to| Stream::Channel { from: attempt, to }));
                streams.extend(channels.map(|to| Stream::ChannelRequests { from: attempt, to }));
            }
        }
        let distinct: BTreeSet<Stream> = streams.iter().copied().collect();
        let keys: BTreeSet<u128> = streams.iter().map(|stream| key(*stream)).collect();
        assert_eq!(keys.len(), distinct.len());
        assert_eq!(distinct.len(), 4 + 7 * 12);
    }

    #[test]
    fn links_are_found_by_their_stream() {
        let mut table = LinkTable::new();
        for (number, stream) in
            [Stream::TaskManager, Stream::Deployment, Stream::Heartbeats].into_iter().enumerate()
        {
            assert_eq!(*table.get_or_insert_with(stream, || number), number);
            assert_eq!(*table.get_or_insert_with(stream, || 99), number);
        }
        assert_eq!(table.get_mut(Stream::Deployment), Some(&mut 1));
        assert_eq!(table.get_mut(Stream::HighAvailability), None);
    }
}
