//! The leader's term: lease, calls to the high-availability service, and the end of the term.
//!
//! Calls go out one at a time, in the order in which they were made: an add follows the raise of its identifier, and the
//! result follows the last add. A call without an answer is sent again under the same identifier, which the service
//! takes once; after [`CALL_SENDS_MAX`] sends its outcome is unknown, and then the term ends, whatever the call was: the
//! successor reads the store and knows. Identifiers of calls start at `epoch << 32`, so that an answer to an earlier main
//! thread of this process is never taken for one's own.

use super::main_thread::{JobStatus, MainThread};
use crate::actor::{Effect, Outbox};
use crate::defects::Defect;
use crate::event::EventKind;
use crate::ids::{CallId, CheckpointId, LeaderEpoch, ProcessAddress};
use crate::message::{
    CompletedCheckpoint, HighAvailabilityReply, HighAvailabilityRequest, JobResult, Message, Stream, Timer,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// How often a call is sent before its outcome counts as unknown.
pub(super) const CALL_SENDS_MAX: u32 = 2;
/// The lease is asked for again and again, each time after twice the wait, up to a call's time-out shifted by this.
const LEASE_BACKOFF_SHIFT_MAX: u32 = 4;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Call {
    id: CallId,
    request: HighAvailabilityRequest,
    sends: u32,
}

/// Who leads, and what was asked of the high-availability service.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Leadership {
    address: Option<ProcessAddress>,
    epoch: LeaderEpoch,
    timeout_ns: u64,
    lease_call: Option<CallId>,
    next_call: u64,
    calls: VecDeque<Call>,
}

impl Leadership {
    /// Nobody leads yet. A call waits so long for its answer before it is sent again, in nanoseconds.
    pub(super) const fn new(timeout_ns: u64) -> Self {
        debug_assert!(timeout_ns > 0, "an answer takes time");
        let epoch = LeaderEpoch(0);
        Self { address: None, epoch, timeout_ns, lease_call: None, next_call: 0, calls: VecDeque::new() }
    }

    /// The epoch of this term; 0 before there is a lease.
    pub(super) const fn epoch(&self) -> LeaderEpoch {
        self.epoch
    }

    /// Where this job manager is.
    pub(super) fn address(&self) -> ProcessAddress {
        self.address.expect("the process has started")
    }

    /// What the oldest unanswered call is, for reports.
    pub(super) fn waiting_for(&self) -> Option<String> {
        if let Some(call) = self.lease_call {
            return Some(format!("{call}, the lease"));
        }
        let call = self.calls.front()?;
        let what = match &call.request {
            HighAvailabilityRequest::RaiseCounter(checkpoint) => {
                format!("the raise of the counter to {checkpoint}")
            }
            HighAvailabilityRequest::AddCheckpoint(completed) => format!("the add of {}", completed.id),
            HighAvailabilityRequest::PutResult(_) => "the job's result".to_owned(),
            HighAvailabilityRequest::AcquireLease | HighAvailabilityRequest::Subscribe => {
                "the lease".to_owned()
            }
        };
        Some(format!("{}, {what}", call.id))
    }

    fn new_call(&mut self) -> CallId {
        let call = CallId(self.next_call);
        self.next_call += 1;
        call
    }

    fn ask_for_lease(&mut self, out: &mut Outbox) {
        debug_assert_eq!(self.epoch, LeaderEpoch(0), "a main thread leads once");
        // Each ask has its own identifier: a grant counts for the newest asker, so an older answer is void already.
        let call = self.new_call();
        self.lease_call = Some(call);
        send(self.epoch, call, HighAvailabilityRequest::AcquireLease, out);
        let shift = u32::try_from(call.0).unwrap_or(u32::MAX).min(LEASE_BACKOFF_SHIFT_MAX);
        out.set_timer(Timer::HighAvailabilityTimeout(call), self.timeout_ns << shift);
    }

    fn send_front(&mut self, out: &mut Outbox) {
        let epoch = self.epoch;
        let Some(call) = self.calls.front_mut() else { return };
        call.sends += 1;
        debug_assert!(call.sends <= CALL_SENDS_MAX, "{} is sent too often", call.id);
        send(epoch, call.id, call.request.clone(), out);
        out.set_timer(Timer::HighAvailabilityTimeout(call.id), self.timeout_ns);
    }

    /// Takes the oldest call out when this is its answer, and sends the next one.
    fn answered(&mut self, call: CallId, out: &mut Outbox) -> Option<HighAvailabilityRequest> {
        if self.calls.front().is_none_or(|front| front.id != call) {
            return None;
        }
        let answered = self.calls.pop_front()?;
        out.cancel_timer(Timer::HighAvailabilityTimeout(call));
        debug_assert!(answered.sends > 0, "{call} was answered and never sent");
        self.send_front(out);
        Some(answered.request)
    }
}

