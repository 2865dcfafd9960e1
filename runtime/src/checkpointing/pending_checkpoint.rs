//! One checkpoint between its trigger and its end.
//!
//! Who takes part is fixed at the trigger (Flink's `CheckpointPlan`): a subtask that had finished by then is recorded
//! as finished, every other one owes an acknowledgement of the very execution that ran at the trigger. So an
//! acknowledgement of another execution cannot be counted, whatever the network does with it.
//!
//! ```text
//! CoordinatorSnapshots --(last coordinator)--> TaskAcknowledgements --(last acknowledgement)--> Adding --> complete
//!         \-------------------- abort --------------------/                  (nothing aborts an add)
//! ```

use crate::ids::{CheckpointId, ExecutionAttemptId, OperatorUid, SubtaskId};
use crate::message::{CheckpointKind, CompletedCheckpoint, SubtaskState, TaskSnapshot};
use std::sync::Arc;

/// How far a pending checkpoint is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PendingPhase {
    /// The coordinators take their snapshots; no barrier is injected.
    CoordinatorSnapshots,
    /// The barriers are injected; subtasks owe their acknowledgements.
    TaskAcknowledgements,
    /// The high-availability service was asked to add it. Only the service's answer, or the end of the leader's term,
    /// ends this phase: the add may have been applied.
    Adding,
}

/// What one subtask gives to the checkpoint.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SubtaskPart {
    /// It had finished before the trigger.
    Finished(SubtaskId),
    /// This execution owes its acknowledgement.
    Awaited(ExecutionAttemptId),
    /// This execution has acknowledged.
    Acknowledged(ExecutionAttemptId, Arc<TaskSnapshot>),
}

/// What became of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Acknowledgement {
    /// It is not owed (any more).
    Ignored,
    /// It was counted, others are missing.
    Counted,
    /// It was counted and is the last one.
    Last,
}

/// Flink's `PendingCheckpoint`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PendingCheckpoint {
    id: CheckpointId,
    kind: CheckpointKind,
    phase: PendingPhase,
    coordinators: Vec<(OperatorUid, Option<Vec<u8>>)>,
    subtasks: Vec<SubtaskPart>,
    missing: usize,
}

impl PendingCheckpoint {
    /// A checkpoint that has just been triggered. `subtasks` are in (vertex, subtask) order and at least one of them is
    /// awaited; `coordinators` is not empty.
    #[must_use]
    pub fn new(id: CheckpointId, coordinators: &[OperatorUid], subtasks: Vec<SubtaskPart>) -> Self {
        debug_assert!(!coordinators.is_empty(), "{id}: a source has a coordinator");
        let missing = subtasks.iter().filter(|part| matches!(part, SubtaskPart::Awaited(_))).count();
        debug_assert!(missing > 0, "{id} without a running subtask");
        let coordinators = coordinators.iter().map(|operator| (*operator, None)).collect();
        let kind = CheckpointKind::Recovery;
        Self { id, kind, phase: PendingPhase::CoordinatorSnapshots, coordinators, subtasks, missing }
    }

    /// Its identifier.
    #[must_use]
    pub const fn id(&self) -> CheckpointId {
        self.id
    }

    /// The same, taken for something else than recovery.
    #[must_use]
    pub const fn of_kind(mut self, kind: CheckpointKind) -> Self {
        self.kind = kind;
        self
    }

    /// What it is taken for.
    #[must_use]
    pub const fn kind(&self) -> CheckpointKind {
        self.kind
    }

    /// How far it is.
    #[must_use]
    pub const fn phase(&self) -> PendingPhase {
        self.phase
    }

    /// Files a coordinator's state; answers whether all coordinators are done now and barriers are due.
    pub fn coordinator_completed(&mut self, operator: OperatorUid, state: Vec<u8>) -> bool {
        if self.phase != PendingPhase::CoordinatorSnapshots {
            return false;
        }
        let part = self.coordinators.iter_mut().find(|part| part.0 == operator);
        debug_assert!(part.is_some(), "{operator} takes no part in {}", self.id);
        if let Some(part) = part {
            debug_assert!(part.1.is_none(), "{operator} completed {} twice", self.id);
            part.1 = Some(state);
        }
        self.coordinators.iter().all(|part| part.1.is_some())
    }

    /// The barriers go out: from here on acknowledgements count.
    pub fn barriers_injected(&mut self) {
        debug_assert_eq!(self.phase, PendingPhase::CoordinatorSnapshots, "{}: barriers go out once", self.id);
        debug_assert!(
            self.coordinators.iter().all(|part| part.1.is_some()),
            "{}: coordinators come first",
            self.id
        );
        self.phase = PendingPhase::TaskAcknowledgements;
    }

    /// The executions that still owe an acknowledgement.
    pub fn awaited(&self) -> impl Iterator<Item = ExecutionAttemptId> {
        self.subtasks.iter().filter_map(|part| match part {
            SubtaskPart::Awaited(attempt) => Some(*attempt),
            SubtaskPart::Finished(_) | SubtaskPart::Acknowledged(..) => None,
        })
    }

