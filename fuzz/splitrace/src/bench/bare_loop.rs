//! The bare event loop: what a discrete-event simulation costs before it simulates anything.
//!
//! A binary heap of (time, number), a few actors that pass messages on, a ChaCha8 latency for each. The
//! simulator's events per second are told beside this loop's, measured in the same process at the same time,
//! because a ratio survives a busy machine and an absolute number does not.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many actors exchange messages.
const ACTORS: usize = 8;

/// How many messages are under way.
const IN_FLIGHT: u64 = 32;

/// One delivery: due time in nanoseconds, number (ties keep their order), receiver.
type Delivery = Reverse<(u64, u64, usize)>;

/// The loop's whole state.
#[derive(Clone, Debug)]
pub struct BareLoop {
    queue: BinaryHeap<Delivery>,
    handled: [u64; ACTORS],
    numbered: u64,
    random: ChaCha8Rng,
}

impl BareLoop {
    /// A loop whose actors have just begun to talk.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let queue = (0..IN_FLIGHT).map(|number| Reverse((number, number, (number % 8) as usize))).collect();
        Self { queue, handled: [0; ACTORS], numbered: IN_FLIGHT, random: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// Handles `count` events.
    ///
    /// # Panics
    /// Never: each event handled puts one back.
    pub fn run(&mut self, count: u64) {
        for _ in 0..count {
            let Reverse((now_ns, _, actor)) = self.queue.pop().expect("each event handled puts one back");
            self.handled[actor] += 1;
            let raw = self.random.next_u64();
            let latency_ns = 1 + (raw & 0xf_ffff);
            let to = (actor + 1 + (raw >> 61) as usize) % ACTORS;
            self.queue.push(Reverse((now_ns + latency_ns, self.numbered, to)));
            self.numbered += 1;
        }
        debug_assert!(self.queue.len() as u64 == IN_FLIGHT, "the number of messages under way is constant");
    }

    /// How many events were handled.
    #[must_use]
    pub fn handled(&self) -> u64 {
        self.handled.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_handles_exactly_what_it_is_asked_to_and_is_a_function_of_its_seed() {
        let run = |seed| {
            let mut bare = BareLoop::new(seed);
            bare.run(1_000);
            (bare.handled(), bare.handled, bare.queue.into_sorted_vec())
        };
        assert_eq!(run(1).0, 1_000);
        assert_eq!(run(1), run(1));
        assert_ne!(run(1).2, run(2).2);
    }
}
