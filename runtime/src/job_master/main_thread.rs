//! The main thread: one mailbox for everything that job master, checkpoint coordinator and holders hear.

use super::checkpoints::is_trigger;
use super::execution_graph::ExecutionGraph;
use super::failover::Failovers;
use super::heartbeats::TaskManagers;
use super::leadership::Leadership;
use crate::actor::{Actor, Outbox, TurnDecision};
use crate::checkpointing::checkpoint_coordinator::CheckpointCoordinator;
use crate::coordination::operator_coordinator_holder::{HolderSignal, OperatorCoordinatorHolder};
use crate::defects::Defect;
use crate::ids::{ExecutionAttemptId, LeaderEpoch, OperatorUid, ProcessAddress};
use crate::message::{
    CheckpointKind, CoordinatorToMain, DeliveryOutcome, DeliveryToken, JobManagerMessage, JobResult,
    MainMail, Message, ReaderEvent, SharedJobConfig, TaskManagerMessage, TaskMessage, Timer,
};
use crate::topology::JobGraph;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// Where the job stands with this leader.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum JobStatus {
    /// The process has not started.
    Idle,
    /// The lease was asked for.
    AwaitingLease,
    /// The coordinators are started; tasks wait for task managers.
    AwaitingTaskManagers,
    /// Tasks were deployed.
    Running,
    /// The job is over for this leader; its result is on the way to the high-availability service.
    Ending,
    /// The result is stored.
    Over,
    /// The leader's term is over; the actor does nothing any more.
    TermEnded,
}

/// A holder, and the vertex that its operator is chained in.
#[derive(Clone, Hash, Debug)]
pub(super) struct VertexHolder {
    pub(super) vertex: OperatorUid,
    pub(super) holder: OperatorCoordinatorHolder,
}

/// The job manager's main thread.
///
/// It begins with [`MainMail::ProcessStarted`], asks for the lease, and runs the job from the latest completed
/// checkpoint until the job is over or its term ends. After `Effect::EndTerm` it is inert: the host replaces it.
#[derive(Clone, Debug)]
pub struct MainThread {
    pub(super) config: SharedJobConfig,
    pub(super) mailbox: VecDeque<MainMail>,
    pub(super) status: JobStatus,
    pub(super) leadership: Leadership,
    pub(super) topology: JobGraph,
    pub(super) graph: ExecutionGraph,
    pub(super) task_managers: TaskManagers,
    /// Registrations that came before the lease: the service tells task managers of a leader when it tells the leader.
    pub(super) early_registrations: Vec<(LeaderEpoch, ProcessAddress)>,
    pub(super) holders: Vec<VertexHolder>,
    pub(super) checkpoints: CheckpointCoordinator,
    pub(super) failovers: Failovers,
    pub(super) job_result: Option<JobResult>,
    pub(super) cancel_requested: bool,
    /// Something changed on which failovers, checkpoints or the job's end may wait.
    pub(super) unsettled: bool,
}

impl MainThread {
    /// A main thread that waits for the start of its process.
    #[must_use]
    pub fn new(config: SharedJobConfig) -> Self {
        debug_assert!(!config.vertices.is_empty(), "a job has a vertex");
        let topology = JobGraph::new(&config);
        Self {
            mailbox: VecDeque::new(),
            status: JobStatus::Idle,
            leadership: Leadership::new(config.high_availability_timeout_ns),
            graph: ExecutionGraph::new(&topology),
            topology,
            task_managers: TaskManagers::new(config.heartbeat),
            early_registrations: Vec::new(),
            holders: Vec::new(),
            checkpoints: CheckpointCoordinator::new(config.checkpointing),
            failovers: Failovers::new(config.restart),
            job_result: None,
            cancel_requested: false,
            unsettled: false,
            config,
        }
    }

    /// The epoch of its term; 0 before there is a lease.
    #[must_use]
    pub const fn epoch(&self) -> LeaderEpoch {
        self.leadership.epoch()
    }

    /// The job's result, once the high-availability service holds it.
    #[must_use]
    pub const fn job_result(&self) -> Option<&JobResult> {
        self.job_result.as_ref()
    }

    /// Whether the job is this leader's to run.
    pub(super) const fn is_job_active(&self) -> bool {
        matches!(self.status, JobStatus::AwaitingTaskManagers | JobStatus::Running)
    }

    pub(super) const fn task_manager_message(&self, message: TaskManagerMessage) -> Message {
        Message::TaskManager { epoch: self.leadership.epoch(), message }
    }

    pub(super) const fn task_message(&self, attempt: ExecutionAttemptId, message: TaskMessage) -> Message {
        Message::Task { epoch: self.leadership.epoch(), attempt, message }
    }

    /// The holders of one vertex, in the order of their start.
    pub(super) fn holders_of(
        &mut self,
        vertex: OperatorUid,
    ) -> impl Iterator<Item = &mut OperatorCoordinatorHolder> {
        self.holders.iter_mut().filter(move |held| held.vertex == vertex).map(|held| &mut held.holder)
    }

