//! Component `tracker`: [`SplitAssignmentTracker`] by itself (FACTS 1 to 7).

use super::{Answer, Component, Operation, OperationError, Stored};
use serde::Serialize;
use splitrace_runtime::coordination::split_assignment_tracker::SplitAssignmentTracker;
use splitrace_runtime::ids::{CheckpointId, SplitId, SubtaskIndex};
use splitrace_runtime::message::SplitPayload;
use splitrace_runtime::records::SplitPosition;
use std::collections::BTreeMap;

/// A checkpoint of the recordings. Flink's ids are signed, and -1 is the checkpoint of a batch job; the runtime's are not,
/// and 0 is that one. So the oracle moves all up by one.
///
/// # Errors
/// When it is below -1: Flink has no such checkpoint.
pub(super) fn checkpoint_of(id: i64) -> Result<CheckpointId, OperationError> {
    let moved = id.checked_add(1).and_then(|moved| u64::try_from(moved).ok());
    moved.map(CheckpointId).ok_or_else(|| OperationError::Malformed(format!("{id} is no checkpoint")))
}

/// The number that the recordings have for a checkpoint.
pub(super) fn recorded_id(checkpoint: CheckpointId) -> i64 {
    checkpoint.0 as i64 - 1
}

/// A split of the recordings: it is nothing but a name. Two splits are equal when their names are.
pub(super) fn split_of(name: &str) -> SplitPayload {
    let at = SplitPosition { split: SplitId::default(), position: 0, end: 0 };
    SplitPayload { at, version: 1, bytes: name.as_bytes().to_vec() }
}

/// The name of a split that [`split_of`] made.
pub(super) fn split_name(split: &SplitPayload) -> &str {
    std::str::from_utf8(&split.bytes).expect("the oracle's splits are names")
}

/// Names of splits, in order.
pub(super) fn split_names(splits: &[SplitPayload]) -> Vec<&str> {
    splits.iter().map(split_name).collect()
}

/// The state of a tracker, as the recordings show it.
#[derive(Serialize)]
pub(super) struct TrackerState<'a> {
    by_ckpt: BTreeMap<i64, BTreeMap<u32, Vec<&'a str>>>,
    unck: BTreeMap<u32, Vec<&'a str>>,
}

impl<'a> TrackerState<'a> {
    /// What this tracker holds.
    pub(super) fn of(tracker: &'a SplitAssignmentTracker) -> Self {
        let named = |assignments: &'a BTreeMap<SubtaskIndex, Vec<SplitPayload>>| {
            assignments.iter().map(|(subtask, splits)| (subtask.0, split_names(splits))).collect()
        };
        let by_checkpoint = tracker.by_checkpoint().iter();
        Self {
            by_ckpt: by_checkpoint.map(|(id, assignments)| (recorded_id(*id), named(assignments))).collect(),
            unck: named(tracker.uncheckpointed()),
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct TrackerComponent {
    tracker: SplitAssignmentTracker,
}

impl TrackerComponent {
    fn stored_state<'a>(name: &str, stored: &'a Stored) -> Result<&'a [u8], OperationError> {
        let missing = || OperationError::Malformed(format!("nothing is stored as '{name}'"));
        stored.get(name).map(Vec::as_slice).ok_or_else(missing)
    }

    fn assign(&mut self, operation: &Operation) -> Result<(), OperationError> {
        for (subtask, names) in operation.assignment()? {
            let splits: Vec<SplitPayload> = names.iter().map(|name| split_of(name)).collect();
            self.tracker.record_split_assignment(SubtaskIndex(subtask), &splits);
        }
        Ok(())
    }
}

impl Component for TrackerComponent {
    fn operate(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        match operation.name()? {
            "new" => self.tracker = SplitAssignmentTracker::new(),
            "assign" => self.assign(operation)?,
            "checkpoint" => self.tracker.on_checkpoint(checkpoint_of(operation.number("id")?)?),
            "complete" => self.tracker.on_checkpoint_complete(checkpoint_of(operation.number("id")?)?),
            "take" => {
                let restored = checkpoint_of(operation.number("restored")?)?;
                let subtask = SubtaskIndex(operation.index("sub")?);
                let taken = self.tracker.get_and_remove_uncheckpointed_assignment(subtask, Some(restored));
                answer.field("splits", &split_names(&taken));
            }
            "snapshot" => {
                stored.insert(operation.text("name")?.to_owned(), self.tracker.snapshot_state());
            }
            "restore" => {
                let state = Self::stored_state(operation.text("name")?, stored)?;
                let restored = self.tracker.restore_state(state);
                restored.map_err(|error| OperationError::Malformed(error.to_string()))?;
            }
            "dump" => {}
            _ => return Err(operation.unknown()),
        }
        answer.field("state", &TrackerState::of(&self.tracker));
        Ok(())
    }
}
