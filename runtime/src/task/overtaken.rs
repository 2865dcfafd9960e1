//! A checkpoint whose barriers overtake buffers: the operators' part is taken at the first barrier, that of the channels is
//! whole at the last, and one acknowledgement carries both.

use super::Task;
use super::chain::Head;
use super::task_error::TaskError;
use crate::actor::Outbox;
use crate::defects::Defect;
use crate::exchange::{decode_channel_state, encode_channel_state};
use crate::ids::CheckpointId;
use crate::message::TaskSnapshot;

/// The operators' part of a snapshot, while a channel still owes the barrier.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct HeldSnapshot {
    pub(super) checkpoint: CheckpointId,
    pub(super) snapshot: TaskSnapshot,
}

impl Task {
    /// The operators' part is taken: acknowledges it, or keeps it until the channels' part is whole.
    pub(super) fn add_channels(
        &mut self,
        checkpoint: CheckpointId,
        mut snapshot: TaskSnapshot,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        if let Head::Gate(gate) = &mut self.head {
            debug_assert!(snapshot.channels.is_empty(), "a task has an exchange of records on one side");
            let Some(captured) = gate.take_captured(checkpoint) else {
                debug_assert!(self.progress.held_snapshot.is_none(), "a newer checkpoint gives the older up");
                self.progress.held_snapshot = Some(HeldSnapshot { checkpoint, snapshot });
                return Ok(());
            };
            snapshot.channels = encode_channel_state(&captured);
        }
        self.acknowledge(checkpoint, snapshot, outbox)
    }

    /// The last barrier has come: acknowledges what was kept, if the operators' part is taken.
    pub(super) fn channels_captured(
        &mut self,
        checkpoint: CheckpointId,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        let Some(held) = self.progress.held_snapshot.take() else { return Ok(()) };
        debug_assert_eq!(held.checkpoint, checkpoint, "one checkpoint is aligned at a time");
        self.add_channels(checkpoint, held.snapshot, outbox)
    }

    /// This checkpoint, and each before it, is given up. A newer one that is held stays: notices may come late, and in any
    /// order.
    pub(super) fn drop_held_snapshot(&mut self, checkpoint: CheckpointId) {
        self.progress.held_snapshot.take_if(|held| held.checkpoint <= checkpoint);
    }

    /// Buffers that the restored checkpoint's barrier overtook come first, at either end of a channel.
    pub(super) fn restore_channels(&mut self) -> Result<(), TaskError> {
        let Some(state) = &self.descriptor.restored else { return Ok(()) };
        let buffers = decode_channel_state(&state.snapshot.channels)
            .map_err(|error| TaskError::ChannelState(error.to_string()))?;
        if buffers.is_empty() || self.descriptor.defects.has(Defect::OvertakenBuffersNotRestored) {
            return Ok(());
        }
        match (&mut self.head, &mut self.tail.channels) {
            (Head::Gate(gate), _) => gate.restore(buffers),
            (Head::Source(_), Some(channels)) => channels.restore(buffers),
            (Head::Source(_), None) => debug_assert!(false, "a whole chain has no channels"),
        }
        Ok(())
    }
}
