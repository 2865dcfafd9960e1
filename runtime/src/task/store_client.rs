//! A task's calls to the outside store: each has a number, a timer and, in the end, one answer or none.
//!
//! A call without an answer in time has an *unknown* outcome. Whoever asks again does so with a new number; a reply to
//! a number that nobody waits for any more is dropped.

use crate::actor::Outbox;
use crate::event::EventKind;
use crate::ids::{CallId, ExecutionAttemptId, LeaderEpoch, ProcessAddress};
use crate::message::{Message, StoreRequest, Stream, Timer};

/// Numbers and sends the calls of one execution.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StoreClient {
    attempt: ExecutionAttemptId,
    epoch: LeaderEpoch,
    timeout_ns: u64,
    next_call: CallId,
}

impl StoreClient {
    /// A client that has asked nothing yet. The execution and the epoch are its fence.
    #[must_use]
    pub const fn new(attempt: ExecutionAttemptId, epoch: LeaderEpoch, timeout_ns: u64) -> Self {
        Self { attempt, epoch, timeout_ns, next_call: CallId(1) }
    }

    /// Sends a request, with the event that reports it if there is one; a timer bounds the wait for the reply.
    pub fn ask(&mut self, request: StoreRequest, event: Option<EventKind>, outbox: &mut Outbox) -> CallId {
        debug_assert!(self.timeout_ns > 0, "a call without a timeout may wait for ever");
        let call = self.next_call;
        self.next_call = CallId(call.0 + 1);
        let message = Message::Store { attempt: self.attempt, epoch: self.epoch, call, request };
        let stream = Stream::StoreCalls(self.attempt);
        let effect = crate::actor::Effect::Send { to: ProcessAddress::STORE, stream, message, token: None };
        match event {
            Some(event) => outbox.effect_with(effect, event),
            None => outbox.effect(effect),
        }
        outbox.set_timer(Timer::StoreTimeout(call), self.timeout_ns);
        debug_assert!(self.next_call > call, "a call number is used once");
        call
    }

    /// The reply came: its timer is not needed any more.
    pub fn answered(&self, call: CallId, outbox: &mut Outbox) {
        debug_assert!(call < self.next_call, "only calls that were made are answered");
        outbox.cancel_timer(Timer::StoreTimeout(call));
    }
}
