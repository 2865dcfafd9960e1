//! What was made visible, in the order in which it was.

use splitrace_runtime::ids::TransactionName;
use splitrace_runtime::records::RecordRanges;

/// One act of making records visible.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct VisibleEntry {
    /// Under this name.
    pub name: TransactionName,
    /// The records.
    pub records: RecordRanges,
}

/// All acts of making records visible, and their sum.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct VisibleLedger {
    entries: Vec<VisibleEntry>,
    total: u64,
    distinct: RecordRanges,
}

impl VisibleLedger {
    /// Nothing is visible.
    pub const EMPTY: Self = Self { entries: Vec::new(), total: 0, distinct: RecordRanges::new() };

    /// The acts in their order.
    #[must_use]
    pub fn entries(&self) -> &[VisibleEntry] {
        &self.entries
    }

    /// How many records a reader of the outside system sees, duplicates counted.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Which records a reader of the outside system sees.
    #[must_use]
    pub const fn distinct(&self) -> &RecordRanges {
        &self.distinct
    }

    /// How many of the records are repetitions.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.total - self.distinct.len()
    }

    pub(super) fn add(&mut self, name: TransactionName, records: RecordRanges) {
        self.total += records.len();
        self.distinct.extend(&records);
        self.entries.push(VisibleEntry { name, records });
        debug_assert!(self.distinct.len() <= self.total, "no record is seen that was not made visible");
    }
}
