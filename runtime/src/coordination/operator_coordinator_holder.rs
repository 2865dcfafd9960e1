//! The main thread's side of a coordinator: gateways, unconfirmed events, and when its checkpoint is complete.
//!
//! ```text
//!   checkpoint N --> mark all gateways --> coordinator's snapshot --> close all --> wait for what was sent before
//!        --> signal complete (barriers go out) --> each subtask's acknowledgement opens its gateway
//! ```
//!
//! It differs from Flink 2.3.0 where Flink is wrong or relies on a network that we do not promise. Each difference is a
//! quirk of the registry, and with the quirks on it does what Flink does:
//! - *Every* checkpoint waits for *every* event that was unconfirmed at its close. Flink hands an event to one checkpoint
//!   only (FACT 22); when that one is aborted, the next barrier may overtake the event, as streams have no order between
//!   them.
//! - A reset forgets the old gateway with all its events, blocked or under way, and fails a checkpoint that still waits
//!   for one of them. In Flink the next checkpoint waits without end (FACT 25), or the process dies (FACT 26). Their
//!   splits come back through the reset, so nobody needs their outcome.
//! - A checkpoint that a gateway never saw is passed over, not thrown at the main thread (FACT 27).
//! - A gateway that keeps back as many events as the job allows fails the checkpoints that it waits behind. Flink's takes
//!   whatever comes.
//! - Nothing is sent to an execution that is over (FACTS 29, 30). It cannot arrive, and a message to a zombie is one more
//!   thing to reason about. If it has finished and the message was a split, the job fails over as a whole: no reset would
//!   give the split back, and in Flink it is lost (FACTS 19, 46).
//!
//! Who is current is the job master's to say: the holder believes whoever is let through to it, as Flink's does.

mod events;
#[cfg(test)]
mod tests;

use super::coordinator_error::{CheckpointFailure, CoordinatorError};
use super::subtask_gateway::{AttemptStanding, RegressingCheckpoint, SubtaskGateway, UnseenCheckpoint};
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
        reason: CheckpointFailure,
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
        cause: CoordinatorError,
    },
    /// Some gateways could be closed and others not: Flink ends the job manager's process (FACT 26).
    EndProcess {
        /// The operator.
        operator: OperatorUid,
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
}

/// Why an acknowledgement or a notice was not carried out. Flink throws it into the main thread, which drops the rest of
/// that turn and goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GatewayError {
    /// The checkpoint is unknown to a gateway; those with a lower index are open (FACT 27).
    #[error(transparent)]
    Unseen(#[from] UnseenCheckpoint),
    /// There is no gateway: checkpointing is off, or there is no such subtask (FACT 33).
    #[error("{0} has no gateway")]
    NoGateway(SubtaskIndex),
}

/// A checkpoint whose gateways are closed, and the events from before that it waits for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct AwaitingEvents {
    checkpoint: CheckpointId,
    state: Vec<u8>,
    unconfirmed: BTreeSet<OperatorEventId>,
}

