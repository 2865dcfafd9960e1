//! What can happen next: a slab of items, and an order over it for the policy 'earliest due first'.
//!
//! Ties are broken by the item's identity (what it is, whose, the how-manieth), never by its place in memory, so an
//! unrelated item more or less does not change the order of the others.

use splitrace_runtime::ids::{ActorId, Incarnation, ProcessId};
use splitrace_runtime::message::{Message, Timer};
use splitrace_runtime::session::{Frame, LinkId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::faults::PlannedFault;
use splitrace_runtime::ids::ProcessAddress;

/// Something that can happen next.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub enum Item {
    /// A frame arrives.
    Frame(Frame),
    /// An actor's thread takes a turn.
    Turn {
        /// The actor's slot.
        slot: usize,
    },
    /// An actor's timer fires.
    Timer {
        /// The actor's slot.
        slot: usize,
        /// The timer.
        timer: Timer,
        /// The setting it belongs to; an older one is stale.
        setting: u64,
    },
    /// A session looks after what was not acknowledged.
    SessionTimer {
        /// The process's index.
        process: usize,
        /// Its life.
        incarnation: Incarnation,
        /// The link and stream.
        link: LinkId,
        /// The setting it belongs to.
        setting: u64,
    },
    /// An outside system handles a call.
    OutsideCall {
        /// The outside system.
        process: ProcessId,
        /// Who asks.
        from: ProcessAddress,
        /// What.
        message: Box<Message>,
        /// How many events the asker's process had emitted when it asked.
        cause_sequence: u64,
        /// Whether it was already held up once.
        delayed: bool,
    },
    /// A process begins a new life.
    StartProcess(ProcessId),
    /// A planned fault comes.
    Fault(PlannedFault),
    /// A user cancels the job.
    CancelJob,
    /// Faults end.
    Heal,
}

/// Names a pending item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ItemKey {
    index: u32,
    generation: u32,
}

#[derive(Clone, Debug)]
struct Entry {
    due_ns: u64,
    tie: u64,
    generation: u32,
    item: Option<Item>,
}

/// An item's place in the order: when it is due and, below that, its identity, in one number, so that a comparison is
/// one; then where it lies.
type Rank = (u128, ItemKey);

const fn rank(due_ns: u64, tie: u64, key: ItemKey) -> Rank {
    ((due_ns as u128) << 64 | tie as u128, key)
}

/// All pending items.
///
/// The order is in two parts. What comes soon lies sorted in a short list, whose first is taken without any sifting; what
/// the list has no room for lies in a heap. Most items are turns and frames, due long before the timers that fill the
/// heap and are stale by the time they come up.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    entries: Vec<Entry>,
    free: Vec<u32>,
    heap: BinaryHeap<Reverse<Rank>>,
    soon: VecDeque<Rank>,
    count: usize,
}

impl Pending {
    /// Adds an item.
    pub fn push(&mut self, due_ns: u64, tie: u64, item: Item) -> ItemKey {
        let key = self.store(due_ns, tie, item);
        let rank = rank(due_ns, tie, key);
        if self.soon.len() == SOON_MAX {
            match self.soon.back() {
                Some(last) if rank < *last => {
                    let last = self.soon.pop_back().expect("its back was just looked at");
                    self.heap.push(Reverse(last));
                }
                _ => {
                    self.heap.push(Reverse(rank));
                    return key;
                }
            }
        }
        let index = self.soon.partition_point(|held| *held < rank);
        self.soon.insert(index, rank);
        debug_assert!(self.soon.len() <= SOON_MAX, "the list stays short");
        key
    }

    fn store(&mut self, due_ns: u64, tie: u64, item: Item) -> ItemKey {
        self.count += 1;
        match self.free.pop() {
            Some(index) => {
                let entry = &mut self.entries[index as usize];
                debug_assert!(entry.item.is_none(), "a free entry holds nothing");
                entry.due_ns = due_ns;
                entry.tie = tie;
                entry.item = Some(item);
                ItemKey { index, generation: entry.generation }
            }
            None => {
                self.entries.push(Entry { due_ns, tie, generation: 0, item: Some(item) });
                ItemKey { index: (self.entries.len() - 1) as u32, generation: 0 }
            }
        }
    }

    /// Takes an item out; `None` when the key is stale.
    pub fn take(&mut self, key: ItemKey) -> Option<(u64, Item)> {
        let entry = self.entries.get_mut(key.index as usize)?;
        if entry.generation != key.generation {
            return None;
        }
        let item = entry.item.take()?;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(key.index);
        self.count -= 1;
        Some((entry.due_ns, item))
    }

    /// The key of the earliest item, ties by identity.
    pub fn earliest(&mut self) -> Option<ItemKey> {
        loop {
            let (is_soon, key) = self.first()?;
            if self.entries[key.index as usize].generation == key.generation {
                return Some(key);
            }
            self.drop_first(is_soon);
        }
    }

