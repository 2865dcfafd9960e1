//! The coordinator side of sources: coordinator, assignment tracker, holder, gateways.
//!
//! Two threads take part. The main thread has the holder with its gateways ([`operator_coordinator_holder`]); each
//! coordinator has a logical thread of its own ([`coordinator`]). They speak by mail only, so that a checkpoint's order
//! (mark, snapshot, close, barrier) is the order of mail and cannot be bent by a nested call.

pub mod coordinator;
pub mod coordinator_error;
pub mod event_coordinator;
pub mod operator_coordinator_holder;
pub mod source_coordinator;
pub mod split_assignment_tracker;
pub mod subtask_gateway;
#[cfg(test)]
pub(crate) mod test_jobs;

use crate::config::{JobConfig, VertexConfig};
use crate::ids::OperatorUid;

/// The vertex that the coordinated operator belongs to, be it the source or the one that is no source.
///
/// # Panics
/// When the job has no such operator: whoever names one took it from the same configuration.
#[must_use]
pub fn vertex_of(config: &JobConfig, operator: OperatorUid) -> &VertexConfig {
    let owns = |vertex: &&VertexConfig| {
        vertex.operator == operator
            || vertex.coordinated.is_some_and(|coordinated| coordinated.operator == operator)
    };
    config.vertices.iter().find(owns).expect("the job has the operator")
}
