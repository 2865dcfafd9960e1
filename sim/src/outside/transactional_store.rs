//! A store of transactions, with prepare and commit as two steps and a fence per writer.
//!
//! The key is the shown name; (leader epoch, attempt) is the writer's fence. A begin or a recovery with a newer fence
//! refuses every later begin, write and prepare of an older one and rolls back its *open* work. *Prepared* work belongs
//! to checkpoints: only a recovery ends it, and only where the checkpoint that is restored does not hold it. A commit
//! carries no fence, because whoever holds the committable of a completed checkpoint may commit it.
//!
//! A name that was committed can be begun again, as in a database that forgets finished transactions. That is the
//! client's mistake, and the store tells the truth about it: the new content becomes visible too.

use super::VisibleLedger;
use super::content::Content;
use super::store::{Caller, OpenTransaction};
use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::{CheckpointId, Fence, SubtaskId, TransactionName};
use splitrace_runtime::message::{StoreReply, StoreRequest};
use splitrace_runtime::records::Record;
use std::collections::{BTreeMap, BTreeSet};

/// One writer's work under one name that is neither visible nor rolled back.
#[derive(Clone, Debug, Hash)]
struct Work {
    fence: Fence,
    prepared: bool,
    /// The numbers of the writes that it holds.
    writes: BTreeSet<u32>,
    content: Content,
}

/// The store of transactions.
#[derive(Clone, Debug, Hash)]
pub struct TransactionalStore {
    defects: DefectSet,
    /// The newest fence of each writer.
    fences: BTreeMap<SubtaskId, Fence>,
    /// At most one entry per name, unless a zombie's work is kept beside by a defect.
    work: BTreeMap<TransactionName, Vec<Work>>,
    committed: BTreeSet<TransactionName>,
    visible: VisibleLedger,
}

impl TransactionalStore {
    /// An empty store.
    #[must_use]
    pub const fn new(defects: DefectSet) -> Self {
        Self {
            defects,
            fences: BTreeMap::new(),
            work: BTreeMap::new(),
            committed: BTreeSet::new(),
            visible: VisibleLedger::EMPTY,
        }
    }

    /// What was made visible.
    #[must_use]
    pub const fn visible(&self) -> &VisibleLedger {
        &self.visible
    }

    /// Work that is neither visible nor rolled back, by name.
    #[must_use]
    pub fn open_transactions(&self) -> Vec<OpenTransaction> {
        let open = |(name, works): (&TransactionName, &Vec<Work>)| {
            let name = *name;
            let describe = move |work: &Work| OpenTransaction {
                name,
                fence: work.fence,
                prepared: work.prepared,
                records: work.content.distinct(),
            };
            works.iter().map(describe).collect::<Vec<_>>()
        };
        self.work.iter().flat_map(open).collect()
    }

    /// It dies and comes back: open work is lost, and no client is told.
    pub(super) fn crash(&mut self, events: &mut Vec<EventKind>) {
        for writer in self.fences.keys().copied().collect::<Vec<_>>() {
            self.roll_back(writer, |_, work| !work.prepared, events);
        }
        debug_assert!(self.work.values().flatten().all(|work| work.prepared), "what is left is durable");
    }

    pub(super) fn execute(
        &mut self,
        caller: Caller,
        request: StoreRequest,
        events: &mut Vec<EventKind>,
    ) -> StoreReply {
        match request {
            StoreRequest::InitTransactions { writer, parallelism, keep } => {
                self.recover(caller.fence(), writer, parallelism, &keep, events)
            }
            StoreRequest::Begin { name } => self.begin(caller.fence(), name, events),
            StoreRequest::Write { name, index, records } => {
                self.write(caller.fence(), name, index, &records, events)
            }
            StoreRequest::Prepare { name, writes } => self.prepare(caller.fence(), name, writes, events),
            StoreRequest::Commit { name } => self.commit(caller, name, events),
            other => panic!("a transactional sink asks in its own words: {other:?}"),
        }
    }

    /// A recovery is refused to an older fence even where a defect lets its writes pass: nobody fenced by a newer
    /// attempt may roll that one's work back.
    fn recover(
        &mut self,
        fence: Fence,
        writer: SubtaskId,
        parallelism: u32,
        keep: &[TransactionName],
        events: &mut Vec<EventKind>,
    ) -> StoreReply {
        debug_assert!(writer.subtask.0 < parallelism, "the vertex has this writer");
        debug_assert!(keep.iter().all(|name| name.writer.vertex == writer.vertex), "a vertex keeps its own");
        if self.fences.get(&writer).is_some_and(|newest| fence < *newest) {
            // The event names a transaction, and a recovery is about none: number 0 stands for 'all of the writer'.
            let transaction = TransactionName::new(writer, CheckpointId(0));
            events.push(EventKind::StoreRefused { transaction, fence });
            return StoreReply::Fenced;
        }
        let lost =
            |name: &TransactionName, work: &Work| work.prepared && work.fence < fence && !keep.contains(name);
        for writer in std::iter::once(writer).chain(self.gone(writer, parallelism)) {
            self.fence_off(writer, fence, events);
            self.roll_back(writer, lost, events);
        }
        if events.is_empty() { StoreReply::AlreadyDone } else { StoreReply::Done }
    }

    /// The writers that this one stands in for: the vertex has them no more.
    fn gone(&self, writer: SubtaskId, parallelism: u32) -> Vec<SubtaskId> {
        let is_gone = |other: &SubtaskId| *other != writer && other.stand_in(parallelism) == writer;
        self.fences.keys().copied().filter(is_gone).collect()
    }

