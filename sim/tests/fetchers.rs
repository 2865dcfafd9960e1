//! Readers with split fetchers in the simulated world: what a silent outside costs, what is read again after a failure,
//! and that a sink that is slow for an hour fills no queue.

use splitrace_invariants::{Code, Judgement, Outcome};
use splitrace_runtime::config::{
    CoordinatedConfig, FetcherConfig, FetcherThreading, NANOS_PER_MILLI, ReaderKind, SinkKind,
};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::OperatorUid;
use splitrace_sim::choices::SeedChoices;
use splitrace_sim::run::{RunReport, run_with};
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
fn an_hour_with_a_slow_sink_fills_no_queue_no_gateway_and_no_tracker() {
    let mut scenario = Scenario::demo(DemoMode::Fetcher, DemoOptions::default());
    let second_ns = 1_000 * NANOS_PER_MILLI;
    scenario.job.vertices[0].source.bounded = false;
    // A record comes every 30 ms and takes 50 ms to write, on an average.
    scenario.job.sink = SinkKind::Transactional;
    scenario.job.vertices[0].task.record_interval_ns = 30 * NANOS_PER_MILLI;
    scenario.job.vertices[0].task.write_buffer_records = 1;
    scenario.job.vertices[0].coordinated = Some(CoordinatedConfig {
        operator: OperatorUid(100),
        event_interval_ns: 200 * NANOS_PER_MILLI,
        event_count: 18_000,
    });
    scenario.job.checkpointing.as_mut().expect("the demo has checkpoints").blocked_events_max = Some(20);
    scenario.job.slots_per_task_manager = Some(1);
    scenario.cancel_after_ns = Some(3_600 * second_ns);
    scenario.limits.virtual_time_max_ns = 3_700 * second_ns;
    scenario.limits.steps_max = 5_000_000;
    scenario.network.service_jitter_ns = 100 * NANOS_PER_MILLI;
    let mut blocked = 0;
    let (mut filed, mut queued_most, mut leaders) = (0, 0, 0);
    let mut look = |event: &Event| {
        leaders += u32::from(matches!(event.kind, EventKind::LeaderGranted { .. }));
        if let EventKind::BatchHandedOver { queued } = event.kind {
            queued_most = queued_most.max(queued);
        }
        blocked += u32::from(matches!(event.kind, EventKind::OperatorEventBlocked { .. }));
        filed += u32::from(matches!(event.kind, EventKind::AssignmentsFiled { .. }));
    };
    let report = run_with(&scenario, SeedChoices::new(0), Some(&mut look));
    assert!(report.is_success(), "{}", report.outcome);
    assert!(report.virtual_time_ns >= 3_600 * second_ns);
    assert_eq!(leaders, 1, "the sink is slow and nothing else fails");
    assert!(blocked > 1_000 && filed > 1_000, "{blocked} blocked, {filed} filed");
    assert_eq!(queued_most, 2, "the fetchers ran into their bound");
    assert!(judged(&report, Code::B1) > 5_000, "{}", judged(&report, Code::B1));
}
