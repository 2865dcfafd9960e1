//! Enumerators that are wrong about what a worker discovers: each has another look, or another way to take what came of it.

use super::super::RangeEnumerator;
use super::super::enumerator::discovery::Discovered;
use super::enumerator::{Answer, Context, EnumeratorHabit, Found};
use crate::api::source::{AsyncCallName, SplitEnumerator};
use crate::ids::SubtaskIndex;

/// It learns that discovery is over only from a result that brings splits: restored behind the last of them, never.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ReturnsEarly;

impl EnumeratorHabit for ReturnsEarly {
    fn begin(&mut self, right: &mut RangeEnumerator) {
        let plan = &mut right.source.plan;
        if plan.discovery.is_some() && right.discovered == plan.split_count {
            plan.bounded = false;
        }
    }
}

/// It assigns new splits to whoever waits, also to readers that have failed since, and catches what the context throws
/// then.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ServesGoneReaders;

impl EnumeratorHabit for ServesGoneReaders {
    fn handle_async_result(
        &mut self,
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TakesEveryResult;

impl EnumeratorHabit for TakesEveryResult {
    fn handle_async_result(
        &mut self,
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MovesPosition;

impl EnumeratorHabit for MovesPosition {
    fn run_async(&mut self, right: &mut RangeEnumerator, call: AsyncCallName) -> Found {
        let found = right.run_async(call)?;
        right.discovered += Discovered::decode(&found)?.count;
        Ok(found)
    }

    fn handle_async_result(
        &mut self,
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

/// A restored one has its plan in another order, and goes on at the position where it stood in the old one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ReordersPlan {
    is_restored: bool,
}

impl EnumeratorHabit for ReordersPlan {
    fn begin(&mut self, right: &mut RangeEnumerator) {
        self.is_restored = right.discovered > 0;
    }

    fn handle_async_result(
        &mut self,
        right: &mut RangeEnumerator,
        call: AsyncCallName,
        result: Found,
        context: Context<'_>,
    ) -> Answer {
        if let Ok(Discovered { from, count }) = result.clone().and_then(|bytes| Discovered::decode(&bytes))
            && self.is_restored
            && from == right.discovered
        {
            let mut plan = right.source.plan_splits();
            plan.reverse();
            right.discovered += count;
            let found = &plan[from as usize..right.discovered as usize];
            context.splits_discovered(found);
            right.pending.extend(found);
            return right.hand_out(context);
        }
        right.handle_async_result(call, result, context)
    }
}

/// Its splits come in two parts, those of the first look and those of all later ones. To whoever asks when the first part
/// is handed out it says that no split will come any more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct EndsWithFirstPart {
    /// The first split of the second part.
    second: Option<u32>,
}

impl EnumeratorHabit for EndsWithFirstPart {
    fn handle_split_request(
        &mut self,
        right: &mut RangeEnumerator,
        subtask: SubtaskIndex,
        context: Context<'_>,
    ) -> Answer {
        let next = right.pending.front().map_or(u32::MAX, |split| split.at.split.index);
        if self.second.is_some_and(|second| next >= second) {
            return context.signal_no_more_splits(subtask);
        }
        right.handle_split_request(subtask, context)
    }

    fn handle_async_result(
        &mut self,
        right: &mut RangeEnumerator,
        call: AsyncCallName,
        result: Found,
        context: Context<'_>,
    ) -> Answer {
        right.handle_async_result(call, result, context)?;
        if right.discovered > 0 {
            self.second.get_or_insert(right.discovered);
        }
        Ok(())
    }
}
