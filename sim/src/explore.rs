//! A first explorer: every order of what can happen next, until nothing new is left.
//!
//! It walks the one [`World`] by the same `enabled()` and `step(key)` that a run by the latency queue uses, so
//! what it proves, it proves of the real main thread, coordinators, tasks and sessions. Two worlds with equal
//! fingerprints have the same future and are walked once. Breadth comes first, so the first path to a violation
//! is a shortest one.
//!
//! What is explored is the caller's: a filter puts each pending item into one of four [`Treatment`]s. *At once*
//! is the reduction: such an item is stepped before anything else, in the latency queue's order, which is sound
//! only where its step commutes with every other step that may come between; whoever says 'at once' states why.
//! *Never* takes the item out of the search, and then out of the fingerprint as well. Time decides nothing: any
//! branch may be taken whenever it is there, whatever it is due.
//!
//! Forking is `Clone`: actors lie behind shared pointers and are copied when written. What holds a fork to be
//! right is [`replay`], which takes the start and the keys of a path again; a test compares the fingerprints of
//! the two at every state. And what holds the fingerprints to be right is [`enumerate`], which follows every
//! path without ever looking whether a state is known: it must meet the same set of states.
//!
//! A fingerprint has 128 bits. A collision would hide states, but among a million of them its odds are about 2^-88.
//!
//! Refused: whole states as keys (a state is some ten kilobytes), a depth-first walk (its counterexamples are
//! long), a generic model trait (there is one world), and sleep sets or dynamic reduction, which belong to the
//! real search.

pub mod gateway;
pub mod tree;

pub use tree::{Enumeration, enumerate};

use crate::choices::BenignChoices;
use crate::world::World;
use crate::world::fingerprinter::Fingerprinter;
use crate::world::pending::{Item, ItemKey};
use splitrace_invariants::Violation;
use splitrace_runtime::event::Event;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::Hash;

/// How many kinds of items can have a budget.
pub const BUDGETS: usize = 8;

/// What the search does with a pending item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Treatment {
    /// It may come next or later: both are explored.
    Branch,
    /// As [`Self::Branch`], but at most so many items of this budget are stepped on one path.
    BranchAtMost {
        /// Which budget, below [`BUDGETS`].
        budget: usize,
        /// How many.
        times: u8,
    },
    /// It is stepped before anything else.
    AtOnce,
    /// It is not stepped.
    Never,
}

/// Says what becomes of an item. It must depend on nothing that the fingerprint leaves out.
pub type Filter<'a> = &'a dyn Fn(&World, &Item) -> Treatment;

/// What looks at the events of a path and is part of the state: whatever an outcome tells apart must be in it.
pub trait Witness: Clone + Hash {
    /// Takes the next event.
    fn observe(&mut self, event: &Event);
}

/// Where a search gives up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// At so many states.
    pub states_max: usize,
    /// At this many branches behind each other.
    pub depth_max: usize,
}

/// The branches of a path, each by its item; those that came at once lie between them and follow from them.
pub type Path = Vec<ItemKey>;

/// A state of the search: the world, the witness, and what is spent.
#[derive(Clone, Debug)]
pub struct State<W> {
    /// The world.
    pub world: World,
    /// The witness.
    pub witness: W,
    spent: [u8; BUDGETS],
}

/// What a search saw.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// The fingerprint of every state, the start included.
    pub states: BTreeSet<u128>,
    /// How many branches led from a state to another or the same.
    pub transitions: usize,
    /// How many states had no branch.
    pub terminals: usize,
    /// The most branches on the shortest path to a state.
    pub deepest: usize,
    /// How many paths lead from the start to a terminal, all counted: what a walk without fingerprints has to follow.
    pub paths: u128,
    /// Whether everything was seen; otherwise a limit was hit.
    pub exhausted: bool,
    /// What was violated, with the first path to it. A violated state is terminal.
    pub violations: Vec<(Path, Violation)>,
}

