//! A small cluster around real holders and coordinators: a job master that keeps the order 'abort, then reset', tasks
//! that hold splits and numbers, and a network that keeps order inside a stream only. Steps come in random order. In
//! each completed checkpoint every split must be in exactly one place and the numbers of both sides must be equal.

use super::*;
use crate::actor::Effect;
use crate::api::source_state::enumerator_splits_held;
use crate::coordination::event_coordinator::{decode_event_coordinator_state, decode_event_number};
use crate::coordination::operator_coordinator_holder::{HolderSignal, OperatorCoordinatorHolder};
use crate::coordination::test_jobs::job;
use crate::defects::{Defect, DefectSet};
use crate::ids::*;
use crate::message::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SOURCE: OperatorUid = OperatorUid(0);
const EVENTS: OperatorUid = OperatorUid(9);
const PARALLELISM: u32 = 2;
const TASK_MANAGER: ProcessAddress =
    ProcessAddress { process: ProcessId::TaskManager(0), incarnation: Incarnation(1) };

/// What an execution holds; also its snapshot.
#[derive(Clone, Debug, Default)]
struct TaskState {
    splits: Vec<u32>,
    number: u64,
}

#[derive(Clone, Debug)]
struct Task {
    attempt: ExecutionAttemptId,
    state: TaskState,
    triggered: u64,
}

/// On the way to a task.
#[derive(Clone, Debug)]
enum ToTask {
    Event(OperatorEvent, DeliveryToken),
    Trigger(u64),
}

/// On the way to the main thread.
#[derive(Clone, Debug)]
enum ToMain {
    Mail(MainMail),
    Reader(ReaderEvent, ExecutionAttemptId),
    Acknowledge(u64, ExecutionAttemptId, TaskState),
    Outcome(DeliveryToken, DeliveryOutcome),
}

#[derive(Clone, Debug, Default)]
struct Pending {
    coordinators: BTreeMap<OperatorUid, Vec<u8>>,
    tasks: BTreeMap<u32, TaskState>,
}

struct Cluster {
    holders: Vec<OperatorCoordinatorHolder>,
    coordinators: Vec<Coordinator>,
    timer_set: bool,
    tasks: Vec<Task>,
    /// Streams to the tasks, by (execution, stream), each in order.
    to_tasks: BTreeMap<(ExecutionAttemptId, u8), VecDeque<ToTask>>,
    /// Streams to the main thread; 0 is its own mail.
    to_main: BTreeMap<u32, VecDeque<ToMain>>,
    pending: BTreeMap<u64, Pending>,
    checkpoint_last: u64,
    completed: Option<(u64, Pending)>,
    violation: Option<String>,
    completed_count: u32,
}

impl Cluster {
    fn new(defects: DefectSet) -> Self {
        let config: SharedJobConfig = job(PARALLELISM, defects).into();
        let operators = [SOURCE, EVENTS];
        let mut cluster = Self {
            holders: operators
                .map(|operator| OperatorCoordinatorHolder::new(&config, operator, LeaderEpoch(1)))
                .into(),
            coordinators: operators.map(|operator| Coordinator::new(config.clone(), operator)).into(),
            timer_set: false,
            tasks: Vec::new(),
            to_tasks: BTreeMap::new(),
            to_main: BTreeMap::new(),
            pending: BTreeMap::new(),
            checkpoint_last: 0,
            completed: None,
            violation: None,
            completed_count: 0,
        };
        cluster.with_holders(|holder, out, _| holder.start(None, out));
        for subtask in 0..PARALLELISM {
            let attempt = ExecutionAttemptId {
                vertex: SOURCE,
                subtask: SubtaskIndex(subtask),
                attempt: AttemptNumber(0),
            };
            cluster.tasks.push(Task { attempt, state: TaskState::default(), triggered: 0 });
            cluster.deploy(subtask);
        }
        cluster
    }

    fn with_holders(
        &mut self,
        mut call: impl FnMut(&mut OperatorCoordinatorHolder, &mut Outbox, &mut Vec<HolderSignal>),
    ) {
        let (mut out, mut signals) = (Outbox::new(), Vec::new());
        for holder in &mut self.holders {
            call(holder, &mut out, &mut signals);
        }
        self.perform(&mut out);
        for signal in signals {
            self.on_signal(signal);
        }
    }

