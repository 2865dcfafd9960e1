//! What a checkpoint does at holders, tasks and the high-availability service.
//!
//! ```text
//! raise the counter -> trigger: holders mark, coordinators snapshot -> all done: barriers -> acknowledgements
//!     -> last one: add at the high-availability service -> applied: notices to coordinators and tasks
//! ```

use super::execution::{Execution, Phase};
use super::main_thread::MainThread;
use crate::actor::{Effect, Outbox};
use crate::checkpointing::checkpoint_coordinator::ScheduleStart;
use crate::checkpointing::pending_checkpoint::{
    Acknowledgement, PendingCheckpoint, PendingPhase, SubtaskPart,
};
use crate::coordination::coordinator_error::CoordinatorError;
use crate::coordination::operator_coordinator_holder::GatewayError;
use crate::defects::Defect;
use crate::event::EventKind;
use crate::ids::{CheckpointId, ExecutionAttemptId, OperatorUid};
use crate::message::{
    CheckpointKind, CompletedCheckpoint, DeliveryOutcome, DeliveryToken, ExecutionState,
    HighAvailabilityRequest, Notice, Stream, TaskMessage, TaskSnapshot,
};
use std::sync::Arc;

impl MainThread {
    /// Starts the schedule when the last task has registered, and raises the next identifier when one is due.
    pub(super) fn drive_checkpoints(&mut self, out: &mut Outbox) {
        if !self.can_checkpoint() {
            return;
        }
        if self.checkpoints.is_suspended() {
            let restarted = std::mem::take(&mut self.failovers.restarted);
            let start = match restarted.len() {
                0 => ScheduleStart::JobStart,
                count if count == self.graph.executions().len() => ScheduleStart::AllRestarted,
                _ => ScheduleStart::SomeRestarted,
            };
            self.checkpoints.resume(start, out);
        }
        if let Some(checkpoint) = self.checkpoints.next_raise(out) {
            self.call(HighAvailabilityRequest::RaiseCounter(checkpoint), out);
        }
    }

    /// No checkpoint begins while a region is down (FACT 94) or an attempt has not registered.
    fn can_checkpoint(&self) -> bool {
        let is_given_up =
            self.config.defects.has(Defect::NoCheckpointBesideFinished) && self.graph.has_finished_part();
        self.is_job_active()
            && self.failovers.active.is_empty()
            && self.graph.is_checkpointable()
            && !is_given_up
    }

    /// The identifier is durable: trigger, unless the world has changed; then the identifier is skipped.
    pub(super) fn on_counter_raised(&mut self, checkpoint: CheckpointId, out: &mut Outbox) {
        let Some((checkpoint, kind)) = self.checkpoints.raised(checkpoint) else { return };
        if !self.can_checkpoint() {
            self.checkpoints.skipped(kind);
            return;
        }
        let subtasks = self.graph.executions().iter().map(part_of).collect();
        let operators: Vec<_> = self.holders.iter().map(|held| held.holder.operator()).collect();
        out.emit(EventKind::CheckpointTriggered { checkpoint });
        let pending = PendingCheckpoint::new(checkpoint, &operators, subtasks).of_kind(kind);
        self.checkpoints.triggered(pending, out);
        for at in 0..self.holders.len() {
            let holder = &mut self.holders[at].holder;
            if let Err(error) = holder.checkpoint(checkpoint, out) {
                let (latest, reason) = (error.latest, error.to_string());
                self.fail_checkpoint(checkpoint, &reason, out);
                self.fail_globally(
                    CoordinatorError::RegressingCheckpoint { latest, checkpoint }.to_string(),
                    out,
                );
                return;
            }
        }
    }

