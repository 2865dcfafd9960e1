//! The common face of the stores that records are committed to.

use super::log::Moment;
use super::{
    AppendStore, FileStore, OutsideDecision, PreparedTable, SnapshotTable, TransactionalLog,
    TransactionalStore, VisibleLedger,
};
use crate::choices::Choices;
use splitrace_runtime::actor::{Effect, Outbox};
use splitrace_runtime::api::snapshots_io::SnapshotsOperation;
use splitrace_runtime::config::SinkKind;
use splitrace_runtime::defects::DefectSet;
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::{
    CallId, ExecutionAttemptId, Fence, LeaderEpoch, ProcessAddress, TransactionName,
};
use splitrace_runtime::message::{Message, StoreReply, StoreRequest, Stream, TaskMessage};
use splitrace_runtime::records::RecordRanges;
use std::hash::{Hash, Hasher};

/// The execution that a call comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Caller {
    pub(super) attempt: ExecutionAttemptId,
    pub(super) epoch: LeaderEpoch,
}

impl Caller {
    pub(super) const fn fence(self) -> Fence {
        Fence { leader_epoch: self.epoch, attempt: self.attempt.attempt }
    }
}

/// Work in a store that is neither visible nor rolled back.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OpenTransaction {
    /// Its name.
    pub name: TransactionName,
    /// Who works on it.
    pub fence: Fence,
    /// Whether only a commit or a recovery can end it.
    pub prepared: bool,
    /// What a commit would make visible.
    pub records: RecordRanges,
}

/// The outside system of a job's sinks.
///
/// Each call that arrives is executed: the session layer has dropped duplicates of frames, and a client that repeats a
/// call relies on requests being idempotent by name. [`StoreRequest::Append`] is not, which is its point.
#[derive(Clone, Debug, Hash)]
pub enum Store {
    /// The ledger of names that appends records.
    Append(AppendStore),
    /// The store of transactions.
    Transactional(TransactionalStore),
    /// The file system, or the object store.
    Files(FileStore),
    /// The table with prepared transactions.
    Prepared(PreparedTable),
    /// The table format.
    Snapshots(SnapshotTable),
    /// The partitioned log.
    Log(TransactionalLog),
}

impl Store {
    /// An empty store.
    #[must_use]
    pub fn new(kind: SinkKind, defects: DefectSet) -> Self {
        match kind {
            SinkKind::Append => Self::Append(AppendStore::default()),
            SinkKind::Transactional => Self::Transactional(TransactionalStore::new(defects)),
            SinkKind::Files(files) => Self::Files(FileStore::new(files.medium)),
            SinkKind::PreparedTable => Self::Prepared(PreparedTable::default()),
            SinkKind::SnapshotTable => Self::Snapshots(SnapshotTable::default()),
            SinkKind::Log(_) => Self::Log(TransactionalLog::new(defects)),
        }
    }

    /// Executes one call, at this time of its clock, and answers it.
    ///
    /// # Panics
    /// When the host routes any other message here, or when a sink of the other kind calls.
    pub fn handle(
        &mut self,
        from: ProcessAddress,
        message: Message,
        decision: OutsideDecision,
        now_ns: u64,
        outbox: &mut Outbox,
    ) {
        let Message::Store { attempt, epoch, call, request } = message else {
            panic!("only calls to the store are routed to it: {message:?}");
        };
        let caller = Caller { attempt, epoch };
        let mut events = Vec::new();
        let in_session = matches!(&request, StoreRequest::Table(operation) if operation.session().is_some());
        let reply = if decision.unavailable {
            StoreReply::Unavailable
        } else {
            let moment = Moment { now_ns, acknowledged: !decision.lose_reply };
            self.execute(caller, request, moment, &mut events)
        };
        debug_assert!(events.is_empty() || reply != StoreReply::Unavailable, "'not now' is without effect");
        if decision.lose_reply && in_session {
            // Such a reply is lost with the connection that it came on.
            self.lose_client(attempt, epoch, &mut events);
        }
        answer(from, caller, call, reply, decision.lose_reply, events, outbox);
    }

