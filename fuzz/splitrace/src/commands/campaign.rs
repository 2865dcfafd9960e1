//! `splitrace campaign`: many seeds, what they exercised, and each distinct failure with one seed.

mod files;
mod text;

use super::stopwatch::Stopwatch;
use crate::arguments::CampaignArguments;
use crate::campaign::{Digest, FailureShape, Plan, Progress, SEEDS_MIN, Summary, drive, shortfalls};
use crate::engine::{self, ScenarioSource, Verdict};
use crate::error::CommandError;
use crate::parse::SeedRange;
use crate::report::Report;
use files::Folder;
use serde::Serialize;
use splitrace_runtime::defects::Defect;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
pub(super) use text::grouped;

/// Without `--seeds` and `--time`.
const DEFAULT_SEEDS: SeedRange = SeedRange { start: 0, end: 2_000 };

/// One in so many seeds is run a second time, from its recorded choices: D1 compares two runs.
const TWICE_EVERY: u64 = 16;

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

/// Whether a defect was found, in JSON.
#[derive(Debug, Serialize)]
struct DefectResult {
    id: &'static str,
    found: bool,
    by: Vec<String>,
    seeds: u64,
    first_seed: Option<u64>,
}

/// A campaign in JSON.
#[derive(Debug, Serialize)]
struct CampaignResult {
    first_seed: u64,
    end_seed: u64,
    interrupted: bool,
    wall_time_ms: u64,
    seeds_per_second: u64,
    events_per_second: u64,
    events_per_run: u64,
    summary: Summary,
    failed: u64,
    failures: Vec<FailureResult>,
    defects: Vec<DefectResult>,
    shortfalls: Vec<String>,
    judged_for_tameness: bool,
    files: Vec<String>,
    file_errors: Vec<String>,
}

/// Runs a campaign.
pub(super) fn execute(arguments: &CampaignArguments) -> Result<Report, CommandError> {
    let source = ScenarioSource::new(arguments.scenario.as_deref(), &arguments.defects)?;
    let folder = arguments.out.as_deref().map(Folder::open).transpose()?;
    let interrupted = listen_for_interrupt()?;
    let jobs = arguments.jobs.unwrap_or_else(|| {
        std::thread::available_parallelism()
            .map_or(1, |cores| u32::try_from(NonZero::get(cores)).unwrap_or(1))
    });
    let seeds = seeds(arguments);
    let plan = Plan { seeds: seeds.start..seeds.end, jobs, keep: arguments.keep };
    let progress = Progress::new(arguments.time.is_none().then(|| seeds.count()));
    let clock = Stopwatch::start();
    let over =
        || interrupted.load(Ordering::Relaxed) || arguments.time.is_some_and(|time| clock.elapsed() >= time);
    let twice_every = if arguments.defects.contains(&Defect::HashMapOrderLeaks) { 1 } else { TWICE_EVERY };
    let driven = with_quiet_panics(|| {
        drive(&plan, &over, &|seed| digest(&source, seed, twice_every), &|digest| {
            progress.seed_done(digest.verdict.clean);
        })
    });
    let wall_time = clock.elapsed();
    progress.finish();

    let mut result = CampaignResult {
        first_seed: seeds.start,
        end_seed: driven.end,
        interrupted: interrupted.load(Ordering::Relaxed),
        wall_time_ms: u64::try_from(wall_time.as_millis()).unwrap_or(u64::MAX),
        seeds_per_second: per_second(driven.summary.seeds, wall_time),
        events_per_second: per_second(driven.summary.steps, wall_time),
        events_per_run: driven.summary.steps / driven.summary.seeds.max(1),
        failed: driven.summary.failed(),
        failures: failures(&driven.summary, arguments),
        defects: arguments.defects.iter().map(|defect| judged(*defect, &driven.summary)).collect(),
        shortfalls: Vec::new(),
        judged_for_tameness: false,
        files: Vec::new(),
        file_errors: Vec::new(),
        summary: driven.summary,
    };
    if arguments.scenario.is_none() && arguments.defects.is_empty() && result.summary.seeds >= SEEDS_MIN {
        result.judged_for_tameness = true;
        result.shortfalls = shortfalls(&result.summary);
    }
    if let Some(folder) = &folder {
        write_files(folder, &source, &mut result);
    }
    let clean = result.failures.is_empty() && result.shortfalls.is_empty();
    let report = Report::new(text::text(&result), &result, clean);
    Ok(if result.file_errors.is_empty() { report } else { report.with_wrong_input() })
}

