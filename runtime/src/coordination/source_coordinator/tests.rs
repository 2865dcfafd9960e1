//! FACTS 34 to 50, by mail in and outputs out.

use super::*;
use crate::actor::Effect;
use crate::config::{AssignmentPolicy, JobConfig};
use crate::coordination::test_jobs::job;
use crate::defects::DefectSet;

fn chk(id: u64) -> CheckpointId {
    CheckpointId(id)
}

fn attempt(subtask: u32, attempt: u32) -> ExecutionAttemptId {
    ExecutionAttemptId {
        vertex: OperatorUid(0),
        subtask: SubtaskIndex(subtask),
        attempt: AttemptNumber(attempt),
    }
}

fn indices(splits: &[crate::records::SplitPosition]) -> Vec<u32> {
    splits.iter().map(|at| at.split.index).collect()
}

struct Bench {
    coordinator: SourceCoordinator,
    states: Vec<Vec<u8>>,
}

impl Bench {
    fn of(config: JobConfig) -> Self {
        let mut bench =
            Self { coordinator: SourceCoordinator::new(config.into(), OperatorUid(0)), states: Vec::new() };
        assert_eq!(bench.start(1, None), ["started []", "discovered [0, 1, 2, 3, 4]"]);
        bench
    }

    /// Two subtasks, both ready, none registered.
    fn with(defects: DefectSet) -> Self {
        let mut bench = Self::of(job(2, defects));
        for subtask in 0..2 {
            assert_eq!(bench.mail(CoordinatorMail::ExecutionAttemptReady(attempt(subtask, 0))), [""; 0]);
        }
        bench
    }

    /// Two subtasks, both registered.
    fn registered() -> Self {
        let mut bench = Self::with(DefectSet::NONE);
        for subtask in 0..2 {
            assert_eq!(bench.register(subtask, 0), ["arrived", "registered"]);
        }
        bench
    }

    fn start(&mut self, generation: u32, restored: Option<(CheckpointId, Vec<u8>)>) -> Vec<String> {
        self.mail(CoordinatorMail::Start { generation, restored })
    }

    fn register(&mut self, subtask: u32, number: u32) -> Vec<String> {
        let event = ReaderEvent::Register { reported: Vec::new() };
        self.mail(CoordinatorMail::FromReader { attempt: attempt(subtask, number), event })
    }

    fn request(&mut self, subtask: u32, number: u32) -> Vec<String> {
        self.mail(CoordinatorMail::FromReader {
            attempt: attempt(subtask, number),
            event: ReaderEvent::RequestSplit,
        })
    }

    fn reset(&mut self, subtask: u32, restored: Option<u64>) -> Vec<String> {
        let subtask = attempt(subtask, 0).subtask_id();
        self.mail(CoordinatorMail::SubtaskReset { subtask, restored: restored.map(CheckpointId) })
    }

    fn mail(&mut self, mail: CoordinatorMail) -> Vec<String> {
        let mut out = Outbox::new();
        self.coordinator.handle(mail, &mut out);
        let mut said = Vec::new();
        for output in out.drain() {
            said.extend(output.event.map(|event| match event {
                EventKind::EnumeratorStarted { pending, .. } => format!("started {:?}", indices(&pending)),
                EventKind::SplitsDiscovered { splits } => format!("discovered {:?}", indices(&splits)),
                EventKind::ReaderEventArrived { .. } => "arrived".to_owned(),
                EventKind::ReaderRegistered { .. } => "registered".to_owned(),
                EventKind::SplitRequested { .. } => "requested".to_owned(),
                EventKind::SplitsAssigned { attempt, splits } => {
                    format!("assigned {}{:?}", attempt.subtask.0, indices(&splits))
                }
                EventKind::NoMoreSplitsSignalled { attempt } => format!("no more {}", attempt.subtask.0),
                EventKind::AssignmentsFiled { checkpoint } => format!("filed {}", checkpoint.0),
                EventKind::EnumeratorSnapshotTaken { pending, .. } => {
                    format!("snapshot {:?}", indices(&pending))
                }
                EventKind::SplitsGivenBack { splits, .. } => format!("given back {:?}", indices(&splits)),
                EventKind::CoordinatorNotified { completed, .. } => format!("notified {completed}"),
                other => panic!("unexpected {other:?}"),
            }));
            let Some(Effect::Mail { mail: Mail::Main(MainMail::FromCoordinator { message, .. }), .. }) =
                output.effect
            else {
                assert_eq!(output.effect, None);
                continue;
            };
            said.push(match message {
                CoordinatorToMain::SendEvent { attempt, event: OperatorEvent::AddSplits(splits) } => {
                    format!("add {}#{} x{}", attempt.subtask.0, attempt.attempt.0, splits.len())
                }
                CoordinatorToMain::SendEvent { event: OperatorEvent::NoMoreSplits, .. } => {
                    "=no more".to_owned()
                }
                CoordinatorToMain::SendEvent { .. } => "=custom".to_owned(),
                CoordinatorToMain::CheckpointResult { state: Ok(state), .. } => {
                    self.states.push(state);
                    "=state".to_owned()
                }
                CoordinatorToMain::CheckpointResult { state: Err(_), .. } => "=no state".to_owned(),
                CoordinatorToMain::FailJob { cause } => format!("FAIL {cause}"),
            });
        }
        said
    }
}

