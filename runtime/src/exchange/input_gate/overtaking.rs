//! A gate's part in checkpoints whose barriers overtake buffers.

use super::{InputChannel, InputGate};
use crate::exchange::{GateEvent, OvertakenBuffers};
use crate::ids::CheckpointId;
use crate::message::{ChannelElement, CheckpointBarrier};

impl InputGate {
    /// Takes the buffers that the restored checkpoint's barrier had overtaken.
    pub fn restore(&mut self, buffers: OvertakenBuffers) {
        debug_assert!(self.restored.is_empty(), "restored once, before anything is taken");
        self.restored = buffers.into();
    }

    /// Whether a barrier waits that overtakes buffers: it is taken also by a task that takes no buffers just now.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        self.overtaking().is_some()
    }

    /// The buffers that belong to the state of a checkpoint that has begun, none where barriers wait in line; `None` while
    /// a channel owes its barrier.
    pub fn take_captured(&mut self, checkpoint: CheckpointId) -> Option<OvertakenBuffers> {
        let is_whole = self.alignment.aligning() != Some(checkpoint);
        is_whole.then(|| std::mem::take(&mut self.captured))
    }

    /// The first channel with a barrier that overtakes buffers, and how many elements are before it.
    pub(super) fn overtaking(&self) -> Option<(usize, usize)> {
        let is_overtaking = |element: &ChannelElement| {
            matches!(element, ChannelElement::Barrier(CheckpointBarrier { unaligned: true, .. }))
        };
        let of_channel = |(index, channel): (usize, &InputChannel)| {
            Some((index, channel.queue.iter().position(is_overtaking)?))
        };
        self.channels.iter().enumerate().find_map(of_channel)
    }

    /// Takes a barrier out of its line. What it overtakes is state of its checkpoint, and so is, when it is the
    /// first, what is restored and not taken yet.
    pub(super) fn overtake(&mut self, index: usize, behind: usize) -> GateEvent {
        let channel = &mut self.channels[index];
        let Some(ChannelElement::Barrier(barrier)) = channel.queue.remove(behind) else {
            unreachable!("a barrier was found there");
        };
        let verdict = self.take_barrier(index, barrier);
        if verdict.begins.is_some() {
            self.captured = self.restored.iter().cloned().collect();
        }
        let is_late = verdict.aligned.is_none() && self.alignment.aligning() != Some(barrier.checkpoint);
        if !is_late {
            let channel = &self.channels[index];
            let producer = channel.producer.expect("somebody sent the barrier").attempt.subtask;
            for element in channel.queue.iter().take(behind) {
                if let ChannelElement::Buffer(records) = element {
                    self.captured.push((producer, records.clone()));
                }
            }
        }
        GateEvent::Barrier(verdict)
    }
}
