//! The committables of one subtask for one checkpoint.

use super::CommittableError;
use crate::api::sink::{
    CommitRequestState, CommitSignal, CommittablePayload, HeldRequest, HeldSubtask, PreparedCommittable,
    SinkStateError,
};
use crate::defects::{Defect, DefectSet};
use crate::ids::{CallId, CheckpointId, SubtaskIndex};
use crate::records::RecordRanges;
use std::borrow::Cow;

/// One committable with its fate: Flink's `CommitRequestImpl`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CollectedRequest {
    /// What is to be committed.
    pub committable: PreparedCommittable,
    /// How many retry signals it has had (FACT 71).
    pub retries: u32,
    /// Where it stands.
    pub state: CommitRequestState,
    /// The call to the store that it waits for. In no state: a snapshot never sees a commit under way.
    pub under_way: Option<CallId>,
}

impl CollectedRequest {
    /// The committer has signalled this in a call; no signal shows only when the call ends, see
    /// [`super::CheckpointCommit`].
    pub const fn signalled(&mut self, signal: &CommitSignal) {
        debug_assert!(!self.state.is_final(), "what is settled is not asked for again");
        self.under_way = None;
        self.state = match signal {
            CommitSignal::Committed => CommitRequestState::Received,
            CommitSignal::AlreadyCommitted => CommitRequestState::Committed,
            CommitSignal::RetryLater => CommitRequestState::Retry,
            CommitSignal::FailedWithKnownReason(_) | CommitSignal::FailedWithUnknownReason(_) => {
                CommitRequestState::Failed
            }
        };
    }
}

/// What one subtask has announced, and what has come of it: Flink's `SubtaskCommittableManager`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SubtaskCommittableManager {
    subtask: SubtaskIndex,
    announced: u32,
    requests: Vec<CollectedRequest>,
}

impl SubtaskCommittableManager {
    /// Of a subtask that has announced so many.
    #[must_use]
    pub const fn new(subtask: SubtaskIndex, announced: u32) -> Self {
        Self { subtask, announced, requests: Vec::new() }
    }

    /// The subtask that prepared them.
    #[must_use]
    pub const fn subtask(&self) -> SubtaskIndex {
        self.subtask
    }

    /// How many are to come in all.
    #[must_use]
    pub const fn announced(&self) -> u32 {
        self.announced
    }

    /// Those that came, in their order.
    #[must_use]
    pub fn requests(&self) -> &[CollectedRequest] {
        &self.requests
    }

    /// The same, for a commit.
    pub fn requests_mut(&mut self) -> impl Iterator<Item = &mut CollectedRequest> {
        self.requests.iter_mut()
    }

    /// Whether all that were announced have come.
    #[must_use]
    pub const fn has_received_all(&self) -> bool {
        self.requests.len() == self.announced as usize
    }

    /// Whether each of those that came is committed or given up; true for none.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.requests.iter().all(|request| request.state.is_final())
    }

    pub(super) fn add(
        &mut self,
        checkpoint: CheckpointId,
        committable: PreparedCommittable,
    ) -> Result<(), CommittableError> {
        if self.requests.len() >= self.announced as usize {
            return Err(CommittableError::Surplus { checkpoint, subtask: self.subtask });
        }
        let state = CommitRequestState::Received;
        self.requests.push(CollectedRequest { committable, retries: 0, state, under_way: None });
        debug_assert!(self.requests.len() <= self.announced as usize);
        Ok(())
    }

    pub(super) fn merge(&mut self, other: Self) {
        debug_assert_eq!(self.subtask, other.subtask, "committables of different subtasks stay apart");
        self.announced = self.announced.saturating_add(other.announced);
        self.requests.extend(other.requests);
    }

    pub(super) fn held(&self, defects: DefectSet) -> HeldSubtask<'_> {
        debug_assert!(
            self.requests.iter().all(|request| request.under_way.is_none()),
            "no snapshot in a call"
        );
        let requests = self.requests.iter().map(|request| HeldRequest {
            retries: request.retries,
            state: request.state,
            payload: Cow::Borrowed(&request.committable.payload),
        });
        let requests: Vec<_> = requests.collect();
        // Flink writes the number of those that came in its place: what is missing is not missed after a restore.
        let is_forgotten = defects.has(Defect::AnnouncedNumberNotStored);
        let announced = if is_forgotten { requests.len() as u32 } else { self.announced };
        HeldSubtask { subtask: self.subtask, announced, requests }
    }

    pub(super) fn from_held(
        held: HeldSubtask<'_>,
        records: &mut impl FnMut(&CommittablePayload) -> Result<RecordRanges, SinkStateError>,
    ) -> Result<Self, SinkStateError> {
        let mut manager = Self::new(held.subtask, held.announced);
        for HeldRequest { retries, state, payload } in held.requests {
            let records = records(&payload)?;
            let committable = PreparedCommittable { payload: payload.into_owned(), records };
            manager.requests.push(CollectedRequest { committable, retries, state, under_way: None });
        }
        Ok(manager)
    }
}
