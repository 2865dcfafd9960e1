//! What becomes of an event in the holder: sent or blocked, confirmed or lost, released or forgotten; and the part of a
//! checkpoint that hangs on it.

use super::{
    AwaitingEvents, GatewayError, HolderSignal, OperatorCoordinatorHolder, TOKEN_EVENT_BITS, UnconfirmedEvent,
};
use crate::actor::{Effect, Outbox};
use crate::coordination::coordinator_error::{CheckpointFailure, CoordinatorError};
use crate::coordination::subtask_gateway::{
    AttemptStanding, BlockedEvent, Passage, SubtaskGateway, UnseenCheckpoint,
};
use crate::defects::Defect;
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use std::collections::BTreeSet;

impl OperatorCoordinatorHolder {
    pub(super) fn send_event(
        &mut self,
        attempt: ExecutionAttemptId,
        event: OperatorEvent,
        out: &mut Outbox,
        signals: &mut Vec<HolderSignal>,
    ) {
        let unconfirmed = UnconfirmedEvent {
            attempt,
            brings_splits: matches!(event, OperatorEvent::AddSplits(_)),
            may_be_missed: event.is_loss_tolerant(),
        };
        // An execution that is over gets nothing: its reset gives back what it was assigned, if there is one to come.
        if !self.is_running(attempt) && !self.defects.has(Defect::DeadExecutionsAreSent) {
            self.miss_splits(unconfirmed, out);
            return;
        }
        let id = OperatorEventId(self.event_next);
        let Some(gateway) = self.gateway_mut(attempt) else { return };
        let passage = gateway.passage();
        if let Passage::BlockedBehind(checkpoint) = passage {
            gateway.block(id, event.clone());
            let operator = self.operator;
            out.emit(EventKind::OperatorEventBlocked { operator, attempt, id, checkpoint });
        }
        self.event_next += 1;
        debug_assert!(id.0 >> TOKEN_EVENT_BITS == 0, "the number fits the token");
        self.unconfirmed.insert(id, unconfirmed);
        match passage {
            Passage::Open => self.release(attempt, id, event, out),
            Passage::BlockedBehind(_) => self.fail_behind_full_gateway(attempt, signals),
        }
    }

    /// A gateway that is full fails every checkpoint that it waits behind: each would only hand its events to the next.
    fn fail_behind_full_gateway(&self, attempt: ExecutionAttemptId, signals: &mut Vec<HolderSignal>) {
        let Some(max) = self.blocked_events_max else { return };
        let gateway = self.gateway(attempt).expect("it has just kept an event back");
        let is_full = gateway.blocked_events().count() >= max as usize;
        if is_full && !self.defects.has(Defect::BlockedEventsUnbounded) {
            for (checkpoint, _) in gateway.closed() {
                self.signal_failure(checkpoint, CheckpointFailure::TooManyBlockedEvents, signals);
            }
        }
    }

    /// An event cannot arrive. Splits that were sent to an execution which has finished are given back by no reset, so the
    /// job has to fail over as a whole: by mail to itself, as this is found out in the middle of other things.
    pub(super) fn miss_splits(&self, event: UnconfirmedEvent, out: &mut Outbox) {
        let has_finished = |gateway: &SubtaskGateway| gateway.standing() == AttemptStanding::Finished;
        let is_for_good = event.brings_splits && self.gateway(event.attempt).is_some_and(has_finished);
        if is_for_good && !self.defects.has(Defect::SplitToFinishedTaskLost) {
            let cause = CoordinatorError::SplitsToFinishedTask(event.attempt);
            self.mail_self(CoordinatorToMain::FailJob { cause }, out);
        }
    }

    fn release(
        &self,
        attempt: ExecutionAttemptId,
        id: OperatorEventId,
        event: OperatorEvent,
        out: &mut Outbox,
    ) {
        let gateway = self.gateway(attempt).expect("released through a gateway");
        debug_assert_eq!(gateway.attempt(), attempt);
        debug_assert!(self.unconfirmed.contains_key(&id), "waits for its confirmation from here on");
        let message = TaskMessage::OperatorEvent { operator: self.operator, id, event };
        out.effect_with(
            Effect::Send {
                to: gateway.task_manager().expect("a coordinator has no gateway before it is ready"),
                stream: Stream::OperatorEvents(attempt),
                message: Message::Task { epoch: self.epoch, attempt, message },
                token: Some(DeliveryToken(u64::from(self.operator.0) << TOKEN_EVENT_BITS | id.0)),
            },
            EventKind::OperatorEventReleased { operator: self.operator, attempt, id },
        );
    }

