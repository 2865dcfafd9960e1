//! What lies around a holder: the main thread's queue, the executions, the deliveries, and the coordinator.
//!
//! Everything that Flink hands to its main thread is a [`Turn`] in one queue, first in, first out. The coordinator of a
//! source has a thread of its own; it is given its mail at once and handles it to the end, and what it says to the main
//! thread is a turn.

use super::enumerator::SharedScript;
use super::java;
use super::job::{EPOCH, OPERATOR, TASK_MANAGER, job};
use super::scripted::ScriptedCoordinator;
use super::told::{CoordinatorCall, EventName, MainEffect};
use crate::oracle::tracker::recorded_id;
use crate::oracle::{Answer, OperationError};
use splitrace_runtime::actor::{Effect, Outbox};
use splitrace_runtime::coordination::coordinator_error::CoordinatorError;
use splitrace_runtime::coordination::operator_coordinator_holder::{
    GatewayError, HolderSignal, OperatorCoordinatorHolder,
};
use splitrace_runtime::coordination::source_coordinator::SourceCoordinator;
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::*;
use splitrace_runtime::message::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Something for the main thread to do.
#[derive(Debug)]
pub(super) enum Turn {
    Ready(ExecutionAttemptId),
    Checkpoint(CheckpointId),
    Complete(CheckpointId),
    Abort(CheckpointId),
    AbortTriggering,
    FromCoordinator(CoordinatorToMain),
    /// What became of a delivery; `Err` names the Java exception.
    Delivered(DeliveryToken, Result<(), &'static str>),
}

/// The coordinator.
#[derive(Debug)]
pub(super) enum Provider {
    Scripted(ScriptedCoordinator),
    Source { coordinator: Box<SourceCoordinator>, script: SharedScript },
}

/// One execution of a subtask.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Execution {
    attempt: u32,
    switched_to_running: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct World {
    pub(super) holder: OperatorCoordinatorHolder,
    pub(super) provider: Provider,
    pub(super) queue: VecDeque<Turn>,
    pub(super) executions: Vec<Execution>,
    /// The subtasks to which sending throws, whichever execution it is for.
    send_throws: BTreeSet<u32>,
    /// Whether deliveries are acknowledged by themselves.
    acknowledges: bool,
    sent_count: usize,
    /// Those without an outcome, by number.
    deliveries: BTreeMap<usize, DeliveryToken>,
    names: BTreeMap<DeliveryToken, EventName>,
    /// What was stored for each checkpoint.
    stored: BTreeMap<CheckpointId, Vec<u8>>,
    /// The checkpoint of the reset that is going on.
    resetting_to: Option<CheckpointId>,
}

impl World {
    pub(super) fn new(parallelism: u32, checkpointing: bool, acknowledges: bool, provider: Provider) -> Self {
        let config = job(parallelism, checkpointing).into();
        Self {
            holder: OperatorCoordinatorHolder::new(&config, OPERATOR, EPOCH),
            provider,
            queue: VecDeque::new(),
            executions: vec![Execution::default(); parallelism as usize],
            send_throws: BTreeSet::new(),
            acknowledges,
            sent_count: 0,
            deliveries: BTreeMap::new(),
            names: BTreeMap::new(),
            stored: BTreeMap::new(),
            resetting_to: None,
        }
    }

    /// The current execution of a subtask.
    pub(super) fn attempt(&self, subtask: u32) -> ExecutionAttemptId {
        let attempt = AttemptNumber(self.executions[subtask as usize].attempt);
        ExecutionAttemptId { vertex: OPERATOR, subtask: SubtaskIndex(subtask), attempt }
    }

    /// Runs up to `count` turns.
    ///
    /// # Errors
    /// When one throws: the first that did. The others run all the same, as the main thread goes on.
    pub(super) fn run(&mut self, count: usize, answer: &mut Answer) -> Result<(), OperationError> {
        let mut result = Ok(());
        for _ in 0..count {
            let Some(turn) = self.queue.pop_front() else { break };
            let ran = self.turn(turn, answer).map_err(OperationError::Thrown);
            result = result.and(ran);
        }
        result
    }

