//! The channels into a task, and what it takes out of them.
//!
//! Elements are put into their channel's queue as they arrive, whatever the task does meanwhile: in Flink the network's
//! thread does it, and the task's thread polls. So they are no mail, and a task that waits for the store gets more of
//! them than its credit allows under no circumstances.

mod overtaking;

use super::barrier_alignment::{BarrierAlignment, BarrierVerdict};
use super::channel_state::OvertakenBuffers;
use crate::actor::Outbox;
use crate::config::NANOS_PER_MILLI;
use crate::defects::DefectSet;
use crate::ids::{CheckpointId, ExecutionAttemptId, LeaderEpoch, SubtaskIndex};
use crate::message::{
    ChannelElement, ChannelPeer, ChannelRequest, CheckpointBarrier, Message, Stream, TaskMessage, Timer,
};
use crate::records::Record;
use crate::task::CommittableMessage;
use std::collections::VecDeque;

/// How long a consumer waits for a channel to open before it asks again (Flink begins with 100 ms).
const OPEN_AGAIN_NS: u64 = 100 * NANOS_PER_MILLI;

/// What one poll of the gate brings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GateEvent {
    /// Nothing that the task must do something about.
    Nothing,
    /// The records of one buffer.
    Records(Vec<Record>),
    /// What one subtask handed on at once.
    Committables(Vec<CommittableMessage>),
    /// A checkpoint was given up, or begins, or one after the other.
    Barrier(BarrierVerdict),
    /// Nothing but barriers comes now.
    EndOfData {
        /// Every producer has read its input to the end: the writer flushes.
        drain: bool,
    },
    /// Every channel has ended.
    EndOfInput,
}

/// One channel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct InputChannel {
    /// `None` where nothing comes any more from the beginning on.
    producer: Option<ChannelPeer>,
    queue: VecDeque<ChannelElement>,
    opened: bool,
    /// The data has ended; drained or not.
    data_ended: Option<bool>,
    ended: bool,
    /// Buffers taken whose credit was not given back yet.
    ungranted: u32,
}

/// Flink's `InputGate` with its `CheckpointedInputGate`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InputGate {
    task: ExecutionAttemptId,
    epoch: LeaderEpoch,
    credit: u32,
    channels: Vec<InputChannel>,
    alignment: BarrierAlignment,
    /// Buffers of the restored checkpoint, which come before anything else.
    restored: VecDeque<(SubtaskIndex, Vec<Record>)>,
    /// What belongs to the state of the checkpoint that has begun and that channels still owe their barrier for.
    captured: OvertakenBuffers,
    /// The channel that is looked at first: none may starve another.
    next: usize,
    told_end_of_data: bool,
    told_end: bool,
}

impl InputGate {
    /// A gate whose channels are not open yet.
    #[must_use]
    pub fn new(
        (task, epoch): (ExecutionAttemptId, LeaderEpoch),
        credit: u32,
        producers: &[Option<ChannelPeer>],
        restored: Option<CheckpointId>,
        defects: DefectSet,
    ) -> Self {
        debug_assert!(credit > 0, "without credit nothing is ever sent");
        let mut alignment = BarrierAlignment::new(producers.len(), restored, defects);
        let mut channels = Vec::with_capacity(producers.len());
        for (index, producer) in producers.iter().enumerate() {
            let ended = producer.is_none();
            if ended {
                let verdict = alignment.channel_ended(index);
                debug_assert_eq!(verdict, BarrierVerdict::default(), "nothing is aligned yet");
            }
            let (queue, ungranted) = (VecDeque::new(), 0);
            let producer = *producer;
            channels.push(InputChannel {
                producer,
                queue,
                opened: ended,
                data_ended: ended.then_some(true),
                ended,
                ungranted,
            });
        }
        let (restored, captured) = (VecDeque::new(), OvertakenBuffers::new());
        let (next, told_end_of_data, told_end) = (0, false, false);
        Self {
            task,
            epoch,
            credit,
            channels,
            alignment,
            restored,
            captured,
            next,
            told_end_of_data,
            told_end,
        }
    }

