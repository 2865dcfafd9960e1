//! The worker beside a source coordinator: a thread of its own that runs what the enumerator asked for with
//! `call_async`, one call at a time (Flink's `SourceCoordinator-worker`, a scheduled executor with one thread).
//!
//! It shares the enumerator's memory, as the closures do that Flink runs there, and what comes of a call is mail of the
//! coordinator: between the two anything may happen, a checkpoint, a reset, another run of the same call. So its place
//! in the schedule is its own, and its state lies here. Refused: to run a call in the coordinator's turn. The result
//! would then come before whatever was in the inbox, and an enumerator that is wrong about that would never be found.

use super::SourceCoordinator;
use crate::actor::Outbox;
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
}

impl Worker {
    /// A worker with nothing to run, whose calls take so long.
    pub(super) const fn new(call_ns: u64) -> Self {
        Self { call_ns, due: VecDeque::new(), running: None, returns: false }
    }

    /// Forgets everything; what it runs comes to nothing.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.call_ns);
    }

    /// Whether it is in the middle of a call.
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
        if self.worker.is_busy() { self.worker.returns } else { !self.worker.due.is_empty() }
    }

    /// The worker begins the next call, or mails what came of one that is over.
    pub fn worker_turn(&mut self, out: &mut Outbox) {
        debug_assert!(self.worker_is_runnable(), "a turn needs a call");
        debug_assert!(self.started, "calls end with their enumerator");
        if !self.worker.is_busy() {
            let (Some(call), Some(enumerator)) = (self.worker.due.pop_front(), self.enumerator.as_mut())
            else {
                return;
            };
            self.context.async_call_runs(call, out);
            self.worker.running = Some((call, enumerator.run_async(call)));
            if self.worker.call_ns > 0 {
                out.set_timer(Timer::AsyncCallReturns, self.worker.call_ns);
                return;
            }
        }
        self.worker.returns = false;
        if let Some((call, result)) = self.worker.running.take() {
            self.context.mail_async_result(call, result, out);
        }
    }
}
