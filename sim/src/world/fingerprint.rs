//! Fingerprints: two worlds with equal ones have the same future.
//!
//! In: every role with its mailbox, every session, what is pending, the outside systems, the checkers, the
//! faults that are left. Out, because no step and no verdict reads them: counters of steps, events, timer
//! settings and frames, the trace hash, and what travels along only to name causes in headers. A pending item
//! that would do nothing (a timer that was set anew, a turn of a dead thread, a frame for a life that is over)
//! is no part of a state.
//!
//! Items are hashed each for itself and the hashes sorted, because a set has no order; whose slot it is in is
//! told by the actor, because slots are numbered in the order of their birth.

use super::World;
use super::fingerprinter::Fingerprinter;
use super::pending::Item;
use super::process::ActorBody;
use splitrace_runtime::ids::{ActorId, LeaderEpoch};
use splitrace_runtime::message::CoordinatorMail;
use std::hash::{Hash, Hasher};

impl World {
    /// Feeds everything that later steps and verdicts depend on into `hasher`; time as 'so long from now'.
    pub fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        let pending = self.pending.all().into_iter().filter(|(_, _, item)| !self.does_nothing(item));
        let items = pending.map(|(_, due_ns, item)| self.item_hash(item, due_ns.saturating_sub(self.now_ns)));
        hash_set(items.chain(self.answer_hashes(self.now_ns)).collect(), &mut hasher);
        for actor in &self.actors {
            actor.paused_until_ns.saturating_sub(self.now_ns).hash(&mut hasher);
        }
        for process in &self.processes {
            process.busy_until_ns.saturating_sub(self.now_ns).hash(&mut hasher);
            process.down_until_ns.saturating_sub(self.now_ns).hash(&mut hasher);
            process.clogged_until_ns.saturating_sub(self.now_ns).hash(&mut hasher);
            process.stopped_until_ns.saturating_sub(self.now_ns).hash(&mut hasher);
            for (nth, item) in process.put_aside.iter().enumerate() {
                self.item_hash(item, nth as u64).hash(&mut hasher);
            }
            for (link, due_ns) in &process.session_timers {
                (link, due_ns.saturating_sub(self.now_ns)).hash(&mut hasher);
            }
        }
        self.network.fingerprint(self.now_ns, hasher);
        self.fingerprint_roles(hasher);
    }

    /// As [`Self::fingerprint`] for a search in which time decides nothing: of what is pending only the items
    /// that the search may ever step, whenever they are due.
    pub fn fingerprint_untimed(&self, may_step: &dyn Fn(&Item) -> bool, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        let pending = self.pending.all().into_iter();
        let considered = pending.filter(|(_, _, item)| may_step(item) && !self.does_nothing(item));
        let items = considered.map(|(_, _, item)| self.item_hash(item, 0));
        hash_set(items.chain(self.answer_hashes(u64::MAX)).collect(), &mut hasher);
        self.fingerprint_roles(hasher);
    }

    /// The answers on their way that lie beside the queue, each with how long after `now_ns` it arrives.
    fn answer_hashes(&self, now_ns: u64) -> impl Iterator<Item = u128> {
        self.processes.iter().flat_map(|process| &process.answers).map(move |(due_ns, answer)| {
            let mut hasher = Fingerprinter::new();
            (due_ns.saturating_sub(now_ns), answer).hash(&mut hasher);
            hasher.value()
        })
    }

    fn fingerprint_roles(&self, hasher: &mut dyn Hasher) {
        for process in &self.processes {
            process.fingerprint(hasher);
        }
        for actor in &self.actors {
            actor.fingerprint(hasher);
        }
        self.high_availability.fingerprint(hasher);
        self.store.fingerprint(hasher);
        self.judge.fingerprint(hasher);
        let mut hasher = hasher;
        (self.healed, self.budget, self.resubmission, self.savepoint_after).hash(&mut hasher);
        self.plan.hash(&mut hasher);
    }

    /// Whether stepping the item would change nothing.
    #[must_use]
    pub fn does_nothing(&self, item: &Item) -> bool {
        match item {
            Item::Turn { slot } => {
                let actor = &self.actors[*slot];
                !actor.alive || !self.is_runnable(*slot)
            }
            Item::Timer { slot, timer, setting } => {
                let actor = &self.actors[*slot];
                !actor.alive || !actor.holds_timer(*timer, *setting)
            }
            Item::InputAnswer { slot, .. } => !self.actors[*slot].alive,
            Item::SessionTimer { process, incarnation, setting } => {
                let process = &self.processes[*process];
                !process.alive || process.incarnation != *incarnation || !process.holds_clock(*setting)
            }
            Item::Frame(frame) => {
                let process = &self.processes[super::process::index_of(frame.to.process)];
                // A life that has not begun may still begin.
                process.incarnation > frame.to.incarnation
            }
            _ => false,
        }
    }

    /// The actor whose turn or timer it is, or which is answered, with the epoch that it obeys.
    #[must_use]
    pub fn actor_of(&self, item: &Item) -> Option<(ActorId, LeaderEpoch)> {
        match item {
            Item::Turn { slot } | Item::Timer { slot, .. } | Item::InputAnswer { slot, .. } => {
                Some((self.actors[*slot].id, self.actors[*slot].epoch))
            }
            _ => None,
        }
    }

    /// What a coordinator handles in its next turn; nothing for other items.
    #[must_use]
    pub fn coordinator_mail_of(&self, item: &Item) -> Option<&CoordinatorMail> {
        match item {
            Item::Turn { slot } => match &self.actors[*slot].body {
                ActorBody::Coordinator(coordinator) => coordinator.next_mail(),
                _ => None,
            },
            _ => None,
        }
    }

    fn item_hash(&self, item: &Item, due_in_ns: u64) -> u128 {
        let mut hasher = Fingerprinter::new();
        due_in_ns.hash(&mut hasher);
        std::mem::discriminant(item).hash(&mut hasher);
        match item {
            Item::Turn { .. } => self.actor_of(item).hash(&mut hasher),
            Item::Timer { timer, .. } => (self.actor_of(item), timer).hash(&mut hasher),
            Item::InputAnswer { answer, .. } => (self.actor_of(item), answer).hash(&mut hasher),
            Item::SessionTimer { process, incarnation, .. } => (process, incarnation).hash(&mut hasher),
            Item::OutsideCall { process, from, message, delayed, .. } => {
                (process, from, message, delayed).hash(&mut hasher);
            }
            Item::Frame(_)
            | Item::ClientGone { .. }
            | Item::StartProcess(_)
            | Item::Fault(_)
            | Item::CancelJob
            | Item::SubmitJob
            | Item::Savepoint
            | Item::Heal => {
                item.hash(&mut hasher);
            }
        }
        hasher.value()
    }
}

fn hash_set(mut items: Vec<u128>, hasher: &mut dyn Hasher) {
    let mut hasher = hasher;
    items.sort_unstable();
    items.hash(&mut hasher);
}
