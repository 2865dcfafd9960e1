//! Component `committer`: [`CommitterOperator`] around a scripted committer (FACTS 65 to 80).
//!
//! This host plays the task around it and its state backend: a snapshot is one element, and a restore brings any number.

use super::committables::{
    Call, Scripted, ScriptedCommitter, Told, checkpoint_of, message_error, message_of, restored_of, shown,
    stored_element, task_error,
};
use super::{Answer, Component, Operation, OperationError, Stored};
use serde::Serialize;
use splitrace_runtime::defects::Profile;
use splitrace_runtime::ids::{CheckpointId, SubtaskIndex};
use splitrace_runtime::task::{CommitTurn, CommitterOperator, CommitterSettings, Emission, TaskError};

/// The retries of a committer whose own configuration says nothing.
const DEFAULT_RETRIES: i64 = 10;

/// A side effect, as the recordings write it.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
enum Effect {
    CreateCommitter {
        restored: Option<u64>,
        sub: u32,
    },
    Emit {
        m: String,
    },
    CommitterClose,
    /// It brings its own tag.
    #[serde(untagged)]
    Call(Call),
}

impl Told for Vec<Effect> {
    fn call(&mut self, call: Call) {
        self.push(Effect::Call(call));
    }

    fn emit(&mut self, m: String) {
        self.push(Effect::Emit { m });
    }
}

#[derive(Serialize)]
struct StateNames {
    streaming_committer_raw_states: &'static str,
}

#[derive(Debug)]
struct Operator {
    operator: CommitterOperator,
    committer: ScriptedCommitter<Vec<Effect>>,
}

impl Operator {
    fn new(operation: &Operation) -> Result<Self, OperationError> {
        let committer = ScriptedCommitter::of(operation, Vec::new())?;
        let (subtask, parallelism) = (operation.index("sub")?, operation.index("par")?);
        let emission = Emission { subtask: SubtaskIndex(subtask), parallelism };
        let settings = CommitterSettings {
            retries_max: operation.number_or("retries", DEFAULT_RETRIES).try_into().unwrap_or_default(),
            emission: operation.flag_or("emit", true).then_some(emission),
            commits_at_end: operation.flag_or("batch", false) || !operation.flag_or("ckpt_enabled", true),
        };
        let restored = restored_of(operation)?.map(|restored| restored.0);
        let created = Effect::CreateCommitter { restored, sub: subtask };
        committer.with(|shared| shared.effects.push(created));
        let operator = CommitterOperator::new(Box::new(committer.clone()), settings, Profile::Flink.quirks());
        Ok(Self { operator, committer })
    }

    /// `initializeState`: without a restored id nothing is restored.
    fn initialize(&mut self, operation: &Operation, stored: &Stored) -> Result<(), OperationError> {
        let Some(restored) = restored_of(operation)? else { return Ok(()) };
        for name in operation.texts("restore")? {
            let outcome = self.operator.restore(stored_element(name, stored)?);
            outcome.map_err(|error| task_error(&error, self.operator.collector()))?;
        }
        self.act(|operator, turn| operator.recommit(restored, turn))
    }

    fn act<R>(
        &mut self,
        act: impl FnOnce(&mut CommitterOperator, &mut CommitTurn<'_>) -> Result<R, TaskError>,
    ) -> Result<(), OperationError> {
        let outcome = self.committer.turn(|turn| act(&mut self.operator, turn));
        outcome.map(drop).map_err(|error| task_error(&error, self.operator.collector()))
    }

    fn operate(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        match operation.name()? {
            "summary" | "committable" => {
                let message = message_of(operation)?;
                let outcome = self.operator.process(message.clone());
                outcome.map_err(|error| message_error(&error, &message, self.operator.collector()))?;
            }
            "snapshot" => {
                stored.insert(operation.text("name")?.to_owned(), self.operator.snapshot_state());
                answer.field("elements", &1);
            }
            "complete" => {
                let checkpoint = checkpoint_of(operation.number("id")?)?;
                self.act(|operator, turn| operator.notify_checkpoint_complete(checkpoint, turn))?;
            }
            "end_input" => self.act(CommitterOperator::end_input)?,
            "script" => self.committer.with(|shared| shared.script.extend(operation))?,
            "close" => self.committer.with(|shared| shared.effects.push(Effect::CommitterClose)),
            "abort" | "dump" => {}
            _ => return Err(operation.unknown()),
        }
        Ok(())
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct CommitterComponent {
    operator: Option<Operator>,
}

impl Component for CommitterComponent {
    fn operate(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        let is_new = operation.name()? == "new";
        if is_new {
            answer.field("state_names", &StateNames { streaming_committer_raw_states: "getListState" });
            self.operator = Some(Operator::new(operation)?);
        }
        let missing = || OperationError::Malformed("there is no operator before 'new'".to_owned());
        let operator = self.operator.as_mut().ok_or_else(missing)?;
        let outcome = if is_new {
            operator.initialize(operation, stored)
        } else {
            operator.operate(operation, stored, answer)
        };
        let effects = operator.committer.with(|shared: &mut Scripted<_>| std::mem::take(&mut shared.effects));
        effects.iter().for_each(|effect| answer.effect(effect));
        outcome?;
        answer.field("state", &shown(operator.operator.collector()));
        let last_completed = operator.operator.last_completed().unwrap_or(CheckpointId(0));
        answer.field("last_completed", &last_completed.0);
        Ok(())
    }
}
