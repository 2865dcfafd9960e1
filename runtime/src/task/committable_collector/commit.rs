//! The commit of one checkpoint, cut where Flink's blocks.
//!
//! ```text
//! all that was announced is here? ─▶ call with all that is pending ┆ answers ─▶ no signal: committed
//!                                      ▲                                          │ some to be retried
//!                                      └──────────────── at most retries_max ◀────┘
//! ```
//! The retries come at once and in the same commit, only for what is not settled (FACT 69). What counts is the number of
//! calls, not that of a request's retry signals (FACT 71), and nothing of it is kept over a restart.

use super::checkpoint::CheckpointCommittableManager;
use super::subtask::CollectedRequest;
use crate::api::sink::CommitRequestState;
use crate::defects::{Defect, DefectSet};
use crate::task::task_error::TaskError;

/// What a commit needs next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CommitStep {
    /// Answers are due.
    Wait,
    /// The committer is to be called with all that is pending.
    Call {
        /// Whether it was called before in this commit.
        again: bool,
    },
    /// Everything is settled.
    Done,
}

/// How far the commit of a checkpoint has come: the loop of Flink's `CheckpointCommittableManagerImpl.commit`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CheckpointCommit {
    retries_max: u32,
    /// How often the committer was called in this commit.
    calls: u32,
    defects: DefectSet,
}

impl CheckpointCommit {
    /// A commit that has not begun, with so many retries.
    #[must_use]
    pub const fn new(retries_max: u32, defects: DefectSet) -> Self {
        Self { retries_max, calls: 0, defects }
    }

    /// Takes the commit as far as it goes without an answer. After [`CommitStep::Call`] the caller calls the committer with
    /// [`CheckpointCommittableManager::pending_mut`] and comes back when everything is answered.
    ///
    /// # Errors
    /// When a batch is incomplete (FACT 68) or the retries are used up (FACT 69).
    pub fn advance(&mut self, manager: &mut CheckpointCommittableManager) -> Result<CommitStep, TaskError> {
        if self.calls == 0 {
            manager.check_received_all()?;
        } else if manager.requests().any(|request| request.under_way.is_some()) {
            return Ok(CommitStep::Wait);
        } else {
            settle_without_signal(manager);
            skip_rest(manager, self.defects);
        }
        let unfinished = manager.pending_mut().count();
        if unfinished == 0 {
            return Ok(CommitStep::Done);
        }
        if self.calls > self.retries_max {
            let (checkpoint, retries) = (manager.checkpoint(), self.retries_max);
            return Err(TaskError::RetriesExhausted { checkpoint, count: unfinished, retries });
        }
        let again = self.calls > 0;
        self.calls += 1;
        manager.pending_mut().for_each(|request| request.state = CommitRequestState::Received);
        debug_assert!(self.calls <= self.retries_max + 1, "R retries are R + 1 calls");
        Ok(CommitStep::Call { again })
    }
}

/// What is to be asked for again is not, once anything of the checkpoint is found committed. Only a defective committer
/// does it.
fn skip_rest(manager: &mut CheckpointCommittableManager, defects: DefectSet) {
    let is_committed = |request: &CollectedRequest| request.state == CommitRequestState::Committed;
    if defects.has(Defect::RecommitEndsAtFirstDone) && manager.requests().any(is_committed) {
        manager.pending_mut().for_each(|request| request.state = CommitRequestState::Committed);
    }
}

/// The call is over: what got no signal in it is committed.
fn settle_without_signal(manager: &mut CheckpointCommittableManager) {
    let unsignalled = manager.requests_mut().filter(|request| request.state == CommitRequestState::Received);
    unsignalled.for_each(|request| request.state = CommitRequestState::Committed);
}
