//! Channels and regions of small jobs.

use super::*;
use crate::config::{CommittersConfig, ExchangeConfig};
use crate::coordination::test_jobs::job;
use crate::defects::DefectSet;

fn subtask(vertex: OperatorUid, index: u32) -> SubtaskId {
    SubtaskId { vertex, subtask: SubtaskIndex(index) }
}

/// Three readers, and as many or two writers behind an exchange.
fn cut(edge: EdgeKind) -> JobGraph {
    let mut config = job(2, DefectSet::NONE);
    let vertex = &mut config.vertices[0];
    vertex.parallelism = 3;
    let parallelism = if edge == EdgeKind::Forward { 3 } else { 2 };
    vertex.exchange = Some(ExchangeConfig { edge, parallelism, credit: 1, unaligned: false });
    JobGraph::new(&config)
}

const READER: OperatorUid = OperatorUid(0);
const WRITER: OperatorUid = READER.behind_exchange();

#[test]
fn without_an_exchange_every_subtask_is_a_region() {
    let graph = JobGraph::new(&job(2, DefectSet::NONE));
    assert_eq!(graph.vertices().len(), 1);
    assert_eq!(graph.region_of(subtask(READER, 1)), [subtask(READER, 1)]);
    assert!(graph.consumers_of(subtask(READER, 0)).is_empty());
}

#[test]
fn a_forward_edge_joins_pairs() {
    let graph = cut(EdgeKind::Forward);
    assert_eq!(graph.consumers_of(subtask(READER, 2)), [subtask(WRITER, 2)]);
    assert_eq!(graph.producers_of(subtask(WRITER, 1)), [subtask(READER, 1)]);
    assert_eq!(graph.region_of(subtask(WRITER, 1)), [subtask(READER, 1), subtask(WRITER, 1)]);
}

#[test]
fn every_other_edge_joins_all_into_one_region_in_subtask_order() {
    let readers = (0..3).map(|index| subtask(READER, index));
    let all: Vec<_> = readers.chain((0..2).map(|index| subtask(WRITER, index))).collect();
    for edge in [EdgeKind::Rebalance, EdgeKind::Hash, EdgeKind::Global] {
        let graph = cut(edge);
        for member in &all {
            assert_eq!(graph.region_of(*member), all, "{edge:?}");
        }
        assert_eq!(graph.producers_of(all[4]), all[..3]);
        assert_eq!(graph.consumers_of(all[0]), all[3..]);
    }
}

#[test]
fn a_configured_scope_joins_chains_that_no_exchange_connects() {
    let mut config = job(2, DefectSet::NONE);
    config.region = RegionScope::Vertex;
    let region = JobGraph::new(&config).region_of(subtask(READER, 0));
    assert_eq!(region.len(), config.vertices[0].parallelism as usize);
    config.vertices[0].exchange = Some(ExchangeConfig {
        edge: EdgeKind::Forward,
        parallelism: region.len() as u32,
        credit: 1,
        unaligned: false,
    });
    assert_eq!(JobGraph::new(&config).region_of(subtask(WRITER, 0)).len(), 2 * region.len());
}

/// Three readers with writers, or two writers behind an exchange, and so many committers of their own.
fn committers_apart(exchange: bool, parallelism: u32) -> JobGraph {
    let mut config = job(2, DefectSet::NONE);
    let vertex = &mut config.vertices[0];
    vertex.parallelism = 3;
    vertex.topology.committers = Some(CommittersConfig { parallelism, credit: 1, global: false });
    vertex.exchange = exchange.then_some(ExchangeConfig {
        edge: EdgeKind::Rebalance,
        parallelism: 2,
        credit: 1,
        unaligned: true,
    });
    JobGraph::new(&config)
}

const COMMITTER: OperatorUid = READER.sink_stage(SinkStage::Committers);

/// The vertices and what connects them, one a line.
fn shown(graph: &JobGraph) -> String {
    let line = |vertex: &JobVertex| {
        let input = graph.edge_into(vertex.uid).map_or(String::new(), |edge| format!("{:?} ▶ ", edge.kind));
        format!("{input}{} x{}", vertex.name, vertex.parallelism)
    };
    graph.vertices().iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_chain_is_named_as_flink_names_it_and_cut_by_each_exchange() {
    insta::assert_snapshot!(
        shown(&JobGraph::new(&job(2, DefectSet::NONE))),
        @"Source: range-source -> Map -> Sink: Writer -> Sink: Committer x2"
    );
    insta::assert_snapshot!(shown(&cut(EdgeKind::Hash)), @r"
    Source: range-source -> Map x3
    Hash ▶ Sink: Writer -> Sink: Committer x2
    ");
    insta::assert_snapshot!(shown(&committers_apart(false, 2)), @r"
    Source: range-source -> Map -> Sink: Writer x3
    Hash ▶ Sink: Committer x2
    ");
    insta::assert_snapshot!(shown(&committers_apart(true, 1)), @r"
    Source: range-source -> Map x3
    Rebalance ▶ Sink: Writer x2
    Hash ▶ Sink: Committer x1
    ");
}

#[test]
fn a_vertex_of_committers_is_behind_its_writers_and_fails_with_them() {
    let graph = committers_apart(false, 2);
    assert_eq!(graph.producers_of(subtask(COMMITTER, 1)).len(), 3);
    assert_eq!(graph.consumers_of(subtask(READER, 0)), [subtask(COMMITTER, 0), subtask(COMMITTER, 1)]);
    assert_eq!(graph.region_of(subtask(READER, 2)).len(), 5);
    let pairs = committers_apart(false, 3);
    assert_eq!(pairs.region_of(subtask(READER, 2)), [subtask(READER, 2), subtask(COMMITTER, 2)]);
}

#[test]
fn barriers_never_overtake_committables() {
    let graph = committers_apart(true, 2);
    assert!(graph.edge_into(WRITER).unwrap().unaligned);
    assert!(!graph.edge_into(COMMITTER).unwrap().unaligned);
    assert!(graph.edge_out_of(COMMITTER).is_none() && graph.edge_into(READER).is_none());
}

#[test]
fn a_global_committer_is_one_subtask_behind_all_writers() {
    let mut config = job(2, DefectSet::NONE);
    config.vertices[0].parallelism = 3;
    config.vertices[0].topology.committers =
        Some(CommittersConfig { parallelism: 1, credit: 1, global: true });
    let graph = JobGraph::new(&config);
    insta::assert_snapshot!(shown(&graph), @r"
    Source: range-source -> Map -> Sink: Writer x3
    Global ▶ Sink: Global Committer x1
    ");
    assert_eq!(graph.region_of(subtask(READER, 0)).len(), 4);
}
