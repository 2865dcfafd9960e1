//! The coordinator side of sources: coordinator, assignment tracker, holder, gateways.

pub mod coordinator;
pub mod operator_coordinator_holder;
pub mod source_coordinator;
pub mod split_assignment_tracker;
pub mod subtask_gateway;
