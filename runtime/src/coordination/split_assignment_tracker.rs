//! Which splits were assigned to whom since which checkpoint: what a reset has to give back, and nothing else.
//!
//! An assignment is *uncheckpointed* until the coordinator's next snapshot, then filed under that checkpoint, and dropped
//! when it, or a later one, is complete: from then on the reader's own state holds the split. An abort changes nothing
//! here (FACT 3), as the next completed checkpoint covers what the aborted one did not.
//!
//! Per subtask and epoch it is an insertion-ordered *set* (FACT 1); between epochs equal splits are kept apart (FACT 4).
//! What was refused: to key splits by identity alone. Flink compares whole splits, and two positions of one split in
//! one list are a bug to be seen, not to be tidied away.

use crate::api::source_state::{StateError, decode_versioned, encode_versioned};
use crate::ids::{CheckpointId, SubtaskIndex};
use crate::message::SplitPayload;
use std::collections::BTreeMap;

/// The splits of one epoch by subtask, in the order of assignment, without equal ones.
pub type Assignments = BTreeMap<SubtaskIndex, Vec<SplitPayload>>;

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SplitAssignmentTracker {
    by_checkpoint: BTreeMap<CheckpointId, Assignments>,
    uncheckpointed: Assignments,
}

impl SplitAssignmentTracker {
    /// An empty one: for a new coordinator, restored or not.
    #[must_use]
    pub const fn new() -> Self {
        Self { by_checkpoint: BTreeMap::new(), uncheckpointed: BTreeMap::new() }
    }

    /// Records an assignment. An equal split that is there already is kept once; no split leaves an empty set (FACT 40).
    pub fn record_split_assignment(&mut self, subtask: SubtaskIndex, splits: &[SplitPayload]) {
        let recorded = self.uncheckpointed.entry(subtask).or_default();
        let before = recorded.len();
        for split in splits {
            if !recorded.contains(split) {
                recorded.push(split.clone());
            }
        }
        debug_assert!(recorded.len() <= before + splits.len());
        debug_assert!(splits.iter().all(|split| recorded.contains(split)), "whatever was assigned is known");
    }

    /// Files what is uncheckpointed under a checkpoint, also when there is nothing. The same identifier again overwrites
    /// (FACT 2).
    pub fn on_checkpoint(&mut self, checkpoint: CheckpointId) {
        let filed = std::mem::take(&mut self.uncheckpointed);
        self.by_checkpoint.insert(checkpoint, filed);
        debug_assert!(self.uncheckpointed.is_empty() && self.by_checkpoint.contains_key(&checkpoint));
    }

    /// Drops what is filed at or below a completed checkpoint.
    pub fn on_checkpoint_complete(&mut self, checkpoint: CheckpointId) {
        self.by_checkpoint = self.by_checkpoint.split_off(&checkpoint.next());
        debug_assert!(self.by_checkpoint.keys().all(|filed| *filed > checkpoint));
    }

    /// Takes out what a subtask was assigned after the checkpoint that it restores (`None`: all there is), oldest first.
    /// What a completed checkpoint dropped cannot come back (FACT 6).
    pub fn get_and_remove_uncheckpointed_assignment(
        &mut self,
        subtask: SubtaskIndex,
        restored: Option<CheckpointId>,
    ) -> Vec<SplitPayload> {
        let first = restored.map_or(CheckpointId(0), CheckpointId::next);
        let mut taken = Vec::new();
        for (_, assignments) in self.by_checkpoint.range_mut(first..) {
            taken.extend(assignments.remove(&subtask).unwrap_or_default());
        }
        taken.extend(self.uncheckpointed.remove(&subtask).unwrap_or_default());
        debug_assert!(!self.uncheckpointed.contains_key(&subtask));
        debug_assert!(
            self.by_checkpoint.range(first..).all(|(_, assignments)| !assignments.contains_key(&subtask))
        );
        taken
    }

    /// What is filed, by checkpoint.
    #[must_use]
    pub const fn by_checkpoint(&self) -> &BTreeMap<CheckpointId, Assignments> {
        &self.by_checkpoint
    }

    /// What is not filed yet.
    #[must_use]
    pub const fn uncheckpointed(&self) -> &Assignments {
        &self.uncheckpointed
    }

    /// The state that a batch job keeps of it: what is uncheckpointed, and nothing else (FACT 7). A batch job has no
    /// checkpoints, so nothing is ever filed there.
    #[must_use]
    pub fn snapshot_state(&self) -> Vec<u8> {
        encode_versioned(&self.uncheckpointed)
    }

    /// Takes over what [`Self::snapshot_state`] kept; what is filed stays.
    ///
    /// # Errors
    /// When the bytes are wrong. Nothing has changed then.
    pub fn restore_state(&mut self, state: &[u8]) -> Result<(), StateError> {
        self.uncheckpointed = decode_versioned(state)?;
        Ok(())
    }

    /// All that it remembers, as if nothing of it were filed.
    #[must_use]
    pub fn all(&self) -> Assignments {
        let mut all = Assignments::new();
        for (subtask, splits) in self.by_checkpoint.values().chain([&self.uncheckpointed]).flatten() {
            all.entry(*subtask).or_default().extend(splits.iter().cloned());
        }
        debug_assert_eq!(all.values().map(Vec::len).sum::<usize>(), self.len(), "nothing is left out");
        all
    }

    /// How many splits it remembers, for bounds on memory.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_checkpoint
            .values()
            .chain([&self.uncheckpointed])
            .flat_map(BTreeMap::values)
            .map(Vec::len)
            .sum()
    }

    /// Whether it remembers no split.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests;
