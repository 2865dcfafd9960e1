//! The collector's typed errors in Java's words. Messages print whole managers, and the recordings cut a message after 300
//! characters.

use super::shown::state_name;
use super::text_of;
use crate::oracle::OperationError;
use splitrace_runtime::api::sink::CommitError;
use splitrace_runtime::ids::{CheckpointId, SubtaskIndex};
use splitrace_runtime::task::{
    CheckpointCommittableManager, CollectedRequest, CommittableCollector, CommittableError,
    CommittableMessage, SubtaskCommittableManager, TaskError,
};

/// Where the recordings cut a message, in characters.
const MESSAGE_CHARACTERS: usize = 300;

/// What user code threw: class, message and causes, as the recordings have them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::oracle) struct Thrown(pub(in crate::oracle) String);

impl From<Thrown> for OperationError {
    fn from(thrown: Thrown) -> Self {
        Self::Thrown(thrown.0)
    }
}

/// An error of a commit; the collector is as the error left it.
pub(in crate::oracle) fn task_error(error: &TaskError, collector: &CommittableCollector) -> OperationError {
    match error {
        TaskError::RetriesExhausted { checkpoint, count, retries } => {
            let pending =
                collector.checkpoint(*checkpoint).into_iter().flat_map(|manager| manager.requests());
            let pending: Vec<_> = pending.filter(|request| !request.state.is_final()).map(request).collect();
            let pending = pending.join(", ");
            thrown(
                "IOException",
                &format!("Failed to commit {count} committables after {retries} retries: [{pending}]"),
            )
        }
        TaskError::Committables(error) => collector_error(*error, None, collector),
        TaskError::Commit(CommitError::Thrown(thrown)) => OperationError::Thrown(thrown.clone()),
        // The oracle's committer words what it throws.
        TaskError::CommitFailed { cause, .. } => OperationError::Thrown(cause.clone()),
        other => OperationError::Malformed(other.to_string()),
    }
}

/// A message that an operator did not take, or what it did with it.
pub(in crate::oracle) fn message_error(
    error: &TaskError,
    message: &CommittableMessage,
    collector: &CommittableCollector,
) -> OperationError {
    match error {
        TaskError::Committables(error) => collector_error(*error, Some(message), collector),
        other => task_error(other, collector),
    }
}

/// A message that the collector did not take, or a commit that it did not begin.
pub(in crate::oracle) fn collector_error(
    error: CommittableError,
    message: Option<&CommittableMessage>,
    collector: &CommittableCollector,
) -> OperationError {
    match error {
        CommittableError::UnknownCheckpoint { checkpoint, subtask } => {
            let committable = match message {
                Some(CommittableMessage::Committable(one)) => text_of(&one.committable.payload),
                _ => "null",
            };
            let (checkpoint, subtask) = (checkpoint.0, subtask.0);
            let lineage =
                format!("committable={committable}, checkpointId={checkpoint}, subtaskId={subtask}");
            let message = format!("Unknown checkpoint for CommittableWithLineage{{{lineage}}}");
            thrown("NullPointerException", &message)
        }
        CommittableError::UnknownSubtask { subtask, .. } => {
            thrown("NullPointerException", &format!("Unknown subtask for {}", subtask.0))
        }
        CommittableError::Surplus { .. } => {
            thrown("IllegalStateException", "Already received all committables.")
        }
        CommittableError::DuplicateSummary { checkpoint, subtask } => {
            duplicate_summary(checkpoint, subtask, message, collector)
        }
        CommittableError::IncompleteBatch { checkpoint, subtask, .. } => {
            let manager = collector.checkpoint(checkpoint).map(manager).unwrap_or_default();
            let what = "Trying to commit incomplete batch of committables";
            thrown("IllegalArgumentException", &format!("{what} subtask={}, manager={manager}", subtask.0))
        }
    }
}

fn duplicate_summary(
    checkpoint: CheckpointId,
    subtask: SubtaskIndex,
    message: Option<&CommittableMessage>,
    collector: &CommittableCollector,
) -> OperationError {
    let announced = match message {
        Some(CommittableMessage::Summary(summary)) => summary.committables,
        _ => 0,
    };
    let new = subtask_manager(&SubtaskCommittableManager::new(subtask, announced), checkpoint);
    let subtasks =
        collector.checkpoint(checkpoint).into_iter().flat_map(CheckpointCommittableManager::subtasks);
    let old = subtasks.filter(|old| old.subtask() == subtask).map(|old| subtask_manager(old, checkpoint));
    let old: String = old.collect();
    let what = format!("checkpoint {} + subtask {}", checkpoint.0, subtask.0);
    let message = format!(
        "Received duplicate committable summary for {what} (new={new}, old={old}). Please check the status of FLINK-25920"
    );
    thrown("UnsupportedOperationException", &message)
}

fn thrown(class: &str, message: &str) -> OperationError {
    let cut = message.char_indices().nth(MESSAGE_CHARACTERS).map(|(at, _)| at);
    OperationError::Thrown(match cut {
        Some(at) => format!("{class}: {}...", &message[..at]),
        None => format!("{class}: {message}"),
    })
}

fn manager(manager: &CheckpointCommittableManager) -> String {
    let checkpoint = manager.checkpoint();
    let subtasks = manager.subtasks().iter();
    let subtasks = subtasks.map(|one| format!("{}={}", one.subtask().0, subtask_manager(one, checkpoint)));
    format!(
        "CheckpointCommittableManagerImpl{{numberOfSubtasks={}, checkpointId={}, subtasksCommittableManagers={{{}}}}}",
        manager.number_of_subtasks(),
        checkpoint.0,
        subtasks.collect::<Vec<_>>().join(", ")
    )
}

fn subtask_manager(manager: &SubtaskCommittableManager, checkpoint: CheckpointId) -> String {
    let requests: Vec<_> = manager.requests().iter().map(request).collect();
    format!(
        "SubtaskCommittableManager{{requests=[{}], numExpectedCommittables={}, checkpointId={}, subtaskId={}, \
         numFailed=0}}",
        requests.join(", "),
        manager.announced(),
        checkpoint.0,
        manager.subtask().0
    )
}

fn request(request: &CollectedRequest) -> String {
    let (state, text) = (state_name(request.state), text_of(&request.committable.payload));
    format!("CommitRequestImpl{{state={state}, numRetries={}, committable={text}}}", request.retries)
}
