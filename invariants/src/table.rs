//! Dense tables by (operator, index): what a map would cost per record, a vector index does not.

use splitrace_runtime::ids::{OperatorUid, SplitId, SubtaskId};
use std::hash::{Hash, Hasher};

/// No job of ours has so many splits or subtasks; a larger index is a corrupt event, not a reason to use up memory.
const INDEX_MAX: u32 = 1 << 24;

/// A table to work in, empty between two uses: no part of a checker's state, kept for its room.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace<T>(pub(crate) Table<T>);

impl<T> Hash for Workspace<T> {
    fn hash<H: Hasher>(&self, _hasher: &mut H) {}
}

/// One `T` per (operator, index), grown on demand. A job has one or two operators, so a row is found by looking.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Table<T> {
    rows: Vec<(OperatorUid, Vec<T>)>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { rows: Vec::new() }
    }
}

impl<T: Clone + Default> Table<T> {
    fn get(&self, operator: OperatorUid, index: u32) -> Option<&T> {
        let (_, row) = self.rows.iter().find(|(held, _)| *held == operator)?;
        row.get(index as usize)
    }

    fn entry(&mut self, operator: OperatorUid, index: u32) -> &mut T {
        assert!(index < INDEX_MAX, "index {index} of {operator} is beyond any job");
        let at = match self.rows.iter().position(|(held, _)| *held == operator) {
            Some(at) => at,
            None => {
                let at = self.rows.partition_point(|(held, _)| *held < operator);
                self.rows.insert(at, (operator, Vec::new()));
                at
            }
        };
        let row = &mut self.rows[at].1;
        let index = index as usize;
        if row.len() <= index {
            row.resize(index + 1, T::default());
        }
        &mut row[index]
    }

    /// What stands for a split, if anything was ever put there.
    pub(crate) fn split(&self, split: SplitId) -> Option<&T> {
        self.get(split.operator, split.index)
    }

    /// The entry of a split.
    pub(crate) fn split_mut(&mut self, split: SplitId) -> &mut T {
        self.entry(split.operator, split.index)
    }

    /// What stands for a subtask, if anything was ever put there.
    pub(crate) fn subtask(&self, subtask: SubtaskId) -> Option<&T> {
        self.get(subtask.vertex, subtask.subtask.0)
    }

    /// The entry of a subtask.
    pub(crate) fn subtask_mut(&mut self, subtask: SubtaskId) -> &mut T {
        self.entry(subtask.vertex, subtask.subtask.0)
    }

    /// Every entry in order.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut().flat_map(|(_, row)| row.iter_mut())
    }

    /// Every entry with its operator and index, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (OperatorUid, u32, &T)> {
        self.rows.iter().flat_map(|(operator, row)| {
            (0u32..).zip(row).map(move |(index, value)| (*operator, index, value))
        })
    }

    /// Every entry of one operator with its index.
    pub(crate) fn of_operator_mut(&mut self, operator: OperatorUid) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut().filter(move |(held, _)| *held == operator).flat_map(|(_, row)| row.iter_mut())
    }

    /// Forgets every entry and keeps the room.
    pub(crate) fn reset(&mut self) {
        self.rows.iter_mut().for_each(|(_, row)| row.clear());
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }
}
