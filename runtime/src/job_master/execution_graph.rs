//! All subtasks of the job, each with its current execution.

use super::execution::{Execution, Phase};
use crate::ids::{ExecutionAttemptId, OperatorUid, ProcessAddress, SubtaskId, SubtaskIndex};
use crate::topology::JobGraph;

/// Where a vertex's executions lie.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct VertexRange {
    vertex: OperatorUid,
    first: usize,
    parallelism: usize,
}

/// Flink's `ExecutionGraph`: executions in (vertex, subtask) order, found by index and not through a map.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ExecutionGraph {
    vertices: Vec<VertexRange>,
    executions: Vec<Execution>,
}

impl ExecutionGraph {
    pub(super) fn new(topology: &JobGraph) -> Self {
        let mut graph = Self { vertices: Vec::new(), executions: Vec::new() };
        for vertex in topology.vertices() {
            let (uid, first) = (vertex.uid, graph.executions.len());
            let parallelism = vertex.parallelism as usize;
            graph.vertices.push(VertexRange { vertex: uid, first, parallelism });
            let subtasks =
                (0..vertex.parallelism).map(|index| SubtaskId { vertex: uid, subtask: SubtaskIndex(index) });
            graph.executions.extend(subtasks.map(Execution::new));
        }
        debug_assert!(graph.executions.iter().map(Execution::subtask).is_sorted(), "unique, in order");
        graph
    }

    pub(super) fn executions(&self) -> &[Execution] {
        &self.executions
    }

    pub(super) fn get(&self, index: usize) -> &Execution {
        &self.executions[index]
    }

    pub(super) fn get_mut(&mut self, index: usize) -> &mut Execution {
        &mut self.executions[index]
    }

    /// All executions, to change flags of theirs.
    pub(super) fn executions_mut(&mut self) -> &mut [Execution] {
        &mut self.executions
    }

    /// Every subtask, in order.
    pub(super) fn subtasks(&self) -> Vec<SubtaskId> {
        self.executions.iter().map(Execution::subtask).collect()
    }

    pub(super) fn index_of(&self, subtask: SubtaskId) -> Option<usize> {
        let range = self.vertices.iter().find(|range| range.vertex == subtask.vertex)?;
        let offset = subtask.subtask.0 as usize;
        (offset < range.parallelism).then_some(range.first + offset)
    }

    /// The place of this execution when it is the current one of its subtask.
    pub(super) fn current(&self, attempt: ExecutionAttemptId) -> Option<usize> {
        let index = self.index_of(attempt.subtask_id())?;
        (self.executions[index].attempt() == Some(attempt)).then_some(index)
    }

    /// The places of what this life of a task manager still has to run or to stop.
    pub(super) fn on_task_manager(&self, address: ProcessAddress) -> Vec<usize> {
        self.indices(|execution| execution.task_manager() == Some(address) && !execution.is_terminal())
    }

    /// The places of what `wanted` picks.
    pub(super) fn indices(&self, wanted: impl Fn(&Execution) -> bool) -> Vec<usize> {
        (0..self.executions.len()).filter(|index| wanted(&self.executions[*index])).collect()
    }

    pub(super) fn is_wholly_finished(&self) -> bool {
        self.executions.iter().all(|execution| execution.phase() == Phase::Finished)
    }

    /// Whether any task has finished.
    pub(super) fn has_finished_part(&self) -> bool {
        self.executions.iter().any(|execution| execution.phase() == Phase::Finished)
    }

    /// Whether a checkpoint can be triggered: some task has not finished, and all such are running and registered.
    pub(super) fn is_checkpointable(&self) -> bool {
        let mut running = 0;
        for execution in &self.executions {
            if execution.phase() == Phase::Finished {
                continue;
            }
            if !execution.is_checkpointable() {
                return false;
            }
            running += 1;
        }
        running > 0
    }

    /// Whether some task has not finished, and all such have read their last record.
    pub(super) fn is_at_end_of_data(&self) -> bool {
        let mut unfinished =
            self.executions.iter().filter(|execution| execution.phase() != Phase::Finished).peekable();
        unfinished.peek().is_some()
            && unfinished.all(|execution| execution.is_live() && execution.end_of_data)
    }
}
