//! What of the service outlives its process, for hosts whose processes die for good.

use super::HighAvailability;
use serde::{Deserialize, Serialize};
use splitrace_runtime::ids::{CheckpointId, LeaderEpoch};
use splitrace_runtime::message::{CheckpointKind, CompletedCheckpoint, JobResult, SharedJobConfig};
use std::sync::Arc;

/// The durable part of a [`HighAvailability`]. Who leads and who wants to be told is not in it: they died with the service,
/// and whoever comes gets a new epoch.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DurableState {
    /// The epoch of the last grant.
    pub epoch: LeaderEpoch,
    /// The highest checkpoint id that was raised.
    pub counter: CheckpointId,
    /// The latest completed checkpoint.
    pub latest: Option<Arc<CompletedCheckpoint>>,
    /// The last savepoint of a job that went on.
    pub savepoint: Option<Arc<CompletedCheckpoint>>,
    /// Retained checkpoints before the latest, newest last.
    pub older: Vec<Arc<CompletedCheckpoint>>,
    /// How the job ended, once it has.
    pub result: Option<JobResult>,
}

impl HighAvailability {
    /// What must be durable before anybody hears of it.
    #[must_use]
    pub fn durable_state(&self) -> DurableState {
        DurableState {
            epoch: self.epoch,
            counter: self.counter,
            latest: self.latest.clone(),
            savepoint: self.savepoint.clone(),
            older: self.older.clone(),
            result: self.result.clone(),
        }
    }

    /// The service of a job whose process is started again. It goes on from the latest completed checkpoint: from the
    /// savepoint that stopped it too, also when it died before that was all told, and after a failure. Only a job that has
    /// finished or was cancelled stays so.
    #[must_use]
    pub fn started_again(config: SharedJobConfig, state: DurableState) -> Self {
        let DurableState { epoch, counter, latest, savepoint, older, result } = state;
        debug_assert!(latest.as_ref().is_none_or(|latest| latest.id <= counter), "ids are raised before use");
        let mut service = Self { epoch, counter, latest, savepoint, older, result, ..Self::new(config) };
        if matches!(service.result, Some(JobResult::Stopped(_) | JobResult::Failed(_))) {
            service.result = None;
        }
        if service.result.is_none()
            && let Some(latest) = &mut service.latest
            && latest.kind != CheckpointKind::Recovery
        {
            Arc::make_mut(latest).kind = CheckpointKind::Recovery;
        }
        service
    }
}
