//! The graph of a job: which subtasks there are, which channels connect them, and which of them fail together.
//!
//! A configured vertex is one chain, or two where an exchange cuts it. Everything that depends on the shape of the job
//! (what is deployed, where barriers begin, what a failover restarts) asks this graph and not the configuration, so that
//! another shape needs no other place.

use crate::config::{EdgeKind, JobConfig, RegionScope};
use crate::ids::{OperatorUid, SubtaskId, SubtaskIndex};
use std::collections::BTreeSet;

/// One vertex: a chain of operators that share a thread (Flink's `JobVertex`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct JobVertex {
    /// Its uid.
    pub uid: OperatorUid,
    /// How many subtasks.
    pub parallelism: u32,
}

/// A pipelined edge between two vertices (Flink's `JobEdge`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct JobEdge {
    /// The vertex that fills its channels.
    pub producer: OperatorUid,
    /// The vertex that empties them.
    pub consumer: OperatorUid,
    /// Which channels there are.
    pub kind: EdgeKind,
}

/// Flink's `JobGraph`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct JobGraph {
    /// In the order of their uids: sources first.
    vertices: Vec<JobVertex>,
    edges: Vec<JobEdge>,
    scope: RegionScope,
}

impl JobGraph {
    /// The graph of a configured job.
    #[must_use]
    pub fn new(config: &JobConfig) -> Self {
        let mut graph = Self { vertices: Vec::new(), edges: Vec::new(), scope: config.region };
        for vertex in &config.vertices {
            debug_assert!(vertex.parallelism > 0, "{} has no subtask", vertex.operator);
            graph.vertices.push(JobVertex { uid: vertex.operator, parallelism: vertex.parallelism });
            if let Some(exchange) = vertex.exchange {
                let consumer = vertex.operator.behind_exchange();
                graph.vertices.push(JobVertex { uid: consumer, parallelism: exchange.parallelism });
                graph.edges.push(JobEdge { producer: vertex.operator, consumer, kind: exchange.edge });
            }
        }
        graph.vertices.sort_unstable_by_key(|vertex| vertex.uid);
        debug_assert!(graph.vertices.is_sorted_by(|one, next| one.uid < next.uid), "each vertex once");
        graph
    }

    /// The vertices, in the order of their uids.
    #[must_use]
    pub fn vertices(&self) -> &[JobVertex] {
        &self.vertices
    }

    /// The subtasks whose records reach this one, in order; none for a source.
    #[must_use]
    pub fn producers_of(&self, subtask: SubtaskId) -> Vec<SubtaskId> {
        let edges = self.edges.iter().filter(|edge| edge.consumer == subtask.vertex);
        edges.flat_map(|edge| self.ends(edge.kind, edge.producer, subtask.subtask)).collect()
    }

    /// The subtasks that this one's records reach, in order; none for a writer.
    #[must_use]
    pub fn consumers_of(&self, subtask: SubtaskId) -> Vec<SubtaskId> {
        let edges = self.edges.iter().filter(|edge| edge.producer == subtask.vertex);
        edges.flat_map(|edge| self.ends(edge.kind, edge.consumer, subtask.subtask)).collect()
    }

    /// The pipelined region of a subtask in (vertex, subtask) order: what fails when it fails. Only a pipelined edge
    /// connects, and all edges here are; an all-to-all edge connects everybody, a forward edge its pairs.
    #[must_use]
    pub fn region_of(&self, subtask: SubtaskId) -> Vec<SubtaskId> {
        let mut region = BTreeSet::from([subtask]);
        let mut reached = vec![subtask];
        while let Some(member) = reached.pop() {
            let mates = self.producers_of(member).into_iter().chain(self.consumers_of(member));
            reached.extend(mates.chain(self.whole_vertex(member)).filter(|mate| region.insert(*mate)));
        }
        debug_assert!(region.contains(&subtask), "a subtask is in its own region");
        region.into_iter().collect()
    }

    /// The subtasks of the same vertex, where the configuration says that they share a region.
    fn whole_vertex(&self, subtask: SubtaskId) -> impl Iterator<Item = SubtaskId> + use<> {
        let count = match self.scope {
            RegionScope::Subtask => 0,
            RegionScope::Vertex => self.parallelism(subtask.vertex),
        };
        subtasks(subtask.vertex, 0..count)
    }

    /// The other ends of a subtask's channels of one edge.
    fn ends(&self, kind: EdgeKind, other: OperatorUid, own: SubtaskIndex) -> impl Iterator<Item = SubtaskId> {
        subtasks(
            other,
            match kind {
                EdgeKind::Forward => own.0..own.0 + 1,
                EdgeKind::Rebalance | EdgeKind::Hash | EdgeKind::Global => 0..self.parallelism(other),
            },
        )
    }

    /// How many subtasks a vertex has.
    ///
    /// # Panics
    /// When the graph has no such vertex.
    #[must_use]
    pub fn parallelism(&self, uid: OperatorUid) -> u32 {
        let vertex = self.vertices.iter().find(|vertex| vertex.uid == uid);
        vertex.expect("edges and executions are of the graph's vertices").parallelism
    }
}

fn subtasks(vertex: OperatorUid, indices: std::ops::Range<u32>) -> impl Iterator<Item = SubtaskId> {
    indices.map(move |index| SubtaskId { vertex, subtask: SubtaskIndex(index) })
}

#[cfg(test)]
mod tests;