    /// The coordinator's snapshot is there. Closes all gateways or none: one that is not marked means that the
    /// checkpoint was aborted or a subtask reset in between (FACTS 16, 26).
    pub(super) fn close_gateways(
        &mut self,
        checkpoint: CheckpointId,
        state: Vec<u8>,
        out: &mut Outbox,
        signals: &mut Vec<HolderSignal>,
    ) {
        let gateways = self.marked_gateways();
        let closable = gateways.iter().filter(|gateway| gateway.can_close(checkpoint)).count();
        if closable == 0 || closable < gateways.len() {
            let ends_process = closable > 0 && self.defects.has(Defect::ResetBeforeCloseEndsProcess);
            if ends_process {
                self.close_marked(checkpoint);
                signals.push(HolderSignal::EndProcess { operator: self.operator, checkpoint });
            } else {
                self.signal_failure(checkpoint, CheckpointFailure::CannotCloseGateway, signals);
            }
            return;
        }
        if !self.defects.has(Defect::GatewayNeverCloses) {
            self.close_marked(checkpoint);
        }
        out.emit(EventKind::GatewaysClosed { operator: self.operator, checkpoint });
        let unconfirmed = self.take_unconfirmed();
        self.awaiting.push(AwaitingEvents { checkpoint, state, unconfirmed });
        self.complete_confirmed(signals);
    }

    fn close_marked(&mut self, checkpoint: CheckpointId) {
        for gateway in &mut self.gateways {
            gateway.close(checkpoint);
        }
        debug_assert!(self.gateways.iter().any(|gateway| gateway.is_closed_for(checkpoint)), "asked before");
    }

    /// What a checkpoint that closes now has to wait for.
    fn take_unconfirmed(&mut self) -> BTreeSet<OperatorEventId> {
        let unconfirmed =
            self.unconfirmed.keys().filter(|id| !self.awaited_once.contains(id)).copied().collect();
        if self.defects.has(Defect::EventAwaitedOnce) {
            self.awaited_once.extend(&unconfirmed);
        }
        debug_assert!(self.awaited_once.len() <= self.unconfirmed.len());
        unconfirmed
    }

    pub(super) fn confirm(&mut self, id: OperatorEventId, signals: &mut Vec<HolderSignal>) {
        let mut was_awaited = false;
        for awaiting in &mut self.awaiting {
            was_awaited |= awaiting.unconfirmed.remove(&id);
        }
        if was_awaited {
            self.complete_confirmed(signals);
        }
        debug_assert!(self.awaiting.iter().all(|awaiting| !awaiting.unconfirmed.contains(&id)));
    }

    fn complete_confirmed(&mut self, signals: &mut Vec<HolderSignal>) {
        let operator = self.operator;
        for done in self.awaiting.extract_if(.., |awaiting| awaiting.unconfirmed.is_empty()) {
            let AwaitingEvents { checkpoint, state, .. } = done;
            signals.push(HolderSignal::CheckpointCompleted { operator, checkpoint, state });
        }
    }

    /// Fails those that wait for events in vain; the gateways stay as they are until the abort comes (FACT 20).
    pub(super) fn fail_awaiting(
        &mut self,
        in_vain: impl Fn(&AwaitingEvents) -> bool,
        signals: &mut Vec<HolderSignal>,
    ) {
        let (operator, before) = (self.operator, self.awaiting.len());
        for failed in self.awaiting.extract_if(.., |awaiting| in_vain(awaiting)) {
            let (checkpoint, reason) = (failed.checkpoint, CheckpointFailure::EventLost);
            signals.push(HolderSignal::CheckpointFailed { operator, checkpoint, reason });
        }
        debug_assert!(self.awaiting.len() <= before);
    }

