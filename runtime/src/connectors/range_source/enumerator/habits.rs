//! What the configuration's script makes the enumerator do beside handing splits out: it throws once, assigns inside a
//! snapshot, gives what restored readers report, or what came back, to whom the script says, and says early that there is
//! nothing more. Each is something that an author may well write; a few are more than Flink 2.3.0 stands.
//!
//! A split is reported again whenever its old reader restarts from a checkpoint that still has it there, also when somebody
//! else has it by now, or when it was given back. So the enumerator knows who has each split, and takes each report once;
//! Flink leaves this to whoever writes an enumerator (FACT 54).
//!
//! A reported split whose reader-to-be is not there yet is parked here. The enumerator's state holds it meanwhile, so that
//! a checkpoint in between finds it in one place; a restored enumerator has it among its pending splits.

use super::super::RangeSplit;
use crate::api::source::{SplitEnumeratorContext, UserError};
use crate::config::{EnumeratorFailure, EnumeratorScript, Reassignment, ReturnedSplits, SnapshotAssignment};
use crate::ids::{CheckpointId, SplitId, SubtaskIndex};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The script with how far it has come.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Habits {
    script: EnumeratorScript,
    requests: u32,
    parked: Vec<(SubtaskIndex, RangeSplit)>,
    /// Who was assigned a split last, and has not given it back; kept only where splits are reported.
    owners: BTreeMap<SplitId, SubtaskIndex>,
    /// Readers that were told 'no more splits' since they registered.
    told: BTreeSet<SubtaskIndex>,
    /// Splits that came back and were handed on without a thought: that happens once.
    handed_on: BTreeSet<SplitId>,
}

impl Habits {
    pub(super) fn new(script: EnumeratorScript) -> Self {
        Self {
            script,
            requests: 0,
            parked: Vec::new(),
            owners: BTreeMap::new(),
            told: BTreeSet::new(),
            handed_on: BTreeSet::new(),
        }
    }

    /// The same without the failure and with more care: a restored enumerator is not the first. One that always gave a
    /// split to a reader that had ended would restart the job for good, whatever is promised.
    pub(super) fn restored(script: EnumeratorScript) -> Self {
        let reassignment = match script.reassignment {
            Some(Reassignment::Other) => Some(Reassignment::Spread),
            other => other,
        };
        Self::new(EnumeratorScript { failure: None, reassignment, ..script })
    }

    /// A split is asked for.
    pub(super) fn on_request(&mut self, subtask: SubtaskIndex) -> Result<(), UserError> {
        self.requests += 1;
        if self.script.failure == Some(EnumeratorFailure::SplitRequest(self.requests)) {
            return Err(UserError::new(format!("injected failure in handleSplitRequest({})", subtask.0)));
        }
        Ok(())
    }

    /// A snapshot begins.
    pub(super) fn on_snapshot(&self, checkpoint: CheckpointId) -> Result<(), UserError> {
        if self.script.failure == Some(EnumeratorFailure::Snapshot(checkpoint.0)) {
            return Err(UserError::new(format!("injected failure in snapshotState({checkpoint})")));
        }
        Ok(())
    }

    /// A checkpoint is complete.
    pub(super) fn on_completion(&self, checkpoint: CheckpointId) -> Result<(), UserError> {
        if self.script.failure == Some(EnumeratorFailure::Completion(checkpoint.0)) {
            return Err(UserError::new(format!(
                "injected failure in notifyCheckpointComplete({checkpoint})"
            )));
        }
        Ok(())
    }

    /// To whom this snapshot assigns a split: the first reader that was not told that nothing comes.
    pub(super) fn receiver_in(
        &self,
        checkpoint: CheckpointId,
        registered: &[SubtaskIndex],
    ) -> Option<SubtaskIndex> {
        let assigns = match self.script.assigns_in_snapshot? {
            SnapshotAssignment::In(number) => number == checkpoint.0,
            SnapshotAssignment::Always => true,
        };
        registered.iter().copied().find(|reader| assigns && !self.told.contains(reader))
    }