    fn turn(&mut self, turn: Turn, answer: &mut Answer) -> Result<(), String> {
        let mut out = Outbox::new();
        let mut signals = Vec::new();
        let gateway_error = |error: GatewayError| java::gateway_error(&error);
        let result = match turn {
            Turn::Ready(attempt) => {
                self.holder.execution_attempt_ready(attempt, TASK_MANAGER, &mut out);
                Ok(())
            }
            Turn::Checkpoint(checkpoint) => {
                if let Err(error) = self.holder.checkpoint(checkpoint, &mut out) {
                    fail_checkpoint_and_job(checkpoint, &java::regressing(error), answer);
                }
                Ok(())
            }
            Turn::Complete(id) => self.holder.notify_checkpoint_complete(id, &mut out).map_err(gateway_error),
            Turn::Abort(id) => self.holder.notify_checkpoint_aborted(id, &mut out).map_err(gateway_error),
            Turn::AbortTriggering => self.holder.abort_current_triggering(&mut out).map_err(gateway_error),
            Turn::FromCoordinator(message) => {
                self.hear_coordinator(message, &mut out, &mut signals);
                Ok(())
            }
            Turn::Delivered(token, outcome) => {
                self.deliver(token, outcome, answer);
                return Ok(());
            }
        };
        self.tell(signals, answer);
        self.perform(out, answer)?;
        result
    }

    fn hear_coordinator(
        &mut self,
        message: CoordinatorToMain,
        out: &mut Outbox,
        signals: &mut Vec<HolderSignal>,
    ) {
        let is_source = matches!(self.provider, Provider::Source { .. });
        let name = match &message {
            CoordinatorToMain::SendEvent { event, .. } => Some(EventName::of(event, is_source)),
            _ => None,
        };
        let generation = self.holder.generation();
        self.holder.on_coordinator_message(generation, message, out, signals);
        let Some(name) = name else { return };
        let id = out.outputs().iter().find_map(|output| match output.event {
            Some(
                EventKind::OperatorEventReleased { id, .. } | EventKind::OperatorEventBlocked { id, .. },
            ) => Some(id),
            _ => None,
        });
        if let Some(id) = id {
            // The holder of operator 0 numbers its tokens as its events.
            self.names.insert(DeliveryToken(id.0), name);
        }
    }

    /// The holder hears of an outcome; last of all the sender does.
    fn deliver(&mut self, token: DeliveryToken, outcome: Result<(), &'static str>, answer: &mut Answer) {
        let (mut out, mut signals) = (Outbox::new(), Vec::new());
        let delivery =
            if outcome.is_ok() { DeliveryOutcome::Delivered } else { DeliveryOutcome::NotDelivered };
        self.holder.on_delivery(token, delivery, &mut out, &mut signals);
        let name = self.names.remove(&token).expect("each event has one outcome");
        let cause = outcome.err().unwrap_or_default();
        for signal in &signals {
            if let HolderSignal::FailSubtask { attempt, .. } = signal {
                let (sub, attempt) = (attempt.subtask.0, attempt.attempt.0);
                let err = java::event_lost(&name.printed(), sub, cause);
                answer.effect(&MainEffect::TaskFailover { sub, attempt, err: &err });
            }
        }
        self.tell(signals, answer);
        if matches!(self.provider, Provider::Scripted(_)) {
            let err = outcome.err().map(java::send_failed).unwrap_or_default();
            answer.effect(&MainEffect::SendResult { e: &name, ok: outcome.is_ok(), err: &err });
        }
    }

