use super::*;
use crate::coverage::Coverage;
use crate::testing::*;
use proptest::prelude::*;
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::*;
use splitrace_runtime::message::JobResult;
use splitrace_runtime::records::RecordRanges;

/// The code that all checkers together find broken, if any.
fn verdict(events: &[Event]) -> Option<Code> {
    let setup = setup();
    let mut checkers = Checkers::new(&setup);
    let ended = events.iter().any(|event| matches!(event.kind, EventKind::JobEnded { .. }));
    let end = RunEnd { job_ended: ended.then_some(JobResult::Finished), ..end_of(events) };
    let judged = events.iter().try_for_each(|event| checkers.observe(event));
    judged.and_then(|()| checkers.finish(&end)).err().map(|violation| violation.code)
}

/// The verdicts of each checker alone: whether it finds its invariant broken.
fn verdicts(events: &[Event]) -> Vec<Code> {
    fn alone<C: Checker>(mut checker: C, events: &[Event], end: &RunEnd) -> Option<Code> {
        let judged = events.iter().try_for_each(|event| checker.observe(event));
        let violation = judged.and_then(|()| checker.finish(end)).err()?;
        assert_eq!(violation.code, C::CODE);
        Some(violation.code)
    }
    let setup = setup();
    let ended = events.iter().any(|event| matches!(event.kind, EventKind::JobEnded { .. }));
    let end = RunEnd { job_ended: ended.then_some(JobResult::Finished), ..end_of(events) };
    [
        alone(SplitCensus::new(&setup), events, &end),
        alone(EventOrder::new(&setup), events, &end),
        alone(NoZombieActs::new(&setup), events, &end),
        alone(Liveness::new(&setup), events, &end),
        alone(RecordCensus::new(&setup), events, &end),
        alone(Identifiers::new(&setup), events, &end),
        alone(NoDuplicates::new(&setup), events, &end),
        alone(NoLoss::new(&setup), events, &end),
        alone(CoveredBeforeVisible::new(&setup), events, &end),
        alone(BoundedMemory::new(&setup), events, &end),
        alone(OrderInsideSplit::new(&setup), events, &end),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0u32..2).prop_map(Step::Assign),
        4 => (0u32..2, 1u64..14).prop_map(|(subtask, count)| Step::Read(subtask, count)),
        3 => (0u8..4).prop_map(|aborts| Step::Checkpoint { completes: aborts > 0 }),
        3 => (0u32..2, any::<bool>()).prop_map(|(subtask, replies)| Step::Commit(subtask, replies)),
        1 => (0u32..2, any::<bool>()).prop_map(|(subtask, zombie)| Step::Fail(subtask, zombie)),
        1 => (0u32..2).prop_map(Step::Haunt),
    ]
}