#[test]
fn fact_35_the_tracker_files_before_the_enumerator_snapshots() {
    let mut bench = Bench::registered();
    assert_eq!(bench.request(0, 0), ["arrived", "requested", "assigned 0[0]", "add 0#0 x1"]);
    assert_eq!(
        bench.mail(CoordinatorMail::Checkpoint(chk(1))),
        ["filed 1", "snapshot [1, 2, 3, 4]", "=state"]
    );
    bench.request(0, 0);
    assert_eq!(bench.reset(0, Some(1)), ["given back [1]"], "split 0 is in the reader's state of 1");
}

#[test]
fn fact_37_complete_drops_from_the_tracker_and_abort_does_not() {
    let mut bench = Bench::registered();
    for checkpoint in 1..=2 {
        bench.request(0, 0);
        bench.mail(CoordinatorMail::Checkpoint(chk(checkpoint)));
    }
    assert_eq!(bench.mail(CoordinatorMail::NotifyCheckpointComplete(chk(1))), ["notified true"]);
    assert_eq!(bench.mail(CoordinatorMail::NotifyCheckpointAborted(chk(2))), ["notified false"]);
    assert_eq!(bench.coordinator.tracked_split_count(), 1);
    assert_eq!(bench.reset(0, Some(1)), ["given back [1]"]);
}

#[test]
fn facts_39_and_41_an_unregistered_reader_gets_nothing_and_the_job_fails() {
    let mut bench = Bench::with(DefectSet::NONE);
    let said = bench.request(0, 0);
    assert!(said[2].starts_with("FAIL Cannot assign splits"), "{said:?}");
    assert_eq!((said.len(), bench.coordinator.tracked_split_count()), (3, 0));
}

#[test]
fn fact_40_registered_without_a_gateway_is_recorded_and_fails_the_job() {
    let mut bench = Bench::of(job(1, DefectSet::NONE));
    bench.register(0, 0);
    let said = bench.request(0, 0);
    assert_eq!(said[2], "assigned 0[0]");
    assert!(said[3].starts_with("FAIL") && said[3].contains("not ready"), "{said:?}");
    assert_eq!(bench.coordinator.tracked_split_count(), 1);
}

#[test]
fn fact_42_after_no_more_splits_requests_are_dropped_until_the_reset() {
    let mut bench = Bench::registered();
    for _ in 0..5 {
        bench.request(0, 0);
    }
    assert_eq!(bench.request(0, 0), ["arrived", "requested", "no more 0", "=no more"]);
    assert_eq!(bench.request(0, 0), ["arrived", "requested"]);
    assert_eq!(bench.reset(0, None), ["given back [0, 1, 2, 3, 4]"]);
    bench.mail(CoordinatorMail::ExecutionAttemptReady(attempt(0, 1)));
    bench.register(0, 1);
    assert_eq!(bench.request(0, 1), ["arrived", "requested", "assigned 0[0]", "add 0#1 x1"]);
}

#[test]
fn fact_44_the_same_execution_twice_fails_the_job() {
    let mut bench = Bench::registered();
    assert!(bench.register(0, 0)[1].contains("already exists"));
}

#[test]
fn fact_46_a_failure_unregisters_and_the_reset_always_gives_back() {
    let mut bench = Bench::registered();
    bench.request(1, 0);
    let failed = CoordinatorMail::ExecutionAttemptFailed { attempt: attempt(1, 0), last_completed: None };
    assert_eq!(bench.mail(failed), [""; 0]);
    assert!(bench.request(1, 0)[2].starts_with("FAIL"));
    assert_eq!(bench.reset(1, None), ["given back [0]"]);
    assert_eq!(bench.reset(0, None), ["given back []"]);
}

