//! From a failure to the redeployment: regional and global.
//!
//! ```text
//! failure:   abort pending checkpoints -> TaskStateChanged(Failed), holders told -> FailoverStarted, mates cancelled
//!            ... delay over, every execution of the set ended, no add under way, a task manager there ...
//! restore:   RestorePointChosen -> subtaskReset (or new coordinators) -> deploy
//! ```
//!
//! Aborts come first because a reset that finds a marked or closed gateway is what breaks Flink's holder (FACTS 25-27). No
//! restore point is chosen while an add is under way: the checkpoint may be complete already, and then commits of it are
//! too. A regional failover leaves the coordinators alive, a global one replaces them.

use super::execution::{Execution, Phase};
use super::main_thread::{JobStatus, MainThread};
use super::restart_strategy::{Restart, RestartStrategy};
use crate::actor::Outbox;
use crate::config::RestartConfig;
use crate::defects::Defect;
use crate::event::EventKind;
use crate::ids::{CheckpointId, ExecutionAttemptId, SubtaskId};
use crate::message::{ExecutionState, Stream, TaskManagerMessage, Timer};

/// The number in `Timer::RestartDelay` that stands for the wait for task managers at a leader's start.
pub(super) const INITIAL_WAIT: u64 = 0;

/// One failover under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Failover {
    pub(super) number: u64,
    pub(super) global: bool,
    pub(super) subtasks: Vec<SubtaskId>,
    pub(super) delay_over: bool,
    /// It waits for the strategy's back-off and not for a timer of its own.
    with_backoff: bool,
}

/// The failovers under way, and what was restarted since checkpoints last could be triggered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Failovers {
    pub(super) active: Vec<Failover>,
    pub(super) restarted: Vec<SubtaskId>,
    pub(super) strategy: RestartStrategy,
    /// The global failover that is under way took in others: they need no restore of their own.
    subsumed: bool,
    last_number: u64,
}

impl Failovers {
    pub(super) const fn new(config: RestartConfig) -> Self {
        Self {
            active: Vec::new(),
            restarted: Vec::new(),
            strategy: RestartStrategy::new(config),
            subsumed: false,
            last_number: INITIAL_WAIT,
        }
    }

    fn start(&mut self, global: bool, subtasks: Vec<SubtaskId>, restart: Restart, out: &mut Outbox) {
        debug_assert_ne!(restart, Restart::Never, "a failover leads to a restart");
        self.last_number += 1;
        let number = self.last_number;
        debug_assert!(number > INITIAL_WAIT, "failovers count from 1");
        for subtask in &subtasks {
            if let Err(place) = self.restarted.binary_search(subtask) {
                self.restarted.insert(place, *subtask);
            }
        }
        let with_backoff = restart == Restart::WithBackoff;
        self.active.push(Failover { number, global, subtasks, delay_over: false, with_backoff });
        if let Restart::After(delay_ns) = restart {
            out.set_timer(Timer::RestartDelay(number), delay_ns);
        }
    }

    /// The strategy's back-off is over, for all failovers that joined it.
    pub(super) fn backoff_over(&mut self, out: &mut Outbox) {
        self.strategy.backoff_over(out);
        for failover in self.active.iter_mut().filter(|failover| failover.with_backoff) {
            failover.delay_over = true;
        }
    }

    /// Drops all failovers: a global one, or the job's end, takes their place.
    pub(super) fn drop_all(&mut self, out: &mut Outbox) {
        for failover in self.active.drain(..) {
            out.cancel_timer(Timer::RestartDelay(failover.number));
        }
    }
}

impl MainThread {
    /// A task told its state.
    pub(super) fn on_task_state(
        &mut self,
        attempt: ExecutionAttemptId,
        state: ExecutionState,
        cause: Option<String>,
        last_acknowledged: Option<CheckpointId>,
        out: &mut Outbox,
    ) {
        let Some(index) = self.graph.current(attempt) else { return };
        let (is_live, is_terminal) = (self.graph.get(index).is_live(), self.graph.get(index).is_terminal());
        match state {
            ExecutionState::Deploying => debug_assert!(false, "only the job master deploys"),
            ExecutionState::Initializing | ExecutionState::Running => {
                self.on_execution_started(index, attempt, state, out);
            }
            ExecutionState::Finished if is_live && self.is_job_active() => {
                self.graph.get_mut(index).held_finish = Some(last_acknowledged);
            }
            ExecutionState::Finished if !is_terminal => {
                self.end_execution(index, ExecutionState::Canceled, None, out);
            }
            ExecutionState::Failed | ExecutionState::Canceled if is_live => {
                let cause = cause.unwrap_or_else(|| "its task manager cancelled it".to_owned());
                self.fail_execution(index, cause, false, out);
            }
            ExecutionState::Failed | ExecutionState::Canceled if !is_terminal => {
                self.end_execution(index, state, cause, out);
            }
            ExecutionState::Finished | ExecutionState::Failed | ExecutionState::Canceled => {}
        }
    }

