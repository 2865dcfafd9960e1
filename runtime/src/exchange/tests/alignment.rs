//! What Flink's tests of aligned barriers assert, and every order of barriers, aborts and ends against a plain model.

use crate::defects::{Defect, DefectSet};
use crate::exchange::{BarrierAlignment, BarrierVerdict};
use crate::ids::CheckpointId;
use crate::message::CheckpointBarrier;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn barrier(checkpoint: u64) -> CheckpointBarrier {
    CheckpointBarrier { checkpoint: CheckpointId(checkpoint), stop: None, unaligned: false }
}

fn aligned(checkpoint: u64) -> BarrierVerdict {
    BarrierVerdict { begins: Some(barrier(checkpoint)), aligned: Some(barrier(checkpoint)), ..NOTHING }
}

const NOTHING: BarrierVerdict = BarrierVerdict { given_up: None, begins: None, aligned: None };

fn of(channels: usize) -> BarrierAlignment {
    BarrierAlignment::new(channels, None, DefectSet::NONE)
}

#[test]
fn a_channel_waits_until_every_other_has_delivered_the_barrier() {
    let mut alignment = of(3);
    assert_eq!(alignment.barrier(1, barrier(1)), NOTHING);
    assert_eq!(alignment.barrier(0, barrier(1)), NOTHING);
    assert!(alignment.is_blocked(0) && alignment.is_blocked(1) && !alignment.is_blocked(2));
    assert_eq!(alignment.barrier(2, barrier(1)), aligned(1));
    assert!((0..3).all(|channel| !alignment.is_blocked(channel)));
    assert_eq!(alignment.aligning(), None);
}

#[test]
fn one_channel_is_aligned_at_once() {
    let mut alignment = of(1);
    assert_eq!(alignment.barrier(0, barrier(4)), aligned(4));
    assert_eq!(alignment.barrier(0, barrier(5)), aligned(5));
}

#[test]
fn a_newer_barrier_gives_the_older_checkpoint_up_and_its_late_barriers_are_dropped() {
    let mut alignment = of(2);
    assert_eq!(alignment.barrier(0, barrier(1)), NOTHING);
    let verdict = alignment.barrier(1, barrier(2));
    assert_eq!(verdict, BarrierVerdict { given_up: Some(CheckpointId(1)), ..NOTHING });
    assert!(!alignment.is_blocked(0) && alignment.is_blocked(1), "the other channel is read on");
    assert_eq!(alignment.barrier(0, barrier(2)), aligned(2));
    assert_eq!(alignment.barrier(1, barrier(1)), NOTHING, "too late");
    assert!(!alignment.is_blocked(1));
}

#[test]
fn an_abort_frees_the_channels_and_drops_what_still_comes() {
    let mut alignment = of(2);
    alignment.barrier(0, barrier(3));
    assert!(alignment.aborted(CheckpointId(3)));
    assert!(!alignment.is_blocked(0));
    assert_eq!(alignment.barrier(1, barrier(3)), NOTHING);
    assert!(!alignment.is_blocked(1), "nobody waits for an aborted checkpoint");
    assert!(!alignment.aborted(CheckpointId(3)), "a notice that comes twice");
    alignment.barrier(0, barrier(4));
    assert!(!alignment.aborted(CheckpointId(3)), "an old notice does not touch a newer checkpoint");
    assert_eq!(alignment.barrier(1, barrier(4)), aligned(4));
}

#[test]
fn an_ended_channel_owes_no_barrier() {
    let mut alignment = of(3);
    assert_eq!(alignment.channel_ended(0), NOTHING);
    alignment.barrier(1, barrier(1));
    assert_eq!(alignment.channel_ended(2), aligned(1), "its end comes in place of its barrier");
    assert_eq!(alignment.barrier(1, barrier(2)), aligned(2), "the only one left");
}

#[test]
fn barriers_of_before_the_restored_checkpoint_are_dropped() {
    let mut alignment = BarrierAlignment::new(1, Some(CheckpointId(7)), DefectSet::NONE);
    assert_eq!(alignment.barrier(0, barrier(7)), NOTHING);
    assert_eq!(alignment.barrier(0, barrier(8)), aligned(8));
}