fn send(epoch: LeaderEpoch, call: CallId, request: HighAvailabilityRequest, out: &mut Outbox) {
    let message = Message::HighAvailability { epoch, call, request };
    out.send(ProcessAddress::HIGH_AVAILABILITY, Stream::HighAvailability, message);
}

impl MainThread {
    pub(super) fn on_process_started(&mut self, address: ProcessAddress, out: &mut Outbox) {
        debug_assert_eq!(self.status, JobStatus::Idle, "a process starts once");
        self.leadership.address = Some(address);
        self.status = JobStatus::AwaitingLease;
        self.leadership.ask_for_lease(out);
    }

    /// Asks the high-availability service for a write, after those that were asked for before.
    pub(super) fn call(&mut self, request: HighAvailabilityRequest, out: &mut Outbox) {
        debug_assert_ne!(self.leadership.epoch, LeaderEpoch(0), "only a leader writes");
        let id = self.leadership.new_call();
        self.leadership.calls.push_back(Call { id, request, sends: 0 });
        if self.leadership.calls.len() == 1 {
            self.leadership.send_front(out);
        }
        debug_assert!(
            self.leadership.calls.front().is_some_and(|call| call.sends > 0),
            "the oldest is under way"
        );
    }

    pub(super) fn on_high_availability_reply(
        &mut self,
        call: CallId,
        reply: HighAvailabilityReply,
        out: &mut Outbox,
    ) {
        match reply {
            HighAvailabilityReply::LeaseGranted { epoch, counter, latest, result } => {
                if self.leadership.lease_call == Some(call) {
                    self.leadership.lease_call = None;
                    out.cancel_timer(Timer::HighAvailabilityTimeout(call));
                    self.on_lease(epoch, counter, latest, result, out);
                }
            }
            HighAvailabilityReply::Applied => {
                if let Some(request) = self.leadership.answered(call, out) {
                    self.on_applied(request, out);
                }
            }
            HighAvailabilityReply::Fenced => {
                if self.leadership.calls.front().is_some_and(|front| front.id == call) {
                    self.end_term(format!("{call} was fenced: there is a newer leader"), out);
                }
            }
        }
    }

    fn on_applied(&mut self, request: HighAvailabilityRequest, out: &mut Outbox) {
        match request {
            HighAvailabilityRequest::RaiseCounter(checkpoint) => self.on_counter_raised(checkpoint, out),
            HighAvailabilityRequest::AddCheckpoint(completed) => self.on_checkpoint_added(completed, out),
            HighAvailabilityRequest::PutResult(result) => self.on_result_stored(result),
            HighAvailabilityRequest::AcquireLease | HighAvailabilityRequest::Subscribe => {
                debug_assert!(false, "neither is a write of a leader");
            }
        }
    }

    pub(super) fn on_high_availability_timeout(&mut self, call: CallId, out: &mut Outbox) {
        if self.leadership.lease_call == Some(call) {
            self.leadership.ask_for_lease(out);
            return;
        }
        let Some(front) = self.leadership.calls.front().filter(|front| front.id == call) else { return };
        if front.sends < CALL_SENDS_MAX {
            self.leadership.send_front(out);
            return;
        }
        if self.config.defects.has(Defect::InDoubtAddTreatedAsAbort)
            && let HighAvailabilityRequest::AddCheckpoint(completed) = &front.request
        {
            let checkpoint = completed.id;
            self.leadership.answered(call, out);
            self.abort_checkpoint(checkpoint, "the add had no answer", out);
            return;
        }
        self.end_term(format!("the outcome of {call} is unknown"), out);
    }

    fn on_lease(
        &mut self,
        epoch: LeaderEpoch,
        counter: CheckpointId,
        latest: Option<Arc<CompletedCheckpoint>>,
        result: Option<JobResult>,
        out: &mut Outbox,
    ) {
        debug_assert!(epoch > LeaderEpoch(0), "epoch 0 is nobody's");
        debug_assert_eq!(self.status, JobStatus::AwaitingLease, "a lease that nobody asked for");
        self.leadership.epoch = epoch;
        self.leadership.next_call = u64::from(epoch.0) << 32;
        if let Some(result) = result {
            self.job_result = Some(result);
            self.status = JobStatus::Over;
            return;
        }
        tracing::debug!(%epoch, latest = ?latest.as_ref().map(|checkpoint| checkpoint.id), "leading");
        self.checkpoints.adopt(counter, latest, self.config.defects);
        self.begin_job(out);
        if self.checkpoints.is_stopped() && self.is_job_active() {
            self.fail_job(self.stopped_and_failed("its leader was lost"), out);
        }
    }

    /// This leader's term is over: nothing is said or done after it.
    pub(super) fn end_term(&mut self, cause: String, out: &mut Outbox) {
        debug_assert_ne!(self.status, JobStatus::TermEnded, "a term ends once");
        tracing::debug!(epoch = %self.leadership.epoch, cause, "the term ended");
        self.status = JobStatus::TermEnded;
        self.mailbox.clear();
        out.effect_with(Effect::EndTerm, EventKind::LeaderTermEnded { cause });
    }
}
