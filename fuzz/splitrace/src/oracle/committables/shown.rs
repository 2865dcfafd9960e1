//! A collector's state, as the recordings show it.

use super::text_of;
use serde::Serialize;
use splitrace_runtime::api::sink::CommitRequestState;
use splitrace_runtime::task::{
    CheckpointCommittableManager, CollectedRequest, CommittableCollector, SubtaskCommittableManager,
};
use std::collections::BTreeMap;

/// One checkpoint.
#[derive(Serialize)]
pub(in crate::oracle) struct ShownCheckpoint {
    n_sub: u32,
    finished: bool,
    received_all: bool,
    subs: BTreeMap<u32, ShownSubtask>,
}

#[derive(Serialize)]
struct ShownSubtask {
    n: usize,
    received_all: bool,
    /// What was given up is never counted in Flink (FACT 73).
    failed: u32,
    reqs: Vec<String>,
}

/// All checkpoints of a collector.
pub(in crate::oracle) fn shown(collector: &CommittableCollector) -> BTreeMap<u64, ShownCheckpoint> {
    collector
        .checkpoints()
        .iter()
        .map(|manager| (manager.checkpoint().0, shown_checkpoint(manager)))
        .collect()
}

fn shown_checkpoint(manager: &CheckpointCommittableManager) -> ShownCheckpoint {
    let subtasks = manager.subtasks().iter();
    ShownCheckpoint {
        n_sub: manager.number_of_subtasks(),
        finished: manager.is_finished(),
        received_all: manager.has_globally_received_all(),
        subs: subtasks.map(|subtask| (subtask.subtask().0, shown_subtask(subtask))).collect(),
    }
}

fn shown_subtask(subtask: &SubtaskCommittableManager) -> ShownSubtask {
    ShownSubtask {
        n: subtask.requests().len(),
        received_all: subtask.has_received_all(),
        failed: 0,
        reqs: subtask.requests().iter().map(shown_request).collect(),
    }
}

fn shown_request(request: &CollectedRequest) -> String {
    let (text, state) = (text_of(&request.committable.payload), state_name(request.state));
    format!("{text}:{state}:{}", request.retries)
}

/// Java's name of a state.
pub(super) const fn state_name(state: CommitRequestState) -> &'static str {
    match state {
        CommitRequestState::Received => "RECEIVED",
        CommitRequestState::Retry => "RETRY",
        CommitRequestState::Failed => "FAILED",
        CommitRequestState::Committed => "COMMITTED",
    }
}