#[test]
fn the_planted_defects_read_on_and_wait_for_ever() {
    let mut alignment = BarrierAlignment::new(2, None, DefectSet::NONE.with(Defect::BarrierNotAligned));
    alignment.barrier(0, barrier(1));
    assert!(!alignment.is_blocked(0));
    let mut alignment = BarrierAlignment::new(2, None, DefectSet::NONE.with(Defect::EndedChannelOwesBarrier));
    alignment.barrier(0, barrier(1));
    assert_eq!(alignment.channel_ended(1), NOTHING);
}

/// One thing that happens to a gate.
#[derive(Clone, Copy, Debug)]
enum Happening {
    /// The next barrier of a channel, so many checkpoints further on.
    Barrier(usize, u64),
    Abort(u64),
    End(usize),
}

/// What each channel has delivered, and nothing else: a checkpoint is aligned when its last barrier or end comes and no
/// channel has gone further, unless it was aborted or a newer one has begun.
#[derive(Default)]
struct Model {
    delivered: Vec<BTreeSet<u64>>,
    ended: BTreeSet<usize>,
    /// Nothing up to here is aligned any more.
    passed: u64,
}

impl Model {
    fn is_complete(&self, checkpoint: u64) -> bool {
        let owed = |(index, delivered): (usize, &BTreeSet<u64>)| {
            !self.ended.contains(&index) && !delivered.contains(&checkpoint)
        };
        let begun = self.delivered.iter().any(|delivered| delivered.contains(&checkpoint));
        begun && checkpoint > self.passed && !self.delivered.iter().enumerate().any(owed)
    }

    fn newest_begun(&self) -> Option<u64> {
        let newest = self.delivered.iter().filter_map(|delivered| delivered.last().copied()).max();
        newest.filter(|newest| *newest > self.passed)
    }

    /// The checkpoint that is aligned by what has just happened.
    fn settle(&mut self) -> Option<u64> {
        let newest = self.newest_begun()?;
        let complete = self.is_complete(newest);
        if complete {
            self.passed = newest;
        }
        complete.then_some(newest)
    }
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = prop_oneof![
        8 => (0usize..3, 1u64..3).prop_map(|(channel, further)| Happening::Barrier(channel, further)),
        1 => (1u64..12).prop_map(Happening::Abort),
        1 => (0usize..3).prop_map(Happening::End),
    ];
    prop::collection::vec(one, 0..60)
}

proptest! {
    #[test]
    fn every_order_is_aligned_as_the_model_says(happenings in happenings(), unaligned in any::<bool>()) {
        let mut alignment = of(3);
        let mut model = Model { delivered: vec![BTreeSet::new(); 3], ..Model::default() };
        for happening in happenings {
            let begun_before = model.newest_begun();
            let verdict = match happening {
                // A blocked or ended channel delivers nothing.
                Happening::Barrier(channel, _) | Happening::End(channel)
                    if alignment.is_blocked(channel) || model.ended.contains(&channel) => continue,
                Happening::Barrier(channel, further) => {
                    let next = model.delivered[channel].last().copied().unwrap_or(0) + further;
                    let is_late = next <= model.passed || Some(next) < model.newest_begun();
                    if !is_late {
                        model.delivered[channel].insert(next);
                    }
                    alignment.barrier(channel, CheckpointBarrier { unaligned, ..barrier(next) })
                }
                Happening::Abort(checkpoint) => {
                    model.passed = model.passed.max(checkpoint);
                    alignment.aborted(CheckpointId(checkpoint));
                    NOTHING
                }
                Happening::End(channel) => {
                    model.ended.insert(channel);
                    alignment.channel_ended(channel)
                }
            };
            let first = model.newest_begun().filter(|newest| begun_before < Some(*newest));
            let settled = model.settle();
            prop_assert_eq!(verdict.aligned.map(|barrier| barrier.checkpoint.0), settled);
            let begins = if unaligned { first } else { settled };
            prop_assert_eq!(verdict.begins.map(|barrier| barrier.checkpoint.0), begins);
            let newest = model.newest_begun();
            prop_assert_eq!(alignment.aligning().map(|checkpoint| checkpoint.0), newest);
            for channel in (0..3).filter(|channel| !model.ended.contains(channel)) {
                let waits = newest.is_some_and(|newest| model.delivered[channel].contains(&newest));
                prop_assert_eq!(alignment.is_blocked(channel), waits && !unaligned);
                prop_assert_eq!(alignment.is_captured(channel), newest.is_some() && !waits && unaligned);
            }
        }
    }
}
