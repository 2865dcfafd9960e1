//! From which moment on a coordinator's thread must not act for an execution any more.
//!
//! The main thread picks the restore point and mails the reset; the coordinator's thread handles that mail later. Until
//! then it may rightly act for the old execution, afterwards it may not, and by then the next execution may be deployed
//! or even dead. So each picked restore point is remembered with the newest execution of that moment, and the
//! coordinator's own word that it handled the reset makes it count. Both threads are in one process: its sequence orders
//! everything. A coordinator that says nothing about a reset only makes this lenient.

use crate::kinds::{Kind, KindSet};
use crate::table::Table;
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::*;
use std::collections::VecDeque;

#[derive(Clone, Debug, Default, Hash)]
struct Subtask {
    deployed: Option<AttemptNumber>,
    /// Restore points that the coordinator has not handled yet: the newest execution then, and whether all was reset.
    pending: VecDeque<(AttemptNumber, bool)>,
    /// Executions up to this one are none of the coordinator's business.
    stale: Option<AttemptNumber>,
}

/// The thresholds of every subtask.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct ResetThresholds {
    epoch: LeaderEpoch,
    subtasks: Table<Subtask>,
}

impl ResetThresholds {
    /// What it reads.
    pub(crate) const READS: KindSet = KindSet::of(&[
        Kind::TaskDeployed,
        Kind::RestorePointChosen,
        Kind::SplitsGivenBack,
        Kind::EnumeratorStarted,
    ]);

    /// Takes note of deployments and resets.
    pub(crate) fn observe(&mut self, event: &Event) {
        match &event.kind {
            EventKind::TaskDeployed { attempt, .. } => {
                if event.header.leader_epoch > self.epoch {
                    self.epoch = event.header.leader_epoch;
                    self.subtasks.clear();
                }
                self.subtasks.subtask_mut(attempt.subtask_id()).deployed = Some(attempt.attempt);
            }
            EventKind::RestorePointChosen { global, subtasks, .. } => {
                for subtask in subtasks {
                    let subtask = self.subtasks.subtask_mut(*subtask);
                    if let Some(deployed) = subtask.deployed {
                        subtask.pending.push_back((deployed, *global));
                    }
                }
            }
            EventKind::SplitsGivenBack { subtask, .. } => {
                let subtask = self.subtasks.subtask_mut(*subtask);
                if let Some((threshold, false)) = subtask.pending.front().copied() {
                    subtask.pending.pop_front();
                    subtask.stale = Some(threshold);
                }
            }
            EventKind::EnumeratorStarted { .. } => {
                if let ActorId::SourceCoordinator(operator) = event.header.actor {
                    self.subtasks.of_operator_mut(operator).for_each(Subtask::start_anew);
                }
            }
            _ => {}
        }
    }

    /// Whether the coordinator has handled a reset that ended this execution.
    pub(crate) fn is_stale(&self, attempt: ExecutionAttemptId) -> bool {
        let subtask = self.subtasks.subtask(attempt.subtask_id());
        subtask.and_then(|subtask| subtask.stale).is_some_and(|stale| attempt.attempt <= stale)
    }
}

impl Subtask {
    fn start_anew(&mut self) {
        if let Some(at) = self.pending.iter().position(|(_, global)| *global) {
            self.stale = Some(self.pending[at].0);
            self.pending.drain(..=at);
        }
        debug_assert!(self.stale <= self.deployed, "what is stale was deployed");
    }
}