    /// The checkpoint failed before its gateways were closed. They stay as they are until the abort comes (FACT 23).
    pub(super) fn signal_failure(
        &self,
        checkpoint: CheckpointId,
        reason: CheckpointFailure,
        signals: &mut Vec<HolderSignal>,
    ) {
        signals.push(HolderSignal::CheckpointFailed { operator: self.operator, checkpoint, reason });
    }

    pub(super) fn forget_events_to(&mut self, attempt: ExecutionAttemptId, out: &mut Outbox) {
        let forgotten = self
            .unconfirmed
            .iter()
            .filter(|(_, event)| event.attempt == attempt)
            .map(|(id, _)| *id)
            .collect();
        self.forget_events(forgotten, out);
        debug_assert!(self.unconfirmed.values().all(|event| event.attempt != attempt));
    }

    /// Drops events to an execution that is over. A checkpoint that waits for one of them is failed by mail to itself.
    fn forget_events(&mut self, forgotten: Vec<OperatorEventId>, out: &mut Outbox) {
        for id in &forgotten {
            let known = self.unconfirmed.remove(id);
            self.awaited_once.remove(id);
            debug_assert!(known.is_some(), "only unconfirmed events can be forgotten");
        }
        let in_vain =
            |awaiting: &&AwaitingEvents| forgotten.iter().any(|id| awaiting.unconfirmed.contains(id));
        for awaiting in self.awaiting.iter().filter(in_vain) {
            self.mail_self(CoordinatorToMain::EventsForgotten(awaiting.checkpoint), out);
        }
    }

    pub(super) fn open_gateways(
        &mut self,
        checkpoint: CheckpointId,
        out: &mut Outbox,
    ) -> Result<(), GatewayError> {
        for index in 0..self.marked_gateways().len() {
            self.open_gateway(index, checkpoint, out)?;
        }
        debug_assert!(self.gateways.iter().all(|gateway| !gateway.is_closed_for(checkpoint)));
        Ok(())
    }

    pub(super) fn open_gateway(
        &mut self,
        index: usize,
        checkpoint: CheckpointId,
        out: &mut Outbox,
    ) -> Result<(), GatewayError> {
        match self.gateways[index].open(checkpoint) {
            Ok(Some(events)) => self.let_out(index, checkpoint, events, out),
            Ok(None) => {}
            Err(unseen) => self.unseen(unseen)?,
        }
        Ok(())
    }

    /// A checkpoint that a gateway never saw: it is newer than the checkpoint, and has nothing to open.
    fn unseen(&self, unseen: UnseenCheckpoint) -> Result<(), GatewayError> {
        if self.defects.has(Defect::UnseenCheckpointThrows) { Err(unseen.into()) } else { Ok(()) }
    }

    fn let_out(
        &mut self,
        index: usize,
        checkpoint: CheckpointId,
        mut events: Vec<BlockedEvent>,
        out: &mut Outbox,
    ) {
        let (attempt, standing) = (self.gateways[index].attempt(), self.gateways[index].standing());
        if standing != AttemptStanding::Running && !self.defects.has(Defect::DeadExecutionsAreSent) {
            // It is over: what was kept back cannot arrive. Its splits come back by the reset (FACT 29).
            let forgotten: Vec<_> = events.drain(..).map(|(id, _)| id).collect();
            for missed in forgotten.iter().filter_map(|id| self.unconfirmed.get(id)) {
                self.miss_splits(*missed, out);
            }
            self.forget_events(forgotten, out);
        }
        if self.is_ready(attempt) {
            let released = events.len() as u32;
            out.emit(EventKind::GatewayOpened { operator: self.operator, attempt, checkpoint, released });
        }
        for (id, event) in events {
            self.release(attempt, id, event, out);
        }
    }

    /// Before a global reset: what is blocked goes out, to the executions that are over (FACT 30).
    pub(super) fn open_gateways_for_all(&mut self, out: &mut Outbox) {
        for index in 0..self.marked_gateways().len() {
            let attempt = self.gateways[index].attempt();
            for (id, event) in self.gateways[index].open_all() {
                self.release(attempt, id, event, out);
            }
        }
        debug_assert!(self.gateways.iter().all(|gateway| gateway.blocked_events().next().is_none()));
    }
}
