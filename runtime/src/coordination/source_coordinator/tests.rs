//! FACTS 34 to 50, by mail in and outputs out.

use super::*;
use crate::actor::Effect;
use crate::api::source::{AsyncCall, AsyncCallName, EnumeratorContext, EnumeratorFactory};
use crate::config::{AssignmentPolicy, EnumeratorFailure, JobConfig, Reassignment, SnapshotAssignment};
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
            Self { coordinator: SourceCoordinator::new(&config.into(), OperatorUid(0)), states: Vec::new() };
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
                EventKind::AssignmentsFiled { checkpoint, .. } => format!("filed {}", checkpoint.0),
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
                CoordinatorToMain::EventsForgotten(_) => panic!("only a holder says so"),
                CoordinatorToMain::FailJob { cause } => format!("FAIL {cause}"),
            });
        }
        said
    }
}

#[test]
fn beyond_fact_35_the_enumerator_snapshots_before_the_tracker_files() {
    let mut bench = Bench::registered();
    assert_eq!(bench.request(0, 0), ["arrived", "requested", "assigned 0[0]", "add 0#0 x1"]);
    assert_eq!(
        bench.mail(CoordinatorMail::Checkpoint(chk(1))),
        ["filed 1", "snapshot [1, 2, 3, 4]", "=state"],
        "both before the main thread hears"
    );
    bench.request(0, 0);
    assert_eq!(bench.reset(0, Some(1)), ["given back [1]"], "split 0 is in the reader's state of 1");
}

#[test]
fn fact_36_what_a_snapshot_assigns_belongs_to_its_checkpoint() {
    let late = DefectSet::NONE.with(Defect::AssignedInSnapshot);
    for (defects, given_back) in [(DefectSet::NONE, "given back []"), (late, "given back [0]")] {
        let mut config = job(2, defects);
        config.vertices[0].source.script.assigns_in_snapshot = Some(SnapshotAssignment::In(1));
        let mut bench = Bench::of(config);
        bench.mail(CoordinatorMail::ExecutionAttemptReady(attempt(0, 0)));
        bench.register(0, 0);
        let said = bench.mail(CoordinatorMail::Checkpoint(chk(1)));
        // The event goes out before the result, so the reader takes the split before its barrier.
        let place = |words: &str| said.iter().position(|line| line == words).unwrap();
        assert!(place("add 0#0 x1") < place("=state") && said.contains(&"snapshot [1, 2, 3, 4]".to_owned()));
        assert_eq!(bench.reset(0, Some(1)), [given_back]);
    }
}

#[test]
fn fact_38_an_enumerator_that_throws_fails_the_job_once_or_the_checkpoint() {
    let mut config = job(2, DefectSet::NONE);
    config.vertices[0].source.script.failure = Some(EnumeratorFailure::SplitRequest(2));
    let mut bench = Bench::of(config);
    bench.mail(CoordinatorMail::ExecutionAttemptReady(attempt(0, 0)));
    bench.register(0, 0);
    bench.request(0, 0);
    bench.mail(CoordinatorMail::Checkpoint(chk(1)));
    assert!(bench.request(0, 0)[2].starts_with("FAIL injected failure in handleSplitRequest(0)"));
    let state = bench.states[0].clone();
    bench.start(2, Some((chk(1), state)));
    bench.mail(CoordinatorMail::ExecutionAttemptReady(attempt(0, 1)));
    bench.register(0, 1);
    for split in 1..4 {
        assert_eq!(bench.request(0, 1)[2], format!("assigned 0[{split}]"), "a restored one does not throw");
    }

    let mut config = job(2, DefectSet::NONE);
    config.vertices[0].source.script.failure = Some(EnumeratorFailure::Snapshot(1));
    let mut bench = Bench::of(config);
    assert_eq!(bench.mail(CoordinatorMail::Checkpoint(chk(1))), ["filed 1", "=no state"]);
    assert_eq!(
        bench.mail(CoordinatorMail::Checkpoint(chk(2)))[0..2],
        ["filed 2", "snapshot [0, 1, 2, 3, 4]"]
    );
}

