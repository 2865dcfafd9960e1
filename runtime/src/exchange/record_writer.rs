//! The channels out of a task: which of them a record takes, or what a writer hands to committers, and what waits for
//! credit.
//!
//! Flink's `RecordWriter` and `ResultPartition` in one. A channel with a backlog suspends the reader, so a backlog is at
//! most what one poll brought, with the barriers behind it. Refused: a pool of buffers that all channels share, as Flink
//! has it; it moves the bound and adds nothing that the protocol could be wrong about.

use super::channel_state::OvertakenBuffers;
use crate::actor::Outbox;
use crate::config::EdgeKind;
use crate::ids::{ExecutionAttemptId, LeaderEpoch};
use crate::message::{
    ChannelElement, ChannelPeer, ChannelRequest, CheckpointBarrier, Message, Stream, TaskMessage,
};
use crate::records::Record;
use crate::task::CommittableMessage;
use std::collections::VecDeque;

/// One channel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct OutputChannel {
    consumer: ChannelPeer,
    opened: bool,
    /// How many buffers may still be sent.
    credit: u32,
    backlog: VecDeque<ChannelElement>,
    /// The consumer has taken everything up to the end of the data.
    data_taken: bool,
}

/// The channels out of a task.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RecordWriter {
    task: ExecutionAttemptId,
    epoch: LeaderEpoch,
    edge: EdgeKind,
    channels: Vec<OutputChannel>,
    /// The channel of the next record, where they are dealt out in turn.
    next: usize,
}

impl RecordWriter {
    /// A writer whose channels nobody has opened. The first record goes to the consumer of the same number, where
    /// records are dealt out in turn; Flink draws it.
    #[must_use]
    pub fn new(
        (task, epoch): (ExecutionAttemptId, LeaderEpoch),
        edge: EdgeKind,
        consumers: &[ChannelPeer],
    ) -> Self {
        debug_assert!(!consumers.is_empty(), "an exchange has a consumer");
        let channel = |consumer: &ChannelPeer| OutputChannel {
            consumer: *consumer,
            opened: false,
            credit: 0,
            backlog: VecDeque::new(),
            data_taken: false,
        };
        let next = task.subtask.0 as usize % consumers.len();
        Self { task, epoch, edge, channels: consumers.iter().map(channel).collect(), next }
    }

