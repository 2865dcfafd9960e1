//! `splitrace bench`: how fast one core is, beside a bare event loop in the same run.

use super::campaign::grouped;
use super::stopwatch::Stopwatch;
use crate::arguments::BenchArguments;
use crate::bench::bare_loop::BareLoop;
use crate::engine::{self, Scenario};
use crate::report::Report;
use serde::Serialize;
use std::time::Duration;

/// How many events the bare loop handles between two looks at the clock.
const BARE_BATCH: u64 = 100_000;

/// One measured part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
struct Measured {
    runs: u64,
    events: u64,
    wall_time_us: u64,
}

impl Measured {
    fn per_second(&self, count: u64) -> u64 {
        u64::try_from(u128::from(count) * 1_000_000 / u128::from(self.wall_time_us.max(1)))
            .unwrap_or(u64::MAX)
    }

    fn events_per_second(&self) -> u64 {
        self.per_second(self.events)
    }
}

/// The JSON of a bench.
#[derive(Debug, Serialize)]
struct BenchResult {
    debug_assertions: bool,
    bare_loop: Measured,
    bare_loop_events_per_second: u64,
    default_draw: Measured,
    default_draw_events_per_second: u64,
    default_draw_seeds_per_second: u64,
    default_draw_events_per_run: u64,
    demo_with_faults: Measured,
    demo_with_faults_events_per_second: u64,
    demo_with_faults_seeds_per_second: u64,
    demo_with_faults_events_per_run: u64,
    ratio_percent: u64,
}

/// Measures.
pub(super) fn execute(arguments: &BenchArguments) -> Report {
    let bare_before = bare_loop(arguments.time / 2);
    let default_draw = runs(arguments.time, Scenario::draw);
    let demo = runs(arguments.time, engine::demo_with_faults);
    // Half of it before and half behind, so that a machine that gets busy meanwhile does not favour one side.
    let bare_behind = bare_loop(arguments.time / 2);
    let bare = Measured {
        runs: 1,
        events: bare_before.events + bare_behind.events,
        wall_time_us: bare_before.wall_time_us + bare_behind.wall_time_us,
    };
    let result = BenchResult {
        debug_assertions: cfg!(debug_assertions),
        bare_loop_events_per_second: bare.events_per_second(),
        default_draw_events_per_second: default_draw.events_per_second(),
        default_draw_seeds_per_second: default_draw.per_second(default_draw.runs),
        default_draw_events_per_run: default_draw.events / default_draw.runs.max(1),
        demo_with_faults_events_per_second: demo.events_per_second(),
        demo_with_faults_seeds_per_second: demo.per_second(demo.runs),
        demo_with_faults_events_per_run: demo.events / demo.runs.max(1),
        ratio_percent: default_draw.events_per_second() * 100 / bare.events_per_second().max(1),
        bare_loop: bare,
        default_draw,
        demo_with_faults: demo,
    };
    Report::new(text(&result), &result, true)
}

fn text(result: &BenchResult) -> String {
    let line = |name: &str, events: u64, seeds: u64, per_run: u64| {
        format!(
            "{name:<18} {:>12} events/s  {:>7} seeds/s  {:>7} events per run\n",
            grouped(events),
            grouped(seeds),
            grouped(per_run)
        )
    };
    let mut text = "one core, all checks and the trace hash on".to_owned();
    text.push_str(if result.debug_assertions { ", debug assertions on\n" } else { "\n" });
    text.push_str(&format!(
        "{:<18} {:>12} events/s\n",
        "bare event loop",
        grouped(result.bare_loop_events_per_second)
    ));
    text.push_str(&line(
        "default draw",
        result.default_draw_events_per_second,
        result.default_draw_seeds_per_second,
        result.default_draw_events_per_run,
    ));
    text.push_str(&line(
        "demo with faults",
        result.demo_with_faults_events_per_second,
        result.demo_with_faults_seeds_per_second,
        result.demo_with_faults_events_per_run,
    ));
    text.push_str(&format!("the default draw runs at {} % of the bare loop\n", result.ratio_percent));
    text
}

fn bare_loop(time: Duration) -> Measured {
    let mut bare = BareLoop::new(0);
    let clock = Stopwatch::start();
    while clock.elapsed() < time {
        bare.run(BARE_BATCH);
    }
    measured(1, bare.handled(), clock)
}

fn runs(time: Duration, scenario: impl Fn(u64) -> Scenario) -> Measured {
    let (mut seed, mut events) = (0, 0);
    let clock = Stopwatch::start();
    while clock.elapsed() < time || seed == 0 {
        events += engine::run_one(&scenario(seed), seed).steps;
        seed += 1;
    }
    measured(seed, events, clock)
}

fn measured(runs: u64, events: u64, clock: Stopwatch) -> Measured {
    let wall_time_us = u64::try_from(clock.elapsed().as_micros()).unwrap_or(u64::MAX);
    Measured { runs, events, wall_time_us }
}
