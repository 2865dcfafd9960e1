//! Each rule of the service, kept and broken.

use super::*;
use splitrace_runtime::config::*;
use splitrace_runtime::defects::DefectSet;
use splitrace_runtime::ids::{Incarnation, JobId, LineageId};

fn service() -> HighAvailability {
    let config = JobConfig {
        job: JobId(1),
        lineage: LineageId(1),
        vertices: Vec::new(),
        checkpointing: None,
        restart: RestartConfig::FixedDelay { delay_ns: 1, attempts_max: 1 },
        region: RegionScope::Subtask,
        task_managers: 1,
        slots_per_task_manager: None,
        heartbeat: HeartbeatConfig { interval_ns: 1, timeout_ns: 5 },
        high_availability_timeout_ns: JobConfig::HIGH_AVAILABILITY_TIMEOUT_NS,
        sink: SinkKind::Append,
        defects: DefectSet::NONE,
    };
    HighAvailability::new(Arc::new(config))
}

fn process(process: ProcessId, incarnation: u32) -> ProcessAddress {
    ProcessAddress { process, incarnation: Incarnation(incarnation) }
}

fn job_manager(incarnation: u32) -> ProcessAddress {
    process(ProcessId::JobManager, incarnation)
}

fn task_manager(incarnation: u32) -> ProcessAddress {
    process(ProcessId::TaskManager(0), incarnation)
}

/// What one call brought about.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    reply: Option<HighAvailabilityReply>,
    events: Vec<EventKind>,
    told: Vec<(ProcessAddress, LeaderEpoch, ProcessAddress)>,
}

fn ask_with(
    service: &mut HighAvailability,
    from: ProcessAddress,
    epoch: u32,
    call: u64,
    request: HighAvailabilityRequest,
    decision: OutsideDecision,
) -> Answer {
    let (epoch, call, mut outbox) = (LeaderEpoch(epoch), CallId(call), Outbox::new());
    service.handle(from, Message::HighAvailability { epoch, call, request }, decision, &mut outbox);
    let mut answer = Answer::default();
    for output in outbox.drain() {
        answer.events.extend(output.event);
        match output.effect {
            None => {}
            Some(Effect::Send { to, stream: Stream::HighAvailability, message, token: None }) => {
                match message {
                    Message::HighAvailabilityReply { call: answered, reply } => {
                        assert_eq!((to, answered), (from, call));
                        assert!(answer.reply.replace(reply).is_none(), "one reply per call");
                    }
                    Message::TaskManager {
                        message: TaskManagerMessage::LeaderChanged { epoch, job_manager },
                        ..
                    } => {
                        answer.told.push((to, epoch, job_manager));
                    }
                    other => panic!("not sent by the service: {other:?}"),
                }
            }
            Some(other) => panic!("the service only sends: {other:?}"),
        }
    }
    answer
}

fn ask(
    service: &mut HighAvailability,
    from: ProcessAddress,
    epoch: u32,
    call: u64,
    request: HighAvailabilityRequest,
) -> Answer {
    ask_with(service, from, epoch, call, request, OutsideDecision::default())
}

fn checkpoint(id: u64) -> HighAvailabilityRequest {
    let (coordinators, subtasks) = (Vec::new(), Vec::new());
    HighAvailabilityRequest::AddCheckpoint(Arc::new(CompletedCheckpoint {
        kind: CheckpointKind::Recovery,
        id: CheckpointId(id),
        coordinators,
        subtasks,
    }))
}

fn raise(id: u64) -> HighAvailabilityRequest {
    HighAvailabilityRequest::RaiseCounter(CheckpointId(id))
}

const LEASE: HighAvailabilityRequest = HighAvailabilityRequest::AcquireLease;
const APPLIED: Option<HighAvailabilityReply> = Some(HighAvailabilityReply::Applied);
const FENCED: Option<HighAvailabilityReply> = Some(HighAvailabilityReply::Fenced);