/// Spoils of a good history: one event changed or left out, so that some invariant may break.
fn spoil(events: &mut [Event], at: usize, how: u8) {
    let at = at % events.len();
    match (&mut events[at].kind, how) {
        (EventKind::CheckpointCompleted { contents, .. }, 0) => drop(contents.readers.pop()),
        (EventKind::CheckpointCompleted { contents, .. }, 1) => drop(contents.committables.pop()),
        // A record that is filtered is left alone: it is declared so by a task that reads on, and whether that comes before
        // the completion, sequence and cause do not say.
        (EventKind::CheckpointCompleted { contents, .. }, 2) => {
            let splits = contents.readers.iter_mut().map(|(_, split)| split);
            splits
                .filter(|split| !split.position.is_multiple_of(FILTER_EVERY))
                .for_each(|split| split.position = split.end.min(split.position + 1));
        }
        (EventKind::BecameVisible { records, .. }, 0) => {
            *records = records.ranges().iter().skip(1).copied().collect::<RecordRanges>();
        }
        (EventKind::SplitFinished { split }, 0) => split.index += 1,
        (EventKind::CheckpointTriggered { checkpoint }, _) => checkpoint.0 = 1,
        (EventKind::OperatorEventHandled { id, .. }, _) => id.0 = id.0.saturating_sub(1),
        // A commit's answer is left alone: an answer that no effect caused stands in no order to the effect, and then the
        // orders themselves disagree.
        (EventKind::TransactionRolledBack { transaction, .. }, _) => transaction.number = CheckpointId(1),
        (EventKind::TransactionPrepared { transaction, .. }, _) => transaction.number = CheckpointId(1),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_right_engine_passes_on_every_linear_extension(
        steps in prop::collection::vec(step(), 0..40),
        splits in 0u32..7,
        seed in any::<u64>(),
    ) {
        let mut run = ModelRun::new(splits);
        steps.into_iter().for_each(|step| run.step(step));
        prop_assert_eq!(verdicts(run.history.events()), vec![]);
        run.finish();
        let events = run.history.events();
        prop_assert_eq!(verdicts(events), vec![]);
        for number in 0..20 {
            prop_assert_eq!(verdicts(&linear_extension(events, seed.wrapping_add(number))), vec![]);
        }
    }

    #[test]
    fn a_spoilt_history_has_one_verdict_on_every_linear_extension(
        steps in prop::collection::vec(step(), 8..30),
        spoils in prop::collection::vec((any::<prop::sample::Index>(), 0u8..3), 1..12),
        seed in any::<u64>(),
    ) {
        let mut run = ModelRun::new(4);
        steps.into_iter().for_each(|step| run.step(step));
        run.finish();
        let mut events = run.history.events().to_vec();
        for (at, how) in spoils {
            let at = at.index(events.len());
            spoil(&mut events, at, how);
        }
        let expected = verdicts(&events);
        for number in 0..20 {
            prop_assert_eq!(&verdicts(&linear_extension(&events, seed.wrapping_add(number))), &expected);
        }
    }
}

#[test]
fn the_good_history_is_good_and_every_checker_judged_something() {
    let history = good_history();
    assert_eq!(verdict(history.events()), None);
    let mut checkers = Checkers::new(&setup());
    history.events().iter().for_each(|event| checkers.observe(event).unwrap());
    checkers.finish(&RunEnd { job_ended: Some(JobResult::Finished), ..end_of(history.events()) }).unwrap();
    for (code, judgement) in checkers.judgements() {
        match judgement {
            // The history's reader has no fetchers, so there is no queue to bound.
            Judgement::Judged { count: 0 } if code == Code::B1 => {}
            Judgement::Judged { count } => assert!(count > 0, "{code} judged nothing"),
            Judgement::NotJudged(_) => assert_eq!(code, Code::D1, "it did not judge"),
        }
    }
}

#[test]
fn a_spoilt_history_is_found() {
    let good = good_history().events().to_vec();
    let completed: Vec<_> = (0..good.len())
        .filter(|at| matches!(good[*at].kind, EventKind::CheckpointCompleted { .. }))
        .collect();
    for (how, expected) in [(0, Code::S1), (1, Code::R1), (2, Code::R1)] {
        let mut events = good.clone();
        spoil(&mut events, completed[0], how);
        assert_eq!(verdict(&events), Some(expected), "spoil {how}");
    }
}

#[test]
fn what_the_promise_leaves_out_is_not_judged() {
    let setup = setup_without_checkpoints();
    let checkers = Checkers::new(&setup);
    let judgement = |code: Code| checkers.judgements().into_iter().find(|(held, _)| *held == code).unwrap().1;
    assert_eq!(judgement(Code::R1), Judgement::NotJudged("no checkpoint is ever taken".to_owned()));
    assert_eq!(judgement(Code::C1), Judgement::Judged { count: 0 });
    assert_eq!(judgement(Code::K1), judgement(Code::R1));
}

#[test]
fn a_fingerprint_is_of_the_state() {
    fn print(events: &[Event]) -> u64 {
        let mut checkers = Checkers::new(&setup());
        events.iter().for_each(|event| checkers.observe(event).unwrap());
        let mut hasher = xxhash_rust::xxh3::Xxh3Default::new();
        checkers.fingerprint(&mut hasher);
        hasher.finish()
    }
    let events = good_history().events().to_vec();
    assert_eq!(print(&events), print(&events));
    assert_ne!(print(&events), print(&events[..events.len() / 2]));
}

#[test]
fn coverage_takes_what_checkers_take() {
    let history = good_history();
    let mut coverage = Coverage::new();
    for event in history.events() {
        coverage.observe(event);
    }
    assert_eq!(coverage.events(), history.events().len() as u64);
    assert_eq!(coverage.exercised().failovers, 2);
}

/// Feeds `events` to a checker one by one, after `past`, behind the gate that keeps other kinds from it: nothing that it
/// does not say to read may change its state or its answer.
fn reads_no_more_than_it_says<C: Checker>(new: impl Fn(&RunSetup) -> C, past: &[Event], events: &[Event]) {
    fn print(checker: &impl Checker) -> (u64, Judgement) {
        let mut hasher = xxhash_rust::xxh3::Xxh3Default::new();
        checker.fingerprint(&mut hasher);
        (hasher.finish(), checker.judgement())
    }
    let mut checker = new(&setup());
    past.iter().for_each(|event| checker.observe(event).unwrap());
    let before = print(&checker);
    for event in events.iter().filter(|event| !C::READS.contains(&event.kind)) {
        assert_eq!(checker.read(event), Ok(()), "{} on {}", C::CODE, event.kind.name());
        assert_eq!(print(&checker), before, "{} reads {}", C::CODE, event.kind.name());
    }
}

#[test]
fn each_checker_reads_only_what_it_says() {
    let (every, good) = (every_kind(), good_history());
    let kinds: std::collections::BTreeSet<_> = every.events().iter().map(|event| event.kind.name()).collect();
    assert_eq!(kinds.len(), COUNT, "one event of each kind");
    let good = good.events();
    for past in [&good[..0], &good[..good.len() / 3], good] {
        for events in [every.events(), good] {
            reads_no_more_than_it_says(SplitCensus::new, past, events);
            reads_no_more_than_it_says(EventOrder::new, past, events);
            reads_no_more_than_it_says(NoZombieActs::new, past, events);
            reads_no_more_than_it_says(Liveness::new, past, events);
            reads_no_more_than_it_says(RecordCensus::new, past, events);
            reads_no_more_than_it_says(Identifiers::new, past, events);
            reads_no_more_than_it_says(NoDuplicates::new, past, events);
            reads_no_more_than_it_says(NoLoss::new, past, events);
            reads_no_more_than_it_says(CoveredBeforeVisible::new, past, events);
            reads_no_more_than_it_says(BoundedMemory::new, past, events);
            reads_no_more_than_it_says(OrderInsideSplit::new, past, events);
            reads_no_more_than_it_says(NoResidue::new, past, events);
            reads_no_more_than_it_says(Freshness::new, past, events);
            reads_no_more_than_it_says(CheckpointsGoOn::new, past, events);
        }
    }
}

#[test]
fn the_table_of_readers_is_what_the_checkers_say() {
    for event in every_kind().events() {
        let readers = READERS[Kind::of(&event.kind) as usize];
        assert_eq!(readers & 1 == 1, SplitCensus::READS.contains(&event.kind));
        assert_eq!(readers >> 8 & 1 == 1, CoveredBeforeVisible::READS.contains(&event.kind));
        assert_eq!(readers >> 9 & 1 == 1, BoundedMemory::READS.contains(&event.kind));
        assert_eq!(readers >> 10 & 1 == 1, OrderInsideSplit::READS.contains(&event.kind));
        assert_eq!(readers >> 11 & 1 == 1, NoResidue::READS.contains(&event.kind));
        assert_eq!(readers >> 12 & 1 == 1, CheckpointsGoOn::READS.contains(&event.kind));
        assert_eq!(readers >> 13 == 1, Freshness::READS.contains(&event.kind));
    }
    assert_eq!(READERS[Kind::RecordsEmitted as usize], 0, "what happens once per record concerns no checker");
    assert_eq!(READERS[Kind::RecordsWritten as usize], 1 << 10, "or the one that is about it");
    assert_eq!(Checkers::new(&setup()).open, 0x3fff);
}
