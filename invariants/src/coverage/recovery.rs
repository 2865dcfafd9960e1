//! Failures that come while an earlier one is not recovered from yet.
//!
//! A recovery lasts from the crash, or from the job master's failover, until every subtask that it concerns runs again.

use crate::kinds::{Kind, KindSet};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{ProcessId, SubtaskId};
use splitrace_runtime::message::ExecutionState;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    deployed: BTreeMap<SubtaskId, u32>,
    /// Subtasks that have to run again.
    down: BTreeSet<SubtaskId>,
    second_failures: u64,
    third_failures: u64,
    /// How many failures came since everything last ran.
    failures: u64,
}

impl Recovery {
    /// What it reads.
    pub(super) const READS: KindSet = KindSet::of(&[
        Kind::TaskDeployed,
        Kind::TaskEnded,
        Kind::ProcessCrashed,
        Kind::FailoverStarted,
        Kind::TaskStateChanged,
        Kind::JobEnded,
    ]);

    pub(super) fn observe(&mut self, event: &Event) {
        match &event.kind {
            EventKind::TaskDeployed { attempt, task_manager, .. } => {
                self.deployed.insert(attempt.subtask_id(), *task_manager);
            }
            EventKind::TaskEnded { state: ExecutionState::Failed, .. } => self.fail(),
            EventKind::ProcessCrashed { address } => {
                self.fail();
                let died = address.process;
                let lost = self.deployed.iter().filter(|(_, task_manager)| {
                    died == ProcessId::JobManager || died == ProcessId::TaskManager(**task_manager)
                });
                self.down.extend(lost.map(|(subtask, _)| *subtask));
            }
            EventKind::FailoverStarted { subtasks, .. } => self.down.extend(subtasks),
            EventKind::TaskStateChanged { attempt, state, .. } => {
                if matches!(state, ExecutionState::Running | ExecutionState::Finished) {
                    self.down.remove(&attempt.subtask_id());
                }
            }
            EventKind::JobEnded { .. } => self.down.clear(),
            _ => {}
        }
    }

    fn fail(&mut self) {
        // The failure that begins a recovery comes before anybody is known to be down.
        if self.down.is_empty() {
            self.failures = 0;
        }
        self.failures += 1;
        self.second_failures += u64::from(!self.down.is_empty());
        self.third_failures += u64::from(self.failures > 2);
    }

    pub(super) const fn third_failures(&self) -> u64 {
        self.third_failures
    }

    pub(super) const fn second_failures(&self) -> u64 {
        self.second_failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{History, attempt};

    #[test]
    fn a_third_failure_counts_in_a_recovery_that_had_a_second() {
        let mut history = History::new();
        let failed = EventKind::TaskEnded { state: ExecutionState::Failed, cause: None };
        history.task(0, attempt(0, 0), failed.clone());
        history.main(EventKind::FailoverStarted {
            global: false,
            subtasks: vec![attempt(0, 0).subtask_id()],
            cause: String::new(),
        });
        history.task(0, attempt(0, 1), failed.clone());
        history.task(0, attempt(0, 2), failed);
        let mut recovery = Recovery::default();
        history.events().iter().for_each(|event| recovery.observe(event));
        assert_eq!((recovery.second_failures(), recovery.third_failures()), (2, 1));
    }

    #[test]
    fn a_failure_counts_until_all_run_again() {
        let mut history = History::new();
        let failed = EventKind::TaskEnded { state: ExecutionState::Failed, cause: None };
        let running = |number| EventKind::TaskStateChanged {
            attempt: attempt(0, number),
            state: ExecutionState::Running,
            cause: None,
        };
        let failover = EventKind::FailoverStarted {
            global: false,
            subtasks: vec![attempt(0, 0).subtask_id()],
            cause: String::new(),
        };
        history.task(0, attempt(0, 0), failed.clone());
        history.main(failover.clone());
        history.task(0, attempt(0, 1), failed.clone());
        history.main(running(2));
        history.task(0, attempt(0, 2), failed);
        let mut recovery = Recovery::default();
        history.events().iter().for_each(|event| recovery.observe(event));
        assert_eq!((recovery.second_failures(), recovery.third_failures()), (1, 0));
    }
}
