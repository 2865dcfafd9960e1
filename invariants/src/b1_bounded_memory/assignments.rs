//! The assignments that a tracker remembers: no more than were recorded since the checkpoint that its coordinator last knew
//! to be complete, and not given back meanwhile. What a completed checkpoint covers, readers hold in their own state; to
//! remember it is a leak that grows with the life of the job.

use crate::code::Code;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{ActorId, CheckpointId, LeaderEpoch, OperatorUid, SubtaskId};

/// Splits assigned to one subtask, and the first checkpoint that was filed after it.
#[derive(Clone, Copy, Debug, Hash)]
struct Assigned {
    subtask: SubtaskId,
    filed: Option<CheckpointId>,
    count: u64,
}

/// What one coordinator may remember.
#[derive(Clone, Debug, Hash)]
struct Memory {
    epoch: LeaderEpoch,
    operator: OperatorUid,
    assigned: Vec<Assigned>,
}

/// See the module.
#[derive(Clone, Debug, Hash, Default)]
pub(super) struct Assignments {
    coordinators: Vec<Memory>,
}

impl Assignments {
    /// Takes an event; answers whether there was something to judge.
    pub(super) fn read(&mut self, event: &Event) -> Result<bool, Violation> {
        let ActorId::SourceCoordinator(operator) = event.header.actor else { return Ok(false) };
        let epoch = event.header.leader_epoch;
        match &event.kind {
            EventKind::EnumeratorStarted { .. } => self.assigned(epoch, operator).clear(),
            EventKind::SplitsAssigned { attempt, splits } => {
                let (subtask, count) = (attempt.subtask_id(), splits.len() as u64);
                self.assigned(epoch, operator).push(Assigned { subtask, filed: None, count });
            }
            EventKind::SplitsGivenBack { subtask, restored, .. } => {
                let stays = |held: &Assigned| held.filed.is_some_and(|filed| Some(filed) <= *restored);
                self.assigned(epoch, operator).retain(|held| held.subtask != *subtask || stays(held));
            }
            EventKind::CoordinatorNotified { checkpoint, completed: true } => {
                self.assigned(epoch, operator)
                    .retain(|held| held.filed.is_none_or(|filed| filed > *checkpoint));
            }
            EventKind::AssignmentsFiled { checkpoint, remembered } => {
                let assigned = self.assigned(epoch, operator);
                for held in assigned.iter_mut().filter(|held| held.filed.is_none()) {
                    held.filed = Some(*checkpoint);
                }
                let bound: u64 = assigned.iter().map(|held| held.count).sum();
                if u64::from(*remembered) <= bound {
                    return Ok(true);
                }
                let sentence = format!(
                    "the tracker of {operator} remembers {remembered} assignments, and only {bound} are newer than the \
                     last checkpoint that it knows to be complete"
                );
                let subject = Subject::Checkpoint(*checkpoint);
                return Err(Violation::new(Code::B1, subject, &event.header, sentence));
            }
            _ => {}
        }
        Ok(false)
    }

    fn assigned(&mut self, epoch: LeaderEpoch, operator: OperatorUid) -> &mut Vec<Assigned> {
        let same = |held: &Memory| (held.epoch, held.operator) == (epoch, operator);
        let at = match self.coordinators.iter().position(same) {
            Some(at) => at,
            None => {
                self.coordinators.push(Memory { epoch, operator, assigned: Vec::new() });
                self.coordinators.len() - 1
            }
        };
        &mut self.coordinators[at].assigned
    }
}

#[cfg(test)]
mod tests {
    use super::super::BoundedMemory;
    use super::*;
    use crate::checker::Checker;
    use crate::testing::{History, attempt, position, setup};

    fn assigned(subtask: u32, split: u32) -> EventKind {
        EventKind::SplitsAssigned { attempt: attempt(subtask, 0), splits: vec![position(split, 0, 10)] }
    }

    fn filed(checkpoint: u64, remembered: u32) -> EventKind {
        EventKind::AssignmentsFiled { checkpoint: CheckpointId(checkpoint), remembered }
    }

    fn completed(checkpoint: u64) -> EventKind {
        EventKind::CoordinatorNotified { checkpoint: CheckpointId(checkpoint), completed: true }
    }

    fn judge(steps: &[EventKind]) -> Result<(), Violation> {
        let mut checker = BoundedMemory::new(&setup());
        let mut history = History::new();
        for kind in steps {
            history.coordinator(kind.clone());
        }
        history.events().iter().try_for_each(|event| checker.observe(event))
    }

    #[test]
    fn what_no_completed_checkpoint_covers_is_remembered() {
        let steps = [assigned(0, 0), filed(1, 1), assigned(1, 1), filed(2, 2), completed(1), filed(3, 1)];
        assert_eq!(judge(&steps), Ok(()));
    }

    #[test]
    fn an_aborted_checkpoint_covers_nothing() {
        let aborted = EventKind::CoordinatorNotified { checkpoint: CheckpointId(1), completed: false };
        assert_eq!(judge(&[assigned(0, 0), filed(1, 1), aborted, filed(2, 1)]), Ok(()));
    }

    #[test]
    fn to_remember_what_a_completed_checkpoint_covers_breaks_it() {
        assert_eq!(
            judge(&[assigned(0, 0), filed(1, 1), completed(1), filed(2, 1)]).unwrap_err().to_string(),
            "B1 bounded memory: the tracker of operator-0 remembers 1 assignments, and only 0 are newer than the last \
             checkpoint that it knows to be complete"
        );
    }

    #[test]
    fn what_was_given_back_is_forgotten() {
        let subtask = attempt(0, 0).subtask_id();
        let given_back = EventKind::SplitsGivenBack { subtask, restored: None, splits: Vec::new() };
        let steps = [assigned(0, 0), assigned(1, 1), filed(1, 2), given_back];
        assert_eq!(judge(&[&steps[..], &[filed(2, 1)]].concat()), Ok(()));
        assert!(judge(&[&steps[..], &[filed(2, 2)]].concat()).is_err());
    }
}
