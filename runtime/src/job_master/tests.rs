//! The main thread by script: mails in, outbox looked at. Nothing else of the house takes part.

mod chaos;
mod checkpoints;
mod failover;
mod job_end;
mod leadership;
mod savepoints;

use super::MainThread;
use crate::actor::{Actor, Effect, Outbox, Output, TurnDecision};
use crate::config::*;
use crate::defects::{Defect, DefectSet};
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use std::collections::BTreeMap;
use std::sync::Arc;

const EPOCH: LeaderEpoch = LeaderEpoch(1);
const SOURCE: OperatorUid = OperatorUid(0);

fn config() -> JobConfig {
    JobConfig {
        job: JobId(0),
        lineage: LineageId(0),
        vertices: vec![VertexConfig {
            operator: SOURCE,
            parallelism: 2,
            source: SourceConfig {
                split_count: 4,
                records_per_split: 40,
                policy: AssignmentPolicy::Pull,
                bounded: true,
                script: EnumeratorScript::NONE,
                discovery: None,
            },
            task: TaskConfig {
                record_interval_ns: 0,
                filter_every: 0,
                user_failure: None,
                checkpoint_failure: None,
                write_buffer_records: 4,
                commit_retries_max: 10,
                commit_script: None,
                commit_back_off_ns: 0,
                store_timeout_ns: 1000,
                reader: ReaderKind::Direct,
                stall: None,
                event_time: EventTime::NUMBER,
                alignment: None,
            },
            files: None,
            log: None,
            coordinated: None,
            exchange: None,
            topology: SinkTopologyConfig::CHAINED,
        }],
        checkpointing: Some(CheckpointConfig {
            interval_ns: 1_000_000,
            timeout_ns: 10_000_000,
            pause_min_ns: 0,
            concurrent_max: 1,
            failures_tolerable: 0,
            retained_max: 1,
            after_tasks_finish: true,
            blocked_events_max: None,
        }),
        restart: RestartConfig::FixedDelay { delay_ns: 700, attempts_max: 3 },
        region: RegionScope::Subtask,
        task_managers: 2,
        slots_per_task_manager: None,
        heartbeat: HeartbeatConfig { interval_ns: 100, timeout_ns: 300 },
        high_availability_timeout_ns: JobConfig::HIGH_AVAILABILITY_TIMEOUT_NS,
        sink: SinkKind::Append,
        defects: DefectSet::NONE,
    }
}

fn task_manager(index: u32, life: u32) -> ProcessAddress {
    ProcessAddress { process: ProcessId::TaskManager(index), incarnation: Incarnation(life) }
}

fn attempt(subtask: u32, number: u32) -> ExecutionAttemptId {
    ExecutionAttemptId { vertex: SOURCE, subtask: SubtaskIndex(subtask), attempt: AttemptNumber(number) }
}

fn snapshot(byte: u8) -> TaskSnapshot {
    TaskSnapshot { reader: vec![byte], ..TaskSnapshot::default() }
}

/// A main thread, what it put out so far, and the calls that wait for the service.
struct Script {
    main: MainThread,
    outputs: Vec<Output>,
    calls: Vec<(CallId, HighAvailabilityRequest)>,
    timers: BTreeMap<Timer, u64>,
    generations: BTreeMap<OperatorUid, u32>,
}

impl Script {
    fn new(config: JobConfig) -> Self {
        Self {
            main: MainThread::new(Arc::new(config)),
            outputs: Vec::new(),
            calls: Vec::new(),
            timers: BTreeMap::new(),
            generations: BTreeMap::new(),
        }
    }

    /// A job whose tasks are deployed by a new leader.
    fn deployed(config: JobConfig) -> Self {
        let managers = config.task_managers;
        let mut script = Self::new(config);
        script.start();
        script.grant(EPOCH, 0, None, None);
        for index in 0..managers {
            script.network(task_manager(index, 0), JobManagerMessage::RegisterTaskManager);
        }
        script
    }

    /// A job whose two tasks run and are registered.
    fn running(config: JobConfig) -> Self {
        let mut script = Self::deployed(config);
        script.start_task(attempt(0, 0));
        script.start_task(attempt(1, 0));
        script
    }

    /// A running job with checkpoint 1 at the acknowledgements.
    fn with_barriers(config: JobConfig) -> Self {
        let mut script = Self::running(config);
        script.trigger();
        script.coordinator_completes(1);
        script
    }

    /// A running job with this checkpoint complete.
    fn with_completed(config: JobConfig) -> Self {
        let mut script = Self::with_barriers(config);
        script.acknowledge(attempt(0, 0), 1);
        script.acknowledge(attempt(1, 0), 1);
        script.apply();
        script
    }

    fn mail(&mut self, mail: MainMail) {
        self.main.enqueue(mail);
        while self.main.is_runnable() {
            let mut out = Outbox::new();
            self.main.turn(TurnDecision::default(), &mut out);
            for output in out.drain() {
                self.note(&output);
                self.outputs.push(output);
            }
        }
    }

