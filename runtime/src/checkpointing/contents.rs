//! What a completed checkpoint holds, read from its stored bytes.
//!
//! The high-availability service decodes a checkpoint when the add is applied, and tells of it. So the census sees what
//! a restore would get, a serialiser that loses a split included, and checkers need no connector. What was refused: to
//! let the roles tell what they put in, which would be their own opinion of success.

use crate::api::{sink, source_state};
use crate::config::{JobConfig, SinkKind};
use crate::event::CheckpointContents;
use crate::exchange::channel_records_held;
use crate::ids::{OperatorUid, SubtaskId};
use crate::message::{CompletedCheckpoint, SubtaskState, TaskSnapshot};
use std::fmt::Display;

/// Why a stored checkpoint cannot be read.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum ContentsError {
    /// The checkpoint holds the state of a coordinator that the job does not have.
    #[error("no coordinator of {0} belongs to the job")]
    UnknownOperator(OperatorUid),
    /// The state of a coordinator cannot be decoded.
    #[error("coordinator state of {operator}: {cause}")]
    Coordinator {
        /// Whose.
        operator: OperatorUid,
        /// Why.
        cause: String,
    },
    /// The state of a subtask cannot be decoded.
    #[error("{part} state of {subtask}: {cause}")]
    Subtask {
        /// Whose.
        subtask: SubtaskId,
        /// Which part of it.
        part: &'static str,
        /// Why.
        cause: String,
    },
}

/// Decodes a checkpoint. Everything keeps the order in which it is stored. The configuration tells sources, whose
/// coordinators hold enumerator state, from coordinated operators that are none, whose coordinators hold nothing that an
/// invariant asks for.
///
/// A subtask that had finished before the checkpoint began is listed as such; what its state holds is listed too (it
/// should hold nothing, and an invariant shall see it if it does).
///
/// # Errors
/// When any state cannot be decoded, or belongs to no operator of the job.
pub fn decode(
    checkpoint: &CompletedCheckpoint,
    config: &JobConfig,
) -> Result<CheckpointContents, ContentsError> {
    let mut contents = CheckpointContents::default();
    for (operator, state) in &checkpoint.coordinators {
        let operator = *operator;
        if config.vertices.iter().any(|vertex| vertex.operator == operator) {
            let splits = source_state::enumerator_splits_held(state)
                .map_err(|error| ContentsError::Coordinator { operator, cause: error.to_string() })?;
            contents.enumerators.extend(splits);
        } else if !config.vertices.iter().any(|vertex| is_coordinated(vertex.coordinated, operator)) {
            return Err(ContentsError::UnknownOperator(operator));
        }
    }
    for SubtaskState { subtask, snapshot, finished } in &checkpoint.subtasks {
        if *finished {
            contents.finished.push(*subtask);
        }
        decode_subtask(*subtask, snapshot, config.sink, &mut contents)?;
    }
    debug_assert!(contents.finished.len() <= checkpoint.subtasks.len(), "each finishes once");
    Ok(contents)
}

fn is_coordinated(coordinated: Option<crate::config::CoordinatedConfig>, operator: OperatorUid) -> bool {
    coordinated.is_some_and(|coordinated| coordinated.operator == operator)
}

fn decode_subtask(
    subtask: SubtaskId,
    snapshot: &TaskSnapshot,
    kind: SinkKind,
    contents: &mut CheckpointContents,
) -> Result<(), ContentsError> {
    let failed = |part: &'static str, error: &dyn Display| ContentsError::Subtask {
        subtask,
        part,
        cause: error.to_string(),
    };
    let splits =
        source_state::reader_splits_held(&snapshot.reader).map_err(|error| failed("reader", &error))?;
    contents.readers.extend(splits.into_iter().map(|split| (subtask, split)));
    let committables =
        sink::committables_held(kind, &snapshot.committer).map_err(|error| failed("committer", &error))?;
    contents.committables.extend(committables.into_iter().map(|(name, records)| (subtask, name, records)));
    let work = sink::decode_writer_state(&snapshot.writer).map_err(|error| failed("writer", &error))?;
    let work = work.into_iter().filter(|element| !element.records.is_empty());
    contents.writers.extend(work.map(|element| (subtask, element.transaction, element.records)));
    let buffers = channel_records_held(&snapshot.channels).map_err(|error| failed("channel", &error))?;
    contents.channels.extend(buffers.into_iter().map(|records| (subtask, records)));
    if !snapshot.coordinated.is_empty() {
        let number =
            postcard::from_bytes(&snapshot.coordinated).map_err(|error| failed("coordinated", &error))?;
        contents.coordinated.push((subtask, number));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