    /// Asks every producer that has not answered to open its channel; a timer asks again.
    pub fn open(&mut self, outbox: &mut Outbox) {
        let closed = self.channels.iter().filter(|channel| !channel.opened);
        let closed: Vec<ChannelPeer> = closed.filter_map(|channel| channel.producer).collect();
        if closed.is_empty() {
            return;
        }
        for producer in closed {
            let request = ChannelRequest::Open { credit: self.credit };
            self.request(producer, Stream::ChannelOpening(self.task), request, outbox);
        }
        outbox.set_timer(Timer::OpenChannels, OPEN_AGAIN_NS);
    }

    /// Something came through a channel. What another execution than the channel's producer sends is refused.
    pub fn receive(&mut self, producer: ExecutionAttemptId, element: ChannelElement) {
        let is_its = |channel: &&mut InputChannel| {
            channel.producer.is_some_and(|peer| peer.attempt == producer) && !channel.ended
        };
        let Some(channel) = self.channels.iter_mut().find(is_its) else {
            tracing::debug!(task = %self.task, %producer, "not the producer of a channel: refused");
            return;
        };
        if element == ChannelElement::Opened {
            channel.opened = true;
            return;
        }
        if !channel.opened {
            // An execution of a newer leader has the same name and so the same stream, and its first word made what this
            // one's producer had sent before void. Nobody hears either of the two any more.
            tracing::debug!(task = %self.task, %producer, "a word of a channel that is not open: refused");
            return;
        }
        channel.queue.push_back(element);
        let buffers = channel.queue.iter().filter(|element| element.needs_credit()).count();
        debug_assert!(buffers <= self.credit as usize, "{producer} sent more buffers than it has credit for");
    }

    /// Whether a poll would bring something.
    #[must_use]
    pub fn is_available(&self) -> bool {
        !self.restored.is_empty()
            || self.is_end_of_data_due()
            || self.is_end_due()
            || self.next_channel().is_some()
            || self.overtaking().is_some()
    }

