//! The measured sequences, and a model that keeps one flat list of assignments.

use super::*;
use crate::ids::SplitId;
use crate::records::SplitPosition;
use proptest::prelude::*;

fn split(index: u32) -> SplitPayload {
    let at = SplitPosition { split: SplitId { index, ..SplitId::default() }, position: 0, end: 10 };
    SplitPayload { at, version: 1, bytes: vec![index as u8] }
}

fn splits(indices: &[u32]) -> Vec<SplitPayload> {
    indices.iter().copied().map(split).collect()
}

fn taken(tracker: &mut SplitAssignmentTracker, subtask: u32, restored: Option<u64>) -> Vec<u32> {
    let taken =
        tracker.get_and_remove_uncheckpointed_assignment(SubtaskIndex(subtask), restored.map(CheckpointId));
    taken.iter().map(|split| split.at.split.index).collect()
}

fn assign(tracker: &mut SplitAssignmentTracker, subtask: u32, indices: &[u32]) {
    tracker.record_split_assignment(SubtaskIndex(subtask), &splits(indices));
}

#[test]
fn fact_1_an_equal_split_of_one_epoch_is_kept_once() {
    let mut tracker = SplitAssignmentTracker::new();
    assign(&mut tracker, 0, &[7, 3, 7]);
    assign(&mut tracker, 0, &[3, 5]);
    assert_eq!(taken(&mut tracker, 0, None), [7, 3, 5]);
}

#[test]
fn fact_2_the_same_checkpoint_twice_overwrites() {
    let mut tracker = SplitAssignmentTracker::new();
    assign(&mut tracker, 0, &[1]);
    tracker.on_checkpoint(CheckpointId(7));
    assign(&mut tracker, 0, &[2]);
    tracker.on_checkpoint(CheckpointId(7));
    assert_eq!(taken(&mut tracker, 0, None), [2]);
}

#[test]
fn fact_3_complete_drops_all_at_or_below_and_an_aborted_batch_waits_for_it() {
    let mut tracker = SplitAssignmentTracker::new();
    for checkpoint in 1..=3 {
        assign(&mut tracker, 0, &[checkpoint]);
        tracker.on_checkpoint(CheckpointId(u64::from(checkpoint)));
    }
    assign(&mut tracker, 0, &[4]);
    tracker.on_checkpoint_complete(CheckpointId(2));
    assert_eq!(tracker.len(), 2);
    assert_eq!(taken(&mut tracker, 0, Some(2)), [3, 4]);
}

#[test]
fn fact_4_given_back_in_order_once_and_not_collapsed_across_epochs() {
    let mut tracker = SplitAssignmentTracker::new();
    assign(&mut tracker, 0, &[1, 2]);
    tracker.on_checkpoint(CheckpointId(1));
    assign(&mut tracker, 0, &[1, 0]);
    tracker.on_checkpoint(CheckpointId(2));
    assign(&mut tracker, 0, &[1]);
    assert_eq!(taken(&mut tracker, 0, None), [1, 2, 1, 0, 1]);
    assert_eq!(taken(&mut tracker, 0, None), []);
}

#[test]
fn fact_5_other_subtasks_keep_theirs_and_the_emptied_checkpoint_stays() {
    let mut tracker = SplitAssignmentTracker::new();
    assign(&mut tracker, 0, &[1]);
    tracker.on_checkpoint(CheckpointId(1));
    assign(&mut tracker, 1, &[2]);
    assert_eq!(taken(&mut tracker, 0, None), [1]);
    assert_eq!(tracker.by_checkpoint, BTreeMap::from([(CheckpointId(1), Assignments::new())]));
    assert_eq!(taken(&mut tracker, 1, None), [2]);
}

#[test]
fn fact_6_what_a_complete_dropped_never_comes_back() {
    let mut tracker = SplitAssignmentTracker::new();
    assign(&mut tracker, 0, &[1]);
    tracker.on_checkpoint(CheckpointId(1));
    tracker.on_checkpoint_complete(CheckpointId(1));
    assign(&mut tracker, 0, &[2]);
    assert_eq!(taken(&mut tracker, 0, None), [2]);
}

#[derive(Clone, Debug)]
enum Step {
    Assign(u32, Vec<u32>),
    Checkpoint(u64),
    Complete(u64),
    Take(u32, Option<u64>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u32..3, prop::collection::vec(0u32..5, 0..4)).prop_map(|(subtask, splits)| Step::Assign(subtask, splits)),
        2 => (1u64..8).prop_map(Step::Checkpoint),
        1 => (0u64..8).prop_map(Step::Complete),
        2 => (0u32..3, prop::option::of(0u64..8)).prop_map(|(subtask, restored)| Step::Take(subtask, restored)),
    ]
}

proptest! {
    /// The model: one list of (epoch, subtask, split) in order of assignment; `None` is 'uncheckpointed', above all ids.
    #[test]
    fn agrees_with_one_flat_list(steps in prop::collection::vec(step(), 0..40)) {
        let mut tracker = SplitAssignmentTracker::new();
        let mut flat: Vec<(u64, u32, u32)> = Vec::new();
        for step in steps {
            match step {
                Step::Assign(subtask, indices) => {
                    assign(&mut tracker, subtask, &indices);
                    for index in indices {
                        if !flat.contains(&(u64::MAX, subtask, index)) {
                            flat.push((u64::MAX, subtask, index));
                        }
                    }
                }
                Step::Checkpoint(checkpoint) => {
                    tracker.on_checkpoint(CheckpointId(checkpoint));
                    flat.retain(|entry| entry.0 != checkpoint);
                    flat.iter_mut().filter(|entry| entry.0 == u64::MAX).for_each(|entry| entry.0 = checkpoint);
                }
                Step::Complete(checkpoint) => {
                    tracker.on_checkpoint_complete(CheckpointId(checkpoint));
                    flat.retain(|entry| entry.0 > checkpoint);
                }
                Step::Take(subtask, restored) => {
                    let later = |entry: &&(u64, u32, u32)| entry.1 == subtask && restored.is_none_or(|id| entry.0 > id);
                    let mut expected: Vec<_> = flat.iter().filter(later).copied().collect();
                    expected.sort_by_key(|entry| entry.0);
                    let expected: Vec<u32> = expected.iter().map(|entry| entry.2).collect();
                    prop_assert_eq!(taken(&mut tracker, subtask, restored), expected);
                    flat.retain(|entry| entry.1 != subtask || restored.is_some_and(|id| entry.0 <= id));
                }
            }
            prop_assert_eq!(tracker.len(), flat.len());
        }
    }
}

#[test]
fn fact_7_a_batch_jobs_state_is_what_is_uncheckpointed() {
    let mut tracker = SplitAssignmentTracker::new();
    assign(&mut tracker, 0, &[1]);
    tracker.on_checkpoint(CheckpointId(1));
    assign(&mut tracker, 1, &[3, 2]);
    let mut restored = SplitAssignmentTracker::new();
    restored.restore_state(&tracker.snapshot_state()).expect("its own bytes");
    assert_eq!(restored.by_checkpoint().len(), 0);
    assert_eq!(restored.uncheckpointed(), tracker.uncheckpointed());
    assert!(restored.restore_state(&[9]).is_err());
    assert_eq!(taken(&mut restored, 1, None), [3, 2]);
}
