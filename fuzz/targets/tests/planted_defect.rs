//! The test of the tester: bytes find a planted defect. The target itself never fails, so that a fuzzer goes on looking
//! for smaller inputs' coverage; that something was found is asserted afterwards.

use splitrace_invariants::{Code, Outcome};
use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_sim::choices::ByteChoices;
use splitrace_sim::run::run_with;
use splitrace_sim::scenario::Scenario;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many inputs ran, and how many of them found it.
static TRIED: AtomicU64 = AtomicU64::new(0);
static FOUND: AtomicU64 = AtomicU64::new(0);

#[test]
fn bytes_find_a_tracker_that_returns_nothing() {
    // By itself the random engine makes at most 64 bytes, and the draw of the scenario eats them all.
    let long = bolero::generator::produce::<Vec<u8>>().with().len(0usize..4096);
    bolero::check!().with_generator(long).with_max_len(4096).with_iterations(300).for_each(|bytes| {
        let mut choices = ByteChoices::new(bytes);
        let mut scenario = Scenario::draw_from(&mut choices);
        scenario.job.defects = DefectSet::NONE.with(Defect::TrackerReturnsNothing);
        let outcome = run_with(&scenario, choices, None).outcome;
        TRIED.fetch_add(1, Ordering::Relaxed);
        if matches!(&outcome, Outcome::Violated(violation) if violation.code == Code::S1) {
            FOUND.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (tried, found) = (TRIED.load(Ordering::Relaxed), FOUND.load(Ordering::Relaxed));
    assert!(found >= 3, "{found} of {tried} inputs found it: too few to say that bytes reach it");
}
