//! Flink's `CommitterOperator`: it collects by checkpoint and commits up to N once N is complete.
//!
//! What a summary announced must have come, but a subtask that has sent no summary is not missed (FACT 68): the operator
//! stands behind one writer, or behind those whose barriers it has aligned. What it has committed it tells downstream, if
//! anybody is there.

use super::checkpoint_committer::{CheckpointCommitter, CommitProgress, CommitScope, CommitTurn, Emission};
use super::committable_collector::{CommittableCollector, CommittableMessage, END_OF_INPUT};
use super::task_error::TaskError;
use crate::api::sink::{CommitterPort, StoreAnswer};
use crate::defects::DefectSet;
use crate::ids::{CallId, CheckpointId, TransactionName};
use crate::records::RecordRanges;

/// How a committer's operator is set up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CommitterSettings {
    /// How often a call is repeated at once: `sink.committer.retries` in the operator's own configuration (FACT 70).
    pub retries_max: u32,
    /// The name under which it tells downstream what it has committed, if anybody is there.
    pub emission: Option<Emission>,
    /// Whether no completed checkpoint follows the end of the input: without checkpoints, or in batch (FACT 79).
    pub commits_at_end: bool,
}

/// See the module.
#[derive(Clone, Hash, Debug)]
pub struct CommitterOperator {
    inner: CheckpointCommitter,
    commits_at_end: bool,
    /// Up to where it has been told to commit.
    last_completed: Option<CheckpointId>,
}

impl CommitterOperator {
    /// Around this committer.
    #[must_use]
    pub fn new(committer: Box<dyn CommitterPort>, settings: CommitterSettings, defects: DefectSet) -> Self {
        let CommitterSettings { retries_max, emission, commits_at_end } = settings;
        let inner = CheckpointCommitter::new(committer, retries_max, emission, defects);
        Self { inner, commits_at_end, last_completed: None }
    }

    /// Takes an element of the state of a completed checkpoint. Those of several subtasks are merged (FACT 75); to commit
    /// them again is the next thing to do, see [`CommitterOperator::recommit`].
    ///
    /// # Errors
    /// When the bytes cannot be read.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), TaskError> {
        debug_assert!(self.last_completed.is_none(), "restored before the writer exists (FACT 63)");
        self.inner.restore(bytes)
    }

    /// Forgets what was restored. Only a defective task does it.
    pub fn drop_restored(&mut self) {
        self.inner.drop_restored();
    }

    /// The transactions that it has still to commit.
    #[must_use]
    pub fn transactions(&self) -> Vec<TransactionName> {
        self.inner.transactions().collect()
    }

    /// What it has collected.
    #[must_use]
    pub const fn collector(&self) -> &CommittableCollector {
        self.inner.collector()
    }

    /// Up to where it has been told to commit; [`END_OF_INPUT`] for everything.
    #[must_use]
    pub const fn last_completed(&self) -> Option<CheckpointId> {
        self.last_completed
    }

    /// Takes a message of the writer.
    ///
    /// # Errors
    /// When it breaks the contract of FACT 64.
    pub fn process(&mut self, message: CommittableMessage) -> Result<(), TaskError> {
        Ok(self.inner.process(message)?)
    }

    /// Commits everything up to the restored checkpoint; what is newer is kept (FACT 75).
    ///
    /// # Errors
    /// As [`CommitterOperator::notify_checkpoint_complete`].
    pub fn recommit(
        &mut self,
        restored: CheckpointId,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        self.commit_up_to(restored, true, turn)
    }

    /// Commits everything up to a completed checkpoint, or to the newest one known: an older notice that comes late finds
    /// nothing new (FACT 65).
    ///
    /// # Errors
    /// When a batch is incomplete (FACT 68), a committable cannot be read, the committer throws or fails for a reason that
    /// nobody knows (FACT 74), or the retries are used up (FACT 69).
    pub fn notify_checkpoint_complete(
        &mut self,
        checkpoint: CheckpointId,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        self.commit_up_to(checkpoint, false, turn)
    }

    /// The input has ended: commits everything if no checkpoint follows, and otherwise nothing (FACT 79).
    ///
    /// # Errors
    /// As [`CommitterOperator::notify_checkpoint_complete`].
    pub fn end_input(&mut self, turn: &mut CommitTurn<'_>) -> Result<CommitProgress, TaskError> {
        if !self.commits_at_end {
            return Ok(CommitProgress::Settled);
        }
        self.commit_up_to(END_OF_INPUT, false, turn)
    }

    /// Whether the end of the input is the last thing that it hears of.
    #[must_use]
    pub const fn commits_at_end(&self) -> bool {
        self.commits_at_end
    }

    fn commit_up_to(
        &mut self,
        checkpoint: CheckpointId,
        recommit: bool,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        let up_to = self.last_completed.map_or(checkpoint, |last| last.max(checkpoint));
        self.last_completed = Some(up_to);
        self.inner.commit(CommitScope { up_to, recommit, only_whole: false }, turn)
    }

    /// The records of the commit that waits for this call; `None` when none does.
    #[must_use]
    pub fn records_of(&self, call: CallId) -> Option<&RecordRanges> {
        self.inner.records_of(call)
    }

    /// The answer to a call that [`CommitterOperator::records_of`] knows, or none in time.
    ///
    /// # Errors
    /// As [`CommitterOperator::notify_checkpoint_complete`].
    pub fn answered(
        &mut self,
        call: CallId,
        answer: StoreAnswer,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        self.inner.answered(call, answer, turn)
    }

    /// Its state: everything that has not left it.
    #[must_use]
    pub fn snapshot_state(&self) -> Vec<u8> {
        self.inner.snapshot_state()
    }

    /// What it waits for, as a sentence's end.
    #[must_use]
    pub fn waiting_for(&self) -> Option<String> {
        self.inner.waiting_for()
    }
}
