//! `splitrace campaign`: many seeds, what they exercised, and each distinct failure with one seed.

mod digest;
mod files;
mod found;
mod text;

use super::interrupts::Interrupts;
use super::stopwatch::Stopwatch;
use crate::arguments::CampaignArguments;
use crate::campaign::{
    Driven, FailureShape, Plan, Probe, Progress, SEEDS_MIN, Summary, drive, probes, shortfalls, silent,
};
use crate::engine::{Maker, ScenarioSource};
use crate::error::CommandError;
use crate::parse::SeedRange;
use crate::report::Report;
use digest::digest;
use files::Folder;
use found::DefectResult;
use serde::Serialize;
use splitrace_runtime::defects::Defect;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
pub(super) use text::grouped;

/// Without `--seeds` and `--time`.
const DEFAULT_SEEDS: SeedRange = SeedRange { start: 0, end: 2_000 };

/// One in so many seeds is run a second time, from its recorded choices: D1 compares two runs.
const TWICE_EVERY: u64 = 16;

/// When `--time` is up no seed is begun any more, and one that was begun has this long to come to its end: nearly all do,
/// so that next to nothing is thrown away.
const GRACE: Duration = Duration::from_secs(1);

/// A distinct failure in JSON.
#[derive(Debug, Serialize)]
struct FailureResult {
    #[serde(flatten)]
    shape: FailureShape,
    count: u64,
    seed: u64,
    first: String,
    replay: String,
}

/// A campaign in JSON.
#[derive(Debug, Serialize)]
struct CampaignResult {
    first_seed: u64,
    end_seed: u64,
    interrupted: bool,
    cut_short: Vec<u64>,
    wall_time_ms: u64,
    seeds_per_second: u64,
    /// Messages that living processes took, and inputs that roles handled.
    events_per_second: u64,
    /// The same, for one run.
    events_per_run: u64,
    summary: Summary,
    failed: u64,
    failures: Vec<FailureResult>,
    defects: Vec<DefectResult>,
    shortfalls: Vec<String>,
    /// How many probes there are.
    probes: usize,
    /// Those that never fired.
    silent_probes: Vec<Probe>,
    /// Whether one that is not rare is a failure.
    probes_required: bool,
    judged_for_tameness: bool,
    files: Vec<String>,
    files_left_out: u64,
    file_errors: Vec<String>,
}

/// Runs a campaign.
pub(super) fn execute(arguments: &CampaignArguments) -> Result<Report, CommandError> {
    let source = ScenarioSource::new(arguments.scenario.as_deref(), &arguments.switches)?;
    let folder = arguments.out.as_deref().map(Folder::open).transpose()?;
    // The first ends the runs where they are; what was found is told, and then written down. The second leaves out the
    // files that are not written yet, between two files and never inside one. The third ends the process, should a disk
    // or a terminal not let go of it.
    let interrupts = Interrupts::listen(3, || {})?;
    let seeds = seeds(arguments);
    let keep = usize::try_from(arguments.keep).unwrap_or(usize::MAX);
    let plan = Plan { seeds: seeds.start..seeds.end, jobs: jobs(arguments), keep };
    let progress = Progress::new(arguments.time.is_none().then(|| seeds.count()));
    let clock = Stopwatch::start();
    let driven =
        with_quiet_panics(|| drive_until_over(arguments, &plan, &source, &interrupts, &progress, clock));
    let wall_time = clock.elapsed();
    progress.finish();

    let interrupted = interrupts.count() > 0;
    if let Some(time) = arguments.time
        && driven.summary.seeds == 0
        && !interrupted
    {
        return Err(CommandError::NothingRun { time });
    }
    let mut result = result_of(arguments, seeds.start, driven, wall_time);
    result.interrupted = interrupted;
    let summary = report(&result, text::text(&result));
    Ok(match folder {
        Some(folder) if !result.failures.is_empty() => summary.and_then(move || {
            // The Ctrl-C that ended the runs is not one that ends this.
            let stop = || interrupts.count() > 1;
            let written = files::write(&folder, &source, &result.summary, &stop);
            (result.files, result.file_errors) = (written.files, written.errors);
            result.files_left_out = written.left_out;
            result.interrupted |= written.left_out > 0;
            report(&result, text::files(&result))
        }),
        _ => summary,
    })
}

