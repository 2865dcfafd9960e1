//! `splitrace bench`: how fast one core is, beside a bare event loop in the same run.
//!
//! The parts take turns in short slices, so that a machine that gets busy meanwhile favours none of them. Seconds are
//! seconds of processor time where the system tells them: a core that others use as well is not a slower core.

use super::campaign::grouped;
use super::stopwatch::Stopwatch;
use crate::arguments::BenchArguments;
use crate::bench::bare_loop::BareLoop;
use crate::engine::{self, DemoMode, DemoOptions, Scenario};
use crate::report::Report;
use serde::Serialize;
use std::time::Duration;

/// How many events the bare loop handles between two looks at the clock.
const BARE_BATCH: u64 = 10_000;
/// In how many slices each part's time is cut.
const SLICES: u32 = 20;

/// One measured part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
struct Measured {
    runs: u64,
    /// Role steps: inputs handled by a role; for the bare loop, deliveries.
    events: u64,
    /// Events that the runs told, each of which the checkers and the trace hash took.
    told: u64,
    time_us: u64,
    events_per_second: u64,
    runs_per_second: u64,
    events_per_run: u64,
}

impl Measured {
    /// Adds what a slice did.
    fn add(&mut self, runs: u64, events: u64, told: u64, time: Duration) {
        self.runs += runs;
        self.events += events;
        self.told += told;
        self.time_us += u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let per_second = |count: u64| {
            let rate = u128::from(count) * 1_000_000 / u128::from(self.time_us.max(1));
            u64::try_from(rate).unwrap_or(u64::MAX)
        };
        (self.events_per_second, self.runs_per_second) = (per_second(self.events), per_second(self.runs));
        self.events_per_run = self.events / self.runs.max(1);
    }
}

/// The JSON of a bench.
#[derive(Debug, Serialize)]
struct BenchResult {
    debug_assertions: bool,
    /// Whether seconds are of processor time; otherwise they are of the wall clock.
    processor_time: bool,
    bare_loop: Measured,
    default_draw: Measured,
    demo: Measured,
    demo_with_faults: Measured,
    /// The demo's events per second by the bare loop's, in a hundredth.
    ratio_percent: u64,
}

/// Measures.
pub(super) fn execute(arguments: &BenchArguments) -> Report {
    let fails = Scenario::demo(DemoMode::Fail, DemoOptions::default());
    let slice = arguments.time / SLICES;
    let mut bare = BareLoop::new(0);
    let (mut bare_loop, mut default_draw) = (Measured::default(), Measured::default());
    let (mut demo, mut demo_with_faults) = (Measured::default(), Measured::default());
    for _ in 0..SLICES {
        run_bare(&mut bare_loop, &mut bare, slice);
        run_seeds(&mut default_draw, slice, Scenario::draw);
        run_seeds(&mut demo, slice, |_| fails.clone());
        run_seeds(&mut demo_with_faults, slice, engine::demo_with_faults);
    }
    let result = BenchResult {
        debug_assertions: cfg!(debug_assertions),
        processor_time: Stopwatch::start().tells_processor_time(),
        ratio_percent: demo.events_per_second * 100 / bare_loop.events_per_second.max(1),
        bare_loop,
        default_draw,
        demo,
        demo_with_faults,
    };
    Report::new(text(&result), &result, true)
}

fn text(result: &BenchResult) -> String {
    let mut text = "one core, all checks and the trace hash on".to_owned();
    text.push_str(if result.debug_assertions { ", debug assertions on" } else { "" });
    text.push_str(if result.processor_time { "; per second of processor time\n" } else { "\n" });
    let bare = grouped(result.bare_loop.events_per_second);
    text.push_str(&format!("{:<18} {bare:>12} events/s\n", "bare event loop"));
    let parts = [
        ("default draw", result.default_draw),
        ("demo, one failure", result.demo),
        ("demo with faults", result.demo_with_faults),
    ];
    for (name, part) in parts {
        text.push_str(&format!(
            "{name:<18} {:>12} events/s  {:>7} seeds/s  {:>7} events per run\n",
            grouped(part.events_per_second),
            grouped(part.runs_per_second),
            grouped(part.events_per_run)
        ));
    }
    text.push_str(&format!("the demo runs at {} % of the bare loop\n", result.ratio_percent));
    text
}

fn run_bare(measured: &mut Measured, bare: &mut BareLoop, slice: Duration) {
    let handled_before = bare.handled();
    let clock = Stopwatch::start();
    while clock.elapsed() < slice {
        bare.run(BARE_BATCH);
    }
    measured.add(1, bare.handled() - handled_before, 0, clock.processor_time());
}

fn run_seeds(measured: &mut Measured, slice: Duration, scenario: impl Fn(u64) -> Scenario) {
    let first_seed = measured.runs;
    let (mut seed, mut events, mut told) = (first_seed, 0, 0);
    let clock = Stopwatch::start();
    while clock.elapsed() < slice || seed == first_seed {
        let report = engine::run_one(&scenario(seed), seed);
        events += report.role_steps;
        told += report.event_count;
        seed += 1;
    }
    measured.add(seed - first_seed, events, told, clock.processor_time());
}
