//! A context that notes what an enumerator assigns.

use super::super::RangeSplit;
use super::enumerator::{Answer, Context};
use crate::api::source::{AsyncCall, AsyncCallName, SplitEnumeratorContext};
use crate::ids::{SplitId, SubtaskIndex};
use std::collections::BTreeMap;

/// Who was assigned which split last, as it was then.
pub(super) type Assigned = BTreeMap<SplitId, (SubtaskIndex, RangeSplit)>;

/// See the module.
pub(super) struct Overheard<'a> {
    pub(super) context: Context<'a>,
    pub(super) assigned: &'a mut Assigned,
    /// Whether 'no more splits' reaches those only that were ever assigned one.
    pub(super) signals_assigned_only: bool,
}

impl SplitEnumeratorContext<RangeSplit> for Overheard<'_> {
    fn current_parallelism(&self) -> u32 {
        self.context.current_parallelism()
    }

    fn registered_readers(&self) -> Vec<SubtaskIndex> {
        self.context.registered_readers()
    }

    fn splits_discovered(&mut self, splits: &[RangeSplit]) {
        self.context.splits_discovered(splits);
    }

    fn assign_splits(&mut self, assignment: Vec<(SubtaskIndex, Vec<RangeSplit>)>) -> Answer {
        for (subtask, splits) in &assignment {
            self.assigned.extend(splits.iter().map(|split| (split.at.split, (*subtask, *split))));
        }
        self.context.assign_splits(assignment)
    }

    fn signal_no_more_splits(&mut self, subtask: SubtaskIndex) -> Answer {
        let was_assigned = self.assigned.values().any(|(owner, _)| *owner == subtask);
        if self.signals_assigned_only && !was_assigned {
            return Ok(());
        }
        self.context.signal_no_more_splits(subtask)
    }

    fn send_event_to_source_reader(&mut self, subtask: SubtaskIndex, event: Vec<u8>) -> Answer {
        self.context.send_event_to_source_reader(subtask, event)
    }

    fn call_async(&mut self, call: AsyncCall) {
        self.context.call_async(call);
    }

    fn run_in_coordinator_thread(&mut self, call: AsyncCallName) {
        self.context.run_in_coordinator_thread(call);
    }
}