    fn note(&mut self, output: &Output) {
        match &output.effect {
            Some(Effect::Send { message: Message::HighAvailability { call, request, .. }, .. }) => {
                self.calls.push((*call, request.clone()));
            }
            Some(Effect::SetTimer { timer, after_ns }) => {
                self.timers.insert(*timer, *after_ns);
            }
            Some(Effect::CancelTimer { timer }) => {
                self.timers.remove(timer);
            }
            Some(Effect::Mail {
                to: ActorId::SourceCoordinator(operator),
                mail: Mail::Coordinator(CoordinatorMail::Start { generation, .. }),
            }) => {
                self.generations.insert(*operator, *generation);
            }
            _ => {}
        }
    }

    fn start(&mut self) {
        let address = ProcessAddress { process: ProcessId::JobManager, incarnation: Incarnation(0) };
        self.mail(MainMail::ProcessStarted { address });
    }

    fn grant(
        &mut self,
        epoch: LeaderEpoch,
        counter: u64,
        latest: Option<Arc<CompletedCheckpoint>>,
        result: Option<JobResult>,
    ) {
        let (call, request) = self.calls.pop().expect("the lease is asked for");
        assert_eq!(request, HighAvailabilityRequest::AcquireLease);
        let counter = CheckpointId(counter);
        let reply = HighAvailabilityReply::LeaseGranted { epoch, counter, latest, result };
        self.mail(MainMail::HighAvailabilityReply { call, reply });
    }

    fn network(&mut self, from: ProcessAddress, message: JobManagerMessage) {
        let epoch = self.main.epoch();
        self.mail(MainMail::FromNetwork { from, epoch, message });
    }

    fn state_with(
        &mut self,
        attempt: ExecutionAttemptId,
        state: ExecutionState,
        last_acknowledged: Option<CheckpointId>,
    ) {
        let cause = (state == ExecutionState::Failed).then(|| "boom".to_owned());
        let message = JobManagerMessage::TaskStateChanged { attempt, state, cause, last_acknowledged };
        self.network(task_manager(attempt.subtask.0, 0), message);
    }

    fn state(&mut self, attempt: ExecutionAttemptId, state: ExecutionState) {
        self.state_with(attempt, state, None);
    }

    fn register_reader(&mut self, attempt: ExecutionAttemptId) {
        let event = ReaderEvent::Register { reported: Vec::new() };
        let message = JobManagerMessage::OperatorEvent { attempt, operator: attempt.vertex, event };
        self.network(task_manager(attempt.subtask.0, 0), message);
    }

    fn start_task(&mut self, attempt: ExecutionAttemptId) {
        self.state(attempt, ExecutionState::Initializing);
        self.register_reader(attempt);
        self.state(attempt, ExecutionState::Running);
    }

    fn timer(&mut self, timer: Timer) {
        assert!(self.timers.remove(&timer).is_some(), "{timer:?} is not set: {:?}", self.timers);
        self.mail(MainMail::Timer(timer));
    }

    /// The interval passes and the counter is raised.
    fn trigger(&mut self) {
        self.timer(Timer::CheckpointInterval);
        self.apply();
    }

    /// The service applies the oldest call that it has not answered.
    fn apply(&mut self) -> HighAvailabilityRequest {
        let (call, request) = self.calls.remove(0);
        self.mail(MainMail::HighAvailabilityReply { call, reply: HighAvailabilityReply::Applied });
        request
    }

    fn coordinator_says(&mut self, message: CoordinatorToMain) {
        let generation = self.generations[&SOURCE];
        self.mail(MainMail::FromCoordinator { operator: SOURCE, generation, message });
    }

    fn coordinator_completes(&mut self, checkpoint: u64) {
        let checkpoint = CheckpointId(checkpoint);
        self.coordinator_says(CoordinatorToMain::CheckpointResult { checkpoint, state: Ok(vec![42]) });
    }

    fn acknowledge(&mut self, attempt: ExecutionAttemptId, checkpoint: u64) {
        let snapshot = Arc::new(snapshot(u8::try_from(attempt.subtask.0).unwrap()));
        let checkpoint = CheckpointId(checkpoint);
        let message = JobManagerMessage::AcknowledgeCheckpoint { attempt, checkpoint, snapshot };
        self.network(task_manager(attempt.subtask.0, 0), message);
    }

    /// A whole checkpoint of these executions.
    fn complete(&mut self, checkpoint: u64, attempts: &[ExecutionAttemptId]) {
        self.coordinator_completes(checkpoint);
        for attempt in attempts {
            self.acknowledge(*attempt, checkpoint);
        }
        let added = self.apply();
        assert!(matches!(added, HighAvailabilityRequest::AddCheckpoint(_)), "{added:?}");
    }

