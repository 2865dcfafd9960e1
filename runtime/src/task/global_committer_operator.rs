//! Flink's `GlobalCommitterOperator`: one instance behind all subtasks, which commits a checkpoint as a whole.
//!
//! Behind writers it waits for the checkpoint's completion. Behind a committer it commits on input: what comes is of a
//! completed checkpoint already, so a checkpoint is committed as soon as the last of its committables is there (FACT 81).

use super::checkpoint_committer::{CheckpointCommitter, CommitProgress, CommitScope, CommitTurn};
use super::committable_collector::{CommittableCollector, CommittableMessage};
use super::task_error::TaskError;
use crate::api::sink::{CommitterPort, StoreAnswer};
use crate::defects::{Defect, DefectSet};
use crate::ids::{CallId, CheckpointId, TransactionName};
use crate::records::RecordRanges;

/// See the module.
#[derive(Clone, Hash, Debug)]
pub struct GlobalCommitterOperator {
    inner: CheckpointCommitter,
    commits_on_input: bool,
    defects: DefectSet,
    /// Up to where it has been told to commit.
    last_completed: Option<CheckpointId>,
}

impl GlobalCommitterOperator {
    /// Around this committer, with `retries_max` immediate retries.
    #[must_use]
    pub fn new(
        committer: Box<dyn CommitterPort>,
        retries_max: u32,
        commits_on_input: bool,
        defects: DefectSet,
    ) -> Self {
        let inner = CheckpointCommitter::new(committer, retries_max, None, defects);
        Self { inner, commits_on_input, defects, last_completed: None }
    }

    /// Takes an element of the state of a completed checkpoint; to commit it again is the next thing to do.
    ///
    /// # Errors
    /// When the bytes cannot be read.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), TaskError> {
        debug_assert!(self.last_completed.is_none(), "restored before anything is committed");
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

    /// Commits everything up to the restored checkpoint.
    ///
    /// # Errors
    /// As [`GlobalCommitterOperator::notify_checkpoint_complete`].
    pub fn recommit(
        &mut self,
        restored: CheckpointId,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        self.commit_up_to(restored, true, turn)
    }

    /// Takes a message, and commits what it completes if that is done on input.
    ///
    /// # Errors
    /// When it breaks the contract of FACT 64, and as [`GlobalCommitterOperator::notify_checkpoint_complete`].
    pub fn process(
        &mut self,
        message: CommittableMessage,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        let checkpoint = message.checkpoint();
        self.inner.process(message)?;
        if !self.commits_on_input {
            return Ok(CommitProgress::Settled);
        }
        self.commit_up_to(checkpoint, false, turn)
    }

    /// Commits everything up to a completed checkpoint; nothing when it commits on input.
    ///
    /// # Errors
    /// When a committable cannot be read, the committer throws or fails for a reason that nobody knows (FACT 74), or the
    /// retries are used up (FACT 69).
    pub fn notify_checkpoint_complete(
        &mut self,
        checkpoint: CheckpointId,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        if self.commits_on_input {
            return Ok(CommitProgress::Settled);
        }
        self.commit_up_to(checkpoint, false, turn)
    }

    fn commit_up_to(
        &mut self,
        checkpoint: CheckpointId,
        recommit: bool,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        let up_to = self.last_completed.map_or(checkpoint, |last| last.max(checkpoint));
        self.last_completed = Some(up_to);
        // The barriers of a completed checkpoint came behind all that will ever come for it: who has sent no summary by
        // then has ended before. On input, what is missing is still on its way.
        let only_whole = self.commits_on_input || self.defects.has(Defect::GlobalCommitterWaitsForAll);
        self.inner.commit(CommitScope { up_to, recommit, only_whole }, turn)
    }

    /// The records of the commit that waits for this call; `None` when none does.
    #[must_use]
    pub fn records_of(&self, call: CallId) -> Option<&RecordRanges> {
        self.inner.records_of(call)
    }

    /// The answer to a call that [`GlobalCommitterOperator::records_of`] knows, or none in time.
    ///
    /// # Errors
    /// As [`GlobalCommitterOperator::notify_checkpoint_complete`].
    pub fn answered(
        &mut self,
        call: CallId,
        answer: StoreAnswer,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        self.inner.answered(call, answer, turn)
    }

    /// What it waits for, as a sentence's end.
    #[must_use]
    pub fn waiting_for(&self) -> Option<String> {
        self.inner.waiting_for()
    }

    /// Its state: everything that has not left it.
    #[must_use]
    pub fn snapshot_state(&self) -> Vec<u8> {
        self.inner.snapshot_state()
    }
}
