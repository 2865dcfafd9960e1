//! The sending end of one stream.

use super::frame::{Frame, FrameBody, LinkId, SessionOutput};
use super::incoming::Route;
use super::{SessionConfig, is_gapless};
use crate::ids::LeaderEpoch;
use crate::message::{
    ChannelElement, DeliveryOutcome, DeliveryToken, ExecutionState, JobManagerMessage, Message, Stream,
    TaskMessage,
};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How often the resend interval doubles at most.
const BACKOFF_DOUBLINGS_MAX: u32 = 3;

/// A message without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outstanding {
    sequence: u64,
    cause_sequence: u64,
    message: Arc<Message>,
    token: Option<DeliveryToken>,
    /// How often it was sent while the timer ran for its whole interval; 0 when it went out in the middle of one.
    intervals: u32,
}

/// Without the cause, as in [`FrameBody`].
impl Hash for Outstanding {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.sequence, &self.message, self.token, self.intervals).hash(state);
    }
}

/// What was sent in one stream to one life of a peer.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct OutgoingLink {
    pub(super) stream: Stream,
    pub(super) generation: u32,
    /// The newest leader epoch that a message named.
    pub(super) epoch: LeaderEpoch,
    next_sequence: u64,
    /// In the order of their sequence.
    outstanding: VecDeque<Outstanding>,
    timer_armed: bool,
    /// A gapless stream that lost a message: nothing goes out any more in this generation.
    broken: bool,
}

impl OutgoingLink {
    pub(super) fn new(stream: Stream, generation: u32, epoch: LeaderEpoch) -> Self {
        debug_assert!(generation > 0, "generations count from 1");
        Self {
            stream,
            generation,
            epoch,
            next_sequence: 0,
            outstanding: VecDeque::new(),
            timer_armed: false,
            broken: false,
        }
    }

    /// Whether a generation has begun to be used.
    pub(super) fn is_used(&self) -> bool {
        self.next_sequence > 0 || self.broken
    }

    /// How many messages have no answer.
    pub(super) fn outstanding_count(&self) -> usize {
        self.outstanding.len()
    }

    pub(super) fn send(
        &mut self,
        route: Route,
        config: &SessionConfig,
        cause_sequence: u64,
        message: Message,
        token: Option<DeliveryToken>,
        out: &mut SessionOutput,
    ) {
        if self.broken {
            out.end(token, DeliveryOutcome::Unknown);
            return;
        }
        let message = Arc::new(message);
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        if self.stream.is_resent() {
            let intervals = u32::from(!self.timer_armed);
            let kept =
                Outstanding { sequence, cause_sequence, message: Arc::clone(&message), token, intervals };
            self.outstanding.push_back(kept);
            if !self.timer_armed {
                self.timer_armed = true;
                out.timers.push((self.link_id(route), config.resend_after_ns));
            }
        } else {
            out.end(token, DeliveryOutcome::Unknown);
        }
        out.frames.push(self.frame(route, sequence, cause_sequence, message));
    }

    /// An answer: it ends the send, unless another answer or the budget has ended it.
    pub(super) fn acknowledge(
        &mut self,
        route: Route,
        generation: u32,
        sequence: u64,
        accepted: bool,
        out: &mut SessionOutput,
    ) {
        if generation != self.generation {
            return;
        }
        debug_assert!(sequence < self.next_sequence, "only what was sent is answered");
        let index = match self.outstanding.front() {
            Some(first) if first.sequence == sequence => 0,
            _ => match self.outstanding.binary_search_by_key(&sequence, |sent| sent.sequence) {
                Ok(index) => index,
                Err(_) => return,
            },
        };
        let sent = self.outstanding.remove(index).expect("the index was just found");
        out.end(
            sent.token,
            if accepted { DeliveryOutcome::Delivered } else { DeliveryOutcome::NotDelivered },
        );
        if !accepted && is_gapless(self.stream) {
            out.broken_links.push(self.link_id(route));
        }
    }