    /// A coordinator's snapshot is taken, its gateways are closed and its events confirmed.
    pub(super) fn on_coordinator_completed(
        &mut self,
        operator: OperatorUid,
        checkpoint: CheckpointId,
        state: Vec<u8>,
        out: &mut Outbox,
    ) {
        let Some(pending) = self.checkpoints.pending_mut(checkpoint) else { return };
        if !pending.coordinator_completed(operator, state) {
            return;
        }
        pending.barriers_injected();
        let trigger = match pending.kind() {
            CheckpointKind::Stop { drain } => TaskMessage::TriggerStop { checkpoint, drain },
            CheckpointKind::Recovery | CheckpointKind::Savepoint => {
                TaskMessage::TriggerCheckpoint(checkpoint)
            }
        };
        let awaited: Vec<_> = pending.awaited().collect();
        out.emit(EventKind::BarriersInjected { checkpoint });
        for attempt in awaited.into_iter().filter(|attempt| self.begins_barriers(*attempt)) {
            let index =
                self.graph.current(attempt).expect("the awaited executions are current: others aborted it");
            let task_manager = self.graph.get(index).task_manager().expect("it runs");
            debug_assert!(self.graph.get(index).is_live(), "{attempt} is awaited and does not run");
            let message = self.task_message(attempt, trigger.clone());
            let token = Some(trigger_token(index, checkpoint));
            out.effect(Effect::Send { to: task_manager, stream: Stream::Triggers(attempt), message, token });
        }
        for held in &mut self.holders {
            held.holder.barriers_injected(checkpoint, out);
        }
    }

    /// Whether barriers begin at this task: no running task before it could send it one (Flink's
    /// `DefaultCheckpointPlanCalculator`).
    fn begins_barriers(&self, attempt: ExecutionAttemptId) -> bool {
        let producers = self.topology.producers_of(attempt.subtask_id());
        producers.into_iter().all(|producer| {
            let index = self.graph.index_of(producer).expect("the graph has the topology's subtasks");
            self.graph.get(index).phase() == Phase::Finished
        })
    }

    /// A trigger met no such task: it has ended, and its FINISHED or FAILED is on the way, or lost for good. The
    /// checkpoint cannot complete; this is no failure of the job's, as the race with the end of a task is a usual one.
    pub(super) fn on_trigger_delivery(
        &mut self,
        token: DeliveryToken,
        outcome: DeliveryOutcome,
        out: &mut Outbox,
    ) {
        if outcome != DeliveryOutcome::NotDelivered {
            return;
        }
        let (index, checkpoint) = trigger_of(token);
        debug_assert!(index < self.graph.executions().len(), "{token:?} was given here");
        let Some(attempt) = self.graph.get(index).attempt() else { return };
        if !self.checkpoints.awaiting(attempt).contains(&checkpoint) {
            return;
        }
        debug_assert!(self.graph.get(index).is_live(), "{attempt} is awaited");
        self.graph.get_mut(index).missed();
        self.abort_checkpoint(checkpoint, &format!("its barrier did not find {attempt}"), out);
        self.unsettled = true;
    }

    pub(super) fn on_acknowledge(
        &mut self,
        attempt: ExecutionAttemptId,
        checkpoint: CheckpointId,
        snapshot: Arc<TaskSnapshot>,
        out: &mut Outbox,
    ) {
        if self.graph.current(attempt).is_none() {
            return;
        }
        let Some(pending) = self.checkpoints.pending_mut(checkpoint) else { return };
        let acknowledgement = pending.acknowledge(attempt, snapshot);
        if acknowledgement == Acknowledgement::Ignored {
            return;
        }
        let last = acknowledgement == Acknowledgement::Last;
        out.emit(EventKind::CheckpointAcknowledged { checkpoint, attempt, last });
        for holder in self.holders_of(attempt.vertex) {
            dropped(holder.acknowledge_checkpoint(checkpoint, attempt, out));
        }
        if last {
            let (completed, subsumed) = self.checkpoints.begin_adding(checkpoint, out);
            self.call(HighAvailabilityRequest::AddCheckpoint(Arc::new(completed)), out);
            for older in subsumed {
                self.abort_checkpoint(older, &format!("{checkpoint} subsumes it"), out);
            }
        }
    }

    pub(super) fn on_decline(
        &mut self,
        attempt: ExecutionAttemptId,
        checkpoint: CheckpointId,
        reason: &str,
        out: &mut Outbox,
    ) {
        let awaited = self.checkpoints.pending_mut(checkpoint).is_some_and(|pending| pending.awaits(attempt));
        if self.graph.current(attempt).is_some() && awaited {
            self.fail_checkpoint(checkpoint, &format!("{attempt} declined: {reason}"), out);
        }
    }

