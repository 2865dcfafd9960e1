//! The bare event loop: what a discrete-event simulation costs before it simulates a protocol.
//!
//! It does what any such simulation must: a virtual clock, a network with latency, requests with time-outs and resends,
//! workers that crash and restart, labelled choices (without them no run is replayed or shrunk), and a running hash over
//! all that happens. One coordinator keeps
//! [`LANES_PER_WORKER`] requests in flight to each of [`WORKERS`] workers; a message takes 1 to 100 ms, a request 1 to
//! 5 ms of work, an unanswered one is sent again after 300 ms, and every 2 s one worker crashes and restarts.
//!
//! The world's events per second are told beside this loop's, and this loop's beside those of the same workload on
//! another simulator, each measured in the same process at the same time: a ratio survives a busy machine, an absolute
//! number does not. Counted is the same everywhere: a message that a living process takes, work that is done, a time-out
//! that leads to a resend, a crash, a restart. A timer that fires for nothing is no event. In the world, work is a role
//! step; neither heartbeats nor the session layer's answers count there.
//!
//! Refused: a plainer loop (a heap and a counter), which is three times as fast and simulates nothing that anybody needs;
//! and one generator for all draws, which saves a tenth and gives every new draw another run.

use crate::choices::{ChoiceKind, Choices, Draw, Label, SeedChoices, Subject};
use crate::world::fingerprinter::Fingerprinter;
use splitrace_runtime::ids::ProcessId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hasher;

/// How many workers there are.
pub const WORKERS: usize = 4;
/// How many requests the coordinator keeps in flight to each.
pub const LANES_PER_WORKER: usize = 8;
/// The least latency of a message in nanoseconds.
pub const LATENCY_MIN_NS: u64 = 1_000_000;
/// The greatest.
pub const LATENCY_MAX_NS: u64 = 100_000_000;
/// The least time of the work for a request in nanoseconds.
pub const WORK_MIN_NS: u64 = 1_000_000;
/// The greatest.
pub const WORK_MAX_NS: u64 = 5_000_000;
/// After so many nanoseconds without an answer a request is sent again.
pub const TIMEOUT_NS: u64 = 300_000_000;
/// So often a worker crashes, one after the other.
pub const CRASH_EVERY_NS: u64 = 2_000_000_000;
/// So long it is down.
pub const DOWN_NS: u64 = 50_000_000;

const LANES: usize = WORKERS * LANES_PER_WORKER;

/// What can happen.
#[derive(Clone, Copy, Debug)]
enum Happening {
    /// A request arrives at the lane's worker.
    Request { lane: usize, number: u64 },
    /// The work for it is done.
    Done { lane: usize, number: u64, life: u32 },
    /// The answer arrives at the coordinator.
    Answer { lane: usize, number: u64 },
    /// The coordinator has waited long enough.
    TimeOut { lane: usize, number: u64, sending: u32 },
    /// A worker dies.
    Crash { worker: usize },
    /// It is back.
    Restart { worker: usize },
}

/// A request under way.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    number: u64,
    sending: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    life: u32,
    is_down: bool,
}

/// The loop's whole state.
#[derive(Clone, Debug)]
pub struct BareLoop {
    /// Due time, number (ties keep their order), place in the slab.
    order: BinaryHeap<Reverse<(u64, u64, u32)>>,
    slab: Vec<Happening>,
    free: Vec<u32>,
    lanes: [Lane; LANES],
    workers: [Worker; WORKERS],
    choices: SeedChoices,
    hash: Fingerprinter,
    now_ns: u64,
    numbered: u64,
    requests: u64,
    messages: u64,
    events: u64,
}

