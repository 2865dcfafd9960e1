//! The slots of a task manager: subtasks of one index share one, whatever their vertex, and no task manager is given more
//! than it has. A slot is a fixed share of its memory.
//!
//! Judged is what the job master deploys, by its own account of what has ended: what a zombie holds is out of its hands.

use crate::checker::RunSetup;
use crate::code::Code;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{ExecutionAttemptId, LeaderEpoch};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub(super) struct Slots {
    /// `None` where a task manager takes whatever comes.
    per_task_manager: Option<u32>,
    epoch: LeaderEpoch,
    /// What the leader of that epoch has deployed and not seen end, with the task manager.
    deployed: Vec<(ExecutionAttemptId, u32)>,
}

impl Slots {
    pub(super) fn new(setup: &RunSetup) -> Self {
        let per_task_manager = setup.config.slots_per_task_manager;
        Self { per_task_manager, epoch: LeaderEpoch(0), deployed: Vec::new() }
    }

    /// Takes an event; answers whether there was something to judge.
    pub(super) fn read(&mut self, event: &Event) -> Result<bool, Violation> {
        let Some(room) = self.per_task_manager else { return Ok(false) };
        match &event.kind {
            EventKind::TaskStateChanged { attempt, state, .. } if state.is_terminal() => {
                if event.header.leader_epoch == self.epoch {
                    self.deployed.retain(|(held, _)| held != attempt);
                }
                Ok(false)
            }
            EventKind::TaskDeployed { attempt, task_manager, .. } => {
                let epoch = event.header.leader_epoch;
                if epoch < self.epoch {
                    return Ok(false);
                }
                if epoch > self.epoch {
                    self.epoch = epoch;
                    self.deployed.clear();
                }
                self.deployed.retain(|(held, _)| held.subtask_id() != attempt.subtask_id());
                self.deployed.push((*attempt, *task_manager));
                let taken = self.taken(*task_manager);
                if taken <= room as usize {
                    return Ok(true);
                }
                let sentence =
                    format!("task-manager-{task_manager} is given {taken} slots' work, and has {room}");
                Err(Violation::new(Code::B1, Subject::Attempt(*attempt), &event.header, sentence))
            }
            _ => Ok(false),
        }
    }

    fn taken(&self, task_manager: u32) -> usize {
        let held = self.deployed.iter().filter(|(_, on)| *on == task_manager);
        let mut slots: Vec<_> = held.map(|(attempt, _)| attempt.subtask).collect();
        slots.sort_unstable();
        slots.dedup();
        slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::BoundedMemory;
    use super::*;
    use crate::checker::Checker;
    use crate::testing::{History, attempt, setup};
    use splitrace_runtime::ids::OperatorUid;
    use splitrace_runtime::message::ExecutionState;

    fn deployed(attempt: ExecutionAttemptId, task_manager: u32) -> EventKind {
        EventKind::TaskDeployed { attempt, task_manager, restored: None }
    }

    fn ended(attempt: ExecutionAttemptId) -> EventKind {
        EventKind::TaskStateChanged { attempt, state: ExecutionState::Failed, cause: None }
    }

    fn judge(steps: &[EventKind]) -> Result<(), Violation> {
        let mut setup = setup();
        setup.config.slots_per_task_manager = Some(1);
        let mut checker = BoundedMemory::new(&setup);
        let mut history = History::new();
        for kind in steps {
            history.main(kind.clone());
        }
        history.events().iter().try_for_each(|event| checker.observe(event))
    }

    #[test]
    fn subtasks_of_one_index_share_a_slot_and_one_that_has_ended_frees_it() {
        let other_vertex = ExecutionAttemptId { vertex: OperatorUid(1), ..attempt(0, 0) };
        let steps = [
            deployed(attempt(0, 0), 0),
            deployed(other_vertex, 0),
            deployed(attempt(1, 0), 1),
            ended(attempt(1, 0)),
            deployed(attempt(2, 0), 1),
        ];
        assert_eq!(judge(&steps), Ok(()));
    }

    #[test]
    fn two_indices_in_one_slot_break_it() {
        assert_eq!(
            judge(&[deployed(attempt(0, 0), 0), deployed(attempt(1, 0), 0)]).unwrap_err().to_string(),
            "B1 bounded memory: task-manager-0 is given 2 slots' work, and has 1"
        );
    }
}
