//! The enumerator that the recordings were made with: it tells each call, and a script may make it throw.
//!
//! It and whoever drives it share the script. The coordinator is the only one who calls it, and the operations are
//! handled one at a time, so nobody ever waits for the lock.

use super::java::ContextCall;
use super::told::{EnumeratorCall, Pending};
use crate::oracle::tracker::{recorded_id, split_name, split_names, split_of};
use splitrace_runtime::api::source::{EnumeratorContext, EnumeratorFactory, EnumeratorPort, UserError};
use splitrace_runtime::api::source_state::{
    EnumeratorState, decode_enumerator_state, encode_enumerator_state,
};
use splitrace_runtime::ids::{CheckpointId, SubtaskIndex};
use splitrace_runtime::message::SplitPayload;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};

/// Who starts an assignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(super) enum Policy {
    /// Requests do.
    Pull,
    /// A registration gets all there is.
    Push,
    /// Only the operations do.
    Manual,
}

/// What the operations ask of the enumerator, and what it tells.
#[derive(Default)]
pub(super) struct Script {
    pub(super) calls: Vec<EnumeratorCall>,
    /// The call that is to throw, once.
    pub(super) throw_in: Option<String>,
    /// Whom the next snapshot assigns a split to.
    pub(super) assign_in_snapshot: Option<SubtaskIndex>,
}

/// A script that is shared.
#[derive(Clone, Default)]
pub(super) struct SharedScript(Arc<Mutex<Script>>);

impl std::fmt::Debug for SharedScript {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SharedScript")
    }
}

impl SharedScript {
    pub(super) fn lock(&self) -> MutexGuard<'_, Script> {
        self.0.lock().expect("nobody panics while holding it")
    }

    /// Tells a call, and throws if the script says so.
    fn called(&self, call: EnumeratorCall) -> Result<(), UserError> {
        let mut script = self.lock();
        let name = call.call;
        script.calls.push(call);
        if script.throw_in.as_deref() == Some(name) {
            script.throw_in = None;
            return Err(UserError::new(format!("RuntimeException: enumerator throws in {name}")));
        }
        Ok(())
    }
}

/// Makes [`ScriptedEnumerator`]s.
#[derive(Debug)]
pub(super) struct ScriptedSource {
    pub(super) script: SharedScript,
    pub(super) policy: Policy,
    pub(super) splits: Vec<String>,
}

impl ScriptedSource {
    fn enumerator(&self, pending: Vec<SplitPayload>) -> Box<dyn EnumeratorPort> {
        Box::new(ScriptedEnumerator { script: self.script.clone(), policy: self.policy, pending })
    }
}

impl EnumeratorFactory for ScriptedSource {
    fn create(&self) -> Result<Box<dyn EnumeratorPort>, UserError> {
        self.script.called(EnumeratorCall { call: "createEnumerator", ..EnumeratorCall::default() })?;
        Ok(self.enumerator(self.splits.iter().map(|name| split_of(name)).collect()))
    }

    fn restore(&self, state: &[u8]) -> Result<Box<dyn EnumeratorPort>, UserError> {
        let pending = decode_enumerator_state(state)?.pending;
        let told = Pending::Joined(split_names(&pending).join(","));
        self.script.called(EnumeratorCall {
            call: "restoreEnumerator",
            pending: Some(told),
            ..EnumeratorCall::default()
        })?;
        Ok(self.enumerator(pending))
    }
}

/// See the module.
#[derive(Clone, Debug)]
struct ScriptedEnumerator {
    script: SharedScript,
    policy: Policy,
    pending: Vec<SplitPayload>,
}

fn owned(splits: &[SplitPayload]) -> Vec<String> {
    splits.iter().map(|split| split_name(split).to_owned()).collect()
}

impl ScriptedEnumerator {
    fn pending_told(&self) -> Option<Pending> {
        Some(Pending::List(owned(&self.pending)))
    }

