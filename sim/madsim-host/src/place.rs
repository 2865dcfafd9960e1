//! Where a process runs: a node, whose draws are madsim's, under a court that hears and counts.

use crate::chance;
use crate::court::{HIGH_AVAILABILITY, STORE, Setup};
use splitrace_node::host::{Input, OutsideSystem, Scheduler, Witness};
use splitrace_runtime::actor::{Outbox, TurnDecision};
use splitrace_runtime::api::input_io::{InputAnswer, InputOperation};
use splitrace_runtime::config::NANOS_PER_MILLI;
use splitrace_runtime::event::{EventKind, FaultKind};
use splitrace_runtime::ids::{ActorId, LeaderEpoch, ProcessAddress, ProcessId};
use splitrace_runtime::message::Message;
use splitrace_sim::outside::{HighAvailability, OutsideDecision, Store, input};
use std::sync::Arc;

/// The place of the process with this index.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub setup: Arc<Setup>,
    pub index: usize,
}

impl Witness for Place {
    fn begin_life(&mut self, now_ns: u64) -> ProcessAddress {
        self.setup.court().begin_life(self.index, now_ns)
    }

    fn tell(&mut self, actor: ActorId, epoch: LeaderEpoch, event: EventKind, now_ns: u64) {
        self.setup.court().tell(self.index, actor, epoch, event, now_ns);
    }

    fn note_cause(&mut self, from: ProcessId, sequence: u64) {
        self.setup.court().note_cause(self.index, from, sequence);
    }

    fn events_told(&self) -> u64 {
        self.setup.court().events_emitted(self.index)
    }
}

impl Scheduler for Place {
    fn turn_begins(&mut self) {
        self.setup.court().count_turn();
    }

    fn pick(&mut self, count: usize) -> usize {
        chance::below(count as u64) as usize
    }

    fn turn_decision(&mut self, now_ns: u64) -> TurnDecision {
        let most = u64::from(self.setup.scenario.faults.batch_size_max);
        let batch_size_max = chance::within(1, most) as u32;
        TurnDecision { batch_size_max, processing_time_ms: now_ns / NANOS_PER_MILLI }
    }

    /// An ordered crash falls into this step: the first few outputs happen, the rest never.
    fn dies_in(&mut self, outbox: &mut Outbox, now_ns: u64) -> bool {
        if !self.setup.court().is_crash_armed(self.index) {
            return false;
        }
        let count = outbox.outputs().len() as u64;
        let kept = chance::below(count + 1);
        outbox.cut(kept as usize);
        if kept < count {
            self.setup.court().tell_fault(FaultKind::OutboxCut, now_ns);
        }
        true
    }
}

impl Input for Place {
    fn carry_out(&mut self, operation: &InputOperation, now_ns: u64) -> InputAnswer {
        input::answer(&self.setup.job, operation, now_ns)
    }
}

/// The outside system that the process with this index is, if it is one. Nothing goes wrong with its calls here but on the
/// way.
pub(crate) fn outside_of(setup: &Setup, index: usize) -> Option<Box<dyn OutsideSystem>> {
    let job = Arc::clone(&setup.job);
    match index {
        HIGH_AVAILABILITY => Some(Box::new(Leases(HighAvailability::new(job)))),
        STORE => Some(Box::new(Transactions(Store::new(job.sink, job.defects)))),
        _ => None,
    }
}

#[derive(Debug)]
struct Leases(HighAvailability);

impl OutsideSystem for Leases {
    fn actor(&self) -> ActorId {
        ActorId::HighAvailability
    }

    fn handle(&mut self, from: ProcessAddress, message: Message, _now_ns: u64, outbox: &mut Outbox) {
        self.0.handle(from, message, OutsideDecision::default(), outbox);
    }
}

#[derive(Debug)]
struct Transactions(Store);

impl OutsideSystem for Transactions {
    fn actor(&self) -> ActorId {
        ActorId::Store
    }

    fn handle(&mut self, from: ProcessAddress, message: Message, now_ns: u64, outbox: &mut Outbox) {
        self.0.handle(from, message, OutsideDecision::default(), now_ns, outbox);
    }
}
