//! The second derivation: every path, none cut short because its state is known.
//!
//! A path is replayed from the start for each leaf, nothing is forked on the way, and fingerprints are only
//! collected. If two states that have different futures shared a fingerprint, the search would have lost the
//! states behind one of them, and this walk, which goes behind both, would find them.

use super::{Filter, Path, State, Witness};
use std::collections::BTreeSet;

/// What a walk over all paths saw.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Enumeration {
    /// The fingerprint of every state, the start included.
    pub states: BTreeSet<u128>,
    /// How many paths there are.
    pub paths: u128,
    /// How many steps it took.
    pub steps: u64,
}

/// Follows every path; `None` when there are more than `paths_max`.
pub fn enumerate<W: Witness>(start: &State<W>, filter: Filter<'_>, paths_max: u128) -> Option<Enumeration> {
    let mut seen = Enumeration::default();
    seen.states.insert(start.fingerprint(filter));
    // For each step of the present path: the alternatives that are left, the present one last.
    let mut alternatives: Vec<Path> = Vec::new();
    loop {
        let mut state = start.clone();
        for level in &alternatives {
            state.take(*level.last().expect("a level has a present alternative"), filter);
            seen.steps += 1;
        }
        if !alternatives.is_empty() {
            seen.states.insert(state.fingerprint(filter));
        }
        loop {
            let mut branches = state.branches(filter);
            branches.reverse();
            let Some(first) = branches.last().copied() else { break };
            state.take(first, filter);
            seen.steps += 1;
            seen.states.insert(state.fingerprint(filter));
            alternatives.push(branches);
        }
        seen.paths += 1;
        if seen.paths > paths_max {
            return None;
        }
        loop {
            let Some(level) = alternatives.last_mut() else { return Some(seen) };
            level.pop();
            if level.is_empty() {
                alternatives.pop();
            } else {
                break;
            }
        }
    }
}
