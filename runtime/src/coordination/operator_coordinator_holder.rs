//! The main thread's side of a coordinator: gateways, unconfirmed events, and when its checkpoint is complete.
//!
//! ```text
//!   checkpoint N --> mark all gateways --> coordinator's snapshot --> close all --> wait for what was sent before
//!        --> signal complete (barriers go out) --> each subtask's acknowledgement opens its gateway
//! ```
//!
//! It differs from Flink 2.3.0 where Flink is wrong or relies on a network that we do not promise:
//! - *Every* checkpoint waits for *every* event that was unconfirmed at its close. Flink hands an event to one checkpoint
//!   only (FACT 22); when that one is aborted, the next barrier may overtake the event, as streams have no order between
//!   them.
//! - A reset forgets the old gateway with all its events, blocked or under way, and fails a checkpoint that still waits
//!   for one of them. In Flink the next checkpoint waits without end (FACT 25), or the process dies (FACT 26). Their
//!   splits come back through the reset, so nobody needs their outcome.
//! - A checkpoint that a gateway does not know is passed over, not thrown at the main thread (FACT 27).
//!
//! What was refused: to send what is blocked to a dead execution at a reset (FACT 30). It cannot arrive, and a message to
//! a zombie is one more thing to reason about.

mod events;
#[cfg(test)]
mod tests;

use super::subtask_gateway::{AttemptStanding, SubtaskGateway};
use crate::actor::Outbox;
use crate::defects::{Defect, DefectSet};
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use std::collections::{BTreeMap, BTreeSet};

/// How many low bits of a [`DeliveryToken`] number the event; the operator stands above them.
const TOKEN_EVENT_BITS: u32 = 40;

/// What the job master has to do for a holder.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum HolderSignal {
    /// The coordinator's part of a checkpoint is there, and all that was sent before it is delivered.
    CheckpointCompleted {
        /// The operator.
        operator: OperatorUid,
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The coordinator's state.
        state: Vec<u8>,
    },
    /// The coordinator's part of a checkpoint failed.
    CheckpointFailed {
        /// The operator.
        operator: OperatorUid,
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// Why.
        reason: String,
    },
    /// An event to this execution was lost: fail it over.
    FailSubtask {
        /// The execution.
        attempt: ExecutionAttemptId,
        /// Why.
        cause: String,
    },
    /// Fail over the whole job, coordinators included.
    FailJob {
        /// Why.
        cause: String,
    },
}

/// A coordinator checkpoint under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum CoordinatorCheckpoint {
    /// The coordinator was asked.
    Snapshotting,
    /// The gateways are closed; these events are not confirmed yet.
    AwaitingEvents { state: Vec<u8>, unconfirmed: BTreeSet<OperatorEventId> },
}

/// What is known of one subtask.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Subtask {
    gateway: Option<SubtaskGateway>,
    /// Executions below this one are over.
    attempt_min: AttemptNumber,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OperatorCoordinatorHolder {
    operator: OperatorUid,
    vertex: OperatorUid,
    checkpointing: bool,
    epoch: LeaderEpoch,
    defects: DefectSet,
    generation: u32,
    subtasks: Vec<Subtask>,
    event_next: u64,
    /// Sent or blocked, and not confirmed.
    unconfirmed: BTreeMap<OperatorEventId, ExecutionAttemptId>,
    checkpoints: BTreeMap<CheckpointId, CoordinatorCheckpoint>,
    /// `FailJob` was signalled; it acts once until the next reset (FACT 31).
    job_failed: bool,
}

impl OperatorCoordinatorHolder {
    /// The holder of a coordinator in a leader's term. The operator is a vertex's source or its coordinated operator.
    ///
    /// # Panics
    /// When the job has no such operator.
    #[must_use]
    pub fn new(config: &SharedJobConfig, operator: OperatorUid, epoch: LeaderEpoch) -> Self {
        let vertex = super::vertex_of(config, operator);
        debug_assert!(vertex.parallelism > 0, "a vertex has subtasks");
        debug_assert!(epoch > LeaderEpoch(0), "a leader has an epoch");
        Self {
            operator,
            vertex: vertex.operator,
            checkpointing: config.checkpointing.is_some(),
            epoch,
            defects: config.defects,
            generation: 0,
            subtasks: vec![Subtask::default(); vertex.parallelism as usize],
            event_next: 0,
            unconfirmed: BTreeMap::new(),
            checkpoints: BTreeMap::new(),
            job_failed: false,
        }
    }

