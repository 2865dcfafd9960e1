//! Shrinking: which few of a failing run's choices it takes.
//!
//! What is absent of a recording is benign, so every subset of it is a legal run. Pieces are taken away, halves first and
//! single choices last (Zeller and Hildebrandt's delta debugging, without its complements), for as long as the run still
//! fails in the way that was asked for. The scenario stays as it is.

use crate::choices::RecordedChoices;
use crate::run::{RunReport, run_recorded};
use crate::scenario::Scenario;

/// What shrinking came to.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The choices that are left.
    pub choices: RecordedChoices,
    /// How many runs it took.
    pub runs: u32,
}

/// Takes choices away while `still_fails` says so, in at most `runs_max` runs. What is left fails, if what was given does.
#[must_use]
pub fn shrink(
    scenario: &Scenario,
    choices: &RecordedChoices,
    still_fails: impl Fn(&RunReport) -> bool,
    runs_max: u32,
) -> Shrunk {
    let mut shrunk = Shrunk { choices: choices.clone(), runs: 0 };
    let mut piece = shrunk.choices.deviations.len().div_ceil(2);
    while piece > 0 && !shrunk.choices.deviations.is_empty() {
        let mut start = 0;
        let mut taken = false;
        while start < shrunk.choices.deviations.len() {
            if shrunk.runs >= runs_max {
                return shrunk;
            }
            let mut fewer = shrunk.choices.clone();
            let end = (start + piece).min(fewer.deviations.len());
            fewer.deviations.drain(start..end);
            shrunk.runs += 1;
            if still_fails(&run_recorded(scenario, &fewer)) {
                shrunk.choices = fewer;
                taken = true;
            } else {
                start = end;
            }
        }
        if piece == 1 && !taken {
            break;
        }
        piece = if piece == 1 { 1 } else { piece.div_ceil(2) };
    }
    debug_assert!(shrunk.choices.deviations.len() <= choices.deviations.len(), "shrinking adds nothing");
    shrunk
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::record_seed;
    use splitrace_invariants::Outcome;
    use splitrace_runtime::defects::{Defect, DefectSet};

    #[test]
    fn what_is_left_fails_in_the_same_way_and_needs_all_that_is_left() {
        let defective = |seed| {
            let mut scenario = Scenario::draw(seed);
            scenario.job.defects = DefectSet::NONE.with(Defect::GivenBackAtFailure);
            scenario
        };
        let is_violated = |report: &RunReport| matches!(report.outcome, Outcome::Violated(_));
        let found = |seed: &u64| is_violated(&record_seed(&defective(*seed), *seed));
        let seed = (0..500).find(found).expect("some seed finds it");
        let recorded = record_seed(&defective(seed), seed);
        let shrunk = shrink(&defective(seed), &recorded.choices, is_violated, 5_000);
        assert!(shrunk.choices.deviations.len() < recorded.choices.deviations.len() / 2);
        assert!(is_violated(&run_recorded(&defective(seed), &shrunk.choices)));
        for index in 0..shrunk.choices.deviations.len() {
            let mut fewer = shrunk.choices.clone();
            fewer.deviations.remove(index);
            assert!(!is_violated(&run_recorded(&defective(seed), &fewer)), "choice {index} is not needed");
        }
    }

    #[test]
    fn a_budget_of_no_runs_takes_nothing_away() {
        let recorded = record_seed(&Scenario::draw(1), 1);
        let shrunk = shrink(&Scenario::draw(1), &recorded.choices, |_| true, 0);
        assert_eq!((shrunk.choices, shrunk.runs), (recorded.choices, 0));
    }
}
