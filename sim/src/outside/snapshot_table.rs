//! A table format: data files that never change, and a chain of snapshots that name them.
//!
//! A commit is one compare-and-set on the current snapshot. The table takes a file as often as it is asked to: whether it
//! is there already is for whoever commits to look up, and the ledger tells the truth about it.

use super::VisibleLedger;
use super::content::Content;
use super::store::{Caller, OpenTransaction};
use splitrace_runtime::api::snapshots_io::{SnapshotsAnswer, SnapshotsOperation};
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::{Fence, TransactionName};
use splitrace_runtime::records::Record;
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, Default, Hash)]
pub struct SnapshotTable {
    files: BTreeMap<TransactionName, (Fence, Content)>,
    /// Snapshot n+1 at place n: what its summary names, if one of ours made it.
    snapshots: Vec<Option<TransactionName>>,
    visible: VisibleLedger,
}

impl SnapshotTable {
    /// What was made visible.
    #[must_use]
    pub const fn visible(&self) -> &VisibleLedger {
        &self.visible
    }

    /// The files that no snapshot names.
    #[must_use]
    pub fn open_transactions(&self) -> Vec<OpenTransaction> {
        let orphans = self.files.iter().filter(|(name, _)| !self.snapshots.contains(&Some(**name)));
        let describe = |(name, (fence, content)): (&TransactionName, &(Fence, Content))| OpenTransaction {
            name: *name,
            fence: *fence,
            prepared: true,
            records: content.distinct(),
        };
        orphans.map(describe).collect()
    }

    /// Somebody else commits a snapshot.
    pub fn commit_foreign(&mut self) {
        self.snapshots.push(None);
    }

    pub(super) fn execute(
        &mut self,
        caller: Caller,
        operation: SnapshotsOperation,
        events: &mut Vec<EventKind>,
    ) -> SnapshotsAnswer {
        match operation {
            SnapshotsOperation::WriteFile { file, records } => {
                self.write_file(file, caller.fence(), &records, events);
                SnapshotsAnswer::Done
            }
            SnapshotsOperation::Load { since } => self.load(since),
            SnapshotsOperation::Commit { base, file } => self.commit(caller, base, file, events),
        }
    }

    fn write_file(
        &mut self,
        file: TransactionName,
        fence: Fence,
        records: &[Record],
        events: &mut Vec<EventKind>,
    ) {
        self.files.entry(file).or_insert_with(|| {
            let content = Content::of(records);
            let records = content.distinct();
            events.push(EventKind::TransactionDurable { transaction: file, fence, records });
            (fence, content)
        });
    }

    fn load(&self, since: Option<u64>) -> SnapshotsAnswer {
        let current = self.snapshots.len() as u64;
        let behind = since.map_or(current, |since| since.min(current)) as usize;
        SnapshotsAnswer::Loaded {
            current,
            added: self.snapshots[behind..].iter().flatten().copied().collect(),
        }
    }

    fn commit(
        &mut self,
        caller: Caller,
        base: u64,
        file: TransactionName,
        events: &mut Vec<EventKind>,
    ) -> SnapshotsAnswer {
        let Some((_, content)) = self.files.get(&file) else {
            return SnapshotsAnswer::NoFile;
        };
        if base != self.snapshots.len() as u64 {
            return SnapshotsAnswer::Conflict;
        }
        for records in content.clone().into_layers() {
            self.visible.add(file, records.clone());
            let (by, epoch) = (caller.attempt, caller.epoch);
            events.push(EventKind::BecameVisible { transaction: file, by, epoch, records });
        }
        self.snapshots.push(Some(file));
        debug_assert!(!events.is_empty(), "an empty file becomes visible too");
        SnapshotsAnswer::Done
    }
}

#[cfg(test)]
mod tests;