    fn handle(&mut self, mail: MainMail, out: &mut Outbox) {
        match mail {
            MainMail::ProcessStarted { address } => self.on_process_started(address, out),
            MainMail::FromNetwork { from, epoch, message } => {
                // An older or a newer leader's mail is never acted on: S3 between epochs.
                let own = self.leadership.epoch();
                if epoch == own && epoch != LeaderEpoch(0) {
                    self.on_message(from, message, out);
                } else if epoch > own && own != LeaderEpoch(0) {
                    // Whoever knows a newer leader will never obey this one again, and no write may ever tell it so.
                    self.end_term(format!("{epoch} was granted to another"), out);
                } else if self.status == JobStatus::AwaitingLease
                    && message == JobManagerMessage::RegisterTaskManager
                {
                    self.early_registrations.push((epoch, from));
                }
            }
            MainMail::HighAvailabilityReply { call, reply } => {
                self.unsettled = true;
                self.on_high_availability_reply(call, reply, out);
            }
            MainMail::DeliveryOutcome { token, outcome } => self.on_delivery(token, outcome, out),
            MainMail::FromCoordinator { operator, generation, message } => {
                self.on_coordinator(operator, generation, message, out);
            }
            MainMail::Timer(timer) => {
                self.unsettled = true;
                self.on_timer(timer, out);
            }
            MainMail::Savepoint => {
                self.unsettled = true;
                self.on_savepoint_wanted(CheckpointKind::Savepoint);
            }
            MainMail::StopWithSavepoint { drain } => {
                self.unsettled = true;
                self.on_savepoint_wanted(CheckpointKind::Stop { drain });
            }
            MainMail::Cancel => {
                self.unsettled = true;
                self.on_cancel(out);
            }
        }
    }