#[test]
fn a_leader_counts_adds_and_ends_and_its_successor_finds_all_of_it() {
    let mut service = service();
    let granted = ask(&mut service, job_manager(0), 0, 0, LEASE);
    assert_eq!(granted.events, [EventKind::LeaderGranted { epoch: LeaderEpoch(1) }]);
    let first = |epoch| HighAvailabilityReply::LeaseGranted {
        epoch,
        counter: CheckpointId(0),
        latest: None,
        result: None,
    };
    assert_eq!(granted.reply, Some(first(LeaderEpoch(1))));
    let raised = ask(&mut service, job_manager(0), 1, 1, raise(1));
    assert_eq!(raised.reply, APPLIED);
    assert_eq!(raised.events, [EventKind::CounterRaised { checkpoint: CheckpointId(1) }]);
    let added = ask(&mut service, job_manager(0), 1, 2, checkpoint(1));
    assert_eq!(added.reply, APPLIED);
    let completed =
        |id| EventKind::CheckpointCompleted { checkpoint: CheckpointId(id), contents: Default::default() };
    assert_eq!(added.events, [completed(1)]);
    ask(&mut service, job_manager(0), 1, 3, raise(2));
    let ended =
        ask(&mut service, job_manager(0), 1, 4, HighAvailabilityRequest::PutResult(JobResult::Finished));
    assert_eq!(ended.events, [EventKind::JobEnded { result: JobResult::Finished }]);
    let again = ask(
        &mut service,
        job_manager(0),
        1,
        5,
        HighAvailabilityRequest::PutResult(JobResult::Failed("late".into())),
    );
    assert_eq!((again.reply, again.events.len()), (APPLIED, 0), "a job ends once");

    let successor = ask(&mut service, job_manager(1), 0, 0, LEASE);
    let Some(HighAvailabilityReply::LeaseGranted { epoch, counter, latest, result }) = successor.reply else {
        panic!("the newest asker leads");
    };
    assert_eq!((epoch, counter, result), (LeaderEpoch(2), CheckpointId(2), Some(JobResult::Finished)));
    assert_eq!(latest.map(|latest| latest.id), Some(CheckpointId(1)));
}

#[test]
fn an_older_epoch_writes_nothing() {
    let mut service = service();
    ask(&mut service, job_manager(0), 0, 0, LEASE);
    ask(&mut service, job_manager(0), 1, 1, raise(1));
    ask(&mut service, job_manager(1), 0, 0, LEASE);
    let writes = [raise(9), checkpoint(1), HighAvailabilityRequest::PutResult(JobResult::Finished)];
    for (call, request) in (5..).zip(writes) {
        for (from, epoch) in [(job_manager(0), 1), (job_manager(0), 2), (job_manager(1), 0)] {
            let answer = ask(&mut service, from, epoch, call, request.clone());
            assert_eq!(answer, Answer { reply: FENCED, ..Answer::default() });
        }
    }
    assert_eq!((service.counter(), service.latest(), service.result()), (CheckpointId(1), None, None));
    assert_eq!((service.epoch(), service.leader()), (LeaderEpoch(2), Some(job_manager(1))));
}

#[test]
fn a_repeated_write_is_answered_from_the_record_and_told_once() {
    let mut service = service();
    ask(&mut service, job_manager(0), 0, 0, LEASE);
    ask(&mut service, job_manager(0), 1, 1, raise(1));
    assert_eq!(ask(&mut service, job_manager(0), 1, 2, checkpoint(1)).events.len(), 1);
    for (call, request) in [(1, raise(1)), (2, checkpoint(1)), (3, checkpoint(1))] {
        let again = ask(&mut service, job_manager(0), 1, call, request);
        assert_eq!((again.reply, again.events.len()), (APPLIED, 0));
    }
    let raised_again = ask(&mut service, job_manager(0), 1, 4, raise(1));
    assert_eq!(
        raised_again.events.len(),
        1,
        "another call that raises to the same id is told: K2 looks for it"
    );
}

#[test]
fn a_life_leads_once_and_a_new_life_begins_a_new_term() {
    let mut service = service();
    let first = ask(&mut service, job_manager(0), 0, 0, LEASE);
    assert_eq!(first.events, [EventKind::LeaderGranted { epoch: LeaderEpoch(1) }]);
    let repeated = ask(&mut service, job_manager(0), 0, 1, LEASE);
    assert!(repeated.events.is_empty() && service.epoch() == LeaderEpoch(1));
    ask(&mut service, job_manager(0), 1, 1, raise(1));
    ask(&mut service, job_manager(1), 0, 0, LEASE);
    let fresh = ask(&mut service, job_manager(1), 2, 1, raise(2));
    assert_eq!(fresh.events.len(), 1, "a new term counts its calls anew");
}

