//! The worker threads of a campaign.

use super::{Behind, Digest, Summary};
use crate::engine::Verdict;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which seeds; an open end is `u64::MAX`.
    pub seeds: Range<u64>,
    /// How many worker threads, at least 1.
    pub jobs: u32,
    /// How many seeds are remembered for each distinct failure.
    pub keep: usize,
}

/// What was run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Driven {
    /// What it found.
    pub summary: Summary,
    /// The seed behind the last one that was begun.
    pub end: u64,
    /// The seeds that were begun and stopped before their end, in order. Nothing is known about them.
    pub cut_short: Vec<u64>,
}

/// Runs seeds until the plan's end or until `stop` answers yes, which each worker asks before each seed. `run` answers
/// nothing for a seed that it was made to give up; `done` hears of every other one.
/// A panic of `run` is that seed's outcome: it costs no other seed anything.
pub fn drive(
    plan: &Plan,
    stop: &(impl Fn() -> bool + Sync),
    run: &(impl Fn(u64) -> Option<Digest> + Sync),
    done: &(impl Fn(&Digest) + Sync),
) -> Driven {
    debug_assert!(plan.jobs >= 1, "somebody must work");
    let next = AtomicU64::new(plan.seeds.start);
    let stopped = AtomicBool::new(false);
    let work = || {
        let (mut summary, mut cut_short) = (Summary::default(), Vec::new());
        while !stopped.load(Ordering::Relaxed) {
            if stop() {
                stopped.store(true, Ordering::Relaxed);
                break;
            }
            let Some(seed) = take(&next, plan.seeds.end) else { break };
            // A panic outside a run's own guard is the harness's; it must not take what others found with it.
            let guarded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(seed)));
            let Some(digest) = guarded.unwrap_or_else(|_| Some(harness_panicked(seed))) else {
                cut_short.push(seed);
                continue;
            };
            debug_assert!(digest.seed == seed, "a digest is of the seed that was asked for");
            done(&digest);
            summary.add(digest, plan.keep);
        }
        (summary, cut_short)
    };
    let (mut summary, mut cut_short) = (Summary::default(), Vec::new());
    let mut take_in = |(part, cut): (Summary, Vec<u64>)| {
        summary.merge(part, plan.keep);
        cut_short.extend(cut);
    };
    std::thread::scope(|scope| {
        // As many threads as the machine gives; this one works as well, so that there is always one.
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let workers: Vec<_> = (1..plan.jobs).map_while(spawn).collect();
        take_in(work());
        for worker in workers {
            take_in(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    let end = next.load(Ordering::Relaxed);
    cut_short.sort_unstable();
    let begun = summary.seeds + cut_short.len() as u64;
    debug_assert!(begun == end - plan.seeds.start, "what was begun is a range without holes");
    Driven { summary, end, cut_short }
}

fn harness_panicked(seed: u64) -> Digest {
    let sentence = "the harness panicked; its message stands on stderr".to_owned();
    let verdict = Verdict {
        outcome: "panicked".to_owned(),
        code: None,
        sentence,
        records: String::new(),
        clean: false,
    };
    Digest {
        seed,
        verdict,
        behind: Behind::default(),
        promise: "unknown".to_owned(),
        marks: Vec::new(),
        judgements: Vec::new(),
        events: 0,
        all_visible: false,
        full_promise: false,
    }
}

/// The next seed, if there is one.
fn take(next: &AtomicU64, end: u64) -> Option<u64> {
    let up = |seed: u64| (seed < end).then(|| seed + 1);
    next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, up).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64) -> Option<Digest> {
        let clean = !seed.is_multiple_of(7);
        let outcome = if clean { "passed" } else { "violated" }.to_owned();
        let sentence = format!("split-{seed} is lost");
        let verdict = Verdict { outcome, code: None, sentence, records: String::new(), clean };
        let promise = "exactly-once".to_owned();
        let (marks, judgements) = (Vec::new(), Vec::new());
        let events = seed;
        Some(Digest {
            seed,
            verdict,
            behind: Behind::default(),
            promise,
            marks,
            judgements,
            events,
            all_visible: clean,
            full_promise: true,
        })
    }

    fn plan(jobs: u32) -> Plan {
        Plan { seeds: 5..505, jobs, keep: 3 }
    }

    #[test]
    fn the_result_does_not_depend_on_the_number_of_jobs() {
        let one = drive(&plan(1), &|| false, &run, &|_| ());
        assert_eq!((one.end, one.summary.seeds), (505, 500));
        for jobs in [2, 3, 8] {
            assert_eq!(drive(&plan(jobs), &|| false, &run, &|_| ()), one, "{jobs} jobs");
        }
    }

    #[test]
    fn a_stop_keeps_what_was_found_and_leaves_no_hole() {
        let count = AtomicU64::new(0);
        let stop = || count.load(Ordering::Relaxed) >= 40;
        let counted = |_: &Digest| {
            count.fetch_add(1, Ordering::Relaxed);
        };
        let driven = drive(&plan(3), &stop, &run, &counted);
        assert_eq!(driven.summary.seeds, count.load(Ordering::Relaxed));
        assert!(
            (40..=42).contains(&driven.summary.seeds),
            "each of the others finishes what it has begun: {}",
            driven.summary.seeds
        );
        let to_there = Plan { seeds: 5..driven.end, ..plan(1) };
        assert_eq!(drive(&to_there, &|| false, &run, &|_| ()), driven);
    }

    #[test]
    fn a_seed_that_is_given_up_counts_for_nothing_and_is_named() {
        let run = |seed: u64| if seed.is_multiple_of(100) { None } else { run(seed) };
        let driven = drive(&plan(3), &|| false, &run, &|_| ());
        assert_eq!((driven.end, driven.summary.seeds), (505, 495));
        assert_eq!(driven.cut_short, [100, 200, 300, 400, 500]);
    }

    #[test]
    fn a_panic_of_the_harness_takes_nothing_with_it() {
        let run = |seed: u64| if seed == 9 { panic!("as planted") } else { run(seed) };
        let driven = drive(&plan(2), &|| false, &run, &|_| ());
        assert_eq!((driven.end, driven.summary.seeds), (505, 500));
    }

    #[test]
    fn an_open_end_runs_until_the_stop() {
        let count = AtomicU64::new(0);
        let stop = || count.fetch_add(1, Ordering::Relaxed) >= 10;
        let driven = drive(&Plan { seeds: 0..u64::MAX, jobs: 1, keep: 1 }, &stop, &run, &|_| ());
        assert_eq!(driven.end, 10);
    }
}
