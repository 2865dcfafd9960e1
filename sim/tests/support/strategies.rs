//! proptest strategies for whole runs: a scenario, and the choices inside it.
//!
//! Everything shrinks towards the tame: few splits, few records, no faults. The choices are either a seed's or a list of
//! deviations from the benign default. A deviation is named by label and visit, never by its place in the list, so taking
//! one out moves no other: proptest's own list shrinker works. Every odds of the fault plan is on, if only one in many, so
//! that a deviation can always bring the fault; with a tiny odds the seeds stay tame. That the strategies live beside the
//! tests and not in the library keeps proptest out of its dependencies.

use proptest::prelude::*;
use splitrace_runtime::config::{AssignmentPolicy, NANOS_PER_MILLI, RegionScope, SinkKind};
use splitrace_runtime::event::{FaultKind, Window};
use splitrace_runtime::ids::ProcessId;
use splitrace_sim::choices::{BenignChoices, ChoiceKind, Label, RecordedChoice, RecordedChoices, Subject};
use splitrace_sim::scenario::{FaultConfig, NetworkSemantics, Odds, Scenario};

/// The choices of a run.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Few deviations from the benign default.
    Deviations(RecordedChoices),
    /// All that a seed says.
    Seed(u64),
}

impl Plan {
    /// How many choices shrinking left; a seed cannot be shrunk.
    pub fn size(&self) -> Option<usize> {
        match self {
            Self::Deviations(choices) => Some(choices.deviations.len()),
            Self::Seed(_) => None,
        }
    }
}

/// Small bounded jobs with every feature that matters to the protocol.
pub fn scenarios() -> impl Strategy<Value = Scenario> {
    let job = (1u32..=3, 1u32..=6, 0u64..=20, 1u32..=3, any::<[bool; 3]>(), 1u64..=5);
    let network = (0usize..3, any::<bool>());
    (job, network, faults()).prop_map(|(job, (semantics, serialise), faults)| {
        let (parallelism, splits, records, task_managers, [push, transactional, region], interval) = job;
        let mut scenario = Scenario::draw_from(BenignChoices);
        scenario.network.semantics = [
            NetworkSemantics::OrderedPerConnection,
            NetworkSemantics::Unordered,
            NetworkSemantics::UnorderedDuplicating,
        ][semantics];
        scenario.network.serialise = serialise;
        scenario.faults = faults;
        let job = &mut scenario.job;
        job.task_managers = task_managers;
        job.sink = if transactional { SinkKind::Transactional } else { SinkKind::Append };
        job.region = if region { RegionScope::Vertex } else { RegionScope::Subtask };
        let checkpointing = job.checkpointing.as_mut().expect("the benign draw has checkpoints");
        checkpointing.interval_ns = interval * 20 * NANOS_PER_MILLI;
        let vertex = &mut job.vertices[0];
        vertex.parallelism = parallelism;
        vertex.source.split_count = splits;
        vertex.source.records_per_split = records;
        vertex.source.policy = if push { AssignmentPolicy::Push } else { AssignmentPolicy::Pull };
        debug_assert_eq!(scenario.validate(), Ok(()));
        scenario
    })
}

/// What may break.
pub fn faults() -> impl Strategy<Value = FaultConfig> {
    let counts = (1u32..=4, 0u32..=2, 0u32..=2, 0u32..=2, 0u32..=1);
    let odds = [odds(30), odds(200), odds(15), odds(20), odds(3), odds(2)];
    (counts, odds, 1u64..=4, 1u32..=4).prop_map(|(counts, odds, length, batch_size_max)| {
        let (
            task_failures_max,
            task_manager_crashes_max,
            job_manager_crashes_max,
            partitions_max,
            store_crashes_max,
        ) = counts;
        let [frame, pause, outside, window, second, zombie] = odds;
        FaultConfig {
            heal_after_ns: 600 * NANOS_PER_MILLI,
            plan_until_ns: length * 50 * NANOS_PER_MILLI,
            task_failures_max,
            task_manager_crashes_max,
            job_manager_crashes_max,
            partitions_max,
            store_crashes_max,
            down_time_max_ns: 100 * NANOS_PER_MILLI,
            partition_max_ns: 400 * NANOS_PER_MILLI,
            frame,
            spike_max_ns: 100 * NANOS_PER_MILLI,
            pause,
            pause_max_ns: 40 * NANOS_PER_MILLI,
            outside,
            store_out_after_ns: None,
            window,
            window_favoured: None,
            second,
            zombie,
            zombie_max_ns: 150 * NANOS_PER_MILLI,
            batch_size_max,
            clock_skew_max_ns: 0,
            ..FaultConfig::NONE
        }
    })
}

