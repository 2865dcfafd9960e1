//! The right enumerator with a habit: what it does in place of one callback, or around it.

use super::super::{RangeEnumerator, RangeSplit};
use crate::api::source::{AsyncCallName, SplitEnumerator, SplitEnumeratorContext, UserError};
use crate::ids::{CheckpointId, SubtaskIndex};
use std::fmt::Debug;
use std::hash::Hash;

/// What an enumerator's callback answers.
pub type Answer = Result<(), UserError>;

/// What a worker hands over.
pub type Found = Result<Vec<u8>, UserError>;

/// What an enumerator is given.
pub type Context<'a> = &'a mut dyn SplitEnumeratorContext<RangeSplit>;

/// What goes into a checkpoint.
pub type Snapshot = Result<(Vec<RangeSplit>, u32), UserError>;

/// A habit, with what it has to remember. Each callback is the right enumerator's unless the habit has another; see
/// [`SplitEnumerator`] for when they are called, and for what their errors do.
pub trait EnumeratorHabit: Clone + Debug + Hash + Default + Send + Sync + 'static {
    /// It was created or restored.
    fn begin(&mut self, _right: &mut RangeEnumerator) {}

    /// In place of [`SplitEnumerator::start`].
    ///
    /// # Errors
    /// What user code throws; so for all that follow.
    fn start(&mut self, right: &mut RangeEnumerator, context: Context<'_>) -> Answer {
        right.start(context)
    }

    /// In place of [`SplitEnumerator::handle_split_request`].
    ///
    /// # Errors
    /// See [`Self::start`].
    fn handle_split_request(
        &mut self,
        right: &mut RangeEnumerator,
        subtask: SubtaskIndex,
        context: Context<'_>,
    ) -> Answer {
        right.handle_split_request(subtask, context)
    }

    /// In place of [`SplitEnumerator::add_splits_back`].
    ///
    /// # Errors
    /// See [`Self::start`].
    fn add_splits_back(
        &mut self,
        right: &mut RangeEnumerator,
        splits: Vec<RangeSplit>,
        subtask: SubtaskIndex,
        context: Context<'_>,
    ) -> Answer {
        right.add_splits_back(splits, subtask, context)
    }

    /// In place of [`SplitEnumerator::add_reader`].
    ///
    /// # Errors
    /// See [`Self::start`].
    fn add_reader(
        &mut self,
        right: &mut RangeEnumerator,
        subtask: SubtaskIndex,
        reported: Vec<RangeSplit>,
        context: Context<'_>,
    ) -> Answer {
        right.add_reader(subtask, reported, context)
    }

    /// In place of [`SplitEnumerator::snapshot_state`].
    ///
    /// # Errors
    /// See [`Self::start`].
    fn snapshot_state(
        &mut self,
        right: &mut RangeEnumerator,
        checkpoint: CheckpointId,
        context: Context<'_>,
    ) -> Snapshot {
        right.snapshot_state(checkpoint, context)
    }

    /// In place of [`SplitEnumerator::run_async`].
    ///
    /// # Errors
    /// See [`Self::start`].
    fn run_async(&mut self, right: &mut RangeEnumerator, call: AsyncCallName) -> Found {
        right.run_async(call)
    }

    /// In place of [`SplitEnumerator::handle_async_result`].
    ///
    /// # Errors
    /// See [`Self::start`].
    fn handle_async_result(
        &mut self,
        right: &mut RangeEnumerator,
        call: AsyncCallName,
        result: Found,
        context: Context<'_>,
    ) -> Answer {
        right.handle_async_result(call, result, context)
    }
}

/// An enumerator with a habit.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HabitualEnumerator<H> {
    right: RangeEnumerator,
    habit: H,
}

impl<H: EnumeratorHabit> From<RangeEnumerator> for HabitualEnumerator<H> {
    fn from(mut right: RangeEnumerator) -> Self {
        let mut habit = H::default();
        habit.begin(&mut right);
        Self { right, habit }
    }
}

impl<H: EnumeratorHabit> SplitEnumerator for HabitualEnumerator<H> {
    type Split = RangeSplit;
    type Extra = u32;

    fn start(&mut self, context: Context<'_>) -> Answer {
        self.habit.start(&mut self.right, context)
    }

    fn handle_split_request(&mut self, subtask: SubtaskIndex, context: Context<'_>) -> Answer {
        self.habit.handle_split_request(&mut self.right, subtask, context)
    }

    fn add_splits_back(
        &mut self,
        splits: Vec<RangeSplit>,
        subtask: SubtaskIndex,
        context: Context<'_>,
    ) -> Answer {
        self.habit.add_splits_back(&mut self.right, splits, subtask, context)
    }

    fn add_reader(
        &mut self,
        subtask: SubtaskIndex,
        reported: Vec<RangeSplit>,
        context: Context<'_>,
    ) -> Answer {
        self.habit.add_reader(&mut self.right, subtask, reported, context)
    }

    fn snapshot_state(&mut self, checkpoint: CheckpointId, context: Context<'_>) -> Snapshot {
        self.habit.snapshot_state(&mut self.right, checkpoint, context)
    }

    fn notify_checkpoint_complete(&mut self, checkpoint: CheckpointId, context: Context<'_>) -> Answer {
        self.right.notify_checkpoint_complete(checkpoint, context)
    }

    fn run_async(&mut self, call: AsyncCallName) -> Found {
        self.habit.run_async(&mut self.right, call)
    }

    fn handle_async_result(&mut self, call: AsyncCallName, result: Found, context: Context<'_>) -> Answer {
        self.habit.handle_async_result(&mut self.right, call, result, context)
    }
}