    /// Performs what the holder or the coordinator wants done, in order.
    ///
    /// # Errors
    /// When the coordinator throws at once.
    pub(super) fn perform(&mut self, mut out: Outbox, answer: &mut Answer) -> Result<(), String> {
        for output in out.drain() {
            match output.effect {
                Some(Effect::Send { message: Message::Task { attempt, .. }, token: Some(token), .. }) => {
                    self.send(attempt, token, answer)
                }
                Some(Effect::Mail {
                    mail: Mail::Main(MainMail::FromCoordinator { message, .. }), ..
                }) => {
                    self.queue.push_back(Turn::FromCoordinator(message));
                }
                Some(Effect::Mail { mail: Mail::Coordinator(mail), .. }) => self.mail(mail, answer)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn send(&mut self, attempt: ExecutionAttemptId, token: DeliveryToken, answer: &mut Answer) {
        if self.send_throws.contains(&attempt.subtask.0) {
            let thrown = Err("RuntimeException: send action throws");
            self.queue.push_back(Turn::Delivered(token, thrown));
            return;
        }
        let k = self.sent_count;
        self.sent_count += 1;
        let (sub, attempt, e) = (attempt.subtask.0, attempt.attempt.0, &self.names[&token]);
        answer.effect(&MainEffect::Sent { k, sub, attempt, e });
        if self.acknowledges {
            self.queue.push_back(Turn::Delivered(token, Ok(())));
        } else {
            self.deliveries.insert(k, token);
        }
    }

    fn mail(&mut self, mail: CoordinatorMail, answer: &mut Answer) -> Result<(), String> {
        match &mut self.provider {
            Provider::Scripted(coordinator) => {
                let checkpoint = match &mail {
                    CoordinatorMail::Checkpoint(checkpoint) => Some(*checkpoint),
                    CoordinatorMail::Start { restored, .. } if self.resetting_to.is_some() => {
                        let data = restored.as_ref().map(|(_, state)| String::from_utf8_lossy(state));
                        answer.effect(&CoordinatorCall {
                            call: "resetToCheckpoint",
                            id: self.resetting_to.map(recorded_id),
                            data: Some(data.as_deref()),
                            ..CoordinatorCall::default()
                        });
                        return Ok(());
                    }
                    _ => None,
                };
                match (coordinator.hear(mail, answer), checkpoint) {
                    (Ok(said), _) => self.queue.extend(said.map(Turn::FromCoordinator)),
                    (Err(thrown), Some(checkpoint)) => fail_checkpoint_and_job(checkpoint, &thrown, answer),
                    (Err(thrown), None) => return Err(thrown),
                }
                Ok(())
            }
            Provider::Source { .. } => self.mail_source(mail, answer),
        }
    }

    fn mail_source(&mut self, mail: CoordinatorMail, answer: &mut Answer) -> Result<(), String> {
        let resetting = self.resetting_to.is_some();
        let Provider::Source { coordinator, .. } = &mut self.provider else { return Ok(()) };
        let mut out = Outbox::new();
        match mail {
            CoordinatorMail::Start { generation, restored } => {
                let starts = !resetting || coordinator.is_started();
                match coordinator.reset_to_checkpoint(generation, restored) {
                    Ok(()) if starts => coordinator.start(&mut out),
                    Ok(()) => {}
                    Err(cause) => {
                        self.queue.push_back(Turn::FromCoordinator(CoordinatorToMain::FailJob { cause }));
                    }
                }
            }
            CoordinatorMail::Checkpoint(checkpoint) if !coordinator.is_started() => {
                fail_checkpoint_and_job(checkpoint, java::NOT_STARTED, answer);
            }
            _ if !coordinator.is_started() => return Err(java::NOT_STARTED.to_owned()),
            mail => coordinator.handle(mail, &mut out),
        }
        self.tell_enumerator(answer);
        self.perform(out, answer)
    }

    /// Tells what the enumerator was called.
    pub(super) fn tell_enumerator(&mut self, answer: &mut Answer) {
        if let Provider::Source { script, .. } = &self.provider {
            for call in script.lock().calls.drain(..) {
                answer.effect(&call);
            }
        }
    }

    fn tell(&mut self, signals: Vec<HolderSignal>, answer: &mut Answer) {
        for signal in signals {
            match signal {
                HolderSignal::CheckpointCompleted { checkpoint, state, .. } => {
                    let id = recorded_id(checkpoint);
                    self.stored.insert(checkpoint, state);
                    answer.effect(&MainEffect::CkptResult { id, ok: true, err: None });
                }
                HolderSignal::CheckpointFailed { checkpoint, reason, .. } => {
                    let (id, err) = (recorded_id(checkpoint), java::checkpoint_failure(&reason));
                    answer.effect(&MainEffect::CkptResult { id, ok: false, err: Some(&err) });
                }
                HolderSignal::FailJob { cause } => tell_global_failure(&cause, answer),
                HolderSignal::EndProcess { .. } => answer.effect(&MainEffect::JvmExit),
                // Told where the delivery is known.
                HolderSignal::FailSubtask { .. } => {}
            }
        }
    }

    /// The execution switches to RUNNING; once.
    pub(super) fn switch_to_running(&mut self, subtask: u32) {
        if !std::mem::replace(&mut self.executions[subtask as usize].switched_to_running, true) {
            self.queue.push_back(Turn::Ready(self.attempt(subtask)));
        }
    }

    pub(super) fn set_send_throws(&mut self, subtask: u32, throws: bool) {
        if throws {
            self.send_throws.insert(subtask);
        } else {
            self.send_throws.remove(&subtask);
        }
    }

    /// A new execution of a subtask, restored from a checkpoint.
    pub(super) fn reset_subtask(
        &mut self,
        subtask: u32,
        restored: CheckpointId,
        answer: &mut Answer,
    ) -> Result<(), String> {
        let mut out = Outbox::new();
        let next = self.next_execution(subtask);
        self.holder.subtask_reset(self.attempt(subtask).subtask_id(), next, Some(restored), &mut out);
        self.perform(out, answer)
    }

    /// New executions of all subtasks, and the coordinator's state that was stored for `from`, if there is one.
    pub(super) fn reset_all(
        &mut self,
        checkpoint: CheckpointId,
        from: CheckpointId,
        answer: &mut Answer,
    ) -> Result<(), String> {
        let mut out = Outbox::new();
        let subtasks = 0..self.executions.len() as u32;
        let next: Vec<AttemptNumber> = subtasks.map(|subtask| self.next_execution(subtask)).collect();
        let restored = self.stored.get(&from).map(|state| (from, state.clone()));
        self.holder.reset_to_checkpoint(&next, restored, &mut out);
        self.resetting_to = Some(checkpoint);
        let result = self.perform(out, answer);
        self.resetting_to = None;
        result
    }

    fn next_execution(&mut self, subtask: u32) -> AttemptNumber {
        let execution = &mut self.executions[subtask as usize];
        *execution = Execution { attempt: execution.attempt + 1, ..Execution::default() };
        AttemptNumber(execution.attempt)
    }

    /// The outcome of the k-th delivery is known.
    pub(super) fn conclude(
        &mut self,
        k: usize,
        outcome: Result<(), &'static str>,
    ) -> Result<(), OperationError> {
        let token = self.deliveries.remove(&k).ok_or_else(|| {
            let method = match outcome {
                Ok(()) => "java.util.concurrent.CompletableFuture.complete(Object)",
                Err(_) => "java.util.concurrent.CompletableFuture.completeExceptionally(java.lang.Throwable)",
            };
            OperationError::Thrown(java::null_call_on(method, "java.util.Map.remove(Object)"))
        })?;
        self.queue.push_back(Turn::Delivered(token, outcome));
        Ok(())
    }
}

fn fail_checkpoint_and_job(checkpoint: CheckpointId, err: &str, answer: &mut Answer) {
    answer.effect(&MainEffect::CkptResult { id: recorded_id(checkpoint), ok: false, err: Some(err) });
    answer.effect(&MainEffect::GlobalFailure { err });
}

fn tell_global_failure(cause: &CoordinatorError, answer: &mut Answer) {
    answer.effect(&MainEffect::GlobalFailure { err: &java::global_failure(cause) });
}