    fn begin(&mut self, fence: Fence, name: TransactionName, events: &mut Vec<EventKind>) -> StoreReply {
        if self.refuses(name, fence, events) {
            return StoreReply::Fenced;
        }
        self.fence_off(name.writer, fence, events);
        let zombie = self.fences[&name.writer] > fence;
        let works = self.work.entry(name).or_default();
        if works.iter().any(|work| work.fence == fence) {
            return StoreReply::AlreadyDone;
        }
        if works.iter().any(|work| work.prepared) && !zombie {
            // Another attempt's prepared work is in the way, and only a commit or a recovery may end it.
            return StoreReply::NotFound;
        }
        works.push(Work { fence, prepared: false, writes: BTreeSet::new(), content: Content::default() });
        events.push(EventKind::TransactionBegun { transaction: name, fence });
        StoreReply::Done
    }

    fn write(
        &mut self,
        fence: Fence,
        name: TransactionName,
        index: u32,
        records: &[Record],
        events: &mut Vec<EventKind>,
    ) -> StoreReply {
        if self.refuses(name, fence, events) {
            return StoreReply::Fenced;
        }
        let Some(work) = self.work_of(name, fence) else {
            return StoreReply::NotFound;
        };
        if work.writes.contains(&index) {
            return StoreReply::AlreadyDone;
        }
        if work.prepared {
            return StoreReply::NotFound;
        }
        work.writes.insert(index);
        work.content.add(records);
        let records = records.iter().collect();
        events.push(EventKind::TransactionWritten { transaction: name, fence, records });
        StoreReply::Done
    }

    fn prepare(
        &mut self,
        fence: Fence,
        name: TransactionName,
        writes: u32,
        events: &mut Vec<EventKind>,
    ) -> StoreReply {
        if self.refuses(name, fence, events) {
            return StoreReply::Fenced;
        }
        let Some(work) = self.work_of(name, fence) else {
            return StoreReply::NotFound;
        };
        // A write may have been lost on the way: making the rest durable would lose its records for good.
        if !work.writes.iter().copied().eq(0..writes) {
            return StoreReply::NotFound;
        }
        if work.prepared {
            return StoreReply::AlreadyDone;
        }
        work.prepared = true;
        let records = work.content.distinct();
        events.push(EventKind::TransactionDurable { transaction: name, fence, records });
        StoreReply::Done
    }

    fn commit(&mut self, caller: Caller, name: TransactionName, events: &mut Vec<EventKind>) -> StoreReply {
        let works = self.work.entry(name).or_default();
        let prepared = works.iter().position(|work| work.prepared).map(|index| works.remove(index));
        if works.is_empty() {
            self.work.remove(&name);
        }
        let Some(work) = prepared else {
            if !self.committed.contains(&name) {
                return StoreReply::NotFound;
            }
            events.push(EventKind::AlreadyVisible { transaction: name });
            return StoreReply::AlreadyDone;
        };
        self.committed.insert(name);
        for records in work.content.into_layers() {
            self.visible.add(name, records.clone());
            let (by, epoch) = (caller.attempt, caller.epoch);
            events.push(EventKind::BecameVisible { transaction: name, by, epoch, records });
        }
        debug_assert!(!events.is_empty(), "an empty transaction becomes visible too");
        StoreReply::Done
    }

    /// Whether the fence is older than the newest of the writer; says so in the ledger.
    fn refuses(&self, name: TransactionName, fence: Fence, events: &mut Vec<EventKind>) -> bool {
        let older = self.fences.get(&name.writer).is_some_and(|newest| fence < *newest);
        if older && !self.defects.has(Defect::ZombiePrepareAccepted) {
            events.push(EventKind::StoreRefused { transaction: name, fence });
            return true;
        }
        false
    }

    /// Takes a newer fence: the open work of older ones is rolled back, their prepared work is not touched.
    fn fence_off(&mut self, writer: SubtaskId, fence: Fence, events: &mut Vec<EventKind>) {
        if self.fences.get(&writer).is_some_and(|newest| fence <= *newest) {
            return;
        }
        self.fences.insert(writer, fence);
        events.push(EventKind::WriterFenced { writer, fence });
        if !self.defects.has(Defect::ZombiePrepareAccepted) {
            self.roll_back(writer, |_, work| !work.prepared, events);
        }
    }

    fn roll_back(
        &mut self,
        writer: SubtaskId,
        lost: impl Fn(&TransactionName, &Work) -> bool,
        events: &mut Vec<EventKind>,
    ) {
        let first = TransactionName::new(writer, CheckpointId(0));
        let last = TransactionName::new(writer, CheckpointId(u64::MAX));
        for (name, works) in self.work.range_mut(first..=last) {
            debug_assert!(name.writer == writer, "names sort by writer first");
            works.retain(|work| {
                let lost = lost(name, work);
                if lost {
                    events.push(EventKind::TransactionRolledBack {
                        transaction: *name,
                        prepared: work.prepared,
                    });
                }
                !lost
            });
        }
        self.work.retain(|_, works| !works.is_empty());
    }

    fn work_of(&mut self, name: TransactionName, fence: Fence) -> Option<&mut Work> {
        self.work.get_mut(&name)?.iter_mut().find(|work| work.fence == fence)
    }
}

#[cfg(test)]
mod tests;
