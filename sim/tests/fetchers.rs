//! Readers with split fetchers in the simulated world: what a silent outside costs, what is read again after a failure,
//! and that a sink that is slow for an hour fills no queue.

use splitrace_invariants::{Code, Judgement, Outcome};
use splitrace_runtime::config::{FetcherConfig, FetcherThreading, NANOS_PER_MILLI, ReaderKind};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_sim::choices::SeedChoices;
use splitrace_sim::run::{RunReport, run_seed, run_with};
use splitrace_sim::scenario::{DemoMode, DemoOptions, Scenario};

fn told(scenario: &Scenario, seed: u64) -> (RunReport, Vec<Event>) {
    let mut events = Vec::new();
    let mut keep = |event: &Event| events.push(event.clone());
    let report = run_with(scenario, SeedChoices::new(seed), Some(&mut keep));
    (report, events)
}

fn count(events: &[Event], wanted: impl Fn(&EventKind) -> bool) -> usize {
    events.iter().filter(|event| wanted(&event.kind)).count()
}

fn judged(report: &RunReport, code: Code) -> u64 {
    match report.judgements.iter().find(|(judged, _)| *judged == code) {
        Some((_, Judgement::Judged { count })) => *count,
        other => panic!("{code}: {other:?}"),
    }
}

#[test]
fn a_reader_that_blocks_inside_its_poll_makes_the_checkpoint_time_out_and_a_fetcher_does_not() {
    for seed in 0..5 {
        let aborts = |mode| {
            let (report, events) = told(&Scenario::demo(mode, DemoOptions::default()), seed);
            assert_eq!(report.outcome, Outcome::Passed, "{mode:?}, seed {seed}");
            let completed = |kind: &EventKind| matches!(kind, EventKind::CheckpointCompleted { .. });
            let aborted = |kind: &EventKind| matches!(kind, EventKind::CheckpointAborted { .. });
            (count(&events, aborted), count(&events, completed))
        };
        let (blocked, few) = aborts(DemoMode::BlockingReader);
        let (fetched, many) = aborts(DemoMode::BlockedFetcher);
        assert!(blocked >= 1 && fetched == 0, "seed {seed}: {blocked} and {fetched} aborted");
        assert!(many >= few + 8, "seed {seed}: {few} and {many} checkpoints completed");
    }
}

#[test]
fn what_was_only_fetched_is_fetched_again_after_a_failure() {
    for threading in [FetcherThreading::Multiplexed, FetcherThreading::PerSplit] {
        let mut scenario = Scenario::demo(DemoMode::Fail, DemoOptions::default());
        scenario.job.vertices[0].task.reader =
            ReaderKind::Fetchers(FetcherConfig { threading, queue_capacity: 2 });
        let (report, events) = told(&scenario, 0);
        assert_eq!(report.outcome, Outcome::Passed);
        assert_eq!((report.records.total, report.records.duplicates), (160, 0));
        let fetched: u32 = events
            .iter()
            .map(|event| match event.kind {
                EventKind::BatchFetched { records } => records,
                _ => 0,
            })
            .sum();
        assert!(u64::from(fetched) > 160, "{fetched}: more was fetched than there is");
        let ended = count(&events, |kind| matches!(kind, EventKind::FetcherEnded { .. }));
        let started = count(&events, |kind| matches!(kind, EventKind::FetcherStarted { .. }));
        assert_eq!(started, ended, "no thread is left behind");
    }
}

#[test]
fn an_hour_with_a_slow_sink_fills_no_queue() {
    let mut scenario = Scenario::demo(DemoMode::Fetcher, DemoOptions::default());
    let second_ns = 1_000 * NANOS_PER_MILLI;
    scenario.job.vertices[0].source.bounded = false;
    scenario.job.vertices[0].task.record_interval_ns = 400 * NANOS_PER_MILLI;
    scenario.cancel_after_ns = Some(3_600 * second_ns);
    scenario.limits.virtual_time_max_ns = 3_700 * second_ns;
    scenario.limits.steps_max = 5_000_000;
    scenario.network.service_jitter_ns = 900 * NANOS_PER_MILLI;
    let report = run_seed(&scenario, 0);
    assert!(report.is_success(), "{}", report.outcome);
    assert!(report.virtual_time_ns >= 3_600 * second_ns);
    assert!(judged(&report, Code::B1) > 5_000, "{}", judged(&report, Code::B1));
}
