//! Healing: faults end, exactly. Whatever a fault holds back is let go as if it had never been held, and nothing that was
//! decided before comes after.
//!
//! It can be exact because truth and faults lie apart: a late frame is noted with the time at which it would have
//! arrived, a stopped process with what came to it meanwhile, and a clock keeps what it is off by, which is no fault any
//! more but the time that it shows.

use super::faults::PlannedFault;
use super::links::Late;
use super::pending::Item;
use super::{TURN_NS, World};
use crate::choices::Choices;
use splitrace_runtime::event::EventKind;

impl World {
    /// Nothing breaks any more.
    pub(super) fn heal(&mut self, choices: &mut dyn Choices) {
        self.healed = true;
        for Late { key, tie, healthy_due_ns } in self.network.heal() {
            if let Some((due_ns, item)) = self.pending.take(key) {
                self.pending.push(due_ns.min(healthy_due_ns.max(self.now_ns)), tie, item);
            }
        }
        for index in 0..self.processes.len() {
            self.wake(index);
            let (now_ns, trip_ns) = (self.now_ns, self.scenario.network.trip_ns());
            let process = &mut self.processes[index];
            process.last_words = None;
            process.crash_armed = false;
            process.clogged_until_ns = 0;
            process.down_until_ns = 0;
            process.clock.stop_drifting(now_ns);
            for (due_ns, _) in &mut process.answers {
                *due_ns = (*due_ns).min(now_ns + trip_ns);
            }
        }
        for slot in 0..self.actors.len() {
            if self.actors[slot].zombie {
                self.apply_planned(PlannedFault::ZombieEnds { slot }, choices);
            }
            self.actors[slot].paused_until_ns = 0;
        }
        let (soon_ns, now_ns) = (self.now_ns + TURN_NS, self.now_ns);
        self.pending.hasten(|item| match item {
            Item::Turn { .. } => Some(soon_ns),
            Item::StartProcess(_) | Item::OutsideCall { delayed: true, .. } => Some(now_ns),
            _ => None,
        });
        self.tell_world(EventKind::Healed);
        debug_assert_eq!(self.stopped_count, 0, "every process goes on");
    }
}
