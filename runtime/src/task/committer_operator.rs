//! The committer behind its port: it collects by checkpoint and commits up to N once N is complete.
//!
//! A commit goes checkpoint by checkpoint, ascending. All unfinished requests of one checkpoint are asked together,
//! and when all are answered those to be retried are asked again at once, at most `commit_retries_max` times (FACT
//! 67, 69). A committable leaves the state only when it is answered, so a task that dies while it commits again finds
//! all of it in the restored checkpoint.

use super::committable_collector::{CommittableCollector, CommittableMessage, RequestState};
use super::store_client::StoreClient;
use super::task_error::TaskError;
use crate::actor::Outbox;
use crate::api::sink::{
    CommitSignal, CommitterPort, HeldCommittable, PreparedCommittable, SinkIo, StoreAnswer,
    decode_committer_state, encode_committer_state,
};
use crate::event::{CommitOutcome, EventKind};
use crate::ids::{CallId, CheckpointId, TransactionName};
use crate::records::RecordRanges;

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
    /// How often the lowest checkpoint was asked again in this commit. Not in the state: a restored committable has
    /// all its retries before it (FACT 69).
    repeats: u32,
}

/// Flink's `CommitterOperator`.
#[derive(Clone, Hash, Debug)]
pub struct CommitterOperator {
    committer: Box<dyn CommitterPort>,
    collector: CommittableCollector,
    retries_max: u32,
    round: Option<Round>,
}

impl CommitterOperator {
    /// Around this committer, with `retries_max` immediate retries.
    #[must_use]
    pub fn new(committer: Box<dyn CommitterPort>, retries_max: u32) -> Self {
        let collector = CommittableCollector::default();
        Self { committer, collector, retries_max, round: None }
    }

    /// Takes the state of a completed checkpoint.
    ///
    /// # Errors
    /// When the bytes cannot be read.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), TaskError> {
        debug_assert!(self.collector.checkpoints().is_empty(), "restored before the writer exists (FACT 63)");
        for HeldCommittable { checkpoint, retries, payload } in decode_committer_state(bytes)? {
            let records = self.committer.records_held(&payload)?;
            self.collector.restore(checkpoint, PreparedCommittable { payload, records }, retries);
        }
        Ok(())
    }

    /// Forgets what was restored. Only a defective task does it.
    pub fn drop_restored(&mut self) {
        self.collector.clear();
    }

    /// The transactions that it holds.
    #[must_use]
    pub fn transactions(&self) -> Vec<TransactionName> {
        let entries = self.collector.checkpoints().iter();
        entries
            .flat_map(|entry| &entry.requests)
            .map(|request| request.committable.payload.transaction)
            .collect()
    }

    /// Takes a message of the writer.
    ///
    /// # Errors
    /// When it breaks the contract of FACT 64.
    pub fn process(&mut self, message: CommittableMessage) -> Result<(), TaskError> {
        debug_assert!(self.round.is_none(), "the task waits while a commit is under way");
        self.collector.process(message)
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
        self.round = Some(Round { up_to, recommit, repeats: 0 });
        self.advance(store, outbox)
    }

    /// The records of the commit that waits for this call; `None` when none does.
    #[must_use]
    pub fn records_of(&self, call: CallId) -> Option<&RecordRanges> {
        self.collector.records_of(call)
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
        debug_assert!(self.round.is_some(), "an answer belongs to a commit");
        let request = self.collector.awaiting(call).expect("the caller looked before");
        let transaction = request.committable.payload.transaction;
        outbox.emit(EventKind::CommitAnswered { transaction, outcome: outcome(answer) });
        let payload = &mut request.committable.payload;
        match self.committer.answered(payload, &mut request.retries, answer)? {
            CommitSignal::Committed | CommitSignal::AlreadyCommitted => {
                request.state = RequestState::Finished
            }
            CommitSignal::RetryLater => request.state = RequestState::Retry,
            // Dropped in silence, as Flink does (FACT 73).
            CommitSignal::FailedWithKnownReason(_) => request.state = RequestState::Finished,
            CommitSignal::FailedWithUnknownReason(cause) => {
                return Err(TaskError::CommitFailed { transaction, cause });
            }
        }
        self.advance(store, outbox)
    }

    /// Its state: everything that is not known as committed.
    #[must_use]
    pub fn snapshot_state(&self) -> Vec<u8> {
        debug_assert!(self.round.is_none(), "no barrier passes while a commit is under way");
        encode_committer_state(self.collector.checkpoints().iter().flat_map(|entry| {
            let held = entry.requests.iter();
            held.map(|request| (entry.checkpoint, request.retries, &request.committable.payload))
        }))
    }

    /// What it waits for, as a sentence's end.
    #[must_use]
    pub fn waiting_for(&self) -> Option<String> {
        let entry = self.collector.checkpoints().first()?;
        entry.requests.iter().find_map(|request| match request.state {
            RequestState::UnderWay(call) => {
                Some(format!("commit {} ({call})", request.committable.payload.transaction))
            }
            _ => None,
        })
    }

    /// Goes on until an answer is due or everything is settled.
    fn advance(&mut self, store: &mut StoreClient, outbox: &mut Outbox) -> Result<CommitProgress, TaskError> {
        let mut round = self.round.expect("a commit is under way");
        loop {
            let Some(entry) = self.collector.first_up_to(round.up_to) else {
                self.round = None;
                return Ok(CommitProgress::Settled);
            };
            if entry.is_under_way() {
                self.round = Some(round);
                return Ok(CommitProgress::Waiting);
            }
            let received = entry.requests.len() as u32;
            if received != entry.announced {
                let (checkpoint, announced) = (entry.checkpoint, entry.announced);
                return Err(TaskError::IncompleteBatch { checkpoint, announced, received });
            }
            let unfinished = entry.unfinished();
            if unfinished == 0 {
                self.collector.remove_first();
                round.repeats = 0;
                continue;
            }
            if entry.requests.iter().any(|request| request.state == RequestState::Retry) {
                if round.repeats == self.retries_max {
                    let retries = self.retries_max;
                    return Err(TaskError::RetriesExhausted { count: unfinished, retries });
                }
                round.repeats += 1;
            }
            self.ask(round, store, outbox)?;
        }
    }

    /// Asks for every unfinished request of the lowest checkpoint, together.
    fn ask(&mut self, round: Round, store: &mut StoreClient, outbox: &mut Outbox) -> Result<(), TaskError> {
        let entry = self.collector.first_up_to(round.up_to).expect("the caller looked before");
        debug_assert!(!entry.is_under_way(), "the answers of one call come before the next");
        for request in entry.requests.iter_mut().filter(|request| request.state != RequestState::Finished) {
            let (payload, retries) = (&request.committable.payload, request.retries);
            let transaction = payload.transaction;
            if request.state == RequestState::Retry {
                outbox.emit(EventKind::CommitRetried { transaction, retries });
            }
            let mut io = SinkIo::default();
            self.committer.commit(payload, retries, &mut io)?;
            let call = io.next_request().expect("a commit is exactly one store request");
            debug_assert!(io.is_empty(), "a commit is exactly one store request");
            let records = request.committable.records.clone();
            let event =
                EventKind::CommitRequested { transaction, records, retries, recommit: round.recommit };
            request.state = RequestState::UnderWay(store.ask(call, Some(event), outbox));
        }
        Ok(())
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
