//! The coordinator of an operator that is no source: it sends each subtask the numbers 1, 2, 3, ... and remembers the
//! last one.
//!
//! Its operator keeps the last number that it handled. So in each completed checkpoint the two states must be equal, for
//! each subtask: the simplest protocol in which an event that slips past a barrier, or is lost, shows at once.
//!
//! A subtask that restores checkpoint R continues behind what was recorded for R. Recorded states are kept from the
//! latest completed checkpoint on, as no older one can be restored any more.

use super::coordinator_error::CoordinatorError;
use crate::actor::Outbox;
use crate::api::source_state::{StateError, decode_versioned, encode_versioned};
use crate::config::CoordinatedConfig;
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use std::collections::BTreeMap;

/// Encodes the number that an event carries.
#[must_use]
pub fn encode_event_number(number: u64) -> Vec<u8> {
    postcard::to_stdvec(&number).expect("a number always encodes")
}

/// Decodes the number that an event carries.
///
/// # Errors
/// When the bytes are no number.
pub fn decode_event_number(bytes: &[u8]) -> Result<u64, StateError> {
    Ok(postcard::from_bytes(bytes)?)
}

/// Decodes the coordinator's state: the last number sent, by subtask.
///
/// # Errors
/// When the bytes are wrong.
pub fn decode_event_coordinator_state(bytes: &[u8]) -> Result<Vec<u64>, StateError> {
    decode_versioned(bytes)
}

/// What is known of one subtask.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Subtask {
    gateway: Option<ExecutionAttemptId>,
    sent: u64,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EventCoordinator {
    config: CoordinatedConfig,
    generation: u32,
    subtasks: Vec<Subtask>,
    recorded: BTreeMap<CheckpointId, Vec<u64>>,
    timer_set: bool,
}

impl EventCoordinator {
    /// A coordinator that waits for its `Start`.
    #[must_use]
    pub fn new(config: CoordinatedConfig, parallelism: u32) -> Self {
        debug_assert!(parallelism > 0, "an operator has subtasks");
        let subtasks = vec![Subtask::default(); parallelism as usize];
        Self { config, generation: 0, subtasks, recorded: BTreeMap::new(), timer_set: false }
    }

    /// Handles one piece of mail.
    pub fn handle(&mut self, mail: CoordinatorMail, out: &mut Outbox) {
        match mail {
            CoordinatorMail::Start { generation, restored } => self.start(generation, restored, out),
            CoordinatorMail::FromReader { attempt, .. } => {
                out.emit(EventKind::ReaderEventArrived { attempt })
            }
            CoordinatorMail::ExecutionAttemptReady(attempt) => {
                self.slot_mut(attempt.subtask).gateway = Some(attempt);
                self.set_timer(out);
            }
            CoordinatorMail::ExecutionAttemptFailed { attempt, .. } => {
                let slot = self.slot_mut(attempt.subtask);
                slot.gateway = slot.gateway.filter(|gateway| *gateway != attempt);
            }
            CoordinatorMail::SubtaskReset { subtask, restored } => {
                self.on_subtask_reset(subtask, restored, out)
            }
            CoordinatorMail::Checkpoint(checkpoint) => {
                let sent: Vec<u64> = self.subtasks.iter().map(|slot| slot.sent).collect();
                let state = Ok(encode_versioned(&sent));
                self.recorded.insert(checkpoint, sent);
                self.mail_main(CoordinatorToMain::CheckpointResult { checkpoint, state }, out);
            }
            CoordinatorMail::NotifyCheckpointComplete(checkpoint) => {
                self.recorded = self.recorded.split_off(&checkpoint);
                out.emit(EventKind::CoordinatorNotified { checkpoint, completed: true });
            }
            CoordinatorMail::NotifyCheckpointAborted(checkpoint) => {
                out.emit(EventKind::CoordinatorNotified { checkpoint, completed: false });
            }
            CoordinatorMail::AsyncResult { call, .. } => debug_assert!(false, "it never asked for {call:?}"),
            CoordinatorMail::GroupWatermark { source, .. } => {
                debug_assert!(false, "{source} is no peer of it")
            }
            CoordinatorMail::Timer(timer) => self.on_timer(timer, out),
        }
    }

    fn start(&mut self, generation: u32, restored: Option<(CheckpointId, Vec<u8>)>, out: &mut Outbox) {
        debug_assert!(generation > self.generation, "generations rise");
        *self = Self { generation, ..Self::new(self.config, self.subtasks.len() as u32) };
        out.cancel_timer(Timer::CoordinatedEvent);
        let Some((checkpoint, state)) = restored else { return };
        match decode_event_coordinator_state(&state) {
            Ok(mut sent) => {
                // An empty state, or one of another parallelism, leaves the new subtasks at 0.
                sent.resize(self.subtasks.len(), 0);
                self.subtasks.iter_mut().zip(&sent).for_each(|(slot, sent)| slot.sent = *sent);
                self.recorded.insert(checkpoint, sent);
            }
            Err(error) => {
                self.mail_main(CoordinatorToMain::FailJob { cause: error.into() }, out);
            }
        }
    }

    fn on_subtask_reset(&mut self, subtask: SubtaskId, restored: Option<CheckpointId>, out: &mut Outbox) {
        let index = subtask.subtask.0 as usize;
        let sent = match restored {
            None => Some(0),
            Some(checkpoint) => self.recorded.get(&checkpoint).map(|sent| sent[index]),
        };
        debug_assert!(sent.is_none_or(|sent| sent <= self.subtasks[index].sent), "a reset goes back");
        if sent.is_none() {
            let cause = CoordinatorError::NothingRecorded { subtask, restored };
            self.mail_main(CoordinatorToMain::FailJob { cause }, out);
        }
        self.subtasks[index] = Subtask { gateway: None, sent: sent.unwrap_or(0) };
    }

    /// One number to each subtask that is ready and has not had all.
    fn on_timer(&mut self, timer: Timer, out: &mut Outbox) {
        debug_assert_eq!(timer, Timer::CoordinatedEvent, "it sets no other timer");
        // A timer that fired before a new generation cancelled it.
        if !std::mem::take(&mut self.timer_set) {
            return;
        }
        let count = u64::from(self.config.event_count);
        for index in 0..self.subtasks.len() {
            let slot = &mut self.subtasks[index];
            let Some(attempt) = slot.gateway.filter(|_| slot.sent < count) else { continue };
            slot.sent += 1;
            let event = OperatorEvent::Custom(encode_event_number(slot.sent));
            self.mail_main(CoordinatorToMain::SendEvent { attempt, event }, out);
        }
        self.set_timer(out);
    }

    fn set_timer(&mut self, out: &mut Outbox) {
        let count = u64::from(self.config.event_count);
        let awaited = self.subtasks.iter().any(|slot| slot.gateway.is_some() && slot.sent < count);
        if awaited && !self.timer_set {
            self.timer_set = true;
            out.set_timer(Timer::CoordinatedEvent, self.config.event_interval_ns);
        }
    }

    fn slot_mut(&mut self, subtask: SubtaskIndex) -> &mut Subtask {
        &mut self.subtasks[subtask.0 as usize]
    }

    fn mail_main(&self, message: CoordinatorToMain, out: &mut Outbox) {
        let (operator, generation) = (self.config.operator, self.generation);
        out.mail(
            ActorId::MainThread,
            Mail::Main(MainMail::FromCoordinator { operator, generation, message }),
        );
    }
}

#[cfg(test)]
mod tests;
