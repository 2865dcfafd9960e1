//! Committables by checkpoint and subtask, as a committer collects them (FACTS 64-77).
//!
//! ```text
//! CommittableCollector ─ by checkpoint ▶ CheckpointCommittableManager ─ by subtask ▶ SubtaskCommittableManager ▶ requests
//! ```
//! The collector neither knows the committer nor waits: a commit is a [`CheckpointCommit`] that says when the next call is
//! due, and the operator around it calls and hears the answers. Subtasks are kept in their order, where Flink's hash maps
//! keep small numbers in theirs.

mod checkpoint;
mod commit;
mod error;
mod message;
mod subtask;
#[cfg(test)]
mod tests;

pub use checkpoint::CheckpointCommittableManager;
pub use commit::{CheckpointCommit, CommitStep};
pub use error::CommittableError;
pub use message::{CommittableMessage, CommittableSummary, CommittableWithLineage, END_OF_INPUT};
pub use subtask::{CollectedRequest, SubtaskCommittableManager};

use crate::api::sink::{CommittablePayload, SinkStateError, decode_committer_state, encode_committer_state};
use crate::defects::{Defect, DefectSet};
use crate::ids::{CallId, CheckpointId, SubtaskIndex};
use crate::records::RecordRanges;

/// All checkpoints that are not committed yet, ascending: Flink's `CommittableCollector`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CommittableCollector {
    checkpoints: Vec<CheckpointCommittableManager>,
}

impl CommittableCollector {
    /// The collector that these bytes hold; `records` reads off a committable what its commit makes visible.
    ///
    /// The bytes may be those of several collectors, dealt to one subtask: what they hold of a checkpoint is merged.
    ///
    /// # Errors
    /// When the bytes, or a committable in them, cannot be read.
    pub fn from_bytes(
        bytes: &[u8],
        defects: DefectSet,
        mut records: impl FnMut(&CommittablePayload) -> Result<RecordRanges, SinkStateError>,
    ) -> Result<Self, SinkStateError> {
        let mut collector = Self::default();
        for held in decode_committer_state(bytes)? {
            let entry = CheckpointCommittableManager::from_held(held, defects, &mut records)?;
            if collector.position(entry.checkpoint()).is_ok() && defects.has(Defect::OneEntryPerCheckpoint) {
                let cause = format!("it has two entries for {}", entry.checkpoint());
                return Err(SinkStateError::Malformed { what: "committer state", cause });
            }
            collector.merge_checkpoint(entry);
        }
        Ok(collector)
    }

    /// The collector as bytes: every request of every checkpoint, with its state and its retries.
    #[must_use]
    pub fn to_bytes(&self, defects: DefectSet) -> Vec<u8> {
        encode_committer_state(self.checkpoints.iter().map(|checkpoint| checkpoint.held(defects)))
    }

    /// Takes a message of a writer.
    ///
    /// # Errors
    /// On a second summary for a checkpoint, a committable without its summary, or more than announced (FACT 64).
    pub fn add_message(&mut self, message: CommittableMessage) -> Result<(), CommittableError> {
        match message {
            CommittableMessage::Summary(summary) => {
                let index = self.position(summary.checkpoint).unwrap_or_else(|index| {
                    self.checkpoints.insert(index, CheckpointCommittableManager::for_summary(&summary));
                    index
                });
                self.checkpoints[index].add_summary(&summary)?;
            }
            CommittableMessage::Committable(CommittableWithLineage { committable, checkpoint, subtask }) => {
                let index = self
                    .position(checkpoint)
                    .map_err(|_| CommittableError::UnknownCheckpoint { checkpoint, subtask })?;
                self.checkpoints[index].add_committable(subtask, committable)?;
            }
        }
        debug_assert!(self.checkpoints.is_sorted_by(|one, next| one.checkpoint() < next.checkpoint()));
        Ok(())
    }

    /// Takes over what another collector holds. Of the same checkpoint and subtask, the announced numbers and the requests
    /// are added (FACT 76).
    pub fn merge(&mut self, other: Self) {
        other.checkpoints.into_iter().for_each(|checkpoint| self.merge_checkpoint(checkpoint));
    }

    fn merge_checkpoint(&mut self, other: CheckpointCommittableManager) {
        match self.position(other.checkpoint()) {
            Ok(index) => self.checkpoints[index].merge(other),
            Err(index) => self.checkpoints.insert(index, other),
        }
    }

    /// The checkpoints up to this one, ascending.
    #[must_use]
    pub fn checkpoints_up_to(&self, up_to: CheckpointId) -> &[CheckpointCommittableManager] {
        let count = self.checkpoints.partition_point(|entry| entry.checkpoint() <= up_to);
        &self.checkpoints[..count]
    }

    /// The lowest checkpoint at or below `up_to`.
    pub fn first_up_to(&mut self, up_to: CheckpointId) -> Option<&mut CheckpointCommittableManager> {
        self.checkpoints.first_mut().filter(|entry| entry.checkpoint() <= up_to)
    }

    /// The committables of one checkpoint.
    #[must_use]
    pub fn checkpoint(&self, checkpoint: CheckpointId) -> Option<&CheckpointCommittableManager> {
        self.position(checkpoint).ok().map(|index| &self.checkpoints[index])
    }

    /// The same, to be committed.
    pub fn checkpoint_mut(&mut self, checkpoint: CheckpointId) -> Option<&mut CheckpointCommittableManager> {
        let index = self.position(checkpoint).ok()?;
        Some(&mut self.checkpoints[index])
    }

    /// Removes a checkpoint: all of it is settled.
    pub fn remove(&mut self, checkpoint: CheckpointId) {
        if let Ok(index) = self.position(checkpoint) {
            let removed = self.checkpoints.remove(index);
            debug_assert!(removed.is_finished(), "only what is settled leaves the state");
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.checkpoints.clear();
    }

    /// Whether every request is committed or given up.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.checkpoints.iter().all(CheckpointCommittableManager::is_finished)
    }

    /// The request that waits for this call. Only one checkpoint is ever under way (FACT 67).
    pub fn awaiting_mut(&mut self, call: CallId) -> Option<&mut CollectedRequest> {
        let mut requests = self.checkpoints.iter_mut().flat_map(CheckpointCommittableManager::requests_mut);
        requests.find(|request| request.under_way == Some(call))
    }

    /// The same, to be looked at.
    #[must_use]
    pub fn awaiting(&self, call: CallId) -> Option<&CollectedRequest> {
        let mut requests = self.checkpoints.iter().flat_map(CheckpointCommittableManager::requests);
        requests.find(|request| request.under_way == Some(call))
    }

    /// All checkpoints in order.
    #[must_use]
    pub fn checkpoints(&self) -> &[CheckpointCommittableManager] {
        &self.checkpoints
    }

    /// Whether this subtask has announced for the checkpoint.
    #[must_use]
    pub fn has_announced(&self, checkpoint: CheckpointId, subtask: SubtaskIndex) -> bool {
        let announced = self.checkpoint(checkpoint).map_or(&[][..], CheckpointCommittableManager::subtasks);
        announced.iter().any(|known| known.subtask() == subtask)
    }

    /// Every request that is neither committed nor given up.
    pub fn pending(&self) -> impl Iterator<Item = &CollectedRequest> {
        let requests = self.checkpoints.iter().flat_map(CheckpointCommittableManager::requests);
        requests.filter(|request| !request.state.is_final())
    }

    fn position(&self, checkpoint: CheckpointId) -> Result<usize, usize> {
        self.checkpoints.binary_search_by_key(&checkpoint, CheckpointCommittableManager::checkpoint)
    }
}
