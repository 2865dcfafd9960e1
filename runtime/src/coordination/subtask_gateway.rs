//! The way from a coordinator to one execution: it buffers while a checkpoint is under way, and keeps order.
//!
//! A gateway is *marked* for a checkpoint at its trigger and *closed* when the coordinator's snapshot is there. From then
//! on, what the coordinator sends belongs behind the barrier, so it is kept in a list under the checkpoint until that
//! subtask has acknowledged it (or it is complete or aborted):
//!
//! ```text
//!   mark N ---- events go out ---- close N ---- events are blocked under N ---- open N ---- events go out
//! ```
//!
//! Several checkpoints may be under way. A new event goes to the list of the *highest* closed one (FACT 11); opening one
//! that is not the lowest moves its list to the next lower one and sends nothing (FACT 13). A checkpoint that a gateway
//! never saw is an error (FACT 27); what that means is the holder's to say.
//!
//! A gateway is made when its execution is known, and is *ready* once that says where it runs (FACT 8). What comes before
//! is marked and closed like any other, so that a checkpoint finds all gateways alike.

use crate::ids::{CheckpointId, ExecutionAttemptId, OperatorEventId, ProcessAddress};
use crate::message::OperatorEvent;
use std::collections::{BTreeMap, BTreeSet};

/// Marking went back: the checkpoint is not above the latest one (FACT 15).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("Regressing checkpoint IDs. Previous {latest}, new {checkpoint}")]
pub struct RegressingCheckpoint {
    /// The latest that was marked.
    pub latest: CheckpointId,
    /// The one that should be.
    pub checkpoint: CheckpointId,
}

/// Opening for a checkpoint that is above every one that was marked (FACT 14).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("Trying to open a gateway for the unseen {checkpoint}, the latest known is {latest:?}")]
pub struct UnseenCheckpoint {
    /// The latest that was marked.
    pub latest: Option<CheckpointId>,
    /// The one that should be opened.
    pub checkpoint: CheckpointId,
}

/// What becomes of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passage {
    /// It goes out now.
    Open,
    /// It is to be kept back behind this checkpoint.
    BlockedBehind(CheckpointId),
}

/// Whether an execution still counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AttemptStanding {
    /// It runs: a lost event fails it over.
    Running,
    /// It failed: what it is sent is dropped, its reset is to come.
    Failed,
    /// It ended well: what it is sent is dropped.
    Finished,
}

/// An event that is kept back, with its number.
pub type BlockedEvent = (OperatorEventId, OperatorEvent);

/// The gateway of one execution; see the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SubtaskGateway {
    attempt: ExecutionAttemptId,
    task_manager: Option<ProcessAddress>,
    standing: AttemptStanding,
    latest_marked: Option<CheckpointId>,
    marked: BTreeSet<CheckpointId>,
    blocked: BTreeMap<CheckpointId, Vec<BlockedEvent>>,
}

impl SubtaskGateway {
    /// An open gateway to an execution that has not said yet where it runs.
    #[must_use]
    pub const fn new(attempt: ExecutionAttemptId) -> Self {
        Self {
            attempt,
            task_manager: None,
            standing: AttemptStanding::Running,
            latest_marked: None,
            marked: BTreeSet::new(),
            blocked: BTreeMap::new(),
        }
    }

    /// The execution.
    #[must_use]
    pub const fn attempt(&self) -> ExecutionAttemptId {
        self.attempt
    }

    /// Where the execution runs; `None` until the gateway is ready.
    #[must_use]
    pub const fn task_manager(&self) -> Option<ProcessAddress> {
        self.task_manager
    }

    /// The execution runs there: the gateway is ready from here on.
    pub fn set_ready(&mut self, task_manager: ProcessAddress) {
        debug_assert_eq!(self.task_manager, None, "an execution starts once");
        self.task_manager = Some(task_manager);
    }

    /// Whether the execution still counts.
    #[must_use]
    pub const fn standing(&self) -> AttemptStanding {
        self.standing
    }

    /// Notes that the execution no longer runs. What is blocked stays blocked (FACT 24).
    pub fn set_standing(&mut self, standing: AttemptStanding) {
        debug_assert_ne!(standing, AttemptStanding::Running, "an execution does not come back");
        self.standing = standing;
    }

