//! A fork and a replay are the same world: searches fork because it is fast, and are right because of this.

use splitrace_sim::choices::{Choices, SeedChoices};
use splitrace_sim::explore::gateway::{GatewayWitness, Shape, filter_of};
use splitrace_sim::explore::{Path, State, replay};
use splitrace_sim::scenario::Scenario;
use splitrace_sim::world::World;
use splitrace_sim::world::fingerprinter::Fingerprinter;
use std::collections::BTreeSet;

fn timed_fingerprint(world: &World) -> u128 {
    let mut hasher = Fingerprinter::new();
    world.fingerprint(&mut hasher);
    hasher.value()
}

/// Calls `at` with every state and a path to it, each reached by forking only.
fn for_each_state(shape: &Shape, at: &mut dyn FnMut(&State<GatewayWitness>, &Path)) -> usize {
    let filter = filter_of(shape);
    let mut known = BTreeSet::new();
    let mut stack = vec![(shape.start(), Path::new())];
    while let Some((state, path)) = stack.pop() {
        if !known.insert(state.fingerprint(&filter)) {
            continue;
        }
        at(&state, &path);
        for key in state.branches(&filter) {
            let mut fork = state.clone();
            fork.take(key, &filter);
            stack.push((fork, path.iter().copied().chain([key]).collect()));
        }
    }
    known.len()
}

#[test]
fn at_every_state_a_fork_equals_the_replay_of_its_prefix() {
    let shape = Shape::LITMUS_OF_FEWEST_ORDERS;
    let (start, filter) = (shape.start(), filter_of(&shape));
    let states = for_each_state(&shape, &mut |forked, path| {
        let replayed = replay(&start, path, &filter);
        assert_eq!(replayed.fingerprint(&filter), forked.fingerprint(&filter));
        assert_eq!(timed_fingerprint(&replayed.world), timed_fingerprint(&forked.world));
        assert_eq!(replayed.world.judge().trace_hash(), forked.world.judge().trace_hash());
    });
    assert!(states > 500, "{states}");
}

#[test]
fn a_replay_from_the_very_beginning_gives_the_same_too() {
    let shape = Shape { failures: 0, ..Shape::LITMUS_OF_FEWER_ORDERS };
    let filter = filter_of(&shape);
    let states = for_each_state(&shape, &mut |forked, path| {
        let replayed = replay(&shape.start(), path, &filter);
        assert_eq!(replayed.fingerprint(&filter), forked.fingerprint(&filter));
        assert_eq!(timed_fingerprint(&replayed.world), timed_fingerprint(&forked.world));
    });
    assert!(states > 100, "{states}");
}

#[test]
fn a_fork_leaves_what_it_was_forked_from_alone() {
    let shape = Shape::WITHOUT_FAILURE;
    let filter = filter_of(&shape);
    let start = shape.start();
    let before = (start.fingerprint(&filter), timed_fingerprint(&start.world));
    for key in start.branches(&filter) {
        let mut fork = start.clone();
        fork.take(key, &filter);
        assert_ne!(fork.fingerprint(&filter), before.0, "a branch leads somewhere");
    }
    assert_eq!((start.fingerprint(&filter), timed_fingerprint(&start.world)), before);
}

#[test]
fn independent_steps_in_either_order_lead_to_one_state() {
    let shape = Shape::LITMUS;
    let filter = filter_of(&shape);
    let start = shape.start();
    let mut commuting = 0;
    let branches = start.branches(&filter);
    for first in &branches {
        for second in &branches {
            let mut ends = [[*first, *second], [*second, *first]].map(|order| {
                let mut state = start.clone();
                for key in order {
                    if state.branches(&filter).contains(&key) {
                        state.take(key, &filter);
                    }
                }
                state.fingerprint(&filter)
            });
            ends.sort_unstable();
            commuting += usize::from(first != second && ends[0] == ends[1]);
        }
    }
    assert!(commuting > 0, "at least two of the first steps have nothing to do with each other");
}

/// Steps by the latency queue until the end or so many steps.
fn run(world: &mut World, choices: &mut dyn Choices, steps: usize) {
    for _ in 0..steps {
        let Some(key) = world.next_by_latency() else { return };
        world.step(key, choices);
    }
}

#[test]
fn a_whole_world_forked_in_the_middle_of_its_faults_goes_on_alike() {
    for seed in 0..6 {
        let scenario = Scenario::draw(seed);
        let mut choices = SeedChoices::new(seed);
        let mut world = World::new(&scenario, &mut choices);
        run(&mut world, &mut choices, 1_500);
        let (mut forked, mut forked_choices) = (world.clone(), choices.clone());
        assert_eq!(timed_fingerprint(&forked), timed_fingerprint(&world));
        run(&mut forked, &mut forked_choices, 1_500);
        let untouched = timed_fingerprint(&world);
        run(&mut world, &mut choices, 1_500);
        assert_ne!(untouched, timed_fingerprint(&world), "seed {seed} still runs");
        assert_eq!(timed_fingerprint(&forked), timed_fingerprint(&world), "seed {seed}");
        assert_eq!(forked.judge().trace_hash(), world.judge().trace_hash(), "seed {seed}");
    }
}
