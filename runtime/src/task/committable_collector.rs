//! Committables by checkpoint, as one subtask's committer collects them (FACT 64-68).

use super::task_error::TaskError;
use crate::api::sink::PreparedCommittable;
use crate::ids::{CallId, CheckpointId, SubtaskIndex};
use crate::records::RecordRanges;

/// What the writer tells before the committables of a checkpoint, also when there are none (FACT 59).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CommittableSummary {
    /// The subtask that announces.
    pub subtask: SubtaskIndex,
    /// The checkpoint it files them under.
    pub checkpoint: CheckpointId,
    /// How many will come.
    pub committables: u32,
}

/// A committable with where it comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CommittableWithLineage {
    /// The committable.
    pub committable: PreparedCommittable,
    /// The checkpoint it is filed under.
    pub checkpoint: CheckpointId,
}

/// From the writer to the committer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CommittableMessage {
    /// Comes first.
    Summary(CommittableSummary),
    /// One committable.
    Committable(CommittableWithLineage),
}

/// Where a commit request stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RequestState {
    /// Not asked yet in this commit.
    Received,
    /// Asked; no answer yet.
    UnderWay(CallId),
    /// To be asked again once the others of its round are answered.
    Retry,
    /// Committed, or dropped for a known reason.
    Finished,
}

/// One committable with its fate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CollectedRequest {
    /// What is to be committed.
    pub committable: PreparedCommittable,
    /// How many retry signals it has had (FACT 71).
    pub retries: u32,
    /// Where it stands.
    pub state: RequestState,
}

/// The committables of one checkpoint.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CheckpointCommittables {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// How many were announced.
    pub announced: u32,
    /// Those that came.
    pub requests: Vec<CollectedRequest>,
}

impl CheckpointCommittables {
    /// Whether an answer is still due.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.requests.iter().any(|request| matches!(request.state, RequestState::UnderWay(_)))
    }

    /// How many are neither committed nor dropped.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.requests.iter().filter(|request| request.state != RequestState::Finished).count()
    }
}

/// All checkpoints that are not committed yet, ascending.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CommittableCollector {
    checkpoints: Vec<CheckpointCommittables>,
}

impl CommittableCollector {
    /// Takes a message of the writer.
    ///
    /// # Errors
    /// On a second summary for a checkpoint, a committable without its summary, or more than announced (FACT 64).
    pub fn process(&mut self, message: CommittableMessage) -> Result<(), TaskError> {
        match message {
            CommittableMessage::Summary(summary) => {
                let CommittableSummary { checkpoint, committables, .. } = summary;
                let index = self.position(checkpoint);
                if index.is_ok() {
                    let cause = "a second summary";
                    return Err(TaskError::CommittableContract { checkpoint, cause });
                }
                let entry =
                    CheckpointCommittables { checkpoint, announced: committables, requests: Vec::new() };
                self.checkpoints.insert(index.unwrap_or_else(|index| index), entry);
            }
            CommittableMessage::Committable(CommittableWithLineage { committable, checkpoint }) => {
                let contract = |cause| TaskError::CommittableContract { checkpoint, cause };
                let index = self.position(checkpoint).map_err(|_| contract("no summary came before"))?;
                let entry = &mut self.checkpoints[index];
                if entry.requests.len() as u32 >= entry.announced {
                    return Err(contract("more than announced"));
                }
                let state = RequestState::Received;
                entry.requests.push(CollectedRequest { committable, retries: 0, state });
            }
        }
        debug_assert!(self.checkpoints.is_sorted_by(|one, next| one.checkpoint < next.checkpoint));
        Ok(())
    }

    /// Puts a committable of a restored state in; what was announced is not in the state, so what is there counts as
    /// all of it (FACT 77).
    pub fn restore(&mut self, checkpoint: CheckpointId, committable: PreparedCommittable, retries: u32) {
        let index = self.position(checkpoint).unwrap_or_else(|index| {
            let entry = CheckpointCommittables { checkpoint, announced: 0, requests: Vec::new() };
            self.checkpoints.insert(index, entry);
            index
        });
        let entry = &mut self.checkpoints[index];
        entry.announced += 1;
        entry.requests.push(CollectedRequest { committable, retries, state: RequestState::Received });
        debug_assert_eq!(entry.announced as usize, entry.requests.len());
    }

    /// The lowest checkpoint at or below `up_to`.
    pub fn first_up_to(&mut self, up_to: CheckpointId) -> Option<&mut CheckpointCommittables> {
        self.checkpoints.first_mut().filter(|entry| entry.checkpoint <= up_to)
    }

    /// Removes the lowest checkpoint: all of it is settled.
    pub fn remove_first(&mut self) {
        let removed = self.checkpoints.remove(0);
        debug_assert_eq!(removed.unfinished(), 0, "only what is settled leaves the state");
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.checkpoints.clear();
    }

    /// The request that waits for this call.
    pub fn awaiting(&mut self, call: CallId) -> Option<&mut CollectedRequest> {
        // Only the lowest checkpoint is ever under way (FACT 67).
        let entry = self.checkpoints.first_mut()?;
        entry.requests.iter_mut().find(|request| request.state == RequestState::UnderWay(call))
    }

    /// The records of the request that waits for this call.
    #[must_use]
    pub fn records_of(&self, call: CallId) -> Option<&RecordRanges> {
        let entry = self.checkpoints.first()?;
        let request = entry.requests.iter().find(|request| request.state == RequestState::UnderWay(call))?;
        Some(&request.committable.records)
    }

    /// All checkpoints in order.
    #[must_use]
    pub fn checkpoints(&self) -> &[CheckpointCommittables] {
        &self.checkpoints
    }

    fn position(&self, checkpoint: CheckpointId) -> Result<usize, usize> {
        self.checkpoints.binary_search_by_key(&checkpoint, |entry| entry.checkpoint)
    }
}
