//! Which current execution reads a split, as the job manager's process orders it.
//!
//! Who may read is decided in one process: the main thread deploys executions with restored splits and learns of their
//! ends, the coordinator's thread assigns. Judging by that process's sequence alone gives one verdict on every linear
//! extension. A task that reads on after the job master took it for dead is no holder; it may read.

use crate::checker::RunSetup;
use crate::code::Code;
use crate::kinds::{Kind, KindSet};
use crate::table::Table;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{Event, EventKind, Header};
use splitrace_runtime::ids::*;
use splitrace_runtime::message::ExecutionState;
use splitrace_runtime::records::SplitPosition;
use std::sync::Arc;

/// How many completed checkpoints can still be restored from; see `finished_history`.
const RESTORABLE_MAX: usize = 16;

type ReaderStates = Arc<Vec<(SubtaskId, SplitPosition)>>;

/// The holder of each split, and the current execution of each subtask.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct SplitHolders {
    /// Sources whose restored readers hold nothing before the enumerator assigns what they report (FACT 53).
    reassigning: Vec<OperatorUid>,
    epoch: LeaderEpoch,
    holders: Table<Option<ExecutionAttemptId>>,
    current: Table<Option<AttemptNumber>>,
    reader_states: Vec<(CheckpointId, ReaderStates)>,
}

impl SplitHolders {
    /// Nobody holds anything.
    pub(crate) fn new(setup: &RunSetup) -> Self {
        let vertices = setup.config.vertices.iter();
        let reassigning = vertices.filter(|vertex| vertex.source.script.reassignment.is_some());
        Self { reassigning: reassigning.map(|vertex| vertex.operator).collect(), ..Self::default() }
    }

    /// What it reads.
    pub(crate) const READS: KindSet = KindSet::of(&[
        Kind::CheckpointCompleted,
        Kind::StateRedistributed,
        Kind::TaskDeployed,
        Kind::TaskStateChanged,
        Kind::SplitsAssigned,
        Kind::ReaderRegistered,
    ]);

    /// Takes the next event.
    pub(crate) fn observe(&mut self, event: &Event) -> Result<(), Violation> {
        match &event.kind {
            EventKind::CheckpointCompleted { checkpoint, contents } => {
                if self.reader_states.len() == RESTORABLE_MAX {
                    self.reader_states.remove(0);
                }
                self.reader_states.push((*checkpoint, Arc::new(contents.readers.clone())));
                Ok(())
            }
            EventKind::StateRedistributed { checkpoint, readers, .. } => {
                self.reader_states.retain(|(held, _)| held != checkpoint);
                self.reader_states.push((*checkpoint, Arc::new(readers.clone())));
                Ok(())
            }
            EventKind::TaskDeployed { attempt, restored, .. } => {
                self.enter_epoch(event.header.leader_epoch);
                *self.current.subtask_mut(attempt.subtask_id()) = Some(attempt.attempt);
                self.restore(*attempt, *restored, &event.header)
            }
            EventKind::TaskStateChanged { attempt, state, .. } => {
                use ExecutionState::{Canceled, Failed, Finished};
                if matches!(state, Canceled | Failed | Finished) && self.is_current(*attempt) {
                    *self.current.subtask_mut(attempt.subtask_id()) = None;
                }
                Ok(())
            }
            EventKind::SplitsAssigned { attempt, splits } => {
                self.enter_epoch(event.header.leader_epoch);
                // An assignment to an execution that has just failed is given back at its reset.
                if !self.is_current(*attempt) {
                    return Ok(());
                }
                splits.iter().try_for_each(|split| self.hold(split.split, *attempt, &event.header))
            }
            EventKind::ReaderRegistered { attempt, reported } => {
                for split in reported {
                    let holder = self.holders.split_mut(split.split);
                    if *holder == Some(*attempt) {
                        *holder = None;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn restore(
        &mut self,
        attempt: ExecutionAttemptId,
        restored: Option<CheckpointId>,
        header: &Header,
    ) -> Result<(), Violation> {
        if self.reassigning.contains(&attempt.vertex) {
            return Ok(());
        }
        let Some((_, states)) = self.reader_states.iter().rev().find(|(held, _)| Some(*held) == restored)
        else {
            return Ok(());
        };
        let states = Arc::clone(states);
        let own = states.iter().filter(|(subtask, _)| *subtask == attempt.subtask_id());
        own.map(|(_, split)| split.split).try_for_each(|split| self.hold(split, attempt, header))
    }

    fn hold(
        &mut self,
        split: SplitId,
        attempt: ExecutionAttemptId,
        header: &Header,
    ) -> Result<(), Violation> {
        debug_assert!(self.is_current(attempt), "only a current execution holds splits");
        let holder = *self.holders.split_mut(split);
        if let Some(other) = holder.filter(|other| *other != attempt && self.is_current(*other)) {
            let sentence = format!("{split} goes to {attempt} while the current {other} reads it");
            return Err(Violation::new(Code::S1, Subject::Split(split), header, sentence));
        }
        *self.holders.split_mut(split) = Some(attempt);
        Ok(())
    }

    fn is_current(&self, attempt: ExecutionAttemptId) -> bool {
        self.current.subtask(attempt.subtask_id()).copied().flatten() == Some(attempt.attempt)
    }

    /// A new leader's executions are the only current ones.
    fn enter_epoch(&mut self, epoch: LeaderEpoch) {
        if epoch > self.epoch {
            self.epoch = epoch;
            self.holders.clear();
            self.current.clear();
        }
    }
}
