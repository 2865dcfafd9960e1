//! One seed of a campaign: it is run, some seeds twice, and when it fails with several defects switched on, once more
//! without each of those that may be behind it.

use crate::campaign::{Behind, Digest, FailureShape};
use crate::engine::{self, Scenario, ScenarioSource, Stop, Verdict};
use splitrace_invariants::Code;
use splitrace_invariants::outcome::Outcome;
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
    let behind = if verdict.clean { Behind::default() } else { behind(&scenario, seed, &verdict, stop) };
    Some(Digest {
        seed,
        behind,
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
    FailureShape::new(&verdict.outcome, verdict.code.as_deref(), &verdict.sentence, &Behind::default())
}

/// What a run violates that used up its steps; no checker says so, since those judge it at the end.
const LIVENESS: &str = "S4";

/// Which of several defects are behind a failure, which may give its place to another one without them. Only those are
/// tried whose entry names the violated invariant: taking away another one may shift a race so that the failure is missed,
/// which says nothing. One defect alone needs no trial. Nothing is said when the trials were stopped: the failure counts
/// all the same.
fn behind(scenario: &Scenario, seed: u64, verdict: &Verdict, stop: Stop<'_>) -> Behind {
    let all = scenario.job.defects;
    let has_no_end = verdict.outcome == Outcome::StepLimit { world_steps: 0 }.shape();
    let code = verdict.code.as_deref().or(has_no_end.then_some(LIVENESS));
    let Some(code) = code.filter(|_| all.iter().count() > 1) else { return Behind::default() };
    let suspects: Vec<Defect> =
        all.iter().filter(|defect| defect.entry().invariants.contains(&code)).collect();
    let is_gone_without = |taken: &[Defect]| {
        let mut without = scenario.clone();
        without.job.defects = all.iter().filter(|defect| !taken.contains(defect)).collect::<DefectSet>();
        let report = engine::run_until(&without, seed, stop);
        (!engine::is_interrupted(&report)).then(|| shape(&Verdict::of(&report)) != shape(verdict))
    };
    sort_out(&suspects, is_gone_without).unwrap_or_default()
}

/// Takes the suspects away one by one; and where none is missed, because another one does the same, all together, and
/// then gives back those that need not be away. `None` when a trial was stopped.
fn sort_out(suspects: &[Defect], is_gone_without: impl Fn(&[Defect]) -> Option<bool>) -> Option<Behind> {
    let mut behind = Behind::default();
    for suspect in suspects {
        if is_gone_without(&[*suspect])? {
            behind.each.push(*suspect);
        }
    }
    if !behind.each.is_empty() || suspects.len() < 2 || !is_gone_without(suspects)? {
        return Some(behind);
    }
    behind.one_of = suspects.to_vec();
    for suspect in suspects {
        let others: Vec<Defect> = behind.one_of.iter().copied().filter(|other| other != suspect).collect();
        if is_gone_without(&others)? {
            behind.one_of = others;
        }
    }
    debug_assert!(behind.one_of.len() > 1, "one alone was tried before");
    Some(behind)
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
            (behind(scenario, 0, &verdict, &|| false).each, verdict.code)
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
        let switches = Switches { profile: Profile::Flink, ..Switches::default() };
        let source = ScenarioSource::new(None, &switches).expect("nothing is read");
        let clean = (0..5).filter_map(|seed| digest(&source, seed, 1, &|| false));
        assert!(clean.filter(|digest| digest.verdict.clean).all(|digest| digest.behind == Behind::default()));
    }

    #[test]
    fn two_of_which_either_does_it_are_named_together() {
        use Defect::{AssignedInSnapshot, EventAwaitedOnce, LatchBeforeCheck};
        let suspects = [AssignedInSnapshot, EventAwaitedOnce, LatchBeforeCheck];
        let is_gone =
            |taken: &[Defect]| Some(taken.contains(&AssignedInSnapshot) && taken.contains(&LatchBeforeCheck));
        let told = sort_out(&suspects, is_gone).expect("nobody stops it");
        assert_eq!((told.each, told.one_of), (vec![], vec![AssignedInSnapshot, LatchBeforeCheck]));
        let told = sort_out(&suspects, |_| Some(false)).expect("nobody stops it");
        assert_eq!(told, Behind::default(), "none of them does it");
        assert_eq!(sort_out(&suspects, |_| None), None);
    }
}
