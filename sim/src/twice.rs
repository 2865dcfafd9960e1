//! D1: two runs of the same scenario and choices, and where their traces part.
//!
//! A trace that differs once may not differ the next time, so the pair that is told must be a pair that was seen: both
//! traces are kept whole, for as many pairs as it takes.

use crate::choices::Choices;
use crate::run::{RunReport, run_with};
use crate::scenario::Scenario;
use splitrace_invariants::{Divergence, Outcome, compare};
use splitrace_runtime::event::Event;

/// A pair of runs whose traces part.
#[derive(Clone, Debug)]
pub struct PartedRuns {
    /// The report of the first run; its outcome says where the two part.
    pub report: RunReport,
    /// The events of the first run.
    pub events: Vec<Event>,
    /// Where the two part.
    pub divergence: Divergence,
}

/// Runs pairs until the traces of one differ, at most so many.
///
/// `choices` gives the same choices at each call.
#[must_use]
pub fn first_divergence<C: Choices>(
    scenario: &Scenario,
    choices: impl Fn() -> C,
    pairs_max: u32,
) -> Option<PartedRuns> {
    (0..pairs_max).find_map(|_| {
        let (mut report, events) = traced(scenario, choices());
        let (_, others) = traced(scenario, choices());
        let divergence = compare(&events, &others)?;
        let violation = divergence.violation();
        report.outcome = Outcome::Violated(violation.clone());
        report.violations.insert(0, violation);
        debug_assert!(!report.is_success(), "a violated run is no success");
        Some(PartedRuns { report, events, divergence })
    })
}

fn traced(scenario: &Scenario, choices: impl Choices) -> (RunReport, Vec<Event>) {
    let mut events = Vec::new();
    let mut keep = |event: &Event| events.push(event.clone());
    let report = run_with(scenario, choices, Some(&mut keep));
    debug_assert!(report.event_count >= events.len() as u64, "what was seen was told");
    (report, events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::SeedChoices;
    use crate::run::run_seed;
    use splitrace_invariants::{Code, Subject};
    use splitrace_runtime::defects::{Defect, DefectSet};

    #[test]
    fn equal_runs_do_not_part() {
        assert!(first_divergence(&Scenario::draw(3), || SeedChoices::new(3), 3).is_none());
    }

    #[test]
    fn a_leaked_order_is_told_with_the_event_at_which_the_traces_part() {
        let leaking = |seed| {
            let mut scenario = Scenario::draw(seed);
            scenario.job.defects = DefectSet::NONE.with(Defect::HashMapOrderLeaks);
            scenario
        };
        let parted = |seed| first_divergence(&leaking(seed), || SeedChoices::new(seed), 4);
        let PartedRuns { report, events, divergence } = (0..20).find_map(parted).expect("some seed leaks");
        let Outcome::Violated(violation) = &report.outcome else { panic!("{:?}", report.outcome) };
        assert_eq!((violation.code, report.violations.first()), (Code::D1, Some(violation)));
        let Subject::TraceIndex(index) = violation.subject else { panic!("{:?}", violation.subject) };
        assert_eq!(divergence.left.as_ref(), events.get(index as usize));
        assert_ne!(divergence.left, divergence.right);
        assert!(violation.sentence.contains("against"), "{violation}");
        assert_eq!(run_seed(&Scenario::draw(0), 0).violations, []);
    }
}
