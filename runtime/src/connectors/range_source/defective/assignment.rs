//! Enumerators that are wrong about who gets a split, or about what comes back.

use super::super::{RangeEnumerator, RangeSplit};
use super::enumerator::{Answer, Context, EnumeratorHabit, Found, Snapshot};
use super::overheard::{Assigned, Overheard};
use crate::api::source::{AsyncCall, AsyncCallName, SplitEnumerator};
use crate::config::NANOS_PER_MILLI;
use crate::ids::{CheckpointId, SubtaskIndex};
use std::collections::{BTreeMap, VecDeque};

/// Restored, it plans its splits a second time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PlansAgain;

impl EnumeratorHabit for PlansAgain {
    fn start(&mut self, right: &mut RangeEnumerator, context: Context<'_>) -> Answer {
        if right.discovered > 0 {
            let held: Vec<_> = right.pending.iter().map(|split| split.at.split).collect();
            let again = right.source.splits(0..right.discovered).into_iter();
            right.pending.extend(again.filter(|split| !held.contains(&split.at.split)));
        }
        right.start(context)
    }
}

/// It hands splits out in the order of a hash whose key differs from process to process and from call to call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct LeaksOrder;

#[allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this is the planted leak that the comparison of two runs has to find"
)]
fn leak_order(pending: &mut VecDeque<RangeSplit>) {
    use std::hash::BuildHasher;
    let seeded = std::hash::RandomState::new();
    pending.make_contiguous().sort_by_key(|split| seeded.hash_one(split));
}

impl EnumeratorHabit for LeaksOrder {
    fn handle_split_request(
        &mut self,
        right: &mut RangeEnumerator,
        subtask: SubtaskIndex,
        context: Context<'_>,
    ) -> Answer {
        leak_order(&mut right.pending);
        right.handle_split_request(subtask, context)
    }

    fn add_reader(
        &mut self,
        right: &mut RangeEnumerator,
        subtask: SubtaskIndex,
        reported: Vec<RangeSplit>,
        context: Context<'_>,
    ) -> Answer {
        leak_order(&mut right.pending);
        right.add_reader(subtask, reported, context)
    }
}

/// What comes back goes into a list of its own, which a snapshot knows of and nobody else.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ShelvesReturned(Vec<RangeSplit>);

impl EnumeratorHabit for ShelvesReturned {
    fn add_splits_back(
        &mut self,
        _right: &mut RangeEnumerator,
        splits: Vec<RangeSplit>,
        _subtask: SubtaskIndex,
        _context: Context<'_>,
    ) -> Answer {
        self.0.extend(splits);
        Ok(())
    }

    fn snapshot_state(
        &mut self,
        right: &mut RangeEnumerator,
        checkpoint: CheckpointId,
        context: Context<'_>,
    ) -> Snapshot {
        let (mut pending, discovered) = right.snapshot_state(checkpoint, context)?;
        pending.extend(&self.0);
        Ok((pending, discovered))
    }
}

/// When a reader asks and nothing is left, it gives that reader, once, a split that another one reads, and revokes
/// nothing: both have it from then on.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct MovesUnrevoked {
    assigned: Assigned,
    has_moved: bool,
}

impl MovesUnrevoked {
    fn overhear<'a>(&'a mut self, context: Context<'a>) -> Overheard<'a> {
        Overheard { context, assigned: &mut self.assigned, signals_assigned_only: false }
    }
}

impl EnumeratorHabit for MovesUnrevoked {
    fn handle_split_request(
        &mut self,
        right: &mut RangeEnumerator,
        subtask: SubtaskIndex,
        context: Context<'_>,
    ) -> Answer {
        let of_another = self.assigned.values().find(|(owner, _)| *owner != subtask);
        if let Some((_, split)) = of_another.copied()
            && right.pending.is_empty()
            && !std::mem::replace(&mut self.has_moved, true)
        {
            return context.assign_splits(vec![(subtask, vec![split])]);
        }
        right.handle_split_request(subtask, &mut self.overhear(context))
    }
}

/// 'No more splits' goes out with assignments: whoever never got a split is never told.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TellsAssignedOnly(Assigned);

impl TellsAssignedOnly {
    fn overhear<'a>(&'a mut self, context: Context<'a>) -> Overheard<'a> {
        Overheard { context, assigned: &mut self.0, signals_assigned_only: true }
    }
}

impl EnumeratorHabit for TellsAssignedOnly {
    fn handle_split_request(
        &mut self,
        right: &mut RangeEnumerator,
        subtask: SubtaskIndex,
        context: Context<'_>,
    ) -> Answer {
        right.handle_split_request(subtask, &mut self.overhear(context))
    }

    fn add_reader(
        &mut self,
        right: &mut RangeEnumerator,
        subtask: SubtaskIndex,
        reported: Vec<RangeSplit>,
        context: Context<'_>,
    ) -> Answer {
        right.add_reader(subtask, reported, &mut self.overhear(context))
    }

    fn handle_async_result(
        &mut self,
        right: &mut RangeEnumerator,
        call: AsyncCallName,
        result: Found,
        context: Context<'_>,
    ) -> Answer {
        right.handle_async_result(call, result, &mut self.overhear(context))
    }
}

/// Of what is reported to it, it keeps the names; where a split is read from is worked out anew.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct KeepsNamesOnly;

impl EnumeratorHabit for KeepsNamesOnly {
    fn add_reader(
        &mut self,
        right: &mut RangeEnumerator,
        subtask: SubtaskIndex,
        reported: Vec<RangeSplit>,
        context: Context<'_>,
    ) -> Answer {
        let names = reported.iter().map(|split| split.at.split.index);
        let from_the_start = names.flat_map(|index| right.source.splits(index..index + 1)).collect();
        right.add_reader(subtask, from_the_start, context)
    }
}

/// How long reports are kept.
const KEPT_NS: u64 = 20 * NANOS_PER_MILLI;
/// The end of that time.
const REASSIGN: AsyncCallName = AsyncCallName(1);

/// What restored readers report is kept for a while before it is assigned anew, and no snapshot knows of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ForgetsReports(BTreeMap<SubtaskIndex, Vec<RangeSplit>>);

impl EnumeratorHabit for ForgetsReports {
    fn add_reader(
        &mut self,
        right: &mut RangeEnumerator,
        subtask: SubtaskIndex,
        reported: Vec<RangeSplit>,
        context: Context<'_>,
    ) -> Answer {
        if !reported.is_empty() {
            self.0.insert(subtask, reported);
            context.call_async(AsyncCall { name: REASSIGN, initial_delay_ns: KEPT_NS, period_ns: None });
        }
        right.add_reader(subtask, Vec::new(), context)
    }

    fn run_async(&mut self, right: &mut RangeEnumerator, call: AsyncCallName) -> Found {
        if call == REASSIGN { Ok(Vec::new()) } else { right.run_async(call) }
    }

    fn handle_async_result(
        &mut self,
        right: &mut RangeEnumerator,
        call: AsyncCallName,
        result: Found,
        context: Context<'_>,
    ) -> Answer {
        if call != REASSIGN {
            return right.handle_async_result(call, result, context);
        }
        // Who is not there reports again.
        let registered = context.registered_readers();
        self.0.retain(|subtask, _| registered.contains(subtask));
        context.assign_splits(std::mem::take(&mut self.0).into_iter().collect())
    }
}