    fn on_execution_started(
        &mut self,
        index: usize,
        attempt: ExecutionAttemptId,
        state: ExecutionState,
        out: &mut Outbox,
    ) {
        let execution = self.graph.get_mut(index);
        let phase = execution.phase();
        let is_news = match state {
            ExecutionState::Initializing => phase == Phase::Deploying,
            _ => matches!(phase, Phase::Deploying | Phase::Initializing),
        };
        if !is_news || !self.is_job_active() {
            return;
        }
        let execution = self.graph.get_mut(index);
        execution.started(state);
        let task_manager = execution.task_manager().expect("it was deployed");
        out.emit(EventKind::TaskStateChanged { attempt, state, cause: None });
        if phase == Phase::Deploying {
            // Usable from the first of INITIALIZING and RUNNING on (FACT 8).
            for holder in self.holders_of(attempt.vertex) {
                holder.execution_attempt_ready(attempt, task_manager, out);
            }
        }
    }

    /// An execution that was told to stop is over.
    pub(super) fn end_execution(
        &mut self,
        index: usize,
        state: ExecutionState,
        cause: Option<String>,
        out: &mut Outbox,
    ) {
        let execution = self.graph.get_mut(index);
        let attempt = execution.attempt().expect("what ends was deployed");
        execution.ended(state);
        out.emit(EventKind::TaskStateChanged { attempt, state, cause });
    }

    /// A live execution failed. `stop`: its task manager does not know yet and must be told.
    pub(super) fn fail_execution(&mut self, index: usize, cause: String, stop: bool, out: &mut Outbox) {
        debug_assert!(self.graph.get(index).is_live(), "{} is over", self.graph.get(index).subtask());
        let subtask = self.graph.get(index).subtask();
        if self.is_job_active() {
            self.abort_all("a task failed", out);
        }
        if stop {
            self.send_cancel(index, out);
        }
        self.end_execution(index, ExecutionState::Failed, Some(cause.clone()), out);
        if !self.is_job_active() {
            return;
        }
        self.tell_holders_of_failure(index, out);
        let is_alone = self.config.defects.has(Defect::RegionIgnoresExchange);
        let region = if is_alone { vec![subtask] } else { self.topology.region_of(subtask) };
        self.fail_over(false, region, cause, out);
    }

    /// Flink's `handleGlobalFailure`: all tasks and all coordinators restart. While one is under way, another changes
    /// nothing (FACT 31).
    pub(super) fn fail_globally(&mut self, cause: String, out: &mut Outbox) {
        if !self.is_job_active() {
            return;
        }
        self.failovers.subsumed |= !self.failovers.active.is_empty();
        if self.failovers.active.iter().any(|failover| failover.global) {
            return;
        }
        self.abort_all("the job fails over", out);
        if self.status == JobStatus::AwaitingTaskManagers {
            out.cancel_timer(Timer::RestartDelay(INITIAL_WAIT));
            self.status = JobStatus::Running;
        }
        self.failovers.drop_all(out);
        let subtasks = self.graph.subtasks();
        self.fail_over(true, subtasks, cause, out);
    }

    fn fail_over(&mut self, global: bool, subtasks: Vec<SubtaskId>, cause: String, out: &mut Outbox) {
        debug_assert!(self.checkpoints.abortable().is_empty(), "aborts come first (FACT 28)");
        self.checkpoints.suspend(out);
        if self.checkpoints.is_stopped() {
            self.fail_job(self.stopped_and_failed(&cause), out);
            return;
        }
        let restart = self.failovers.strategy.on_failure(out);
        if restart == Restart::Never {
            self.fail_job(cause, out);
            return;
        }
        tracing::debug!(global, cause, "failover");
        out.emit(EventKind::FailoverStarted { global, subtasks: subtasks.clone(), cause });
        for subtask in &subtasks {
            let index = self.graph.index_of(*subtask).expect("a region is made of the job's subtasks");
            self.cancel_execution(index, out);
        }
        debug_assert!(
            self.failovers
                .active
                .iter()
                .all(|other| !other.subtasks.iter().any(|held| subtasks.contains(held))),
            "a subtask is in one failover at a time"
        );
        self.failovers.start(global, subtasks, restart, out);
    }

