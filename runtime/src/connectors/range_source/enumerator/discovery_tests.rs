//! What an enumerator makes of what its worker finds.

use super::discovery::{DISCOVERY, Discovered};
use super::tests::Bench;
use super::*;
use crate::config::{DiscoveryConfig, EnumeratorScript, SourceConfig};

const LOOKS: DiscoveryConfig = DiscoveryConfig {
    initial_delay_ns: 5,
    period_ns: Some(7),
    look_ns: 0,
    splits_per_look: 2,
    failing_of: 0,
    failures_tolerated: true,
};

fn bench(policy: AssignmentPolicy, discovery: DiscoveryConfig, registered: &[u32]) -> Bench {
    let plan = |plan: SourceConfig| SourceConfig { policy, discovery: Some(discovery), ..plan };
    Bench::planned(3, EnumeratorScript::NONE, registered, plan)
}

/// One look, whose result is handled at once.
fn look(bench: &mut Bench) -> Vec<String> {
    let result = bench.enumerator.run_async(DISCOVERY);
    bench.enumerator.handle_async_result(DISCOVERY, result, &mut bench.context).expect("it is tolerated");
    bench.said()
}

#[test]
fn who_asks_in_vain_waits_until_splits_are_found_or_none_can_come() {
    let mut bench = bench(AssignmentPolicy::Pull, LOOKS, &[0, 1]);
    assert_eq!([bench.request(0), bench.request(1)], [[""; 0]; 2], "nothing is known yet");
    assert_eq!(look(&mut bench), ["2 discovered", "[0] to 0", "[1] to 1"]);
    assert_eq!([bench.request(0), bench.request(1)], [[""; 0]; 2]);
    assert_eq!(look(&mut bench), ["1 discovered", "[2] to 0", "no more to 1"]);
    assert_eq!(bench.request(0), ["no more to 0"]);
    assert_eq!(look(&mut bench), [""; 0], "there is nothing left to find");
}

#[test]
fn who_has_failed_since_it_asked_gets_nothing_and_the_split_waits() {
    let mut bench = bench(AssignmentPolicy::Pull, LOOKS, &[0]);
    bench.request(0);
    bench.context.registered.clear();
    assert_eq!(look(&mut bench), ["2 discovered"]);
    assert_eq!(bench.snapshot(1).0, [0, 1]);
    bench.context.registered.push(0);
    bench.enumerator.add_reader(SubtaskIndex(0), vec![], &mut bench.context).expect("it is new");
    assert_eq!(bench.request(0), ["[0] to 0"]);
}

#[test]
fn of_two_looks_that_began_at_one_place_one_counts() {
    let mut bench = bench(AssignmentPolicy::Pull, LOOKS, &[]);
    let results = [bench.enumerator.run_async(DISCOVERY), bench.enumerator.run_async(DISCOVERY)];
    assert_eq!(results[0], Ok(Discovered { from: 0, count: 2 }.encode()));
    assert_eq!(bench.snapshot(1).0, [0; 0], "what is under way is in no state");
    for result in results {
        bench.enumerator.handle_async_result(DISCOVERY, result, &mut bench.context).expect("two numbers");
    }
    assert_eq!((bench.said().len(), bench.snapshot(2).0), (1, vec![0, 1]));
}

#[test]
fn a_restored_enumerator_looks_on_where_its_state_ends() {
    let mut bench = bench(AssignmentPolicy::Pull, LOOKS, &[]);
    look(&mut bench);
    let (held, discovered) =
        bench.enumerator.snapshot_state(CheckpointId(1), &mut bench.context).expect("plain");
    let source = bench.enumerator.source;
    bench.enumerator = RangeEnumerator::restore(source, held, Some(discovered));
    bench.enumerator.start(&mut bench.context).expect("plain");
    assert_eq!(bench.said(), ["look after 5, each 7"]);
    assert_eq!((look(&mut bench).len(), bench.snapshot(2).0), (1, vec![0, 1, 2]));
    bench.enumerator = RangeEnumerator::restore(source, vec![], Some(3));
    bench.enumerator.start(&mut bench.context).expect("plain");
    bench.context.registered = vec![0];
    assert_eq!((bench.said(), bench.request(0)), (vec![], vec!["no more to 0".to_owned()]));
}

#[test]
fn a_failed_look_is_waited_out_or_thrown_on() {
    let once = DiscoveryConfig { period_ns: None, failing_of: 2, ..LOOKS };
    let mut tolerant = bench(AssignmentPolicy::Pull, once, &[]);
    assert_eq!(look(&mut tolerant), ["look after 5, once"], "nobody else would look again");
    assert_eq!(look(&mut tolerant), ["3 discovered"], "a single look finds all");
    let mut strict =
        bench(AssignmentPolicy::Pull, DiscoveryConfig { failures_tolerated: false, ..once }, &[]);
    let result = strict.enumerator.run_async(DISCOVERY);
    let thrown = strict.enumerator.handle_async_result(DISCOVERY, result, &mut strict.context);
    assert_eq!(thrown, Err(UserError::new("injected failure in look 1")));
}

#[test]
fn what_is_pushed_is_dealt_again_or_waits_for_who_is_missing() {
    let mut bench = bench(AssignmentPolicy::Push, LOOKS, &[0, 1, 2]);
    let register = |bench: &mut Bench, subtask| {
        bench.enumerator.add_reader(SubtaskIndex(subtask), vec![], &mut bench.context).expect("it is new");
        bench.said()
    };
    assert_eq!(register(&mut bench, 2), [""; 0], "nothing is known yet, and more will come");
    assert_eq!(look(&mut bench), ["2 discovered", "[0] to 0", "[1] to 1"]);
    bench.context.registered = vec![0, 2];
    assert_eq!(look(&mut bench), ["1 discovered", "no more to 0", "no more to 2"]);
    bench.context.registered = vec![0, 1, 2];
    assert_eq!(register(&mut bench, 1), ["[2] to 1", "no more to 1"]);
}
