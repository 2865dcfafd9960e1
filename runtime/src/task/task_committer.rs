//! The committer of a task: that of a subtask, or the global one.
//!
//! A task asks both the same, and commits when it hears of a completed checkpoint. Flink's global committer commits on
//! its input where there are no checkpoints; what comes then comes at the end of every writer's input, so here it commits
//! at the end of its own, as any committer does.

use super::checkpoint_committer::{CommitProgress, CommitTurn};
use super::committable_collector::{CommittableMessage, END_OF_INPUT};
use super::committer_operator::CommitterOperator;
use super::global_committer_operator::GlobalCommitterOperator;
use super::task_error::TaskError;
use crate::api::sink::StoreAnswer;
use crate::ids::{CallId, CheckpointId, TransactionName};
use crate::records::RecordRanges;

/// See the module. What the methods do, and when they fail, stands with the operators.
#[derive(Clone, Hash, Debug)]
pub(super) enum TaskCommitter {
    /// Behind one writer, or behind those whose committables come to this subtask.
    Subtask(CommitterOperator),
    /// Behind all writers.
    Global {
        operator: GlobalCommitterOperator,
        /// Whether no completed checkpoint follows the end of the input.
        commits_at_end: bool,
    },
}

impl TaskCommitter {
    pub(super) fn restore(&mut self, bytes: &[u8]) -> Result<(), TaskError> {
        match self {
            Self::Subtask(operator) => operator.restore(bytes),
            Self::Global { operator, .. } => operator.restore(bytes),
        }
    }

    pub(super) fn drop_restored(&mut self) {
        match self {
            Self::Subtask(operator) => operator.drop_restored(),
            Self::Global { operator, .. } => operator.drop_restored(),
        }
    }

    pub(super) fn transactions(&self) -> Vec<TransactionName> {
        match self {
            Self::Subtask(operator) => operator.transactions(),
            Self::Global { operator, .. } => operator.transactions(),
        }
    }

    pub(super) fn recommit(
        &mut self,
        restored: CheckpointId,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        match self {
            Self::Subtask(operator) => operator.recommit(restored, turn),
            Self::Global { operator, .. } => operator.recommit(restored, turn),
        }
    }

    pub(super) fn process(
        &mut self,
        message: CommittableMessage,
        turn: &mut CommitTurn<'_>,
    ) -> Result<(), TaskError> {
        match self {
            Self::Subtask(operator) => operator.process(message),
            Self::Global { operator, .. } => {
                let progress = operator.process(message, turn)?;
                debug_assert_eq!(progress, CommitProgress::Settled, "behind writers it commits on no input");
                Ok(())
            }
        }
    }

    pub(super) fn notify_checkpoint_complete(
        &mut self,
        checkpoint: CheckpointId,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        match self {
            Self::Subtask(operator) => operator.notify_checkpoint_complete(checkpoint, turn),
            Self::Global { operator, .. } => operator.notify_checkpoint_complete(checkpoint, turn),
        }
    }

    pub(super) fn end_input(&mut self, turn: &mut CommitTurn<'_>) -> Result<CommitProgress, TaskError> {
        debug_assert!(self.commits_at_end(), "otherwise a checkpoint follows");
        match self {
            Self::Subtask(operator) => operator.end_input(turn),
            Self::Global { operator, .. } => operator.notify_checkpoint_complete(END_OF_INPUT, turn),
        }
    }

    pub(super) const fn commits_at_end(&self) -> bool {
        match self {
            Self::Subtask(operator) => operator.commits_at_end(),
            Self::Global { commits_at_end, .. } => *commits_at_end,
        }
    }

    pub(super) fn records_of(&self, call: CallId) -> Option<&RecordRanges> {
        match self {
            Self::Subtask(operator) => operator.records_of(call),
            Self::Global { operator, .. } => operator.records_of(call),
        }
    }

    pub(super) fn answered(
        &mut self,
        call: CallId,
        answer: StoreAnswer,
        turn: &mut CommitTurn<'_>,
    ) -> Result<CommitProgress, TaskError> {
        match self {
            Self::Subtask(operator) => operator.answered(call, answer, turn),
            Self::Global { operator, .. } => operator.answered(call, answer, turn),
        }
    }

    pub(super) fn snapshot_state(&self) -> Vec<u8> {
        match self {
            Self::Subtask(operator) => operator.snapshot_state(),
            Self::Global { operator, .. } => operator.snapshot_state(),
        }
    }

    pub(super) fn waiting_for(&self) -> Option<String> {
        match self {
            Self::Subtask(operator) => operator.waiting_for(),
            Self::Global { operator, .. } => operator.waiting_for(),
        }
    }
}