    /// Splits are assigned.
    pub(super) fn assigned(&mut self, subtask: SubtaskIndex, splits: &[RangeSplit]) {
        if self.script.reassignment.is_some() {
            self.owners.extend(splits.iter().map(|split| (split.at.split, subtask)));
        }
    }

    /// Splits came back from `subtask`: who gets them at once, and which wait.
    pub(super) fn given_back(
        &mut self,
        subtask: SubtaskIndex,
        splits: Vec<RangeSplit>,
        registered: &[SubtaskIndex],
    ) -> (Option<(SubtaskIndex, Vec<RangeSplit>)>, Vec<RangeSplit>) {
        for split in &splits {
            self.owners.remove(&split.at.split);
        }
        let receiver = match self.script.returned {
            ReturnedSplits::Wait => None,
            ReturnedSplits::FirstReader => registered.first().copied(),
            ReturnedSplits::WhoLostThem => Some(subtask),
        };
        let Some(receiver) = receiver else { return (None, splits) };
        let (hand, waiting): (Vec<_>, Vec<_>) =
            splits.into_iter().partition(|split| self.handed_on.insert(split.at.split));
        debug_assert!(hand.iter().all(|split| self.handed_on.contains(&split.at.split)));
        ((!hand.is_empty()).then_some((receiver, hand)), waiting)
    }

    /// Whether all are to be told that no split is left.
    pub(super) fn signals_everyone(&self) -> bool {
        self.script.signals_everyone
    }

    /// Whether a report is to be followed: nobody else has the split, and it is not parked already. What waits among the
    /// pending splits is taken out: it is the same one.
    fn takes(&self, subtask: SubtaskIndex, split: &RangeSplit, pending: &mut VecDeque<RangeSplit>) -> bool {
        let id = split.at.split;
        if self.owners.get(&id).is_some_and(|owner| *owner != subtask)
            || self.parked.iter().any(|(_, parked)| parked.at.split == id)
        {
            return false;
        }
        pending.retain(|held| held.at.split != id);
        true
    }

    /// A reader is told 'no more splits'.
    pub(super) fn told_no_more(&mut self, subtask: SubtaskIndex) {
        self.told.insert(subtask);
    }

    /// To whom the script gives what `subtask` reports. `Spread` is careful: whoever was told that nothing comes may have
    /// ended (FACT 55). `Other` is not, and that is what it is there to show.
    fn receiver(&self, subtask: SubtaskIndex, parallelism: u32) -> SubtaskIndex {
        match self.script.reassignment {
            Some(Reassignment::Other) => SubtaskIndex((subtask.0 + 1) % parallelism),
            Some(Reassignment::Spread) => {
                let receiver = SubtaskIndex(2 * subtask.0 % parallelism);
                if self.told.contains(&receiver) { subtask } else { receiver }
            }
            Some(Reassignment::Same) | None => subtask,
        }
    }

    /// What is parked.
    pub(super) fn parked(&self) -> impl Iterator<Item = RangeSplit> {
        self.parked.iter().map(|(_, split)| *split)
    }

    /// A reader has registered: what it reports goes where the script says, and what was parked for it goes to it.
    pub(super) fn reassign(
        &mut self,
        subtask: SubtaskIndex,
        reported: Vec<RangeSplit>,
        pending: &mut VecDeque<RangeSplit>,
        context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(), UserError> {
        debug_assert!(reported.is_empty() || self.script.reassignment.is_some(), "nobody reports unasked");
        self.told.remove(&subtask);
        let receiver = self.receiver(subtask, context.current_parallelism());
        for split in reported {
            if self.takes(subtask, &split, pending) {
                self.parked.push((receiver, split));
            }
        }
        let registered = context.registered_readers();
        let (ready, parked) =
            std::mem::take(&mut self.parked).into_iter().partition(|(to, _)| registered.contains(to));
        self.parked = parked;
        let ready: Vec<(SubtaskIndex, RangeSplit)> = ready;
        debug_assert!(self.parked.iter().all(|(to, _)| *to != subtask), "{subtask} is registered");
        for (to, split) in ready {
            self.assigned(to, &[split]);
            context.assign_splits(vec![(to, vec![split])])?;
        }
        Ok(())
    }
}
