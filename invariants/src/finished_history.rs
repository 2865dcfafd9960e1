//! Which splits had been read to their end in the history that a completed checkpoint extends.
//!
//! A split is finished at N by a subtask when the execution that took part in N said so before its reader's snapshot N,
//! or when the checkpoint that this execution restored holds it as finished there. A rollback therefore needs no undo:
//! the new execution starts from what its restored checkpoint says. Each fact is ordered by the task's own sequence, and
//! all of them cause the completion of N, so no order of other processes matters. What an execution that is in no
//! completed checkpoint read, a zombie's doings among them, counts nowhere.

use crate::checker::task_of;
use crate::kinds::{Kind, KindSet};
use crate::table::Table;
use splitrace_runtime::event::{CheckpointContents, Event, EventKind};
use splitrace_runtime::ids::{CheckpointId, Fence, SplitId, SubtaskId};
use splitrace_runtime::message::ExecutionState;
use std::sync::Arc;

/// How many completed checkpoints can still be restored from; only the latest ever is, the rest is slack for logs.
const RESTORABLE_MAX: usize = 16;

/// Finished splits, sorted.
pub(crate) type FinishedSplits = Arc<Vec<SplitId>>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Base {
    /// As the restored checkpoint has it; looked up when it is needed.
    Restored(Option<CheckpointId>),
    /// The splits that were finished as of the last completed checkpoint.
    Known(FinishedSplits),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Execution {
    fence: Fence,
    base: Base,
    /// Splits finished since, in order.
    since: Vec<SplitId>,
    /// The reader's snapshots: how many of `since` were finished by then.
    marks: Vec<(CheckpointId, usize)>,
    acknowledged: Vec<CheckpointId>,
}

impl Execution {
    fn mark(&self, checkpoint: CheckpointId) -> Option<usize> {
        self.marks.iter().rev().find(|(held, _)| *held == checkpoint).map(|(_, count)| *count)
    }

    /// Moves the first `count` finished splits into the base, which is what `checkpoint` completes.
    fn complete(&mut self, base: FinishedSplits, count: usize, checkpoint: CheckpointId) -> FinishedSplits {
        debug_assert!(count <= self.since.len(), "a snapshot cannot know of later ends");
        let mut base = base;
        if count > 0 {
            let splits = Arc::make_mut(&mut base);
            splits.extend(self.since.drain(..count));
            splits.sort_unstable();
            splits.dedup();
        }
        self.marks.retain(|(held, _)| *held > checkpoint);
        for (_, later) in &mut self.marks {
            *later = later.saturating_sub(count);
        }
        self.acknowledged.retain(|held| *held > checkpoint);
        debug_assert!(base.is_sorted());
        self.base = Base::Known(Arc::clone(&base));
        base
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Subtask {
    /// In the order of their fences.
    executions: Vec<Execution>,
    /// The execution that the job master knows as FINISHED.
    ended: Option<Fence>,
}

/// The finished splits of every subtask, by execution and by completed checkpoint.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct FinishedHistory {
    subtasks: Table<Subtask>,
    completed: Vec<(CheckpointId, Vec<(SubtaskId, FinishedSplits)>)>,
}

impl FinishedHistory {
    /// What it reads.
    pub(crate) const READS: KindSet = KindSet::of(&[
        Kind::TaskDeployed,
        Kind::TaskRestored,
        Kind::StateRedistributed,
        Kind::SplitFinished,
        Kind::ReaderSnapshotTaken,
        Kind::CheckpointAcknowledged,
        Kind::TaskStateChanged,
    ]);

    /// Takes note of what tasks and the job master say.
    pub(crate) fn observe(&mut self, event: &Event) {
        match &event.kind {
            EventKind::TaskDeployed { attempt, restored, .. } => {
                let fence = Fence { leader_epoch: event.header.leader_epoch, attempt: attempt.attempt };
                self.execution(attempt.subtask_id(), fence).base = Base::Restored(*restored);
            }
            EventKind::TaskRestored { checkpoint } => {
                if let Some((attempt, fence)) = task_of(&event.header) {
                    self.execution(attempt.subtask_id(), fence).base = Base::Restored(*checkpoint);
                }
            }
            EventKind::StateRedistributed { checkpoint, .. } => self.redistribute(*checkpoint),
            EventKind::SplitFinished { split } => {
                if let Some((attempt, fence)) = task_of(&event.header) {
                    self.execution(attempt.subtask_id(), fence).since.push(*split);
                }
            }
            EventKind::ReaderSnapshotTaken { checkpoint, .. } => {
                if let Some((attempt, fence)) = task_of(&event.header) {
                    let execution = self.execution(attempt.subtask_id(), fence);
                    execution.marks.push((*checkpoint, execution.since.len()));
                }
            }
            EventKind::CheckpointAcknowledged { checkpoint, attempt, .. } => {
                let fence = Fence { leader_epoch: event.header.leader_epoch, attempt: attempt.attempt };
                self.execution(attempt.subtask_id(), fence).acknowledged.push(*checkpoint);
            }
            EventKind::TaskStateChanged { attempt, state: ExecutionState::Finished, .. } => {
                let fence = Fence { leader_epoch: event.header.leader_epoch, attempt: attempt.attempt };
                self.subtasks.subtask_mut(attempt.subtask_id()).ended = Some(fence);
            }
            _ => {}
        }
    }

    /// The finished splits of each subtask as of `checkpoint`, which has just completed. Nothing when the events do
    /// not tell enough: then there is nothing to judge.
    pub(crate) fn complete(
        &mut self,
        checkpoint: CheckpointId,
        contents: &CheckpointContents,
    ) -> Option<&[(SubtaskId, FinishedSplits)]> {
        let mut finished = Vec::new();
        for (vertex, index, subtask) in self.subtasks.iter() {
            let id = SubtaskId { vertex, subtask: splitrace_runtime::ids::SubtaskIndex(index) };
            if let Some((at, count)) = subtask.takes_part(checkpoint, contents.finished.contains(&id)) {
                let base = self.base(id, &subtask.executions[at])?;
                finished.push((id, at, count, base));
            }
        }
        let mut completed = Vec::with_capacity(finished.len());
        for (id, at, count, base) in finished {
            let subtask = self.subtasks.subtask_mut(id);
            completed.push((id, subtask.executions[at].complete(base, count, checkpoint)));
            // What older executions read can be in no later checkpoint.
            subtask.executions.drain(..at);
        }
        if self.completed.len() == RESTORABLE_MAX {
            self.completed.remove(0);
        }
        self.completed.push((checkpoint, completed));
        self.completed.last().map(|(_, finished)| finished.as_slice())
    }

    /// The checkpoint's subtasks are no longer those that took it: what was finished in a vertex is told of its first one.
    fn redistribute(&mut self, checkpoint: CheckpointId) {
        let Some((_, finished)) = self.completed.iter_mut().rev().find(|(held, _)| *held == checkpoint)
        else {
            return;
        };
        let mut vertices: Vec<(SubtaskId, FinishedSplits)> = Vec::new();
        for (subtask, splits) in finished.drain(..) {
            match vertices.iter_mut().find(|(held, _)| held.vertex == subtask.vertex) {
                Some((_, held)) => {
                    let merged = Arc::make_mut(held);
                    merged.extend(splits.iter().copied());
                    merged.sort_unstable();
                    merged.dedup();
                }
                None => {
                    let first = SubtaskId { subtask: splitrace_runtime::ids::SubtaskIndex(0), ..subtask };
                    vertices.push((first, splits));
                }
            }
        }
        debug_assert!(vertices.iter().all(|(_, splits)| splits.is_sorted()));
        for (first, splits) in &vertices {
            let subtask = self.subtasks.subtask_mut(*first);
            let ended = subtask.ended;
            // A vertex that had wholly finished is not run again: its first subtask's last execution speaks for all.
            if let Some(last) = subtask.executions.iter_mut().find(|held| Some(held.fence) == ended) {
                last.base = Base::Known(Arc::clone(splits));
                last.since.clear();
                last.marks.clear();
            }
        }
        let others: Vec<SubtaskId> = self
            .subtasks
            .iter()
            .map(|(vertex, index, _)| SubtaskId {
                vertex,
                subtask: splitrace_runtime::ids::SubtaskIndex(index),
            })
            .filter(|id| vertices.iter().all(|(first, _)| first != id))
            .collect();
        for id in others {
            let subtask = self.subtasks.subtask_mut(id);
            let ended = subtask.ended;
            if let Some(last) = subtask.executions.iter_mut().find(|held| Some(held.fence) == ended) {
                last.base = Base::Known(FinishedSplits::default());
                last.since.clear();
                last.marks.clear();
            }
        }
        *finished = vertices;
    }

    /// The same for a savepoint that is newer than every completed checkpoint: nothing is restored from it, so nothing is
    /// remembered of it. An older one cannot be judged any more.
    pub(crate) fn as_of(
        &self,
        savepoint: CheckpointId,
        contents: &CheckpointContents,
    ) -> Option<Vec<(SubtaskId, FinishedSplits)>> {
        if self.completed.last().is_some_and(|(held, _)| *held > savepoint) {
            return None;
        }
        let mut finished = Vec::new();
        for (vertex, index, subtask) in self.subtasks.iter() {
            let id = SubtaskId { vertex, subtask: splitrace_runtime::ids::SubtaskIndex(index) };
            if let Some((at, count)) = subtask.takes_part(savepoint, contents.finished.contains(&id)) {
                let execution = &subtask.executions[at];
                let mut splits = self.base(id, execution)?;
                let known = Arc::make_mut(&mut splits);
                known.extend(execution.since[..count].iter().copied());
                known.sort_unstable();
                known.dedup();
                finished.push((id, splits));
            }
        }
        Some(finished)
    }

    fn base(&self, subtask: SubtaskId, execution: &Execution) -> Option<FinishedSplits> {
        match &execution.base {
            Base::Known(finished) => Some(Arc::clone(finished)),
            Base::Restored(None) => Some(FinishedSplits::default()),
            Base::Restored(Some(checkpoint)) => {
                let (_, finished) = self.completed.iter().rev().find(|(held, _)| held == checkpoint)?;
                let held = finished.iter().find(|(held, _)| *held == subtask);
                Some(held.map(|(_, splits)| Arc::clone(splits)).unwrap_or_default())
            }
        }
    }

    fn execution(&mut self, subtask: SubtaskId, fence: Fence) -> &mut Execution {
        let executions = &mut self.subtasks.subtask_mut(subtask).executions;
        let at = executions.partition_point(|held| held.fence < fence);
        if executions.get(at).is_none_or(|held| held.fence != fence) {
            let (since, marks, acknowledged) = (Vec::new(), Vec::new(), Vec::new());
            let base = Base::Restored(None);
            executions.insert(at, Execution { fence, base, since, marks, acknowledged });
        }
        &mut executions[at]
    }
}

impl Subtask {
    /// The execution whose history `checkpoint` extends, and how many of its newly finished splits belong to it.
    fn takes_part(&self, checkpoint: CheckpointId, had_finished: bool) -> Option<(usize, usize)> {
        let acknowledged = self.executions.iter().rposition(|held| held.acknowledged.contains(&checkpoint));
        if let Some(at) = acknowledged {
            return self.executions[at].mark(checkpoint).map(|count| (at, count));
        }
        if had_finished {
            let at = self.executions.iter().rposition(|held| Some(held.fence) == self.ended)?;
            return Some((at, self.executions[at].since.len()));
        }
        let at = self.executions.iter().rposition(|held| held.mark(checkpoint).is_some())?;
        self.executions[at].mark(checkpoint).map(|count| (at, count))
    }
}
