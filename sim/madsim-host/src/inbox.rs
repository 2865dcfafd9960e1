//! Where received datagrams wait for the task of a node.
//!
//! Receiving is not cancel-safe in madsim: a receive that loses a `select!` loses its datagram. So receiving has tasks of
//! its own that are never cancelled, and what the node's task may cancel is only the wait for this queue.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

#[derive(Debug, Default)]
struct Queue {
    datagrams: VecDeque<Vec<u8>>,
    waker: Option<Waker>,
}

/// A queue of datagrams with one reader.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbox(Arc<Mutex<Queue>>);

impl Inbox {
    /// Puts a datagram at the end and wakes the reader.
    pub fn put(&self, datagram: Vec<u8>) {
        let waker = {
            let mut queue = self.lock();
            queue.datagrams.push_back(datagram);
            queue.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes the first datagram.
    pub fn take(&self) -> Option<Vec<u8>> {
        self.lock().datagrams.pop_front()
    }

    /// Waits until there is a datagram, and leaves it there.
    pub async fn filled(&self) {
        std::future::poll_fn(|context| {
            let mut queue = self.lock();
            if queue.datagrams.is_empty() {
                queue.waker = Some(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().expect("a run has one thread, and a panic ends it")
    }
}
