//! Channels and regions of small jobs.

use super::*;
use crate::config::ExchangeConfig;
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
