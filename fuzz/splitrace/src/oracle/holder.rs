//! Component `holder`: [`OperatorCoordinatorHolder`] with its gateways, and behind it a scripted coordinator (provider
//! `test`) or the [`SourceCoordinator`] with a scripted enumerator (provider `source`) (FACTS 8 to 50).
//!
//! [`OperatorCoordinatorHolder`]: splitrace_runtime::coordination::operator_coordinator_holder::OperatorCoordinatorHolder
//! [`SourceCoordinator`]: splitrace_runtime::coordination::source_coordinator::SourceCoordinator

mod enumerator;
mod java;
mod job;
mod scripted;
mod source;
mod told;
mod world;

use super::tracker::{TrackerState, checkpoint_of, recorded_id};
use super::{Answer, Component, Operation, OperationError, Stored};
use scripted::ScriptedCoordinator;
use serde::Serialize;
use splitrace_runtime::actor::Outbox;
use splitrace_runtime::api::source::UserError;
use splitrace_runtime::coordination::coordinator_error::CoordinatorError;
use splitrace_runtime::coordination::subtask_gateway::SubtaskGateway;
use splitrace_runtime::ids::CheckpointId;
use splitrace_runtime::message::{CoordinatorToMain, OperatorEvent};
use std::collections::BTreeMap;
use world::{Provider, Turn, World};

/// No recorded operator has more than a few subtasks; more than this is a slip, and would be answered by an empty machine.
const PARALLELISM_MAX: u32 = 10_000;

/// The state of a gateway, as the recordings show it.
#[derive(Serialize)]
struct GatewayState {
    attempt: u32,
    marked: Vec<i64>,
    latest: Option<i64>,
    blocked: BTreeMap<i64, usize>,
}

