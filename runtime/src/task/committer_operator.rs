//! The committer behind its port: it collects by checkpoint and commits up to N once N is complete.
//!
//! A commit goes checkpoint by checkpoint, ascending. All unfinished requests of one checkpoint are asked together,
//! and when all are answered those to be retried are asked again at once, see [`CheckpointCommit`] (FACT
//! 67, 69). A committable leaves the state only when it is answered, so a task that dies while it commits again finds
//! all of it in the restored checkpoint.

use super::committable_collector::{
    CheckpointCommit, CollectedRequest, CommitStep, CommittableCollector, CommittableMessage,
};
use super::store_client::StoreClient;
use super::task_error::TaskError;
use crate::actor::Outbox;
use crate::api::sink::{CommitRequestState, CommitSignal, CommitterPort, SinkIo, StoreAnswer};
use crate::defects::{Defect, DefectSet};
use crate::event::{CommitOutcome, EventKind};
use crate::ids::{CallId, CheckpointId, TransactionName};
use crate::records::RecordRanges;

/// `sink.committer.retries` when nobody sets it.
const DEFAULT_RETRIES: u32 = 10;

/// How far a commit has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CommitProgress {
    /// Everything up to the asked checkpoint is answered.
    Settled,
    /// Answers are due.
    Waiting,
}

/// A commit that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Round {
    up_to: CheckpointId,
    recommit: bool,
    /// That of the lowest checkpoint.
    commit: CheckpointCommit,
}

/// Flink's `CommitterOperator`.
#[derive(Clone, Hash, Debug)]
pub struct CommitterOperator {
    committer: Box<dyn CommitterPort>,
    collector: CommittableCollector,
    retries_max: u32,
    defects: DefectSet,
    round: Option<Round>,
}

impl CommitterOperator {
    /// Around this committer, with `retries_max` immediate retries.
    #[must_use]
    pub fn new(committer: Box<dyn CommitterPort>, retries_max: u32, defects: DefectSet) -> Self {
        let collector = CommittableCollector::default();
        // In Flink 2.3.0 the job's configuration does not reach the operator (FACT 70).
        let ignored = defects.has(Defect::CommitterRetriesIgnored);
        let retries_max = if ignored { DEFAULT_RETRIES } else { retries_max };
        Self { committer, collector, retries_max, defects, round: None }
    }

    /// Takes the state of a completed checkpoint.
    ///
    /// # Errors
    /// When the bytes cannot be read.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), TaskError> {
        debug_assert!(self.collector.checkpoints().is_empty(), "restored before the writer exists (FACT 63)");
        let committer = &self.committer;
        self.collector = CommittableCollector::from_bytes(bytes, |payload| committer.records_held(payload))?;
        Ok(())
    }

    /// Forgets what was restored. Only a defective task does it.
    pub fn drop_restored(&mut self) {
        self.collector.clear();
    }

    /// The transactions that it has still to commit.
    #[must_use]
    pub fn transactions(&self) -> Vec<TransactionName> {
        self.collector.pending().map(|request| request.committable.payload.transaction).collect()
    }

    /// Takes a message of the writer.
    ///
    /// # Errors
    /// When it breaks the contract of FACT 64.
    pub fn process(&mut self, message: CommittableMessage) -> Result<(), TaskError> {
        debug_assert!(self.round.is_none(), "the task waits while a commit is under way");
        self.collector.add_message(message)?;
        Ok(())
    }

    /// Commits everything up to a checkpoint; `recommit` when a restored one holds it.
    ///
    /// # Errors
    /// When a batch is incomplete (FACT 68) or a committable cannot be read.
    pub fn commit_up_to(
        &mut self,
        up_to: CheckpointId,
        recommit: bool,
        store: &mut StoreClient,
        outbox: &mut Outbox,
    ) -> Result<CommitProgress, TaskError> {
        debug_assert!(self.round.is_none(), "one commit at a time: the task waits for it");
        let round = Round { up_to, recommit, commit: CheckpointCommit::new(self.retries_max) };
        self.advance(round, store, outbox)
    }

    /// The records of the commit that waits for this call; `None` when none does.
    #[must_use]
    pub fn records_of(&self, call: CallId) -> Option<&RecordRanges> {
        self.collector.awaiting(call).map(|request| &request.committable.records)
    }

    /// The answer to a call that [`CommitterOperator::records_of`] knows, or none in time.
    ///
    /// # Errors
    /// When a commit failed for an unknown reason (FACT 74) or the retries are used up (FACT 69).
    pub fn answered(
        &mut self,
        call: CallId,
        answer: StoreAnswer,
        store: &mut StoreClient,
        outbox: &mut Outbox,
    ) -> Result<CommitProgress, TaskError> {
        let round = self.round.take().expect("an answer belongs to a commit");
        let request = self.collector.awaiting_mut(call).expect("the caller looked before");
        let transaction = request.committable.payload.transaction;
        outbox.emit(EventKind::CommitAnswered { transaction, outcome: outcome(answer) });
        let payload = &mut request.committable.payload;
        let signal = self.committer.answered(payload, &mut request.retries, answer)?;
        heed(request, signal, self.defects)?;
        self.advance(round, store, outbox)
    }

    /// Its state: everything that is not known as committed.
    #[must_use]
    pub fn snapshot_state(&self) -> Vec<u8> {
        debug_assert!(self.round.is_none(), "no barrier passes while a commit is under way");
        self.collector.to_bytes(self.defects)
    }

    /// What it waits for, as a sentence's end.
    #[must_use]
    pub fn waiting_for(&self) -> Option<String> {
        self.collector.pending().find_map(|request| {
            let transaction = request.committable.payload.transaction;
            request.under_way.map(|call| format!("commit {transaction} ({call})"))
        })
    }

    /// Goes on until an answer is due or everything is settled.
    fn advance(
        &mut self,
        mut round: Round,
        store: &mut StoreClient,
        outbox: &mut Outbox,
    ) -> Result<CommitProgress, TaskError> {
        debug_assert!(self.round.is_none(), "whoever goes on took the round");
        while let Some(checkpoint) = self.collector.first_up_to(round.up_to) {
            match round.commit.advance(checkpoint)? {
                CommitStep::Call { again } => self.call(round, again, store, outbox)?,
                CommitStep::Wait => {
                    self.round = Some(round);
                    return Ok(CommitProgress::Waiting);
                }
                CommitStep::Done => {
                    let settled = checkpoint.checkpoint();
                    self.collector.remove(settled);
                    round.commit = CheckpointCommit::new(self.retries_max);
                }
            }
        }
        Ok(CommitProgress::Settled)
    }

    /// Asks for everything that is pending of the lowest checkpoint, together. A committer may decide without the store.
    fn call(
        &mut self,
        round: Round,
        again: bool,
        store: &mut StoreClient,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        let checkpoint = self.collector.first_up_to(round.up_to).expect("the caller looked before");
        for request in checkpoint.pending_mut() {
            debug_assert!(request.under_way.is_none(), "the answers of one call come before the next");
            let retries = request.retries;
            let payload = &mut request.committable.payload;
            let transaction = payload.transaction;
            if again {
                outbox.emit(EventKind::CommitRetried { transaction, retries });
            }
            let mut io = SinkIo::default();
            if let Some(signal) = self.committer.commit(payload, &mut request.retries, &mut io)? {
                let outcome = outcome_signalled(&signal);
                outbox.emit(EventKind::CommitAnswered { transaction, outcome });
                heed(request, signal, self.defects)?;
                continue;
            }
            let call = io.next_request().expect("without a signal it is one store request");
            debug_assert!(io.is_empty(), "a commit is one store request");
            let records = request.committable.records.clone();
            let event =
                EventKind::CommitRequested { transaction, records, retries, recommit: round.recommit };
            request.under_way = Some(match io.stand_still_ns() {
                0 => store.ask(call, Some(event), outbox),
                delay_ns => store.ask_after(delay_ns, call, event, outbox),
            });
        }
        Ok(())
    }
}

