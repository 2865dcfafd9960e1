//! Enumerators that are wrong about what a worker discovers. Each is the right one with another look, or another way to
//! take what came of it.

use super::super::enumerator::discovery::Discovered;
use super::super::{RangeEnumerator, RangeSplit};
use super::{Answer, Context, Found};
use crate::api::source::{AsyncCallName, SplitEnumerator, SplitEnumeratorContext, UserError};
use crate::ids::{CheckpointId, SubtaskIndex};
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

/// How an enumerator discovers.
pub trait DiscoveryHabit: Clone + Debug + Hash + Send + Sync + 'static {
    /// It is created or restored.
    fn begin(_right: &mut RangeEnumerator) {}

    /// The worker runs its call.
    ///
    /// # Errors
    /// What user code throws.
    fn run(right: &mut RangeEnumerator, call: AsyncCallName) -> Found {
        right.run_async(call)
    }

    /// What came of it.
    ///
    /// # Errors
    /// What user code throws.
    fn handle(
        right: &mut RangeEnumerator,
        call: AsyncCallName,
        result: Found,
        context: Context<'_>,
    ) -> Answer {
        right.handle_async_result(call, result, context)
    }
}

/// An enumerator with another habit of discovery.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DiscoveringEnumerator<H> {
    right: RangeEnumerator,
    habit: PhantomData<H>,
}

impl<H: DiscoveryHabit> From<RangeEnumerator> for DiscoveringEnumerator<H> {
    fn from(mut right: RangeEnumerator) -> Self {
        H::begin(&mut right);
        Self { right, habit: PhantomData }
    }
}

impl<H: DiscoveryHabit> SplitEnumerator for DiscoveringEnumerator<H> {
    type Split = RangeSplit;
    type Extra = u32;

    fn start(&mut self, context: Context<'_>) -> Answer {
        self.right.start(context)
    }

    fn handle_split_request(&mut self, subtask: SubtaskIndex, context: Context<'_>) -> Answer {
        self.right.handle_split_request(subtask, context)
    }

    fn add_splits_back(
        &mut self,
        splits: Vec<RangeSplit>,
        subtask: SubtaskIndex,
        context: Context<'_>,
    ) -> Answer {
        self.right.add_splits_back(splits, subtask, context)
    }

    fn add_reader(
        &mut self,
        subtask: SubtaskIndex,
        reported: Vec<RangeSplit>,
        context: Context<'_>,
    ) -> Answer {
        self.right.add_reader(subtask, reported, context)
    }

    fn snapshot_state(
        &mut self,
        checkpoint: CheckpointId,
        context: &mut dyn SplitEnumeratorContext<RangeSplit>,
    ) -> Result<(Vec<RangeSplit>, u32), UserError> {
        self.right.snapshot_state(checkpoint, context)
    }

    fn run_async(&mut self, call: AsyncCallName) -> Found {
        H::run(&mut self.right, call)
    }

    fn handle_async_result(&mut self, call: AsyncCallName, result: Found, context: Context<'_>) -> Answer {
        H::handle(&mut self.right, call, result, context)
    }
}

/// It learns that discovery is over only from a result that brings splits: restored behind the last of them, never.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReturnsEarly;

impl DiscoveryHabit for ReturnsEarly {
    fn begin(right: &mut RangeEnumerator) {
        let plan = &mut right.source.plan;
        if plan.discovery.is_some() && right.discovered == plan.split_count {
            plan.bounded = false;
        }
    }
}

/// It assigns new splits to whoever waits, also to readers that have failed since, and catches what the context throws
/// then.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ServesGoneReaders;

impl DiscoveryHabit for ServesGoneReaders {
    fn handle(
        right: &mut RangeEnumerator,
        call: AsyncCallName,
        result: Found,
        context: Context<'_>,
    ) -> Answer {
        let waiting = std::mem::take(&mut right.waiting);
        right.handle_async_result(call, result, context)?;
        for subtask in waiting {
            if let Err(error) = right.serve(subtask, context) {
                tracing::debug!(subtask = subtask.0, %error, "is not there");
            }
        }
        Ok(())
    }
}

/// It does not look where a result began.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TakesEveryResult;

impl DiscoveryHabit for TakesEveryResult {
    fn handle(
        right: &mut RangeEnumerator,
        call: AsyncCallName,
        result: Found,
        context: Context<'_>,
    ) -> Answer {
        if let Ok(Discovered { from, count }) = result.clone().and_then(|bytes| Discovered::decode(&bytes))
            && from < right.discovered
        {
            right.pending.extend(right.source.splits(from..from + count));
            return right.hand_out(context);
        }
        right.handle_async_result(call, result, context)
    }
}

/// Its worker moves the position on when it has looked, and the coordinator's thread takes the splits later.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MovesPosition;

impl DiscoveryHabit for MovesPosition {
    fn run(right: &mut RangeEnumerator, call: AsyncCallName) -> Found {
        let found = right.run_async(call)?;
        right.discovered += Discovered::decode(&found)?.count;
        Ok(found)
    }

    fn handle(
        right: &mut RangeEnumerator,
        call: AsyncCallName,
        result: Found,
        context: Context<'_>,
    ) -> Answer {
        let Ok(Discovered { from, count }) = result.clone().and_then(|bytes| Discovered::decode(&bytes))
        else {
            return right.handle_async_result(call, result, context);
        };
        let splits = right.source.splits(from..from + count);
        if splits.is_empty() {
            return Ok(());
        }
        context.splits_discovered(&splits);
        right.pending.extend(splits);
        right.hand_out(context)
    }
}
