//! Exchanges between tasks: channels with credit, and the barriers in them.
//!
//! ```text
//! source ▶ map ▶ RecordWriter ═ channel ═▶ InputGate ▶ writer ▶ committer
//!                     ◀ ─ ─ ─ credit ─ ─ ─
//! ```
//! A channel connects one execution of a producer with one of a consumer and dies with either. Its consumer opens it; the
//! producer then sends in order, and never more buffers than the consumer has room for. What has no credit stays with the
//! producer, whose default action is suspended until there is some: back-pressure reaches the reader, and nobody asks
//! by timer. Only a request to open is repeated by one, as Flink's `PartitionRequest` is, because the producer may
//! not be there yet.
//!
//! A barrier waits in line behind the buffers before it, and a task waits until it has come through every channel
//! ([`BarrierAlignment`]). Where the exchange is *unaligned*, a barrier overtakes the buffers at both ends, the task's part
//! begins with the first barrier, and the overtaken buffers become state (`channel_state`): a checkpoint then takes no
//! longer when the sink is slow. After a restore they come first.
//!
//! Both ends know each other by execution, so nothing of an earlier attempt enters a later one; and a message that gets
//! lost breaks its stream, which fails the task that sent it (see [`crate::session`]).

mod barrier_alignment;
mod channel_state;
mod input_gate;
mod record_writer;
#[cfg(test)]
mod tests;

pub use barrier_alignment::{BarrierAlignment, BarrierVerdict};
pub use channel_state::{OvertakenBuffers, channel_records_held, decode_channel_state, encode_channel_state};
pub use input_gate::{GateEvent, InputGate};
pub use record_writer::RecordWriter;