    /// Whether every channel has ended, and the task knows.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.told_end
    }

    /// A checkpoint is aborted: channels wait for it no longer.
    pub fn aborted(&mut self, checkpoint: CheckpointId) {
        if self.alignment.aborted(checkpoint) {
            tracing::debug!(task = %self.task, %checkpoint, "alignment given up");
            self.captured.clear();
        }
    }

    /// Takes the next element, from each channel in turn.
    pub fn poll(&mut self, outbox: &mut Outbox) -> GateEvent {
        if let Some((index, behind)) = self.overtaking() {
            return self.overtake(index, behind);
        }
        if let Some((_, records)) = self.restored.pop_front() {
            return GateEvent::Records(records);
        }
        if self.is_end_of_data_due() {
            self.told_end_of_data = true;
            let drain = self.channels.iter().all(|channel| channel.data_ended == Some(true));
            return GateEvent::EndOfData { drain };
        }
        if self.is_end_due() {
            self.told_end = true;
            return GateEvent::EndOfInput;
        }
        let Some(index) = self.next_channel() else { return GateEvent::Nothing };
        self.next = (index + 1) % self.channels.len();
        let channel = &mut self.channels[index];
        match channel.queue.pop_front().expect("a channel that is next has something") {
            ChannelElement::Opened => GateEvent::Nothing,
            ChannelElement::Buffer(records) => {
                debug_assert!(!records.is_empty(), "an empty buffer is not sent");
                if self.alignment.is_captured(index) {
                    let producer = channel.producer.expect("somebody sent the buffer");
                    self.captured.push((producer.attempt.subtask, records.clone()));
                }
                self.give_credit_back(index, outbox);
                GateEvent::Records(records)
            }
            ChannelElement::Committables(messages) => {
                self.give_credit_back(index, outbox);
                GateEvent::Committables(messages)
            }
            ChannelElement::Barrier(barrier) => GateEvent::Barrier(self.take_barrier(index, barrier)),
            ChannelElement::EndOfData { drain } => {
                channel.data_ended = Some(drain);
                self.tell_producer(index, ChannelRequest::DataTaken, outbox);
                GateEvent::Nothing
            }
            ChannelElement::EndOfPartition => self.end_channel(index),
        }
    }

    fn take_barrier(&mut self, channel: usize, barrier: CheckpointBarrier) -> BarrierVerdict {
        let verdict = self.alignment.barrier(channel, barrier);
        if verdict.given_up.is_some() {
            self.captured.clear();
        }
        verdict
    }

    /// The task is told to begin a checkpoint because all its producers have finished. Their channels may still owe
    /// their end, and nothing else (Flink's `triggerUnfinishedChannelsCheckpoint`).
    pub fn trigger(&mut self, barrier: CheckpointBarrier) -> BarrierVerdict {
        let mut verdict = BarrierVerdict::default();
        for index in 0..self.channels.len() {
            if self.channels[index].ended {
                continue;
            }
            debug_assert!(self.channels[index].data_ended.is_some(), "a finished producer's data was taken");
            let of_channel = self.take_barrier(index, barrier);
            verdict.given_up = verdict.given_up.or(of_channel.given_up);
            verdict.begins = verdict.begins.or(of_channel.begins);
            verdict.aligned = verdict.aligned.or(of_channel.aligned);
        }
        if self.channels.iter().all(|channel| channel.ended) {
            verdict.begins = Some(barrier);
            verdict.aligned = Some(barrier);
        }
        verdict
    }

    fn end_channel(&mut self, index: usize) -> GateEvent {
        let channel = &mut self.channels[index];
        debug_assert!(channel.queue.is_empty(), "nothing comes behind the end");
        channel.ended = true;
        GateEvent::Barrier(self.alignment.channel_ended(index))
    }

    /// Credit goes back in halves of what there is, so that not every buffer costs a message.
    fn give_credit_back(&mut self, index: usize, outbox: &mut Outbox) {
        let channel = &mut self.channels[index];
        channel.ungranted += 1;
        debug_assert!(channel.ungranted <= self.credit, "no more is taken than was sent");
        if channel.ungranted * 2 < self.credit {
            return;
        }
        let request = ChannelRequest::Grant(std::mem::take(&mut channel.ungranted));
        self.tell_producer(index, request, outbox);
    }

    fn tell_producer(&self, index: usize, request: ChannelRequest, outbox: &mut Outbox) {
        let producer = self.channels[index].producer.expect("somebody sent what was taken");
        let stream = Stream::ChannelRequests { from: self.task, to: producer.attempt.subtask };
        self.request(producer, stream, request, outbox);
    }

    fn request(&self, producer: ChannelPeer, stream: Stream, request: ChannelRequest, outbox: &mut Outbox) {
        let message = TaskMessage::ChannelRequest { consumer: self.task, request };
        let message = Message::Task { epoch: self.epoch, attempt: producer.attempt, message };
        outbox.send(producer.address, stream, message);
    }

    fn is_end_of_data_due(&self) -> bool {
        !self.told_end_of_data
            && self.restored.is_empty()
            && self.channels.iter().all(|channel| channel.data_ended.is_some())
    }

    fn is_end_due(&self) -> bool {
        !self.told_end && self.channels.iter().all(|channel| channel.ended)
    }

    fn next_channel(&self) -> Option<usize> {
        let count = self.channels.len();
        (0..count)
            .map(|step| (self.next + step) % count)
            .find(|index| !self.channels[*index].queue.is_empty() && !self.alignment.is_blocked(*index))
    }

    /// What is owed to it, as the end of a sentence; `None` when it owes the next step itself.
    #[must_use]
    pub fn waiting_for(&self) -> Option<String> {
        if let Some(checkpoint) = self.alignment.aligning() {
            return Some(format!("the barrier of {checkpoint} in every channel"));
        }
        let silent = self.channels.iter().find(|channel| !channel.ended)?;
        let producer = silent.producer?.attempt;
        Some(if silent.opened {
            format!("records of {producer}")
        } else {
            format!("a channel from {producer}")
        })
    }
}
