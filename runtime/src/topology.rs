//! The graph of a job: which subtasks there are, which channels connect them, and which of them fail together.
//!
//! A configured vertex is a chain of operators, and every exchange cuts it. Everything that depends on the shape of the job
//! (what is deployed, where barriers begin, what a failover restarts) asks this graph and not the configuration, so that
//! another shape needs no other place. What a sink's operators are, and what connects them, the [`SinkExpander`] says.

mod sink_expander;

pub use sink_expander::{
    CommitterDescription, ExpandedOperator, SinkDescription, SinkExpander, SinkExpanderError,
    SinkOperatorRole, TopologyOperator, WriterCapability,
};

use crate::config::{EdgeKind, JobConfig, RegionScope, SinkKind, VertexConfig};
use crate::defects::{Defect, DefectSet};
use crate::ids::{OperatorUid, SinkStage, SubtaskId, SubtaskIndex};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An operator, as a task must know it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum OperatorKind {
    /// `SourceOperator`.
    Source,
    /// The user function.
    Map,
    /// `SinkWriterOperator`.
    Writer,
    /// `CompactorOperator`.
    Compactor,
    /// `CommitterOperator`.
    Committer,
    /// `GlobalCommitterOperator`.
    GlobalCommitter,
}

impl OperatorKind {
    /// A whole chain, as it is where no exchange cuts it.
    pub const CHAIN: [Self; 4] = [Self::Source, Self::Map, Self::Writer, Self::Committer];
}

/// One vertex: a chain of operators that share a thread (Flink's `JobVertex`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct JobVertex {
    /// Its uid.
    pub uid: OperatorUid,
    /// How many subtasks.
    pub parallelism: u32,
    /// The chain.
    pub operators: Vec<OperatorKind>,
    /// The names of the chain's operators, as Flink joins them.
    pub name: String,
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
    /// How many buffers may be under way in each.
    pub credit: u32,
    /// Whether barriers overtake buffers. They never overtake committables.
    pub unaligned: bool,
}

/// Flink's `JobGraph`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct JobGraph {
    /// In the order of their uids: sources first.
    vertices: Vec<JobVertex>,
    edges: Vec<JobEdge>,
    scope: RegionScope,
    defects: DefectSet,
}

/// How an operator gets its input: from the one before it in its chain, or through channels of a new edge.
type Input = Option<JobEdge>;

impl JobGraph {
    /// The graph of a configured job.
    #[must_use]
    pub fn new(config: &JobConfig) -> Self {
        let (vertices, edges) = (Vec::new(), Vec::new());
        let mut graph = Self { vertices, edges, scope: config.region, defects: config.defects };
        let compacts = matches!(config.sink, SinkKind::Files(files) if files.compaction.is_some());
        config.vertices.iter().for_each(|vertex| graph.add_chain(vertex, compacts));
        graph.vertices.sort_unstable_by_key(|vertex| vertex.uid);
        debug_assert!(graph.vertices.is_sorted_by(|one, next| one.uid < next.uid), "each vertex once");
        graph
    }

    /// The vertices of one source: its chain, cut where an operator gets its input through channels. Its sink may compact
    /// files before they are committed.
    fn add_chain(&mut self, config: &VertexConfig, compacts: bool) {
        debug_assert!(config.parallelism > 0, "{} has no subtask", config.operator);
        let number = match config.operator {
            OperatorUid(0) => String::new(),
            OperatorUid(number) => format!("-{number}"),
        };
        let source = format!("Source: range-source{number}");
        self.add(OperatorKind::Source, source, (config.operator, config.parallelism), None);
        self.add(OperatorKind::Map, "Map".to_owned(), (config.operator, config.parallelism), None);
        let sink = SinkDescription {
            pre_commit: if compacts { vec![TopologyOperator::COMPACTOR] } else { Vec::new() },
            ..sink_of(config, &number)
        };
        let operators =
            SinkExpander::expand(&sink, config.writers()).expect("a configured sink has committables");
        for ExpandedOperator { role, name, parallelism, input, .. } in operators {
            let last = self.vertices.last().expect("a source comes first").uid;
            let edge = |consumer, kind, credit, unaligned| {
                Some(JobEdge { producer: last, consumer, kind, credit, unaligned })
            };
            let (kind, uid, input) = match (role, config.exchange, config.topology.committers) {
                (SinkOperatorRole::Writer, Some(exchange), _) => {
                    let uid = config.operator.behind_exchange();
                    (OperatorKind::Writer, uid, edge(uid, exchange.edge, exchange.credit, exchange.unaligned))
                }
                (SinkOperatorRole::Writer, None, _) => (OperatorKind::Writer, last, None),
                (SinkOperatorRole::PreCommit, _, _) => (OperatorKind::Compactor, last, None),
                (_, _, Some(committers)) => {
                    let (kind, stage) = match committers.global {
                        false => (OperatorKind::Committer, SinkStage::Committers),
                        true => (OperatorKind::GlobalCommitter, SinkStage::GlobalCommitter),
                    };
                    let uid = config.operator.sink_stage(stage);
                    let unaligned = self.defects.has(Defect::UnalignedSinkEdges);
                    (kind, uid, edge(uid, input, committers.credit, unaligned))
                }
                (_, _, None) => (OperatorKind::Committer, last, None),
            };
            self.add(kind, name, (uid, parallelism), input);
        }
    }

