//! Telling events: the header, the judge, and what a window that opens may bring.
//!
//! **Causes.** What a process heard is attached to its next event. A process that hears, tells nothing and sends on (the
//! main thread that passes 'complete' to the tasks) would cut the thread of causes there, so a send also carries what was
//! heard and not told yet: the number in the frame is how many events the sender had told, and in its upper bits which of
//! the sender's relayed lists goes with it. A list in the frame itself was refused: every frame would pay for the few.

use super::World;
use super::faults::concerned_attempt;
use super::process::{ActorBody, index_of};
use crate::outside::input::topic;
use splitrace_runtime::config::TaskConfig;
use splitrace_runtime::event::{Cause, Event, EventKind, FaultKind, Header, SCHEMA_VERSION, Window};
use splitrace_runtime::ids::{ActorId, ExecutionAttemptId, LeaderEpoch, ProcessId};
use std::rc::Rc;

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
        let mut event = Event {
            header: Header {
                schema_version: SCHEMA_VERSION,
                job: self.job.job,
                lineage: self.job.lineage,
                leader_epoch,
                process: from.id,
                sequence: from.events_emitted,
                causes: std::mem::take(&mut from.causes),
                actor,
                virtual_time_ns: self.now_ns,
                local_time_ns: from.clock.shows_ns(self.now_ns),
            },
            kind,
        };
        from.events_emitted += 1;
        tracing::debug!(
            virtual_time_ns = self.now_ns,
            process = %event.header.process,
            actor = %actor,
            event = ?event.kind,
        );
        self.judging = true;
        let window = self.judge.observe(&event);
        self.judging = false;
        let opened = self.opened_by(&event, window);
        match &mut self.observed {
            Some(observed) => observed.push(event),
            None => {
                // The list's room is used again: most events have one or two causes.
                let mut causes = std::mem::take(&mut event.header.causes);
                causes.clear();
                self.processes[process].causes = causes;
            }
        }
        opened
    }

    /// What an event opened, which few do.
    fn opened_by(&mut self, event: &Event, window: Option<Window>) -> Option<Opened> {
        if matches!(event.kind, EventKind::UserFailure { .. }) {
            self.user_code_failed();
        }
        let failover = matches!(event.kind, EventKind::FailoverStarted { .. });
        if window.is_none() && !failover {
            return None;
        }
        let attempt = concerned_attempt(&event.kind, event.header.actor);
        Some(Opened { window, attempt, failover })
    }

    /// User code threw: as often as it is meant to in the whole job, whichever subtask meets the record.
    fn user_code_failed(&mut self) {
        self.user_failure_count += 1;
        for actor in &mut self.actors {
            if let ActorBody::Task(task) = &mut actor.body
                && is_spent(&task.descriptor().config, self.user_failure_count)
            {
                Rc::make_mut(task).disarm_user_failure();
            }
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

    /// The outside declares which offsets of the topics that the job reads hold no input.
    pub(super) fn tell_what_is_no_input(&mut self) {
        for range in topic::without_input(&self.job) {
            self.tell_world(EventKind::RecordsFiltered { range });
        }
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

    /// What a message that this process sends now is caused by, as one number for its frame.
    pub(super) fn cause_of_send(&mut self, process: usize) -> u64 {
        let from = &mut self.processes[process];
        debug_assert!(from.events_emitted < 1 << RELAYED_SHIFT, "a run tells fewer events");
        if from.causes.is_empty() {
            return from.events_emitted;
        }
        from.relayed.note(&from.causes) << RELAYED_SHIFT | from.events_emitted
    }

    /// Notes that a process has heard of what led to a message; `cause` is [`Self::cause_of_send`]'s answer.
    pub(super) fn note_cause(&mut self, process: usize, from: ProcessId, cause: u64) {
        let relayed = (cause >> RELAYED_SHIFT) as usize;
        self.note_events(process, Cause { process: from, sequence: cause & ((1 << RELAYED_SHIFT) - 1) });
        if relayed > 0 {
            let from = index_of(from);
            for at in self.processes[from].relayed.range(relayed) {
                self.note_events(process, self.processes[from].relayed.at(at));
            }
        }
    }

    fn note_events(&mut self, process: usize, heard: Cause) {
        let to = &mut self.processes[process];
        if heard.process == to.id || heard.sequence == 0 {
            return;
        }
        match to.causes.iter_mut().find(|cause| cause.process == heard.process) {
            Some(cause) => cause.sequence = cause.sequence.max(heard.sequence),
            None => to.causes.push(heard),
        }
    }
}

/// Where the number of a relayed list begins in a frame's cause.
const RELAYED_SHIFT: u32 = 40;

/// Whether planted failures of user code have come as often as they are meant to.
pub(super) fn is_spent(config: &TaskConfig, failures: u32) -> bool {
    let planted = config.user_failure.map(|failure| failure.attempts_below);
    let bound = planted.or(config.checkpoint_failure.map(|failure| failure.attempts_below));
    bound.is_some_and(|bound| bound <= failures)
}
