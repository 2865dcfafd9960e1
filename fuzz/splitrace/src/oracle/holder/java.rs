//! The protocol's typed errors in Java's words: class names and messages, as the recordings have them.

use super::super::tracker::recorded_id;
use splitrace_runtime::api::source::ContextError;
use splitrace_runtime::coordination::coordinator_error::{CheckpointFailure, CoordinatorError};
use splitrace_runtime::coordination::operator_coordinator_holder::GatewayError;
use splitrace_runtime::coordination::subtask_gateway::RegressingCheckpoint;

/// What a coordinator is asked before its start.
pub(super) const NOT_STARTED: &str = "IllegalStateException: The coordinator has not started yet.";
/// What a scripted coordinator throws when it is asked for a checkpoint.
pub(super) const CHECKPOINT_THROWS: &str = "RuntimeException: checkpointCoordinator throws";
/// The Java long that stands for 'no checkpoint was marked'.
const NONE_MARKED: i64 = i64::MIN;

/// An error of a coordinator.
pub(super) fn coordinator_error(error: &CoordinatorError) -> String {
    match error {
        CoordinatorError::NotStarted => NOT_STARTED.to_owned(),
        // The oracle's own coordinators and enumerators throw in Java's words.
        CoordinatorError::Enumerator(thrown) => thrown.message.clone(),
        CoordinatorError::Snapshot(thrown) => {
            let what = "Failed to checkpoint SplitEnumerator for source oracle-source";
            format!("CompletionException: {what} <- {}", thrown.message)
        }
        CoordinatorError::Restore(message) => format!("IOException: {message}"),
        CoordinatorError::AlreadyRegistered(attempt) => {
            let (subtask, attempt) = (attempt.subtask.0, attempt.attempt.0);
            format!("IllegalStateException: ReaderInfo of subtask {subtask} (#{attempt}) already exists.")
        }
        CoordinatorError::WrongSubtask { .. } => "IllegalArgumentException: null".to_owned(),
        CoordinatorError::UnrecognizedEvent(name) => {
            format!("FlinkException: Unrecognized Operator Event: {name}")
        }
        CoordinatorError::AlignmentIsOff(_) => "IllegalStateException: null".to_owned(),
        CoordinatorError::RegressingCheckpoint { latest, checkpoint } => {
            regressing(RegressingCheckpoint { latest: *latest, checkpoint: *checkpoint })
        }
        CoordinatorError::NothingRecorded { .. } | CoordinatorError::SplitsToFinishedTask(_) => {
            "IllegalStateException: null".to_owned()
        }
    }
}

/// What fails the job when a coordinator says so.
pub(super) fn global_failure(cause: &CoordinatorError) -> String {
    let what = "Global failure triggered by OperatorCoordinator for 'oracle-op' (operator <id>).";
    format!("FlinkException: {what} <- {}", coordinator_error(cause))
}

/// Why a checkpoint failed.
pub(super) fn checkpoint_failure(failure: &CheckpointFailure) -> String {
    match failure {
        CheckpointFailure::Coordinator(error) => coordinator_error(error),
        CheckpointFailure::CannotCloseGateway => "FlinkException: Cannot close gateway".to_owned(),
        CheckpointFailure::TooManyBlockedEvents => unreachable!("Flink has no such bound, so the oracle sets none"),
        CheckpointFailure::EventLost => "FlinkException: Failing OperatorCoordinator checkpoint because some \
                                         OperatorEvents before this checkpoint barrier were not received by the target \
                                         tasks."
            .to_owned(),
    }
}

/// A checkpoint that does not rise.
pub(super) fn regressing(error: RegressingCheckpoint) -> String {
    let (latest, new) = (recorded_id(error.latest), recorded_id(error.checkpoint));
    format!(
        "IllegalStateException: Regressing checkpoint IDs. Previous checkpointId = {latest}, new checkpointId = {new}"
    )
}

/// An acknowledgement or a notice that a gateway cannot take.
pub(super) fn gateway_error(error: &GatewayError) -> String {
    match error {
        GatewayError::Unseen(unseen) => {
            let latest = unseen.latest.map_or(NONE_MARKED, recorded_id);
            format!(
                "IllegalStateException: Trying to open gateway for unseen checkpoint: latest known checkpoint = \
                 {latest}, incoming checkpoint = {}",
                recorded_id(unseen.checkpoint)
            )
        }
        GatewayError::NoGateway(_) => null_call(
            "org.apache.flink.runtime.operators.coordination.SubtaskGatewayImpl.openGatewayAndUnmarkCheckpoint(long)",
        ),
    }
}