    /// Whether the next poll may bring records: no buffer waits for credit.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.channels.iter().all(|channel| channel.backlog.is_empty())
    }

    /// Whether every consumer has taken everything up to the end of the data.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.channels.iter().all(|channel| channel.data_taken)
    }

    /// Sends the records of one poll, each into its channel; those of one channel are one buffer.
    pub fn emit(&mut self, records: &mut Vec<Record>, outbox: &mut Outbox) {
        debug_assert!(self.is_available(), "the reader is not polled while a buffer waits for credit");
        let mut buffers = vec![Vec::new(); self.channels.len()];
        for record in records.drain(..) {
            buffers[self.channel_of(&record)].push(record);
        }
        for (index, buffer) in buffers.into_iter().enumerate() {
            if !buffer.is_empty() {
                self.push(index, ChannelElement::Buffer(buffer), outbox);
            }
        }
    }

    /// Sends what one subtask hands to committers, all of it into one channel: by the subtask, so that a summary and what
    /// it announces meet (FACT 64). It also goes when a buffer waits for credit; then it waits behind that.
    pub fn emit_committables(&mut self, messages: Vec<CommittableMessage>, outbox: &mut Outbox) {
        let Some(first) = messages.first() else { return };
        let subtask = first.subtask();
        debug_assert!(
            messages.iter().all(|message| message.subtask() == subtask),
            "one subtask hands them on"
        );
        let index = subtask.0 as usize % self.channels.len();
        self.push(index, ChannelElement::Committables(messages), outbox);
    }

    /// Sends a barrier or an end into every channel, behind what waits there.
    pub fn broadcast(&mut self, element: &ChannelElement, outbox: &mut Outbox) {
        debug_assert!(!element.needs_credit(), "records and committables have one channel each");
        for index in 0..self.channels.len() {
            self.push(index, element.clone(), outbox);
        }
    }

    /// Takes the buffers that the restored checkpoint's barrier had overtaken; they go out first.
    pub fn restore(&mut self, buffers: OvertakenBuffers) {
        for (consumer, records) in buffers {
            let mut channels = self.channels.iter_mut();
            let channel = channels.find(|channel| channel.consumer.attempt.subtask == consumer);
            let channel = channel.expect("channel state is restored with the channels that it is of");
            debug_assert!(!channel.opened, "restored before the first consumer asks");
            channel.backlog.push_back(ChannelElement::Buffer(records));
        }
    }

    /// Sends a barrier into every channel; answers the buffers that it overtook.
    pub fn send_barrier(&mut self, barrier: CheckpointBarrier, outbox: &mut Outbox) -> OvertakenBuffers {
        let mut overtaken = OvertakenBuffers::new();
        if !barrier.unaligned {
            self.broadcast(&ChannelElement::Barrier(barrier), outbox);
            return overtaken;
        }
        for index in 0..self.channels.len() {
            let channel = &mut self.channels[index];
            let first = channel.backlog.iter().position(ChannelElement::needs_credit);
            let first = first.unwrap_or(channel.backlog.len());
            for element in channel.backlog.iter().skip(first) {
                if let ChannelElement::Buffer(records) = element {
                    overtaken.push((channel.consumer.attempt.subtask, records.clone()));
                }
            }
            channel.backlog.insert(first, ChannelElement::Barrier(barrier));
            self.flush(index, outbox);
        }
        overtaken
    }

    /// A consumer wants something. What another execution than the channel's consumer wants is refused.
    pub fn requested(&mut self, consumer: ExecutionAttemptId, request: ChannelRequest, outbox: &mut Outbox) {
        let found = self.channels.iter().position(|channel| channel.consumer.attempt == consumer);
        let Some(index) = found else {
            tracing::debug!(task = %self.task, %consumer, "not the consumer of a channel: refused");
            return;
        };
        let channel = &mut self.channels[index];
        match request {
            ChannelRequest::Open { credit } if !channel.opened => {
                channel.opened = true;
                channel.credit = credit;
                self.send(index, ChannelElement::Opened, outbox);
            }
            // Asked again before the answer was there.
            ChannelRequest::Open { .. } => return,
            ChannelRequest::Grant(credit) => channel.credit += credit,
            ChannelRequest::DataTaken => channel.data_taken = true,
        }
        self.flush(index, outbox);
    }

    fn channel_of(&mut self, record: &Record) -> usize {
        match self.edge {
            EdgeKind::Forward | EdgeKind::Global => 0,
            EdgeKind::Hash => (record.key % self.channels.len() as u64) as usize,
            EdgeKind::Rebalance => {
                let channel = self.next;
                self.next = (channel + 1) % self.channels.len();
                channel
            }
        }
    }

    fn push(&mut self, index: usize, element: ChannelElement, outbox: &mut Outbox) {
        debug_assert!(
            !element.needs_credit() || !self.channels[index].data_taken,
            "no record comes behind the end of the data"
        );
        self.channels[index].backlog.push_back(element);
        self.flush(index, outbox);
    }

    /// Sends what may be sent: everything up to the first buffer without credit.
    fn flush(&mut self, index: usize, outbox: &mut Outbox) {
        loop {
            let channel = &mut self.channels[index];
            let Some(next) = channel.backlog.front() else { return };
            let price = u32::from(next.needs_credit());
            if !channel.opened || channel.credit < price {
                return;
            }
            channel.credit -= price;
            let element = channel.backlog.pop_front().expect("it was just looked at");
            self.send(index, element, outbox);
        }
    }

    fn send(&self, index: usize, element: ChannelElement, outbox: &mut Outbox) {
        let consumer = self.channels[index].consumer;
        let stream = Stream::Channel { from: self.task, to: consumer.attempt.subtask };
        let message = TaskMessage::Channel { producer: self.task, element };
        let message = Message::Task { epoch: self.epoch, attempt: consumer.attempt, message };
        outbox.send(consumer.address, stream, message);
    }

    /// What is owed to it, as the end of a sentence; `None` when nothing is.
    #[must_use]
    pub fn waiting_for(&self) -> Option<String> {
        let waiting = self.channels.iter().find(|channel| !channel.backlog.is_empty())?;
        let consumer = waiting.consumer.attempt;
        Some(if waiting.opened {
            format!("credit from {consumer}")
        } else {
            format!("{consumer} to open its channel")
        })
    }
}