    /// Whether it has connections, and must be told when a client is gone.
    #[must_use]
    pub const fn has_connections(&self) -> bool {
        match self {
            Self::Prepared(_) => true,
            Self::Files(store) => store.has_uploads(),
            Self::Append(_) | Self::Transactional(_) | Self::Snapshots(_) | Self::Log(_) => false,
        }
    }

    /// Whether another writer could get in before this call.
    #[must_use]
    pub const fn is_contended(&self, message: &Message) -> bool {
        let request = match message {
            Message::Store { request, .. } => request,
            _ => return false,
        };
        matches!(request, StoreRequest::Snapshots(SnapshotsOperation::Commit { .. }))
    }

    /// Another writer gets in.
    ///
    /// # Panics
    /// When the store is none that others write to.
    pub fn interfere(&mut self) {
        match self {
            Self::Snapshots(table) => table.commit_foreign(),
            other => panic!("nobody else writes here: {other:?}"),
        }
    }

    /// The connection of an execution is gone.
    pub fn lose_client(
        &mut self,
        attempt: ExecutionAttemptId,
        epoch: LeaderEpoch,
        events: &mut Vec<EventKind>,
    ) {
        match self {
            Self::Append(_) | Self::Transactional(_) | Self::Snapshots(_) | Self::Log(_) => {}
            Self::Files(store) => store.lose_client(attempt, epoch, events),
            Self::Prepared(table) => table.disconnect(attempt, epoch, events),
        }
    }

    /// The store dies and comes back with all that is durable: what a commit or a prepare acknowledged is, what is merely
    /// open is not.
    pub fn crash(&mut self, choices: &mut dyn Choices, events: &mut Vec<EventKind>) {
        match self {
            // What it took is durable.
            Self::Append(_) | Self::Snapshots(_) => {}
            Self::Files(store) => store.crash(choices, events),
            Self::Transactional(store) => store.crash(events),
            Self::Prepared(table) => table.crash(events),
            Self::Log(log) => log.crash(),
        }
    }

    /// What was made visible.
    #[must_use]
    pub const fn visible(&self) -> &VisibleLedger {
        match self {
            Self::Append(store) => store.visible(),
            Self::Transactional(store) => store.visible(),
            Self::Files(store) => store.visible(),
            Self::Prepared(table) => table.visible(),
            Self::Snapshots(table) => table.visible(),
            Self::Log(log) => log.visible(),
        }
    }

    /// Work that is neither visible nor rolled back, by name; the append store has none.
    #[must_use]
    pub fn open_transactions(&self) -> Vec<OpenTransaction> {
        match self {
            Self::Append(_) => Vec::new(),
            Self::Transactional(store) => store.open_transactions(),
            Self::Files(store) => store.open_transactions(),
            Self::Prepared(table) => table.open_transactions(),
            Self::Snapshots(table) => table.open_transactions(),
            Self::Log(log) => log.open_transactions(),
        }
    }

    /// Feeds the whole state into `hasher`.
    pub fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.hash(&mut hasher);
    }

    fn execute(
        &mut self,
        caller: Caller,
        request: StoreRequest,
        moment: Moment,
        events: &mut Vec<EventKind>,
    ) -> StoreReply {
        match self {
            Self::Append(store) => store.execute(caller, request, events),
            Self::Transactional(store) => store.execute(caller, request, events),
            Self::Files(store) => store.execute(caller, request, events),
            Self::Prepared(table) => match request {
                StoreRequest::Table(operation) => StoreReply::Table(table.execute(caller, operation, events)),
                other => panic!("a table is asked in its own words: {other:?}"),
            },
            Self::Snapshots(table) => match request {
                StoreRequest::Snapshots(operation) => {
                    StoreReply::Snapshots(table.execute(caller, operation, events))
                }
                other => panic!("a table format is asked in its own words: {other:?}"),
            },
            Self::Log(log) => match request {
                StoreRequest::Log(operation) => {
                    StoreReply::Log(log.execute(caller, operation, moment, events))
                }
                other => panic!("a log is asked in its own words: {other:?}"),
            },
        }
    }
}

