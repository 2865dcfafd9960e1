//! Plans the splits and hands them out, on request or all at once.
//!
//! *Pull*: whoever asks gets the next split, and when there is none and the source is bounded, 'no more splits'. Splits
//! that come back wait for the next request; the subtask that lost them asks again once it is restored.
//!
//! *Push*: once every reader has registered, split `i` of those pending goes to subtask `i mod parallelism`. Later,
//! whatever came back goes to the subtask that registers again. It does not go to the others: in a bounded job they were
//! told 'no more splits' and may have ended, and a split that reaches an ended reader is lost without a word (FACT 55).
//!
//! Where splits are discovered while the job runs (see [`discovery`]), who asks in vain waits, and hears 'no more
//! splits' only when none can come any more.

pub(super) mod discovery;
#[cfg(test)]
mod discovery_tests;
mod habits;
#[cfg(test)]
mod tests;

use super::{RangeSource, RangeSplit};
use crate::api::source::{AsyncCallName, SplitEnumerator, SplitEnumeratorContext, UserError};
use crate::config::AssignmentPolicy;
use crate::ids::{CheckpointId, SubtaskIndex};
use discovery::Discovered;
use habits::Habits;
use std::collections::{BTreeSet, VecDeque};

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RangeEnumerator {
    pub(super) source: RangeSource,
    pub(super) pending: VecDeque<RangeSplit>,
    /// So many splits of the plan are known. It is in the state: a restored enumerator does not discover them again.
    pub(super) discovered: u32,
    /// Readers that asked when nothing was there. They ask again when they are restored, so no state holds them.
    pub(super) waiting: BTreeSet<SubtaskIndex>,
    /// How often the worker has looked.
    looks: u32,
    /// Push: all readers had registered and what was pending was dealt out.
    dealt: bool,
    habits: Habits,
}

impl RangeEnumerator {
    pub(super) fn create(source: RangeSource) -> Self {
        let habits = Habits::new(source.plan.script);
        let (pending, waiting) = (VecDeque::new(), BTreeSet::new());
        Self { source, pending, discovered: 0, waiting, looks: 0, dealt: false, habits }
    }

    /// Without a number everything was known.
    pub(super) fn restore(source: RangeSource, pending: Vec<RangeSplit>, discovered: Option<u32>) -> Self {
        let all = source.plan.split_count;
        let discovered = discovered.unwrap_or(all);
        debug_assert!(discovered <= all, "the plan is that of the job before");
        Self {
            pending: pending.into(),
            discovered,
            habits: Habits::restored(source.plan.script),
            ..Self::create(source)
        }
    }

    /// Whether no split can come any more but one that comes back.
    fn is_discovery_over(&self) -> bool {
        self.source.plan.bounded && self.discovered == self.source.plan.split_count
    }

    /// Takes out the split that is handed out next: the one that waits longest.
    pub(super) fn take_next(&mut self) -> Option<RangeSplit> {
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
        debug_assert!(self.pending.is_empty() && self.is_discovery_over(), "nothing more comes");
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
        if self.is_discovery_over() {
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
        if self.is_discovery_over() {
            self.signal_no_more(subtask, context)?;
        }
        Ok(())
    }

    /// The next split for a reader that wants one; without one it hears that none comes, or waits.
    pub(super) fn serve(
        &mut self,
        subtask: SubtaskIndex,
        context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(), UserError> {
        let Some(split) = self.take_next() else {
            if self.is_discovery_over() {
                return self.signal_no_more(subtask, context);
            }
            self.waiting.insert(subtask);
            return Ok(());
        };
        self.habits.assigned(subtask, &[split]);
        context.assign_splits(vec![(subtask, vec![split])])?;
        if self.pending.is_empty() && self.is_discovery_over() && self.habits.signals_everyone() {
            self.signal_everyone(context);
        }
        Ok(())
    }
}

impl SplitEnumerator for RangeEnumerator {
    type Split = RangeSplit;
    type Extra = u32;

    fn start(&mut self, context: &mut dyn SplitEnumeratorContext<RangeSplit>) -> Result<(), UserError> {
        self.begin_discovery(context);
        Ok(())
    }

    fn handle_split_request(
        &mut self,
        subtask: SubtaskIndex,
        context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(), UserError> {
        self.habits.on_request(subtask)?;
        self.serve(subtask, context)
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
        self.waiting.remove(&subtask);
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
    ) -> Result<(Vec<RangeSplit>, u32), UserError> {
        self.habits.on_snapshot(checkpoint)?;
        if let Some(reader) = self.habits.receiver_in(checkpoint, &context.registered_readers())
            && let Some(split) = self.take_next()
        {
            self.habits.assigned(reader, &[split]);
            context.assign_splits(vec![(reader, vec![split])])?;
        }
        Ok((self.pending.iter().copied().chain(self.habits.parked()).collect(), self.discovered))
    }

    fn notify_checkpoint_complete(
        &mut self,
        checkpoint: CheckpointId,
        _context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(), UserError> {
        self.habits.on_completion(checkpoint)
    }

    fn run_async(&mut self, call: AsyncCallName) -> Result<Vec<u8>, UserError> {
        debug_assert_eq!(call, discovery::DISCOVERY, "it asks for nothing else");
        Ok(self.look()?.encode())
    }

    fn handle_async_result(
        &mut self,
        call: AsyncCallName,
        result: Result<Vec<u8>, UserError>,
        context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(), UserError> {
        debug_assert_eq!(call, discovery::DISCOVERY, "it asks for nothing else");
        let result = result.and_then(|bytes| Discovered::decode(&bytes));
        self.looked(result, context)
    }
}
