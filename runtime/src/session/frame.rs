//! What a session sends and answers: frames, and the buffers that collect them.

use crate::ids::ProcessAddress;
use crate::message::{DeliveryOutcome, DeliveryToken, Message, Stream};
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// One direction of one stream to one life of a peer: what a resend timer belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LinkId {
    /// The receiver.
    pub peer: ProcessAddress,
    /// The stream.
    pub stream: Stream,
}

/// What crosses the network. It may be lost, delayed, duplicated and overtaken.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// The life of the process that sends it.
    pub from: ProcessAddress,
    /// The life of the process that it is for; another life drops it.
    pub to: ProcessAddress,
    /// The stream.
    pub stream: Stream,
    /// The content.
    pub body: FrameBody,
}

/// The content of a frame. Its hash leaves the cause out: that only names causes in headers, and two worlds that differ
/// in nothing else have the same future.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FrameBody {
    /// A message.
    Data {
        /// The stream's generation: a newer one replaces the older for good.
        generation: u32,
        /// Counts from 0 within (sender's life, receiver's life, stream, generation).
        sequence: u64,
        /// How many events the sender's process had emitted when the message was first sent.
        cause_sequence: u64,
        /// The message; its sender shares it until it is answered.
        message: Arc<Message>,
    },
    /// The receiver has dealt with a message.
    Ack {
        /// Of this generation.
        generation: u32,
        /// The message.
        sequence: u64,
        /// Whether it lies in a mailbox now; otherwise its actor does not run there and it was dropped.
        accepted: bool,
    },
    /// The receiver has forgotten the sender's session: generations up to this one are refused from now on.
    Forgotten {
        /// The newest refused generation.
        generation: u32,
    },
}

impl Hash for FrameBody {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Data { generation, sequence, cause_sequence: _, message } => {
                (generation, sequence, message).hash(state);
            }
            Self::Ack { generation, sequence, accepted } => (generation, sequence, accepted).hash(state),
            Self::Forgotten { generation } => generation.hash(state),
        }
    }
}

/// A message for a mailbox of this process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Delivery {
    /// Who sent it.
    pub from: ProcessAddress,
    /// In this stream.
    pub stream: Stream,
    /// How many events the sender's process had emitted when it sent the message.
    pub cause_sequence: u64,
    /// The message.
    pub message: Arc<Message>,
}

/// What a session wants done after a call. The host reuses it: the buffers keep their room.
///
/// The host performs `cancelled_timers` before `timers`; all else is independent of each other.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct SessionOutput {
    /// To put on the network.
    pub frames: Vec<Frame>,
    /// To put into mailboxes, in this order.
    pub deliveries: Vec<Delivery>,
    /// What became of sends that carried a token; each token comes once.
    pub outcomes: Vec<(DeliveryToken, DeliveryOutcome)>,
    /// Call [`Session::resend_due`](super::Session::resend_due) for the link after so many nanoseconds.
    pub timers: Vec<(LinkId, u64)>,
    /// These links' timers must not fire any more.
    pub cancelled_timers: Vec<LinkId>,
    /// Streams that have lost messages, or the certainty of them. Where no token tells the sender, the host does: a
    /// broken stream of a subtask's events fails that task, as Flink's `RpcTaskOperatorEventGateway` does.
    pub broken_links: Vec<LinkId>,
}

impl SessionOutput {
    /// Empties all buffers and keeps their room.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.deliveries.clear();
        self.outcomes.clear();
        self.timers.clear();
        self.cancelled_timers.clear();
        self.broken_links.clear();
    }

    /// Whether nothing is wanted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
            && self.deliveries.is_empty()
            && self.outcomes.is_empty()
            && self.timers.is_empty()
            && self.cancelled_timers.is_empty()
            && self.broken_links.is_empty()
    }

    pub(super) fn end(&mut self, token: Option<DeliveryToken>, outcome: DeliveryOutcome) {
        if let Some(token) = token {
            self.outcomes.push((token, outcome));
        }
    }
}
