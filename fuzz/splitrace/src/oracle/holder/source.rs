//! Operations of provider `source`: what readers send, and what the enumerator is made to do from outside.

use super::enumerator::{Policy, ScriptedSource, SharedScript};
use super::java::ContextCall;
use super::job::OPERATOR;
use super::told::CoordinatorCall;
use super::world::{Provider, World};
use crate::oracle::tracker::split_of;
use crate::oracle::{Answer, Operation, OperationError};
use splitrace_runtime::actor::Outbox;
use splitrace_runtime::api::source::{ContextError, EnumeratorContext};
use splitrace_runtime::coordination::source_coordinator::SourceCoordinator;
use splitrace_runtime::defects::Profile;
use splitrace_runtime::ids::{AttemptNumber, SubtaskIndex};
use splitrace_runtime::message::ReaderEvent;
use std::sync::Arc;

/// The coordinator of a source whose enumerator is scripted.
pub(super) fn provider(operation: &Operation, parallelism: u32) -> Result<Provider, OperationError> {
    let policy = match operation.text_or("policy", "pull") {
        "pull" => Policy::Pull,
        "push" => Policy::Push,
        "manual" => Policy::Manual,
        other => return Err(OperationError::Malformed(format!("there is no policy '{other}'"))),
    };
    let script = SharedScript::default();
    let splits = operation.texts("splits")?.into_iter().map(str::to_owned).collect();
    let source = Arc::new(ScriptedSource { script: script.clone(), policy, splits });
    let quirks = Profile::Flink.quirks();
    let coordinator = SourceCoordinator::with_enumerators(OPERATOR, parallelism, quirks, source);
    Ok(Provider::Source { coordinator: Box::new(coordinator), script })
}

impl World {
    /// The coordinator is closed: by the scheduler, or because a new holder takes over.
    pub(super) fn close(&mut self, answer: &mut Answer) {
        match &mut self.provider {
            Provider::Scripted(_) => {
                answer.effect(&CoordinatorCall { call: "close", ..CoordinatorCall::default() });
            }
            Provider::Source { coordinator, .. } => coordinator.close(),
        }
        self.tell_enumerator(answer);
    }

    /// A start that comes after a reset: what was restored is kept.
    pub(super) fn start_after_reset(&mut self, answer: &mut Answer) -> Result<(), String> {
        let mut out = Outbox::new();
        match &mut self.provider {
            Provider::Scripted(_) => {
                answer.effect(&CoordinatorCall { call: "start", ..CoordinatorCall::default() });
            }
            Provider::Source { coordinator, .. } if !coordinator.is_started() => coordinator.start(&mut out),
            Provider::Source { .. } => {}
        }
        self.tell_enumerator(answer);
        self.perform(out, answer)
    }

    /// An operator's event arrives.
    pub(super) fn event(&mut self, operation: &Operation, answer: &mut Answer) -> Result<(), OperationError> {
        let subtask = self.subtask(operation)?;
        let mut attempt = self.attempt(subtask);
        if operation.get("attempt").is_some() {
            attempt.attempt = AttemptNumber(operation.index("attempt")?);
        }
        let kind = operation.text("kind")?;
        let event = match kind {
            _ if matches!(self.provider, Provider::Scripted(_)) => ReaderEvent::Unrecognized(kind.to_owned()),
            "register" => {
                let named = u32::try_from(operation.number_or("as", i64::from(subtask))).unwrap_or(u32::MAX);
                let reported = operation.texts("splits")?.into_iter().map(split_of).collect();
                if named == subtask {
                    ReaderEvent::Register { reported }
                } else {
                    ReaderEvent::RegisterAs(SubtaskIndex(named))
                }
            }
            "request" => ReaderEvent::RequestSplit,
            "custom" => ReaderEvent::Custom(operation.text_or("e", "x").as_bytes().to_vec()),
            "watermark" => ReaderEvent::ReportedWatermark(operation.number_or("ts", 0)),
            other => ReaderEvent::Unrecognized(other.to_owned()),
        };
        let mut out = Outbox::new();
        self.holder.handle_event_from_operator(attempt, event, &mut out);
        self.perform(out, answer).map_err(OperationError::Thrown)
    }

    /// What only a source's coordinator has.
    pub(super) fn source(
        &mut self,
        operation: &Operation,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        let Provider::Source { script, .. } = &self.provider else { return Err(operation.unknown()) };
        match operation.name()? {
            "throw_in" => script.lock().throw_in = Some(operation.text("where")?.to_owned()),
            "assign_in_snapshot" => {
                script.lock().assign_in_snapshot = Some(SubtaskIndex(operation.index("sub")?));
            }
            "assign" => {
                let assignment = operation.assignment()?;
                let splits = |names: &[String]| names.iter().map(|name| split_of(name)).collect();
                let named =
                    assignment.iter().map(|(sub, names)| (SubtaskIndex(*sub), splits(names))).collect();
                self.call(ContextCall::Assign(&assignment), answer, |context| context.assign_splits(named))?;
            }
            "no_more" => {
                let sub = operation.index("sub")?;
                self.call(ContextCall::NoMoreSplits(sub), answer, |context| {
                    context.signal_no_more_splits(SubtaskIndex(sub))
                })?;
            }
            "custom" => {
                let (sub, event) = (operation.index("sub")?, operation.text_or("e", "x"));
                self.call(ContextCall::Custom(sub, event), answer, |context| {
                    context.send_event_to_source_reader(SubtaskIndex(sub), event.as_bytes().to_vec())
                })?;
            }
            _ => return Err(operation.unknown()),
        }
        Ok(())
    }

    /// A thread that is not the coordinator's calls the enumerator's context.
    fn call(
        &mut self,
        call: ContextCall<'_>,
        answer: &mut Answer,
        act: impl FnOnce(&mut dyn EnumeratorContext) -> Result<(), ContextError>,
    ) -> Result<(), OperationError> {
        let Provider::Source { coordinator, .. } = &mut self.provider else { return Ok(()) };
        let mut out = Outbox::new();
        let is_touched = coordinator.is_context_touched();
        let result = coordinator.with_context(&mut out, act);
        self.perform(out, answer).map_err(OperationError::Thrown)?;
        result.map_err(|error| OperationError::Thrown(call.thrown_outside(error, is_touched)))
    }
}
