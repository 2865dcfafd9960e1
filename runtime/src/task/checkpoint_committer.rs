//! What both committer operators share: what was collected, the committer behind its port, and at most one commit.
//!
//! A commit goes checkpoint by checkpoint, ascending. All pending requests of one checkpoint are asked for together, and
//! when all are answered those to be retried are asked for again at once, see [`CheckpointCommit`] (FACTS 67, 69). A
//! committable leaves the state only when its whole checkpoint is settled, so a task that dies while it commits again finds
//! all of it in the restored checkpoint.

use super::commit_signals::{heed, outcome, outcome_signalled};
use super::committable_collector::{
    CheckpointCommit, CheckpointCommittableManager, CommitStep, CommittableCollector, CommittableError,
    CommittableMessage, CommittableSummary, CommittableWithLineage,
};
use super::store_client::StoreClient;
use super::task_error::TaskError;
use crate::actor::Outbox;
use crate::api::sink::{CommittablePayload, CommitterPort, SinkIo, StoreAnswer};
use crate::defects::{Defect, DefectSet};
use crate::event::EventKind;
use crate::ids::{CallId, CheckpointId, SubtaskIndex, TransactionName};
use crate::records::RecordRanges;
use std::fmt::{self, Debug, Formatter};

/// How far a commit has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CommitProgress {
    /// Everything up to the asked checkpoint is answered.
    Settled,
    /// Answers are due.
    Waiting,
}

/// Up to where a commit goes, and how.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct CommitScope {
    pub(super) up_to: CheckpointId,
    /// A restored checkpoint holds it.
    pub(super) recommit: bool,
    /// It ends at the first checkpoint of which something is still to come (FACT 81).
    pub(super) only_whole: bool,
}

/// A commit that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Round {
    scope: CommitScope,
    /// That of the lowest checkpoint.
    commit: CheckpointCommit,
}

/// Under which name a committer tells downstream what it has committed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Emission {
    /// The committer's subtask.
    pub subtask: SubtaskIndex,
    /// How many subtasks the committer has.
    pub parallelism: u32,
}

/// What a commit works with in one turn of its task.
pub struct CommitTurn<'a> {
    /// The way to the outside store.
    pub store: &'a mut StoreClient,
    /// Takes the events.
    pub outbox: &'a mut Outbox,
    /// Takes what goes downstream.
    pub emit: &'a mut dyn FnMut(CommittableMessage),
}

impl Debug for CommitTurn<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CommitTurn").field("store", &self.store).finish_non_exhaustive()
    }
}

/// See the module.
#[derive(Clone, Hash, Debug)]
pub(super) struct CheckpointCommitter {
    committer: Box<dyn CommitterPort>,
    collector: CommittableCollector,
    retries_max: u32,
    emission: Option<Emission>,
    defects: DefectSet,
    round: Option<Round>,
}

impl CheckpointCommitter {
    pub(super) fn new(
        committer: Box<dyn CommitterPort>,
        retries_max: u32,
        emission: Option<Emission>,
        defects: DefectSet,
    ) -> Self {
        let collector = CommittableCollector::default();
        Self { committer, collector, retries_max, emission, defects, round: None }
    }

    pub(super) const fn collector(&self) -> &CommittableCollector {
        &self.collector
    }

    /// Takes an element of a restored state, beside those taken before (FACT 75).
    pub(super) fn restore(&mut self, bytes: &[u8]) -> Result<(), TaskError> {
        debug_assert!(self.round.is_none(), "a state is restored before anything is committed");
        let committer = &self.committer;
        let records_held = |payload: &CommittablePayload| committer.records_held(payload);
        self.collector.merge(CommittableCollector::from_bytes(bytes, self.defects, records_held)?);
        Ok(())
    }

    pub(super) fn drop_restored(&mut self) {
        self.collector.clear();
    }

    pub(super) fn process(&mut self, message: CommittableMessage) -> Result<(), CommittableError> {
        debug_assert!(self.round.is_none(), "the task waits while a commit is under way");
        let (checkpoint, subtask) = (message.checkpoint(), message.subtask());
        let is_summary = matches!(message, CommittableMessage::Summary(_));
        let is_second = is_summary && self.collector.has_announced(checkpoint, subtask);
        if is_second && self.defects.has(Defect::SecondEndOfInputRejected) {
            return Err(CommittableError::DuplicateSummary { checkpoint, subtask });
        }
        self.collector.add_message(message)
    }

    pub(super) fn commit(
        &mut self,
        scope: CommitScope,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        debug_assert!(self.round.is_none(), "one commit at a time: the task waits for it");
        self.advance(Round { scope, commit: CheckpointCommit::new(self.retries_max, self.defects) }, turn)
    }

    pub(super) fn records_of(&self, call: CallId) -> Option<&RecordRanges> {
        self.collector.awaiting(call).map(|request| &request.committable.records)
    }

