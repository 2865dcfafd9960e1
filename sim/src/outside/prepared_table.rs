//! A table with prepared transactions, in the manner of PostgreSQL.
//!
//! A session and its open transaction die with the connection: when its client connects anew, when the client or the server
//! dies, and when a reply is lost, since it is lost with the connection that it came on. Prepared transactions and
//! committed rows survive all of that. No life of a client fences another off. The answers are those of a real server, and
//! a test holds that (`fuzz/splitrace/tests/postgres_parity.rs`).

use super::VisibleLedger;
use super::content::Content;
use super::store::{Caller, OpenTransaction};
use splitrace_runtime::api::table_io::{TableAnswer, TableOperation};
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::{ExecutionAttemptId, Fence, LeaderEpoch, OperatorUid, TransactionName};
use splitrace_runtime::records::Record;
use std::collections::{BTreeMap, BTreeSet};

/// Who is connected: one execution.
type Client = (ExecutionAttemptId, LeaderEpoch);

/// The latest session of a client.
#[derive(Clone, Debug, Hash)]
struct Session {
    number: u32,
    /// Whether the connection stands.
    open: bool,
    transaction: Option<Work>,
}

/// A transaction, open or prepared.
#[derive(Clone, Debug, Hash)]
struct Work {
    name: TransactionName,
    fence: Fence,
    content: Content,
}

/// See the module.
#[derive(Clone, Debug, Default, Hash)]
pub struct PreparedTable {
    sessions: BTreeMap<Client, Session>,
    prepared: BTreeMap<TransactionName, Work>,
    /// The names whose proof is visible.
    proofs: BTreeSet<TransactionName>,
    visible: VisibleLedger,
}

impl PreparedTable {
    /// What was made visible.
    #[must_use]
    pub const fn visible(&self) -> &VisibleLedger {
        &self.visible
    }

    /// Work that is neither visible nor rolled back: what is prepared, then what is open.
    #[must_use]
    pub fn open_transactions(&self) -> Vec<OpenTransaction> {
        let describe = |work: &Work, prepared| OpenTransaction {
            name: work.name,
            fence: work.fence,
            prepared,
            records: work.content.distinct(),
        };
        let prepared = self.prepared.values().map(|work| describe(work, true));
        let open = self.sessions.values().filter_map(|session| session.transaction.as_ref());
        prepared.chain(open.map(|work| describe(work, false))).collect()
    }

    /// Carries an operation out and tells nobody but who asked.
    pub fn perform(
        &mut self,
        attempt: ExecutionAttemptId,
        epoch: LeaderEpoch,
        operation: TableOperation,
    ) -> TableAnswer {
        self.execute(Caller { attempt, epoch }, operation, &mut Vec::new())
    }

    /// The connection of an execution is gone, and its open transaction with it.
    pub fn disconnect(
        &mut self,
        attempt: ExecutionAttemptId,
        epoch: LeaderEpoch,
        events: &mut Vec<EventKind>,
    ) {
        if let Some(session) = self.sessions.get_mut(&(attempt, epoch)) {
            session.close(events);
        }
    }

    /// The server dies and comes back: what is prepared or committed is there again, and no session is.
    pub fn crash(&mut self, events: &mut Vec<EventKind>) {
        self.sessions.values_mut().for_each(|session| session.close(events));
        debug_assert!(self.sessions.values().all(|session| session.transaction.is_none()));
    }

    pub(super) fn execute(
        &mut self,
        caller: Caller,
        operation: TableOperation,
        events: &mut Vec<EventKind>,
    ) -> TableAnswer {
        let client = (caller.attempt, caller.epoch);
        match operation {
            TableOperation::Connect { session } => self.connect(client, session, events),
            TableOperation::Begin { session, transaction } => {
                self.begin(caller, session, transaction, events)
            }
            TableOperation::Insert { session, records } => self.insert(caller, session, &records, events),
            TableOperation::Prepare { session } => self.prepare(client, session, events),
            TableOperation::ListPrepared { vertex } => self.list(caller, vertex, events),
            TableOperation::RollbackPrepared { transaction } => self.roll_back(transaction, events),
            TableOperation::CommitPrepared { transaction } => self.commit(caller, transaction, events),
            TableOperation::LookForProof { transaction } => {
                let is_there = self.proofs.contains(&transaction);
                if is_there {
                    events.push(EventKind::AlreadyVisible { transaction });
                }
                TableAnswer::Proof(is_there)
            }
        }
    }