    /// Takes the earliest item out.
    pub fn take_earliest(&mut self) -> Option<(u64, Item)> {
        loop {
            let (is_soon, key) = self.first()?;
            self.drop_first(is_soon);
            // What was taken out of turn is still in the order, and is nothing.
            if let Some(taken) = self.take(key) {
                return Some(taken);
            }
        }
    }

    /// The first of the order, and whether it stands in the list of what comes soon.
    fn first(&self) -> Option<(bool, ItemKey)> {
        match (self.soon.front(), self.heap.peek()) {
            (Some(soon), Some(Reverse(other))) if soon < other => Some((true, soon.1)),
            (_, Some(Reverse(other))) => Some((false, other.1)),
            (Some(soon), None) => Some((true, soon.1)),
            (None, None) => None,
        }
    }

    fn drop_first(&mut self, is_soon: bool) {
        if is_soon {
            self.soon.pop_front();
        } else {
            self.heap.pop();
        }
    }

    /// Every item with its key and due time, in order of (due, identity).
    #[must_use]
    pub fn all(&self) -> Vec<(ItemKey, u64, &Item)> {
        let mut all: Vec<_> = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(index, entry)| {
                let key = ItemKey { index: index as u32, generation: entry.generation };
                entry.item.as_ref().map(|item| (entry.due_ns, entry.tie, key, item))
            })
            .collect();
        all.sort_by_key(|(due_ns, tie, key, _)| (*due_ns, *tie, *key));
        all.into_iter().map(|(due_ns, _, key, item)| (key, due_ns, item)).collect()
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// How many ranks the sorted list holds.
const SOON_MAX: usize = 32;

/// A process as a small number.
pub(super) const fn process_code(process: ProcessId) -> u64 {
    match process {
        ProcessId::JobManager => 0,
        ProcessId::HighAvailability => 1,
        ProcessId::Store => 2,
        ProcessId::TaskManager(index) => 3 + index as u64,
    }
}

/// An actor as a number below 2^50.
pub(super) const fn actor_code(actor: ActorId) -> u64 {
    match actor {
        ActorId::MainThread => 0,
        ActorId::HighAvailability => 1,
        ActorId::Store => 2,
        ActorId::World => 3,
        ActorId::SourceCoordinator(operator) => 1 << 46 | operator.0 as u64,
        ActorId::TaskManager(index) => 2 << 46 | index as u64,
        ActorId::Task(attempt) => {
            3 << 46
                | (attempt.vertex.0 as u64 & 0xfff) << 34
                | (attempt.subtask.0 as u64 & 0xfff) << 22
                | (attempt.attempt.0 as u64 & 0x3f_ffff)
        }
    }
}

/// The tie-breaking number of an item of a class.
pub(super) const fn tie(class: u64, identity: u64) -> u64 {
    class << 60 | (identity & ((1 << 60) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_order_is_that_of_a_sorted_set(pushes in prop::collection::vec((0u64..50, 0u64..4, 0u8..4), 0..300)) {
            let (mut pending, mut plain) = (Pending::default(), BTreeSet::new());
            let mut now_ns = 0;
            for (number, (after_ns, class, then)) in pushes.into_iter().enumerate() {
                let (due_ns, tie) = (now_ns + after_ns, class << 60 | number as u64);
                let key = pending.push(due_ns, tie, Item::Turn { slot: number });
                plain.insert((due_ns, tie, number));
                match then {
                    0 => {
                        prop_assert_eq!(pending.take(key), Some((due_ns, Item::Turn { slot: number })));
                        plain.remove(&(due_ns, tie, number));
                    }
                    1 => {
                        let first = plain.pop_first();
                        let expected = first.map(|(due_ns, _, slot)| (due_ns, Item::Turn { slot }));
                        now_ns = first.map_or(now_ns, |(due_ns, ..)| due_ns);
                        prop_assert_eq!(pending.take_earliest(), expected);
                    }
                    _ => {}
                }
                prop_assert_eq!(pending.len(), plain.len());
            }
            while let Some((due_ns, _, slot)) = plain.pop_first() {
                prop_assert!(pending.earliest().is_some());
                prop_assert_eq!(pending.take_earliest(), Some((due_ns, Item::Turn { slot })));
            }
            prop_assert!(pending.take_earliest().is_none() && pending.is_empty());
        }
    }

    #[test]
    fn earliest_first_ties_by_identity_and_stale_keys_are_nothing() {
        let mut pending = Pending::default();
        let late = pending.push(5, 0, Item::Heal);
        let second = pending.push(1, 9, Item::CancelJob);
        let first = pending.push(1, 2, Item::Turn { slot: 4 });
        assert_eq!(pending.earliest(), Some(first));
        assert_eq!(pending.take(first), Some((1, Item::Turn { slot: 4 })));
        assert_eq!(pending.take(first), None);
        assert_eq!(pending.earliest(), Some(second));
        assert_eq!(pending.all().iter().map(|(key, ..)| *key).collect::<Vec<_>>(), [second, late]);
        pending.take(late);
        assert_eq!(pending.len(), 1);
    }
}