#[test]
fn fact_53_reported_splits_are_assigned_anew_and_parked_until_their_reader_is_there() {
    let mut config = job(3, DefectSet::NONE);
    config.vertices[0].source.script.reassignment = Some(Reassignment::Spread);
    let mut bench = Bench::of(config);
    bench.register(0, 0);
    bench.mail(CoordinatorMail::ExecutionAttemptReady(attempt(0, 0)));
    bench.request(0, 0);
    bench.mail(CoordinatorMail::Checkpoint(chk(1)));
    let state = bench.states[0].clone();
    bench.start(2, Some((chk(1), state)));
    for subtask in 0..3 {
        bench.mail(CoordinatorMail::ExecutionAttemptReady(attempt(subtask, 1)));
    }
    // Subtask 1 reports the split that the checkpoint holds; the script gives it to subtask 2.
    let position = crate::records::SplitPosition {
        split: SplitId { operator: OperatorUid(0), index: 0 },
        position: 4,
        end: 10,
    };
    let bytes = postcard::to_allocvec(&position).unwrap();
    let reported = vec![SplitPayload { at: position, version: 1, bytes }];
    let event = ReaderEvent::Register { reported };
    let said = bench.mail(CoordinatorMail::FromReader { attempt: attempt(1, 1), event });
    assert_eq!(said, ["arrived", "registered"], "nobody has it yet");
    assert_eq!(bench.mail(CoordinatorMail::Checkpoint(chk(2)))[1], "snapshot [1, 2, 3, 4, 0]");
    assert_eq!(bench.register(2, 1), ["arrived", "registered", "assigned 2[0]", "add 2#1 x1"]);
    assert_eq!(bench.mail(CoordinatorMail::Checkpoint(chk(3)))[1], "snapshot [1, 2, 3, 4]");
    assert_eq!(bench.reset(2, Some(2)), ["given back [0]"], "an ordinary assignment");
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
    assert!(said[2].starts_with("FAIL subtask 0 is not registered"), "{said:?}");
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
    let mut coordinator = SourceCoordinator::new(&job(1, DefectSet::NONE).into(), OperatorUid(0));
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

#[test]
fn a_batch_jobs_state_holds_what_was_assigned_and_files_nothing() {
    let mut bench = Bench::registered();
    bench.request(0, 0);
    assert_eq!(
        bench.mail(CoordinatorMail::Checkpoint(CheckpointId::BATCH)),
        ["snapshot [1, 2, 3, 4]", "=state"],
        "nothing is filed"
    );
    let state = bench.states.pop().expect("it was just taken");
    assert_eq!(bench.start(2, Some((CheckpointId::BATCH, state))), ["started [1, 2, 3, 4]"]);
    assert_eq!(bench.reset(0, None), ["given back [0]"], "the assignment is known to the new coordinator");
}

#[test]
fn facts_38_and_44_what_a_reader_must_not_say_fails_the_job() {
    let mut bench = Bench::registered();
    assert!(bench.register(0, 0)[1].starts_with("FAIL ReaderInfo of"));
    for (event, cause) in [
        (ReaderEvent::RegisterAs(SubtaskIndex(1)), "FAIL subtask 0 #0 registers subtask 1"),
        (ReaderEvent::Unrecognized("weird".to_owned()), "FAIL Unrecognized Operator Event: weird"),
        (ReaderEvent::ReportedWatermark(7), "FAIL subtask 0 #0 reports a watermark, but alignment is off"),
    ] {
        assert_eq!(
            bench.mail(CoordinatorMail::FromReader { attempt: attempt(0, 0), event }),
            ["arrived", cause]
        );
    }
}

#[test]
fn a_second_attempt_beside_the_first_is_registered_quietly_and_gets_its_share() {
    let mut bench = Bench::registered();
    bench.mail(CoordinatorMail::ExecutionAttemptReady(attempt(0, 1)));
    assert_eq!(bench.register(0, 1), ["arrived", "registered"]);
    assert_eq!(
        bench.request(0, 1),
        ["arrived", "requested", "assigned 0[0]", "assigned 0[0]", "add 0#0 x1", "add 0#1 x1"]
    );
}

#[test]
fn fact_43_the_latch_of_a_reader_that_is_not_there_is_set_by_flink_only() {
    for (defects, is_latched) in
        [(DefectSet::NONE, false), (DefectSet::NONE.with(Defect::LatchBeforeCheck), true)]
    {
        let mut bench = Bench::with(defects);
        let mut out = Outbox::new();
        let result = bench
            .coordinator
            .with_context(&mut out, |context| context.signal_no_more_splits(SubtaskIndex(0)));
        assert_eq!(result, Err(crate::api::source::ContextError::NotRegistered(SubtaskIndex(0))));
        bench.register(0, 0);
        let is_dropped = bench.request(0, 0) == ["arrived", "requested"];
        assert_eq!(is_dropped, is_latched);
    }
}

/// An enumerator that looks for splits again and again, and counts what it hears.
#[derive(Clone, Debug, Hash, Default)]
struct Discovering {
    found: Vec<u8>,
    runs: u8,
}

const DISCOVERY: AsyncCallName = AsyncCallName(3);
const NOTE: AsyncCallName = AsyncCallName(4);

impl EnumeratorFactory for Discovering {
    fn create(&self) -> Result<Box<dyn EnumeratorPort>, UserError> {
        Ok(Box::new(self.clone()))
    }

    fn restore(&self, _: &[u8]) -> Result<Box<dyn EnumeratorPort>, UserError> {
        self.create()
    }
}

type Called = Result<(), UserError>;

impl EnumeratorPort for Discovering {
    fn start(&mut self, context: &mut dyn EnumeratorContext) -> Called {
        context.call_async(AsyncCall { name: DISCOVERY, initial_delay_ns: 5, period_ns: Some(7) });
        context.run_in_coordinator_thread(NOTE);
        Ok(())
    }

    fn handle_split_request(&mut self, _: SubtaskIndex, _: &mut dyn EnumeratorContext) -> Called {
        Ok(())
    }

    fn handle_source_event(&mut self, _: SubtaskIndex, _: &[u8], _: &mut dyn EnumeratorContext) -> Called {
        Ok(())
    }

    fn add_splits_back(
        &mut self,
        _: Vec<SplitPayload>,
        _: SubtaskIndex,
        _: &mut dyn EnumeratorContext,
    ) -> Called {
        Ok(())
    }

    fn add_reader(&mut self, _: SubtaskIndex, _: Vec<SplitPayload>, _: &mut dyn EnumeratorContext) -> Called {
        Ok(())
    }

    fn snapshot_state(
        &mut self,
        _: CheckpointId,
        _: &mut dyn EnumeratorContext,
    ) -> Result<Vec<u8>, UserError> {
        Ok(Vec::new())
    }

    fn notify_checkpoint_complete(&mut self, _: CheckpointId, _: &mut dyn EnumeratorContext) -> Called {
        Ok(())
    }

    fn notify_checkpoint_aborted(&mut self, _: CheckpointId, _: &mut dyn EnumeratorContext) -> Called {
        Ok(())
    }

    fn run_async(&mut self, call: AsyncCallName) -> Result<Vec<u8>, UserError> {
        assert_eq!(call, DISCOVERY, "a note is not run by a worker");
        self.runs += 1;
        if self.runs == 2 { Err(UserError::new("the outside is gone")) } else { Ok(vec![self.runs]) }
    }

    fn handle_async_result(
        &mut self,
        _: AsyncCallName,
        result: Result<Vec<u8>, UserError>,
        _: &mut dyn EnumeratorContext,
    ) -> Called {
        self.found.extend(result?);
        Ok(())
    }

    fn close(&mut self) -> Called {
        Ok(())
    }

    fn clone_box(&self) -> Box<dyn EnumeratorPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.hash(&mut hasher);
    }
}

