//! One output per split, each with its own event time: a split that lags holds the watermark of them all back.
//!
//! Flink's `WatermarkOutputMultiplexer` with monotonous timestamps. Refused: one watermark for the reader, which would
//! run ahead of a slow split and make its records late.

use crate::ids::SplitId;

/// A split's event time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Output {
    split: SplitId,
    event_time_ms: Option<u64>,
    idle: bool,
}

/// The outputs of the splits that are being read.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SplitOutputs {
    outputs: Vec<Output>,
    /// The highest combined watermark so far: it never goes back.
    reached_ms: Option<u64>,
}

impl SplitOutputs {
    /// Makes the output of a split; nothing when it has one.
    pub fn create(&mut self, split: SplitId) {
        if self.find(split).is_none() {
            self.outputs.push(Output { split, event_time_ms: None, idle: false });
        }
    }

    /// Drops the output of a split at its end: it holds nobody back any more.
    pub fn release(&mut self, split: SplitId) {
        self.outputs.retain(|output| output.split != split);
        debug_assert!(self.find(split).is_none(), "a split has one output");
    }

    /// A record of this event time, in milliseconds, went through the output; it is made when there is none.
    pub fn emitted(&mut self, split: SplitId, event_time_ms: u64) {
        self.create(split);
        let output = self.find(split).expect("it was just made");
        output.event_time_ms = output.event_time_ms.max(Some(event_time_ms));
        output.idle = false;
    }

    /// The split has no records for now and holds nobody back meanwhile.
    pub fn mark_idle(&mut self, split: SplitId) {
        if let Some(output) = self.find(split) {
            output.idle = true;
        }
    }

    /// Whether every output is idle, so that the whole reader holds nobody back.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.outputs.iter().all(|output| output.idle)
    }

    /// Whether there is no output at all.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// The splits that have an output, in the order in which they came.
    pub fn splits(&self) -> impl Iterator<Item = SplitId> + '_ {
        self.outputs.iter().map(|output| output.split)
    }

    /// The watermark in milliseconds: the least event time of the outputs that are not idle, and never less than
    /// before; `None` until each of them has had a record.
    pub fn watermark_ms(&mut self) -> Option<u64> {
        let active = self.outputs.iter().filter(|output| !output.idle);
        let combined = active.map(|output| output.event_time_ms).min().flatten();
        self.reached_ms = self.reached_ms.max(combined);
        self.reached_ms
    }

    fn find(&mut self, split: SplitId) -> Option<&mut Output> {
        self.outputs.iter_mut().find(|output| output.split == split)
    }
}