impl<W: Witness> State<W> {
    /// The start of a search. What must come at once has come.
    pub fn start(mut world: World, witness: W, filter: Filter<'_>) -> Self {
        world.keep_events();
        world.drain_events();
        world.hear_answers_at_once();
        let mut state = Self { world, witness, spent: [0; BUDGETS] };
        state.settle(filter, &mut |_| {});
        state
    }

    /// What may come next, in the latency queue's order.
    pub fn branches(&self, filter: Filter<'_>) -> Path {
        if self.world.judge().violation().is_some() {
            return Path::new();
        }
        let enabled = self.world.enabled().into_iter();
        let real = enabled.filter(|enabled| !self.world.does_nothing(enabled.item));
        real.filter(|enabled| self.may_branch(filter(&self.world, enabled.item)))
            .map(|enabled| enabled.key)
            .collect()
    }

    fn may_branch(&self, treatment: Treatment) -> bool {
        match treatment {
            Treatment::Branch => true,
            Treatment::BranchAtMost { budget, times } => self.spent[budget] < times,
            Treatment::AtOnce | Treatment::Never => false,
        }
    }

    /// Takes one branch, and then all that comes at once.
    pub fn take(&mut self, key: ItemKey, filter: Filter<'_>) {
        self.take_observed(key, filter, &mut |_| {});
    }

    /// As [`Self::take`]; `observer` sees what happens.
    pub fn take_observed(&mut self, key: ItemKey, filter: Filter<'_>, observer: &mut dyn FnMut(&Event)) {
        let treatment = self
            .world
            .enabled()
            .iter()
            .find(|enabled| enabled.key == key)
            .map(|enabled| filter(&self.world, enabled.item));
        debug_assert!(treatment.is_some_and(|treatment| self.may_branch(treatment)), "{key:?} is no branch");
        if let Some(Treatment::BranchAtMost { budget, .. }) = treatment {
            self.spent[budget] += 1;
        }
        self.step(key, observer);
        self.settle(filter, observer);
    }

    fn settle(&mut self, filter: Filter<'_>, observer: &mut dyn FnMut(&Event)) {
        while self.world.judge().violation().is_none() {
            let at_once = self.world.enabled().into_iter().find(|enabled| {
                filter(&self.world, enabled.item) == Treatment::AtOnce
                    && !self.world.does_nothing(enabled.item)
            });
            let Some(key) = at_once.map(|enabled| enabled.key) else { return };
            self.step(key, observer);
        }
    }

    fn step(&mut self, key: ItemKey, observer: &mut dyn FnMut(&Event)) {
        self.world.step(key, &mut BenignChoices);
        self.world.hear_answers_at_once();
        for event in self.world.drain_events() {
            self.witness.observe(&event);
            observer(&event);
        }
    }

    /// What names the state: equal for states with the same future and the same outcomes.
    pub fn fingerprint(&self, filter: Filter<'_>) -> u128 {
        let mut hasher = Fingerprinter::new();
        // A budget that is used up takes its items out of the future.
        let may_step = |item: &Item| match filter(&self.world, item) {
            Treatment::Never => false,
            Treatment::BranchAtMost { budget, times } => self.spent[budget] < times,
            Treatment::Branch | Treatment::AtOnce => true,
        };
        self.world.fingerprint_untimed(&may_step, &mut hasher);
        self.spent.hash(&mut hasher);
        self.witness.hash(&mut hasher);
        self.world.judge().violation().is_some().hash(&mut hasher);
        hasher.value()
    }
}