/// One in a million, or one in about `denominator`.
fn odds(denominator: u32) -> impl Strategy<Value = Odds> {
    prop_oneof![Just(Odds::one_in(1_000_000)), (denominator..=4 * denominator).prop_map(Odds::one_in)]
}

/// The choices of a run.
pub fn plans() -> impl Strategy<Value = Plan> {
    let deviations = prop::collection::vec(deviation(), 0..40)
        .prop_map(|deviations| Plan::Deviations(RecordedChoices { deviations }));
    prop_oneof![2 => deviations, 1 => any::<u64>().prop_map(Plan::Seed)]
}

/// One choice that is not the benign default.
pub fn deviation() -> impl Strategy<Value = RecordedChoice> {
    let choice =
        |kind, subject, visit, value| RecordedChoice { label: Label::new(kind, subject), visit, value };
    prop_oneof![
        // A planned fault, on the grid of its times.
        4 => (planned(), 0u32..4, 1u64..2_000)
            .prop_map(move |(kind, visit, time)| choice(ChoiceKind::FaultTime, Subject::Fault(kind), visit, time)),
        2 => (planned(), 0u32..8, 1u64..6)
            .prop_map(move |(kind, visit, who)| choice(ChoiceKind::FaultTarget, Subject::Fault(kind), visit, who)),
        4 => (window(), 0u32..6, 1u64..=9)
            .prop_map(move |(at, visit, fault)| choice(ChoiceKind::WindowFault, Subject::Window(at), visit, fault)),
        3 => (process(), process(), 0u32..60, 1u64..=6).prop_map(move |(from, to, visit, fault)| {
            choice(ChoiceKind::FrameFault, Subject::Link(from, to), visit, fault)
        }),
        2 => (process(), 0u32..40, 1u64..=6).prop_map(move |(whose, visit, fault)| {
            choice(ChoiceKind::OutsideFault, Subject::Process(whose), visit, fault)
        }),
        1 => (0u32..3, 1u64..600)
            .prop_map(move |(visit, time)| choice(ChoiceKind::SecondFault, Subject::World, visit, time)),
        1 => (process(), 0u32..4, 1u64..=64)
            .prop_map(move |(whose, visit, time)| choice(ChoiceKind::ZombieTime, Subject::Process(whose), visit, time)),
        1 => (process(), 0u32..2, 1u64..2)
            .prop_map(move |(whose, visit, cut)| choice(ChoiceKind::CrashInStep, Subject::Process(whose), visit, cut)),
    ]
}

fn process() -> impl Strategy<Value = ProcessId> {
    prop::sample::select(vec![
        ProcessId::JobManager,
        ProcessId::HighAvailability,
        ProcessId::Store,
        ProcessId::TaskManager(0),
        ProcessId::TaskManager(1),
        ProcessId::TaskManager(2),
    ])
}

fn planned() -> impl Strategy<Value = FaultKind> {
    prop::sample::select(vec![
        FaultKind::TaskFailure,
        FaultKind::TaskManagerCrash,
        FaultKind::JobManagerCrash,
        FaultKind::Partition,
    ])
}

fn window() -> impl Strategy<Value = Window> {
    prop::sample::select(Window::ALL.to_vec())
}