impl GatewayState {
    fn of(gateway: &SubtaskGateway) -> Self {
        Self {
            attempt: gateway.attempt().attempt.0,
            marked: gateway.marked().map(recorded_id).collect(),
            latest: gateway.latest_marked().map(recorded_id),
            blocked: gateway.closed().map(|(id, count)| (recorded_id(id), count)).collect(),
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct HolderComponent {
    world: Option<World>,
}

impl HolderComponent {
    fn renew(&mut self, operation: &Operation, answer: &mut Answer) -> Result<(), OperationError> {
        if let Some(mut old) = self.world.take() {
            old.close(answer);
        }
        let parallelism = u32::try_from(operation.number_or("par", 1)).unwrap_or_default();
        if !(1..=PARALLELISM_MAX).contains(&parallelism) {
            let message = format!("'par' must lie between 1 and {PARALLELISM_MAX}");
            return Err(OperationError::Malformed(message));
        }
        let provider = if operation.text_or("provider", "test") == "source" {
            source::provider(operation, parallelism)?
        } else {
            let completes = operation.text_or("snap", "auto") == "auto";
            Provider::Scripted(ScriptedCoordinator::new(completes))
        };
        let acknowledges = operation.text_or("ack", "auto") == "auto";
        let checkpointing = operation.flag_or("checkpointing", true);
        self.world = Some(World::new(parallelism, checkpointing, acknowledges, provider));
        Ok(())
    }
}

impl World {
    fn operate(&mut self, operation: &Operation, answer: &mut Answer) -> Result<(), OperationError> {
        match operation.name()? {
            "start" | "close" | "running" | "stopping" | "attempt_failed" | "subtask_reset" | "reset" => {
                self.schedule(operation, answer)
            }
            "ckpt" | "complete" | "abort" | "abort_trigger" | "ack_ckpt" => {
                self.checkpoint(operation, answer)
            }
            "snap_ok" | "snap_fail" | "snap_throw" | "send" | "fail_job" => self.script(operation),
            "ack" => self.conclude(operation.index("k")? as usize, Ok(())),
            "nack" => self.conclude(operation.index("k")? as usize, Err("Exception: delivery failed")),
            "send_throws" => {
                self.set_send_throws(self.subtask(operation)?, operation.flag_or("on", true));
                Ok(())
            }
            "event" => self.event(operation, answer),
            "dump" | "drain" | "step" => Ok(()),
            _ => self.source(operation, answer),
        }
    }

    /// A subtask that there is.
    fn subtask(&self, operation: &Operation) -> Result<u32, OperationError> {
        let subtask = operation.index("sub")?;
        if (subtask as usize) < self.executions.len() {
            return Ok(subtask);
        }
        Err(OperationError::Malformed(format!("there is no subtask {subtask}")))
    }

    /// What the scheduler does.
    fn schedule(&mut self, operation: &Operation, answer: &mut Answer) -> Result<(), OperationError> {
        let mut out = Outbox::new();
        let result = match operation.name()? {
            "start" if self.holder.generation() == 0 => {
                self.holder.start(None, &mut out);
                self.perform(out, answer)
            }
            "start" => self.start_after_reset(answer),
            "close" => {
                self.close(answer);
                Ok(())
            }
            "running" => {
                self.switch_to_running(self.subtask(operation)?);
                Ok(())
            }
            "stopping" => {
                self.holder.execution_attempt_finished(self.attempt(self.subtask(operation)?));
                Ok(())
            }
            "attempt_failed" => {
                let attempt = self.attempt(self.subtask(operation)?);
                self.holder.execution_attempt_failed(attempt, None, &mut out);
                self.perform(out, answer)
            }
            "subtask_reset" => {
                let restored = checkpoint_of(operation.number("id")?)?;
                self.reset_subtask(self.subtask(operation)?, restored, answer)
            }
            _ => {
                let id = operation.number("id")?;
                let from = checkpoint_of(operation.number_or("from", id))?;
                self.reset_all(checkpoint_of(id)?, from, answer)
            }
        };
        result.map_err(OperationError::Thrown)
    }

    /// What the checkpoint coordinator does, and the subtasks' acknowledgements.
    fn checkpoint(&mut self, operation: &Operation, answer: &mut Answer) -> Result<(), OperationError> {
        let name = operation.name()?;
        if name == "abort_trigger" {
            self.queue.push_back(Turn::AbortTriggering);
            return Ok(());
        }
        let checkpoint: CheckpointId = checkpoint_of(operation.number("id")?)?;
        match name {
            "ckpt" => self.queue.push_back(Turn::Checkpoint(checkpoint)),
            "complete" => self.queue.push_back(Turn::Complete(checkpoint)),
            "abort" => self.queue.push_back(Turn::Abort(checkpoint)),
            _ => {
                let mut out = Outbox::new();
                let attempt = self.attempt(self.subtask(operation)?);
                let result = self.holder.acknowledge_checkpoint(checkpoint, attempt, &mut out);
                self.perform(out, answer).map_err(OperationError::Thrown)?;
                result.map_err(|error| OperationError::Thrown(java::gateway_error(&error)))?;
            }
        }
        Ok(())
    }

    /// What the scripted coordinator does by itself.
    fn script(&mut self, operation: &Operation) -> Result<(), OperationError> {
        let Provider::Scripted(coordinator) = &mut self.provider else { return Err(operation.unknown()) };
        let said = match operation.name()? {
            "snap_throw" => {
                coordinator.throws = operation.flag_or("on", true);
                None
            }
            "send" => {
                let attempt = coordinator.gateway(operation.index("sub")?)?;
                let event = OperatorEvent::Custom(operation.text("e")?.as_bytes().to_vec());
                Some(CoordinatorToMain::SendEvent { attempt, event })
            }
            "fail_job" => {
                let cause = UserError::new("Exception: coordinator fails job");
                Some(CoordinatorToMain::FailJob { cause: CoordinatorError::Enumerator(cause) })
            }
            name => coordinator.complete(checkpoint_of(operation.number("id")?)?, name == "snap_ok")?,
        };
        self.queue.extend(said.map(Turn::FromCoordinator));
        Ok(())
    }

    fn dump(&self, answer: &mut Answer) {
        let gateways: BTreeMap<u32, GatewayState> = self
            .holder
            .marked_gateways()
            .iter()
            .map(|gateway| (gateway.attempt().subtask.0, GatewayState::of(gateway)))
            .collect();
        answer.field("gateways", &gateways);
        answer.field("unconfirmed", &self.holder.unconfirmed_count());
        if let Provider::Source { coordinator, .. } = &self.provider {
            let registered = coordinator.registered_attempts();
            let registered = registered
                .map(|(subtask, attempts)| (subtask.0, attempts.iter().map(|attempt| attempt.0).collect()))
                .collect();
            answer.field(
                "tracker",
                &SourceState { tracker: TrackerState::of(coordinator.tracker()), registered },
            );
        }
    }
}

/// What a dump shows of a source's coordinator.
#[derive(Serialize)]
struct SourceState<'a> {
    #[serde(flatten)]
    tracker: TrackerState<'a>,
    registered: BTreeMap<u32, Vec<u32>>,
}

impl Component for HolderComponent {
    fn operate(
        &mut self,
        operation: &Operation,
        _: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        let name = operation.name()?;
        if name == "new" {
            self.renew(operation, answer)?;
        }
        let world = self
            .world
            .as_mut()
            .ok_or_else(|| OperationError::Malformed("there is no holder before 'new'".to_owned()))?;
        if name != "new" {
            world.operate(operation, answer)?;
        }
        if name == "step" {
            world.run(operation.index("n")? as usize, answer)?;
        } else if operation.flag_or("drain", true) {
            world.run(usize::MAX, answer)?;
        }
        if operation.flag_or("dump", name == "dump") {
            world.dump(answer);
        }
        answer.field("queue", &world.queue.len());
        Ok(())
    }
}
