//! What the job master is owed, and by whom: for reports of runs that stand still.

use super::execution::Execution;
use super::main_thread::{JobStatus, MainThread};
use crate::checkpointing::pending_checkpoint::{PendingCheckpoint, PendingPhase};

impl MainThread {
    /// What the job master waits for, as a sentence that names the debtor; `None` when nobody owes it anything. Of several
    /// things it names the one that holds up the others.
    #[must_use]
    pub fn waiting_for(&self) -> Option<String> {
        match self.status {
            JobStatus::Idle | JobStatus::Over | JobStatus::TermEnded => None,
            JobStatus::AwaitingLease | JobStatus::Ending => self.waiting_for_service(),
            JobStatus::AwaitingTaskManagers => Some(format!(
                "the deployment waits for task managers: {} of {} are registered",
                self.task_managers.len(),
                self.config.task_managers
            )),
            JobStatus::Running => self
                .waiting_for_service()
                .or_else(|| self.waiting_for_failover())
                .or_else(|| self.waiting_for_finish())
                .or_else(|| self.waiting_for_start())
                .or_else(|| self.checkpoints.pending().iter().find_map(waiting_for_part))
                .or_else(|| self.waiting_for_end()),
        }
    }

    fn waiting_for_service(&self) -> Option<String> {
        let call = self.leadership.waiting_for()?;
        Some(format!("the job master waits for the high-availability service to answer {call}"))
    }

    fn waiting_for_failover(&self) -> Option<String> {
        let failover = self.failovers.active.first()?;
        let number = failover.number;
        Some(if let Some(execution) = self.unended(failover) {
            format!("failover {number} waits for the end of {}", whereabouts(execution))
        } else if !failover.delay_over {
            format!("failover {number} waits for its restart delay")
        } else {
            format!(
                "failover {number} waits for free slots, {} task managers are registered",
                self.task_managers.len()
            )
        })
    }

    fn waiting_for_finish(&self) -> Option<String> {
        let held = self.graph.executions().iter().find(|execution| execution.held_finish.is_some())?;
        Some(format!("the end of {} waits for its acknowledgements", whereabouts(held)))
    }

    fn waiting_for_start(&self) -> Option<String> {
        let index = self.graph.index_of(self.first_unready()?)?;
        Some(format!("the job waits for the registration of {}", whereabouts(self.graph.get(index))))
    }

    fn waiting_for_end(&self) -> Option<String> {
        let is_bounded = |execution: &&Execution| {
            let vertex = execution.subtask().vertex;
            self.config.vertices.iter().any(|config| config.operator == vertex && config.source.bounded)
        };
        let running =
            self.graph.executions().iter().filter(is_bounded).find(|execution| execution.is_live())?;
        Some(format!("the job waits for the end of {}", whereabouts(running)))
    }
}

fn whereabouts(execution: &Execution) -> String {
    let name =
        execution.attempt().map_or_else(|| execution.subtask().to_string(), |attempt| attempt.to_string());
    match execution.task_manager() {
        Some(task_manager) => format!("{name} ({:?} on {task_manager})", execution.phase()),
        None => format!("{name} ({:?})", execution.phase()),
    }
}

fn waiting_for_part(pending: &PendingCheckpoint) -> Option<String> {
    let id = pending.id().0;
    match pending.phase() {
        PendingPhase::CoordinatorSnapshots => pending
            .awaited_coordinators()
            .next()
            .map(|operator| format!("checkpoint {id} waits for the coordinator state of {operator}")),
        PendingPhase::TaskAcknowledgements => pending
            .awaited()
            .next()
            .map(|attempt| format!("checkpoint {id} waits for the acknowledgement of {attempt}")),
        PendingPhase::Adding => None,
    }
}