    fn perform(&mut self, out: &mut Outbox) {
        for output in out.drain() {
            match output.effect {
                Some(Effect::Send { message: Message::Task { attempt, message, .. }, token, .. }) => {
                    let TaskMessage::OperatorEvent { event, .. } = message else {
                        panic!("only events are sent")
                    };
                    let sent = ToTask::Event(event, token.expect("its outcome matters"));
                    self.to_tasks.entry((attempt, 0)).or_default().push_back(sent);
                }
                Some(Effect::Mail {
                    to: ActorId::SourceCoordinator(operator),
                    mail: Mail::Coordinator(mail),
                }) => {
                    self.coordinators[usize::from(operator == EVENTS)].enqueue(mail);
                }
                Some(Effect::Mail { mail: Mail::Main(mail), .. }) => {
                    self.to_main.entry(0).or_default().push_back(ToMain::Mail(mail));
                }
                Some(Effect::SetTimer { .. }) => self.timer_set = true,
                Some(Effect::CancelTimer { .. }) => self.timer_set = false,
                Some(other) => panic!("unexpected {other:?}"),
                None => {}
            }
        }
    }

    fn on_signal(&mut self, signal: HolderSignal) {
        match signal {
            HolderSignal::CheckpointCompleted { operator, checkpoint, state } => {
                let Some(pending) = self.pending.get_mut(&checkpoint.0) else { return };
                pending.coordinators.insert(operator, state);
                if pending.coordinators.len() == self.holders.len() {
                    self.with_holders(|holder, out, _| holder.barriers_injected(checkpoint, out));
                    for task in &self.tasks {
                        let stream = self.to_tasks.entry((task.attempt, 1)).or_default();
                        stream.push_back(ToTask::Trigger(checkpoint.0));
                    }
                }
            }
            HolderSignal::CheckpointFailed { checkpoint, .. } => self.abort(checkpoint.0),
            HolderSignal::FailSubtask { attempt, .. } => self.fail(attempt.subtask.0),
            HolderSignal::FailJob { cause } => panic!("no enumerator fails here: {cause}"),
            HolderSignal::EndProcess { .. } => panic!("aborts come before resets"),
        }
    }

    fn abort(&mut self, checkpoint: u64) {
        if self.pending.remove(&checkpoint).is_some() {
            self.with_holders(|holder, out, _| {
                holder.notify_checkpoint_aborted(CheckpointId(checkpoint), out).expect("no quirk");
            });
        }
    }

    /// A failure: abort all, then reset to the last completed checkpoint, then a new execution.
    fn fail(&mut self, subtask: u32) {
        for checkpoint in self.pending.keys().copied().collect::<Vec<_>>() {
            self.abort(checkpoint);
        }
        let restored = self.completed.as_ref().map(|(id, _)| CheckpointId(*id));
        let state = self.completed.as_ref().map(|(_, pending)| pending.tasks[&subtask].clone());
        let task = &mut self.tasks[subtask as usize];
        let old = task.attempt;
        task.attempt.attempt.0 += 1;
        let next = task.attempt.attempt;
        task.state = state.unwrap_or_default();
        task.triggered = 0;
        self.with_holders(|holder, out, _| holder.execution_attempt_failed(old, restored, out));
        self.with_holders(|holder, out, _| holder.subtask_reset(old.subtask_id(), next, restored, out));
        self.deploy(subtask);
    }

    /// A global failover: all executions and both coordinators begin anew from the last completed checkpoint.
    fn fail_all(&mut self) {
        for checkpoint in self.pending.keys().copied().collect::<Vec<_>>() {
            self.abort(checkpoint);
        }
        let completed = self.completed.clone();
        let next: Vec<_> = self.tasks.iter().map(|task| AttemptNumber(task.attempt.attempt.0 + 1)).collect();
        self.with_holders(|holder, out, _| {
            let state = |(id, pending): &(u64, Pending)| {
                (CheckpointId(*id), pending.coordinators[&holder.operator()].clone())
            };
            holder.reset_to_checkpoint(&next, completed.as_ref().map(state), out);
        });
        for subtask in 0..PARALLELISM {
            let task = &mut self.tasks[subtask as usize];
            task.attempt.attempt.0 += 1;
            task.state =
                completed.as_ref().map(|(_, pending)| pending.tasks[&subtask].clone()).unwrap_or_default();
            task.triggered = 0;
            self.deploy(subtask);
        }
    }

    fn deploy(&mut self, subtask: u32) {
        let attempt = self.tasks[subtask as usize].attempt;
        self.with_holders(|holder, out, _| holder.execution_attempt_ready(attempt, TASK_MANAGER, out));
        let stream = self.to_main.entry(1 + subtask).or_default();
        stream.push_back(ToMain::Reader(ReaderEvent::Register { reported: Vec::new() }, attempt));
        stream.push_back(ToMain::Reader(ReaderEvent::RequestSplit, attempt));
    }

    fn trigger(&mut self) {
        if self.pending.len() >= 2 {
            return;
        }
        self.checkpoint_last += 1;
        let checkpoint = CheckpointId(self.checkpoint_last);
        self.pending.insert(checkpoint.0, Pending::default());
        self.with_holders(|holder, out, _| holder.checkpoint(checkpoint, out).expect("ids rise"));
    }

