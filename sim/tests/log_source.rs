//! Jobs that read a log: only what is committed is input, each record of it is read once, and new partitions are found.

use splitrace_invariants::{Code, Outcome};
use splitrace_runtime::api::log_io::IsolationLevel;
use splitrace_runtime::config::{
    AssignmentPolicy, EnumeratorScript, FetcherConfig, LogReaderConfig, LogSourceConfig, NANOS_PER_MILLI,
    ReaderKind, StartPosition, UpstreamConfig, VertexConfig,
};
use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_sim::outside::input::topic;
use splitrace_sim::run::run_seed;
use splitrace_sim::scenario::{FaultConfig, Scenario};

const UPSTREAM: UpstreamConfig = UpstreamConfig {
    transaction_records: 3,
    transaction_ns: 10 * NANOS_PER_MILLI,
    aborted_every: 3,
    partition_interval_ns: 40 * NANOS_PER_MILLI,
    committed: None,
};

/// The job of a seed, with a topic in place of its numbers.
fn reading(seed: u64, start: StartPosition, upstream: UpstreamConfig) -> Scenario {
    let mut scenario = Scenario::draw(seed);
    for vertex in &mut scenario.job.vertices {
        let topic = vertex.operator.0;
        vertex.source.policy = AssignmentPolicy::Push;
        vertex.source.script = EnumeratorScript::NONE;
        vertex.source.discovery = None;
        vertex.source.bounded = true;
        vertex.files = None;
        vertex.task.alignment = None;
        vertex.task.reader = ReaderKind::Fetchers(FetcherConfig::DEFAULT);
        vertex.log = Some(LogSourceConfig {
            start,
            stop_offset: Some(topic::end_offset(vertex.source.records_per_split, upstream)),
            discovery_period_ns: 20 * NANOS_PER_MILLI,
            reader: LogReaderConfig {
                topic,
                fetch_records_max: 4,
                poll_ns: 2 * NANOS_PER_MILLI,
                isolation: IsolationLevel::ReadCommitted,
            },
            upstream,
        });
    }
    scenario.cancel_after_ns = None;
    if start == StartPosition::Latest {
        // What is owed would hang on the time of the first checkpoint.
        scenario.faults = FaultConfig::NONE;
        scenario.plan.clear();
        scenario.resubmission = None;
        for task in scenario.job.vertices.iter_mut().map(|vertex| &mut vertex.task) {
            (task.user_failure, task.checkpoint_failure, task.commit_script) = (None, None, None);
        }
    }
    assert_eq!(scenario.validate(), Ok(()), "seed {seed}");
    scenario
}

#[test]
fn whatever_is_committed_is_read_once_under_the_drawn_faults() {
    for seed in 0..150 {
        let scenario = reading(seed, StartPosition::Earliest, UPSTREAM);
        let report = run_seed(&scenario, seed);
        assert!(report.is_success(), "seed {seed}: {}", report.outcome);
    }
}

#[test]
fn a_topic_may_be_begun_anywhere() {
    let committed = UpstreamConfig { committed: Some(0), ..UPSTREAM };
    let starts = [StartPosition::Latest, StartPosition::Offset(0), StartPosition::Committed];
    for (seed, start) in (0..60).flat_map(|seed| starts.map(|start| (seed, start))) {
        let scenario = reading(seed, start, committed);
        let report = run_seed(&scenario, seed);
        assert!(report.is_success(), "seed {seed} from {start:?}: {}", report.outcome);
    }
}

/// Aborted records are declared no input, and this run reads them all the same.
#[test]
fn dirty_reads_are_found() {
    let dirty = |seed: &u64| {
        let mut scenario = reading(*seed, StartPosition::Earliest, UPSTREAM);
        scenario.job.defects = DefectSet::NONE.with(Defect::ReaderBeyondStableOffset);
        match run_seed(&scenario, *seed).outcome {
            Outcome::Violated(violation) => matches!(violation.code, Code::R1 | Code::C2),
            _ => false,
        }
    };
    assert!((0..40).filter(dirty).count() >= 10);
}

#[test]
fn a_log_is_read_from_toml_and_checked() {
    let scenario = reading(3, StartPosition::Offset(0), UPSTREAM);
    assert_eq!(Scenario::from_toml(&scenario.to_toml()), Ok(scenario.clone()));
    let refused = |change: &dyn Fn(&mut VertexConfig)| {
        let mut wrong = scenario.clone();
        change(&mut wrong.job.vertices[0]);
        wrong.validate().unwrap_err().to_string()
    };
    let log = |change: &dyn Fn(&mut LogSourceConfig)| {
        refused(&|vertex| change(vertex.log.as_mut().expect("it reads a log")))
    };
    assert!(log(&|log| log.reader.topic += 1).starts_with("job.vertices[0].log.reader.topic: the topic"));
    assert!(log(&|log| log.stop_offset = None).starts_with("job.vertices[0].log.stop_offset: a bounded"));
    assert!(log(&|log| log.upstream.transaction_ns = 0).starts_with("job.vertices[0].log: "));
    assert!(log(&|log| log.start = StartPosition::Offset(9_999)).contains("behind offset"));
    let latest = log(&|log| log.start = StartPosition::Latest);
    assert!(latest.starts_with("job.vertices[0].log.start: a topic is begun"), "{latest}");
    assert!(refused(&|vertex| vertex.source.policy = AssignmentPolicy::Pull).contains("'push'"));
    assert!(refused(&|vertex| vertex.task.reader = ReaderKind::Direct).contains("'fetchers'"));
}