    pub(super) fn answered(
        &mut self,
        call: CallId,
        answer: StoreAnswer,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        let round = self.round.take().expect("an answer belongs to a commit");
        let request = self.collector.awaiting_mut(call).expect("the caller looked before");
        let transaction = request.committable.payload.transaction;
        let told = outcome(&answer);
        let payload = &mut request.committable.payload;
        let mut io = SinkIo::default();
        let signal = self.committer.answered(payload, &mut request.retries, answer, &mut io)?;
        let Some(signal) = signal else {
            let next = io.next_request().expect("without a signal it is one more store request");
            request.under_way = Some(turn.store.ask(next, None, turn.outbox));
            self.round = Some(round);
            return Ok(CommitProgress::Waiting);
        };
        let outcome = told.unwrap_or_else(|| outcome_signalled(&signal));
        turn.outbox.emit(EventKind::CommitAnswered { transaction, outcome });
        heed(request, signal, self.defects)?;
        self.advance(round, turn)
    }

    pub(super) fn snapshot_state(&self) -> Vec<u8> {
        debug_assert!(self.round.is_none(), "no barrier passes while a commit is under way");
        self.collector.to_bytes(self.defects)
    }

    pub(super) fn waiting_for(&self) -> Option<String> {
        self.collector.pending().find_map(|request| {
            let transaction = request.committable.payload.transaction;
            request.under_way.map(|call| format!("commit {transaction} ({call})"))
        })
    }

    pub(super) fn transactions(&self) -> impl Iterator<Item = TransactionName> {
        self.collector.pending().map(|request| request.committable.payload.transaction)
    }

    /// Goes on until an answer is due or everything is settled.
    fn advance(&mut self, mut round: Round, turn: &mut CommitTurn<'_>) -> Result<CommitProgress, TaskError> {
        debug_assert!(self.round.is_none(), "whoever goes on took the round");
        while let Some(checkpoint) = due(&mut self.collector, round.scope, self.defects) {
            if round.scope.only_whole && !checkpoint.has_globally_received_all() {
                break;
            }
            match round.commit.advance(checkpoint)? {
                CommitStep::Call { again } => self.call(round.scope, again, turn)?,
                CommitStep::Wait => {
                    self.round = Some(round);
                    return Ok(CommitProgress::Waiting);
                }
                CommitStep::Done => {
                    if let Some(emission) = self.emission {
                        tell(checkpoint, emission, turn.emit);
                    }
                    let settled = checkpoint.checkpoint();
                    self.collector.remove(settled);
                    round.commit = CheckpointCommit::new(self.retries_max, self.defects);
                }
            }
        }
        Ok(CommitProgress::Settled)
    }

    /// Asks for everything that is pending of the lowest checkpoint, together. A committer may decide without the store.
    fn call(&mut self, scope: CommitScope, again: bool, turn: &mut CommitTurn<'_>) -> Result<(), TaskError> {
        let checkpoint = due(&mut self.collector, scope, self.defects).expect("the caller looked before");
        self.committer.call_begins(&checkpoint.pending_payloads());
        for request in checkpoint.pending_mut() {
            debug_assert!(request.under_way.is_none(), "the answers of one call come before the next");
            let retries = request.retries;
            let payload = &mut request.committable.payload;
            let transaction = payload.transaction;
            if again {
                turn.outbox.emit(EventKind::CommitRetried { transaction, retries });
            }
            let mut io = SinkIo::default();
            if let Some(signal) = self.committer.commit(payload, &mut request.retries, &mut io)? {
                let outcome = outcome_signalled(&signal);
                turn.outbox.emit(EventKind::CommitAnswered { transaction, outcome });
                heed(request, signal, self.defects)?;
                continue;
            }
            let asked = io.next_request().expect("without a signal it is one store request");
            debug_assert!(io.is_empty(), "a commit is one store request");
            let (records, recommit) = (request.committable.records.clone(), scope.recommit);
            let event = EventKind::CommitRequested { transaction, records, retries, recommit };
            request.under_way = Some(match io.stand_still_ns() {
                0 => turn.store.ask(asked, Some(event), turn.outbox),
                delay_ns => turn.store.ask_after(delay_ns, asked, event, turn.outbox),
            });
        }
        Ok(())
    }
}

/// The checkpoint that is committed next: the lowest there is (FACT 67).
fn due(
    collector: &mut CommittableCollector,
    scope: CommitScope,
    defects: DefectSet,
) -> Option<&mut CheckpointCommittableManager> {
    if !scope.recommit && defects.has(Defect::OnlyNoticedCommitted) {
        return collector.checkpoint_mut(scope.up_to);
    }
    collector.first_up_to(scope.up_to)
}

/// Tells downstream what is committed of a checkpoint: the summary comes first, also when nothing is (FACT 67).
fn tell(
    checkpoint: &CheckpointCommittableManager,
    emission: Emission,
    emit: &mut dyn FnMut(CommittableMessage),
) {
    debug_assert!(checkpoint.is_finished(), "only what is settled is told");
    let subtask = emission.subtask;
    let committables = checkpoint.successful().count() as u32;
    // A committer with more subtasks than there were writers does not wait for summaries that nobody sends.
    let number_of_subtasks = emission.parallelism.min(checkpoint.number_of_subtasks());
    let checkpoint_id = checkpoint.checkpoint();
    emit(CommittableMessage::Summary(CommittableSummary {
        subtask,
        number_of_subtasks,
        checkpoint: checkpoint_id,
        committables,
        failed: 0,
    }));
    for committable in checkpoint.successful().cloned() {
        let lineage = CommittableWithLineage { committable, checkpoint: checkpoint_id, subtask };
        emit(CommittableMessage::Committable(lineage));
    }
}
