//! B1: memory stays within its bounds. What is bounded has a room each: the hand-over queue between split fetchers and
//! their reader, the events that a gateway keeps back, the assignments that a tracker remembers, and the slots of a task
//! manager.
//!
//! Each room counts by itself, from what the roles did. Only of the tracker's memory it needs the role's own word, as
//! nothing else tells what a role has not forgotten.

mod assignments;
mod blocked_events;
mod hand_over_queues;
mod slots;

use crate::checker::{Checker, Docket, RunSetup};
use crate::code::Code;
use crate::kinds::{Kind, KindSet};
use crate::violation::Violation;
use assignments::Assignments;
use blocked_events::BlockedEvents;
use hand_over_queues::HandOverQueues;
use slots::Slots;
use splitrace_runtime::event::Event;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct BoundedMemory {
    docket: Docket,
    queues: HandOverQueues,
    blocked: BlockedEvents,
    assignments: Assignments,
    slots: Slots,
}

impl BoundedMemory {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self {
            docket: Docket::new(setup, Code::B1),
            queues: HandOverQueues::new(setup),
            blocked: BlockedEvents::new(setup),
            assignments: Assignments::default(),
            slots: Slots::new(setup),
        }
    }
}

impl Checker for BoundedMemory {
    const CODE: Code = Code::B1;
    const READS: KindSet = KindSet::of(&[
        Kind::BatchFetched,
        Kind::BatchHandedOver,
        Kind::BatchTaken,
        Kind::FetcherEnded,
        Kind::TaskEnded,
        Kind::ExecutionGone,
        Kind::ProcessCrashed,
        Kind::OperatorEventBlocked,
        Kind::GatewayOpened,
        Kind::EnumeratorStarted,
        Kind::SplitsAssigned,
        Kind::SplitsGivenBack,
        Kind::AssignmentsFiled,
        Kind::CoordinatorNotified,
        Kind::TaskDeployed,
        Kind::TaskStateChanged,
    ]);

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        let judged = self.queues.read(event)?
            | self.blocked.read(event)?
            | self.assignments.read(event)?
            | self.slots.read(event)?;
        if judged {
            self.docket.judged();
        }
        Ok(())
    }
}