/// The worker threads' part of a campaign.
fn drive_until_over(
    arguments: &CampaignArguments,
    plan: &Plan,
    source: &ScenarioSource,
    interrupts: &Interrupts,
    progress: &Progress,
    clock: Stopwatch,
) -> Driven {
    let is_past = |grace| arguments.time.is_some_and(|time| clock.elapsed() >= time + grace);
    let begun = AtomicBool::new(false);
    let is_over = || interrupts.count() > 0 || (begun.load(Ordering::Relaxed) && is_past(Duration::ZERO));
    let stop = || interrupts.count() > 0 || is_past(GRACE);
    let twice_every = if arguments.switches.all().has(Defect::HashMapOrderLeaks) { 1 } else { TWICE_EVERY };
    let run = |seed| {
        begun.store(true, Ordering::Relaxed);
        digest(source, seed, twice_every, &stop)
    };
    drive(plan, &is_over, &run, &|digest| progress.seed_done(digest.verdict.clean))
}

fn result_of(
    arguments: &CampaignArguments,
    first_seed: u64,
    driven: Driven,
    wall_time: Duration,
) -> CampaignResult {
    let Driven { summary, end, cut_short } = driven;
    let switches = &arguments.switches;
    let is_swarm = arguments.scenario.is_none() && switches.maker == Maker::Swarm;
    let is_default_draw = is_swarm && switches.all().is_empty();
    let judged_for_tameness = is_default_draw && summary.seeds >= SEEDS_MIN;
    CampaignResult {
        first_seed,
        end_seed: end,
        interrupted: false,
        cut_short,
        wall_time_ms: u64::try_from(wall_time.as_millis()).unwrap_or(u64::MAX),
        seeds_per_second: per_second(summary.seeds, wall_time),
        events_per_second: per_second(summary.events, wall_time),
        events_per_run: summary.events / summary.seeds.max(1),
        failed: summary.failed(),
        failures: failures(&summary, arguments),
        defects: found::found(arguments.switches.all(), &summary),
        shortfalls: if judged_for_tameness { shortfalls(&summary) } else { Vec::new() },
        judged_for_tameness,
        probes: probes().len(),
        silent_probes: silent(&summary),
        probes_required: arguments.require_probes,
        files: Vec::new(),
        files_left_out: 0,
        file_errors: Vec::new(),
        summary,
    }
}

/// The result as it stands, with its exit code.
fn report(result: &CampaignResult, text: String) -> Report {
    let owed = result.probes_required && result.silent_probes.iter().any(|probe| !probe.is_rare);
    let clean = result.failures.is_empty() && result.shortfalls.is_empty() && !owed;
    let report = Report::new(text, result, clean);
    let report = if result.interrupted { report.with_interruption() } else { report };
    if result.file_errors.is_empty() { report } else { report.with_wrong_input() }
}

fn jobs(arguments: &CampaignArguments) -> u32 {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    arguments.jobs.unwrap_or_else(|| u32::try_from(cores()).unwrap_or(1))
}

/// A run that panics is an outcome and is counted as one. The first says on stderr where; a thousand more would only
/// bury the progress bar.
pub(super) fn with_quiet_panics<T>(work: impl FnOnce() -> T) -> T {
    let usual = std::panic::take_hook();
    let told = AtomicBool::new(false);
    std::panic::set_hook(Box::new(move |panic| {
        if !told.swap(true, Ordering::Relaxed) {
            crate::report::write_stderr(&format!("a run panicked (later ones are only counted): {panic}\n"));
        }
    }));
    let result = work();
    std::panic::set_hook(usual);
    result
}

fn seeds(arguments: &CampaignArguments) -> SeedRange {
    match (arguments.seeds, arguments.time) {
        (Some(seeds), _) => seeds,
        (None, None) => DEFAULT_SEEDS,
        (None, Some(_)) => SeedRange { start: arguments.first_seed.unwrap_or(0), end: u64::MAX },
    }
}

fn failures(summary: &Summary, arguments: &CampaignArguments) -> Vec<FailureResult> {
    let result = |(shape, failure): (&FailureShape, &crate::campaign::Failure)| {
        let seed = failure.seeds[0];
        FailureResult {
            shape: shape.clone(),
            count: failure.count,
            seed,
            first: failure.sentence.clone(),
            replay: super::run::replay_command(seed, arguments.scenario.as_deref(), &arguments.switches),
        }
    };
    let mut failures: Vec<FailureResult> = summary.failures.iter().map(result).collect();
    failures.sort_by_key(|failure| failure.seed);
    failures
}

fn per_second(count: u64, time: Duration) -> u64 {
    let per_second = u128::from(count) * 1_000_000 / time.as_micros().max(1);
    u64::try_from(per_second).unwrap_or(u64::MAX)
}
