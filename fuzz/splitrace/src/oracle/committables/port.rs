//! The scripted committer behind the runtime's port, and what an operator around it works with.

use super::{Call, Script, committable_of, payload_of, text_of};
use crate::oracle::{Operation, OperationError};
use splitrace_runtime::actor::Outbox;
use splitrace_runtime::api::sink::{
    CommitError, CommitRequest, CommitSignal, CommittablePayload, CommitterPort, SinkIo, SinkStateError,
    StoreAnswer,
};
use splitrace_runtime::ids::{ExecutionAttemptId, LeaderEpoch};
use splitrace_runtime::records::RecordRanges;
use splitrace_runtime::task::{CommitTurn, CommittableMessage, StoreClient};
use std::hash::Hasher;
use std::sync::{Arc, Mutex, PoisonError};

/// The time limit of calls that are never made, in nanoseconds.
const NO_CALL_NS: u64 = 1;

/// What happens in an operator and in its user code, in its order.
pub(in crate::oracle) trait Told: std::fmt::Debug + Send + 'static {
    /// The committer is called.
    fn call(&mut self, call: Call);
    /// The committer's operator tells downstream.
    fn emit(&mut self, message: String);
}

/// A committer by script, and the effects so far. The operator and the host share it.
#[derive(Debug)]
pub(in crate::oracle) struct Scripted<T> {
    pub(in crate::oracle) script: Script,
    pub(in crate::oracle) effects: T,
}

/// See the module.
#[derive(Debug)]
pub(in crate::oracle) struct ScriptedCommitter<T>(Arc<Mutex<Scripted<T>>>);

impl<T> Clone for ScriptedCommitter<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Told> ScriptedCommitter<T> {
    /// A committer with the script of this operation.
    pub(in crate::oracle) fn of(operation: &Operation, effects: T) -> Result<Self, OperationError> {
        let script = Script::of(operation)?;
        Ok(Self(Arc::new(Mutex::new(Scripted { script, effects }))))
    }

    /// Looks at or changes what is shared.
    pub(in crate::oracle) fn with<R>(&self, act: impl FnOnce(&mut Scripted<T>) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Does something in an operator around this committer: no call goes to a store, and what is told downstream is an
    /// effect.
    pub(in crate::oracle) fn turn<R>(&self, act: impl FnOnce(&mut CommitTurn<'_>) -> R) -> R {
        let mut store = StoreClient::new(ExecutionAttemptId::default(), LeaderEpoch(1), NO_CALL_NS);
        let mut outbox = Outbox::default();
        let mut emit = |message: CommittableMessage| {
            self.with(|shared| shared.effects.emit(emitted(&message)));
        };
        act(&mut CommitTurn { store: &mut store, outbox: &mut outbox, emit: &mut emit })
    }
}

impl<T: Told> CommitterPort for ScriptedCommitter<T> {
    fn call_begins(&mut self, pending: &[(&CommittablePayload, u32)]) {
        let named = pending.iter().map(|(payload, retries)| format!("{}#{retries}", text_of(payload)));
        let call = Call { reqs: named.collect() };
        self.with(|shared| shared.effects.call(call));
    }

    fn commit(
        &mut self,
        payload: &mut CommittablePayload,
        retries: &mut u32,
        _io: &mut SinkIo,
    ) -> Result<Option<CommitSignal>, CommitError> {
        let mut request = CommitRequest::new(text_of(payload).to_owned(), *retries);
        let outcome = self.with(|shared| shared.script.commit(&mut request));
        *retries = request.number_of_retries();
        *payload = payload_of(request.committable());
        match (outcome, request.signal()) {
            (Err(thrown), CommitSignal::FailedWithUnknownReason(_)) => {
                Ok(Some(CommitSignal::FailedWithUnknownReason(thrown.0)))
            }
            (Err(thrown), _) => Err(CommitError::Thrown(thrown.0)),
            (Ok(()), signal) => Ok(Some(signal)),
        }
    }

    fn answered(
        &mut self,
        _payload: &mut CommittablePayload,
        _retries: &mut u32,
        _answer: StoreAnswer,
        _io: &mut SinkIo,
    ) -> Result<Option<CommitSignal>, SinkStateError> {
        unreachable!("the script signals at once")
    }

    fn records_held(&self, payload: &CommittablePayload) -> Result<RecordRanges, SinkStateError> {
        Ok(committable_of(text_of(payload)).records)
    }

    fn clone_box(&self) -> Box<dyn CommitterPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, _hasher: &mut dyn Hasher) {}
}

/// A message in the recordings' words.
pub(in crate::oracle) fn emitted(message: &CommittableMessage) -> String {
    match message {
        CommittableMessage::Summary(summary) => format!(
            "summary(sub={},n_sub={},ckpt={},n={},failed={})",
            summary.subtask.0,
            summary.number_of_subtasks,
            summary.checkpoint.0,
            summary.committables,
            summary.failed
        ),
        CommittableMessage::Committable(lineage) => {
            let text = text_of(&lineage.committable.payload);
            format!("committable(sub={},ckpt={},{text})", lineage.subtask.0, lineage.checkpoint.0)
        }
    }
}
