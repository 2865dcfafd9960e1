//! What `docs/findings.md` lists is what the campaign on Flink's profile finds: the first seed of each quirk, by an
//! invariant that its entry in the registry names.

use splitrace::arguments::Switches;
use splitrace::campaign::{Behind, FailureShape};
use splitrace::engine::{Scenario, ScenarioSource, Verdict, run_one};
use splitrace_runtime::defects::{Defect, Profile};
use std::fmt::Write;
use std::path::Path;

/// Each must be found in so many seeds of the default draw.
const SEEDS_MAX: u64 = 5_000;

/// The quirks that a user can trigger, in the order of the page.
const FINDINGS: [Defect; 8] = [
    Defect::AssignedInSnapshot,
    Defect::SplitAfterEndOfInputLost,
    Defect::SplitToFinishedTaskLost,
    Defect::EventAwaitedOnce,
    Defect::LatchBeforeCheck,
    Defect::DeadExecutionsAreSent,
    Defect::KnownReasonDropped,
    Defect::GlobalCommitterWaitsForAll,
];

fn verdict(scenario: &Scenario, seed: u64) -> Verdict {
    Verdict::of(&run_one(scenario, seed))
}

fn shape(verdict: &Verdict) -> FailureShape {
    FailureShape::new(&verdict.outcome, verdict.code.as_deref(), &verdict.sentence, &Behind::default())
}

/// Whether the failure does not come about without the quirk, and is one that its entry names.
fn is_due_to(quirk: Defect, found: &Verdict, scenario: &Scenario, seed: u64) -> bool {
    let names = found.code.as_deref().is_some_and(|code| quirk.entry().invariants.contains(&code));
    let mut without = scenario.clone();
    without.job.defects = scenario.job.defects.iter().filter(|defect| *defect != quirk).collect();
    names && shape(&verdict(&without, seed)) != shape(found)
}

/// A line for each quirk with its first seed.
fn first_finds() -> String {
    let switches = Switches { profile: Profile::Flink, ..Switches::default() };
    let source = ScenarioSource::new(None, &switches).expect("nothing is read");
    let mut first = [const { None }; FINDINGS.len()];
    for seed in 0..SEEDS_MAX {
        let scenario = source.scenario(seed);
        let found = verdict(&scenario, seed);
        if found.clean {
            continue;
        }
        for (quirk, first) in FINDINGS.iter().zip(&mut first) {
            if first.is_none() && is_due_to(*quirk, &found, &scenario, seed) {
                *first = Some((seed, found.line()));
            }
        }
        if first.iter().all(Option::is_some) {
            break;
        }
    }
    let mut lines = String::new();
    for (quirk, first) in FINDINGS.iter().zip(first) {
        let (seed, line) = first.unwrap_or_else(|| panic!("{quirk} is not found in {SEEDS_MAX} seeds"));
        writeln!(lines, "{quirk}: seed {seed}\n    {line}").expect("a string takes all");
    }
    lines
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the variable decides what is written to the page, not what a run does"
)]
fn the_page_of_findings_lists_the_first_seed_of_each_quirk() {
    const FENCE: &str = "```text\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(FENCE).expect("the list is fenced");
    let (listed, after) = rest.split_once("```").expect("the fence ends");
    let found = first_finds();
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, format!("{before}{FENCE}{found}```{after}")).expect("the page can be written");
        return;
    }
    assert_eq!(listed, found, "INSTA_UPDATE=always cargo test -p splitrace --test findings writes it anew");
}
