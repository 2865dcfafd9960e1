//! `splitrace bench`: how fast one core is, beside a bare event loop in the same run.
//!
//! The parts take turns in short slices, so that a machine that gets busy meanwhile favours none of them. Seconds are
//! seconds of processor time where the system tells them: a core that others use as well is not a slower core. With
//! `--runs` the work is fixed instead, so that instruction counts of two builds can be compared.

use super::campaign::grouped;
use super::stopwatch::Stopwatch;
use crate::arguments::BenchArguments;
use crate::engine::{self, DemoMode, DemoOptions, Scenario};
use crate::report::Report;
use serde::Serialize;
use splitrace_sim::yardstick::BareLoop;
use std::time::Duration;

/// How many events the bare loop handles between two looks at the clock.
const BARE_BATCH: u64 = 10_000;
/// In how many slices each part's work is cut.
const SLICES: u32 = 20;
/// The demo's events per second, at least.
const DEMO_EVENTS_BAR: u64 = 1_000_000;
/// The seeds per second of the demo with faults, at least.
const FAULT_SEEDS_BAR: u64 = 1_500;
/// The demo's events per second by the bare loop's, at least, in hundredths.
const RATIO_BAR: u64 = 10;

/// One measured part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
struct Measured {
    runs: u64,
    /// Messages that living processes took, and work done on them: see [`splitrace_sim::yardstick`].
    events: u64,
    /// Events that the runs told, each of which the checkers and the trace hash took; for the bare loop its messages.
    told: u64,
    time_us: u64,
    events_per_second: u64,
    told_per_second: u64,
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
        self.events_per_second = per_second(self.events);
        self.told_per_second = per_second(self.told);
        self.runs_per_second = per_second(self.runs);
        self.events_per_run = self.events / self.runs.max(1);
    }
}

/// What is owed, and whether it is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
struct Bar {
    name: &'static str,
    at_least: u64,
    measured: u64,
    reached: bool,
}

impl Bar {
    const fn new(name: &'static str, at_least: u64, measured: u64) -> Self {
        Self { name, at_least, measured, reached: measured >= at_least }
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
    bars: Vec<Bar>,
}

/// How long a slice goes on.
#[derive(Clone, Copy, Debug)]
enum Slice {
    For(Duration),
    Runs(u64),
}

impl Slice {
    fn goes_on(self, clock: Stopwatch, runs: u64) -> bool {
        match self {
            Self::For(time) => runs == 0 || clock.elapsed() < time,
            Self::Runs(count) => runs < count,
        }
    }
}

/// Measures.
pub(super) fn execute(arguments: &BenchArguments) -> Report {
    let fails = Scenario::demo(DemoMode::Fail, DemoOptions::default());
    let mut bare = BareLoop::new(0);
    let (mut bare_loop, mut default_draw) = (Measured::default(), Measured::default());
    let (mut demo, mut demo_with_faults) = (Measured::default(), Measured::default());
    for index in 0..SLICES {
        let slice = match arguments.runs {
            None => Slice::For(arguments.time / SLICES),
            Some(runs) => {
                let share = |until: u32| runs * u64::from(until) / u64::from(SLICES);
                Slice::Runs(share(index + 1) - share(index))
            }
        };
        run_bare(&mut bare_loop, &mut bare, slice);
        run_seeds(&mut default_draw, slice, Scenario::draw);
        run_seeds(&mut demo, slice, |_| fails.clone());
        run_seeds(&mut demo_with_faults, slice, engine::demo_with_faults);
    }
    let ratio = demo.events_per_second * 100 / bare_loop.events_per_second.max(1);
    let bars = vec![
        Bar::new("events/s of the demo", DEMO_EVENTS_BAR, demo.events_per_second),
        Bar::new("seeds/s of the demo with faults", FAULT_SEEDS_BAR, demo_with_faults.runs_per_second),
        Bar::new("% of the bare loop's events/s, the demo's", RATIO_BAR, ratio),
    ];
    let result = BenchResult {
        debug_assertions: cfg!(debug_assertions),
        processor_time: Stopwatch::start().tells_processor_time(),
        bare_loop,
        default_draw,
        demo,
        demo_with_faults,
        bars,
    };
    Report::new(text(&result), &result, true)
}

fn text(result: &BenchResult) -> String {
    let mut text = "one core, all checks and the trace hash on".to_owned();
    text.push_str(if result.debug_assertions { ", debug assertions on" } else { "" });
    text.push_str(if result.processor_time { "; per second of processor time\n" } else { "\n" });
    let bare = result.bare_loop;
    text.push_str(&format!(
        "{:<18} {:>12} events/s  {:>11} messages/s\n",
        "bare event loop",
        grouped(bare.events_per_second),
        grouped(bare.told_per_second)
    ));
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
    for bar in &result.bars {
        text.push_str(&format!(
            "{:<11} at least {:>9} {}: {}\n",
            if bar.reached { "reached" } else { "not reached" },
            grouped(bar.at_least),
            bar.name,
            grouped(bar.measured)
        ));
    }
    text
}

fn run_bare(measured: &mut Measured, bare: &mut BareLoop, slice: Slice) {
    let (events, messages) = (bare.events(), bare.messages());
    let clock = Stopwatch::start();
    let mut batches = 0;
    while slice.goes_on(clock, batches) {
        bare.run(BARE_BATCH);
        batches += 1;
    }
    measured.add(1, bare.events() - events, bare.messages() - messages, clock.processor_time());
}

fn run_seeds(measured: &mut Measured, slice: Slice, scenario: impl Fn(u64) -> Scenario) {
    let first_seed = measured.runs;
    let (mut seed, mut events, mut told) = (first_seed, 0, 0);
    let clock = Stopwatch::start();
    while slice.goes_on(clock, seed - first_seed) {
        let report = engine::run_one(&scenario(seed), seed);
        events += report.events;
        told += report.event_count;
        seed += 1;
    }
    measured.add(seed - first_seed, events, told, clock.processor_time());
}
