//! What the components of the sink side share: committables that are texts, states as the recordings show them, errors in
//! Java's words, and a committer that answers by script.

mod java;
mod port;
mod script;
mod shown;

pub(super) use java::{Thrown, collector_error, message_error, task_error};
pub(super) use port::{Scripted, ScriptedCommitter, Told, emitted};
pub(super) use script::{Call, Script};
pub(super) use shown::shown;

use super::{Operation, OperationError, Stored};
use splitrace_runtime::api::sink::{CommittablePayload, PreparedCommittable};
use splitrace_runtime::ids::{CheckpointId, SubtaskIndex, TransactionName};
use splitrace_runtime::records::RecordRanges;
use splitrace_runtime::task::{CommittableMessage, CommittableSummary, CommittableWithLineage};

/// The serialiser's version of the oracle's committables.
const VERSION: u32 = 1;

/// A committable of the recordings: it is nothing but a text, and no record hangs on it.
pub(super) fn committable_of(text: &str) -> PreparedCommittable {
    PreparedCommittable { payload: payload_of(text), records: RecordRanges::new() }
}

/// Its bytes.
pub(super) fn payload_of(text: &str) -> CommittablePayload {
    let transaction = TransactionName::default();
    CommittablePayload { transaction, version: VERSION, bytes: text.as_bytes().to_vec() }
}

/// The text that [`payload_of`] put in.
pub(super) fn text_of(payload: &CommittablePayload) -> &str {
    std::str::from_utf8(&payload.bytes).expect("the oracle's committables are texts")
}

/// A checkpoint. Unlike the coordinator's, a committer's ids are not moved: the sink has no checkpoint below 0.
pub(super) fn checkpoint_of(id: i64) -> Result<CheckpointId, OperationError> {
    let malformed = |_| OperationError::Malformed(format!("{id} is no checkpoint of a sink"));
    u64::try_from(id).map(CheckpointId).map_err(malformed)
}

/// The checkpoint of `restored_id`; none when nothing is restored.
pub(super) fn restored_of(operation: &Operation) -> Result<Option<CheckpointId>, OperationError> {
    let is_restored = operation.get("restored_id").is_some_and(|id| !id.is_null());
    is_restored.then(|| checkpoint_of(operation.number("restored_id")?)).transpose()
}

/// The element of a state that a snapshot stored under this name.
pub(super) fn stored_element<'a>(name: &str, stored: &'a Stored) -> Result<&'a [u8], OperationError> {
    let missing = || OperationError::Malformed(format!("nothing is stored as '{name}'"));
    stored.get(name).map(Vec::as_slice).ok_or_else(missing)
}

/// The message of an operation `summary` or `committable`.
pub(super) fn message_of(operation: &Operation) -> Result<CommittableMessage, OperationError> {
    let checkpoint = checkpoint_of(operation.number("ckpt")?)?;
    let subtask = SubtaskIndex(operation.index("sub")?);
    if operation.name()? == "committable" {
        let committable = committable_of(operation.text("val")?);
        return Ok(CommittableMessage::Committable(CommittableWithLineage {
            committable,
            checkpoint,
            subtask,
        }));
    }
    let (number_of_subtasks, committables) = (operation.index("n_sub")?, operation.index("n")?);
    Ok(CommittableMessage::Summary(CommittableSummary {
        subtask,
        number_of_subtasks,
        checkpoint,
        committables,
        failed: 0,
    }))
}