#[test]
fn fact_47_a_new_generation_restores_the_state_and_an_empty_tracker() {
    let mut bench = Bench::registered();
    bench.request(0, 0);
    bench.mail(CoordinatorMail::Checkpoint(chk(1)));
    bench.request(0, 0);
    let state = bench.states[0].clone();
    assert_eq!(bench.start(2, Some((chk(1), state))), ["started [1, 2, 3, 4]"]);
    assert_eq!(bench.coordinator.tracked_split_count(), 0);
    assert_eq!(bench.start(3, None), ["started []", "discovered [0, 1, 2, 3, 4]"]);
    assert_eq!(bench.start(4, Some((chk(1), Vec::new()))), ["started []"], "an empty state holds nothing");
    assert!(bench.start(5, Some((chk(1), vec![99])))[0].starts_with("FAIL"));
}

#[test]
fn fact_49_mail_before_the_start_fails_the_job_and_a_checkpoint_fails() {
    let mut coordinator = SourceCoordinator::new(job(1, DefectSet::NONE).into(), OperatorUid(0));
    let mut out = Outbox::new();
    coordinator.handle(CoordinatorMail::Checkpoint(chk(1)), &mut out);
    let mails = out.outputs().iter().filter(|output| output.effect.is_some()).count();
    assert_eq!(mails, 2, "the failed result and the failed job");
}

#[test]
fn fact_101_push_deals_when_all_are_there_and_later_serves_only_who_registers_again() {
    let mut config = job(2, DefectSet::NONE);
    config.vertices[0].source.policy = AssignmentPolicy::Push;
    let mut bench = Bench::of(config);
    for subtask in 0..2 {
        bench.mail(CoordinatorMail::ExecutionAttemptReady(attempt(subtask, 0)));
    }
    assert_eq!(bench.register(0, 0), ["arrived", "registered"]);
    assert_eq!(
        bench.register(1, 0)[2..],
        [
            "assigned 0[0, 2, 4]",
            "assigned 1[1, 3]",
            "add 0#0 x3",
            "add 1#0 x2",
            "no more 0",
            "=no more",
            "no more 1",
            "=no more"
        ]
    );
    assert_eq!(bench.reset(1, None), ["given back [1, 3]"]);
    bench.mail(CoordinatorMail::ExecutionAttemptReady(attempt(1, 1)));
    assert_eq!(bench.register(1, 1)[2..], ["assigned 1[1, 3]", "add 1#1 x2", "no more 1", "=no more"]);
    bench.mail(CoordinatorMail::Checkpoint(chk(1)));
    assert_eq!(bench.reset(0, Some(1)), ["given back []"]);
}

#[test]
fn each_planted_defect_changes_what_it_says() {
    let registered = |defect| {
        let mut bench = Bench::with(DefectSet::NONE.with(defect));
        bench.register(0, 0);
        bench.request(0, 0);
        bench
    };
    let mut bench = registered(Defect::TrackerReturnsNothing);
    assert_eq!(bench.reset(0, None), ["given back []"]);

    let mut bench = registered(Defect::GivenBackAtFailure);
    bench.mail(CoordinatorMail::Checkpoint(chk(1)));
    let failed = CoordinatorMail::ExecutionAttemptFailed { attempt: attempt(0, 0), last_completed: None };
    assert_eq!(bench.mail(failed), ["given back [0]"]);

    let mut bench = registered(Defect::NoMoreSplitsLatchKept);
    for _ in 0..5 {
        bench.request(0, 0);
    }
    bench.reset(0, None);
    bench.mail(CoordinatorMail::ExecutionAttemptReady(attempt(0, 1)));
    bench.register(0, 1);
    assert_eq!(bench.request(0, 1), ["arrived", "requested"]);

    let mut bench = registered(Defect::EnumeratorRepeatsSplits);
    bench.mail(CoordinatorMail::Checkpoint(chk(1)));
    let state = bench.states[0].clone();
    bench.start(2, Some((chk(1), state)));
    assert_eq!(bench.mail(CoordinatorMail::Checkpoint(chk(2)))[1], "snapshot [1, 2, 3, 4, 0]");

    let mut orders = std::collections::BTreeSet::new();
    for _ in 0..64 {
        let mut bench = Bench::with(DefectSet::NONE.with(Defect::HashMapOrderLeaks));
        bench.register(0, 0);
        orders.insert(bench.request(0, 0));
    }
    assert!(orders.len() > 1, "64 runs that agree by chance: 5 to the minus 63");
}
