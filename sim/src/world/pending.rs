//! What can happen next: a slab of items, and an order over it for the policy 'earliest due first'.
//!
//! Ties are broken by the item's identity (what it is, whose, the how-manieth), never by its place in memory, so an
//! unrelated item more or less does not change the order of the others.

use splitrace_runtime::api::input_io::InputAnswer;
use splitrace_runtime::ids::{ActorId, ExecutionAttemptId, Incarnation, LeaderEpoch, ProcessId};
use splitrace_runtime::message::{Message, Timer};
use splitrace_runtime::session::Frame;
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
    /// The outside answers what a thread asked of its input.
    InputAnswer {
        /// The thread's slot.
        slot: usize,
        /// What it says.
        answer: Box<InputAnswer>,
    },
    /// The sessions of a process look after what was not acknowledged.
    SessionTimer {
        /// The process's index.
        process: usize,
        /// Its life.
        incarnation: Incarnation,
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
    /// The store learns that the connection of an execution is gone.
    ClientGone {
        /// The execution.
        attempt: ExecutionAttemptId,
        /// Its leader epoch.
        epoch: LeaderEpoch,
    },
    /// A process begins a new life.
    StartProcess(ProcessId),
    /// A planned fault comes.
    Fault(PlannedFault),
    /// A user cancels the job.
    CancelJob,
    /// A user asks for a savepoint.
    Savepoint,
    /// A user submits the job again.
    SubmitJob,
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

/// An item's place in the order: when it is due and, below that, its identity; then where it lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank {
    due_ns: u64,
    tie: u64,
    key: ItemKey,
}

/// All pending items.
///
/// The order is in three parts. Turns lie in a queue of their own: each is due a little after the present, so it goes to
/// the end, and there is at most one per actor. All else lies in a short list, the latest first: the earliest is popped
/// off its end, and what is added is mostly due soon and so moves little. When the list is full, its later half goes into
/// a heap.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    entries: Vec<Entry>,
    free: Vec<u32>,
    heap: BinaryHeap<Reverse<Rank>>,
    /// The latest first.
    soon: Vec<Rank>,
    turns: VecDeque<Rank>,
    /// The item of each slot's turn, for those who look at what is pending.
    turn_items: Vec<Item>,
    turn_count: u32,
    count: usize,
}

/// Which part of the order an item stands in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Turns,
    Soon,
    Heap,
}

/// Set in the index of a turn's key; the rest of it is the slot.
const TURN: u32 = 1 << 31;

impl Pending {
    /// Adds an item.
    pub fn push(&mut self, due_ns: u64, tie: u64, item: Item) -> ItemKey {
        if let Item::Turn { slot } = item {
            return self.push_turn(due_ns, tie, slot);
        }
        let key = self.store(due_ns, tie, item);
        let rank = Rank { due_ns, tie, key };
        if self.soon.len() == SOON_MAX {
            self.heap.extend(self.soon.drain(..SOON_MAX / 2).map(Reverse));
        }
        // From the end, moving what is due earlier: seldom more than a few, where a binary search takes six looks.
        let mut index = self.soon.len();
        self.soon.push(rank);
        while index > 0 && self.soon[index - 1] < rank {
            self.soon[index] = self.soon[index - 1];
            index -= 1;
        }
        self.soon[index] = rank;
        debug_assert!(self.soon.len() <= SOON_MAX, "the list stays short");
        key
    }