    pub(super) fn on_checkpoint_timeout(&mut self, checkpoint: CheckpointId, out: &mut Outbox) {
        if !self.config.defects.has(Defect::PendingNeverExpires) {
            self.fail_checkpoint(checkpoint, "it expired", out);
        }
    }

    /// The store holds the checkpoint: it is complete, and everybody may know.
    pub(super) fn on_checkpoint_added(&mut self, completed: Arc<CompletedCheckpoint>, out: &mut Outbox) {
        let checkpoint = completed.id;
        if completed.kind == CheckpointKind::Savepoint {
            // No notice, nothing dropped from the tracker, no recovery point: only its user knows.
            self.checkpoints.savepoint_stored(checkpoint);
            if self.config.defects.has(Defect::SavepointAnnounced) {
                self.announce(checkpoint, out);
            }
            return;
        }
        self.checkpoints.completed(completed, out);
        debug_assert_eq!(self.checkpoints.latest_id(), Some(checkpoint), "it is the latest now");
        if !self.is_job_active() {
            return;
        }
        if self.checkpoints.is_stopped() && !self.failovers.active.is_empty() {
            self.fail_job(self.stopped_and_failed("a task failed while it was being stored"), out);
            return;
        }
        self.announce(checkpoint, out);
    }

    /// Everybody may know that it is complete: coordinators first.
    fn announce(&mut self, checkpoint: CheckpointId, out: &mut Outbox) {
        for held in &mut self.holders {
            dropped(held.holder.notify_checkpoint_complete(checkpoint, out));
        }
        self.notify_tasks(checkpoint, TaskMessage::NotifyCheckpointComplete, out);
    }

    /// After the savepoint that ends the job no checkpoint follows that would make up for a lost notice.
    pub(super) fn repeat_last_notice(&self, out: &mut Outbox) {
        if self.is_job_active() && self.checkpoints.is_stopped() {
            let savepoint = self.checkpoints.latest_id().expect("it is stored");
            self.notify_tasks(savepoint, TaskMessage::NotifyCheckpointComplete, out);
        }
    }

    fn notify_tasks(&self, checkpoint: CheckpointId, message: fn(Notice) -> TaskMessage, out: &mut Outbox) {
        for execution in self.graph.executions().iter().filter(|execution| execution.is_live()) {
            let attempt = execution.attempt().expect("it is live");
            let task_manager = execution.task_manager().expect("it is live");
            let notice = Notice { checkpoint, addressee: attempt, epoch: self.leadership.epoch() };
            out.send(task_manager, Stream::Notices(attempt), self.task_message(attempt, message(notice)));
        }
    }

    /// A checkpoint failed by itself: it is aborted, and too many in a row fail the job over.
    pub(super) fn fail_checkpoint(&mut self, checkpoint: CheckpointId, reason: &str, out: &mut Outbox) {
        let phase = self.checkpoints.pending_mut(checkpoint).map(|pending| pending.phase());
        if phase.is_none_or(|phase| phase == PendingPhase::Adding) {
            return;
        }
        let kind = self.checkpoints.pending_mut(checkpoint).map(|pending| pending.kind());
        self.abort_checkpoint(checkpoint, reason, out);
        // Whether a user's savepoint fails is the user's matter.
        if kind == Some(CheckpointKind::Recovery) && self.checkpoints.count_failure() {
            self.fail_globally(format!("too many checkpoints failed in a row, the last: {reason}"), out);
        }
    }

    /// Gives a pending checkpoint up and tells holders and tasks. Does nothing when it is not pending.
    pub(super) fn abort_checkpoint(&mut self, checkpoint: CheckpointId, reason: &str, out: &mut Outbox) {
        let phase = self.checkpoints.pending_mut(checkpoint).map(|pending| pending.phase());
        if !self.checkpoints.abort(checkpoint, out) {
            return;
        }
        let is_triggering = phase == Some(PendingPhase::CoordinatorSnapshots);
        if is_triggering && self.config.defects.has(Defect::CoordinatorFutureLeaked) {
            self.checkpoints.leak_trigger();
        }
        tracing::debug!(%checkpoint, reason, "aborted");
        out.emit(EventKind::CheckpointAborted { checkpoint, reason: reason.to_owned() });
        for held in &mut self.holders {
            dropped(held.holder.notify_checkpoint_aborted(checkpoint, out));
        }
        self.notify_tasks(checkpoint, TaskMessage::NotifyCheckpointAborted, out);
    }