/// Takes a signal to heart.
///
/// # Errors
/// When nobody knows why it failed (FACT 74), or it can never be committed: Flink drops that in silence (FACT 73).
fn heed(request: &mut CollectedRequest, signal: CommitSignal, defects: DefectSet) -> Result<(), TaskError> {
    request.signalled(&signal);
    let transaction = request.committable.payload.transaction;
    match signal {
        CommitSignal::Committed | CommitSignal::AlreadyCommitted => {}
        CommitSignal::RetryLater => heed_retry_later(request, defects),
        CommitSignal::FailedWithKnownReason(cause) => heed_known_reason(transaction, cause, defects)?,
        CommitSignal::FailedWithUnknownReason(cause) => heed_unknown_reason(transaction, cause, defects)?,
    }
    Ok(())
}

const fn heed_retry_later(request: &mut CollectedRequest, defects: DefectSet) {
    if defects.has(Defect::CommitGivenUpSilently) {
        request.state = CommitRequestState::Failed;
    }
}

fn heed_known_reason(
    transaction: TransactionName,
    cause: String,
    defects: DefectSet,
) -> Result<(), TaskError> {
    let is_dropped = defects.has(Defect::KnownReasonDropped);
    if is_dropped { Ok(()) } else { Err(TaskError::CommitGivenUp { transaction, cause }) }
}

fn heed_unknown_reason(
    transaction: TransactionName,
    cause: String,
    defects: DefectSet,
) -> Result<(), TaskError> {
    let is_success = defects.has(Defect::UnknownErrorIsSuccess);
    if is_success { Ok(()) } else { Err(TaskError::CommitFailed { transaction, cause }) }
}

/// What a signal says of a commit that the store was not asked for.
const fn outcome_signalled(signal: &CommitSignal) -> CommitOutcome {
    match signal {
        CommitSignal::Committed => CommitOutcome::Committed,
        CommitSignal::AlreadyCommitted => CommitOutcome::AlreadyCommitted,
        CommitSignal::RetryLater => CommitOutcome::RetryLater,
        CommitSignal::FailedWithKnownReason(_) | CommitSignal::FailedWithUnknownReason(_) => {
            CommitOutcome::Failed
        }
    }
}

/// What an answer says of a commit. Told as it is, whatever the committer makes of it.
const fn outcome(answer: StoreAnswer) -> CommitOutcome {
    match answer {
        StoreAnswer::Done { before: false } => CommitOutcome::Committed,
        StoreAnswer::Done { before: true } => CommitOutcome::AlreadyCommitted,
        StoreAnswer::Unknown => CommitOutcome::Maybe,
        StoreAnswer::Unavailable => CommitOutcome::RetryLater,
        StoreAnswer::NotFound | StoreAnswer::Fenced => CommitOutcome::Failed,
    }
}
