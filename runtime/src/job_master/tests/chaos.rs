//! Random mails, right and wrong ones, from a world that answers when it likes: no assertion of the protocol may fire,
//! and the outbox must keep its order.

use super::*;
use crate::coordination::coordinator_error::CoordinatorError;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug)]
enum Step {
    State(u32, u32, u8),
    Register(u32, u32),
    EndOfData(u32, u32),
    Acknowledge(u32, u32, u64),
    Decline(u32, u32, u64),
    Timer(usize),
    TimerOf(fn(&Timer) -> bool),
    Apply,
    CoordinatorCompletes,
    CoordinatorFails,
    FailJob,
    TaskManager(u32, u32, bool),
    Delivery(usize, bool),
    /// The first so many of the things that a healthy world does next.
    Healthy(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let attempt = || (0u32..2, 0u32..4);
    prop_oneof![
        4 => (attempt(), 0u8..6).prop_map(|((subtask, back), state)| Step::State(subtask, back, state)),
        1 => attempt().prop_map(|(subtask, back)| Step::Register(subtask, back)),
        1 => attempt().prop_map(|(subtask, back)| Step::EndOfData(subtask, back)),
        3 => (attempt(), 0u64..3).prop_map(|((subtask, back), id)| Step::Acknowledge(subtask, back, id)),
        1 => (attempt(), 0u64..3).prop_map(|((subtask, back), id)| Step::Decline(subtask, back, id)),
        4 => any::<usize>().prop_map(Step::Timer),
        6 => Just(Step::Apply),
        4 => Just(Step::CoordinatorCompletes),
        1 => Just(Step::CoordinatorFails),
        1 => Just(Step::FailJob),
        2 => (0u32..2, 0u32..3, any::<bool>()).prop_map(|(index, life, new)| Step::TaskManager(index, life, new)),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(which, lost)| Step::Delivery(which, lost)),
        20 => (1usize..14).prop_map(Step::Healthy),
    ]
}

fn setup() -> impl Strategy<Value = JobConfig> {
    (any::<bool>(), 1u32..3, 0u32..3, 1u32..30, any::<bool>()).prop_map(
        |(whole_vertex, concurrent_max, failures_tolerable, attempts_max, after_tasks_finish)| {
            let mut config = config();
            config.region = if whole_vertex { RegionScope::Vertex } else { RegionScope::Subtask };
            config.restart =
                RestartConfig::FixedDelay { delay_ns: config.restart.first_delay_ns(), attempts_max };
            let checkpointing = config.checkpointing.as_mut().unwrap();
            checkpointing.concurrent_max = concurrent_max;
            checkpointing.failures_tolerable = failures_tolerable;
            checkpointing.after_tasks_finish = after_tasks_finish;
            config
        },
    )
}

/// The reference: what the outbox may never do, told by its events alone.
#[derive(Default)]
struct Watch {
    newest: BTreeMap<SubtaskId, AttemptNumber>,
    running: BTreeSet<ExecutionAttemptId>,
    /// Triggered, neither aborted nor complete; true from its last acknowledgement on.
    pending: BTreeMap<CheckpointId, bool>,
    last_triggered: CheckpointId,
    completed: Option<CheckpointId>,
}

impl Watch {
    fn output(&mut self, output: &Output) {
        match &output.event {
            Some(EventKind::TaskDeployed { attempt, restored, .. }) => {
                let newest = self.newest.insert(attempt.subtask_id(), attempt.attempt);
                assert!(newest.is_none_or(|newest| newest < attempt.attempt), "{attempt} is deployed again");
                assert!(self.running.iter().all(|other| other.subtask_id() != attempt.subtask_id()));
                assert_eq!(*restored, self.completed, "restores what is not the latest");
                assert!(self.pending.is_empty(), "deployed while {:?} are pending", self.pending);
                self.running.insert(*attempt);
            }
            Some(EventKind::TaskStateChanged { attempt, state, .. }) => {
                assert!(self.running.contains(attempt), "{attempt} is {state:?} after its end");
                if matches!(
                    state,
                    ExecutionState::Finished | ExecutionState::Failed | ExecutionState::Canceled
                ) {
                    self.running.remove(attempt);
                    let open = self.pending.values().any(|adding| !adding);
                    assert!(*state != ExecutionState::Failed || !open, "a failure before the aborts");
                }
            }
            Some(EventKind::RestorePointChosen { checkpoint, .. }) => {
                assert!(self.pending.is_empty(), "restored while {:?} are pending", self.pending);
                assert_eq!(*checkpoint, self.completed);
            }
            Some(EventKind::CheckpointTriggered { checkpoint }) => {
                assert!(*checkpoint > self.last_triggered, "{checkpoint} comes again");
                self.last_triggered = *checkpoint;
                self.pending.insert(*checkpoint, false);
            }
            Some(EventKind::CheckpointAcknowledged { checkpoint, attempt, last }) => {
                assert!(self.newest.get(&attempt.subtask_id()) == Some(&attempt.attempt), "old {attempt}");
                let adding = self.pending.get_mut(checkpoint).expect("pending");
                assert!(!*adding, "acknowledged after the last one");
                *adding = *last;
            }
            Some(EventKind::CheckpointAborted { checkpoint, .. }) => {
                assert_eq!(self.pending.remove(checkpoint), Some(false), "{checkpoint} may be complete");
            }
            _ => {}
        }
        if let Some(Effect::Mail { mail: Mail::Coordinator(CoordinatorMail::SubtaskReset { .. }), .. }) =
            &output.effect
        {
            assert!(self.pending.is_empty(), "a reset before the aborts");
        }
    }
}

