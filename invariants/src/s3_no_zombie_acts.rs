//! S3: events, notices and writes of one execution never act on another.
//!
//! Judged are: fenced effects in the store (its sequence orders them); an operator event handled by another execution
//! than the one it was let out to; a notice heeded by another execution than the one it names; a coordinator that
//! registers or serves an execution whose reset it has handled (see `reset_thresholds`); and prepared work rolled back
//! although the latest completed checkpoint holds it. Where the outside fences nobody off, each life has work of its own,
//! and what must not happen is that an older life writes into what a newer one has written into. Committing what a
//! completed checkpoint holds is no such act, whoever does it, and a zombie may read; committing anything else is C3's
//! matter. Where a log may abort a transaction by itself, because it was open for too long, no rollback is judged: nobody's
//! act brought it about.

use crate::checker::{Checker, Docket, RunSetup, task_of};
use crate::code::Code;
use crate::kinds::{Kind, KindSet};
use crate::lineage::Lineage;
use crate::promise::Level;
use crate::reset_thresholds::ResetThresholds;
use crate::table::Table;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{CheckpointContents, Event, EventKind, Header};
use splitrace_runtime::ids::*;
use splitrace_runtime::records::RecordRanges;
use std::collections::{BTreeMap, VecDeque};

/// How many operator events of one coordinator are remembered. More are never under way at once.
const RELEASED_MAX: usize = 4096;

#[derive(Clone, Debug, Hash)]
struct Released {
    epoch: LeaderEpoch,
    operator: OperatorUid,
    events: VecDeque<(OperatorEventId, ExecutionAttemptId)>,
}

/// What no zombie may do.
#[derive(Clone, Debug, Hash)]
pub struct NoZombieActs {
    docket: Docket,
    resets: ResetThresholds,
    released: Vec<Released>,
    fences: Table<Option<Fence>>,
    /// Of work that one life of a writer has to itself, the newest fence that wrote into it.
    lives: BTreeMap<TransactionName, Fence>,
    /// Prepared transactions that are neither visible nor rolled back.
    durable: BTreeMap<TransactionName, RecordRanges>,
    rolled_back: BTreeMap<TransactionName, RecordRanges>,
    /// What the latest completed checkpoint holds.
    held: Vec<(SubtaskId, TransactionName, RecordRanges)>,
    lineage: Lineage,
    /// Whether the outside never rolls prepared work back by itself.
    judges_rollbacks: bool,
}

impl NoZombieActs {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self {
            docket: Docket::new(setup, Code::S3),
            resets: ResetThresholds::default(),
            released: Vec::new(),
            fences: Table::default(),
            lives: BTreeMap::new(),
            durable: BTreeMap::new(),
            rolled_back: BTreeMap::new(),
            held: Vec::new(),
            lineage: Lineage::new(setup),
            judges_rollbacks: setup.promise.level(Code::S3) == Level::Full,
        }
    }

    fn release(
        &mut self,
        operator: OperatorUid,
        attempt: ExecutionAttemptId,
        id: OperatorEventId,
        header: &Header,
    ) {
        let key = (header.leader_epoch, operator);
        let at =
            self.released.iter().rposition(|held| (held.epoch, held.operator) == key).unwrap_or_else(|| {
                self.released.push(Released { epoch: key.0, operator, events: VecDeque::new() });
                self.released.len() - 1
            });
        let events = &mut self.released[at].events;
        if events.len() == RELEASED_MAX {
            events.pop_front();
        }
        events.push_back((id, attempt));
    }

    fn handle(
        &mut self,
        operator: OperatorUid,
        id: OperatorEventId,
        header: &Header,
    ) -> Result<(), Violation> {
        let Some((attempt, fence)) = task_of(header) else { return Ok(()) };
        let key = (fence.leader_epoch, operator);
        let Some(row) = self.released.iter().rev().find(|held| (held.epoch, held.operator) == key) else {
            return Ok(());
        };
        let Some((_, addressee)) = row.events.iter().rev().find(|(held, _)| *held == id) else {
            return Ok(());
        };
        self.docket.judged();
        if *addressee == attempt {
            return Ok(());
        }
        let sentence = format!("{attempt} handled {id} of {operator}, which was sent to {addressee}");
        Err(Violation::new(Code::S3, Subject::OperatorEvent { operator, id }, header, sentence))
    }

    fn notice(
        &mut self,
        (addressee, epoch): (ExecutionAttemptId, LeaderEpoch),
        header: &Header,
    ) -> Result<(), Violation> {
        let Some((attempt, fence)) = task_of(header) else { return Ok(()) };
        self.docket.judged();
        if (addressee, epoch) == (attempt, fence.leader_epoch) {
            return Ok(());
        }
        let sentence =
            format!("{attempt} of {} heeded a notice for {addressee} of {epoch}", fence.leader_epoch);
        Err(Violation::new(Code::S3, Subject::Attempt(addressee), header, sentence))
    }

    fn serve(&mut self, attempt: ExecutionAttemptId, header: &Header, what: &str) -> Result<(), Violation> {
        self.docket.judged();
        if !self.resets.is_stale(attempt) {
            return Ok(());
        }
        let sentence = format!("the coordinator {what} {attempt} after it had handled that subtask's reset");
        Err(Violation::new(Code::S3, Subject::Attempt(attempt), header, sentence))
    }

    fn write(
        &mut self,
        transaction: TransactionName,
        fence: Fence,
        header: &Header,
        what: &str,
    ) -> Result<(), Violation> {
        self.docket.judged();
        let before = match transaction.part {
            None => self.fences.subtask_mut(transaction.writer).replace(fence),
            Some(_) => self.lives.insert(transaction, fence),
        };
        let Some(newest) = before.filter(|newest| fence < *newest) else { return Ok(()) };
        let sentence = format!("{fence} {what} {transaction} although {newest} had fenced it off");
        Err(Violation::new(Code::S3, Subject::Transaction(transaction), header, sentence))
    }

    fn roll_back(&mut self, transaction: TransactionName, header: &Header) -> Result<(), Violation> {
        self.docket.judged();
        let prepared = self.durable.remove(&transaction);
        let held = self.held.iter().find(|(_, name, _)| *name == transaction);
        if held.is_some_and(|(.., records)| prepared.as_ref().is_none_or(|prepared| prepared == records)) {
            return Err(rolled_back(transaction, header));
        }
        if let Some(records) = prepared {
            self.rolled_back.insert(transaction, records);
        }
        Ok(())
    }

    fn complete(&mut self, contents: &CheckpointContents, header: &Header) -> Result<(), Violation> {
        for (_, name, records) in &contents.committables {
            // The store rolled it back before anybody knew that this checkpoint completes.
            if self.rolled_back.get(name) == Some(records) && self.durable.get(name) != Some(records) {
                return Err(rolled_back(*name, header));
            }
        }
        self.held.clone_from(&contents.committables);
        Ok(())
    }
}