    fn push_turn(&mut self, due_ns: u64, tie: u64, slot: usize) -> ItemKey {
        debug_assert!(slot < TURN as usize, "the index of a key has room for the slot");
        while self.turn_items.len() <= slot {
            self.turn_items.push(Item::Turn { slot: self.turn_items.len() });
        }
        self.count += 1;
        self.turn_count = self.turn_count.wrapping_add(1);
        let key = ItemKey { index: TURN | slot as u32, generation: self.turn_count };
        let rank = Rank { due_ns, tie, key };
        match self.turns.back() {
            Some(last) if rank < *last => {
                let index = self.turns.partition_point(|held| *held < rank);
                self.turns.insert(index, rank);
            }
            _ => self.turns.push_back(rank),
        }
        debug_assert!(self.turns.back().is_some_and(|last| *last >= rank), "turns lie in order");
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
        if key.index & TURN != 0 {
            let at = self.turns.iter().position(|held| held.key == key)?;
            let rank = self.turns.remove(at).expect("its place was just found");
            self.count -= 1;
            return Some(turn_of(rank));
        }
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
            let (part, key) = self.first()?;
            if part == Part::Turns || self.entries[key.index as usize].generation == key.generation {
                return Some(key);
            }
            self.drop_first(part);
        }
    }

    /// Takes the earliest item out.
    pub fn take_earliest(&mut self) -> Option<(u64, Item)> {
        loop {
            let (part, key) = self.first()?;
            if part == Part::Turns {
                self.count -= 1;
                return self.turns.pop_front().map(turn_of);
            }
            self.drop_first(part);
            // What was taken out of turn is still in the order, and is nothing.
            if let Some(taken) = self.take(key) {
                return Some(taken);
            }
        }
    }

    /// The first of the order, and where it stands.
    fn first(&self) -> Option<(Part, ItemKey)> {
        let mut first = self.turns.front().map(|rank| (*rank, Part::Turns));
        let mut consider = |rank: Option<&Rank>, part: Part| {
            if let Some(rank) = rank
                && first.is_none_or(|(least, _)| *rank < least)
            {
                first = Some((*rank, part));
            }
        };
        consider(self.soon.last(), Part::Soon);
        consider(self.heap.peek().map(|Reverse(rank)| rank), Part::Heap);
        first.map(|(rank, part)| (part, rank.key))
    }

    fn drop_first(&mut self, part: Part) {
        match part {
            Part::Turns => drop(self.turns.pop_front()),
            Part::Soon => drop(self.soon.pop()),
            Part::Heap => drop(self.heap.pop()),
        }
    }

    /// Items happen by the time that `latest_ns` names, if they were to happen later. Keys of those that move get stale.
    pub fn hasten(&mut self, latest_ns: impl Fn(&Item) -> Option<u64>) {
        let late = |(key, due_ns, item): (ItemKey, u64, &Item)| {
            latest_ns(item).filter(|latest_ns| due_ns > *latest_ns).map(|latest_ns| (key, latest_ns))
        };
        let late: Vec<(ItemKey, u64)> = self.all().into_iter().filter_map(late).collect();
        for (key, due_ns) in late {
            let tie = self.tie_of(key);
            let (_, item) = self.take(key).expect("it is pending");
            self.push(due_ns, tie, item);
        }
    }

    fn tie_of(&self, key: ItemKey) -> u64 {
        if key.index & TURN != 0 {
            let turn = self.turns.iter().find(|held| held.key == key);
            return turn.map_or(0, |rank| rank.tie);
        }
        self.entries[key.index as usize].tie
    }

    /// Every item with its key and due time, in order of (due, identity).
    #[must_use]
    pub fn all(&self) -> Vec<(ItemKey, u64, &Item)> {
        let stored = self.entries.iter().enumerate().filter_map(|(index, entry)| {
            let key = ItemKey { index: index as u32, generation: entry.generation };
            entry.item.as_ref().map(|item| (Rank { due_ns: entry.due_ns, tie: entry.tie, key }, item))
        });
        let turns =
            self.turns.iter().map(|rank| (*rank, &self.turn_items[(rank.key.index & !TURN) as usize]));
        let mut all: Vec<(Rank, &Item)> = stored.chain(turns).collect();
        all.sort_by_key(|(rank, _)| *rank);
        all.into_iter().map(|(rank, item)| (rank.key, rank.due_ns, item)).collect()
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

/// A turn's due time and item.
const fn turn_of(rank: Rank) -> (u64, Item) {
    (rank.due_ns, Item::Turn { slot: (rank.key.index & !TURN) as usize })
}

/// How many ranks the sorted list holds.
const SOON_MAX: usize = 64;

/// A process as a small number.
pub(super) const fn process_code(process: ProcessId) -> u64 {
    match process {
        ProcessId::JobManager => 0,
        ProcessId::HighAvailability => 1,
        ProcessId::Store => 2,
        ProcessId::TaskManager(index) => 3 + index as u64,
    }
}

/// An actor as a number below 2^60.
pub(super) const fn actor_code(actor: ActorId) -> u64 {
    match actor {
        ActorId::MainThread => 0,
        ActorId::HighAvailability => 1,
        ActorId::Store => 2,
        ActorId::World => 3,
        ActorId::SourceCoordinator(operator) => 1 << 46 | operator.0 as u64,
        ActorId::CoordinatorWorker(operator) => 1 << 46 | 1 << 16 | operator.0 as u64,
        ActorId::TaskManager(index) => 2 << 46 | index as u64,
        ActorId::Task(attempt) => {
            3 << 46
                | (attempt.vertex.0 as u64 & 0xfff) << 34
                | (attempt.subtask.0 as u64 & 0xfff) << 22
                | (attempt.attempt.0 as u64 & 0x3f_ffff)
        }
        ActorId::Fetcher { task, fetcher } => {
            (fetcher.0 as u64 & 0xff) << 52 | 1 << 50 | actor_code(ActorId::Task(task))
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
            // Of class 1 are turns, each of a slot of its own; all else is stored.
            let item = |tie: u64, number: usize| match tie >> 60 {
                1 => Item::Turn { slot: number },
                _ => Item::Timer { slot: number, timer: Timer::Heartbeat, setting: 0 },
            };
            for (number, (after_ns, class, then)) in pushes.into_iter().enumerate() {
                let (due_ns, tie) = (now_ns + after_ns, class << 60 | number as u64);
                let key = pending.push(due_ns, tie, item(tie, number));
                plain.insert((due_ns, tie, number));
                match then {
                    0 => {
                        prop_assert_eq!(pending.take(key), Some((due_ns, item(tie, number))));
                        prop_assert_eq!(pending.take(key), None);
                        plain.remove(&(due_ns, tie, number));
                    }
                    1 => {
                        let first = plain.pop_first();
                        let expected = first.map(|(due_ns, tie, number)| (due_ns, item(tie, number)));
                        now_ns = first.map_or(now_ns, |(due_ns, ..)| due_ns);
                        prop_assert_eq!(pending.take_earliest(), expected);
                    }
                    _ => {}
                }
                prop_assert_eq!(pending.len(), plain.len());
                let all: Vec<_> = pending.all().into_iter().map(|(_, due_ns, item)| (due_ns, item.clone())).collect();
                let expected: Vec<_> = plain.iter().map(|(due_ns, tie, number)| (*due_ns, item(*tie, *number))).collect();
                prop_assert_eq!(all, expected);
            }
            while let Some((due_ns, tie, number)) = plain.pop_first() {
                prop_assert!(pending.earliest().is_some());
                prop_assert_eq!(pending.take_earliest(), Some((due_ns, item(tie, number))));
            }
            prop_assert!(pending.take_earliest().is_none() && pending.is_empty());
        }
    }

    #[test]
    fn what_is_hastened_happens_in_time_and_nothing_else_moves() {
        let mut pending = Pending::default();
        pending.push(50, 1, Item::Turn { slot: 3 });
        pending.push(40, 2, Item::StartProcess(ProcessId::Store));
        pending.push(7, 3, Item::StartProcess(ProcessId::JobManager));
        pending.push(45, 4, Item::Heal);
        pending.hasten(|item| match item {
            Item::Turn { .. } => Some(10),
            Item::StartProcess(_) => Some(9),
            _ => None,
        });
        let order: Vec<_> =
            std::iter::from_fn(|| pending.take_earliest()).map(|(due_ns, _)| due_ns).collect();
        assert_eq!(order, [7, 9, 10, 45]);
        assert!(pending.is_empty());
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
