//! The task manager's endpoint: it follows leaders, runs what the current one deploys, and says what became of it.
//!
//! Fencing: a message of an older epoch than the newest known one is refused, and so is a deployment of an attempt
//! that is not newer than every attempt of that subtask seen in this epoch. A newer leader ends all tasks of older
//! epochs before anything else. INITIALIZING, RUNNING and FINISHED are told by the task itself, in the
//! stream of its events; FAILED and CANCELED come from here, because the task's thread is gone by then.
//!
//! Refused: answering a heartbeat question of the job master (the side that falls silent is the one that must speak),
//! and trusting that the notice of a new leader arrives: a resend budget can run out, so the endpoint asks again now
//! and then.

#[cfg(test)]
mod tests;

use crate::actor::{Actor, Effect, Outbox, TurnDecision};
use crate::config::HeartbeatConfig;
use crate::ids::*;
use crate::message::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};

/// After how many heartbeats the endpoint asks again who leads.
const HEARTBEATS_PER_SUBSCRIPTION: u32 = 8;

/// The job master that the endpoint obeys.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Leader {
    epoch: LeaderEpoch,
    job_manager: ProcessAddress,
}

/// The endpoint of one task manager's process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TaskManagerEndpoint {
    index: u32,
    heartbeat: HeartbeatConfig,
    mailbox: VecDeque<TaskManagerMail>,
    leader: Option<Leader>,
    /// What runs here; all of it was deployed by the current leader.
    running: BTreeSet<ExecutionAttemptId>,
    /// The newest attempt of each subtask that this leader deployed or cancelled here.
    newest: BTreeMap<SubtaskId, AttemptNumber>,
    next_call: CallId,
    heartbeats_until_subscription: u32,
}

impl TaskManagerEndpoint {
    /// An endpoint that knows no leader yet.
    #[must_use]
    pub fn new(index: u32, heartbeat: HeartbeatConfig) -> Self {
        debug_assert!(heartbeat.interval_ns > 0, "heartbeats need an interval");
        Self {
            index,
            heartbeat,
            mailbox: VecDeque::new(),
            leader: None,
            running: BTreeSet::new(),
            newest: BTreeMap::new(),
            next_call: CallId(1),
            heartbeats_until_subscription: HEARTBEATS_PER_SUBSCRIPTION,
        }
    }

