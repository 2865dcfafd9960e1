//! The graphs of sinks, as a reader of Flink's web page would see them.

use super::*;

/// A sink with committables and three subtasks behind as many readers.
fn sink() -> SinkDescription {
    SinkDescription {
        name: "Sink".to_owned(),
        uid: Some("numbers".to_owned()),
        parallelism: 3,
        writer: WriterCapability::Committing,
        pre_write: Vec::new(),
        pre_commit: Vec::new(),
        committer: Some(CommitterDescription::default()),
        post_commit: Vec::new(),
    }
}

fn operator(name: &'static str, parallelism: Option<u32>) -> TopologyOperator {
    TopologyOperator { name, uid: Some(name), parallelism, input: None }
}

/// The operators behind a source of three subtasks, one a line.
fn graph(sink: &SinkDescription) -> String {
    let operators = SinkExpander::expand(sink, 3).unwrap();
    let line = |operator: &ExpandedOperator| {
        let ExpandedOperator { name, uid, parallelism, input, .. } = operator;
        format!("{input:?} ▶ {name} x{parallelism}, uid {}", uid.as_deref().unwrap_or("-"))
    };
    operators.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_sink_that_writes_only_is_one_operator() {
    for writer in [WriterCapability::Stateless, WriterCapability::Stateful] {
        let sink = SinkDescription { writer, ..sink() };
        insta::allow_duplicates! { insta::assert_snapshot!(graph(&sink), @"Forward ▶ Sink: Writer x3, uid numbers"); }
    }
}

#[test]
fn committables_have_a_committer_behind_the_writer() {
    insta::assert_snapshot!(graph(&sink()), @r"
    Forward ▶ Sink: Writer x3, uid numbers
    Forward ▶ Sink: Committer x3, uid Sink Committer: numbers
    ");
}

#[test]
fn committers_of_another_parallelism_get_committables_by_their_writer() {
    let committer = Some(CommitterDescription { parallelism: Some(2) });
    let sink = SinkDescription { committer, ..sink() };
    insta::assert_snapshot!(graph(&sink), @r"
    Forward ▶ Sink: Writer x3, uid numbers
    Hash ▶ Sink: Committer x2, uid Sink Committer: numbers
    ");
}

#[test]
fn a_file_sink_compacts_before_it_commits() {
    let coordinator = operator("CompactorCoordinator", Some(1));
    let compactor = operator("CompactorOperator", None);
    let sink = SinkDescription { pre_commit: vec![coordinator, compactor], ..sink() };
    insta::assert_snapshot!(graph(&sink), @r"
    Forward ▶ Sink: Writer x3, uid numbers
    Hash ▶ Sink: CompactorCoordinator x1, uid numbers: CompactorCoordinator
    Hash ▶ Sink: CompactorOperator x3, uid numbers: CompactorOperator
    Forward ▶ Sink: Committer x3, uid Sink Committer: numbers
    ");
}

#[test]
fn a_global_committer_has_one_subtask_and_a_uid_of_its_own_shape() {
    let sink = SinkDescription { post_commit: vec![TopologyOperator::GLOBAL_COMMITTER], ..sink() };
    insta::assert_snapshot!(graph(&sink), @r"
    Forward ▶ Sink: Writer x3, uid numbers
    Forward ▶ Sink: Committer x3, uid Sink Committer: numbers
    Global ▶ Sink: Global Committer x1, uid Sink numbers Global Committer
    ");
}

#[test]
fn a_global_committer_may_stand_behind_the_writers_alone() {
    let post_commit = vec![TopologyOperator::GLOBAL_COMMITTER];
    insta::assert_snapshot!(graph(&SinkDescription { committer: None, post_commit, ..sink() }), @r"
    Forward ▶ Sink: Writer x3, uid numbers
    Global ▶ Sink: Global Committer x1, uid Sink numbers Global Committer
    ");
}

#[test]
fn topologies_go_around_writer_and_committer() {
    let sink = SinkDescription {
        pre_write: vec![operator("Shuffle", Some(2))],
        post_commit: vec![operator("Cleaner", None)],
        ..sink()
    };
    insta::assert_snapshot!(graph(&sink), @r"
    Rebalance ▶ Sink: Shuffle x2, uid numbers: Shuffle
    Rebalance ▶ Sink: Writer x3, uid numbers
    Forward ▶ Sink: Committer x3, uid Sink Committer: numbers
    Forward ▶ Sink: Cleaner x3, uid numbers: Cleaner
    ");
}

#[test]
fn what_flink_refuses_is_refused() {
    let refused = |sink: SinkDescription| SinkExpander::expand(&sink, 3).unwrap_err().to_string();
    let compactor = || vec![operator("Compactor", None)];
    let stateful = SinkDescription { writer: WriterCapability::Stateful, ..sink() };
    assert_eq!(
        refused(SinkDescription { pre_commit: compactor(), ..stateful.clone() }),
        "sink Sink: a pre-commit topology needs a writer with committables"
    );
    assert_eq!(
        refused(SinkDescription { post_commit: compactor(), ..stateful }),
        "sink Sink: a post-commit topology needs a writer with committables"
    );
    assert_eq!(
        refused(SinkDescription { uid: None, pre_commit: compactor(), ..sink() }),
        "sink Sink requires a uid, since its operator Compactor has one"
    );
    assert_eq!(
        refused(SinkDescription { committer: None, ..sink() }),
        "sink Sink has committables and neither a committer nor a global committer"
    );
    let forward = TopologyOperator { input: Some(EdgeKind::Forward), ..operator("Shuffle", Some(2)) };
    assert_eq!(
        refused(SinkDescription { pre_write: vec![forward], ..sink() }),
        "Sink: Shuffle has another parallelism than what a forward edge connects it to"
    );
}
