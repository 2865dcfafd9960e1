//! Which task goes where, and with which state.

use super::execution::Phase;
use super::failover::INITIAL_WAIT;
use super::main_thread::{JobStatus, MainThread, VertexHolder};
use crate::actor::{Effect, Outbox};
use crate::checkpointing::redistribution;
use crate::config::{AssignmentPolicy, NANOS_PER_MILLI, VertexConfig};
use crate::coordination::operator_coordinator_holder::OperatorCoordinatorHolder;
use crate::event::EventKind;
use crate::ids::{CheckpointId, ExecutionAttemptId, OperatorUid, ProcessAddress, ProcessId, SubtaskId};
use crate::message::{
    ChannelPeer, CompletedCheckpoint, ConsumerEnd, ProducerEnd, RestoredState, Stream, TaskDescriptor,
    TaskManagerMessage, TaskSnapshot, Timer,
};
use crate::topology::JobEdge;
use std::sync::Arc;

/// How long a new leader waits for all task managers before it makes do with those that are there.
pub(super) const TASK_MANAGERS_WAIT_NS: u64 = 300 * NANOS_PER_MILLI;

impl MainThread {
    /// Starts the coordinators from the latest completed checkpoint and begins to wait for task managers.
    pub(super) fn begin_job(&mut self, out: &mut Outbox) {
        debug_assert!(self.holders.is_empty(), "a job begins once in a term");
        self.redistribute_restored(out);
        let epoch = self.leadership.epoch();
        let checkpoint = self.checkpoints.latest_id();
        if checkpoint.is_some() || epoch.0 > 1 {
            // A take-over is a restore of everything; the first leader of a new job restores nothing.
            let subtasks = self.graph.subtasks();
            out.emit(EventKind::RestorePointChosen { checkpoint, global: true, subtasks });
        }
        for vertex in &self.config.vertices {
            let coordinated = vertex.coordinated.map(|coordinated| coordinated.operator);
            for operator in [Some(vertex.operator), coordinated].into_iter().flatten() {
                let mut holder = OperatorCoordinatorHolder::new(&self.config, operator, epoch);
                holder.start(self.restored_coordinator(operator), out);
                self.holders.push(VertexHolder { vertex: vertex.operator, holder });
            }
        }
        self.status = JobStatus::AwaitingTaskManagers;
        out.set_timer(Timer::RestartDelay(INITIAL_WAIT), TASK_MANAGERS_WAIT_NS);
        out.set_timer(Timer::HeartbeatCheck, self.config.heartbeat.interval_ns);
        for (told, address) in std::mem::take(&mut self.early_registrations) {
            if told == epoch {
                self.register_task_manager(address, out);
            }
        }
        if self.cancel_requested {
            self.on_cancel(out);
        }
    }

    /// A checkpoint of a job with another parallelism is dealt anew before anything is restored from it.
    fn redistribute_restored(&mut self, out: &mut Outbox) {
        let Some(latest) = self.checkpoints.latest() else { return };
        let dealt = redistribution::redistribute(latest, &self.config)
            .expect("the service stored the checkpoint only after it had read it");
        if let Some(dealt) = dealt {
            debug_assert_eq!(
                dealt.subtasks.len(),
                self.graph.executions().len(),
                "each subtask has its share"
            );
            out.emit(redistribution::told(&dealt).expect("it was encoded just now"));
            self.checkpoints.replace_latest(Arc::new(dealt));
        }
    }

    /// A coordinator's state in the latest completed checkpoint.
    pub(super) fn restored_coordinator(&self, operator: OperatorUid) -> Option<(CheckpointId, Vec<u8>)> {
        let latest = self.checkpoints.latest()?;
        let state = latest.coordinators.iter().find(|held| held.0 == operator);
        debug_assert!(state.is_some(), "{} lacks the state of {operator}", latest.id);
        state.map(|held| (latest.id, held.1.clone()))
    }

    /// The wait for all task managers is over: from here on those are enough that have the slots.
    pub(super) fn on_initial_wait_over(&mut self, out: &mut Outbox) {
        if self.status != JobStatus::AwaitingTaskManagers {
            return;
        }
        if self.has_slots_for(&self.graph.subtasks()) {
            self.deploy_all(out);
        } else {
            out.set_timer(Timer::RestartDelay(INITIAL_WAIT), TASK_MANAGERS_WAIT_NS);
        }
    }

    /// Deploys the job once every task manager that it may use is there.
    pub(super) fn deploy_initially(&mut self, out: &mut Outbox) {
        let wanted = self.config.task_managers.max(1) as usize;
        if self.status == JobStatus::AwaitingTaskManagers && self.task_managers.len() >= wanted {
            out.cancel_timer(Timer::RestartDelay(INITIAL_WAIT));
            self.deploy_all(out);
        }
    }

    fn deploy_all(&mut self, out: &mut Outbox) {
        debug_assert!(self.failovers.active.is_empty(), "nothing ran that could fail");
        self.status = JobStatus::Running;
        let subtasks = self.graph.subtasks();
        self.deploy(&subtasks, out);
    }

    /// Deploys new executions of these subtasks, restored from the latest completed checkpoint. What had wholly finished
    /// in it is restored as finished and not run. Every place is chosen before the first deployment is sent: the ends of a
    /// channel must know each other.
    pub(super) fn deploy(&mut self, subtasks: &[SubtaskId], out: &mut Outbox) {
        debug_assert!(subtasks.is_sorted(), "deployed in subtask order");
        let mut deployed = Vec::with_capacity(subtasks.len());
        for subtask in subtasks {
            let index = self.graph.index_of(*subtask).expect("it is one of the job's subtasks");
            if self.checkpoints.latest().is_some_and(|latest| is_vertex_finished(latest, subtask.vertex)) {
                self.graph.get_mut(index).restore_as_finished();
                continue;
            }
            let task_manager = self.task_manager_for(*subtask);
            deployed.push((self.graph.get_mut(index).deploy(task_manager), task_manager));
        }
        for (attempt, task_manager) in deployed {
            let restored =
                self.checkpoints.latest().map(|latest| restored_state(latest, attempt.subtask_id()));
            self.send_deployment(attempt, task_manager, restored, out);
        }
    }

