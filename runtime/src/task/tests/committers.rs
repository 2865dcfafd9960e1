//! The committers' operators by themselves, around a committer that signals at once.

use crate::actor::Outbox;
use crate::api::sink::*;
use crate::defects::{Defect, DefectSet};
use crate::ids::*;
use crate::records::RecordRanges;
use crate::task::*;
use std::hash::Hasher;

/// Commits everything.
#[derive(Clone, Debug)]
struct Obedient;

impl CommitterPort for Obedient {
    fn commit(
        &mut self,
        _payload: &mut CommittablePayload,
        _retries: &mut u32,
        _io: &mut SinkIo,
    ) -> Result<Option<CommitSignal>, CommitError> {
        Ok(Some(CommitSignal::Committed))
    }

    fn answered(
        &mut self,
        _payload: &mut CommittablePayload,
        _retries: &mut u32,
        _answer: StoreAnswer,
        _io: &mut SinkIo,
    ) -> Result<Option<CommitSignal>, SinkStateError> {
        unreachable!("the store is never asked")
    }

    fn records_held(&self, _payload: &CommittablePayload) -> Result<RecordRanges, SinkStateError> {
        Ok(RecordRanges::new())
    }

    fn clone_box(&self) -> Box<dyn CommitterPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, _hasher: &mut dyn Hasher) {}
}

/// Does something in a turn, and answers what went downstream in it.
fn turn(act: impl FnOnce(&mut CommitTurn<'_>)) -> Vec<CommittableMessage> {
    let mut store = StoreClient::new(ExecutionAttemptId::default(), LeaderEpoch(1), 1);
    let (mut outbox, mut emitted) = (Outbox::default(), Vec::new());
    let mut emit = |message| emitted.push(message);
    act(&mut CommitTurn { store: &mut store, outbox: &mut outbox, emit: &mut emit });
    emitted
}

fn settled(progress: Result<CommitProgress, TaskError>) {
    assert_eq!(progress, Ok(CommitProgress::Settled), "the committer signals at once");
}

fn summary(subtask: u32, checkpoint: u64, committables: u32) -> CommittableMessage {
    CommittableMessage::Summary(CommittableSummary {
        subtask: SubtaskIndex(subtask),
        number_of_subtasks: 2,
        checkpoint: CheckpointId(checkpoint),
        committables,
        failed: 0,
    })
}

fn committable(subtask: u32, checkpoint: u64) -> CommittableMessage {
    let payload = CommittablePayload { transaction: TransactionName::default(), version: 1, bytes: vec![1] };
    CommittableMessage::Committable(CommittableWithLineage {
        committable: PreparedCommittable { payload, records: RecordRanges::new() },
        checkpoint: CheckpointId(checkpoint),
        subtask: SubtaskIndex(subtask),
    })
}

/// The checkpoints that a global committer still holds after it took these messages and heard of this completion.
fn global(
    on_input: bool,
    defects: DefectSet,
    messages: &[CommittableMessage],
    complete: Option<u64>,
) -> Vec<u64> {
    let mut operator = GlobalCommitterOperator::new(Box::new(Obedient), 10, on_input, defects);
    for message in messages.iter().cloned() {
        turn(|turn| settled(operator.process(message, turn)));
    }
    if let Some(checkpoint) = complete {
        turn(|turn| settled(operator.notify_checkpoint_complete(CheckpointId(checkpoint), turn)));
    }
    operator.collector().checkpoints().iter().map(|manager| manager.checkpoint().0).collect()
}

#[test]
fn fact_81_flinks_global_committer_waits_for_subtasks_that_have_ended_and_ours_does_not() {
    let messages =
        [summary(0, 1, 1), committable(0, 1), summary(0, 2, 0), summary(1, 2, 0), summary(0, 9, 0)];
    let flink = DefectSet::NONE.with(Defect::GlobalCommitterWaitsForAll);
    assert_eq!(global(false, flink, &messages, Some(2)), [1, 2, 9]);
    assert_eq!(global(false, DefectSet::NONE, &messages, Some(2)), [9]);
}

#[test]
fn fact_81_on_input_a_checkpoint_is_committed_with_the_last_of_its_committables() {
    let messages = [summary(0, 1, 1), summary(1, 1, 1), committable(0, 1), committable(1, 1)];
    assert_eq!(global(true, DefectSet::NONE, &messages[..3], Some(1)), [1]);
    assert_eq!(global(true, DefectSet::NONE, &messages, None), [0; 0]);
}

#[test]
fn fact_67_what_is_committed_is_told_under_the_committers_own_name_and_an_empty_summary_too() {
    let emission = Some(Emission { subtask: SubtaskIndex(4), parallelism: 5 });
    let settings = CommitterSettings { retries_max: 0, emission, commits_at_end: false };
    let mut operator = CommitterOperator::new(Box::new(Obedient), settings, DefectSet::NONE);
    for message in [summary(0, 1, 1), committable(0, 1), summary(1, 2, 0)] {
        operator.process(message).unwrap();
    }
    assert_eq!(turn(|turn| settled(operator.end_input(turn))), [], "a checkpoint follows (FACT 79)");
    let told = turn(|turn| settled(operator.notify_checkpoint_complete(CheckpointId(2), turn)));
    // Of five committers no more than two hear of a checkpoint that two writers announced.
    assert_eq!(told, [summary(4, 1, 1), committable(4, 1), summary(4, 2, 0)]);
}

#[test]
fn fact_75_several_elements_of_state_are_merged_and_what_is_newer_is_kept() {
    let settings = CommitterSettings { retries_max: 0, emission: None, commits_at_end: false };
    let operator = || CommitterOperator::new(Box::new(Obedient), settings, DefectSet::NONE);
    let mut restored = operator();
    for subtask in 0..2 {
        let mut old = operator();
        let messages = [
            summary(subtask, 3, 1),
            committable(subtask, 3),
            summary(subtask, 4, 1),
            committable(subtask, 4),
        ];
        messages.into_iter().for_each(|message| old.process(message).unwrap());
        restored.restore(&old.snapshot_state()).unwrap();
    }
    assert_eq!(restored.transactions().len(), 4);
    turn(|turn| settled(restored.recommit(CheckpointId(3), turn)));
    assert_eq!(restored.transactions().len(), 2);
}