/// An event that was sent or is blocked, and is not confirmed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct UnconfirmedEvent {
    attempt: ExecutionAttemptId,
    brings_splits: bool,
    /// An execution that has ended may miss it.
    may_be_missed: bool,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OperatorCoordinatorHolder {
    operator: OperatorUid,
    vertex: OperatorUid,
    checkpointing: bool,
    blocked_events_max: Option<u32>,
    epoch: LeaderEpoch,
    defects: DefectSet,
    generation: u32,
    /// One a subtask: that of its current execution, or of the one to come.
    gateways: Vec<SubtaskGateway>,
    /// Those of executions that were reset; only Flink keeps them.
    retired: BTreeMap<ExecutionAttemptId, SubtaskGateway>,
    event_next: u64,
    unconfirmed: BTreeMap<OperatorEventId, UnconfirmedEvent>,
    /// Those among them that no further checkpoint waits for; only Flink has any.
    awaited_once: BTreeSet<OperatorEventId>,
    /// In the order of their closes.
    awaiting: Vec<AwaitingEvents>,
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
        debug_assert!(epoch > LeaderEpoch(0), "a leader has an epoch");
        let gateways = (0..vertex.parallelism).map(|subtask| {
            SubtaskGateway::new(ExecutionAttemptId {
                vertex: vertex.operator,
                subtask: SubtaskIndex(subtask),
                attempt: AttemptNumber(0),
            })
        });
        let gateways: Vec<SubtaskGateway> = gateways.collect();
        debug_assert!(!gateways.is_empty(), "a vertex has subtasks");
        Self {
            operator,
            vertex: vertex.operator,
            checkpointing: config.checkpointing.is_some(),
            blocked_events_max: config.checkpointing.and_then(|settings| settings.blocked_events_max),
            epoch,
            defects: config.defects,
            generation: 0,
            gateways,
            retired: BTreeMap::new(),
            event_next: 0,
            unconfirmed: BTreeMap::new(),
            awaited_once: BTreeSet::new(),
            awaiting: Vec::new(),
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
        self.gateways
            .iter()
            .chain(self.retired.values())
            .map(|gateway| gateway.blocked_events().count())
            .sum()
    }

    /// Which coordinator it holds, counted from 1; 0 before the start. Mail of an older one is not heard.
    #[must_use]
    pub const fn generation(&self) -> u32 {
        self.generation
    }

    /// The gateways that checkpoints mark and close, one a subtask; none without checkpointing (FACT 33).
    #[must_use]
    pub fn marked_gateways(&self) -> &[SubtaskGateway] {
        if self.checkpointing { &self.gateways } else { &[] }
    }

    /// How many events the next checkpoint would wait for.
    #[must_use]
    pub fn unconfirmed_count(&self) -> usize {
        self.unconfirmed.len() - self.awaited_once.len()
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
        let current = &self.gateways[index];
        if attempt.attempt < current.attempt().attempt
            || self.is_ready(attempt)
            || (current.attempt() == attempt && current.standing() != AttemptStanding::Running)
        {
            return;
        }
        if attempt != current.attempt() {
            self.replace_gateway(index, attempt.attempt, out);
        }
        self.gateways[index].set_ready(task_manager);
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

    /// The subtask is going to restore `restored` in the execution `next`: forget its gateway and all its events, then
    /// tell the coordinator.
    pub fn subtask_reset(
        &mut self,
        subtask: SubtaskId,
        next: AttemptNumber,
        restored: Option<CheckpointId>,
        out: &mut Outbox,
    ) {
        let Some(index) = self.index_of(subtask) else { return };
        self.replace_gateway(index, next, out);
        self.mail(CoordinatorMail::SubtaskReset { subtask, restored }, out);
    }

    /// Global failover: a new coordinator takes over, and what the old one still says is dropped. `next` names the
    /// execution to come of each subtask.
    pub fn reset_to_checkpoint(
        &mut self,
        next: &[AttemptNumber],
        restored: Option<(CheckpointId, Vec<u8>)>,
        out: &mut Outbox,
    ) {
        debug_assert_eq!(next.len(), self.gateways.len(), "one a subtask");
        self.generation += 1;
        if self.defects.has(Defect::DeadExecutionsAreSent) {
            self.open_gateways_for_all(out);
        } else {
            self.unconfirmed.clear();
            self.awaited_once.clear();
            self.awaiting.clear();
        }
        for (index, next) in next.iter().enumerate() {
            self.replace_gateway(index, *next, out);
        }
        self.job_failed = false;
        self.mail(CoordinatorMail::Start { generation: self.generation, restored }, out);
    }

    /// A new gateway, nothing marked and nothing closed (FACT 24). The old one's events are forgotten.
    fn replace_gateway(&mut self, index: usize, next: AttemptNumber, out: &mut Outbox) {
        let old = self.gateways[index].attempt();
        debug_assert!(next >= old.attempt, "executions are counted up");
        let new = SubtaskGateway::new(ExecutionAttemptId { attempt: next, ..old });
        let replaced = std::mem::replace(&mut self.gateways[index], new);
        if self.defects.has(Defect::OldGatewayOutlivesReset) {
            self.retired.insert(old, replaced);
        } else {
            self.forget_events_to(old, out);
        }
    }

    /// Passes an event on to the coordinator. The job master has seen to it that the execution is heard.
    pub fn handle_event_from_operator(
        &mut self,
        attempt: ExecutionAttemptId,
        event: ReaderEvent,
        out: &mut Outbox,
    ) {
        if attempt.vertex == self.vertex {
            self.mail(CoordinatorMail::FromReader { attempt, event }, out);
        }
    }

    /// Triggers the coordinator's part of a checkpoint: marks the gateways, asks the coordinator (FACT 9).
    ///
    /// # Errors
    /// When the identifier is not above the latest one: the checkpoint and the job are to fail, and the coordinator is not
    /// asked (FACT 15). Gateways with a lower index may be marked.
    pub fn checkpoint(
        &mut self,
        checkpoint: CheckpointId,
        out: &mut Outbox,
    ) -> Result<(), RegressingCheckpoint> {
        if self.checkpointing {
            for gateway in &mut self.gateways {
                gateway.mark(checkpoint)?;
            }
        }
        debug_assert!(self.marked_gateways().iter().all(|gateway| gateway.can_close(checkpoint)));
        out.emit(EventKind::GatewaysMarked { operator: self.operator, checkpoint });
        self.mail(CoordinatorMail::Checkpoint(checkpoint), out);
        Ok(())
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
            CoordinatorToMain::SendEvent { attempt, event } => self.send_event(attempt, event, out, signals),
            CoordinatorToMain::CheckpointResult { checkpoint, state: Ok(state) } => {
                self.close_gateways(checkpoint, state, out, signals);
            }
            CoordinatorToMain::CheckpointResult { checkpoint, state: Err(error) } => {
                self.signal_failure(checkpoint, CheckpointFailure::Coordinator(error), signals);
            }
            CoordinatorToMain::EventsForgotten(checkpoint) => {
                self.fail_awaiting(|awaiting| awaiting.checkpoint == checkpoint, signals)
            }
            CoordinatorToMain::FailJob { cause } => {
                if !std::mem::replace(&mut self.job_failed, true) {
                    signals.push(HolderSignal::FailJob { cause });
                }
            }
        }
    }

    /// What became of an event. Lost ('not delivered' and 'unknown' alike): the subtask fails over while that execution
    /// runs, unless it has just ended and may miss the event; and then every checkpoint that waits for the event fails
    /// (FACTS 19, 21).
    pub fn on_delivery(
        &mut self,
        token: DeliveryToken,
        outcome: DeliveryOutcome,
        out: &mut Outbox,
        signals: &mut Vec<HolderSignal>,
    ) {
        debug_assert!(self.owns_token(token), "routed by its operator");
        let id = OperatorEventId(token.0 & ((1 << TOKEN_EVENT_BITS) - 1));
        let Some(event) = self.unconfirmed.remove(&id) else {
            return;
        };
        let attempt = event.attempt;
        self.awaited_once.remove(&id);
        let is_tolerable = event.may_be_missed && outcome == DeliveryOutcome::NotDelivered;
        if outcome == DeliveryOutcome::Delivered || self.defects.has(Defect::EventLossIgnored) {
            self.confirm(id, signals);
            return;
        }
        if self.is_running(attempt) && !is_tolerable {
            out.emit(EventKind::OperatorEventLost { operator: self.operator, attempt, id });
            let cause =
                format!("An OperatorEvent from an OperatorCoordinator to a task was lost: {id} to {attempt}");
            signals.push(HolderSignal::FailSubtask { attempt, cause });
        } else {
            self.miss_splits(event, out);
        }
        self.fail_awaiting(|awaiting| awaiting.unconfirmed.contains(&id), signals);
    }

    /// The subtask acknowledged a checkpoint: its gateway opens, no other (FACT 12).
    ///
    /// # Errors
    /// With Flink's quirks: when that gateway never saw the checkpoint, or there is none.
    pub fn acknowledge_checkpoint(
        &mut self,
        checkpoint: CheckpointId,
        attempt: ExecutionAttemptId,
        out: &mut Outbox,
    ) -> Result<(), GatewayError> {
        let index = attempt.subtask.0 as usize;
        if index >= self.marked_gateways().len() {
            return Err(GatewayError::NoGateway(attempt.subtask));
        }
        if self.is_current(attempt) { self.open_gateway(index, checkpoint, out) } else { Ok(()) }
    }

    /// The checkpoint is complete: opens all gateways, then tells the coordinator (FACT 12).
    ///
    /// # Errors
    /// With Flink's quirks: when a gateway never saw the checkpoint. The coordinator is not told then (FACT 27).
    pub fn notify_checkpoint_complete(
        &mut self,
        checkpoint: CheckpointId,
        out: &mut Outbox,
    ) -> Result<(), GatewayError> {
        self.open_gateways(checkpoint, out)?;
        self.mail(CoordinatorMail::NotifyCheckpointComplete(checkpoint), out);
        Ok(())
    }

    /// The checkpoint is aborted: opens all gateways, then tells the coordinator (FACT 12).
    ///
    /// # Errors
    /// As [`Self::notify_checkpoint_complete`].
    pub fn notify_checkpoint_aborted(
        &mut self,
        checkpoint: CheckpointId,
        out: &mut Outbox,
    ) -> Result<(), GatewayError> {
        if !self.defects.has(Defect::GatewayStaysClosedOnAbort) {
            self.open_gateways(checkpoint, out)?;
        }
        self.mail(CoordinatorMail::NotifyCheckpointAborted(checkpoint), out);
        Ok(())
    }

    /// The checkpoint that is being triggered is given up: each gateway opens for the highest one that it is marked for.
    /// The coordinator is not told.
    ///
    /// # Errors
    /// None: what is marked was seen.
    pub fn abort_current_triggering(&mut self, out: &mut Outbox) -> Result<(), GatewayError> {
        for index in 0..self.marked_gateways().len() {
            let last = self.gateways[index].marked().next_back();
            if let Some(last) = last {
                self.open_gateway(index, last, out)?;
            }
        }
        Ok(())
    }

    /// The barriers of a checkpoint are injected. Nothing to do: a gateway opens at its own subtask's acknowledgement.
    pub fn barriers_injected(&mut self, checkpoint: CheckpointId, out: &mut Outbox) {
        if self.defects.has(Defect::GatewayOpensAtInjection) {
            let opened = self.open_gateways(checkpoint, out);
            debug_assert_eq!(opened, Ok(()), "whose barriers go out was marked");
        }
    }

    /// Whether the token names an event of this holder.
    #[must_use]
    pub const fn owns_token(&self, token: DeliveryToken) -> bool {
        token.0 >> TOKEN_EVENT_BITS == self.operator.0 as u64
    }

    fn index_of(&self, subtask: SubtaskId) -> Option<usize> {
        let index = subtask.subtask.0 as usize;
        (subtask.vertex == self.vertex && index < self.gateways.len()).then_some(index)
    }

    /// The gateway of an execution, also of a retired one.
    fn gateway_mut(&mut self, attempt: ExecutionAttemptId) -> Option<&mut SubtaskGateway> {
        let index = self.index_of(attempt.subtask_id())?;
        if self.gateways[index].attempt() == attempt {
            return Some(&mut self.gateways[index]);
        }
        self.retired.get_mut(&attempt)
    }

    fn gateway(&self, attempt: ExecutionAttemptId) -> Option<&SubtaskGateway> {
        let index = self.index_of(attempt.subtask_id())?;
        let current = &self.gateways[index];
        if current.attempt() == attempt { Some(current) } else { self.retired.get(&attempt) }
    }

    fn is_current(&self, attempt: ExecutionAttemptId) -> bool {
        self.index_of(attempt.subtask_id()).is_some_and(|index| self.gateways[index].attempt() == attempt)
    }

    fn is_ready(&self, attempt: ExecutionAttemptId) -> bool {
        self.gateway(attempt).is_some_and(|gateway| gateway.task_manager().is_some())
    }

    fn is_running(&self, attempt: ExecutionAttemptId) -> bool {
        let is_running = |gateway: &SubtaskGateway| {
            gateway.task_manager().is_some() && gateway.standing() == AttemptStanding::Running
        };
        self.gateway(attempt).is_some_and(is_running)
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