    /// The channels into a task. Its peers are deployed together with it, or its producers had finished before.
    fn consumer_end(&self, subtask: SubtaskId) -> Option<Box<ConsumerEnd>> {
        let credit = self.topology.edge_into(subtask.vertex)?.credit;
        let producers = self.topology.producers_of(subtask).into_iter().map(|peer| self.peer(peer)).collect();
        Some(Box::new(ConsumerEnd { credit, producers }))
    }

    /// The channels out of a task. Whoever takes from a task finishes after it and restarts with it, so a consumer always
    /// has an execution.
    fn producer_end(&self, subtask: SubtaskId) -> Option<Box<ProducerEnd>> {
        let JobEdge { kind: edge, unaligned, .. } = *self.topology.edge_out_of(subtask.vertex)?;
        let consumers = self.topology.consumers_of(subtask).into_iter().map(|peer| self.peer(peer));
        let consumers =
            consumers.map(|peer| peer.expect("a consumer finishes after its producers")).collect();
        Some(Box::new(ProducerEnd { edge, consumers, unaligned }))
    }

    /// The other end of a channel, unless it has finished.
    fn peer(&self, peer: SubtaskId) -> Option<ChannelPeer> {
        let index = self.graph.index_of(peer).expect("the graph has the topology's subtasks");
        let execution = self.graph.get(index);
        let is_finished = execution.phase() == Phase::Finished;
        let address = execution.task_manager().filter(|_| !is_finished)?;
        Some(ChannelPeer { attempt: execution.attempt()?, address })
    }

    fn vertex_config(&self, vertex: OperatorUid) -> &VertexConfig {
        let source = vertex.source();
        let vertex = self.config.vertices.iter().find(|vertex| vertex.operator == source);
        vertex.expect("the graph is made of the configured vertices")
    }

    fn send_deployment(
        &self,
        attempt: ExecutionAttemptId,
        to: ProcessAddress,
        restored: Option<RestoredState>,
        out: &mut Outbox,
    ) {
        let ProcessId::TaskManager(task_manager) = to.process else {
            unreachable!("{to} is no task manager");
        };
        let vertex = self.vertex_config(attempt.vertex);
        let restored_id = restored.as_ref().map(|restored| restored.checkpoint);
        let descriptor = TaskDescriptor {
            attempt,
            leader_epoch: self.leadership.epoch(),
            task_manager,
            job_manager: self.leadership.address(),
            parallelism: self.topology.parallelism(attempt.vertex),
            config: vertex.task,
            files: vertex.files.as_ref().map(|files| files.reader),
            log: vertex.log.map(|log| log.reader),
            bounded: vertex.source.bounded,
            pull: vertex.source.policy == AssignmentPolicy::Pull,
            reports_splits: vertex.source.script.reassignment.is_some(),
            checkpointing: self.config.checkpointing.is_some(),
            final_checkpoint: self.config.checkpointing.is_some_and(|settings| settings.after_tasks_finish),
            sink: self.config.sink,
            coordinated: vertex.coordinated.map(|coordinated| coordinated.operator),
            operators: self.topology.vertex(attempt.vertex).operators.clone(),
            consumes: self.consumer_end(attempt.subtask_id()),
            produces: self.producer_end(attempt.subtask_id()),
            restored,
            defects: self.config.defects,
        };
        let message = self.task_manager_message(TaskManagerMessage::Deploy(Box::new(descriptor)));
        out.effect_with(
            Effect::Send { to, stream: Stream::Deployment, message, token: None },
            EventKind::TaskDeployed { attempt, task_manager, restored: restored_id },
        );
    }

    /// How many tasks run or are to be stopped, for reports and timers.
    pub(super) fn is_anything_left_to_stop(&self) -> bool {
        self.graph.executions().iter().any(|execution| !execution.is_terminal())
    }

    /// How far the current executions are, for reports: the first that is not running and registered.
    pub(super) fn first_unready(&self) -> Option<SubtaskId> {
        self.graph
            .executions()
            .iter()
            .find(|execution| execution.is_live() && !execution.has_started())
            .map(super::execution::Execution::subtask)
    }
}

fn is_vertex_finished(checkpoint: &CompletedCheckpoint, vertex: OperatorUid) -> bool {
    let mut subtasks = checkpoint.subtasks.iter().filter(|part| part.subtask.vertex == vertex).peekable();
    debug_assert!(subtasks.peek().is_some(), "{} lacks {vertex}", checkpoint.id);
    subtasks.peek().is_some() && subtasks.all(|part| part.finished)
}

fn restored_state(checkpoint: &CompletedCheckpoint, subtask: SubtaskId) -> RestoredState {
    let part = checkpoint.subtasks.iter().find(|part| part.subtask == subtask);
    debug_assert!(part.is_some(), "{} lacks {subtask}", checkpoint.id);
    // A subtask that had finished has no state: its successor begins empty.
    debug_assert!(part.is_none_or(|part| !part.finished || *part.snapshot == TaskSnapshot::default()));
    let snapshot = part.map(|part| part.snapshot.clone()).unwrap_or_default();
    let held_elsewhere = redistribution::held_elsewhere(checkpoint, subtask);
    RestoredState { checkpoint: checkpoint.id, snapshot, held_elsewhere }
}
