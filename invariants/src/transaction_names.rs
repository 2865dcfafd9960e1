//! A set of transaction names, as ranges of numbers per writer: committed names are nearly dense, so a long run costs a
//! few ranges. Names with a part are kept one by one.

use splitrace_runtime::ids::{CheckpointId, SplitId, TransactionName};
use splitrace_runtime::records::{OffsetRange, RecordRanges};
use std::collections::BTreeSet;

/// A set of names. A range set over (writer, number) is what [`RecordRanges`] is over (split, offset).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct TransactionNames {
    numbered: RecordRanges,
    parts: BTreeSet<TransactionName>,
}

impl TransactionNames {
    /// Where it lies in the ranges, unless it has a part.
    const fn place(name: TransactionName) -> Option<(SplitId, u64)> {
        let TransactionName { writer, number: CheckpointId(number), part: None } = name else {
            return None;
        };
        Some((SplitId { operator: writer.vertex, index: writer.subtask.0 }, number))
    }

    /// Adds a name; answers whether it was there.
    pub(crate) fn insert(&mut self, name: TransactionName) -> bool {
        match Self::place(name) {
            Some((writer, number)) => self.numbered.insert_record(writer, number),
            None => !self.parts.insert(name),
        }
    }

    /// The names that are in both.
    pub(crate) fn common(&self, other: &Self) -> Self {
        let numbers = |range: OffsetRange| (range.start..range.end).map(move |number| (range.split, number));
        let mut numbered = RecordRanges::new();
        for (writer, number) in self.numbered.ranges().iter().copied().flat_map(numbers) {
            if other.numbered.contains(writer, number) {
                numbered.insert_record(writer, number);
            }
        }
        Self { numbered, parts: self.parts.intersection(&other.parts).copied().collect() }
    }

    /// Whether the name is there.
    pub(crate) fn contains(&self, name: TransactionName) -> bool {
        match Self::place(name) {
            Some((writer, number)) => self.numbered.contains(writer, number),
            None => self.parts.contains(&name),
        }
    }
}
