//! The receiving end of one stream.

use super::frame::{Delivery, Frame, FrameBody, SessionOutput};
use super::is_gapless;
use super::sequence_set::SequenceSet;
use crate::defects::{Defect, DefectSet};
use crate::ids::ProcessAddress;
use crate::message::{Message, Stream};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A message that waits for an earlier one of its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    sequence: u64,
    cause_sequence: u64,
    message: Arc<Message>,
}

/// Without the cause, as in [`FrameBody`].
impl Hash for Held {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.sequence, &self.message).hash(state);
    }
}

/// What is known of the messages of one stream from one life of a peer.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct IncomingLink {
    pub(super) stream: Stream,
    generation: u32,
    /// Every message below it is dealt with.
    next_sequence: u64,
    /// Messages at or above `next_sequence` that are dealt with; only in unordered streams.
    ahead: SequenceSet,
    /// Messages that were dealt with by refusing them, so that a repeated frame gets the same answer.
    refused: SequenceSet,
    /// In the order of their sequence; only in ordered streams.
    held: VecDeque<Held>,
    /// Whether only the last message is known again.
    forgets: bool,
}

/// The two ends of a link, to address answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) me: ProcessAddress,
    pub(super) peer: ProcessAddress,
}

impl IncomingLink {
    pub(super) fn new(stream: Stream, defects: DefectSet) -> Self {
        Self {
            stream,
            generation: 0,
            next_sequence: 0,
            ahead: SequenceSet::default(),
            refused: SequenceSet::default(),
            held: VecDeque::new(),
            forgets: stream.is_ordered() && defects.has(Defect::OldDuplicateTaken),
        }
    }

    /// Whether a message was dealt with before.
    fn is_known(&self, sequence: u64) -> bool {
        if self.forgets {
            return sequence + 1 == self.next_sequence || self.refused.contains(sequence);
        }
        sequence < self.next_sequence || self.ahead.contains(sequence)
    }

    /// Takes a message: delivers it, refuses it, holds it back, or finds that it is known.
    #[expect(
        clippy::too_many_arguments,
        reason = "the fields of a data frame, taken apart once by the session"
    )]
    pub(super) fn receive(
        &mut self,
        route: Route,
        generation: u32,
        sequence: u64,
        cause_sequence: u64,
        message: Arc<Message>,
        accept: &mut dyn FnMut(&Message) -> bool,
        out: &mut SessionOutput,
    ) {
        debug_assert!(generation > 0, "generations count from 1");
        if generation < self.generation {
            return;
        }
        if generation > self.generation {
            self.begin_generation(generation);
        }
        let arrived = Held { sequence, cause_sequence, message };
        if !self.stream.is_resent() {
            self.receive_newest(route, arrived, accept, out);
        } else if self.is_known(sequence) {
            // The sender has not seen the answer, or the network made two of one.
            self.answer(route, sequence, !self.refused.contains(sequence), out);
        } else if sequence < self.next_sequence {
            debug_assert!(self.forgets, "what was dealt with is known");
            self.settle(route, arrived, accept, out);
        } else if self.stream.is_ordered() {
            self.receive_in_order(route, arrived, accept, out);
        } else {
            self.ahead.insert(sequence);
            while self.ahead.contains(self.next_sequence) {
                self.next_sequence += 1;
            }
            self.settle(route, arrived, accept, out);
        }
        debug_assert!(
            self.held.front().is_none_or(|first| first.sequence > self.next_sequence),
            "a gap is open"
        );
    }

    /// The sender has given the older generation up: what is held back of it counts as lost there.
    fn begin_generation(&mut self, generation: u32) {
        self.generation = generation;
        self.next_sequence = 0;
        self.ahead.clear();
        self.refused.clear();
        self.held.clear();
    }

    /// In a stream that is never resent an overtaken message is as good as lost, so one number is memory enough.
    fn receive_newest(
        &mut self,
        route: Route,
        arrived: Held,
        accept: &mut dyn FnMut(&Message) -> bool,
        out: &mut SessionOutput,
    ) {
        if arrived.sequence < self.next_sequence {
            return;
        }
        self.next_sequence = arrived.sequence + 1;
        if accept(&arrived.message) {
            self.deliver(route, arrived, out);
        }
    }

    fn receive_in_order(
        &mut self,
        route: Route,
        arrived: Held,
        accept: &mut dyn FnMut(&Message) -> bool,
        out: &mut SessionOutput,
    ) {
        debug_assert!(arrived.sequence >= self.next_sequence && self.ahead.is_empty());
        if arrived.sequence > self.next_sequence {
            let index = self.held.partition_point(|held| held.sequence < arrived.sequence);
            if self.held.get(index).is_none_or(|held| held.sequence != arrived.sequence) {
                self.held.insert(index, arrived);
            }
            return;
        }
        self.next_sequence += 1;
        self.settle(route, arrived, accept, out);
        while self.held.front().is_some_and(|first| first.sequence == self.next_sequence) {
            let first = self.held.pop_front().expect("its front was just looked at");
            self.next_sequence += 1;
            self.settle(route, first, accept, out);
        }
    }

    /// Delivers or refuses, and answers. A gapless stream delivers a prefix of what was sent: once a message of it is
    /// refused, so are the later ones.
    fn settle(
        &mut self,
        route: Route,
        arrived: Held,
        accept: &mut dyn FnMut(&Message) -> bool,
        out: &mut SessionOutput,
    ) {
        let cut = is_gapless(self.stream) && !self.refused.is_empty();
        let accepted = !cut && accept(&arrived.message);
        self.answer(route, arrived.sequence, accepted, out);
        if accepted {
            self.deliver(route, arrived, out);
        } else {
            self.refused.insert(arrived.sequence);
        }
    }

    fn deliver(&self, route: Route, arrived: Held, out: &mut SessionOutput) {
        let Held { cause_sequence, message, .. } = arrived;
        out.deliveries.push(Delivery { from: route.peer, stream: self.stream, cause_sequence, message });
    }

    fn answer(&self, route: Route, sequence: u64, accepted: bool, out: &mut SessionOutput) {
        let body = FrameBody::Ack { generation: self.generation, sequence, accepted };
        out.frames.push(Frame { from: route.me, to: route.peer, stream: self.stream, body });
    }
}