/// Explores everything that the filter and the limits allow. `on_terminal` judges each state without a branch
/// beyond what the checkers have found on the way, which is a violation whatever it says.
pub fn explore<W: Witness>(
    start: &State<W>,
    limits: Limits,
    filter: Filter<'_>,
    on_terminal: &mut dyn FnMut(&State<W>) -> Result<(), Violation>,
) -> Exploration {
    let mut search = Search::default();
    let mut queue = VecDeque::new();
    search.meet(start.fingerprint(filter), None);
    queue.push_back((0, 0, start.clone()));
    let mut exhausted = true;
    while let Some((index, depth, mut state)) = queue.pop_front() {
        search.deepest = search.deepest.max(depth);
        let branches = state.branches(filter);
        if branches.is_empty() {
            search.end(index, &state, on_terminal);
            continue;
        }
        if depth >= limits.depth_max || search.parents.len() >= limits.states_max {
            exhausted = false;
            continue;
        }
        for (place, key) in branches.iter().copied().enumerate() {
            // The last branch needs no fork.
            let is_last = place + 1 == branches.len();
            let mut fork = (!is_last).then(|| state.clone());
            let next = fork.as_mut().unwrap_or(&mut state);
            next.take(key, filter);
            let (found, is_new) = search.meet(next.fingerprint(filter), Some((index, key)));
            search.successors[index].push(found);
            if is_new {
                queue.push_back((found, depth + 1, fork.unwrap_or_else(|| state.clone())));
            }
        }
    }
    search.into_exploration(exhausted)
}

/// Takes the branches of a path again.
pub fn replay<W: Witness>(start: &State<W>, path: &[ItemKey], filter: Filter<'_>) -> State<W> {
    let mut state = start.clone();
    path.iter().for_each(|key| state.take(*key, filter));
    state
}

/// What the search knows of the states that it met, by their number.
#[derive(Default)]
struct Search {
    known: BTreeMap<u128, usize>,
    parents: Vec<Option<(usize, ItemKey)>>,
    successors: Vec<Vec<usize>>,
    terminals: usize,
    deepest: usize,
    violations: Vec<(Path, Violation)>,
}

impl Search {
    /// The number of a state, and whether it is new.
    fn meet(&mut self, fingerprint: u128, from: Option<(usize, ItemKey)>) -> (usize, bool) {
        let next = self.parents.len();
        let index = *self.known.entry(fingerprint).or_insert(next);
        if index == next {
            self.parents.push(from);
            self.successors.push(Vec::new());
        }
        (index, index == next)
    }

    fn end<W: Witness>(
        &mut self,
        index: usize,
        state: &State<W>,
        on_terminal: &mut dyn FnMut(&State<W>) -> Result<(), Violation>,
    ) {
        self.terminals += 1;
        let verdict = match state.world.judge().violation() {
            Some(violation) => Err(violation.clone()),
            None => on_terminal(state),
        };
        if let Err(violation) = verdict {
            self.violations.push((self.path_to(index), violation));
        }
    }

    fn path_to(&self, mut index: usize) -> Path {
        let mut path = Path::new();
        while let Some((parent, key)) = self.parents[index] {
            path.push(key);
            index = parent;
        }
        path.reverse();
        path
    }

    /// How many paths lead from a state to a terminal, for all states; a state's number says nothing about its
    /// height.
    fn paths(&self) -> u128 {
        let mut counts: Vec<Option<u128>> = vec![None; self.successors.len()];
        let mut stack = vec![0];
        while let Some(&index) = stack.last() {
            let open = self.successors[index].iter().find(|next| counts[**next].is_none());
            if let Some(open) = open {
                debug_assert!(
                    !stack.contains(open),
                    "a search that comes back to a state has no end of paths"
                );
                stack.push(*open);
                continue;
            }
            let sum = self.successors[index].iter().map(|next| counts[*next].unwrap_or(0)).sum();
            counts[index] = Some(if self.successors[index].is_empty() { 1 } else { sum });
            stack.pop();
        }
        counts[0].unwrap_or(0)
    }

    fn into_exploration(self, exhausted: bool) -> Exploration {
        Exploration {
            paths: self.paths(),
            transitions: self.successors.iter().map(Vec::len).sum(),
            states: self.known.into_keys().collect(),
            terminals: self.terminals,
            deepest: self.deepest,
            exhausted,
            violations: self.violations,
        }
    }
}
