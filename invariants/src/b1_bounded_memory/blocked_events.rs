//! The events that a gateway keeps back: never more than its checkpoints allow. A job that sets no bound promises none, as
//! Flink does not.

use crate::checker::RunSetup;
use crate::code::Code;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{ExecutionAttemptId, LeaderEpoch, OperatorUid};

/// What the gateway of one operator to one execution keeps back.
#[derive(Clone, Copy, Debug, Hash)]
struct Blocked {
    epoch: LeaderEpoch,
    operator: OperatorUid,
    attempt: ExecutionAttemptId,
    count: u32,
}

/// See the module.
#[derive(Clone, Debug, Hash)]
pub(super) struct BlockedEvents {
    max: Option<u32>,
    gateways: Vec<Blocked>,
}

impl BlockedEvents {
    pub(super) fn new(setup: &RunSetup) -> Self {
        let max = setup.config.checkpointing.and_then(|checkpointing| checkpointing.blocked_events_max);
        Self { max, gateways: Vec::new() }
    }

    /// Takes an event; answers whether there was something to judge.
    pub(super) fn read(&mut self, event: &Event) -> Result<bool, Violation> {
        let Some(max) = self.max else { return Ok(false) };
        match &event.kind {
            EventKind::OperatorEventBlocked { operator, attempt, .. } => {
                let gateway = self.gateway(event.header.leader_epoch, *operator, *attempt);
                gateway.count += 1;
                let count = gateway.count;
                if count <= max {
                    return Ok(true);
                }
                let sentence = format!(
                    "the gateway of {operator} to {attempt} keeps back {count} events, and its bound is {max}"
                );
                Err(Violation::new(Code::B1, Subject::Attempt(*attempt), &event.header, sentence))
            }
            EventKind::GatewayOpened { operator, attempt, released, .. } => {
                let gateway = self.gateway(event.header.leader_epoch, *operator, *attempt);
                gateway.count = gateway.count.saturating_sub(*released);
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// The gateway's entry. That of a subtask's earlier execution, or of an earlier leader, makes room.
    fn gateway(
        &mut self,
        epoch: LeaderEpoch,
        operator: OperatorUid,
        attempt: ExecutionAttemptId,
    ) -> &mut Blocked {
        let of_subtask = |held: &Blocked| {
            (held.operator, held.attempt.subtask_id()) == (operator, attempt.subtask_id())
                && held.epoch <= epoch
        };
        let new = Blocked { epoch, operator, attempt, count: 0 };
        match self.gateways.iter().position(of_subtask) {
            Some(at) => {
                let held = &mut self.gateways[at];
                if (held.epoch, held.attempt.attempt) < (epoch, attempt.attempt) {
                    *held = new;
                }
                held
            }
            None => {
                self.gateways.push(new);
                self.gateways.last_mut().expect("pushed just now")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::BoundedMemory;
    use super::*;
    use crate::checker::Checker;
    use crate::testing::{History, attempt, setup};
    use splitrace_runtime::ids::{CheckpointId, OperatorEventId};

    const OPERATOR: OperatorUid = OperatorUid(0);

    /// Blocks events to these attempts of subtask 0, one each; `None` opens the gateway for two.
    fn judge(steps: &[Option<u32>]) -> Result<(), Violation> {
        let mut setup = setup();
        setup.config.checkpointing.as_mut().expect("it has checkpoints").blocked_events_max = Some(2);
        let mut checker = BoundedMemory::new(&setup);
        let mut history = History::new();
        let (operator, checkpoint) = (OPERATOR, CheckpointId(1));
        for (number, step) in steps.iter().enumerate() {
            let id = OperatorEventId(number as u64);
            history.main(match step {
                Some(number) => {
                    let attempt = attempt(0, *number);
                    EventKind::OperatorEventBlocked { operator, attempt, id, checkpoint }
                }
                None => {
                    let attempt = attempt(0, 0);
                    EventKind::GatewayOpened { operator, attempt, checkpoint, released: 2 }
                }
            });
        }
        history.events().iter().try_for_each(|event| checker.observe(event))
    }

    #[test]
    fn as_many_as_the_bound_may_wait_and_others_once_they_are_gone() {
        assert_eq!(judge(&[Some(0), Some(0), None, Some(0), Some(0)]), Ok(()));
    }

    #[test]
    fn a_new_execution_has_a_new_gateway() {
        assert_eq!(judge(&[Some(0), Some(0), Some(1), Some(1)]), Ok(()));
    }

    #[test]
    fn one_more_breaks_it() {
        assert_eq!(
            judge(&[Some(0), Some(0), Some(0)]).unwrap_err().to_string(),
            "B1 bounded memory: the gateway of operator-0 to subtask 0 #0 keeps back 3 events, and its bound is 2"
        );
    }
}