    /// The coordinators that still owe their state.
    pub fn awaited_coordinators(&self) -> impl Iterator<Item = OperatorUid> {
        self.coordinators.iter().filter(|part| part.1.is_none()).map(|part| part.0)
    }

    /// Whether this execution still owes its acknowledgement.
    #[must_use]
    pub fn awaits(&self, attempt: ExecutionAttemptId) -> bool {
        self.awaited().any(|awaited| awaited == attempt)
    }

    /// Counts an acknowledgement. One before the barriers, of another execution, or a repeated one is ignored.
    pub fn acknowledge(
        &mut self,
        attempt: ExecutionAttemptId,
        snapshot: Arc<TaskSnapshot>,
    ) -> Acknowledgement {
        if self.phase != PendingPhase::TaskAcknowledgements {
            return Acknowledgement::Ignored;
        }
        let Some(part) = self.subtasks.iter_mut().find(|part| **part == SubtaskPart::Awaited(attempt)) else {
            return Acknowledgement::Ignored;
        };
        *part = SubtaskPart::Acknowledged(attempt, snapshot);
        self.missing -= 1;
        debug_assert_eq!(self.missing, self.awaited().count(), "{}: miscounted", self.id);
        if self.missing == 0 { Acknowledgement::Last } else { Acknowledgement::Counted }
    }

    /// Everything is there: hands out what is to be stored, and waits for the store.
    ///
    /// # Panics
    /// When a coordinator or a subtask still owes its part.
    pub fn begin_adding(&mut self) -> CompletedCheckpoint {
        debug_assert_eq!(self.phase, PendingPhase::TaskAcknowledgements, "{}: not injected", self.id);
        debug_assert_eq!(self.missing, 0, "{}: acknowledgements are missing", self.id);
        self.phase = PendingPhase::Adding;
        let coordinators = std::mem::take(&mut self.coordinators)
            .into_iter()
            .map(|(operator, state)| (operator, state.expect("barriers follow the coordinators' states")))
            .collect();
        let subtasks = std::mem::take(&mut self.subtasks).into_iter().map(stored_part).collect();
        CompletedCheckpoint { kind: self.kind, id: self.id, coordinators, subtasks }
    }
}

fn stored_part(part: SubtaskPart) -> SubtaskState {
    match part {
        SubtaskPart::Finished(subtask) => SubtaskState { subtask, snapshot: Arc::default(), finished: true },
        SubtaskPart::Acknowledged(attempt, snapshot) => {
            SubtaskState { subtask: attempt.subtask_id(), snapshot, finished: false }
        }
        SubtaskPart::Awaited(attempt) => unreachable!("{attempt} has not acknowledged"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AttemptNumber, SubtaskIndex};

    fn attempt(subtask: u32, number: u32) -> ExecutionAttemptId {
        ExecutionAttemptId {
            vertex: OperatorUid(0),
            subtask: SubtaskIndex(subtask),
            attempt: AttemptNumber(number),
        }
    }

    fn pending() -> PendingCheckpoint {
        let parts = vec![
            SubtaskPart::Awaited(attempt(0, 2)),
            SubtaskPart::Finished(attempt(1, 0).subtask_id()),
            SubtaskPart::Awaited(attempt(2, 0)),
        ];
        PendingCheckpoint::new(CheckpointId(3), &[OperatorUid(0), OperatorUid(9)], parts)
    }

    #[test]
    fn coordinators_come_first_and_only_the_planned_executions_count() {
        let mut pending = pending();
        assert_eq!(pending.acknowledge(attempt(0, 2), Arc::default()), Acknowledgement::Ignored);
        assert!(!pending.coordinator_completed(OperatorUid(9), vec![9]));
        assert!(pending.coordinator_completed(OperatorUid(0), vec![1]));
        pending.barriers_injected();
        assert_eq!(pending.acknowledge(attempt(0, 1), Arc::default()), Acknowledgement::Ignored);
        assert_eq!(pending.acknowledge(attempt(0, 2), Arc::default()), Acknowledgement::Counted);
        assert_eq!(pending.acknowledge(attempt(0, 2), Arc::default()), Acknowledgement::Ignored);
        assert!(pending.awaits(attempt(2, 0)) && !pending.awaits(attempt(0, 2)));
        let snapshot = Arc::new(TaskSnapshot { reader: vec![7], ..TaskSnapshot::default() });
        assert_eq!(pending.acknowledge(attempt(2, 0), snapshot), Acknowledgement::Last);
        let stored = pending.begin_adding();
        assert_eq!(stored.coordinators, vec![(OperatorUid(0), vec![1]), (OperatorUid(9), vec![9])]);
        assert_eq!(
            stored.subtasks.iter().map(|part| part.finished).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert_eq!(stored.subtasks[2].snapshot.reader, vec![7]);
        assert_eq!(pending.phase(), PendingPhase::Adding);
    }
}
