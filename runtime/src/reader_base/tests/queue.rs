//! As `FutureCompletingBlockingQueueTest`.

use super::super::{HandOverQueue, PutOutcome};
use crate::ids::FetcherNumber;
use proptest::prelude::*;
use std::collections::VecDeque;

const A: FetcherNumber = FetcherNumber(0);
const B: FetcherNumber = FetcherNumber(1);

#[test]
fn first_in_first_out_and_available_while_there_is_something() {
    let mut queue = HandOverQueue::new(2);
    assert!(!queue.is_available() && queue.poll().is_none());
    assert_eq!((queue.put(A, 1), queue.put(A, 2)), (PutOutcome::Done, PutOutcome::Done));
    assert!(queue.is_available());
    assert_eq!((queue.poll(), queue.is_available()), (Some(1), true));
    assert_eq!((queue.poll(), queue.is_available()), (Some(2), false));
}

#[test]
fn a_notice_makes_an_empty_queue_available_until_somebody_looks() {
    let mut queue: HandOverQueue<u32> = HandOverQueue::new(2);
    queue.notify_available();
    assert!(queue.is_available());
    assert_eq!((queue.poll(), queue.is_available()), (None, false));
}

#[test]
fn a_full_queue_makes_putters_wait_in_line() {
    let mut queue = HandOverQueue::new(1);
    assert_eq!(queue.put(A, 1), PutOutcome::Done);
    assert_eq!((queue.put(A, 2), queue.put(B, 3)), (PutOutcome::Full(2), PutOutcome::Full(3)));
    assert!(!queue.lets_try(A) && !queue.lets_try(B));
    queue.poll();
    assert!(queue.lets_try(A) && !queue.lets_try(B), "one place, one in line");
    assert_eq!(queue.put(A, 2), PutOutcome::Done);
    assert!(!queue.lets_try(A) && !queue.lets_try(B));
    queue.poll();
    assert_eq!(queue.put(B, 3), PutOutcome::Done);
}

#[test]
fn a_woken_putter_gives_up_and_keeps_its_element() {
    let mut queue = HandOverQueue::new(1);
    queue.put(A, 1);
    assert_eq!(queue.put(B, 2), PutOutcome::Full(2));
    queue.wake_up_putter(B);
    assert!(queue.lets_try(B));
    assert_eq!(queue.put(B, 2), PutOutcome::Woken(2));
    assert!(!queue.lets_try(B), "a wake-up is used up");
    assert_eq!(queue.len(), 1);
}

#[test]
fn a_putter_that_is_gone_gives_its_turn_to_the_next() {
    let mut queue = HandOverQueue::new(1);
    queue.put(A, 1);
    queue.put(A, 2);
    queue.put(B, 3);
    queue.poll();
    queue.forget(A);
    assert!(queue.lets_try(B));
}

#[test]
#[should_panic(expected = "room for one element")]
fn a_queue_has_room() {
    let _ = HandOverQueue::<u32>::new(0);
}

/// Three putters, each with an element that it could not put yet, and whether it waits in line for room.
#[derive(Default)]
struct Putters {
    holding: [Option<u32>; 3],
    in_line: [bool; 3],
    made: u32,
}

impl Putters {
    /// A putter that may go on does so; answers the element that the queue took.
    fn go_on(&mut self, at: usize, queue: &mut HandOverQueue<u32>) -> Option<u32> {
        let fetcher = FetcherNumber(at as u32);
        if self.in_line[at] && !queue.lets_try(fetcher) {
            return None;
        }
        let element = self.holding[at].take().unwrap_or_else(|| {
            self.made += 1;
            self.made
        });
        let outcome = queue.put(fetcher, element);
        self.in_line[at] = matches!(outcome, PutOutcome::Full(_));
        match outcome {
            PutOutcome::Done => Some(element),
            PutOutcome::Full(kept) | PutOutcome::Woken(kept) => {
                assert_eq!((kept, queue.len()), (element, queue.capacity()));
                self.holding[at] = Some(kept);
                None
            }
        }
    }
}

proptest! {
    /// Against a plain list: order, bound, and nobody waits for ever as long as somebody takes.
    #[test]
    fn it_is_a_bounded_list(capacity in 1u32..4, ops in prop::collection::vec((0u8..3, 0usize..3), 1..80)) {
        let (mut queue, mut plain) = (HandOverQueue::new(capacity), VecDeque::new());
        let mut putters = Putters::default();
        for (op, putter) in ops {
            match op {
                0 => prop_assert_eq!(queue.poll(), plain.pop_front()),
                1 => plain.extend(putters.go_on(putter, &mut queue)),
                _ if putters.in_line[putter] => queue.wake_up_putter(FetcherNumber(putter as u32)),
                _ => {}
            }
            prop_assert_eq!(queue.len(), plain.len());
            prop_assert!(queue.len() <= capacity as usize);
            prop_assert!(queue.is_available() || plain.is_empty());
        }
        for _ in 0..20 {
            queue.poll();
            for putter in 0..3 {
                if putters.holding[putter].is_some() {
                    putters.go_on(putter, &mut queue);
                }
            }
        }
        prop_assert_eq!(putters.holding, [None; 3]);
    }
}