    /// The executions that run here, in order.
    pub fn running(&self) -> impl Iterator<Item = ExecutionAttemptId> + '_ {
        self.running.iter().copied()
    }

    /// The epoch of the leader that it obeys; `LeaderEpoch(0)` before it has one.
    #[must_use]
    pub fn epoch(&self) -> LeaderEpoch {
        self.leader.map_or(LeaderEpoch(0), |leader| leader.epoch)
    }

    /// What is owed to it, as a sentence for a deadlock's report.
    #[must_use]
    pub fn waiting_for(&self) -> Option<String> {
        self.leader.is_none().then(|| format!("task-manager-{} waits to be told of a leader", self.index))
    }

    fn subscribe(&mut self, outbox: &mut Outbox) {
        let call = self.next_call;
        self.next_call = CallId(call.0 + 1);
        self.heartbeats_until_subscription = HEARTBEATS_PER_SUBSCRIPTION;
        let request = HighAvailabilityRequest::Subscribe;
        let message = Message::HighAvailability { epoch: LeaderEpoch(0), call, request };
        outbox.send(ProcessAddress::HIGH_AVAILABILITY, Stream::HighAvailability, message);
    }

    fn handle_heartbeat_timer(&mut self, outbox: &mut Outbox) {
        debug_assert!(self.heartbeats_until_subscription > 0, "it counts down to a subscription");
        self.heartbeats_until_subscription -= 1;
        if self.leader.is_some() {
            self.tell_leader(Stream::Heartbeats, JobManagerMessage::Heartbeat, outbox);
        }
        if self.leader.is_none() || self.heartbeats_until_subscription == 0 {
            self.subscribe(outbox);
        }
        outbox.set_timer(Timer::Heartbeat, self.heartbeat.interval_ns);
    }

    /// A newer leader: nothing of an older one goes on.
    fn follow(&mut self, leader: Leader, outbox: &mut Outbox) {
        debug_assert!(leader.epoch > self.epoch(), "leaders are followed upwards only");
        tracing::debug!(task_manager = self.index, epoch = %leader.epoch, "new leader");
        self.stop_all(outbox);
        self.newest.clear();
        self.leader = Some(leader);
        self.register(outbox);
    }

    fn register(&mut self, outbox: &mut Outbox) {
        debug_assert!(self.running.is_empty(), "a registration comes with empty hands");
        self.tell_leader(Stream::TaskManager, JobManagerMessage::RegisterTaskManager, outbox);
        outbox.set_timer(Timer::Heartbeat, self.heartbeat.interval_ns);
    }

    fn stop_all(&mut self, outbox: &mut Outbox) {
        for attempt in std::mem::take(&mut self.running) {
            outbox.effect(Effect::StopTask(attempt));
        }
    }

    fn handle_message(&mut self, epoch: LeaderEpoch, message: TaskManagerMessage, outbox: &mut Outbox) {
        if let TaskManagerMessage::LeaderChanged { epoch, job_manager } = message {
            if epoch > self.epoch() {
                self.follow(Leader { epoch, job_manager }, outbox);
            }
            return;
        }
        // A leader deploys only to those that registered with it, so a newer epoch than the known one is no one's to obey.
        if epoch != self.epoch() {
            tracing::debug!(task_manager = self.index, %epoch, "message of another leader refused");
            return;
        }
        match message {
            TaskManagerMessage::Deploy(descriptor) => self.deploy(descriptor, outbox),
            TaskManagerMessage::Cancel(attempt) => self.cancel(attempt, outbox),
            TaskManagerMessage::Disconnect => {
                self.stop_all(outbox);
                self.register(outbox);
            }
            TaskManagerMessage::LeaderChanged { .. } => unreachable!("handled above"),
        }
    }

    fn deploy(&mut self, descriptor: Box<TaskDescriptor>, outbox: &mut Outbox) {
        debug_assert_eq!(descriptor.task_manager, self.index, "deployed to the task manager it names");
        let attempt = descriptor.attempt;
        if descriptor.leader_epoch != self.epoch() || !self.is_newer(attempt) {
            tracing::debug!(task_manager = self.index, %attempt, "old deployment refused");
            return;
        }
        self.newest.insert(attempt.subtask_id(), attempt.attempt);
        self.running.insert(attempt);
        outbox.effect(Effect::StartTask(descriptor));
    }

    fn cancel(&mut self, attempt: ExecutionAttemptId, outbox: &mut Outbox) {
        if self.running.remove(&attempt) {
            outbox.effect(Effect::StopTask(attempt));
        }
        if self.is_newer(attempt) {
            self.newest.insert(attempt.subtask_id(), attempt.attempt);
        }
        debug_assert!(!self.running.contains(&attempt) && !self.is_newer(attempt));
        // Also when it does not run here: the job master waits for a terminal state.
        self.tell_end(attempt, ExecutionState::Canceled, None, outbox);
    }

    fn handle_task_ended(
        &mut self,
        attempt: ExecutionAttemptId,
        epoch: LeaderEpoch,
        state: ExecutionState,
        cause: Option<String>,
        outbox: &mut Outbox,
    ) {
        debug_assert!(matches!(state, ExecutionState::Finished | ExecutionState::Failed));
        // A zombie, or a task that was stopped after it had ended: its end is told already.
        if epoch != self.epoch() || !self.running.remove(&attempt) {
            return;
        }
        if state == ExecutionState::Failed {
            self.tell_end(attempt, state, cause, outbox);
        }
    }

    fn is_newer(&self, attempt: ExecutionAttemptId) -> bool {
        self.newest.get(&attempt.subtask_id()).is_none_or(|newest| *newest < attempt.attempt)
    }

    fn tell_end(
        &self,
        attempt: ExecutionAttemptId,
        state: ExecutionState,
        cause: Option<String>,
        outbox: &mut Outbox,
    ) {
        let message = JobManagerMessage::TaskStateChanged { attempt, state, cause, last_acknowledged: None };
        self.tell_leader(Stream::TaskManager, message, outbox);
    }

    fn tell_leader(&self, stream: Stream, message: JobManagerMessage, outbox: &mut Outbox) {
        let Leader { epoch, job_manager } = self.leader.expect("only a leader is told something");
        outbox.send(job_manager, stream, Message::JobManager { epoch, message });
    }
}

impl Actor for TaskManagerEndpoint {
    type Mail = TaskManagerMail;

    fn enqueue(&mut self, mail: TaskManagerMail) {
        self.mailbox.push_back(mail);
    }

    fn is_runnable(&self) -> bool {
        !self.mailbox.is_empty()
    }

    fn turn(&mut self, _decision: TurnDecision, outbox: &mut Outbox) {
        debug_assert!(self.is_runnable(), "a turn without mail");
        match self.mailbox.pop_front() {
            None => {}
            Some(TaskManagerMail::ProcessStarted { address }) => {
                debug_assert_eq!(address.process, ProcessId::TaskManager(self.index));
                self.subscribe(outbox);
                outbox.set_timer(Timer::Heartbeat, self.heartbeat.interval_ns);
            }
            Some(TaskManagerMail::FromNetwork { epoch, message, .. }) => {
                self.handle_message(epoch, message, outbox);
            }
            Some(TaskManagerMail::TaskEnded { attempt, epoch, state, cause }) => {
                self.handle_task_ended(attempt, epoch, state, cause, outbox);
            }
            Some(TaskManagerMail::Timer(timer)) => {
                debug_assert_eq!(timer, Timer::Heartbeat, "the endpoint has one timer");
                self.handle_heartbeat_timer(outbox);
            }
        }
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.hash(&mut hasher);
    }
}
