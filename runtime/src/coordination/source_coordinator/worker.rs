//! The worker beside a source coordinator: a thread of its own that runs what the enumerator asked for with
//! `call_async`, one call at a time (Flink's `SourceCoordinator-worker`, a scheduled executor with one thread).
//!
//! It shares the enumerator's memory, as the closures do that Flink runs there, and what comes of a call is mail of the
//! coordinator: between the two anything may happen, a checkpoint, a reset, another run of the same call. So its place
//! in the schedule is its own, and its state lies here. Refused: to run a call in the coordinator's turn. The result
//! would then come before whatever was in the inbox, and an enumerator that is wrong about that would never be found.

use super::SourceCoordinator;
use crate::actor::{Effect, Outbox};
use crate::api::input_io::InputAnswer;
use crate::api::source::{AsyncCallName, UserError};
use crate::message::Timer;
use std::collections::VecDeque;

/// The worker's thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Worker {
    /// How long a call takes, in nanoseconds.
    call_ns: u64,
    /// Calls whose time has come.
    due: VecDeque<AsyncCallName>,
    /// The call that is being run, with what it has seen; handed over when it returns.
    running: Option<(AsyncCallName, Result<Vec<u8>, UserError>)>,
    returns: bool,
    /// The call for which it waits for the outside.
    asking: Option<AsyncCallName>,
    /// What the outside has answered.
    answer: Option<InputAnswer>,
    /// Answers that are still to come and that nobody wants any more.
    unwanted_answers: u32,
}

impl Worker {
    /// A worker with nothing to run, whose calls take so long.
    pub(super) const fn new(call_ns: u64) -> Self {
        Self {
            call_ns,
            due: VecDeque::new(),
            running: None,
            returns: false,
            asking: None,
            answer: None,
            unwanted_answers: 0,
        }
    }

    /// Forgets everything; what it runs comes to nothing.
    pub(super) fn clear(&mut self) {
        let unwanted_answers =
            self.unwanted_answers + u32::from(self.asking.is_some() && self.answer.is_none());
        *self = Self { unwanted_answers, ..Self::new(self.call_ns) };
    }

    /// Whether it has run a call whose time is not over.
    pub(super) const fn is_busy(&self) -> bool {
        self.running.is_some()
    }
}

impl SourceCoordinator {
    /// The time of a call has come: it waits for the worker. One that still waits is not run twice for that, as in a
    /// scheduled executor.
    pub fn async_call_due(&mut self, call: AsyncCallName) {
        if self.context.is_async_call(call) && !self.worker.due.contains(&call) {
            self.worker.due.push_back(call);
        }
    }

    /// The call that the worker runs is over.
    pub fn async_call_returns(&mut self) {
        debug_assert!(self.worker.is_busy(), "its timer goes with the call");
        self.worker.returns = true;
    }

    /// Whether the worker can go on.
    #[must_use]
    pub fn worker_is_runnable(&self) -> bool {
        if self.worker.is_busy() {
            return self.worker.returns;
        }
        if self.worker.asking.is_some() {
            return self.worker.answer.is_some();
        }
        !self.worker.due.is_empty()
    }

    /// The outside has answered what the worker asked for.
    pub fn async_call_answered(&mut self, answer: InputAnswer) {
        if self.worker.unwanted_answers > 0 {
            self.worker.unwanted_answers -= 1;
            return;
        }
        debug_assert!(self.worker.asking.is_some(), "only what was asked for is answered");
        self.worker.answer = Some(answer);
    }

    /// The worker begins the next call, goes on with one that was answered, or mails what came of one that is over.
    pub fn worker_turn(&mut self, out: &mut Outbox) {
        debug_assert!(self.worker_is_runnable(), "a turn needs a call");
        debug_assert!(self.started, "calls end with their enumerator");
        if let Some((call, result)) = self.worker.running.take() {
            self.worker.returns = false;
            return self.context.mail_async_result(call, result, out);
        }
        let Some(enumerator) = self.enumerator.as_mut() else { return };
        if let (Some(call), Some(answer)) = (self.worker.asking, self.worker.answer.take()) {
            self.worker.asking = None;
            let result = enumerator.async_answered(call, answer);
            return self.ran(call, result, out);
        }
        let Some(call) = self.worker.due.pop_front() else { return };
        self.context.async_call_runs(call, out);
        if let Some(operation) = enumerator.ask_async(call) {
            self.worker.asking = Some(call);
            return out.effect(Effect::AskInput(operation));
        }
        let result = enumerator.run_async(call);
        self.ran(call, result, out);
    }

    /// A call was run: what came of it is mailed, once the time is over that a call takes.
    fn ran(&mut self, call: AsyncCallName, result: Result<Vec<u8>, UserError>, out: &mut Outbox) {
        debug_assert!(!self.worker.is_busy(), "one call at a time");
        if self.worker.call_ns == 0 {
            return self.context.mail_async_result(call, result, out);
        }
        self.worker.running = Some((call, result));
        out.set_timer(Timer::AsyncCallReturns, self.worker.call_ns);
    }
}