    fn step_main(&mut self, stream: u32) {
        match self.to_main.get_mut(&stream).and_then(VecDeque::pop_front) {
            None => {}
            Some(ToMain::Mail(MainMail::FromCoordinator { operator, generation, message })) => {
                let mut message = Some(message);
                self.with_holders(|holder, out, signals| {
                    if holder.operator() == operator {
                        let message = message.take().expect("one holder has it");
                        holder.on_coordinator_message(generation, message, out, signals);
                    }
                });
            }
            Some(ToMain::Mail(other)) => panic!("unexpected {other:?}"),
            Some(ToMain::Reader(event, attempt)) => {
                let is_current = self.tasks[attempt.subtask.0 as usize].attempt == attempt;
                self.with_holders(|holder, out, _| {
                    if holder.operator() == SOURCE && is_current {
                        holder.handle_event_from_operator(attempt, event.clone(), out);
                    }
                });
            }
            Some(ToMain::Outcome(token, outcome)) => self.with_holders(|holder, out, signals| {
                if holder.owns_token(token) {
                    holder.on_delivery(token, outcome, out, signals);
                }
            }),
            Some(ToMain::Acknowledge(checkpoint, attempt, state)) => {
                let Some(pending) = self.pending.get_mut(&checkpoint) else { return };
                if self.tasks[attempt.subtask.0 as usize].attempt != attempt {
                    return;
                }
                pending.tasks.insert(attempt.subtask.0, state);
                let complete = pending.tasks.len() == PARALLELISM as usize;
                let id = CheckpointId(checkpoint);
                self.with_holders(|holder, out, _| {
                    holder.acknowledge_checkpoint(id, attempt, out).expect("no quirk");
                });
                if complete {
                    self.complete(checkpoint);
                }
            }
        }
    }

    fn complete(&mut self, checkpoint: u64) {
        for older in self.pending.range(..checkpoint).map(|(id, _)| *id).collect::<Vec<_>>() {
            self.abort(older);
        }
        let pending = self.pending.remove(&checkpoint).expect("it is complete");
        let mut splits: Vec<u32> = enumerator_splits_held(&pending.coordinators[&SOURCE])
            .unwrap()
            .iter()
            .map(|at| at.split.index)
            .chain(pending.tasks.values().flat_map(|task| task.splits.iter().copied()))
            .collect();
        splits.sort_unstable();
        if splits != [0, 1, 2, 3, 4] {
            self.violation = Some(format!("chk {checkpoint} holds {splits:?}"));
        }
        let sent = decode_event_coordinator_state(&pending.coordinators[&EVENTS]).unwrap();
        let handled: Vec<u64> = pending.tasks.values().map(|task| task.number).collect();
        if sent != handled {
            self.violation = Some(format!("chk {checkpoint}: sent {sent:?}, handled {handled:?}"));
        }
        self.completed = Some((checkpoint, pending));
        self.completed_count += 1;
        self.with_holders(|holder, out, _| {
            holder.notify_checkpoint_complete(CheckpointId(checkpoint), out).expect("no quirk");
        });
    }

    fn step_network(&mut self, index: usize, lost: bool) {
        let streams: Vec<_> =
            self.to_tasks.iter().filter(|(_, stream)| !stream.is_empty()).map(|(key, _)| *key).collect();
        let Some(key) = streams.get(index % streams.len().max(1)).copied() else { return };
        let message = self.to_tasks.get_mut(&key).and_then(VecDeque::pop_front).expect("not empty");
        let alive = self.tasks[key.0.subtask.0 as usize].attempt == key.0;
        match message {
            ToTask::Event(event, token) => {
                let outcome = match (alive, lost) {
                    (true, true) => DeliveryOutcome::Unknown,
                    (true, false) => DeliveryOutcome::Delivered,
                    (false, _) => DeliveryOutcome::NotDelivered,
                };
                if outcome == DeliveryOutcome::Delivered {
                    self.handle_event(key.0, event);
                }
                self.to_main.entry(10).or_default().push_back(ToMain::Outcome(token, outcome));
            }
            ToTask::Trigger(checkpoint) if alive => {
                let task = &mut self.tasks[key.0.subtask.0 as usize];
                if checkpoint > task.triggered {
                    task.triggered = checkpoint;
                    let acknowledgement = ToMain::Acknowledge(checkpoint, task.attempt, task.state.clone());
                    self.to_main.entry(20 + key.0.subtask.0).or_default().push_back(acknowledgement);
                }
            }
            ToTask::Trigger(_) => {}
        }
    }

