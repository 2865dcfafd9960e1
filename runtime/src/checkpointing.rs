//! Checkpoints: the coordinator, what is pending, and what a stored checkpoint holds.

pub mod checkpoint_coordinator;
pub mod contents;
pub mod pending_checkpoint;
pub mod redistribution;