#[test]
fn what_a_dead_life_had_asked_for_deposes_nobody() {
    let mut service = service();
    ask(&mut service, job_manager(1), 0, 0, LEASE);
    let late = ask(&mut service, job_manager(0), 0, 0, LEASE);
    assert!(late.events.is_empty() && service.leader() == Some(job_manager(1)), "{late:?}");
    assert_eq!(ask(&mut service, job_manager(2), 0, 0, LEASE).events.len(), 1);
}

#[test]
fn subscribers_are_told_of_leaders_in_their_newest_life() {
    let mut service = service();
    let subscribe = HighAvailabilityRequest::Subscribe;
    assert_eq!(ask(&mut service, task_manager(0), 0, 0, subscribe.clone()), Answer::default());
    let granted = ask(&mut service, job_manager(0), 0, 0, LEASE);
    assert_eq!(granted.told, [(task_manager(0), LeaderEpoch(1), job_manager(0))]);
    let told = ask(&mut service, task_manager(1), 0, 0, subscribe.clone()).told;
    assert_eq!(told, [(task_manager(1), LeaderEpoch(1), job_manager(0))]);
    assert!(ask(&mut service, task_manager(0), 0, 1, subscribe).told.is_empty(), "a life that is over");
    let granted = ask(&mut service, job_manager(1), 0, 0, LEASE);
    assert_eq!(granted.told, [(task_manager(1), LeaderEpoch(2), job_manager(1))]);
}

#[test]
fn a_lost_reply_leaves_the_effect_and_unavailable_leaves_silence() {
    let mut service = service();
    ask(&mut service, task_manager(0), 0, 0, HighAvailabilityRequest::Subscribe);
    let unavailable = OutsideDecision { unavailable: true, lose_reply: false };
    assert_eq!(ask_with(&mut service, job_manager(0), 0, 0, LEASE, unavailable), Answer::default());
    assert_eq!(service.epoch(), LeaderEpoch(0));
    let lost = OutsideDecision { unavailable: false, lose_reply: true };
    let granted = ask_with(&mut service, job_manager(0), 0, 0, LEASE, lost);
    assert_eq!((granted.reply, granted.events.len(), granted.told.len()), (None, 1, 1));
    ask(&mut service, job_manager(0), 1, 1, raise(1));
    let added = ask_with(&mut service, job_manager(0), 1, 2, checkpoint(1), lost);
    assert_eq!((added.reply, added.events.len()), (None, 1));
    assert_eq!(
        service.latest().map(|latest| latest.id),
        Some(CheckpointId(1)),
        "complete, whoever knows of it"
    );
    assert_eq!(ask_with(&mut service, job_manager(0), 1, 2, checkpoint(1), lost), Answer::default());
    assert_eq!(ask(&mut service, job_manager(0), 1, 2, checkpoint(1)).reply, APPLIED);
}

#[test]
#[should_panic(expected = "chk 1 behind chk 2")]
fn completion_is_never_taken_back() {
    let mut service = service();
    ask(&mut service, job_manager(0), 0, 0, LEASE);
    ask(&mut service, job_manager(0), 1, 1, raise(2));
    ask(&mut service, job_manager(0), 1, 2, checkpoint(2));
    ask(&mut service, job_manager(0), 1, 3, checkpoint(1));
}

#[test]
fn completed_checkpoints_are_retained_and_a_job_that_is_submitted_again_restores_any_of_them() {
    let mut service = service();
    let mut config = (*service.config).clone();
    config.checkpointing = Some(CheckpointConfig {
        interval_ns: 1,
        timeout_ns: 1,
        pause_min_ns: 0,
        concurrent_max: 1,
        failures_tolerable: 0,
        retained_max: 3,
        after_tasks_finish: true,
        blocked_events_max: None,
    });
    service.config = Arc::new(config.clone());
    ask(&mut service, job_manager(0), 0, 0, LEASE);
    for id in 1..=5 {
        ask(&mut service, job_manager(0), 1, 2 * id, raise(id));
        ask(&mut service, job_manager(0), 1, 2 * id + 1, checkpoint(id));
    }
    assert_eq!(service.older.iter().map(|older| older.id.0).collect::<Vec<_>>(), [3, 4]);
    ask(&mut service, job_manager(0), 1, 20, HighAvailabilityRequest::PutResult(JobResult::Cancelled));
    let mut again = service.clone();
    assert_eq!(again.submit(Arc::new(config.clone()), 9), Some(CheckpointId(3)), "the oldest there is");
    assert_eq!(service.submit(Arc::new(config), 1), Some(CheckpointId(4)));
    assert_eq!((service.result(), service.counter()), (None, CheckpointId(5)), "no identifier comes twice");
    assert_eq!(ask(&mut service, job_manager(0), 1, 21, checkpoint(6)).reply, FENCED);
}

