//! The gateway litmus, exhausted: every order of one checkpoint, two events, one abort and one reset, and the planted
//! defects of gateways found in it with a shortest path.

use splitrace_invariants::Code;
use splitrace_runtime::defects::Defect;
use splitrace_sim::explore::gateway::{GatewayWitness, Shape, filter_of, in_words, story};
use splitrace_sim::explore::{Exploration, Limits, State, enumerate, explore};
use std::collections::BTreeMap;
use std::fmt::Write;

const LIMITS: Limits = Limits { states_max: 100_000, depth_max: 40 };

/// What a search saw, as a snapshot keeps it: the numbers, and each outcome with the number of terminals that
/// have it.
fn told(shape: &Shape) -> (Exploration, String) {
    let (start, filter) = (shape.start(), filter_of(shape));
    let mut outcomes = BTreeMap::<String, usize>::new();
    let seen = explore(&start, LIMITS, &filter, &mut |state| {
        *outcomes.entry(state.witness.to_string()).or_default() += 1;
        GatewayWitness::judge_end(state)
    });
    let mut text = format!(
        "{} states, {} transitions, {} terminals, deepest {}, {} paths, exhausted: {}, violations: {}\n",
        seen.states.len(),
        seen.transitions,
        seen.terminals,
        seen.deepest,
        seen.paths,
        seen.exhausted,
        seen.violations.len()
    );
    for (outcome, count) in outcomes {
        writeln!(text, "{count:>4} {outcome}").expect("a string takes all");
    }
    (seen, text)
}

fn assert_sound(shape: &Shape) -> String {
    let (seen, text) = told(shape);
    if let Some((path, violation)) = seen.violations.first() {
        panic!("{violation}\n{}", story(shape, &shape.start(), path));
    }
    assert!(
        seen.exhausted && text.contains("1 completed"),
        "nothing passes because it never happened:\n{text}"
    );
    text
}

#[test]
fn every_order_with_an_abort_and_a_reset_is_sound() {
    insta::assert_snapshot!(assert_sound(&Shape::LITMUS));
}

#[test]
fn every_order_without_a_failure_is_sound() {
    insta::assert_snapshot!(assert_sound(&Shape::WITHOUT_FAILURE));
}

#[test]
fn a_second_checkpoint_behind_an_aborted_one_is_sound() {
    insta::assert_snapshot!(assert_sound(&Shape::TWO_CHECKPOINTS));
}

/// The search prunes what it knows; this walk knows nothing and replays every path from the start.
#[test]
fn the_number_of_states_does_not_depend_on_fingerprints_being_believed() {
    let fewest = Shape::LITMUS_OF_FEWEST_ORDERS;
    let without_failure = Shape { failures: 0, ..Shape::LITMUS_OF_FEWER_ORDERS };
    let defective = fewest.with(Defect::GatewayNeverCloses);
    for shape in [fewest, without_failure, defective] {
        let (seen, text) = told(&shape);
        let walked = enumerate(&shape.start(), &filter_of(&shape), 10_000).expect("few enough paths");
        assert_eq!(walked.states.len(), seen.states.len(), "{text}");
        assert_eq!(walked.states, seen.states);
        assert_eq!(walked.paths, seen.paths, "counted over the graph and one by one");
        assert!(walked.paths > seen.states.len() as u128, "without pruning there is more to walk");
    }
}

/// The same walk over a shape that loses no order: about a million paths, so it is for the night, optimised.
#[test]
#[ignore = "takes minutes; ci/nightly.sh runs it"]
fn the_number_of_states_is_the_same_without_pruning_in_every_order() {
    let shape = Shape::WITHOUT_FAILURE;
    let (seen, text) = told(&shape);
    let walked = enumerate(&shape.start(), &filter_of(&shape), 2_000_000).expect("few enough paths");
    assert_eq!((walked.states.len(), walked.paths), (seen.states.len(), seen.paths), "{text}");
    assert_eq!(walked.states, seen.states);
}

#[test]
fn gateways_that_never_close_are_found() {
    insta::assert_snapshot!(found(Defect::GatewayNeverCloses, Code::S2));
}

#[test]
fn gateways_that_open_at_the_injection_are_found() {
    insta::assert_snapshot!(found(Defect::GatewayOpensAtInjection, Code::S2));
}

#[test]
fn gateways_that_stay_closed_after_an_abort_are_found() {
    insta::assert_snapshot!(found(Defect::GatewayStaysClosedOnAbort, Code::S4));
}

/// The sentence and the story of a shortest path.
fn found(defect: Defect, code: Code) -> String {
    let shape = Shape::WITHOUT_FAILURE.with(defect);
    let (seen, _) = told(&shape);
    let (path, violation) = seen.violations.first().expect("the defect is reached");
    assert_eq!(violation.code, code);
    assert!(
        defect.entry().invariants.contains(&code.to_string().as_str()),
        "found by one that its entry names"
    );
    let shortest = seen.violations.iter().map(|(path, _)| path.len()).min();
    assert_eq!(Some(path.len()), shortest, "breadth comes first");
    format!("{violation}\n{}\n", story(&shape, &shape.start(), path))
}

/// Takes the first branch whose words contain these.
fn take(shape: &Shape, state: &mut State<GatewayWitness>, words: &str) {
    let filter = filter_of(shape);
    let branches = state.branches(&filter);
    let enabled = state.world.enabled();
    let wanted = enabled
        .iter()
        .find(|enabled| {
            branches.contains(&enabled.key) && in_words(&state.world, enabled.item).contains(words)
        })
        .unwrap_or_else(|| panic!("no branch says '{words}'"))
        .key;
    state.take(wanted, &filter);
}

#[test]
fn the_reset_between_mark_and_close_is_among_the_orders() {
    let shape = Shape::LITMUS;
    let mut state = shape.start();
    take(&shape, &mut state, "checkpoint interval is over");
    take(&shape, &mut state, "a task throws");
    take(&shape, &mut state, "is Failed");
    take(&shape, &mut state, "restart delay is over");
    assert!(state.witness.to_string().contains("1 aborted"), "{}", state.witness);
    // The new attempt runs, and only now comes the coordinator's answer to the mark, for a checkpoint that is gone.
    take(&shape, &mut state, "source-coordinator operator-1 takes a turn");
    take(&shape, &mut state, "is to send its events");
    take(&shape, &mut state, "for subtask 0 #1");
    assert!(state.witness.to_string().contains("subtask 0 #1: event"), "{}", state.witness);
}
