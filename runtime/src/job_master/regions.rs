//! Pipelined regions: which subtasks fail together.

use super::execution_graph::ExecutionGraph;
use crate::config::RegionScope;
use crate::ids::SubtaskId;

/// The subtasks that restart when this one fails, in (vertex, subtask) order. Vertices never share a region: the chains
/// of a job are independent.
pub(super) fn region_of(graph: &ExecutionGraph, scope: RegionScope, subtask: SubtaskId) -> Vec<SubtaskId> {
    let region: Vec<_> = match scope {
        RegionScope::Subtask => vec![subtask],
        RegionScope::Vertex => graph
            .executions()
            .iter()
            .map(|execution| execution.subtask())
            .filter(|mate| mate.vertex == subtask.vertex)
            .collect(),
    };
    debug_assert!(region.contains(&subtask), "a subtask is in its own region");
    debug_assert!(region.is_sorted(), "resets go in subtask order (FACT 48)");
    region
}
