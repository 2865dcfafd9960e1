//! Plans the splits and hands them out, on request or all at once.
//!
//! *Pull*: whoever asks gets the next split, and when there is none and the source is bounded, 'no more splits'. Splits
//! that come back wait for the next request; the subtask that lost them asks again once it is restored.
//!
//! *Push*: once every reader has registered, split `i` of those pending goes to subtask `i mod parallelism`. Later,
//! whatever came back goes to the subtask that registers again. It does not go to the others: in a bounded job they were
//! told 'no more splits' and may have ended, and a split that reaches an ended reader is lost without a word (FACT 55).

mod habits;
#[cfg(test)]
mod tests;

use super::{RangeSource, RangeSplit};
use crate::api::source::{SplitEnumerator, SplitEnumeratorContext, UserError};
use crate::config::AssignmentPolicy;
use crate::ids::{CheckpointId, SubtaskIndex};
use habits::Habits;
use std::collections::VecDeque;

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RangeEnumerator {
    pub(super) source: RangeSource,
    pub(super) pending: VecDeque<RangeSplit>,
    /// The splits are planned: a restored enumerator does not plan again.
    pub(super) planned: bool,
    /// Push: all readers had registered and what was pending was dealt out.
    dealt: bool,
    habits: Habits,
}

impl RangeEnumerator {
    pub(super) fn create(source: RangeSource) -> Self {
        let habits = Habits::new(source.plan.script);
        Self { source, pending: VecDeque::new(), planned: false, dealt: false, habits }
    }

    pub(super) fn restore(source: RangeSource, pending: Vec<RangeSplit>) -> Self {
        let habits = Habits::restored(source.plan.script);
        Self { source, pending: pending.into(), planned: true, dealt: false, habits }
    }

    /// Takes out the split that is handed out next: the one that waits longest.
    fn take_next(&mut self) -> Option<RangeSplit> {
        self.pending.pop_front()
    }

    fn signal_no_more(
        &mut self,
        subtask: SubtaskIndex,
        context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(), UserError> {
        self.habits.told_no_more(subtask);
        context.signal_no_more_splits(subtask)
    }

    /// Tells everybody that no split is left. Those who are not there yet hear of it when they ask.
    fn signal_everyone(&mut self, context: &mut dyn SplitEnumeratorContext<RangeSplit>) {
        debug_assert!(self.pending.is_empty() && self.source.plan.bounded, "nothing more comes");
        for subtask in (0..context.current_parallelism()).map(SubtaskIndex) {
            if let Err(error) = self.signal_no_more(subtask, context) {
                tracing::debug!(subtask = subtask.0, %error, "is not there");
            }
        }
    }

    fn deal(&mut self, context: &mut dyn SplitEnumeratorContext<RangeSplit>) -> Result<(), UserError> {
        let parallelism = context.current_parallelism() as usize;
        debug_assert_eq!(context.registered_readers().len(), parallelism, "everybody is there");
        let mut hands = vec![Vec::new(); parallelism];
        let mut index = 0;
        while let Some(split) = self.take_next() {
            hands[index % parallelism].push(split);
            index += 1;
        }
        self.dealt = true;
        let subtasks = (0..parallelism as u32).map(SubtaskIndex);
        let assignment: Vec<_> = subtasks.clone().zip(hands).filter(|(_, hand)| !hand.is_empty()).collect();
        for (subtask, hand) in &assignment {
            self.habits.assigned(*subtask, hand);
        }
        context.assign_splits(assignment)?;
        if self.source.plan.bounded {
            for subtask in subtasks {
                self.signal_no_more(subtask, context)?;
            }
        }
        debug_assert!(self.pending.is_empty());
        Ok(())
    }

    fn hand_all_to(
        &mut self,
        subtask: SubtaskIndex,
        context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(), UserError> {
        let hand: Vec<_> = std::iter::from_fn(|| self.take_next()).collect();
        if !hand.is_empty() {
            self.habits.assigned(subtask, &hand);
            context.assign_splits(vec![(subtask, hand)])?;
        }
        if self.source.plan.bounded {
            self.signal_no_more(subtask, context)?;
        }
        Ok(())
    }
}

impl SplitEnumerator for RangeEnumerator {
    type Split = RangeSplit;
    type Extra = ();

    fn start(&mut self, context: &mut dyn SplitEnumeratorContext<RangeSplit>) -> Result<(), UserError> {
        if !std::mem::replace(&mut self.planned, true) {
            debug_assert!(self.pending.is_empty(), "planned before anything comes back");
            let splits = self.source.plan_splits();
            context.splits_discovered(&splits);
            self.pending.extend(splits);
        }
        Ok(())
    }

    fn handle_split_request(
        &mut self,
        subtask: SubtaskIndex,
        context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(), UserError> {
        self.habits.on_request(subtask)?;
        match self.take_next() {
            Some(split) => {
                self.habits.assigned(subtask, &[split]);
                context.assign_splits(vec![(subtask, vec![split])])?;
                if self.pending.is_empty() && self.source.plan.bounded && self.habits.signals_everyone() {
                    self.signal_everyone(context);
                }
                Ok(())
            }
            None if self.source.plan.bounded => self.signal_no_more(subtask, context),
            None => Ok(()),
        }
    }

    fn add_splits_back(
        &mut self,
        splits: Vec<RangeSplit>,
        subtask: SubtaskIndex,
        context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(), UserError> {
        let (hand, waiting) = self.habits.given_back(subtask, splits, &context.registered_readers());
        self.pending.extend(waiting);
        let Some((receiver, hand)) = hand else { return Ok(()) };
        self.habits.assigned(receiver, &hand);
        context.assign_splits(vec![(receiver, hand)])
    }

    fn add_reader(
        &mut self,
        subtask: SubtaskIndex,
        reported: Vec<RangeSplit>,
        context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(), UserError> {
        self.habits.reassign(subtask, reported, &mut self.pending, context)?;
        if self.source.plan.policy == AssignmentPolicy::Pull {
            return Ok(());
        }
        if self.dealt {
            return self.hand_all_to(subtask, context);
        }
        if context.registered_readers().len() < context.current_parallelism() as usize {
            return Ok(());
        }
        self.deal(context)
    }

    fn snapshot_state(
        &mut self,
        checkpoint: CheckpointId,
        context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(Vec<RangeSplit>, ()), UserError> {
        debug_assert!(self.planned, "started before its first checkpoint");
        self.habits.on_snapshot(checkpoint)?;
        if let Some(reader) = self.habits.receiver_in(checkpoint, &context.registered_readers())
            && let Some(split) = self.take_next()
        {
            self.habits.assigned(reader, &[split]);
            context.assign_splits(vec![(reader, vec![split])])?;
        }
        Ok((self.pending.iter().copied().chain(self.habits.parked()).collect(), ()))
    }
}
