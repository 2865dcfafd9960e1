//! The records of one transaction or committable, duplicates kept apart.

use splitrace_runtime::ids::SplitId;
use splitrace_runtime::records::{Record, RecordRanges, runs};

/// Records as layers of sets: a record that comes a second time lies in the second layer. An honest run has one layer;
/// an outside system that folded duplicates away would hide the very thing it is asked about.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Content(Vec<RecordRanges>);

impl Content {
    pub(super) fn of(records: &[Record]) -> Self {
        let mut content = Self::default();
        content.add(records);
        content
    }

    pub(super) fn add(&mut self, records: &[Record]) {
        for run in runs(records) {
            match self.0.first_mut() {
                // The usual cases, in one look: a run of which nothing is known.
                None => self.0.push([run].into_iter().collect()),
                Some(first) if first.first_overlap(run).is_none() => drop(first.insert(run)),
                _ => (run.start..run.end).for_each(|offset| self.add_record(run.split, offset)),
            }
        }
        debug_assert!(self.0.windows(2).all(|pair| pair[1].len() <= pair[0].len()), "layers shrink upwards");
    }

    /// Adds a record to the lowest layer that does not hold it.
    fn add_record(&mut self, split: SplitId, offset: u64) {
        let is_new = |layer: &mut RecordRanges| !layer.insert_record(split, offset);
        if !self.0.iter_mut().any(is_new) {
            let mut layer = RecordRanges::new();
            layer.insert_record(split, offset);
            self.0.push(layer);
        }
    }

    /// Which records there are.
    pub(super) fn distinct(&self) -> RecordRanges {
        self.0.first().cloned().unwrap_or_default()
    }

    /// The layers; at least one, so that an empty transaction becomes visible too.
    pub(super) fn into_layers(mut self) -> Vec<RecordRanges> {
        if self.0.is_empty() {
            self.0.push(RecordRanges::new());
        }
        self.0
    }
}
