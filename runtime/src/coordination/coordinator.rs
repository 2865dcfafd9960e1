//! A coordinator as an actor: one inbox, and behind it the coordinator of a source or of an operator that is no source.

use super::event_coordinator::EventCoordinator;
use super::source_coordinator::SourceCoordinator;
use crate::actor::{Actor, Outbox, TurnDecision};
use crate::api::input_io::InputAnswer;
use crate::ids::OperatorUid;
use crate::message::{CoordinatorMail, SharedJobConfig, Timer};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// What a coordinator does with its mail.
#[derive(Clone, Debug, Hash)]
enum Role {
    Source(Box<SourceCoordinator>),
    Events(EventCoordinator),
}

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Coordinator {
    mailbox: VecDeque<CoordinatorMail>,
    role: Role,
}

impl Coordinator {
    /// The coordinator of an operator of the job, waiting for its `Start`.
    ///
    /// # Panics
    /// When the job has no such operator.
    #[must_use]
    pub fn new(config: SharedJobConfig, operator: OperatorUid) -> Self {
        let vertex = super::vertex_of(&config, operator);
        let role = match vertex.coordinated {
            Some(coordinated) if coordinated.operator == operator => {
                Role::Events(EventCoordinator::new(coordinated, vertex.parallelism))
            }
            _ => Role::Source(Box::new(SourceCoordinator::new(&config, operator))),
        };
        Self { mailbox: VecDeque::new(), role }
    }

    /// The mail that its next turn handles, for a search that looks ahead.
    #[must_use]
    pub fn next_mail(&self) -> Option<&CoordinatorMail> {
        self.mailbox.front()
    }

    /// Whether the worker beside it has something to run.
    #[must_use]
    pub fn worker_is_runnable(&self) -> bool {
        matches!(&self.role, Role::Source(source) if source.worker_is_runnable())
    }

    /// One turn of the worker's thread; what it sets a timer for is the coordinator's.
    pub fn worker_turn(&mut self, outbox: &mut Outbox) {
        debug_assert!(self.worker_is_runnable(), "a turn needs a call");
        if let Role::Source(source) = &mut self.role {
            source.worker_turn(outbox);
        }
    }

    /// The outside has answered what the worker asked for.
    pub fn worker_answered(&mut self, answer: InputAnswer) {
        if let Role::Source(source) = &mut self.role {
            source.async_call_answered(answer);
        }
    }

    /// How many assignments its tracker remembers, for bounds on memory; 0 without a tracker.
    #[must_use]
    pub fn tracked_split_count(&self) -> usize {
        match &self.role {
            Role::Source(source) => source.tracked_split_count(),
            Role::Events(_) => 0,
        }
    }
}

impl Actor for Coordinator {
    type Mail = CoordinatorMail;

    fn enqueue(&mut self, mail: CoordinatorMail) {
        // Some timers are the worker's, which waits for nobody.
        match (&mail, &mut self.role) {
            (CoordinatorMail::Timer(Timer::AsyncCall(call)), Role::Source(source)) => {
                return source.async_call_due(*call);
            }
            (CoordinatorMail::Timer(Timer::AsyncCallReturns), Role::Source(source)) => {
                return source.async_call_returns();
            }
            _ => {}
        }
        // A new generation closes the old one, and what is in its inbox is not handled any more (FACT 50).
        if matches!(mail, CoordinatorMail::Start { .. }) {
            self.mailbox.clear();
        }
        self.mailbox.push_back(mail);
    }

    fn is_runnable(&self) -> bool {
        !self.mailbox.is_empty()
    }

    fn turn(&mut self, decision: TurnDecision, outbox: &mut Outbox) {
        debug_assert!(decision.batch_size_max > 0);
        debug_assert!(self.is_runnable(), "a turn needs mail");
        let Some(mail) = self.mailbox.pop_front() else { return };
        match &mut self.role {
            Role::Source(source) => source.handle(mail, outbox),
            Role::Events(events) => events.handle(mail, outbox),
        }
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.hash(&mut hasher);
    }
}

#[cfg(test)]
mod tests;
