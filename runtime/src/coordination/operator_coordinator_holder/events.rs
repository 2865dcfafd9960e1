//! The way of an event through the holder: sent or blocked, confirmed or lost, released or forgotten; and the part of a
//! checkpoint that hangs on it.

use super::{CoordinatorCheckpoint, HolderSignal, OperatorCoordinatorHolder, TOKEN_EVENT_BITS};
use crate::actor::{Effect, Outbox};
use crate::coordination::subtask_gateway::{AttemptStanding, Passage};
use crate::defects::Defect;
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use std::collections::BTreeSet;

impl OperatorCoordinatorHolder {
    pub(super) fn send_event(&mut self, attempt: ExecutionAttemptId, event: OperatorEvent, out: &mut Outbox) {
        // An execution that is over gets nothing: its reset gives back what it was assigned, or it needs nothing more.
        if !self.is_running(attempt) {
            return;
        }
        let id = OperatorEventId(self.event_next);
        self.event_next += 1;
        debug_assert!(id.0 >> TOKEN_EVENT_BITS == 0, "the number fits the token");
        self.unconfirmed.insert(id, attempt);
        let gateway = self.gateway_mut(attempt).expect("a running execution has a gateway");
        match gateway.passage() {
            Passage::Open => self.release(attempt, id, event, out),
            Passage::BlockedBehind(checkpoint) => {
                gateway.block(id, event);
                out.emit(EventKind::OperatorEventBlocked {
                    operator: self.operator,
                    attempt,
                    id,
                    checkpoint,
                });
            }
        }
    }

    fn release(
        &self,
        attempt: ExecutionAttemptId,
        id: OperatorEventId,
        event: OperatorEvent,
        out: &mut Outbox,
    ) {
        let gateway =
            self.subtasks[attempt.subtask.0 as usize].gateway.as_ref().expect("released through a gateway");
        debug_assert_eq!(gateway.attempt(), attempt);
        debug_assert!(self.unconfirmed.contains_key(&id), "waits for its confirmation from here on");
        let message = TaskMessage::OperatorEvent { operator: self.operator, id, event };
        out.effect_with(
            Effect::Send {
                to: gateway.task_manager(),
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
        // An aborted checkpoint is forgotten, and nobody waits for its result any more.
        if !self.checkpoints.contains_key(&checkpoint) {
            return;
        }
        if !self.gateways().all(|gateway| gateway.can_close(checkpoint)) {
            self.fail_checkpoint(checkpoint, "Cannot close gateway".to_owned(), signals);
            return;
        }
        if !self.defects.has(Defect::GatewayNeverCloses) {
            for gateway in self.subtasks.iter_mut().filter_map(|subtask| subtask.gateway.as_mut()) {
                let closed = gateway.close(checkpoint);
                debug_assert!(closed, "asked before");
            }
        }
        out.emit(EventKind::GatewaysClosed { operator: self.operator, checkpoint });
        let unconfirmed = self.unconfirmed.keys().copied().collect();
        self.checkpoints.insert(checkpoint, CoordinatorCheckpoint::AwaitingEvents { state, unconfirmed });
        self.complete_if_confirmed(checkpoint, signals);
    }

    pub(super) fn confirm(&mut self, id: OperatorEventId, signals: &mut Vec<HolderSignal>) {
        for checkpoint in self.checkpoints_awaiting(id) {
            if let Some(CoordinatorCheckpoint::AwaitingEvents { unconfirmed, .. }) =
                self.checkpoints.get_mut(&checkpoint)
            {
                unconfirmed.remove(&id);
            }
            self.complete_if_confirmed(checkpoint, signals);
        }
        debug_assert!(self.checkpoints_awaiting(id).is_empty());
    }

    fn complete_if_confirmed(&mut self, checkpoint: CheckpointId, signals: &mut Vec<HolderSignal>) {
        match self.checkpoints.get(&checkpoint) {
            Some(CoordinatorCheckpoint::AwaitingEvents { unconfirmed, .. }) if unconfirmed.is_empty() => {}
            _ => return,
        }
        if let Some(CoordinatorCheckpoint::AwaitingEvents { state, .. }) =
            self.checkpoints.remove(&checkpoint)
        {
            signals.push(HolderSignal::CheckpointCompleted { operator: self.operator, checkpoint, state });
        }
    }

    /// Fails a checkpoint that is under way here; the gateways stay as they are until the abort comes (FACTS 20, 23).
    pub(super) fn fail_checkpoint(
        &mut self,
        checkpoint: CheckpointId,
        reason: String,
        signals: &mut Vec<HolderSignal>,
    ) {
        if self.checkpoints.remove(&checkpoint).is_some() {
            let reason = format!("Failing OperatorCoordinator checkpoint of {}: {reason}", self.operator);
            signals.push(HolderSignal::CheckpointFailed { operator: self.operator, checkpoint, reason });
        }
    }

    pub(super) fn forget_events_to(&mut self, attempt: ExecutionAttemptId, out: &mut Outbox) {
        let forgotten =
            self.unconfirmed.iter().filter(|(_, to)| **to == attempt).map(|(id, _)| *id).collect();
        self.forget_events(forgotten, out);
        debug_assert!(self.unconfirmed.values().all(|to| *to != attempt));
    }

    /// Drops events to an execution that is over. A checkpoint that waits for one of them is failed by mail to itself.
    fn forget_events(&mut self, forgotten: Vec<OperatorEventId>, out: &mut Outbox) {
        let mut awaiting = BTreeSet::new();
        for id in &forgotten {
            awaiting.extend(self.checkpoints_awaiting(*id));
            let known = self.unconfirmed.remove(id);
            debug_assert!(known.is_some(), "only unconfirmed events can be forgotten");
        }
        for checkpoint in awaiting {
            let state = Err("an event to an execution that is over was not received".to_owned());
            self.mail_self(CoordinatorToMain::CheckpointResult { checkpoint, state }, out);
        }
    }

    pub(super) fn open_gateways(&mut self, checkpoint: CheckpointId, out: &mut Outbox) {
        for index in 0..self.subtasks.len() {
            self.open_gateway(SubtaskIndex(index as u32), checkpoint, out);
        }
        debug_assert!(self.gateways().all(|gateway| !gateway.is_closed_for(checkpoint)));
    }

    pub(super) fn open_gateway(&mut self, subtask: SubtaskIndex, checkpoint: CheckpointId, out: &mut Outbox) {
        let Some(gateway) = self.subtasks[subtask.0 as usize].gateway.as_mut() else { return };
        let (attempt, standing) = (gateway.attempt(), gateway.standing());
        let Some(mut events) = gateway.open(checkpoint) else { return };
        if standing != AttemptStanding::Running {
            // It is over: what was kept back cannot arrive. Its splits come back by the reset (FACT 29).
            let forgotten = events.drain(..).map(|(id, _)| id).collect();
            self.forget_events(forgotten, out);
        }
        let released = events.len() as u32;
        out.emit(EventKind::GatewayOpened { operator: self.operator, attempt, checkpoint, released });
        for (id, event) in events {
            self.release(attempt, id, event, out);
        }
    }

    pub(super) fn checkpoints_awaiting(&self, id: OperatorEventId) -> Vec<CheckpointId> {
        let awaits = |checkpoint: &CoordinatorCheckpoint| match checkpoint {
            CoordinatorCheckpoint::AwaitingEvents { unconfirmed, .. } => unconfirmed.contains(&id),
            _ => false,
        };
        self.checkpoints.iter().filter(|(_, checkpoint)| awaits(checkpoint)).map(|(id, _)| *id).collect()
    }
}
