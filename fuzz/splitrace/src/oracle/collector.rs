//! Component `collector`: [`CommittableCollector`] and the commit of its checkpoints by themselves (FACTS 64 to 77).

use super::committables::{
    Call, Script, Thrown, checkpoint_of, collector_error, committable_of, message_of, shown, stored_element,
    task_error, text_of,
};
use super::{Answer, Component, Operation, OperationError, Stored};
use serde::Serialize;
use splitrace_runtime::api::sink::CommitRequest;
use splitrace_runtime::defects::{DefectSet, Profile};
use splitrace_runtime::ids::CheckpointId;
use splitrace_runtime::records::RecordRanges;
use splitrace_runtime::task::{
    CheckpointCommit, CheckpointCommittableManager, CommitStep, CommittableCollector,
};
use std::collections::BTreeMap;

/// The retries of a commit that does not say.
const DEFAULT_RETRIES: i64 = 10;

/// The effect of a checkpoint's commit.
#[derive(Serialize)]
#[serde(tag = "t", rename = "committed")]
struct Committed<'a> {
    ckpt: u64,
    ok: Vec<&'a str>,
    failed: u32,
    finished: bool,
}

/// See the module. An operation is about the collector of its `name`.
#[derive(Debug, Default)]
pub(super) struct CollectorComponent {
    by_name: BTreeMap<String, CommittableCollector>,
}

impl CollectorComponent {
    fn named(&mut self, name: &str) -> &mut CommittableCollector {
        self.by_name.entry(name.to_owned()).or_default()
    }

    fn commit(&mut self, operation: &Operation, answer: &mut Answer) -> Result<(), OperationError> {
        let up_to = checkpoint_of(operation.number("id")?)?;
        let retries = operation.number_or("retries", DEFAULT_RETRIES).try_into().unwrap_or_default();
        let (removes, mut script) = (operation.flag_or("remove", false), Script::of(operation)?);
        let collector = self.named(operation.text_or("name", ""));
        let managers = collector.checkpoints_up_to(up_to).iter();
        let checkpoints: Vec<CheckpointId> = managers.map(CheckpointCommittableManager::checkpoint).collect();
        for checkpoint in checkpoints {
            commit_one(
                collector,
                checkpoint,
                CheckpointCommit::new(retries, DefectSet::NONE),
                &mut script,
                answer,
            )?;
            if removes {
                collector.remove(checkpoint);
            }
        }
        Ok(())
    }

    /// Operations on bytes and between collectors.
    fn exchange(&mut self, operation: &Operation, stored: &mut Stored) -> Result<(), OperationError> {
        let name = operation.text_or("name", "");
        match operation.name()? {
            "copy" => {
                let copy = self.named(name).clone();
                *self.named(operation.text("to")?) = copy;
            }
            "merge" => {
                let other = self.named(operation.text("from")?).clone();
                self.named(name).merge(other);
            }
            "serialize" => {
                stored.insert(
                    operation.text("blob")?.to_owned(),
                    self.named(name).to_bytes(Profile::Flink.quirks()),
                );
            }
            "deserialize" => {
                let blob = operation.text("blob")?;
                let bytes = stored_element(blob, stored)?;
                let read =
                    CommittableCollector::from_bytes(bytes, DefectSet::NONE, |_| Ok(RecordRanges::new()));
                *self.named(name) = read.map_err(|error| OperationError::Malformed(error.to_string()))?;
            }
            _ => return Err(operation.unknown()),
        }
        Ok(())
    }
}

/// Commits one checkpoint; the host plays the committer.
fn commit_one(
    collector: &mut CommittableCollector,
    checkpoint: CheckpointId,
    mut commit: CheckpointCommit,
    script: &mut Script,
    answer: &mut Answer,
) -> Result<(), OperationError> {
    loop {
        let manager = collector.checkpoint_mut(checkpoint).expect("the caller has listed it");
        match commit.advance(manager) {
            Err(error) => return Err(task_error(&error, collector)),
            Ok(CommitStep::Call { .. }) => call(manager, script, answer)?,
            Ok(CommitStep::Wait) => unreachable!("a call of the script is answered at once"),
            Ok(CommitStep::Done) => {
                let ok = manager.successful().map(|committable| text_of(&committable.payload)).collect();
                let finished = manager.is_finished();
                answer.effect(&Committed { ckpt: checkpoint.0, ok, failed: 0, finished });
                return Ok(());
            }
        }
    }
}

/// One call with all that is pending.
fn call(
    manager: &mut CheckpointCommittableManager,
    script: &mut Script,
    answer: &mut Answer,
) -> Result<(), Thrown> {
    let pending = manager.pending_mut();
    let named = pending.map(|one| format!("{}#{}", text_of(&one.committable.payload), one.retries));
    answer.effect(&Call { reqs: named.collect() });
    for pending in manager.pending_mut() {
        let text = text_of(&pending.committable.payload).to_owned();
        let mut request = CommitRequest::new(text, pending.retries);
        let outcome = script.commit(&mut request);
        pending.retries = request.number_of_retries();
        pending.committable = committable_of(request.committable());
        pending.signalled(&request.signal());
        outcome?;
    }
    Ok(())
}

impl Component for CollectorComponent {
    fn operate(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError> {
        let name = operation.text_or("name", "");
        match operation.name()? {
            "new" => self.by_name.clear(),
            "summary" | "committable" => {
                let message = message_of(operation)?;
                let collector = self.named(name);
                let outcome = collector.add_message(message.clone());
                outcome.map_err(|error| collector_error(error, Some(&message), collector))?;
            }
            "commit" => self.commit(operation, answer)?,
            "upto" => {
                let up_to = checkpoint_of(operation.number("id")?)?;
                let managers = self.named(name).checkpoints_up_to(up_to).iter();
                let ids: Vec<u64> = managers.map(|manager| manager.checkpoint().0).collect();
                answer.field("ckpts", &ids);
            }
            "dump" => {}
            _ => self.exchange(operation, stored)?,
        }
        let collector = self.named(name);
        answer.field("finished", &collector.is_finished());
        answer.field("state", &shown(collector));
        Ok(())
    }
}