    /// Whether it is sent until it is answered or the peer is given up, whatever the budget: what a task manager reports of
    /// its tasks, the events of a task up to its FINISHED, and a channel up to its end. Nobody asks for these and nobody is
    /// left to fail when they are lost, so the job master would take the task for running for ever, or a consumer would
    /// wait for ever. (Flink finds such tasks by a report of running executions in each heartbeat; one reliable stream is
    /// less than a second opinion.)
    fn must_arrive(&self) -> bool {
        let is_finished = |message: &Message| {
            matches!(
                message,
                Message::JobManager {
                    message: JobManagerMessage::TaskStateChanged { state: ExecutionState::Finished, .. },
                    ..
                }
            )
        };
        let is_end = |message: &Message| match message {
            Message::Task { message: TaskMessage::Channel { element, .. }, .. } => {
                *element == ChannelElement::EndOfPartition
            }
            _ => false,
        };
        let last = self.outstanding.back();
        match self.stream {
            Stream::TaskManager => true,
            Stream::SubtaskEvents(_) => last.is_some_and(|sent| is_finished(&sent.message)),
            Stream::Channel { .. } => last.is_some_and(|sent| is_end(&sent.message)),
            _ => false,
        }
    }

    /// The timer fired: sends again what has waited for a whole interval. Answers whether the stream must be broken
    /// because its oldest message has used its budget up.
    pub(super) fn resend_due(
        &mut self,
        route: Route,
        config: &SessionConfig,
        out: &mut SessionOutput,
    ) -> bool {
        debug_assert!(self.timer_armed, "a timer that was not set does not fire");
        self.timer_armed = false;
        let has_budget = !self.must_arrive();
        let spent = |sent: &Outstanding| has_budget && sent.intervals > config.resend_max;
        if self.stream.is_ordered() {
            if self.outstanding.front().is_some_and(spent) {
                return true;
            }
        } else {
            self.outstanding.retain(|sent| {
                if spent(sent) {
                    out.end(sent.token, DeliveryOutcome::Unknown);
                }
                !spent(sent)
            });
        }
        let Some(oldest) = self.outstanding.front() else {
            return false;
        };
        let doublings = oldest.intervals.min(BACKOFF_DOUBLINGS_MAX);
        for index in 0..self.outstanding.len() {
            let sent = &mut self.outstanding[index];
            sent.intervals += 1;
            if sent.intervals > 1 {
                let (sequence, cause_sequence, message) =
                    (sent.sequence, sent.cause_sequence, Arc::clone(&sent.message));
                out.frames.push(self.frame(route, sequence, cause_sequence, message));
            }
        }
        self.timer_armed = true;
        out.timers.push((self.link_id(route), config.resend_after_ns << doublings));
        false
    }

    /// Ends all that is outstanding as unknown, and begins `generation`. `broken` closes it to later sends.
    pub(super) fn begin_generation(
        &mut self,
        route: Route,
        generation: u32,
        broken: bool,
        out: &mut SessionOutput,
    ) {
        debug_assert!(generation > self.generation, "the receiver refuses older generations");
        debug_assert!(
            !broken || is_gapless(self.stream),
            "only a stream that must not have gaps stays broken"
        );
        self.abandon(route, out);
        self.generation = generation;
        self.next_sequence = 0;
        self.broken = broken;
    }

    /// Ends all that is outstanding as unknown.
    pub(super) fn abandon(&mut self, route: Route, out: &mut SessionOutput) {
        for sent in self.outstanding.drain(..) {
            out.end(sent.token, DeliveryOutcome::Unknown);
        }
        if self.timer_armed {
            self.timer_armed = false;
            out.cancelled_timers.push(self.link_id(route));
        }
    }

    /// Takes the timer back if nothing is unanswered; answers whether none runs any more.
    pub(super) fn stop_idle_timer(&mut self) -> bool {
        if self.outstanding.is_empty() {
            self.timer_armed = false;
        }
        debug_assert!(self.timer_armed || self.outstanding.is_empty(), "what is unanswered has a timer");
        !self.timer_armed
    }

    pub(super) fn is_timer_armed(&self) -> bool {
        self.timer_armed
    }

    fn link_id(&self, route: Route) -> LinkId {
        LinkId { peer: route.peer, stream: self.stream }
    }

    fn frame(&self, route: Route, sequence: u64, cause_sequence: u64, message: Arc<Message>) -> Frame {
        let body = FrameBody::Data { generation: self.generation, sequence, cause_sequence, message };
        Frame { from: route.me, to: route.peer, stream: self.stream, body }
    }
}