/// What Java says of a call on what a map does not have.
pub(super) fn null_call(method: &str) -> String {
    null_call_on(method, "java.util.Map.get(Object)")
}

/// The same of what another method answered.
pub(super) fn null_call_on(method: &str, map: &str) -> String {
    format!("NullPointerException: Cannot invoke \"{method}\" because the return value of \"{map}\" is null")
}

/// An event that was lost, with why.
pub(super) fn event_lost(event: &str, subtask: u32, cause: &str) -> String {
    format!(
        "FlinkException: An OperatorEvent from an OperatorCoordinator to a task was lost. Triggering task failover to \
         ensure consistency. Event: '{event}', targetTask: task-{subtask} <- {cause}"
    )
}

/// The failed future of a sender. `cause` names its class first.
pub(super) fn send_failed(cause: &str) -> String {
    format!("CompletionException: java.lang.{cause} <- {cause}")
}

/// A call into an enumerator's context.
#[derive(Clone, Copy)]
pub(super) enum ContextCall<'a> {
    Assign(&'a [(u32, Vec<String>)]),
    NoMoreSplits(u32),
    Custom(u32, &'a str),
}

impl ContextCall<'_> {
    fn failed(&self) -> String {
        match self {
            Self::Assign(assignment) => {
                let lists: Vec<String> =
                    assignment.iter().map(|(sub, splits)| format!("{sub}=[{}]", splits.join(", "))).collect();
                format!("FlinkRuntimeException: Failed to assign splits {{{}}} due to ", lists.join(", "))
            }
            Self::NoMoreSplits(sub) => {
                format!("FlinkRuntimeException: Failed to send 'NoMoreSplits' to reader {sub}")
            }
            Self::Custom(sub, event) => {
                format!("FlinkRuntimeException: Failed to send event {event} to subtask {sub}")
            }
        }
    }

    /// (package, class and message) of what went wrong inside.
    fn cause(&self, error: ContextError, is_touched: bool) -> (&'static str, String) {
        match (self, error) {
            (Self::NoMoreSplits(_), _) if !is_touched => (
                "java.lang",
                "NullPointerException: Cannot store to byte/boolean array because \"this.subtaskHasNoMoreSplits\" is \
                 null"
                    .to_owned(),
            ),
            (Self::NoMoreSplits(_), ContextError::NotRegistered(_)) => (
                "java.lang",
                null_call_on(
                    "java.util.concurrent.ConcurrentMap.keySet()",
                    "java.util.concurrent.ConcurrentMap.get(Object)",
                ),
            ),
            (Self::Assign(assignment), ContextError::NotRegistered(subtask)) => {
                let splits = assignment.iter().find(|(sub, _)| *sub == subtask.0).map(|(_, splits)| splits);
                let splits = splits.map(|splits| splits.join(", ")).unwrap_or_default();
                let sub = subtask.0;
                (
                    "java.lang",
                    format!(
                        "IllegalArgumentException: Cannot assign splits [{splits}] to subtask {sub} because the \
                         subtask is not registered."
                    ),
                )
            }
            (_, ContextError::NotReady(attempt)) => (
                "java.lang",
                format!(
                    "IllegalStateException: Subtask {} (#{}) is not ready yet to receive events.",
                    attempt.subtask.0, attempt.attempt.0
                ),
            ),
            (_, ContextError::NoGateway(sub) | ContextError::NotRegistered(sub)) => (
                "java.lang",
                format!("IllegalStateException: Subtask {} is not ready yet to receive events.", sub.0),
            ),
            (_, ContextError::NoSuchSubtask { subtask, parallelism }) => {
                ("java.lang", out_of_bounds(subtask.0, parallelism))
            }
        }
    }

    /// As the enumerator sees it, which runs in the coordinator's thread.
    pub(super) fn thrown_inside(&self, error: ContextError, is_touched: bool) -> String {
        match error {
            ContextError::NoSuchSubtask { subtask, parallelism } => out_of_bounds(subtask.0, parallelism),
            _ => format!("{} <- {}", self.failed(), self.cause(error, is_touched).1),
        }
    }

    /// As another thread sees it, which waits for the coordinator's.
    pub(super) fn thrown_outside(&self, error: ContextError, is_touched: bool) -> String {
        match error {
            ContextError::NoSuchSubtask { subtask, parallelism } => out_of_bounds(subtask.0, parallelism),
            _ => {
                let (package, cause) = self.cause(error, is_touched);
                format!("{} <- ExecutionException: {package}.{cause} <- {cause}", self.failed())
            }
        }
    }
}

fn out_of_bounds(subtask: u32, parallelism: u32) -> String {
    format!("IllegalArgumentException: Subtask index {subtask} is out of bounds [0, {parallelism})")
}