/// The effects of a turn, events left out.
fn effects(coordinator: &mut SourceCoordinator, mail: CoordinatorMail) -> Vec<Effect> {
    let mut out = Outbox::new();
    coordinator.handle(mail, &mut out);
    out.drain().filter_map(|output| output.effect).collect()
}

/// The same of a turn of the worker.
fn worker_effects(coordinator: &mut SourceCoordinator) -> Vec<Effect> {
    let mut out = Outbox::new();
    coordinator.worker_turn(&mut out);
    out.drain().filter_map(|output| output.effect).collect()
}

fn result_mail(generation: u32, call: AsyncCallName, result: Result<Vec<u8>, UserError>) -> Effect {
    Effect::Mail {
        to: ActorId::SourceCoordinator(OperatorUid(0)),
        mail: Mail::Coordinator(CoordinatorMail::AsyncResult { generation, call, result }),
    }
}

#[test]
fn a_periodic_call_comes_back_as_mail_and_its_handlers_failure_fails_the_job() {
    let mut coordinator = SourceCoordinator::with_enumerators(
        OperatorUid(0),
        1,
        DefectSet::NONE,
        Arc::new(Discovering::default()),
    );
    let timer = Timer::AsyncCall(DISCOVERY);
    let start = |generation| CoordinatorMail::Start { generation, restored: None };
    assert_eq!(
        effects(&mut coordinator, start(1)),
        [Effect::SetTimer { timer, after_ns: 5 }, result_mail(1, NOTE, Ok(Vec::new()))]
    );
    let again = Effect::SetTimer { timer, after_ns: 7 };
    coordinator.async_call_due(DISCOVERY);
    coordinator.async_call_due(DISCOVERY);
    let fired = worker_effects(&mut coordinator);
    assert_eq!(fired, [again.clone(), result_mail(1, DISCOVERY, Ok(vec![1]))]);
    assert!(!coordinator.worker_is_runnable(), "what waits is not run twice");
    let gone = UserError::new("the outside is gone");
    coordinator.async_call_due(DISCOVERY);
    let fired = worker_effects(&mut coordinator);
    assert_eq!(
        fired,
        [again, result_mail(1, DISCOVERY, Err(gone.clone()))],
        "the worker's failure is a result"
    );
    let result =
        |generation| CoordinatorMail::AsyncResult { generation, call: DISCOVERY, result: Err(gone.clone()) };
    assert_eq!(effects(&mut coordinator, result(1)).len(), 1, "the handler threw it on: the job fails");
    coordinator.async_call_due(DISCOVERY);
    let restarted = effects(&mut coordinator, start(2));
    assert!(!coordinator.worker_is_runnable(), "calls end with their enumerator");
    assert_eq!(restarted[0], Effect::CancelTimer { timer });
    assert_eq!(effects(&mut coordinator, result(1)), [], "a result of the coordinator before");
}