    /// Marks it for a checkpoint.
    ///
    /// # Errors
    /// When the checkpoint is not above the latest one that was marked (FACT 15).
    pub fn mark(&mut self, checkpoint: CheckpointId) -> Result<(), RegressingCheckpoint> {
        if let Some(latest) = self.latest_marked
            && checkpoint <= latest
            && checkpoint != CheckpointId::BATCH
        {
            return Err(RegressingCheckpoint { latest, checkpoint });
        }
        self.latest_marked = Some(checkpoint);
        self.marked.insert(checkpoint);
        debug_assert!(self.can_close(checkpoint) && self.latest_marked == Some(checkpoint));
        Ok(())
    }

    /// Whether [`Self::close`] would close it.
    #[must_use]
    pub fn can_close(&self, checkpoint: CheckpointId) -> bool {
        self.marked.contains(&checkpoint)
    }

    /// Closes it for a checkpoint; answers whether it was marked for it (FACT 16).
    pub fn close(&mut self, checkpoint: CheckpointId) -> bool {
        if !self.marked.contains(&checkpoint) {
            return false;
        }
        self.blocked.entry(checkpoint).or_default();
        debug_assert!(self.is_closed_for(checkpoint));
        true
    }

    /// Whether it is closed for this checkpoint.
    #[must_use]
    pub fn is_closed_for(&self, checkpoint: CheckpointId) -> bool {
        self.blocked.contains_key(&checkpoint)
    }

    /// Whether an event would go out now.
    #[must_use]
    pub fn passage(&self) -> Passage {
        self.blocked
            .last_key_value()
            .map_or(Passage::Open, |(checkpoint, _)| Passage::BlockedBehind(*checkpoint))
    }

    /// Keeps an event back in the list of the highest closed checkpoint; it must be closed.
    pub fn block(&mut self, id: OperatorEventId, event: OperatorEvent) {
        let (_, list) = self.blocked.iter_mut().next_back().expect("only a closed gateway blocks");
        debug_assert!(list.last().is_none_or(|(last, _)| *last < id), "numbers rise in a list");
        list.push((id, event));
    }

    /// Opens it for a checkpoint. `None`: it was not closed for it, nothing to tell of. Otherwise the events that go out
    /// now, in order; none when an older checkpoint still holds them (FACT 13).
    ///
    /// # Errors
    /// When no checkpoint as high as this one was ever marked. Nothing has changed then.
    pub fn open(&mut self, checkpoint: CheckpointId) -> Result<Option<Vec<BlockedEvent>>, UnseenCheckpoint> {
        if self.latest_marked.is_none_or(|latest| latest < checkpoint) {
            return Err(UnseenCheckpoint { latest: self.latest_marked, checkpoint });
        }
        self.marked.remove(&checkpoint);
        let Some(list) = self.blocked.remove(&checkpoint) else { return Ok(None) };
        let released = match self.blocked.range_mut(..checkpoint).next_back() {
            Some((_, lower)) => {
                lower.extend(list);
                Vec::new()
            }
            None => list,
        };
        debug_assert!(!self.is_closed_for(checkpoint) && !self.can_close(checkpoint));
        debug_assert!(released.windows(2).all(|pair| pair[0].0 < pair[1].0), "order is kept");
        Ok(Some(released))
    }

    /// Opens it for every checkpoint and forgets them all; answers what it kept back, in order (FACT 30).
    pub fn open_all(&mut self) -> Vec<BlockedEvent> {
        self.marked.clear();
        let released: Vec<BlockedEvent> = std::mem::take(&mut self.blocked).into_values().flatten().collect();
        debug_assert!(released.windows(2).all(|pair| pair[0].0 < pair[1].0), "order is kept");
        debug_assert_eq!(self.passage(), Passage::Open);
        released
    }

    /// The highest checkpoint that was ever marked.
    #[must_use]
    pub const fn latest_marked(&self) -> Option<CheckpointId> {
        self.latest_marked
    }

    /// The checkpoints that it is marked for, lowest first.
    pub fn marked(&self) -> impl DoubleEndedIterator<Item = CheckpointId> + '_ {
        self.marked.iter().copied()
    }

    /// The checkpoints that it is closed for, lowest first, each with the number of events behind it.
    pub fn closed(&self) -> impl Iterator<Item = (CheckpointId, usize)> + '_ {
        self.blocked.iter().map(|(checkpoint, list)| (*checkpoint, list.len()))
    }

    /// The numbers of the events that it keeps back, lowest checkpoint first.
    pub fn blocked_events(&self) -> impl Iterator<Item = OperatorEventId> + '_ {
        self.blocked.values().flatten().map(|(id, _)| *id)
    }
}

#[cfg(test)]
mod tests;