struct Chaos {
    script: Script,
    watch: Watch,
    tokens: Vec<DeliveryToken>,
    /// What was told to stop and has not answered.
    cancelled: Vec<ExecutionAttemptId>,
}

impl Chaos {
    fn new(config: JobConfig) -> Self {
        let script = Script::deployed(config);
        let mut chaos = Self { script, watch: Watch::default(), tokens: Vec::new(), cancelled: Vec::new() };
        chaos.look();
        chaos
    }

    fn attempt(&self, subtask: u32, back: u32) -> ExecutionAttemptId {
        let newest = self.watch.newest.get(&attempt(subtask, 0).subtask_id()).map_or(0, |newest| newest.0);
        // Mostly the current one, sometimes an older or a newer one.
        match back {
            2 => attempt(subtask, newest.saturating_sub(1)),
            3 => attempt(subtask, newest + 1),
            _ => attempt(subtask, newest),
        }
    }

    fn checkpoint(&self, back: u64) -> CheckpointId {
        CheckpointId(self.watch.last_triggered.0.saturating_sub(back))
    }

    fn apply(&mut self) {
        if self.script.calls.is_empty() {
            return;
        }
        if let HighAvailabilityRequest::AddCheckpoint(completed) = &self.script.calls[0].1 {
            let id = completed.id;
            assert!(self.watch.completed.is_none_or(|latest| latest < id), "{id} goes back");
            assert_eq!(self.watch.pending.remove(&id), Some(true));
            self.watch.completed = Some(id);
        }
        self.script.apply();
    }

    /// Each thing is a step of its own, so that the watch sees the outbox between them.
    fn healthy(&mut self, things: usize) {
        let mut plan: Vec<Step> = Vec::new();
        for attempt in std::mem::take(&mut self.cancelled) {
            plan.push(Step::State(attempt.subtask.0, 0, 3));
        }
        plan.push(Step::TimerOf(|timer| matches!(timer, Timer::RestartDelay(_))));
        plan.extend((0..2).flat_map(|subtask| {
            [Step::State(subtask, 0, 0), Step::Register(subtask, 0), Step::State(subtask, 0, 1)]
        }));
        plan.push(Step::TimerOf(|timer| matches!(timer, Timer::CheckpointInterval)));
        plan.extend([Step::Apply, Step::CoordinatorCompletes]);
        plan.extend([Step::Acknowledge(0, 0, 0), Step::Acknowledge(1, 0, 0), Step::Apply]);
        // The first few in this order; a short plan stops in the midst of a checkpoint or a failover.
        for step in plan.into_iter().take(things + 4) {
            self.step(step);
        }
    }

