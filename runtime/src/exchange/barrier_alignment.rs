//! Which channels of a task have delivered the barrier of the checkpoint that it aligns, and so must wait.
//!
//! Flink's `SingleCheckpointBarrierHandler`, aligned and unaligned. One checkpoint is aligned at a time: a barrier of a
//! newer one gives the older up, since a channel that delivers it will never deliver the older one. An abort notice
//! gives up everything up to its checkpoint. A channel that has ended owes no barrier. A barrier that overtakes buffers
//! blocks no channel, and the task's part begins with the first of them instead of the last.
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
    /// The task's part of the checkpoint begins: the first channel has delivered this barrier, if it overtakes
    /// buffers, and else every open channel has.
    pub begins: Option<CheckpointBarrier>,
    /// Every open channel has delivered this barrier: nothing more of any channel belongs to its checkpoint.
    pub aligned: Option<CheckpointBarrier>,
}

/// The checkpoint that is being aligned.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Aligning {
    barrier: CheckpointBarrier,
    /// By channel.
    delivered: Vec<bool>,
}

impl Aligning {
    fn is_complete(&self, ended: &[bool]) -> bool {
        self.delivered.iter().zip(ended).all(|(delivered, ended)| *delivered || *ended)
    }
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
        let waits = |aligning: &Aligning| aligning.delivered[channel] && !aligning.barrier.unaligned;
        self.aligning.as_ref().is_some_and(waits) && !self.defects.has(Defect::BarrierNotAligned)
    }

    /// Whether what a channel hands over now belongs to the state of a checkpoint that has begun: its barrier, which
    /// overtakes buffers, is still to come.
    #[must_use]
    pub fn is_captured(&self, channel: usize) -> bool {
        let owes = |aligning: &Aligning| !aligning.delivered[channel] && aligning.barrier.unaligned;
        self.aligning.as_ref().is_some_and(owes)
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
        let is_first = self.aligning.is_none();
        let aligning =
            self.aligning.get_or_insert_with(|| Aligning { barrier, delivered: vec![false; channels] });
        debug_assert_eq!(aligning.barrier, barrier, "a checkpoint has one kind of barrier");
        aligning.delivered[channel] = true;
        let verdict = self.settle();
        let begins = if barrier.unaligned { is_first.then_some(barrier) } else { verdict.begins };
        BarrierVerdict { given_up, begins, ..verdict }
    }

    /// A channel has ended: what it still owed is owed no longer.
    pub fn channel_ended(&mut self, channel: usize) -> BarrierVerdict {
        debug_assert!(!self.ended[channel], "a channel ends once");
        debug_assert!(!self.is_blocked(channel), "a blocked channel waits with its end too");
        self.ended[channel] = !self.defects.has(Defect::EndedChannelOwesBarrier);
        self.settle()
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

    /// Ends the alignment if no channel owes its barrier any more. One that overtakes buffers has begun before.
    fn settle(&mut self) -> BarrierVerdict {
        let Some(aligning) = self.aligning.take_if(|aligning| aligning.is_complete(&self.ended)) else {
            return BarrierVerdict::default();
        };
        let barrier = aligning.barrier;
        self.passed = Some(barrier.checkpoint);
        let begins = (!barrier.unaligned).then_some(barrier);
        BarrierVerdict { given_up: None, begins, aligned: Some(barrier) }
    }
}