    fn connect(&mut self, client: Client, number: u32, events: &mut Vec<EventKind>) -> TableAnswer {
        match self.sessions.get_mut(&client) {
            Some(held) if held.number > number || (held.number == number && !held.open) => {
                return TableAnswer::NoSession;
            }
            Some(held) if held.number == number => return TableAnswer::Done,
            Some(held) => held.close(events),
            None => {}
        }
        self.sessions.insert(client, Session { number, open: true, transaction: None });
        TableAnswer::Done
    }

    fn begin(
        &mut self,
        caller: Caller,
        number: u32,
        name: TransactionName,
        events: &mut Vec<EventKind>,
    ) -> TableAnswer {
        let Some(session) = self.session((caller.attempt, caller.epoch), number) else {
            return TableAnswer::NoSession;
        };
        if session.transaction.is_some() {
            return TableAnswer::InTransaction;
        }
        let fence = caller.fence();
        session.transaction = Some(Work { name, fence, content: Content::default() });
        events.push(EventKind::TransactionBegun { transaction: name, fence });
        TableAnswer::Done
    }

    fn insert(
        &mut self,
        caller: Caller,
        number: u32,
        records: &[Record],
        events: &mut Vec<EventKind>,
    ) -> TableAnswer {
        let Some(session) = self.session((caller.attempt, caller.epoch), number) else {
            return TableAnswer::NoSession;
        };
        let Some(work) = &mut session.transaction else {
            return TableAnswer::NoTransaction;
        };
        work.content.add(records);
        let (transaction, fence, records) = (work.name, work.fence, records.iter().collect());
        events.push(EventKind::TransactionWritten { transaction, fence, records });
        TableAnswer::Done
    }

    fn prepare(&mut self, client: Client, number: u32, events: &mut Vec<EventKind>) -> TableAnswer {
        let Some(session) = self.session(client, number) else {
            return TableAnswer::NoSession;
        };
        let Some(work) = session.transaction.take() else {
            return TableAnswer::NoTransaction;
        };
        if self.prepared.contains_key(&work.name) {
            events.push(work.rolled_back(false));
            return TableAnswer::NameInUse;
        }
        let records = work.content.distinct();
        events.push(EventKind::TransactionDurable { transaction: work.name, fence: work.fence, records });
        self.prepared.insert(work.name, work);
        TableAnswer::Done
    }

    fn list(&self, caller: Caller, vertex: OperatorUid, events: &mut Vec<EventKind>) -> TableAnswer {
        let (writer, fence) = (caller.attempt.subtask_id(), caller.fence());
        events.push(EventKind::LeftoversListed { writer, fence });
        TableAnswer::Prepared(
            self.prepared.keys().filter(|name| name.writer.vertex == vertex).copied().collect(),
        )
    }

    fn roll_back(&mut self, name: TransactionName, events: &mut Vec<EventKind>) -> TableAnswer {
        let Some(work) = self.prepared.remove(&name) else {
            return TableAnswer::DoesNotExist;
        };
        debug_assert!(
            !self.proofs.contains(&name),
            "a proof is visible only once the transaction is committed"
        );
        events.push(work.rolled_back(true));
        TableAnswer::Done
    }

    fn commit(&mut self, caller: Caller, name: TransactionName, events: &mut Vec<EventKind>) -> TableAnswer {
        let Some(work) = self.prepared.remove(&name) else {
            return TableAnswer::DoesNotExist;
        };
        self.proofs.insert(name);
        for records in work.content.into_layers() {
            self.visible.add(name, records.clone());
            let (by, epoch) = (caller.attempt, caller.epoch);
            events.push(EventKind::BecameVisible { transaction: name, by, epoch, records });
        }
        debug_assert!(!events.is_empty(), "an empty transaction becomes visible too");
        TableAnswer::Done
    }

    fn session(&mut self, client: Client, number: u32) -> Option<&mut Session> {
        self.sessions.get_mut(&client).filter(|session| session.open && session.number == number)
    }
}

impl Session {
    fn close(&mut self, events: &mut Vec<EventKind>) {
        self.open = false;
        if let Some(work) = self.transaction.take() {
            events.push(work.rolled_back(false));
        }
    }
}

impl Work {
    const fn rolled_back(&self, prepared: bool) -> EventKind {
        EventKind::TransactionRolledBack { transaction: self.name, prepared }
    }
}

#[cfg(test)]
mod tests;