    fn on_message(&mut self, from: ProcessAddress, message: JobManagerMessage, out: &mut Outbox) {
        // Heartbeats and a reader's requests are frequent, and nothing waits for them.
        self.unsettled |= match &message {
            JobManagerMessage::Heartbeat => false,
            JobManagerMessage::OperatorEvent { event, .. } => matches!(event, ReaderEvent::Register { .. }),
            _ => true,
        };
        match message {
            JobManagerMessage::RegisterTaskManager => self.register_task_manager(from, out),
            JobManagerMessage::Heartbeat => self.on_heartbeat(from, out),
            JobManagerMessage::TaskStateChanged { attempt, state, cause, last_acknowledged } => {
                self.on_task_state(attempt, state, cause, last_acknowledged, out);
            }
            JobManagerMessage::OperatorEvent { attempt, operator, event } => {
                self.on_operator_event(attempt, operator, event, out);
            }
            JobManagerMessage::AcknowledgeCheckpoint { attempt, checkpoint, snapshot } => {
                self.on_acknowledge(attempt, checkpoint, snapshot, out);
            }
            JobManagerMessage::DeclineCheckpoint { attempt, checkpoint, reason } => {
                self.on_decline(attempt, checkpoint, &reason, out);
            }
            JobManagerMessage::EndOfData { attempt } => self.on_end_of_data(attempt),
            JobManagerMessage::RestartsUseless { attempt, cause } => {
                self.on_restarts_useless(attempt, cause, out);
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, out: &mut Outbox) {
        match timer {
            Timer::CheckpointInterval => self.checkpoints.interval_elapsed(),
            Timer::CheckpointPause => self.checkpoints.pause_elapsed(),
            Timer::CheckpointTimeout(checkpoint) => self.on_checkpoint_timeout(checkpoint, out),
            Timer::RestartDelay(number) => self.on_restart_delay(number, out),
            Timer::RestartBackoff => self.failovers.backoff_over(out),
            Timer::RestartQuiet => self.failovers.strategy.quiet(),
            Timer::FailureForgotten(_) => self.failovers.strategy.failure_forgotten(),
            Timer::HeartbeatCheck => self.on_heartbeat_check(out),
            Timer::HighAvailabilityTimeout(call) => self.on_high_availability_timeout(call, out),
            Timer::Heartbeat
            | Timer::ReaderWake
            | Timer::FetchDue(_)
            | Timer::StoreTimeout(_)
            | Timer::StoreCallDue(_)
            | Timer::WriterWake
            | Timer::UserCodeStall
            | Timer::WatermarkReport
            | Timer::AlignmentAnnouncement
            | Timer::OpenChannels
            | Timer::CoordinatedEvent
            | Timer::AsyncCall(_)
            | Timer::AsyncCallReturns => {
                debug_assert!(false, "{timer:?} is no timer of the main thread");
            }
        }
    }

    fn on_operator_event(
        &mut self,
        attempt: ExecutionAttemptId,
        operator: OperatorUid,
        event: ReaderEvent,
        out: &mut Outbox,
    ) {
        let Some(index) = self.graph.index_of(attempt.subtask_id()) else { return };
        let execution = self.graph.get_mut(index);
        let is_current = execution.attempt() == Some(attempt) && execution.is_heard();
        if is_current && operator == attempt.vertex && matches!(event, ReaderEvent::Register { .. }) {
            execution.registered = true;
        }
        let is_heard = is_current || self.config.defects.has(Defect::OldAttemptAccepted);
        if !self.is_job_active() || !is_heard {
            return;
        }
        let held = self.holders.iter_mut().find(|held| held.holder.operator() == operator);
        debug_assert!(held.is_some(), "{operator} has no coordinator");
        if let Some(held) = held {
            debug_assert_eq!(held.vertex, attempt.vertex, "{attempt} talks to another vertex's coordinator");
            held.holder.handle_event_from_operator(attempt, event, out);
        }
    }

    fn on_coordinator(
        &mut self,
        operator: OperatorUid,
        generation: u32,
        message: CoordinatorToMain,
        out: &mut Outbox,
    ) {
        if !self.is_job_active() {
            return;
        }
        let mut signals = Vec::new();
        if let Some(held) = self.holders.iter_mut().find(|held| held.holder.operator() == operator) {
            held.holder.on_coordinator_message(generation, message, out, &mut signals);
        }
        self.on_signals(signals, out);
    }

    fn on_delivery(&mut self, token: DeliveryToken, outcome: DeliveryOutcome, out: &mut Outbox) {
        if !self.is_job_active() {
            return;
        }
        if is_trigger(token) {
            self.on_trigger_delivery(token, outcome, out);
            return;
        }
        let mut signals = Vec::new();
        if let Some(held) = self.holders.iter_mut().find(|held| held.holder.owns_token(token)) {
            held.holder.on_delivery(token, outcome, out, &mut signals);
        }
        self.on_signals(signals, out);
    }

    fn on_signals(&mut self, signals: Vec<HolderSignal>, out: &mut Outbox) {
        self.unsettled |= !signals.is_empty();
        for signal in signals {
            match signal {
                HolderSignal::CheckpointCompleted { operator, checkpoint, state } => {
                    self.on_coordinator_completed(operator, checkpoint, state, out);
                }
                HolderSignal::CheckpointFailed { operator, checkpoint, reason } => {
                    let reason = format!("the coordinator of {operator}: {reason}");
                    self.fail_checkpoint(checkpoint, &reason, out);
                }
                HolderSignal::FailSubtask { attempt, cause } => {
                    if let Some(index) = self.graph.current(attempt)
                        && self.graph.get(index).is_live()
                    {
                        self.fail_execution(index, cause, true, out);
                    }
                }
                HolderSignal::FailJob { cause } => self.fail_globally(cause.to_string(), out),
                HolderSignal::EndProcess { operator, checkpoint } => {
                    self.end_term(format!("{operator} cannot close all gateways for {checkpoint}"), out);
                }
            }
        }
    }

    /// Does what the last input may have made possible. The order matters: an accepted FINISHED may end the job, and a
    /// failover restarts what the schedule of checkpoints waits for.
    fn settle(&mut self, out: &mut Outbox) {
        self.accept_finished(out);
        self.deploy_initially(out);
        self.complete_failovers(out);
        self.end_finished_job(out);
        self.drive_checkpoints(out);
    }
}

impl Actor for MainThread {
    type Mail = MainMail;

    fn enqueue(&mut self, mail: MainMail) {
        if self.status != JobStatus::TermEnded {
            self.mailbox.push_back(mail);
        }
    }

    fn is_runnable(&self) -> bool {
        !self.mailbox.is_empty()
    }

    fn turn(&mut self, _decision: TurnDecision, outbox: &mut Outbox) {
        let mail = self.mailbox.pop_front();
        debug_assert!(mail.is_some(), "a turn without mail");
        let Some(mail) = mail else { return };
        self.handle(mail, outbox);
        if std::mem::take(&mut self.unsettled) && self.is_job_active() {
            self.settle(outbox);
        }
        debug_assert!(
            self.status != JobStatus::TermEnded || self.mailbox.is_empty(),
            "an ended term hears nothing"
        );
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        // The configuration is the scenario's and never changes, nor does the topology; everything else counts.
        self.mailbox.hash(&mut hasher);
        self.status.hash(&mut hasher);
        self.leadership.hash(&mut hasher);
        self.graph.hash(&mut hasher);
        self.task_managers.hash(&mut hasher);
        self.early_registrations.hash(&mut hasher);
        self.holders.hash(&mut hasher);
        self.checkpoints.hash(&mut hasher);
        self.failovers.hash(&mut hasher);
        self.job_result.hash(&mut hasher);
        self.cancel_requested.hash(&mut hasher);
    }
}
