//! The bounded queue between fetchers and their reader (Flink's `FutureCompletingBlockingQueue`).
//!
//! A putter that finds it full waits in line. Taking an element lets the first of the line try again; whoever comes in
//! between may still be faster, and then the putter waits once more, at the end of the line.

use crate::ids::FetcherNumber;
use std::collections::VecDeque;

/// What became of a put.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PutOutcome<T> {
    /// The element is in the queue.
    Done,
    /// The queue is full; the putter waits in line with its element.
    Full(T),
    /// The queue is full and the putter was woken up: it keeps its element and looks after other things.
    Woken(T),
}

/// The queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HandOverQueue<T> {
    capacity: usize,
    /// Each with who put it.
    elements: VecDeque<(FetcherNumber, T)>,
    /// Who waits for room, longest first.
    putters: VecDeque<FetcherNumber>,
    /// Who waited and may try again.
    signalled: Vec<FetcherNumber>,
    /// Who is to give up waiting.
    woken: Vec<FetcherNumber>,
    /// Whether the taker is told to look.
    available: bool,
}

impl<T> HandOverQueue<T> {
    /// A queue for `capacity` elements.
    ///
    /// # Panics
    /// When `capacity` is 0: nothing could ever be handed over.
    #[must_use]
    pub fn new(capacity: u32) -> Self {
        assert!(capacity > 0, "a queue has room for one element");
        Self {
            capacity: capacity as usize,
            elements: VecDeque::new(),
            putters: VecDeque::new(),
            signalled: Vec::new(),
            woken: Vec::new(),
            available: false,
        }
    }

    /// Puts an element at the end, or waits in line.
    pub fn put(&mut self, putter: FetcherNumber, element: T) -> PutOutcome<T> {
        self.signalled.retain(|signalled| *signalled != putter);
        if self.elements.len() >= self.capacity {
            if self.take_wake(putter) {
                self.putters.retain(|waiting| *waiting != putter);
                return PutOutcome::Woken(element);
            }
            if !self.putters.contains(&putter) {
                self.putters.push_back(putter);
            }
            return PutOutcome::Full(element);
        }
        self.putters.retain(|waiting| *waiting != putter);
        self.elements.push_back((putter, element));
        self.available = true;
        if self.elements.len() < self.capacity {
            self.signal_next();
        }
        debug_assert!(self.elements.len() <= self.capacity, "the bound holds");
        PutOutcome::Done
    }

    /// Takes the oldest element; what there is none of makes the queue unavailable.
    pub fn poll(&mut self) -> Option<T> {
        let was_full = self.elements.len() >= self.capacity;
        let element = self.elements.pop_front();
        if was_full {
            self.signal_next();
        }
        if self.elements.is_empty() {
            self.available = false;
        }
        debug_assert!(element.is_some() || !self.available, "an empty queue was looked at");
        element.map(|(_, element)| element)
    }

    /// Changes what a putter has put and nobody has taken.
    pub fn change_untaken(&mut self, putter: FetcherNumber, change: impl Fn(&mut T)) {
        self.elements.iter_mut().filter(|(by, _)| *by == putter).for_each(|(_, element)| change(element));
    }

    fn signal_next(&mut self) {
        if let Some(putter) = self.putters.pop_front() {
            self.signalled.push(putter);
        }
    }

    /// Makes the taker look, though there may be no element: something else it must know has happened.
    pub fn notify_available(&mut self) {
        self.available = true;
    }

    /// Makes a waiting putter give up.
    pub fn wake_up_putter(&mut self, putter: FetcherNumber) {
        if !self.woken.contains(&putter) {
            self.woken.push(putter);
        }
    }

    fn take_wake(&mut self, putter: FetcherNumber) -> bool {
        let before = self.woken.len();
        self.woken.retain(|woken| *woken != putter);
        self.woken.len() < before
    }

    /// The putter is gone.
    pub fn forget(&mut self, putter: FetcherNumber) {
        let signalled = self.signalled.contains(&putter);
        self.signalled.retain(|signalled| *signalled != putter);
        self.putters.retain(|waiting| *waiting != putter);
        self.woken.retain(|woken| *woken != putter);
        if signalled && self.elements.len() < self.capacity {
            // The room that it was told of goes to the next in line.
            self.signal_next();
        }
    }

    /// Whether a putter that waits may try again.
    #[must_use]
    pub fn lets_try(&self, putter: FetcherNumber) -> bool {
        self.signalled.contains(&putter) || self.woken.contains(&putter)
    }

    /// Whether the taker is told to look.
    #[must_use]
    pub const fn is_available(&self) -> bool {
        self.available
    }

    /// Whether there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// For how many there is room.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.capacity
    }
}