    /// Aborts everything that is not being added.
    pub(super) fn abort_all(&mut self, reason: &str, out: &mut Outbox) {
        for checkpoint in self.checkpoints.abortable() {
            self.abort_checkpoint(checkpoint, reason, out);
        }
        debug_assert!(self.checkpoints.abortable().is_empty(), "only adds are left");
    }

    pub(super) fn on_end_of_data(&mut self, attempt: ExecutionAttemptId) {
        let Some(index) = self.graph.current(attempt) else { return };
        let execution = self.graph.get_mut(index);
        if execution.is_heard() && !execution.end_of_data {
            execution.end_of_data = true;
            self.want_final_checkpoint();
        }
    }

    /// Flink's `checkpoints-after-tasks-finish`: the last END_OF_DATA asks for a checkpoint (FACT 96).
    fn want_final_checkpoint(&mut self) {
        if self.failovers.active.is_empty() && self.graph.is_at_end_of_data() {
            self.checkpoints.want_at_once();
        }
    }

    /// Accepts each FINISHED whose acknowledgements have arrived. The wait is bounded: a checkpoint
    /// whose acknowledgement or decline is lost expires. A checkpoint that the subtask will never see a barrier of cannot
    /// complete any more and is aborted; that is no failure of the job's.
    pub(super) fn accept_finished(&mut self, out: &mut Outbox) {
        for index in 0..self.graph.executions().len() {
            let Some(last_acknowledged) = self.graph.get(index).held_finish else { continue };
            let attempt = self.graph.get(index).attempt().expect("it was deployed");
            debug_assert!(self.graph.get(index).is_live(), "{attempt} holds a FINISHED and is over");
            let awaiting = self.checkpoints.awaiting(attempt);
            if awaiting.iter().any(|checkpoint| Some(*checkpoint) <= last_acknowledged) {
                continue;
            }
            for checkpoint in awaiting {
                self.abort_checkpoint(checkpoint, &format!("{attempt} finished before its barrier"), out);
            }
            self.end_execution(index, ExecutionState::Finished, None, out);
            for holder in self.holders_of(attempt.vertex) {
                holder.execution_attempt_finished(attempt);
            }
            self.want_final_checkpoint();
        }
    }
}

/// Flink's main thread logs what a turn throws, and goes on with the next.
fn dropped(result: Result<(), GatewayError>) {
    if let Err(error) = result {
        tracing::warn!(%error, "dropped by the main thread");
    }
}

/// Marks the tokens of triggers among those of operator events, which name an operator (16 bits) above bit 40.
const TRIGGER_TOKEN: u64 = 1 << 63;
const TRIGGER_CHECKPOINT_BITS: u32 = 40;

/// Whether a token was given to a trigger.
pub(super) const fn is_trigger(token: DeliveryToken) -> bool {
    token.0 & TRIGGER_TOKEN != 0
}

fn trigger_token(index: usize, checkpoint: CheckpointId) -> DeliveryToken {
    debug_assert!(checkpoint.0 >> TRIGGER_CHECKPOINT_BITS == 0, "{checkpoint} does not fit a token");
    let token = DeliveryToken(TRIGGER_TOKEN | (index as u64) << TRIGGER_CHECKPOINT_BITS | checkpoint.0);
    debug_assert_eq!(trigger_of(token), (index, checkpoint), "a token names its trigger");
    token
}

const fn trigger_of(token: DeliveryToken) -> (usize, CheckpointId) {
    let trigger = token.0 & !TRIGGER_TOKEN;
    let checkpoint = CheckpointId(trigger & ((1 << TRIGGER_CHECKPOINT_BITS) - 1));
    ((trigger >> TRIGGER_CHECKPOINT_BITS) as usize, checkpoint)
}

fn part_of(execution: &Execution) -> SubtaskPart {
    match execution.phase() {
        Phase::Finished => SubtaskPart::Finished(execution.subtask()),
        _ => SubtaskPart::Awaited(execution.attempt().expect("a checkpointable execution was deployed")),
    }
}