    /// Whose coordinator it holds.
    #[must_use]
    pub const fn operator(&self) -> OperatorUid {
        self.operator
    }

    /// How many events its gateways keep back, for bounds on memory.
    #[must_use]
    pub fn blocked_event_count(&self) -> usize {
        self.gateways().map(|gateway| gateway.blocked_events().count()).sum()
    }

    /// Starts the first coordinator of this term.
    pub fn start(&mut self, restored: Option<(CheckpointId, Vec<u8>)>, out: &mut Outbox) {
        debug_assert_eq!(self.generation, 0, "started once; later it is reset");
        self.generation = 1;
        self.mail(CoordinatorMail::Start { generation: self.generation, restored }, out);
    }

    /// The execution reported INITIALIZING or RUNNING: its gateway is usable from here on (FACT 8). Repeated calls and
    /// calls for executions that are over do nothing.
    pub fn execution_attempt_ready(
        &mut self,
        attempt: ExecutionAttemptId,
        task_manager: ProcessAddress,
        out: &mut Outbox,
    ) {
        let Some(index) = self.index_of(attempt.subtask_id()) else { return };
        if attempt.attempt < self.subtasks[index].attempt_min || self.is_current(attempt) {
            return;
        }
        // A reset that came before this one was usable may have let an older one slip in.
        if let Some(older) = self.subtasks[index].gateway.take() {
            self.forget_events_to(older.attempt(), out);
        }
        let gateway = Some(SubtaskGateway::new(attempt, task_manager));
        self.subtasks[index] = Subtask { gateway, attempt_min: attempt.attempt };
        debug_assert!(self.is_running(attempt));
        self.mail(CoordinatorMail::ExecutionAttemptReady(attempt), out);
    }

    /// The execution failed. Its gateway stays until the reset (FACT 24), but its losses no longer matter.
    pub fn execution_attempt_failed(
        &mut self,
        attempt: ExecutionAttemptId,
        last_completed: Option<CheckpointId>,
        out: &mut Outbox,
    ) {
        if attempt.vertex != self.vertex {
            return;
        }
        if let Some(gateway) = self.gateway_mut(attempt) {
            gateway.set_standing(AttemptStanding::Failed);
        }
        self.mail(CoordinatorMail::ExecutionAttemptFailed { attempt, last_completed }, out);
    }

    /// The execution ended well: later losses of its events cause no failover, and nothing is sent to it.
    pub fn execution_attempt_finished(&mut self, attempt: ExecutionAttemptId) {
        if let Some(gateway) = self.gateway_mut(attempt) {
            gateway.set_standing(AttemptStanding::Finished);
        }
    }

    /// The subtask is going to restore `restored`: forget its gateway and all its events, then tell the coordinator.
    pub fn subtask_reset(&mut self, subtask: SubtaskId, restored: Option<CheckpointId>, out: &mut Outbox) {
        let Some(index) = self.index_of(subtask) else { return };
        if let Some(gateway) = self.subtasks[index].gateway.take() {
            self.subtasks[index].attempt_min = AttemptNumber(gateway.attempt().attempt.0 + 1);
            self.forget_events_to(gateway.attempt(), out);
        }
        debug_assert!(self.unconfirmed.values().all(|attempt| attempt.subtask_id() != subtask));
        self.mail(CoordinatorMail::SubtaskReset { subtask, restored }, out);
    }

