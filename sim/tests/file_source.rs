//! Jobs whose sources read files, with the faults that their seeds draw: each line is committed once, and every invariant
//! is judged as for numbers. The default draw makes few such jobs; these are drawn ones with other sources.

use splitrace_runtime::config::{
    AssignmentPolicy, EnumeratorScript, FetcherConfig, FetcherThreading, FileReaderConfig, FileSourceConfig,
    ReaderKind, VertexConfig,
};
use splitrace_runtime::connectors::file_source::RecordFormat;
use splitrace_sim::run::run_seed;
use splitrace_sim::scenario::Scenario;

/// The scenario of a seed with files in place of numbers; `None` where its sources do what only the range source does.
fn reading_files(seed: u64) -> Option<Scenario> {
    let mut scenario = Scenario::draw(seed);
    let stays = |vertex: &VertexConfig| !vertex.source.bounded || vertex.task.alignment.is_some();
    if scenario.job.vertices.iter().any(stays) {
        return None;
    }
    for vertex in &mut scenario.job.vertices {
        vertex.source.policy = AssignmentPolicy::Pull;
        vertex.source.script = EnumeratorScript::NONE;
        vertex.source.discovery = None;
        vertex.log = None;
        if !matches!(vertex.task.reader, ReaderKind::Fetchers(_)) {
            let threading = FetcherThreading::Multiplexed;
            vertex.task.reader = ReaderKind::Fetchers(FetcherConfig { threading, queue_capacity: 2 });
        }
        let reader = FileReaderConfig { format: RecordFormat::TextLines, chunk_bytes: 1 + seed % 6 };
        vertex.files = Some(FileSourceConfig {
            folder: format!("source-{}", vertex.operator.0),
            block_bytes: 1 + seed % 23,
            reader,
            discovery_period_ns: None,
        });
    }
    Some(scenario)
}

#[test]
fn files_are_read_and_committed_once_whatever_breaks() {
    let (mut runs, mut read_again, mut failovers, mut leaders) = (0, 0, 0, 0);
    for seed in 0..400 {
        let Some(scenario) = reading_files(seed) else { continue };
        assert_eq!(Scenario::from_toml(&scenario.to_toml()), Ok(scenario.clone()), "seed {seed}");
        let report = run_seed(&scenario, seed);
        assert!(report.is_success(), "seed {seed}: {}\n{}", report.outcome, scenario.to_toml());
        runs += 1;
        read_again += report.records.re_read;
        failovers += report.exercised.failovers;
        leaders += report.exercised.job_manager_losses;
    }
    println!("{runs} runs, {read_again} records read again, {failovers} failovers, {leaders} leaders lost");
    assert!(runs > 200 && read_again > 1_000 && failovers > 200 && leaders > 20, "something must break");
}

#[test]
fn a_run_that_reads_files_is_one_run() {
    let scenario = (0..).find_map(reading_files).expect("most seeds can");
    let (first, second) = (run_seed(&scenario, 3), run_seed(&scenario, 3));
    assert_eq!((first.trace_hash, first.event_count), (second.trace_hash, second.event_count));
    assert!(first.records.distinct > 0, "it read something");
}

#[test]
fn what_no_file_source_can_do_is_refused_by_its_place() {
    let refused = |change: &dyn Fn(&mut VertexConfig)| {
        let mut scenario = (0..).find_map(reading_files).expect("most seeds can");
        change(&mut scenario.job.vertices[0]);
        scenario.validate().map_or_else(|error| error.to_string(), |()| "accepted".to_owned())
    };
    assert_eq!(refused(&|_| {}), "accepted");
    let files = |change: &dyn Fn(&mut FileSourceConfig)| {
        refused(&|vertex| change(vertex.files.as_mut().expect("it reads files")))
    };
    assert!(
        files(&|files| files.block_bytes = 0)
            .starts_with("job.vertices[0].files.block_bytes: it is at least 1")
    );
    assert!(files(&|files| files.reader.chunk_bytes = 0).starts_with("job.vertices[0].files.reader: "));
    assert!(files(&|files| files.folder.push('x')).starts_with("job.vertices[0].files.folder: the files of"));
    assert!(
        refused(&|vertex| vertex.source.policy = AssignmentPolicy::Push)
            .starts_with("job.vertices[0].source: ")
    );
    assert!(
        refused(&|vertex| vertex.task.reader = ReaderKind::Direct)
            .starts_with("job.vertices[0].task.reader: ")
    );
}