    /// Takes the first pending split out and assigns it.
    fn assign_first(
        &mut self,
        subtask: SubtaskIndex,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        let split = self.pending.remove(0);
        let assignment = [(subtask.0, vec![split_name(&split).to_owned()])];
        let result = context.assign_splits(vec![(subtask, vec![split])]);
        let call = ContextCall::Assign(&assignment);
        result.map_err(|error| UserError::new(call.thrown_inside(error, true)))
    }
}

impl EnumeratorPort for ScriptedEnumerator {
    fn start(&mut self, _: &mut dyn EnumeratorContext) -> Result<(), UserError> {
        let pending = self.pending_told();
        self.script.called(EnumeratorCall { call: "start", pending, ..EnumeratorCall::default() })
    }

    fn handle_split_request(
        &mut self,
        subtask: SubtaskIndex,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        let sub = Some(subtask.0);
        self.script.called(EnumeratorCall {
            call: "handleSplitRequest",
            sub,
            ..EnumeratorCall::default()
        })?;
        if self.policy != Policy::Pull {
            return Ok(());
        }
        if self.pending.is_empty() {
            let call = ContextCall::NoMoreSplits(subtask.0);
            let signalled = context.signal_no_more_splits(subtask);
            return signalled.map_err(|error| UserError::new(call.thrown_inside(error, true)));
        }
        self.assign_first(subtask, context)
    }

    fn handle_source_event(
        &mut self,
        subtask: SubtaskIndex,
        event: &[u8],
        _: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        let e = Some(String::from_utf8_lossy(event).into_owned());
        let sub = Some(subtask.0);
        self.script.called(EnumeratorCall { call: "sourceEvent", sub, e, ..EnumeratorCall::default() })
    }

    fn add_splits_back(
        &mut self,
        splits: Vec<SplitPayload>,
        subtask: SubtaskIndex,
        _: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        self.script.called(EnumeratorCall {
            call: "addSplitsBack",
            sub: Some(subtask.0),
            splits: Some(owned(&splits)),
            ..EnumeratorCall::default()
        })?;
        self.pending.splice(0..0, splits);
        Ok(())
    }

    fn add_reader(
        &mut self,
        subtask: SubtaskIndex,
        reported: Vec<SplitPayload>,
        context: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        self.script.called(EnumeratorCall {
            call: "addReader",
            sub: Some(subtask.0),
            reported: Some(owned(&reported)),
            ..EnumeratorCall::default()
        })?;
        while self.policy == Policy::Push && !self.pending.is_empty() {
            self.assign_first(subtask, context)?;
        }
        Ok(())
    }

    fn snapshot_state(
        &mut self,
        checkpoint: CheckpointId,
        context: &mut dyn EnumeratorContext,
    ) -> Result<Vec<u8>, UserError> {
        let (id, pending) = (Some(recorded_id(checkpoint)), self.pending_told());
        self.script.called(EnumeratorCall {
            call: "snapshotState",
            id,
            pending,
            ..EnumeratorCall::default()
        })?;
        let assigned = self.script.lock().assign_in_snapshot;
        if let Some(subtask) = assigned
            && !self.pending.is_empty()
        {
            self.assign_first(subtask, context)?;
        }
        let pending = self.pending.clone();
        Ok(encode_enumerator_state(&EnumeratorState { pending, extra: Vec::new() }))
    }

    fn notify_checkpoint_complete(
        &mut self,
        checkpoint: CheckpointId,
        _: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        let id = Some(recorded_id(checkpoint));
        self.script.called(EnumeratorCall { call: "complete", id, ..EnumeratorCall::default() })
    }

    fn notify_checkpoint_aborted(
        &mut self,
        checkpoint: CheckpointId,
        _: &mut dyn EnumeratorContext,
    ) -> Result<(), UserError> {
        let id = Some(recorded_id(checkpoint));
        self.script.called(EnumeratorCall { call: "aborted", id, ..EnumeratorCall::default() })
    }

    fn close(&mut self) -> Result<(), UserError> {
        self.script.called(EnumeratorCall { call: "close", ..EnumeratorCall::default() })
    }

    fn clone_box(&self) -> Box<dyn EnumeratorPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        (self.policy, &self.pending).hash(&mut hasher);
    }
}