/// Sends the reply with the last event attached to it; a lost reply leaves the events alone.
fn answer(
    to: ProcessAddress,
    caller: Caller,
    call: CallId,
    reply: StoreReply,
    lost: bool,
    mut events: Vec<EventKind>,
    outbox: &mut Outbox,
) {
    let last = if lost { None } else { events.pop() };
    for event in events {
        outbox.emit(event);
    }
    if lost {
        return;
    }
    let Caller { attempt, epoch } = caller;
    let message = Message::Task { epoch, attempt, message: TaskMessage::StoreReply { call, reply } };
    let send = Effect::Send { to, stream: Stream::StoreReplies(attempt), message, token: None };
    match last {
        Some(event) => outbox.effect_with(send, event),
        None => outbox.effect(send),
    }
}

#[cfg(test)]
pub(super) mod tests_support {
    //! How the tests of both stores call them.

    use super::*;
    use splitrace_runtime::ids::{AttemptNumber, CheckpointId, OperatorUid, SplitId, SubtaskIndex};
    use splitrace_runtime::records::Record;

    /// What one call brought about.
    pub(crate) struct Answer {
        pub(crate) reply: Option<StoreReply>,
        pub(crate) events: Vec<EventKind>,
    }

    pub(crate) fn execution(subtask: u32, attempt: u32) -> ExecutionAttemptId {
        ExecutionAttemptId {
            vertex: OperatorUid(0),
            subtask: SubtaskIndex(subtask),
            attempt: AttemptNumber(attempt),
        }
    }

    pub(crate) fn name(subtask: u32, number: u64) -> TransactionName {
        TransactionName::new(execution(subtask, 0).subtask_id(), CheckpointId(number))
    }

    pub(crate) fn records(ranges: &[(u64, u64)]) -> Vec<Record> {
        let offsets = ranges.iter().flat_map(|(start, end)| *start..*end);
        let split = SplitId::default();
        offsets
            .map(|offset| Record { split, offset, event_time_ms: 0, key: 0, payload: Vec::new() })
            .collect()
    }

    pub(crate) fn call(
        store: &mut Store,
        attempt: ExecutionAttemptId,
        epoch: u32,
        request: StoreRequest,
    ) -> Answer {
        call_with(store, attempt, epoch, request, OutsideDecision::default())
    }

    pub(crate) fn call_with(
        store: &mut Store,
        attempt: ExecutionAttemptId,
        epoch: u32,
        request: StoreRequest,
        decision: OutsideDecision,
    ) -> Answer {
        let (epoch, call, mut outbox) = (LeaderEpoch(epoch), CallId(9), Outbox::new());
        let from = ProcessAddress::HIGH_AVAILABILITY;
        store.handle(from, Message::Store { attempt, epoch, call, request }, decision, 0, &mut outbox);
        let mut answer = Answer { reply: None, events: Vec::new() };
        for output in outbox.drain() {
            answer.events.extend(output.event);
            if let Some(effect) = output.effect {
                let Effect::Send { to, stream, message, token: None } = effect else {
                    panic!("a store only sends: {effect:?}");
                };
                assert_eq!((to, stream), (from, Stream::StoreReplies(attempt)));
                let Message::Task { epoch: to_epoch, attempt: to_attempt, message } = message else {
                    panic!("a reply goes to a task: {message:?}");
                };
                assert_eq!((to_epoch, to_attempt), (epoch, attempt));
                let TaskMessage::StoreReply { call: answered, reply } = message else {
                    panic!("a store only replies: {message:?}");
                };
                assert_eq!(answered, call);
                assert!(answer.reply.replace(reply).is_none(), "one reply per call");
            }
        }
        answer
    }
}