impl BareLoop {
    /// A loop whose coordinator has just sent its first requests.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut bare = Self {
            order: BinaryHeap::new(),
            slab: Vec::new(),
            free: Vec::new(),
            lanes: [Lane::default(); LANES],
            workers: [Worker::default(); WORKERS],
            choices: SeedChoices::new(seed),
            hash: Fingerprinter::new(),
            now_ns: 0,
            numbered: 0,
            requests: 0,
            messages: 0,
            events: 0,
        };
        for lane in 0..LANES {
            bare.begin_request(lane);
        }
        bare.push(CRASH_EVERY_NS, Happening::Crash { worker: 0 });
        bare
    }

    /// Handles events until `count` more have happened.
    ///
    /// # Panics
    /// Never: every request that ends begins another.
    pub fn run(&mut self, count: u64) {
        let until = self.events + count;
        while self.events < until {
            let Reverse((due_ns, _, place)) =
                self.order.pop().expect("each request that ends begins another");
            debug_assert!(due_ns >= self.now_ns, "time does not run backwards");
            self.now_ns = due_ns;
            let happening = self.slab[place as usize];
            self.free.push(place);
            if self.happen(happening) {
                self.events += 1;
                self.hash.write_u64(due_ns);
                self.hash.write_u64(self.messages);
            }
        }
        debug_assert!(self.order.len() + self.free.len() == self.slab.len(), "each entry is pending or free");
    }

    /// Events so far: see the module for what counts.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Messages so far that a living process took.
    #[must_use]
    pub const fn messages(&self) -> u64 {
        self.messages
    }

    /// The running hash over all events.
    #[must_use]
    pub const fn trace_hash(&self) -> u128 {
        self.hash.value()
    }

    /// Does one thing; answers whether it changed any state.
    fn happen(&mut self, happening: Happening) -> bool {
        match happening {
            Happening::Request { lane, number } => {
                let worker = self.workers[lane % WORKERS];
                if worker.is_down {
                    return false;
                }
                self.messages += 1;
                let label = Label::new(ChoiceKind::ThreadDelay, Subject::Process(worker_of(lane)));
                let after_ns = self.within(label, WORK_MIN_NS, WORK_MAX_NS);
                self.push(after_ns, Happening::Done { lane, number, life: worker.life });
            }
            Happening::Done { lane, number, life } => {
                if self.workers[lane % WORKERS].life != life {
                    return false;
                }
                let link = Subject::Link(worker_of(lane), ProcessId::JobManager);
                let label = Label::new(ChoiceKind::Latency, link);
                let after_ns = self.within(label, LATENCY_MIN_NS, LATENCY_MAX_NS);
                self.push(after_ns, Happening::Answer { lane, number });
            }
            Happening::Answer { lane, number } => {
                self.messages += 1;
                if self.lanes[lane].number == number {
                    self.begin_request(lane);
                }
            }
            Happening::TimeOut { lane, number, sending } => {
                let current = &mut self.lanes[lane];
                if (current.number, current.sending) != (number, sending) {
                    return false;
                }
                current.sending += 1;
                self.send(lane);
            }
            Happening::Crash { worker } => {
                self.workers[worker].life += 1;
                self.workers[worker].is_down = true;
                self.push(DOWN_NS, Happening::Restart { worker });
                self.push(CRASH_EVERY_NS, Happening::Crash { worker: (worker + 1) % WORKERS });
            }
            Happening::Restart { worker } => self.workers[worker].is_down = false,
        }
        true
    }

    fn begin_request(&mut self, lane: usize) {
        self.requests += 1;
        self.lanes[lane] = Lane { number: self.requests, sending: 0 };
        self.send(lane);
    }

    fn send(&mut self, lane: usize) {
        let Lane { number, sending } = self.lanes[lane];
        let link = Subject::Link(ProcessId::JobManager, worker_of(lane));
        let after_ns = self.within(Label::new(ChoiceKind::Latency, link), LATENCY_MIN_NS, LATENCY_MAX_NS);
        self.push(after_ns, Happening::Request { lane, number });
        self.push(TIMEOUT_NS, Happening::TimeOut { lane, number, sending });
    }

    fn push(&mut self, after_ns: u64, happening: Happening) {
        let place = match self.free.pop() {
            Some(place) => {
                self.slab[place as usize] = happening;
                place
            }
            None => {
                self.slab.push(happening);
                (self.slab.len() - 1) as u32
            }
        };
        self.numbered += 1;
        self.order.push(Reverse((self.now_ns + after_ns, self.numbered, place)));
    }

    fn within(&mut self, label: Label, least: u64, most: u64) -> u64 {
        debug_assert!(least <= most, "a range has a least and a most");
        least + self.choices.choose(label, Draw::Below(most - least + 1))
    }
}

/// The process of a lane's worker.
const fn worker_of(lane: usize) -> ProcessId {
    ProcessId::TaskManager((lane % WORKERS) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_handles_what_it_is_asked_to_and_is_a_function_of_its_seed() {
        let run = |seed| {
            let mut bare = BareLoop::new(seed);
            bare.run(10_000);
            (bare.events(), bare.messages(), bare.trace_hash())
        };
        assert_eq!(run(1).0, 10_000);
        assert_eq!(run(1), run(1));
        assert_ne!(run(1).2, run(2).2);
    }

    #[test]
    fn workers_crash_and_requests_are_sent_again_and_answered_all_the_same() {
        let mut bare = BareLoop::new(3);
        while bare.now_ns < 10 * CRASH_EVERY_NS + DOWN_NS {
            bare.run(1);
        }
        assert!(bare.workers.iter().all(|worker| worker.life >= 2), "each crashed more than once");
        // A round trip takes some 100 ms, so each lane ends about ten requests a second.
        assert!((4_000..10_000).contains(&bare.requests), "{}", bare.requests);
        assert!(bare.messages >= 2 * (bare.requests - LANES as u64), "lost ones were sent again");
        assert!(bare.slab.len() < 1_000, "stale time-outs are used up: {}", bare.slab.len());
    }
}
