//! The committables of one checkpoint.

use super::CommittableError;
use super::message::{CommittableSummary, END_OF_INPUT};
use super::subtask::{CollectedRequest, SubtaskCommittableManager};
use crate::api::sink::{
    CommitRequestState, CommittablePayload, HeldCheckpoint, PreparedCommittable, SinkStateError,
};
use crate::defects::{Defect, DefectSet};
use crate::ids::{CheckpointId, SubtaskIndex};
use crate::records::RecordRanges;

/// What has come for one checkpoint, by subtask: Flink's `CheckpointCommittableManagerImpl`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CheckpointCommittableManager {
    checkpoint: CheckpointId,
    number_of_subtasks: u32,
    /// Ascending.
    subtasks: Vec<SubtaskCommittableManager>,
}

impl CheckpointCommittableManager {
    /// For the checkpoint of its first summary, whose number of subtasks holds; that of later ones is not compared (FACT
    /// 64).
    pub(super) const fn for_summary(summary: &CommittableSummary) -> Self {
        let CommittableSummary { checkpoint, number_of_subtasks, .. } = *summary;
        Self { checkpoint, number_of_subtasks, subtasks: Vec::new() }
    }

    /// The checkpoint.
    #[must_use]
    pub const fn checkpoint(&self) -> CheckpointId {
        self.checkpoint
    }

    /// How many subtasks are to announce.
    #[must_use]
    pub const fn number_of_subtasks(&self) -> u32 {
        self.number_of_subtasks
    }

    /// Those that have announced, ascending.
    #[must_use]
    pub fn subtasks(&self) -> &[SubtaskCommittableManager] {
        &self.subtasks
    }

    /// All that came: subtask by subtask, in their order.
    pub fn requests(&self) -> impl Iterator<Item = &CollectedRequest> {
        self.subtasks.iter().flat_map(SubtaskCommittableManager::requests)
    }

    /// The same, for a commit.
    pub fn requests_mut(&mut self) -> impl Iterator<Item = &mut CollectedRequest> {
        self.subtasks.iter_mut().flat_map(SubtaskCommittableManager::requests_mut)
    }

    /// Those that are neither committed nor given up: what the committer is called with.
    pub fn pending_mut(&mut self) -> impl Iterator<Item = &mut CollectedRequest> {
        self.requests_mut().filter(|request| !request.state.is_final())
    }

    /// The same with their retries, to be looked at.
    #[must_use]
    pub fn pending_payloads(&self) -> Vec<(&CommittablePayload, u32)> {
        let pending = self.requests().filter(|request| !request.state.is_final());
        pending.map(|request| (&request.committable.payload, request.retries)).collect()
    }

    /// Those that are committed, as they are told downstream; what was given up is not among them (FACT 73).
    pub fn successful(&self) -> impl Iterator<Item = &PreparedCommittable> {
        let committed = self.requests().filter(|request| request.state == CommitRequestState::Committed);
        committed.map(|request| &request.committable)
    }

    /// Whether each of those that came is committed or given up; true for none.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.subtasks.iter().all(SubtaskCommittableManager::is_finished)
    }

    /// Whether every subtask has announced, and all that was announced has come.
    #[must_use]
    pub fn has_globally_received_all(&self) -> bool {
        self.subtasks.len() == self.number_of_subtasks as usize
            && self.subtasks.iter().all(SubtaskCommittableManager::has_received_all)
    }

    /// That each subtask which has announced has sent all of it. A subtask that has not announced at all is not missed
    /// (FACT 68).
    pub(super) fn check_received_all(&self) -> Result<(), CommittableError> {
        let Some(missing) = self.subtasks.iter().find(|subtask| !subtask.has_received_all()) else {
            return Ok(());
        };
        let (subtask, announced) = (missing.subtask(), missing.announced());
        let received = missing.requests().len() as u32;
        Err(CommittableError::IncompleteBatch { checkpoint: self.checkpoint, subtask, announced, received })
    }

    pub(super) fn add_summary(&mut self, summary: &CommittableSummary) -> Result<(), CommittableError> {
        debug_assert_eq!(self.checkpoint, summary.checkpoint);
        let CommittableSummary { checkpoint, subtask, committables, .. } = *summary;
        let announced = SubtaskCommittableManager::new(subtask, committables);
        match self.position(subtask) {
            Err(index) => self.subtasks.insert(index, announced),
            // The input of a subtask may end more than once under this number: after a restart.
            Ok(index) if checkpoint == END_OF_INPUT => self.subtasks[index].merge(announced),
            Ok(_) => return Err(CommittableError::DuplicateSummary { checkpoint, subtask }),
        }
        debug_assert!(self.subtasks.is_sorted_by(|one, next| one.subtask() < next.subtask()));
        Ok(())
    }

    pub(super) fn add_committable(
        &mut self,
        subtask: SubtaskIndex,
        committable: PreparedCommittable,
    ) -> Result<(), CommittableError> {
        let checkpoint = self.checkpoint;
        let unknown = CommittableError::UnknownSubtask { checkpoint, subtask };
        let index = self.position(subtask).map_err(|_| unknown)?;
        self.subtasks[index].add(checkpoint, committable)
    }

    pub(super) fn merge(&mut self, other: Self) {
        debug_assert_eq!(
            self.checkpoint, other.checkpoint,
            "committables of different checkpoints stay apart"
        );
        other.subtasks.into_iter().for_each(|subtask| self.merge_subtask(subtask));
    }

    fn merge_subtask(&mut self, other: SubtaskCommittableManager) {
        match self.position(other.subtask()) {
            Ok(index) => self.subtasks[index].merge(other),
            Err(index) => self.subtasks.insert(index, other),
        }
    }

    pub(super) fn held(&self, defects: DefectSet) -> HeldCheckpoint<'_> {
        HeldCheckpoint {
            checkpoint: self.checkpoint,
            number_of_subtasks: self.number_of_subtasks,
            subtasks: self.subtasks.iter().map(|subtask| subtask.held(defects)).collect(),
        }
    }

    pub(super) fn from_held(
        held: HeldCheckpoint<'_>,
        defects: DefectSet,
        records: &mut impl FnMut(&CommittablePayload) -> Result<RecordRanges, SinkStateError>,
    ) -> Result<Self, SinkStateError> {
        let HeldCheckpoint { number_of_subtasks, subtasks, .. } = held;
        let is_lost = defects.has(Defect::RestoredCheckpointLost);
        let checkpoint = if is_lost { END_OF_INPUT } else { held.checkpoint };
        let mut manager = Self { checkpoint, number_of_subtasks, subtasks: Vec::new() };
        for subtask in subtasks {
            manager.merge_subtask(SubtaskCommittableManager::from_held(subtask, records)?);
        }
        Ok(manager)
    }

    fn position(&self, subtask: SubtaskIndex) -> Result<usize, usize> {
        self.subtasks.binary_search_by_key(&subtask, SubtaskCommittableManager::subtask)
    }
}