fn rolled_back(transaction: TransactionName, header: &Header) -> Violation {
    let sentence = format!("prepared {transaction} was rolled back although a completed checkpoint holds it");
    Violation::new(Code::S3, Subject::Transaction(transaction), header, sentence)
}

impl Checker for NoZombieActs {
    const CODE: Code = Code::S3;
    const READS: KindSet = KindSet::of(&[
        Kind::OperatorEventReleased,
        Kind::OperatorEventHandled,
        Kind::CompletionNoticed,
        Kind::AbortNoticed,
        Kind::ReaderRegistered,
        Kind::SplitsAssigned,
        Kind::WriterFenced,
        Kind::TransactionBegun,
        Kind::TransactionWritten,
        Kind::TransactionDurable,
        Kind::TransactionRolledBack,
        Kind::BecameVisible,
        Kind::CheckpointCompleted,
    ])
    .with(Lineage::READS)
    .with(ResetThresholds::READS);

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        let header = &event.header;
        if self.lineage.observe(event) {
            // Work of checkpoints that are left behind may be rolled back.
            self.held.retain(|(_, name, _)| self.lineage.covers(*name));
            self.rolled_back.clear();
        }
        match &event.kind {
            EventKind::OperatorEventReleased { operator, attempt, id } => {
                self.release(*operator, *attempt, *id, header);
            }
            EventKind::OperatorEventHandled { operator, id } => return self.handle(*operator, *id, header),
            EventKind::CompletionNoticed { addressee, epoch, .. }
            | EventKind::AbortNoticed { addressee, epoch, .. } => {
                return self.notice((*addressee, *epoch), header);
            }
            EventKind::ReaderRegistered { attempt, .. } => return self.serve(*attempt, header, "registered"),
            EventKind::SplitsAssigned { attempt, .. } => {
                return self.serve(*attempt, header, "assigned splits to");
            }
            EventKind::WriterFenced { writer, fence } => {
                let newest = self.fences.subtask_mut(*writer);
                *newest = (*newest).max(Some(*fence));
            }
            EventKind::TransactionBegun { transaction, fence } => {
                return self.write(*transaction, *fence, header, "began");
            }
            EventKind::TransactionWritten { transaction, fence, .. } => {
                return self.write(*transaction, *fence, header, "wrote into");
            }
            EventKind::TransactionDurable { transaction, fence, records } => {
                self.durable.insert(*transaction, records.clone());
                // Whoever takes over a file of an older life makes it durable, and writes nothing into it: what that life
                // still adds to it does not count.
                if transaction.part.is_none() {
                    return self.write(*transaction, *fence, header, "prepared");
                }
            }
            EventKind::TransactionRolledBack { transaction, prepared: true } if self.judges_rollbacks => {
                return self.roll_back(*transaction, header);
            }
            EventKind::BecameVisible { transaction, .. } => {
                self.durable.remove(transaction);
                self.rolled_back.remove(transaction);
                self.lives.remove(transaction);
            }
            EventKind::CheckpointCompleted { contents, .. } => return self.complete(contents, header),
            _ => self.resets.observe(event),
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "s3_no_zombie_acts_tests.rs"]
mod tests;
