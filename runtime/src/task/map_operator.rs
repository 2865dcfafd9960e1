//! The user function: it drops every n-th offset on purpose, and declares that.

use crate::actor::Outbox;
use crate::event::EventKind;
use crate::ids::TransactionName;
use crate::records::{OffsetRange, Record};

/// The map operator between reader and writer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MapOperator {
    filter_every: u64,
}

impl MapOperator {
    /// Drops the offsets that `filter_every` divides; none when it is 0.
    #[must_use]
    pub const fn new(filter_every: u64) -> Self {
        Self { filter_every }
    }

    /// Whether the user function drops this offset.
    #[must_use]
    pub const fn drops(&self, offset: u64) -> bool {
        self.filter_every != 0 && offset.is_multiple_of(self.filter_every)
    }

    /// Runs the user function over a batch that is not empty: tells what is dropped and, where the writer is in the same
    /// chain, what it is going to take into `transaction`, in ranges; and leaves in `records` what is left.
    pub fn process(
        &self,
        records: &mut Vec<Record>,
        transaction: Option<TransactionName>,
        outbox: &mut Outbox,
    ) {
        let first = records.first().expect("a batch is not empty");
        let (split, start, end) = (first.split, first.offset, first.offset + records.len() as u64);
        debug_assert!(
            records
                .iter()
                .zip(start..)
                .all(|(record, offset)| (record.split, record.offset) == (split, offset)),
            "a batch is a run of offsets of one split"
        );
        let tell_written = |start, end, outbox: &mut Outbox| {
            if let Some(transaction) = transaction {
                let range = OffsetRange { split, start, end };
                outbox.emit(EventKind::RecordsWritten { transaction, range });
            }
        };
        if self.filter_every == 0 {
            tell_written(start, end, outbox);
            return;
        }
        let mut run = start;
        for offset in (start..end).filter(|offset| self.drops(*offset)) {
            if run < offset {
                tell_written(run, offset, outbox);
            }
            let range = OffsetRange { split, start: offset, end: offset + 1 };
            outbox.emit(EventKind::RecordsFiltered { range });
            run = offset + 1;
        }
        if run < end {
            tell_written(run, end, outbox);
        }
        records.retain(|record| !self.drops(record.offset));
        debug_assert!(records.len() as u64 <= end - start, "the user function only drops");
    }
}