    /// Stops an execution if it is live. One that says it has finished, or whose task manager is gone, is over at once.
    pub(super) fn cancel_execution(&mut self, index: usize, out: &mut Outbox) {
        let execution = self.graph.get_mut(index);
        if !execution.is_live() {
            return;
        }
        let task_manager = execution.task_manager().expect("it was deployed");
        let is_over = execution.held_finish.is_some() || !self.task_managers.is_registered(task_manager);
        if is_over {
            self.end_execution(index, ExecutionState::Canceled, None, out);
        } else {
            execution.canceling();
            self.send_cancel(index, out);
        }
        self.tell_holders_of_failure(index, out);
        debug_assert!(!self.graph.get(index).is_live(), "it was cancelled");
    }

    fn send_cancel(&self, index: usize, out: &mut Outbox) {
        let execution = self.graph.get(index);
        let (Some(attempt), Some(task_manager)) = (execution.attempt(), execution.task_manager()) else {
            return;
        };
        if self.task_managers.is_registered(task_manager) {
            let message = self.task_manager_message(TaskManagerMessage::Cancel(attempt));
            out.send(task_manager, Stream::Deployment, message);
        }
    }

    /// Flink tells coordinators of failed and of cancelled executions alike.
    fn tell_holders_of_failure(&mut self, index: usize, out: &mut Outbox) {
        let attempt = self.graph.get(index).attempt().expect("it was deployed");
        let latest = self.checkpoints.latest_id();
        for holder in self.holders_of(attempt.vertex) {
            holder.execution_attempt_failed(attempt, latest, out);
        }
    }

    pub(super) fn on_restart_delay(&mut self, number: u64, out: &mut Outbox) {
        if number == INITIAL_WAIT {
            self.on_initial_wait_over(out);
        } else if let Some(failover) = self.failovers.active.iter_mut().find(|held| held.number == number) {
            failover.delay_over = true;
        }
    }

    /// Restores and redeploys every failover that waits for nothing any more, oldest first.
    pub(super) fn complete_failovers(&mut self, out: &mut Outbox) {
        if self.failovers.active.is_empty() || self.checkpoints.is_adding() {
            return;
        }
        let mut waiting = Vec::new();
        for failover in std::mem::take(&mut self.failovers.active) {
            let has_ended = self.unended(&failover).is_none();
            if failover.delay_over && has_ended && self.has_slots_for(&failover.subtasks) {
                self.restore(failover, out);
            } else {
                waiting.push(failover);
            }
        }
        self.failovers.active.extend(waiting);
    }

    /// The first execution whose end a failover still awaits.
    pub(super) fn unended(&self, failover: &Failover) -> Option<&Execution> {
        failover
            .subtasks
            .iter()
            .filter_map(|subtask| self.graph.index_of(*subtask))
            .map(|index| self.graph.get(index))
            .find(|execution| !execution.is_terminal())
    }

    fn restore(&mut self, failover: Failover, out: &mut Outbox) {
        debug_assert!(!self.checkpoints.is_adding(), "the restore point is not known yet");
        debug_assert!(
            self.checkpoints.pending().is_empty(),
            "every pending checkpoint was aborted or is complete"
        );
        let Failover { global, subtasks, .. } = failover;
        let checkpoint = self.checkpoints.latest_id();
        out.emit(EventKind::RestorePointChosen { checkpoint, global, subtasks: subtasks.clone() });
        if checkpoint.is_none() && self.config.defects.has(Defect::NoResetWithoutCheckpoint) {
            tracing::debug!("there is nothing to reset to");
        } else if global {
            self.restart_coordinators(out);
        } else {
            for subtask in &subtasks {
                let index = self.graph.index_of(*subtask).expect("a failover names subtasks of the job");
                let next = self.graph.get(index).next_attempt();
                for holder in self.holders_of(subtask.vertex) {
                    holder.subtask_reset(*subtask, next, checkpoint, out);
                }
            }
        }
        self.deploy(&subtasks, out);
        if global {
            self.settle_subsumed(out);
        }
    }

    /// What a global failover took in is done with it: no task is left to restart.
    fn settle_subsumed(&mut self, out: &mut Outbox) {
        let subsumed = std::mem::take(&mut self.failovers.subsumed);
        if subsumed && self.config.defects.has(Defect::CoordinatorsResetTwice) {
            self.fail_over(true, Vec::new(), "a failure in the failover".to_owned(), out);
        }
    }

    fn restart_coordinators(&mut self, out: &mut Outbox) {
        for at in 0..self.holders.len() {
            let restored = self.restored_coordinator(self.holders[at].holder.operator());
            let vertex = self.holders[at].vertex;
            let executions = self.graph.executions().iter().filter(|one| one.subtask().vertex == vertex);
            let next: Vec<_> = executions.map(Execution::next_attempt).collect();
            self.holders[at].holder.reset_to_checkpoint(&next, restored, out);
        }
    }
}
