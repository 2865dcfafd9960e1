//! `splitrace benchmark`: how soon the search finds each bug of the registry.

use super::campaign::with_quiet_panics;
use super::interrupts::Interrupts;
use super::stopwatch::Stopwatch;
use crate::arguments::BenchmarkArguments;
use crate::benchmark::{
    Benchmark, CAMPAIGN_STRIDE, Score, Searched, defects, demonstrated, millis, score, search, shrunk_length,
    text,
};
use crate::engine::Defect;
use crate::error::CommandError;
use crate::report::Report;
use indicatif::{ProgressBar, ProgressDrawTarget};
use std::io::IsTerminal;
use std::num::NonZero;

/// A find is shrunk in at most so many runs.
const SHRINK_RUNS_MAX: u32 = 400;

/// Runs the benchmark.
pub(super) fn execute(arguments: &BenchmarkArguments) -> Result<Report, CommandError> {
    let interrupts = Interrupts::listen(2, || {})?;
    let defects = if arguments.defects.is_empty() { defects() } else { arguments.defects.clone() };
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let jobs = arguments.jobs.unwrap_or_else(|| u32::try_from(cores()).unwrap_or(1));
    let bar = ProgressBar::new(defects.len() as u64);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let mut scores: Vec<Score> = Vec::new();
    with_quiet_panics(|| {
        for defect in defects {
            bar.set_message(defect.entry().id);
            scores.extend(measure(defect, arguments, jobs, &interrupts));
            bar.inc(1);
        }
    });
    bar.finish_and_clear();
    let benchmark = Benchmark { budget_ms: millis(arguments.budget), jobs, scores };
    let report = Report::new(text(&benchmark), &benchmark, true);
    Ok(if interrupts.count() > 0 { report.with_interruption() } else { report })
}

/// One defect's score; nothing when it was interrupted, since a half of it would look like a miss.
fn measure(
    defect: Defect,
    arguments: &BenchmarkArguments,
    jobs: u32,
    interrupts: &Interrupts,
) -> Option<Score> {
    let searched: Vec<Searched> = (0..u64::from(arguments.campaigns))
        .map(|campaign| {
            let clock = Stopwatch::start();
            let is_over = || interrupts.count() > 0 || clock.elapsed() >= arguments.budget;
            search(defect, campaign * CAMPAIGN_STRIDE, jobs, &is_over, &|| clock.elapsed())
        })
        .collect();
    let first = searched.iter().find_map(|one| one.find.as_ref());
    let shrunk = first.and_then(|find| shrunk_length(defect, find, SHRINK_RUNS_MAX));
    (interrupts.count() == 0).then(|| score(defect, demonstrated(defect), &searched, shrunk))
}