    /// Global failover: a new coordinator takes over, and what the old one still says is dropped.
    pub fn reset_to_checkpoint(&mut self, restored: Option<(CheckpointId, Vec<u8>)>, out: &mut Outbox) {
        debug_assert!(self.generation > 0, "started before it is reset");
        self.generation += 1;
        for subtask in &mut self.subtasks {
            if let Some(gateway) = subtask.gateway.take() {
                subtask.attempt_min = AttemptNumber(gateway.attempt().attempt.0 + 1);
            }
        }
        self.unconfirmed.clear();
        self.checkpoints.clear();
        self.job_failed = false;
        self.mail(CoordinatorMail::Start { generation: self.generation, restored }, out);
    }

    /// Passes an event on to the coordinator, unless it comes from an execution that is over.
    pub fn handle_event_from_operator(
        &mut self,
        attempt: ExecutionAttemptId,
        event: ReaderEvent,
        out: &mut Outbox,
    ) {
        if attempt.vertex != self.vertex {
            return;
        }
        if self.is_running(attempt) || self.defects.has(Defect::OldAttemptAccepted) {
            self.mail(CoordinatorMail::FromReader { attempt, event }, out);
        }
    }

    /// Triggers the coordinator's part of a checkpoint: marks the gateways, asks the coordinator (FACT 9). When the
    /// identifier is not above the latest one, the checkpoint and the job fail instead (FACT 15).
    pub fn checkpoint(&mut self, checkpoint: CheckpointId, out: &mut Outbox) {
        debug_assert!(self.checkpointing, "without checkpointing nobody triggers");
        debug_assert!(self.generation > 0, "started before a checkpoint");
        let regressed = self
            .subtasks
            .iter_mut()
            .filter_map(|subtask| subtask.gateway.as_mut())
            .find_map(|gateway| gateway.mark(checkpoint).err());
        self.checkpoints.insert(checkpoint, CoordinatorCheckpoint::Snapshotting);
        if let Some(error) = regressed {
            self.mail_self(
                CoordinatorToMain::CheckpointResult { checkpoint, state: Err(error.to_string()) },
                out,
            );
            self.mail_self(CoordinatorToMain::FailJob { cause: error.to_string() }, out);
            return;
        }
        let marked = EventKind::GatewaysMarked { operator: self.operator, checkpoint };
        out.emit(marked);
        self.mail(CoordinatorMail::Checkpoint(checkpoint), out);
    }

    /// Mail of the coordinator, or of the holder to itself. That of an older generation is dropped.
    pub fn on_coordinator_message(
        &mut self,
        generation: u32,
        message: CoordinatorToMain,
        out: &mut Outbox,
        signals: &mut Vec<HolderSignal>,
    ) {
        debug_assert!(generation <= self.generation, "generations are given here");
        if generation != self.generation {
            return;
        }
        match message {
            CoordinatorToMain::SendEvent { attempt, event } => self.send_event(attempt, event, out),
            CoordinatorToMain::CheckpointResult { checkpoint, state: Ok(state) } => {
                self.close_gateways(checkpoint, state, out, signals);
            }
            CoordinatorToMain::CheckpointResult { checkpoint, state: Err(reason) } => {
                self.fail_checkpoint(checkpoint, reason, signals);
            }
            CoordinatorToMain::FailJob { cause } => {
                if !std::mem::replace(&mut self.job_failed, true) {
                    signals.push(HolderSignal::FailJob { cause });
                }
            }
        }
    }

    /// What became of an event. Lost ('not delivered' and 'unknown' alike): the subtask fails over while that execution
    /// runs, and then every checkpoint that waits for the event fails (FACTS 19, 21).
    pub fn on_delivery(
        &mut self,
        token: DeliveryToken,
        outcome: DeliveryOutcome,
        out: &mut Outbox,
        signals: &mut Vec<HolderSignal>,
    ) {
        debug_assert!(self.owns_token(token), "routed by its operator");
        let id = OperatorEventId(token.0 & ((1 << TOKEN_EVENT_BITS) - 1));
        let Some(attempt) = self.unconfirmed.remove(&id) else {
            return;
        };
        if outcome == DeliveryOutcome::Delivered || self.defects.has(Defect::EventLossIgnored) {
            self.confirm(id, signals);
            return;
        }
        if self.is_running(attempt) {
            out.emit(EventKind::OperatorEventLost { operator: self.operator, attempt, id });
            let cause =
                format!("An OperatorEvent from an OperatorCoordinator to a task was lost: {id} to {attempt}");
            signals.push(HolderSignal::FailSubtask { attempt, cause });
        }
        for checkpoint in self.checkpoints_awaiting(id) {
            let reason = format!("{id} to {attempt} was not received");
            self.fail_checkpoint(checkpoint, reason, signals);
        }
    }

