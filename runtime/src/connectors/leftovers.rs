//! What earlier lives of a sink's writers have left behind in an outside system that has no fence between lives.
//!
//! Names tell lives apart, so a new life can look through what is there and end what nobody will commit: what an older life
//! began for this writer, or for one that the vertex has no more (FLINK-23854), and the restored checkpoint does not hold.
//! Only *older* lives are judged: a late zombie that looks through the leftovers must not touch its successor's work.

use crate::api::sink::WriterInitContext;
use crate::ids::{CheckpointId, Fence, SubtaskId, TransactionName, TransactionPart};
use std::fmt::Debug;
use std::hash::Hash;

/// The name of a writer's first transaction, with its life in it.
pub(super) fn first_transaction(context: &WriterInitContext) -> TransactionName {
    let number = context.restored.unwrap_or_default().next();
    let part = Some(TransactionPart { fence: context.fence, counter: 0 });
    debug_assert!(number.0 >= 1, "Flink counts checkpoints from 1");
    TransactionName { writer: context.subtask, number, part }
}

/// A life of a writer that comes after others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Successor {
    writer: SubtaskId,
    fence: Fence,
    parallelism: u32,
    /// The number of its first transaction.
    first: CheckpointId,
    keep: Vec<TransactionName>,
}

impl Successor {
    /// The life that this context describes; it keeps nothing yet.
    #[must_use]
    pub fn new(context: &WriterInitContext) -> Self {
        let WriterInitContext { subtask: writer, fence, parallelism, .. } = *context;
        debug_assert!(parallelism > 0, "a vertex has subtasks");
        let first = first_transaction(context).number;
        Self { writer, fence, parallelism, first, keep: Vec::new() }
    }

    /// The writer.
    #[must_use]
    pub const fn writer(&self) -> SubtaskId {
        self.writer
    }

    /// Which life of it.
    #[must_use]
    pub const fn fence(&self) -> Fence {
        self.fence
    }

    /// Learns of more that the restored checkpoint holds.
    pub fn keep(&mut self, keep: &[TransactionName]) {
        debug_assert!(
            keep.iter().all(|name| name.writer.vertex == self.writer.vertex),
            "a vertex keeps its own"
        );
        self.keep.extend_from_slice(keep);
    }

    /// Whether an older life began it.
    #[must_use]
    pub fn is_older(&self, name: TransactionName) -> bool {
        name.part.is_some_and(|part| part.fence < self.fence)
    }

    /// Whether this life answers for it, and nobody will commit it.
    #[must_use]
    pub fn is_lost(&self, name: TransactionName) -> bool {
        let is_mine = name.writer.stand_in(self.parallelism) == self.writer;
        is_mine && self.is_older(name) && !self.keep.contains(&name)
    }
}

/// How a life picks what to end from what it found.
pub trait Leftovers: Clone + Copy + PartialEq + Eq + Hash + Debug + Default + Send + Sync + 'static {
    /// Whether it ends this one.
    fn ends(self, successor: &Successor, name: TransactionName) -> bool;
}

/// It ends what is lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct WhatIsLost;

impl Leftovers for WhatIsLost {
    fn ends(self, successor: &Successor, name: TransactionName) -> bool {
        successor.is_lost(name)
    }
}

/// It ends nothing. A planted defect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Nothing;

impl Leftovers for Nothing {
    fn ends(self, _successor: &Successor, _name: TransactionName) -> bool {
        false
    }
}

/// It ends what is lost of those numbers only that it will use next itself: what an older life went on with after that
/// stays. A planted defect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct WhatIsNext;

impl Leftovers for WhatIsNext {
    fn ends(self, successor: &Successor, name: TransactionName) -> bool {
        successor.is_lost(name) && name.number <= successor.first
    }
}

/// It ends whatever an older life began, other writers' work and what is kept included. A planted defect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct WholePrefix;

impl Leftovers for WholePrefix {
    fn ends(self, successor: &Successor, name: TransactionName) -> bool {
        successor.is_older(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AttemptNumber, LeaderEpoch, OperatorUid, SubtaskIndex};

    fn fence(attempt: u32) -> Fence {
        Fence { leader_epoch: LeaderEpoch(1), attempt: AttemptNumber(attempt) }
    }

    fn name(subtask: u32, number: u64, attempt: u32) -> TransactionName {
        let writer = SubtaskId { vertex: OperatorUid(0), subtask: SubtaskIndex(subtask) };
        let part = Some(TransactionPart { fence: fence(attempt), counter: 0 });
        TransactionName { writer, number: CheckpointId(number), part }
    }

    fn second_life(parallelism: u32) -> Successor {
        let writer = name(0, 1, 1).writer;
        Successor { writer, fence: fence(1), parallelism, first: CheckpointId(4), keep: vec![name(0, 3, 0)] }
    }

    #[test]
    fn lost_is_what_an_older_life_of_a_writer_it_answers_for_left_and_no_checkpoint_holds() {
        let successor = second_life(2);
        assert!(successor.is_lost(name(0, 4, 0)));
        assert!(successor.is_lost(name(2, 4, 0)), "a writer that is gone");
        for kept in [name(0, 3, 0), name(0, 4, 1), name(0, 4, 2), name(1, 4, 0), name(3, 4, 0)] {
            assert!(!successor.is_lost(kept), "{kept}");
        }
    }

    #[test]
    fn the_defective_ones_end_too_little_and_too_much() {
        let successor = second_life(2);
        assert!(!Nothing.ends(&successor, name(0, 4, 0)));
        assert!(WholePrefix.ends(&successor, name(1, 4, 0)) && WholePrefix.ends(&successor, name(0, 3, 0)));
        assert!(!WholePrefix.ends(&successor, name(0, 4, 1)));
        assert!(WhatIsNext.ends(&successor, name(0, 4, 0)) && !WhatIsNext.ends(&successor, name(0, 5, 0)));
    }
}
