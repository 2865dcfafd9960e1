//! Telling events: the header, the judge, and what a window that opens may bring.

use super::World;
use super::faults::opened_window;
use super::process::{ActorBody, index_of};
use splitrace_runtime::event::{Cause, Event, EventKind, FaultKind, Header, SCHEMA_VERSION, Window};
use splitrace_runtime::ids::{ActorId, ExecutionAttemptId, LeaderEpoch, ProcessId};

/// A window that an event opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub window: Option<Window>,
    pub attempt: Option<ExecutionAttemptId>,
    /// Whether the event also begins a failover.
    pub failover: bool,
}

impl World {
    /// Tells an event of an actor; answers what it opened.
    pub(super) fn tell(
        &mut self,
        process: usize,
        actor: ActorId,
        leader_epoch: LeaderEpoch,
        kind: EventKind,
    ) -> Option<Opened> {
        let from = &mut self.processes[process];
        let header = Header {
            schema_version: SCHEMA_VERSION,
            job: self.job.job,
            lineage: self.job.lineage,
            leader_epoch,
            process: from.id,
            sequence: from.events_emitted,
            causes: std::mem::take(&mut from.causes),
            actor,
            virtual_time_ns: self.now_ns,
            local_time_ns: self.now_ns + from.clock_offset_ns,
        };
        from.events_emitted += 1;
        let job = &self.job;
        let opened = opened_window(&kind, actor, |split| {
            let vertex = job.vertices.iter().find(|vertex| vertex.operator == split.operator);
            vertex.map_or(u64::MAX, |vertex| {
                u64::from(split.index + 1).saturating_mul(vertex.source.records_per_split)
            })
        });
        let failover = matches!(kind, EventKind::FailoverStarted { .. });
        let mut event = Event { header, kind };
        tracing::debug!(
            virtual_time_ns = self.now_ns,
            process = %event.header.process,
            actor = %actor,
            event = ?event.kind,
        );
        self.judging = true;
        self.judge.observe(&event);
        self.judging = false;
        match &mut self.observed {
            Some(observed) => observed.push(event),
            None => {
                // The list's room is used again: most events have one or two causes.
                let mut causes = std::mem::take(&mut event.header.causes);
                causes.clear();
                self.processes[process].causes = causes;
            }
        }
        match opened {
            Some((window, attempt)) => Some(Opened { window: Some(window), attempt, failover }),
            None if failover => Some(Opened { window: None, attempt: None, failover }),
            None => None,
        }
    }

    /// The epoch that an actor obeys.
    pub(super) fn epoch_of(&self, slot: usize) -> LeaderEpoch {
        match &self.actors[slot].body {
            ActorBody::Main(main) => main.epoch(),
            _ => self.actors[slot].epoch,
        }
    }

    /// Tells an event of the world around. Its process is the high-availability service's only in name: the world has
    /// no process, and the order of its events among others is that of the process they are about.
    pub(super) fn tell_world(&mut self, kind: EventKind) {
        let about = match &kind {
            EventKind::ProcessStarted { address } | EventKind::ProcessCrashed { address } => address.process,
            _ => ProcessId::HighAvailability,
        };
        self.tell(index_of(about), ActorId::World, LeaderEpoch(0), kind);
    }

    /// Tells an event of the world that concerns one process.
    pub(super) fn tell_world_about(&mut self, process: usize, kind: EventKind) {
        self.tell(process, ActorId::World, LeaderEpoch(0), kind);
    }

    /// Tells that something was broken.
    pub(super) fn tell_fault(&mut self, fault: FaultKind, window: Option<Window>) {
        tracing::debug!(?fault, ?window, now_ns = self.now_ns, "fault");
        self.tell_world(EventKind::FaultInjected { fault, window });
    }

    /// Notes that a process has heard of what another had told by then.
    pub(super) fn note_cause(&mut self, process: usize, from: ProcessId, sequence: u64) {
        if from == self.processes[process].id || sequence == 0 {
            return;
        }
        let causes = &mut self.processes[process].causes;
        match causes.iter_mut().find(|cause| cause.process == from) {
            Some(cause) => cause.sequence = cause.sequence.max(sequence),
            None => causes.push(Cause { process: from, sequence }),
        }
    }
}