    /// The subtask acknowledged a checkpoint: its gateway opens, no other (FACT 12).
    pub fn acknowledge_checkpoint(
        &mut self,
        checkpoint: CheckpointId,
        attempt: ExecutionAttemptId,
        out: &mut Outbox,
    ) {
        if self.is_current(attempt) {
            self.open_gateway(attempt.subtask, checkpoint, out);
        }
    }

    /// The checkpoint is complete: opens all gateways, then tells the coordinator (FACT 12).
    pub fn notify_checkpoint_complete(&mut self, checkpoint: CheckpointId, out: &mut Outbox) {
        self.open_gateways(checkpoint, out);
        self.checkpoints.remove(&checkpoint);
        self.mail(CoordinatorMail::NotifyCheckpointComplete(checkpoint), out);
    }

    /// The checkpoint is aborted: opens all gateways, then tells the coordinator (FACT 12).
    pub fn notify_checkpoint_aborted(&mut self, checkpoint: CheckpointId, out: &mut Outbox) {
        if !self.defects.has(Defect::GatewayStaysClosedOnAbort) {
            self.open_gateways(checkpoint, out);
        }
        self.checkpoints.remove(&checkpoint);
        self.mail(CoordinatorMail::NotifyCheckpointAborted(checkpoint), out);
    }

    /// The barriers of a checkpoint are injected. Nothing to do: a gateway opens at its own subtask's acknowledgement.
    pub fn barriers_injected(&mut self, checkpoint: CheckpointId, out: &mut Outbox) {
        if self.defects.has(Defect::GatewayOpensAtInjection) {
            self.open_gateways(checkpoint, out);
        }
    }

    /// Whether the token names an event of this holder.
    #[must_use]
    pub const fn owns_token(&self, token: DeliveryToken) -> bool {
        token.0 >> TOKEN_EVENT_BITS == self.operator.0 as u64
    }

    fn gateways(&self) -> impl Iterator<Item = &SubtaskGateway> {
        self.subtasks.iter().filter_map(|subtask| subtask.gateway.as_ref())
    }

    fn index_of(&self, subtask: SubtaskId) -> Option<usize> {
        let index = subtask.subtask.0 as usize;
        (subtask.vertex == self.vertex && index < self.subtasks.len()).then_some(index)
    }

    fn gateway_mut(&mut self, attempt: ExecutionAttemptId) -> Option<&mut SubtaskGateway> {
        let index = self.index_of(attempt.subtask_id())?;
        self.subtasks[index].gateway.as_mut().filter(|gateway| gateway.attempt() == attempt)
    }

    fn gateway(&self, attempt: ExecutionAttemptId) -> Option<&SubtaskGateway> {
        let index = self.index_of(attempt.subtask_id())?;
        self.subtasks[index].gateway.as_ref().filter(|gateway| gateway.attempt() == attempt)
    }

    fn is_current(&self, attempt: ExecutionAttemptId) -> bool {
        self.gateway(attempt).is_some()
    }

    fn is_running(&self, attempt: ExecutionAttemptId) -> bool {
        self.gateway(attempt).is_some_and(|gateway| gateway.standing() == AttemptStanding::Running)
    }

    fn mail(&self, mail: CoordinatorMail, out: &mut Outbox) {
        out.mail(ActorId::SourceCoordinator(self.operator), Mail::Coordinator(mail));
    }

    fn mail_self(&self, message: CoordinatorToMain, out: &mut Outbox) {
        let (operator, generation) = (self.operator, self.generation);
        out.mail(
            ActorId::MainThread,
            Mail::Main(MainMail::FromCoordinator { operator, generation, message }),
        );
    }
}