    fn step(&mut self, step: Step) {
        const STATES: [ExecutionState; 5] = [
            ExecutionState::Initializing,
            ExecutionState::Running,
            ExecutionState::Finished,
            ExecutionState::Canceled,
            ExecutionState::Failed,
        ];
        let script_attempt = |subtask, back| self.attempt(subtask, back);
        match step {
            Step::State(subtask, back, state) => {
                let (attempt, acknowledged) =
                    (script_attempt(subtask, back), self.checkpoint(u64::from(back % 2)));
                // A cancellation or a failure is answered more often than one happens.
                let state = STATES.get(usize::from(state)).copied().unwrap_or(ExecutionState::Canceled);
                self.script.state_with(attempt, state, Some(acknowledged).filter(|id| id.0 > 0));
            }
            Step::Register(subtask, back) => self.script.register_reader(script_attempt(subtask, back)),
            Step::EndOfData(subtask, back) => {
                let attempt = script_attempt(subtask, back);
                self.script.network(task_manager(subtask, 0), JobManagerMessage::EndOfData { attempt });
            }
            Step::Acknowledge(subtask, back, id) => {
                let (attempt, checkpoint) = (script_attempt(subtask, back), self.checkpoint(id));
                self.script.acknowledge(attempt, checkpoint.0);
            }
            Step::Decline(subtask, back, id) => {
                let (attempt, checkpoint) = (script_attempt(subtask, back), self.checkpoint(id));
                let reason = "no".to_owned();
                let message = JobManagerMessage::DeclineCheckpoint { attempt, checkpoint, reason };
                self.script.network(task_manager(subtask, 0), message);
            }
            Step::Timer(which) => {
                // A call of unknown outcome ends the term, which other tests are about.
                let timers: Vec<_> = self
                    .script
                    .timers
                    .keys()
                    .copied()
                    .filter(|timer| !matches!(timer, Timer::HighAvailabilityTimeout(_)))
                    .collect();
                if !timers.is_empty() {
                    self.script.timer(timers[which % timers.len()]);
                }
            }
            Step::TimerOf(wanted) => {
                if let Some(timer) = self.script.timers.keys().copied().find(wanted) {
                    self.script.timer(timer);
                }
            }
            Step::Apply => self.apply(),
            Step::CoordinatorCompletes => {
                let coordinated = self.checkpoint(0);
                self.script.coordinator_completes(coordinated.0);
            }
            Step::CoordinatorFails => {
                let (checkpoint, state) = (self.checkpoint(0), Err(CoordinatorError::NotStarted));
                self.script.coordinator_says(CoordinatorToMain::CheckpointResult { checkpoint, state });
            }
            Step::FailJob => self
                .script
                .coordinator_says(CoordinatorToMain::FailJob { cause: CoordinatorError::NotStarted }),
            Step::TaskManager(index, life, registers) => {
                let message = if registers {
                    JobManagerMessage::RegisterTaskManager
                } else {
                    JobManagerMessage::Heartbeat
                };
                self.script.network(task_manager(index, life), message);
            }
            Step::Delivery(which, lost) => {
                if !self.tokens.is_empty() {
                    let token = self.tokens.swap_remove(which % self.tokens.len());
                    let outcome =
                        if lost { DeliveryOutcome::NotDelivered } else { DeliveryOutcome::Delivered };
                    self.script.mail(MainMail::DeliveryOutcome { token, outcome });
                }
            }
            Step::Healthy(things) => self.healthy(things),
        }
        self.look();
    }

    /// Shows the watch what was put out.
    fn look(&mut self) {
        for output in std::mem::take(&mut self.script.outputs) {
            self.watch.output(&output);
            if let Some(Effect::Send { token: Some(token), .. }) = output.effect {
                self.tokens.push(token);
            }
            if let Some(Effect::Send {
                message: Message::TaskManager { message: TaskManagerMessage::Cancel(attempt), .. },
                ..
            }) = output.effect
            {
                self.cancelled.push(attempt);
            }
        }
    }

    /// From here on the world is well: what runs ends its checkpoints, what was cancelled answers, and the job ends.
    fn heal(&mut self) {
        for _ in 0..400 {
            if self.script.main.job_result().is_some() {
                return;
            }
            for index in 0..2 {
                self.step(Step::TaskManager(index, 2, true));
            }
            while !self.script.calls.is_empty() {
                self.step(Step::Apply);
            }
            for current in self.watch.running.clone() {
                self.step(Step::State(current.subtask.0, 0, 3));
            }
            self.step(Step::Timer(0));
            self.step(Step::TimerOf(|timer| matches!(timer, Timer::RestartDelay(_))));
        }
        panic!("no end: {:?}", self.script.main.waiting_for());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_order_of_mails_breaks_the_order_of_the_outbox(config in setup(), steps in prop::collection::vec(step(), 1..100)) {
        let mut chaos = Chaos::new(config);
        for step in steps {
            chaos.step(step);
        }
        // Executions that are cancelled again and again use the restarts up: the job ends, whatever came before.
        chaos.heal();
    }
}

#[test]
fn the_healthy_steps_alone_complete_checkpoints() {
    let mut chaos = Chaos::new(config());
    for _ in 0..10 {
        chaos.step(Step::Healthy(14));
    }
    assert_eq!(chaos.watch.completed, Some(CheckpointId(10)));
}
