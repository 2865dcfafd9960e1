//! One seed of a campaign: it is run, some seeds twice, and when it fails with several defects switched on, once more
//! without each of those that may be behind it.

use crate::campaign::{Digest, FailureShape};
use crate::engine::{self, Scenario, ScenarioSource, Stop, Verdict};
use splitrace_invariants::Code;
use splitrace_runtime::defects::{Defect, DefectSet};

/// Runs a seed. `None` when it was stopped before it was judged.
pub(super) fn digest(source: &ScenarioSource, seed: u64, twice_every: u64, stop: Stop<'_>) -> Option<Digest> {
    let scenario = source.scenario(seed);
    let twice = seed.is_multiple_of(twice_every);
    let report = if twice {
        engine::record_until(&scenario, seed, stop)
    } else {
        engine::run_until(&scenario, seed, stop)
    };
    if engine::is_interrupted(&report) {
        return None;
    }
    let mut verdict = Verdict::of(&report);
    let is_compared = verdict.clean && twice;
    if is_compared {
        let again = engine::run_again_until(&scenario, &report.choices, stop);
        if engine::is_interrupted(&again) {
            return None;
        }
        if again.trace_hash != report.trace_hash {
            verdict = two_traces();
        }
    }
    let needs = if verdict.clean { Vec::new() } else { needs(&scenario, seed, &verdict, stop) };
    Some(Digest {
        seed,
        needs,
        promise: engine::promise_line(&report),
        full_promise: engine::is_full_promise(&report),
        marks: engine::marks(&report),
        judgements: engine::judgements(&report, is_compared),
        events: report.events,
        all_visible: engine::is_all_visible(&report),
        verdict,
    })
}

fn two_traces() -> Verdict {
    Verdict {
        outcome: "violated".to_owned(),
        code: Some(Code::D1.to_string()),
        sentence: "the same scenario and choices gave two different traces".to_owned(),
        records: String::new(),
        clean: false,
    }
}

fn shape(verdict: &Verdict) -> FailureShape {
    FailureShape::new(&verdict.outcome, verdict.code.as_deref(), &verdict.sentence, &[])
}

/// Which of several defects a failure does not come about without: another failure may take its place. Only those are
/// tried whose entry names the violated invariant: taking away another one may shift a race so that the failure is missed,
/// which says nothing. One defect alone needs no trial. Nothing is said when the trials were stopped: the failure counts
/// all the same.
fn needs(scenario: &Scenario, seed: u64, verdict: &Verdict, stop: Stop<'_>) -> Vec<Defect> {
    let all = scenario.job.defects;
    let Some(code) = verdict.code.as_deref().filter(|_| all.iter().count() > 1) else { return Vec::new() };
    let suspects = all.iter().filter(|defect| defect.entry().invariants.contains(&code));
    let mut needed = Vec::new();
    for suspect in suspects {
        let mut without = scenario.clone();
        without.job.defects = all.iter().filter(|defect| *defect != suspect).collect::<DefectSet>();
        debug_assert!(!without.job.defects.has(suspect));
        let report = engine::run_until(&without, seed, stop);
        if engine::is_interrupted(&report) {
            return Vec::new();
        }
        if shape(&Verdict::of(&report)) != shape(verdict) {
            needed.push(suspect);
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Switches;
    use crate::engine::{DemoMode, DemoOptions};
    use splitrace_runtime::defects::Profile;

    #[test]
    fn of_two_defects_the_one_that_did_it_is_named() {
        let mut scenario = Scenario::demo(DemoMode::AssignInSnapshot, DemoOptions::default());
        let told = |scenario: &Scenario| {
            let verdict = Verdict::of(&engine::run_one(scenario, 0));
            (needs(scenario, 0, &verdict, &|| false), verdict.code)
        };
        assert_eq!(told(&scenario).0, [], "one alone needs no trial");
        // Both entries name the violated invariant, and only one of them matters here.
        scenario.job.defects = scenario.job.defects.with(Defect::EventAwaitedOnce);
        let (needed, code) = told(&scenario);
        assert!(
            Defect::EventAwaitedOnce.entry().invariants.contains(&code.expect("it is violated").as_str())
        );
        assert_eq!(needed, [Defect::AssignedInSnapshot]);
    }

    #[test]
    fn a_clean_seed_needs_nothing() {
        let switches = Switches { profile: Profile::Flink, defects: Vec::new() };
        let source = ScenarioSource::new(None, &switches).expect("nothing is read");
        let clean = (0..5).filter_map(|seed| digest(&source, seed, 1, &|| false));
        assert!(clean.filter(|digest| digest.verdict.clean).all(|digest| digest.needs.is_empty()));
    }
}
