//! Which channels of a task have delivered the barrier of the checkpoint that it aligns, and so must wait.
//!
//! Flink's `SingleCheckpointBarrierHandler` in its aligned mode. One checkpoint is aligned at a time: a barrier of a
//! newer one gives the older up, since a channel that delivers it will never deliver the older one. An abort notice
//! gives up everything up to its checkpoint. A channel that has ended owes no barrier.
//!
//! ```text
//! idle ─first barrier of N─▶ aligning N ─last open channel─▶ idle, N is aligned
//!                               │ ├─ barrier of M > N ─▶ aligning M, N is given up
//!                               │ └─ abort of N or later ─▶ idle
//! ```

use crate::defects::{Defect, DefectSet};
use crate::ids::CheckpointId;
use crate::message::CheckpointBarrier;

/// What a barrier or the end of a channel has led to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct BarrierVerdict {
    /// This checkpoint was being aligned and never will be.
    pub given_up: Option<CheckpointId>,
    /// Every open channel has delivered this barrier: the task's part of the checkpoint begins.
    pub aligned: Option<CheckpointBarrier>,
}

/// The checkpoint that is being aligned.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Aligning {
    barrier: CheckpointBarrier,
    /// By channel.
    delivered: Vec<bool>,
}

/// The alignment of one input gate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BarrierAlignment {
    /// Which channels have ended.
    ended: Vec<bool>,
    aligning: Option<Aligning>,
    /// Barriers up to here come too late.
    passed: Option<CheckpointId>,
    defects: DefectSet,
}

impl BarrierAlignment {
    /// For so many channels, none of which has delivered anything; barriers up to `restored` never come.
    #[must_use]
    pub fn new(channels: usize, restored: Option<CheckpointId>, defects: DefectSet) -> Self {
        debug_assert!(channels > 0, "a gate has a channel");
        Self { ended: vec![false; channels], aligning: None, passed: restored, defects }
    }

    /// Whether a channel must wait: it has delivered the barrier that others still owe.
    #[must_use]
    pub fn is_blocked(&self, channel: usize) -> bool {
        let delivered = self.aligning.as_ref().is_some_and(|aligning| aligning.delivered[channel]);
        delivered && !self.defects.has(Defect::BarrierNotAligned)
    }

    /// The checkpoint that is being aligned.
    #[must_use]
    pub fn aligning(&self) -> Option<CheckpointId> {
        self.aligning.as_ref().map(|aligning| aligning.barrier.checkpoint)
    }

    /// A channel delivers a barrier.
    pub fn barrier(&mut self, channel: usize, barrier: CheckpointBarrier) -> BarrierVerdict {
        debug_assert!(!self.ended[channel], "nothing comes behind a channel's end");
        let current = self.aligning();
        let is_late = Some(barrier.checkpoint) <= self.passed || Some(barrier.checkpoint) < current;
        if is_late {
            return BarrierVerdict::default();
        }
        let given_up = current.filter(|current| *current < barrier.checkpoint);
        if given_up.is_some() {
            self.aligning = None;
        }
        let channels = self.ended.len();
        let aligning =
            self.aligning.get_or_insert_with(|| Aligning { barrier, delivered: vec![false; channels] });
        debug_assert_eq!(aligning.barrier, barrier, "a checkpoint has one kind of barrier");
        aligning.delivered[channel] = true;
        BarrierVerdict { given_up, aligned: self.take_aligned() }
    }

    /// A channel has ended: what it still owed is owed no longer.
    pub fn channel_ended(&mut self, channel: usize) -> BarrierVerdict {
        debug_assert!(!self.ended[channel], "a channel ends once");
        debug_assert!(!self.is_blocked(channel), "a blocked channel waits with its end too");
        self.ended[channel] = !self.defects.has(Defect::EndedChannelOwesBarrier);
        BarrierVerdict { given_up: None, aligned: self.take_aligned() }
    }

    /// A checkpoint is aborted: neither it nor an older one is waited for. Answers whether that ends an alignment.
    pub fn aborted(&mut self, checkpoint: CheckpointId) -> bool {
        self.passed = self.passed.max(Some(checkpoint));
        let gives_up = self.aligning().is_some_and(|current| current <= checkpoint);
        if gives_up {
            self.aligning = None;
        }
        debug_assert!(self.aligning() > self.passed || self.aligning.is_none(), "what is aligned is newer");
        gives_up
    }

    fn take_aligned(&mut self) -> Option<CheckpointBarrier> {
        let aligning = self.aligning.as_ref()?;
        let delivered = aligning.delivered.iter().zip(&self.ended);
        if !delivered.into_iter().all(|(delivered, ended)| *delivered || *ended) {
            return None;
        }
        let barrier = aligning.barrier;
        self.aligning = None;
        self.passed = Some(barrier.checkpoint);
        Some(barrier)
    }
}