/// A run that panics is an outcome and is counted as one. The first says on stderr where; a thousand more would only
/// bury the progress bar.
fn with_quiet_panics<T>(work: impl FnOnce() -> T) -> T {
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

/// Runs a seed, some of them twice.
fn digest(source: &ScenarioSource, seed: u64, twice_every: u64) -> Digest {
    let scenario = source.scenario(seed);
    let twice = seed.is_multiple_of(twice_every);
    let report = if twice { engine::record(&scenario, seed) } else { engine::run_one(&scenario, seed) };
    let mut verdict = Verdict::of(&report);
    if verdict.clean && twice {
        let again = engine::run_again(&scenario, &report.choices);
        if again.trace_hash != report.trace_hash {
            verdict = Verdict {
                outcome: "violated".to_owned(),
                code: Some("D1".to_owned()),
                sentence: "the same scenario and choices gave two different traces".to_owned(),
                records: String::new(),
                clean: false,
            };
        }
    }
    Digest {
        seed,
        promise: engine::promise_line(&report),
        full_promise: engine::is_full_promise(&report),
        marks: engine::marks(&report),
        steps: report.steps,
        all_visible: report.records.duplicates == 0 && report.records.missing == 0,
        verdict,
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
            replay: super::run::replay_command(seed, arguments.scenario.as_deref(), &arguments.defects),
        }
    };
    let mut failures: Vec<FailureResult> = summary.failures.iter().map(result).collect();
    failures.sort_by_key(|failure| failure.seed);
    failures
}

/// A defect counts as found only by an invariant that its registry entry names.
fn judged(defect: Defect, summary: &Summary) -> DefectResult {
    let entry = defect.entry();
    let names =
        |shape: &FailureShape| shape.code.as_deref().is_some_and(|code| entry.invariants.contains(&code));
    let by: Vec<_> = summary.failures.iter().filter(|(shape, _)| names(shape)).collect();
    let mut codes: Vec<String> = by.iter().map(|(shape, _)| shape.name()).collect();
    codes.dedup();
    DefectResult {
        id: entry.id,
        found: !by.is_empty(),
        by: codes,
        seeds: by.iter().map(|(_, failure)| failure.count).sum(),
        first_seed: by.iter().map(|(_, failure)| failure.seeds[0]).min(),
    }
}

/// Runs what is kept once more and writes it. A run is determined by its seed, so nothing large had to be
/// kept.
fn write_files(folder: &Folder, source: &ScenarioSource, result: &mut CampaignResult) {
    let seeds: std::collections::BTreeSet<u64> =
        result.summary.failures.values().flat_map(|failure| failure.seeds.iter().copied()).collect();
    for seed in seeds {
        let scenario = source.scenario(seed);
        let file = engine::replay_file(&scenario, seed);
        match folder.write_new(seed, &file) {
            Ok(path) => result.files.push(path.display().to_string()),
            Err(error) => result.file_errors.push(error.to_string()),
        }
    }
}

/// A flag that Ctrl-C raises. A second Ctrl-C ends the process at once, as the handler is never asked again.
fn listen_for_interrupt() -> Result<Arc<AtomicBool>, CommandError> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let handler = move || {
        if raised.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    match ctrlc::try_set_handler(handler) {
        // Somebody else listens already, as when a test runs two campaigns in one process.
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(flag),
        Err(error) => Err(CommandError::NoInterruptHandler(error)),
    }
}

fn per_second(count: u64, time: Duration) -> u64 {
    let per_second = u128::from(count) * 1_000_000 / time.as_micros().max(1);
    u64::try_from(per_second).unwrap_or(u64::MAX)
}
