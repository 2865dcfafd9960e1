//! A task's calls to the outside store: each has a number, a timer and, in the end, one answer or none.
//!
//! A call without an answer in time has an *unknown* outcome. Whoever asks again does so with a new number; a reply to
//! a number that nobody waits for any more is dropped.

use crate::actor::Outbox;
use crate::event::EventKind;
use crate::ids::{CallId, ExecutionAttemptId, LeaderEpoch, ProcessAddress};
use crate::message::{Message, StoreRequest, Stream, Timer};
use std::collections::BTreeMap;

/// Numbers and sends the calls of one execution.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StoreClient {
    attempt: ExecutionAttemptId,
    epoch: LeaderEpoch,
    timeout_ns: u64,
    next_call: CallId,
    /// The calls whose committer stands still before they go out.
    held: BTreeMap<CallId, (StoreRequest, EventKind)>,
}

impl StoreClient {
    /// A client that has asked nothing yet. The execution and the epoch are its fence.
    #[must_use]
    pub const fn new(attempt: ExecutionAttemptId, epoch: LeaderEpoch, timeout_ns: u64) -> Self {
        Self { attempt, epoch, timeout_ns, next_call: CallId(1), held: BTreeMap::new() }
    }

    /// Sends a request, with the event that reports it if there is one; a timer bounds the wait for the reply.
    pub fn ask(&mut self, request: StoreRequest, event: Option<EventKind>, outbox: &mut Outbox) -> CallId {
        let call = self.number();
        self.send(call, request, event, outbox);
        call
    }

    /// As [`StoreClient::ask`], but later: the timer of the wait for the reply begins when the request goes out.
    pub fn ask_after(
        &mut self,
        delay_ns: u64,
        request: StoreRequest,
        event: EventKind,
        outbox: &mut Outbox,
    ) -> CallId {
        debug_assert!(delay_ns > 0, "what is due at once is asked at once");
        let call = self.number();
        self.held.insert(call, (request, event));
        outbox.set_timer(Timer::StoreCallDue(call), delay_ns);
        call
    }

    /// The time of a held call has come.
    pub fn send_held(&mut self, call: CallId, outbox: &mut Outbox) {
        debug_assert!(self.held.contains_key(&call), "{call} is held until its timer fires, once");
        if let Some((request, event)) = self.held.remove(&call) {
            self.send(call, request, Some(event), outbox);
        }
    }

    const fn number(&mut self) -> CallId {
        let call = self.next_call;
        self.next_call = CallId(call.0 + 1);
        call
    }

    fn send(&self, call: CallId, request: StoreRequest, event: Option<EventKind>, outbox: &mut Outbox) {
        debug_assert!(self.timeout_ns > 0, "a call without a timeout may wait for ever");
        debug_assert!(call < self.next_call, "a call number is used once");
        let message = Message::Store { attempt: self.attempt, epoch: self.epoch, call, request };
        let stream = Stream::StoreCalls(self.attempt);
        let effect = crate::actor::Effect::Send { to: ProcessAddress::STORE, stream, message, token: None };
        match event {
            Some(event) => outbox.effect_with(effect, event),
            None => outbox.effect(effect),
        }
        outbox.set_timer(Timer::StoreTimeout(call), self.timeout_ns);
    }

    /// The reply came: its timer is not needed any more.
    pub fn answered(&self, call: CallId, outbox: &mut Outbox) {
        debug_assert!(call < self.next_call, "only calls that were made are answered");
        outbox.cancel_timer(Timer::StoreTimeout(call));
    }
}