    /// The story so far, in short lines, and forgets it.
    fn told(&mut self) -> Vec<String> {
        self.outputs.drain(..).filter_map(|output| tell(&output)).collect()
    }

    fn skip(&mut self) -> &mut Self {
        self.outputs.clear();
        self
    }
}

fn tell(output: &Output) -> Option<String> {
    let event = output.event.as_ref().and_then(tell_event);
    let effect = output.effect.as_ref().and_then(tell_effect);
    match (event, effect) {
        (Some(event), Some(effect)) => Some(format!("{event} + {effect}")),
        (event, effect) => event.or(effect),
    }
}

fn tell_event(event: &EventKind) -> Option<String> {
    Some(match event {
        EventKind::TaskDeployed { attempt, task_manager, restored } => format!(
            "deployed {attempt} on {task_manager} from {}",
            restored.map_or_else(|| "nothing".to_owned(), |id| id.to_string())
        ),
        EventKind::TaskStateChanged { attempt, state, .. } => format!("{attempt} {state:?}"),
        EventKind::FailoverStarted { global, subtasks, .. } => {
            format!("failover global={global} of {}", subtasks.len())
        }
        EventKind::RestorePointChosen { checkpoint, global, subtasks } => {
            format!("restore {checkpoint:?} global={global} of {}", subtasks.len())
        }
        EventKind::CheckpointTriggered { checkpoint } => format!("triggered {checkpoint}"),
        EventKind::BarriersInjected { checkpoint } => format!("barriers {checkpoint}"),
        EventKind::CheckpointAcknowledged { checkpoint, attempt, last } => {
            format!("acknowledged {checkpoint} {attempt} last={last}")
        }
        EventKind::CheckpointAborted { checkpoint, .. } => format!("aborted {checkpoint}"),
        EventKind::LeaderTermEnded { .. } => "term ended".to_owned(),
        _ => return None,
    })
}

fn tell_effect(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::Send { message: Message::TaskManager { message, .. }, to, .. } => match message {
            TaskManagerMessage::Cancel(attempt) => format!("cancel {attempt} on {to}"),
            TaskManagerMessage::Disconnect => format!("disconnect {to}"),
            TaskManagerMessage::Deploy(_) | TaskManagerMessage::LeaderChanged { .. } => return None,
        },
        Effect::Send { message: Message::Task { attempt, message, .. }, .. } => match message {
            TaskMessage::TriggerCheckpoint(checkpoint) => format!("trigger {checkpoint} to {attempt}"),
            TaskMessage::TriggerStop { checkpoint, drain } => {
                format!("stop with {checkpoint} to {attempt}, drain={drain}")
            }
            TaskMessage::NotifyCheckpointComplete(Notice { checkpoint, .. }) => {
                format!("complete {checkpoint} to {attempt}")
            }
            TaskMessage::NotifyCheckpointAborted(Notice { checkpoint, .. }) => {
                format!("abort {checkpoint} to {attempt}")
            }
            TaskMessage::OperatorEvent { .. }
            | TaskMessage::Channel { .. }
            | TaskMessage::ChannelRequest { .. }
            | TaskMessage::StoreReply { .. } => return None,
        },
        Effect::Send { message: Message::HighAvailability { request, .. }, .. } => match request {
            HighAvailabilityRequest::RaiseCounter(checkpoint) => format!("raise {checkpoint}"),
            HighAvailabilityRequest::AddCheckpoint(completed) => format!("add {}", completed.id),
            HighAvailabilityRequest::PutResult(result) => format!("put {result:?}"),
            HighAvailabilityRequest::AcquireLease => "lease".to_owned(),
            HighAvailabilityRequest::Subscribe => return None,
        },
        Effect::Mail { mail: Mail::Coordinator(mail), .. } => match mail {
            CoordinatorMail::Start { restored, .. } => {
                format!("coordinator starts from {:?}", restored.as_ref().map(|restored| restored.0.0))
            }
            CoordinatorMail::SubtaskReset { subtask, restored } => {
                format!("reset {subtask} to {:?}", restored.map(|id| id.0))
            }
            CoordinatorMail::Checkpoint(checkpoint) => format!("coordinator {checkpoint}"),
            CoordinatorMail::NotifyCheckpointComplete(checkpoint) => {
                format!("coordinator complete {checkpoint}")
            }
            CoordinatorMail::NotifyCheckpointAborted(checkpoint) => {
                format!("coordinator abort {checkpoint}")
            }
            CoordinatorMail::ExecutionAttemptFailed { attempt, .. } => {
                format!("coordinator failed {attempt}")
            }
            _ => return None,
        },
        Effect::ResetSession { peer } => format!("reset session {peer}"),
        Effect::EndTerm => "end term".to_owned(),
        _ => return None,
    })
}

fn defective(defect: Defect) -> JobConfig {
    JobConfig { defects: DefectSet::NONE.with(defect), ..config() }
}
