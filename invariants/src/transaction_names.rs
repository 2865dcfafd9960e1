//! A set of transaction names, as ranges of numbers per writer: committed names are nearly dense, so a long run costs a
//! few ranges.

use splitrace_runtime::ids::{CheckpointId, SplitId, TransactionName};
use splitrace_runtime::records::{OffsetRange, RecordRanges};

/// A set of names. A range set over (writer, number) is what [`RecordRanges`] is over (split, offset).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct TransactionNames(RecordRanges);

impl TransactionNames {
    const fn place(name: TransactionName) -> (SplitId, u64) {
        let TransactionName { writer, number: CheckpointId(number) } = name;
        (SplitId { operator: writer.vertex, index: writer.subtask.0 }, number)
    }

    /// Adds a name; answers whether it was there.
    pub(crate) fn insert(&mut self, name: TransactionName) -> bool {
        let (writer, number) = Self::place(name);
        self.0.insert_record(writer, number)
    }

    /// The names that are in both.
    pub(crate) fn common(&self, other: &Self) -> Self {
        let numbers = |range: OffsetRange| (range.start..range.end).map(move |number| (range.split, number));
        let mut common = RecordRanges::new();
        for (writer, number) in self.0.ranges().iter().copied().flat_map(numbers) {
            if other.0.contains(writer, number) {
                common.insert_record(writer, number);
            }
        }
        Self(common)
    }

    /// Whether the name is there.
    pub(crate) fn contains(&self, name: TransactionName) -> bool {
        let (writer, number) = Self::place(name);
        self.0.contains(writer, number)
    }
}