#[test]
fn a_savepoint_is_stored_beside_the_checkpoints_and_one_that_stops_the_job_among_them() {
    let savepoint = |kind, id| {
        let (coordinators, subtasks) = (Vec::new(), Vec::new());
        let completed = CompletedCheckpoint { kind, id: CheckpointId(id), coordinators, subtasks };
        HighAvailabilityRequest::AddCheckpoint(Arc::new(completed))
    };
    let mut service = service();
    ask(&mut service, job_manager(0), 0, 0, LEASE);
    ask(&mut service, job_manager(0), 1, 1, raise(2));
    let stored = ask(&mut service, job_manager(0), 1, 2, savepoint(CheckpointKind::Savepoint, 1));
    assert!(matches!(stored.events[..], [EventKind::SavepointStored { .. }]), "{:?}", stored.events);
    assert_eq!((service.latest(), service.is_stopped()), (None, false));
    ask(&mut service, job_manager(0), 1, 3, savepoint(CheckpointKind::Stop { drain: false }, 2));
    assert!(service.is_stopped());
    ask(
        &mut service,
        job_manager(0),
        1,
        4,
        HighAvailabilityRequest::PutResult(JobResult::Stopped(CheckpointId(2))),
    );
    assert_eq!(service.submit(Arc::clone(&service.config.clone()), 0), Some(CheckpointId(2)));
    assert!(!service.is_stopped(), "the next job begins with it");
}

#[test]
fn what_is_durable_goes_on_under_a_new_epoch() {
    let mut first = service();
    ask(&mut first, job_manager(0), 0, 0, LEASE);
    ask(&mut first, job_manager(0), 1, 1, raise(7));
    ask(&mut first, job_manager(0), 1, 2, checkpoint(7));
    let config = Arc::clone(&first.config);
    let mut second = HighAvailability::started_again(config, first.durable_state());
    assert_eq!(second.durable_state(), first.durable_state(), "nothing is lost and nothing is new");
    let granted = ask(&mut second, job_manager(0), 0, 0, LEASE).reply;
    let Some(HighAvailabilityReply::LeaseGranted { epoch, counter, latest, result }) = granted else {
        panic!("the first of a new process leads: {granted:?}")
    };
    assert_eq!((epoch, counter), (LeaderEpoch(2), CheckpointId(7)));
    assert_eq!(latest.map(|latest| latest.id), Some(CheckpointId(7)));
    assert_eq!(result, None);
}

#[test]
fn a_stopped_job_goes_on_from_its_savepoint_and_a_finished_one_does_not() {
    let with = |result: Option<JobResult>, kind| {
        let latest =
            CompletedCheckpoint { kind, id: CheckpointId(3), coordinators: Vec::new(), subtasks: Vec::new() };
        let state = DurableState {
            counter: CheckpointId(3),
            latest: Some(Arc::new(latest)),
            result,
            ..DurableState::default()
        };
        HighAvailability::started_again(Arc::clone(&service().config), state)
    };
    let stop = CheckpointKind::Stop { drain: false };
    // The last of these died between the savepoint and the word that the job had ended.
    for result in
        [Some(JobResult::Stopped(CheckpointId(3))), Some(JobResult::Failed("disk".to_owned())), None]
    {
        let again = with(result, stop);
        assert_eq!(again.result(), None);
        assert_eq!(again.latest().map(|latest| latest.kind), Some(CheckpointKind::Recovery));
        assert!(!again.is_stopped());
    }
    assert_eq!(
        with(Some(JobResult::Finished), CheckpointKind::Recovery).result(),
        Some(&JobResult::Finished)
    );
}
