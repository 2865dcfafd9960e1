//! Every demonstration, both ways: the honest protocol passes and the plan was carried out; with the defect an invariant
//! that its entry names is violated.

use splitrace_invariants::Outcome;
use splitrace_sim::demonstrations::Demonstration;

#[test]
fn the_honest_protocol_passes() {
    let failed: Vec<String> = Demonstration::all()
        .iter()
        .filter_map(|demonstration| {
            let report = demonstration.run_clean();
            let id = demonstration.defect;
            if !report.is_plan_carried_out() {
                let steps: Vec<String> = report.plan.iter().map(|step| format!("{step:?}")).collect();
                return Some(format!("{id}: its plan was not carried out: {}", steps.join("; ")));
            }
            let is_clean = matches!(report.outcome, Outcome::Passed | Outcome::Cancelled);
            (!is_clean).then(|| format!("{id}: {}", report.outcome))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_defect_is_found() {
    let missed: Vec<String> = Demonstration::all()
        .iter()
        .filter_map(|demonstration| {
            let (id, outcome) = (demonstration.defect, demonstration.run_defective().outcome);
            println!("{id}: {outcome}");
            (!demonstration.is_found()).then(|| format!("{id}: {outcome}"))
        })
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn no_defect_has_two_demonstrations() {
    let mut defects: Vec<_> = Demonstration::all().iter().map(|demonstration| demonstration.defect).collect();
    let count = defects.len();
    defects.sort_unstable();
    defects.dedup();
    assert_eq!(defects.len(), count);
}