    /// An operator goes to the end of the last chain, or begins another one behind channels.
    fn add(
        &mut self,
        kind: OperatorKind,
        name: String,
        (uid, parallelism): (OperatorUid, u32),
        input: Input,
    ) {
        let is_chained = input.is_none() && kind != OperatorKind::Source;
        match self.vertices.last_mut().filter(|_| is_chained) {
            Some(vertex) => {
                debug_assert_eq!(
                    (vertex.uid, vertex.parallelism),
                    (uid, parallelism),
                    "a chain is one vertex"
                );
                vertex.operators.push(kind);
                vertex.name = format!("{} -> {name}", vertex.name);
            }
            None => self.vertices.push(JobVertex { uid, parallelism, operators: vec![kind], name }),
        }
        self.edges.extend(input);
    }

    /// The vertices, in the order of their uids.
    #[must_use]
    pub fn vertices(&self) -> &[JobVertex] {
        &self.vertices
    }

    /// The subtasks whose records or committables reach this one, in order; none for a source.
    #[must_use]
    pub fn producers_of(&self, subtask: SubtaskId) -> Vec<SubtaskId> {
        let edges = self.edges.iter().filter(|edge| edge.consumer == subtask.vertex);
        edges.flat_map(|edge| self.ends(edge.kind, edge.producer, subtask.subtask)).collect()
    }

    /// The subtasks that this one's records or committables reach, in order; none behind the last exchange.
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

    /// A vertex.
    ///
    /// # Panics
    /// When the graph has no such vertex.
    #[must_use]
    pub fn vertex(&self, uid: OperatorUid) -> &JobVertex {
        let vertex = self.vertices.iter().find(|vertex| vertex.uid == uid);
        vertex.expect("edges and executions are of the graph's vertices")
    }

    /// How many subtasks a vertex has.
    ///
    /// # Panics
    /// When the graph has no such vertex.
    #[must_use]
    pub fn parallelism(&self, uid: OperatorUid) -> u32 {
        self.vertex(uid).parallelism
    }

    /// The edge into a vertex; none into one with a source.
    #[must_use]
    pub fn edge_into(&self, uid: OperatorUid) -> Option<&JobEdge> {
        self.edges.iter().find(|edge| edge.consumer == uid)
    }

    /// The edge out of a vertex; none out of the last one.
    #[must_use]
    pub fn edge_out_of(&self, uid: OperatorUid) -> Option<&JobEdge> {
        self.edges.iter().find(|edge| edge.producer == uid)
    }
}

/// What the sink of a configured chain is. An exchange of records before it is its pre-write topology, so it has as many
/// subtasks as there are behind that.
fn sink_of(config: &VertexConfig, number: &str) -> SinkDescription {
    let committers = config.topology.committers;
    let is_global = committers.is_some_and(|committers| committers.global);
    let own = CommitterDescription { parallelism: committers.map(|committers| committers.parallelism) };
    SinkDescription {
        name: format!("Sink{number}"),
        uid: None,
        parallelism: config.writers(),
        writer: WriterCapability::Committing,
        pre_write: Vec::new(),
        pre_commit: Vec::new(),
        committer: (!is_global).then_some(own),
        post_commit: if is_global { vec![TopologyOperator::GLOBAL_COMMITTER] } else { Vec::new() },
    }
}

fn subtasks(vertex: OperatorUid, indices: std::ops::Range<u32>) -> impl Iterator<Item = SubtaskId> {
    indices.map(move |index| SubtaskId { vertex, subtask: SubtaskIndex(index) })
}

#[cfg(test)]
mod tests;
