//! The buffers of channels as state of a checkpoint whose barrier overtook them.
//!
//! A producer holds what waited for credit, a consumer what lay in its queues, and what came until a channel's barrier did.
//! Both are told by the subtask at the other end of the channel, in the order of the channel.

use crate::ids::SubtaskIndex;
use crate::records::{Record, RecordRanges};

/// Buffers with the other ends of their channels. Of one channel they are in its order.
pub type OvertakenBuffers = Vec<(SubtaskIndex, Vec<Record>)>;

/// The bytes of a state; none for no buffer.
#[must_use]
pub fn encode_channel_state(buffers: &OvertakenBuffers) -> Vec<u8> {
    if buffers.is_empty() {
        return Vec::new();
    }
    postcard::to_stdvec(buffers).expect("records always serialise")
}

/// The state of these bytes.
///
/// # Errors
/// When they are no state.
pub fn decode_channel_state(bytes: &[u8]) -> Result<OvertakenBuffers, postcard::Error> {
    if bytes.is_empty() { Ok(Vec::new()) } else { postcard::from_bytes(bytes) }
}

/// The records that the bytes of a state hold, by buffer: each is a carrier, so a record in two of them is held twice.
///
/// # Errors
/// When they are no state.
pub fn channel_records_held(bytes: &[u8]) -> Result<Vec<RecordRanges>, postcard::Error> {
    let buffers = decode_channel_state(bytes)?;
    Ok(buffers.iter().map(|(_, records)| records.iter().collect()).collect())
}