#[test]
fn a_call_that_takes_its_time_sees_the_beginning_of_it_and_ends_with_its_enumerator() {
    let enumerators = Arc::new(Discovering::default());
    let mut coordinator =
        SourceCoordinator::with_enumerators(OperatorUid(0), 1, DefectSet::NONE, enumerators);
    coordinator.worker = Worker::new(3);
    effects(&mut coordinator, CoordinatorMail::Start { generation: 1, restored: None });
    let (next, over) = (Timer::AsyncCall(DISCOVERY), Timer::AsyncCallReturns);
    let begun =
        [Effect::SetTimer { timer: next, after_ns: 7 }, Effect::SetTimer { timer: over, after_ns: 3 }];
    coordinator.async_call_due(DISCOVERY);
    assert_eq!(worker_effects(&mut coordinator), begun);
    coordinator.async_call_due(DISCOVERY);
    assert!(!coordinator.worker_is_runnable(), "there is one thread");
    coordinator.async_call_returns();
    assert_eq!(worker_effects(&mut coordinator), [result_mail(1, DISCOVERY, Ok(vec![1]))]);
    assert_eq!(worker_effects(&mut coordinator), begun, "the next had waited");
    let restarted = effects(&mut coordinator, CoordinatorMail::Start { generation: 2, restored: None });
    assert_eq!(restarted[..2], [next, over].map(|timer| Effect::CancelTimer { timer }));
    assert!(!coordinator.worker_is_runnable());
}
