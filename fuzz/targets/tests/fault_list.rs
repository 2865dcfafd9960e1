//! Faults as a list: each entry is one choice that differs from the benign default, named by label and visit, so that
//! taking one out moves no other.
//!
//! [`arbitrary::Arbitrary`] is written by hand. The derived one tosses a coin before each element of a list: its median
//! length over random bytes is 0, and no fault list of length 0 finds anything. Here the first byte is the length.

use arbitrary::{Arbitrary, Result, Unstructured};
use splitrace_runtime::config::NANOS_PER_MILLI;
use splitrace_runtime::event::{FaultKind, Window};
use splitrace_runtime::ids::ProcessId;
use splitrace_sim::choices::{BenignChoices, ChoiceKind, Label, RecordedChoice, RecordedChoices, Subject};
use splitrace_sim::run::run_recorded;
use splitrace_sim::scenario::{FaultConfig, NetworkSemantics, Odds, Scenario};
use std::time::Duration;

/// The longest list.
const FAULTS_MAX: usize = 40;

/// What breaks in a run.
#[derive(Clone, Debug)]
struct FaultList {
    faults: Vec<RecordedChoice>,
}

impl<'a> Arbitrary<'a> for FaultList {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        // Taken modulo, and not `int_in_range`: all zeros are the empty list.
        let length = usize::from(u8::arbitrary(input)?) % (FAULTS_MAX + 1);
        let faults = (0..length).map(|_| fault(input)).collect::<Result<_>>()?;
        Ok(Self { faults })
    }

    fn size_hint(_depth: usize) -> (usize, Option<usize>) {
        (1, Some(1 + FAULTS_MAX * 8))
    }
}

fn fault(input: &mut Unstructured<'_>) -> Result<RecordedChoice> {
    let (kind, subject) = match input.int_in_range(0u8..=5)? {
        0 => (ChoiceKind::FaultTime, Subject::Fault(*input.choose(&PLANNED)?)),
        1 => (ChoiceKind::FaultTarget, Subject::Fault(*input.choose(&PLANNED)?)),
        2 => (ChoiceKind::WindowFault, Subject::Window(*input.choose(&WINDOWS)?)),
        3 => (ChoiceKind::FrameFault, Subject::Link(*input.choose(&PROCESSES)?, *input.choose(&PROCESSES)?)),
        4 => (ChoiceKind::OutsideFault, Subject::Process(*input.choose(&PROCESSES)?)),
        _ => (ChoiceKind::SecondFault, Subject::World),
    };
    let visit = u32::from(u8::arbitrary(input)? % 32);
    // What is too large is made legal by the choice itself.
    let value = 1 + u64::from(u16::arbitrary(input)?);
    Ok(RecordedChoice { label: Label::new(kind, subject), visit, value })
}

const PLANNED: [FaultKind; 4] =
    [FaultKind::TaskFailure, FaultKind::TaskManagerCrash, FaultKind::JobManagerCrash, FaultKind::Partition];

const PROCESSES: [ProcessId; 5] = [
    ProcessId::JobManager,
    ProcessId::HighAvailability,
    ProcessId::Store,
    ProcessId::TaskManager(0),
    ProcessId::TaskManager(1),
];

const WINDOWS: [Window; 6] = [
    Window::CloseToBarrier,
    Window::LastAcknowledgeToAdd,
    Window::AddToNotice,
    Window::CommitEffectToReply,
    Window::FailureToReset,
    Window::RegistrationToAssignment,
];

/// Two task managers, two subtasks, and every fault possible where the list asks for it.
fn scenario() -> Scenario {
    let possible = Odds::one_in(1_000_000);
    let mut scenario = Scenario::draw_from(BenignChoices);
    scenario.network.semantics = NetworkSemantics::UnorderedDuplicating;
    scenario.faults = FaultConfig {
        heal_after_ns: 500 * NANOS_PER_MILLI,
        plan_until_ns: 200 * NANOS_PER_MILLI,
        task_failures_max: 3,
        task_manager_crashes_max: 2,
        job_manager_crashes_max: 2,
        partitions_max: 2,
        store_crashes_max: 1,
        down_time_max_ns: 100 * NANOS_PER_MILLI,
        partition_max_ns: 300 * NANOS_PER_MILLI,
        spike_max_ns: 100 * NANOS_PER_MILLI,
        frame: possible,
        outside: possible,
        window: possible,
        second: possible,
        ..FaultConfig::NONE
    };
    scenario.job.task_managers = 2;
    let vertex = &mut scenario.job.vertices[0];
    vertex.parallelism = 2;
    vertex.source.split_count = 4;
    vertex.source.records_per_split = 10;
    scenario
}

#[test]
fn any_fault_list_keeps_the_promise() {
    let scenario = scenario();
    assert_eq!(scenario.validate(), Ok(()));
    bolero::check!()
        .with_arbitrary::<FaultList>()
        .with_max_len(FAULTS_MAX * 8)
        .with_test_time(Duration::from_secs(1))
        .for_each(move |list: &FaultList| {
            let choices = RecordedChoices { deviations: list.faults.clone() };
            let report = run_recorded(&scenario, &choices);
            assert!(report.is_success(), "{}", report.outcome);
        });
}

#[test]
fn the_length_is_drawn_and_not_tossed_for() {
    let mut lengths = Vec::new();
    let mut word = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..1_000 {
        let bytes: Vec<u8> = (0..512)
            .map(|_| {
                word ^= word << 13;
                word ^= word >> 7;
                word ^= word << 17;
                (word >> 32) as u8
            })
            .collect();
        let list = FaultList::arbitrary(&mut Unstructured::new(&bytes)).expect("there are bytes enough");
        lengths.push(list.faults.len());
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!((15..=25).contains(&median), "the median length is {median}");
    assert_eq!((lengths[0], lengths[lengths.len() - 1]), (0, FAULTS_MAX), "every length comes up");
}