    fn handle_event(&mut self, attempt: ExecutionAttemptId, event: OperatorEvent) {
        let task = &mut self.tasks[attempt.subtask.0 as usize];
        match event {
            OperatorEvent::AddSplits(splits) => {
                task.state.splits.extend(splits.iter().map(|split| split.at.split.index));
                let stream = self.to_main.entry(1 + attempt.subtask.0).or_default();
                stream.push_back(ToMain::Reader(ReaderEvent::RequestSplit, attempt));
            }
            OperatorEvent::NoMoreSplits
            | OperatorEvent::WatermarkAlignment { .. }
            | OperatorEvent::Unknown(_) => {}
            OperatorEvent::Custom(bytes) => {
                // After a loss a later number may still arrive, until the failover: no checkpoint completes in between.
                let number = decode_event_number(&bytes).unwrap();
                assert!(number > task.state.number, "{attempt}: {number} after {}", task.state.number);
                task.state.number = number;
            }
        }
    }

    fn step_coordinator(&mut self, index: usize) {
        let mut out = Outbox::new();
        if self.coordinators[index].is_runnable() {
            self.coordinators[index].turn(TurnDecision::default(), &mut out);
        } else if index == 1 && std::mem::take(&mut self.timer_set) {
            self.coordinators[1].enqueue(CoordinatorMail::Timer(Timer::CoordinatedEvent));
        }
        self.perform(&mut out);
    }

    fn step(&mut self, (kind, index): (u8, usize)) {
        match kind {
            0..=29 => {
                let streams: Vec<u32> = self
                    .to_main
                    .iter()
                    .filter(|(_, stream)| !stream.is_empty())
                    .map(|(key, _)| *key)
                    .collect();
                if let Some(stream) = streams.get(index % streams.len().max(1)) {
                    self.step_main(*stream);
                }
            }
            30..=54 => self.step_coordinator(index % 2),
            55..=84 => self.step_network(index, false),
            85 => self.step_network(index, true),
            86..=95 => self.trigger(),
            96..=97 => self.fail(index as u32 % PARALLELISM),
            98 if index < 4 => self.fail_all(),
            _ => {
                if let Some(first) = self.pending.keys().next().copied() {
                    self.abort(first);
                }
            }
        }
    }

    /// No more faults: everything under way is done, then a checkpoint must complete.
    fn settle(&mut self) {
        for _ in 0..200 {
            for stream in self.to_main.keys().copied().collect::<Vec<_>>() {
                self.step_main(stream);
            }
            for index in 0..2 {
                self.step_coordinator(index);
            }
            for index in 0..4 {
                self.step_network(index, false);
            }
        }
    }
}

fn steps(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<(u8, usize)>> {
    prop::collection::vec((0u8..100, 0usize..12), length)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn every_completed_checkpoint_is_consistent_and_the_cluster_settles(steps in steps(0..400)) {
        let mut cluster = Cluster::new(DefectSet::NONE);
        for step in steps {
            cluster.step(step);
            prop_assert_eq!(&cluster.violation, &None);
        }
        cluster.settle();
        for checkpoint in cluster.pending.keys().copied().collect::<Vec<_>>() {
            cluster.abort(checkpoint);
        }
        cluster.settle();
        let before = cluster.completed_count;
        cluster.trigger();
        cluster.settle();
        prop_assert_eq!(&cluster.violation, &None);
        prop_assert_eq!(cluster.completed_count, before + 1, "nothing waits for ever");
        prop_assert_eq!(cluster.holders.iter().map(|holder| holder.blocked_event_count()).sum::<usize>(), 0);
        let (_, last) = cluster.completed.as_ref().expect("one is complete");
        prop_assert_eq!(enumerator_splits_held(&last.coordinators[&SOURCE]), Ok(vec![]), "all splits are out");
        prop_assert!(last.tasks.values().all(|task| task.number == 4), "all numbers are out: {:?}", last.tasks);
    }
}

/// Whether some run of a few hundred goes wrong.
fn goes_wrong(defects: DefectSet) -> bool {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    (0..400).any(|_| {
        let steps = steps(100..400).new_tree(&mut runner).unwrap().current();
        let mut cluster = Cluster::new(defects);
        steps.into_iter().any(|step| {
            cluster.step(step);
            cluster.violation.is_some()
        }) || {
            cluster.settle();
            cluster.trigger();
            cluster.settle();
            cluster.violation.is_some() || !cluster.pending.is_empty()
        }
    })
}

#[test]
fn planted_defects_are_found_and_nothing_else() {
    assert!(!goes_wrong(DefectSet::NONE));
    for defect in [
        Defect::TrackerReturnsNothing,
        Defect::GatewayNeverCloses,
        Defect::GatewayOpensAtInjection,
        Defect::EventLossIgnored,
    ] {
        assert!(goes_wrong(DefectSet::NONE.with(defect)), "{defect}");
    }
}
