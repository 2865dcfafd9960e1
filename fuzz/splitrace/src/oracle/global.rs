//! Component `global`: [`GlobalCommitterOperator`] around a scripted committer (FACT 81).

use super::committables::{
    Call, Scripted, ScriptedCommitter, Told, checkpoint_of, message_error, message_of, restored_of, shown,
    stored_element, task_error,
};
use super::{Answer, Component, Operation, OperationError, Stored};
use serde::Serialize;
use splitrace_runtime::defects::Profile;
use splitrace_runtime::task::{CommitTurn, GlobalCommitterOperator, TaskError};

/// The retries of a committer whose own configuration says nothing.
const DEFAULT_RETRIES: i64 = 10;

impl Told for Vec<Call> {
    fn call(&mut self, call: Call) {
        self.push(call);
    }

    fn emit(&mut self, _message: String) {
        unreachable!("nobody is downstream of a global committer");
    }
}

#[derive(Serialize)]
struct StateNames {
    streaming_committer_raw_states: &'static str,
}

#[derive(Debug)]
struct Operator {
    operator: GlobalCommitterOperator,
    committer: ScriptedCommitter<Vec<Call>>,
}

impl Operator {
    fn new(operation: &Operation) -> Result<Self, OperationError> {
        let committer = ScriptedCommitter::of(operation, Vec::new())?;
        let retries = operation.number_or("retries", DEFAULT_RETRIES).try_into().unwrap_or_default();
        let on_input = operation.flag_or("commit_on_input", false);
        let port = Box::new(committer.clone());
        let operator = GlobalCommitterOperator::new(port, retries, on_input, Profile::Flink.quirks());
        Ok(Self { operator, committer })
    }

    /// `initializeState`: the state is restored with or without an id, and committed with one.
    fn initialize(&mut self, operation: &Operation, stored: &Stored) -> Result<(), OperationError> {
        for name in operation.texts("restore")? {
            let outcome = self.operator.restore(stored_element(name, stored)?);
            outcome.map_err(|error| task_error(&error, self.operator.collector()))?;
        }
        match restored_of(operation)? {
            Some(restored) => self.act(|operator, turn| operator.recommit(restored, turn)),
            None => Ok(()),
        }
    }

    fn act<R>(
        &mut self,
        act: impl FnOnce(&mut GlobalCommitterOperator, &mut CommitTurn<'_>) -> Result<R, TaskError>,
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
                let told = message.clone();
                let outcome = self.committer.turn(|turn| self.operator.process(message, turn));
                outcome.map_err(|error| message_error(&error, &told, self.operator.collector()))?;
            }
            "snapshot" => {
                stored.insert(operation.text("name")?.to_owned(), self.operator.snapshot_state());
                answer.field("state_names", &StateNames { streaming_committer_raw_states: "getListState" });
            }
            "complete" => {
                let checkpoint = checkpoint_of(operation.number("id")?)?;
                self.act(|operator, turn| operator.notify_checkpoint_complete(checkpoint, turn))?;
            }
            "script" => self.committer.with(|shared| shared.script.extend(operation))?,
            // Of an abort, the end of its input and its closing the operator does nothing that could be seen.
            "abort" | "end_input" | "close" | "dump" => {}
            _ => return Err(operation.unknown()),
        }
        Ok(())
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct GlobalComponent {
    operator: Option<Operator>,
}

impl Component for GlobalComponent {
    fn operate(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        let is_new = operation.name()? == "new";
        if is_new {
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
        Ok(())
    }
}
