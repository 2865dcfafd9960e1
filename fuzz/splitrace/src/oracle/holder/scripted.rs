//! The scripted coordinator of provider `test`: it tells each call, and the operations say what becomes of its snapshots.

use super::java::{CHECKPOINT_THROWS, null_call};
use super::told::CoordinatorCall;
use crate::oracle::tracker::recorded_id;
use crate::oracle::{Answer, OperationError};
use splitrace_runtime::api::source::UserError;
use splitrace_runtime::coordination::coordinator_error::CoordinatorError;
use splitrace_runtime::ids::{CheckpointId, ExecutionAttemptId};
use splitrace_runtime::message::{CoordinatorMail, CoordinatorToMain, ReaderEvent};
use std::collections::BTreeMap;

/// The future of a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Snapshot {
    Pending,
    Done,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct ScriptedCoordinator {
    completes: bool,
    /// Whether it throws when it is asked for a checkpoint.
    pub(super) throws: bool,
    gateways: BTreeMap<u32, ExecutionAttemptId>,
    snapshots: BTreeMap<CheckpointId, Snapshot>,
}

impl ScriptedCoordinator {
    /// `completes`: whether snapshots complete by themselves.
    pub(super) fn new(completes: bool) -> Self {
        Self { completes, ..Self::default() }
    }

    /// The gateway that it was given last for a subtask.
    pub(super) fn gateway(&self, subtask: u32) -> Result<ExecutionAttemptId, OperationError> {
        self.gateways.get(&subtask).copied().ok_or_else(|| {
            let class = "org.apache.flink.runtime.operators.coordination";
            let method =
                format!("{class}.OperatorCoordinator$SubtaskGateway.sendEvent({class}.OperatorEvent)");
            OperationError::Thrown(null_call(&method))
        })
    }

    /// Hears of something. Answers what it says at once.
    ///
    /// # Errors
    /// When it throws, in Java's words.
    pub(super) fn hear(
        &mut self,
        mail: CoordinatorMail,
        answer: &mut Answer,
    ) -> Result<Option<CoordinatorToMain>, String> {
        let attempt_call = |call: &'static str, attempt: ExecutionAttemptId| CoordinatorCall {
            call,
            sub: Some(attempt.subtask.0),
            attempt: Some(attempt.attempt.0),
            ..CoordinatorCall::default()
        };
        let id_call = |call: &'static str, checkpoint: CheckpointId| CoordinatorCall {
            call,
            id: Some(recorded_id(checkpoint)),
            ..CoordinatorCall::default()
        };
        match mail {
            CoordinatorMail::Start { .. } => {
                answer.effect(&CoordinatorCall { call: "start", ..CoordinatorCall::default() });
            }
            CoordinatorMail::FromReader { attempt, event: ReaderEvent::Unrecognized(name) } => {
                answer.effect(&CoordinatorCall { e: Some(&name), ..attempt_call("event", attempt) });
            }
            CoordinatorMail::FromReader { .. }
            | CoordinatorMail::AsyncResult { .. }
            | CoordinatorMail::GroupWatermark { .. }
            | CoordinatorMail::Timer(_) => {}
            CoordinatorMail::ExecutionAttemptReady(attempt) => {
                self.gateways.insert(attempt.subtask.0, attempt);
                answer.effect(&attempt_call("attemptReady", attempt));
            }
            CoordinatorMail::ExecutionAttemptFailed { attempt, .. } => {
                self.gateways.remove(&attempt.subtask.0);
                answer.effect(&attempt_call("attemptFailed", attempt));
            }
            CoordinatorMail::SubtaskReset { subtask, restored } => {
                let id = restored.map_or(-1, recorded_id);
                answer.effect(&CoordinatorCall {
                    call: "subtaskReset",
                    sub: Some(subtask.subtask.0),
                    id: Some(id),
                    ..CoordinatorCall::default()
                });
            }
            CoordinatorMail::Checkpoint(checkpoint) => {
                answer.effect(&id_call("checkpoint", checkpoint));
                return self.checkpoint(checkpoint);
            }
            CoordinatorMail::NotifyCheckpointComplete(checkpoint) => {
                answer.effect(&id_call("complete", checkpoint));
            }
            CoordinatorMail::NotifyCheckpointAborted(checkpoint) => {
                answer.effect(&id_call("aborted", checkpoint));
            }
        }
        Ok(None)
    }

    fn checkpoint(&mut self, checkpoint: CheckpointId) -> Result<Option<CoordinatorToMain>, String> {
        if self.throws {
            return Err(CHECKPOINT_THROWS.to_owned());
        }
        self.snapshots.insert(checkpoint, Snapshot::Pending);
        let completed = self.completes.then(|| self.complete(checkpoint, true));
        Ok(completed.transpose().expect("it was just put there").flatten())
    }

    /// Completes the future of a snapshot; a second time is no news.
    pub(super) fn complete(
        &mut self,
        checkpoint: CheckpointId,
        well: bool,
    ) -> Result<Option<CoordinatorToMain>, OperationError> {
        let Some(snapshot) = self.snapshots.get_mut(&checkpoint) else {
            let method = if well { "complete(Object)" } else { "completeExceptionally(java.lang.Throwable)" };
            let method = format!("java.util.concurrent.CompletableFuture.{method}");
            return Err(OperationError::Thrown(null_call(&method)));
        };
        if std::mem::replace(snapshot, Snapshot::Done) == Snapshot::Done {
            return Ok(None);
        }
        let state = if well {
            Ok(format!("c{}", recorded_id(checkpoint)).into_bytes())
        } else {
            Err(CoordinatorError::Enumerator(UserError::new("Exception: snapshot failed")))
        };
        Ok(Some(CoordinatorToMain::CheckpointResult { checkpoint, state }))
    }
}
