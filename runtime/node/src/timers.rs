//! The timers of one process: a short list in no order, because there are few and most are replaced before they fire.

use splitrace_runtime::message::Timer;
use splitrace_runtime::session::LinkId;

/// Whose timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerOwner {
    /// Of the actor with this number in its process.
    Actor(u64, Timer),
    /// Of a link of the session.
    Link(LinkId),
}

#[derive(Clone, Copy, Debug)]
struct Set {
    due_ns: u64,
    setting: u64,
    owner: TimerOwner,
}

/// All timers of one life of a process.
#[derive(Debug, Default)]
pub struct Timers {
    set: Vec<Set>,
    settings: u64,
}

impl Timers {
    /// Sets a timer; an earlier setting of it is forgotten.
    pub fn set(&mut self, owner: TimerOwner, due_ns: u64) {
        self.cancel(owner);
        self.settings += 1;
        self.set.push(Set { due_ns, setting: self.settings, owner });
    }

    /// Forgets a timer.
    pub fn cancel(&mut self, owner: TimerOwner) {
        self.set.retain(|set| set.owner != owner);
    }

    /// Forgets all timers of an actor.
    pub fn cancel_actor(&mut self, number: u64) {
        self.set.retain(|set| !matches!(set.owner, TimerOwner::Actor(owner, _) if owner == number));
    }

    /// Takes the earliest timer that is due, ties by the order of their settings.
    pub fn take_due(&mut self, now_ns: u64) -> Option<TimerOwner> {
        let due = self.set.iter().enumerate().filter(|(_, set)| set.due_ns <= now_ns);
        let (index, _) = due.min_by_key(|(_, set)| (set.due_ns, set.setting))?;
        Some(self.set.swap_remove(index).owner)
    }

    /// When the next one is due.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.set.iter().map(|set| set.due_ns).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_set_anew_fires_once_at_its_newest_time() {
        let mut timers = Timers::default();
        let heartbeat = TimerOwner::Actor(1, Timer::Heartbeat);
        let wake = TimerOwner::Actor(2, Timer::ReaderWake);
        timers.set(heartbeat, 10);
        timers.set(wake, 20);
        timers.set(heartbeat, 30);
        assert_eq!(timers.take_due(15), None);
        assert_eq!(timers.next_due_ns(), Some(20));
        assert_eq!(timers.take_due(40), Some(wake));
        assert_eq!(timers.take_due(40), Some(heartbeat));
        assert_eq!(timers.take_due(40), None);
    }

    #[test]
    fn the_timers_of_an_actor_go_with_it() {
        let mut timers = Timers::default();
        timers.set(TimerOwner::Actor(1, Timer::Heartbeat), 10);
        timers.set(TimerOwner::Actor(2, Timer::Heartbeat), 11);
        timers.cancel_actor(1);
        assert_eq!(timers.take_due(99), Some(TimerOwner::Actor(2, Timer::Heartbeat)));
        assert_eq!(timers.next_due_ns(), None);
    }
}
