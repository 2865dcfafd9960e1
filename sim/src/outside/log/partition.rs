//! One partition: records and control markers, each at an offset of its own, and what a reader of committed records sees.

use splitrace_runtime::api::log_io::TransactionResult;
use splitrace_runtime::records::Record;
use std::collections::BTreeMap;

/// What lies at an offset.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
enum Entry {
    /// A record of this producer.
    Record { producer_id: u32, record: Record },
    /// The end of this producer's transaction.
    Marker(TransactionResult),
}

/// Records of one producer that are passed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
struct Aborted {
    producer_id: u32,
    first: u64,
    marker: u64,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash)]
pub(super) struct Partition {
    entries: Vec<Entry>,
    /// The first offset of each producer's open transaction.
    open: BTreeMap<u32, u64>,
    /// The index of aborted transactions, in the order of their markers.
    aborted: Vec<Aborted>,
}

impl Partition {
    /// The offset behind the last entry.
    pub(super) fn end(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Adds records of a producer's open transaction.
    pub(super) fn append(&mut self, producer_id: u32, records: Vec<Record>) {
        let end = self.end();
        self.open.entry(producer_id).or_insert(end);
        self.entries.extend(records.into_iter().map(|record| Entry::Record { producer_id, record }));
        debug_assert!(self.end() > end, "an append has records");
    }

    /// Ends a producer's transaction.
    pub(super) fn mark(&mut self, producer_id: u32, result: TransactionResult) {
        let marker = self.end();
        self.entries.push(Entry::Marker(result));
        let first = self.open.remove(&producer_id);
        if let (Some(first), TransactionResult::Abort) = (first, result) {
            self.aborted.push(Aborted { producer_id, first, marker });
        }
        debug_assert!(self.last_stable_offset() <= self.end());
    }

    /// The offset of the first record whose transaction is still open; the end if there is none.
    pub(super) fn last_stable_offset(&self) -> u64 {
        self.open.values().copied().min().unwrap_or_else(|| self.end())
    }

    /// The committed records from this offset on, with their offsets (`read_committed`).
    #[cfg_attr(not(test), expect(dead_code, reason = "sources will read"))]
    pub(super) fn read_committed(&self, from: u64) -> Vec<(u64, &Record)> {
        let stable = self.last_stable_offset();
        (from..stable)
            .filter_map(|offset| match &self.entries[offset as usize] {
                Entry::Record { producer_id, record } if !self.is_aborted(*producer_id, offset) => {
                    Some((offset, record))
                }
                Entry::Record { .. } | Entry::Marker(_) => None,
            })
            .collect()
    }

    fn is_aborted(&self, producer_id: u32, offset: u64) -> bool {
        let holds = |aborted: &Aborted| {
            aborted.producer_id == producer_id && (aborted.first..aborted.marker).contains(&offset)
        };
        self.aborted.iter().any(holds)
    }
}
