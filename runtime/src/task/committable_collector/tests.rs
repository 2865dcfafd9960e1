//! The collector by fact number, and bytes and merges over generated messages.

use super::*;
use crate::api::sink::{CommitRequestState, CommitSignal, PreparedCommittable};
use crate::defects::Defect;
use crate::ids::{SubtaskIndex, TransactionName};
use crate::task::task_error::TaskError;
use proptest::prelude::*;

fn summary(subtask: u32, checkpoint: u64, committables: u32) -> CommittableMessage {
    CommittableMessage::Summary(CommittableSummary {
        subtask: SubtaskIndex(subtask),
        number_of_subtasks: 2,
        checkpoint: CheckpointId(checkpoint),
        committables,
        failed: 0,
    })
}

fn committable(subtask: u32, checkpoint: u64, name: u8) -> CommittableMessage {
    let transaction = TransactionName::default();
    let payload = CommittablePayload { transaction, version: 1, bytes: vec![name] };
    CommittableMessage::Committable(CommittableWithLineage {
        committable: PreparedCommittable { payload, records: RecordRanges::new() },
        checkpoint: CheckpointId(checkpoint),
        subtask: SubtaskIndex(subtask),
    })
}

fn collector(messages: impl IntoIterator<Item = CommittableMessage>) -> CommittableCollector {
    let mut collector = CommittableCollector::default();
    messages.into_iter().for_each(|message| collector.add_message(message).unwrap());
    collector
}

fn first(collector: &mut CommittableCollector) -> &mut CheckpointCommittableManager {
    collector.first_up_to(END_OF_INPUT).expect("there is one")
}

/// One call in which each pending request gets the signal of its name.
fn call(manager: &mut CheckpointCommittableManager, signal: impl Fn(u8) -> CommitSignal) {
    manager.pending_mut().for_each(|request| {
        let signal = signal(request.committable.payload.bytes[0]);
        request.retries += u32::from(signal == CommitSignal::RetryLater);
        request.signalled(&signal);
    });
}

fn states(collector: &CommittableCollector) -> Vec<CommitRequestState> {
    let requests = collector.checkpoints().iter().flat_map(CheckpointCommittableManager::requests);
    requests.map(|request| request.state).collect()
}

fn read(bytes: &[u8]) -> CommittableCollector {
    CommittableCollector::from_bytes(bytes, DefectSet::NONE, |_| Ok(RecordRanges::new())).unwrap()
}

#[test]
fn fact_64_each_breach_of_the_contract_has_its_error() {
    let (checkpoint, subtask) = (CheckpointId(1), SubtaskIndex(0));
    let mut collector = CommittableCollector::default();
    let unknown = CommittableError::UnknownCheckpoint { checkpoint, subtask };
    assert_eq!(collector.add_message(committable(0, 1, 7)), Err(unknown));
    collector.add_message(summary(0, 1, 1)).unwrap();
    let unknown = CommittableError::UnknownSubtask { checkpoint, subtask: SubtaskIndex(1) };
    assert_eq!(collector.add_message(committable(1, 1, 7)), Err(unknown));
    let duplicate = CommittableError::DuplicateSummary { checkpoint, subtask };
    assert_eq!(collector.add_message(summary(0, 1, 9)), Err(duplicate));
    collector.add_message(committable(0, 1, 7)).unwrap();
    let surplus = CommittableError::Surplus { checkpoint, subtask };
    assert_eq!(collector.add_message(committable(0, 1, 8)), Err(surplus));
    assert!(!first(&mut collector).has_globally_received_all(), "the other subtask has not announced");
}

#[test]
fn a_second_summary_of_the_end_of_input_is_added() {
    let end = END_OF_INPUT.0;
    let messages = [summary(0, end, 1), summary(0, end, 1), committable(0, end, 1), committable(0, end, 2)];
    let mut collector = collector(messages);
    assert_eq!(first(&mut collector).requests().count(), 2);
}

#[test]
fn fact_68_an_incomplete_batch_is_not_committed_and_a_missing_summary_is_not_missed() {
    let mut incomplete = collector([summary(0, 1, 2), committable(0, 1, 7)]);
    let error = CheckpointCommit::new(1, DefectSet::NONE).advance(first(&mut incomplete)).unwrap_err();
    assert!(matches!(error, TaskError::Committables(CommittableError::IncompleteBatch { received: 1, .. })));
    let mut lonely = collector([summary(0, 1, 1), committable(0, 1, 7)]);
    let step = CheckpointCommit::new(1, DefectSet::NONE).advance(first(&mut lonely));
    assert_eq!(step, Ok(CommitStep::Call { again: false }));
}

#[test]
fn fact_69_only_the_unfinished_are_asked_again_and_r_retries_are_r_plus_1_calls() {
    let mut collector = collector([summary(0, 1, 2), committable(0, 1, 0), committable(0, 1, 1)]);
    let mut commit = CheckpointCommit::new(2, DefectSet::NONE);
    for call_number in 0..3 {
        let manager = first(&mut collector);
        assert_eq!(commit.advance(manager), Ok(CommitStep::Call { again: call_number > 0 }));
        assert_eq!(manager.pending_mut().count(), if call_number == 0 { 2 } else { 1 });
        call(manager, |name| if name == 0 { CommitSignal::RetryLater } else { CommitSignal::Committed });
    }
    let error = commit.advance(first(&mut collector)).unwrap_err();
    assert!(matches!(error, TaskError::RetriesExhausted { count: 1, retries: 2, .. }));
    assert_eq!(states(&collector), [CommitRequestState::Retry, CommitRequestState::Committed]);
    let manager = first(&mut collector);
    assert_eq!(
        CheckpointCommit::new(0, DefectSet::NONE).advance(manager),
        Ok(CommitStep::Call { again: false })
    );
}

#[test]
fn a_call_ends_only_when_everything_is_answered() {
    let mut collector = collector([summary(0, 1, 1), committable(0, 1, 0)]);
    let mut commit = CheckpointCommit::new(0, DefectSet::NONE);
    commit.advance(first(&mut collector)).unwrap();
    first(&mut collector).pending_mut().for_each(|request| request.under_way = Some(CallId(4)));
    assert_eq!(commit.advance(first(&mut collector)), Ok(CommitStep::Wait));
    assert!(collector.awaiting(CallId(4)).is_some() && collector.awaiting(CallId(5)).is_none());
    collector.awaiting_mut(CallId(4)).unwrap().signalled(&CommitSignal::Committed);
    assert_eq!(commit.advance(first(&mut collector)), Ok(CommitStep::Done));
    assert_eq!(first(&mut collector).successful().count(), 1);
}

#[test]
fn fact_73_what_is_given_up_is_finished_and_not_told() {
    let mut collector = collector([summary(0, 1, 2), committable(0, 1, 0), committable(0, 1, 1)]);
    let mut commit = CheckpointCommit::new(0, DefectSet::NONE);
    commit.advance(first(&mut collector)).unwrap();
    let known = || CommitSignal::FailedWithKnownReason(String::new());
    call(first(&mut collector), |name| if name == 0 { known() } else { CommitSignal::AlreadyCommitted });
    assert_eq!(commit.advance(first(&mut collector)), Ok(CommitStep::Done));
    let manager = first(&mut collector);
    assert!(manager.is_finished() && manager.successful().count() == 1);
}

#[test]
fn a_defective_restore_loses_the_checkpoint_or_refuses_a_second_entry() {
    let bytes = collector([summary(0, 1, 1), committable(0, 1, 7)]).to_bytes(DefectSet::NONE);
    let restored = |bytes: &[u8], defect| {
        let defects = DefectSet::NONE.with(defect);
        CommittableCollector::from_bytes(bytes, defects, |_| Ok(RecordRanges::new()))
    };
    let mut lost = restored(&bytes, Defect::RestoredCheckpointLost).unwrap();
    assert_eq!(first(&mut lost).checkpoint(), END_OF_INPUT);
    let held = || decode_committer_state(&bytes).unwrap();
    let of_two = encode_committer_state(held().into_iter().chain(held()));
    assert_eq!(read(&of_two).pending().count(), 2);
    assert!(restored(&of_two, Defect::OneEntryPerCheckpoint).is_err());
    assert!(restored(&bytes, Defect::OneEntryPerCheckpoint).is_ok());
}

#[test]
fn a_defective_commit_ends_at_the_first_that_is_found_committed() {
    for (defects, expected) in [
        (DefectSet::NONE, CommitStep::Call { again: true }),
        (DefectSet::NONE.with(Defect::RecommitEndsAtFirstDone), CommitStep::Done),
    ] {
        let mut collector = collector([summary(0, 1, 2), committable(0, 1, 0), committable(0, 1, 1)]);
        let mut commit = CheckpointCommit::new(1, defects);
        commit.advance(first(&mut collector)).unwrap();
        let (before, later) = (CommitSignal::AlreadyCommitted, CommitSignal::RetryLater);
        call(first(&mut collector), |name| if name == 0 { before.clone() } else { later.clone() });
        assert_eq!(commit.advance(first(&mut collector)), Ok(expected));
    }
}

#[test]
fn fact_77_flink_forgets_what_was_announced() {
    let incomplete = collector([summary(0, 1, 2), committable(0, 1, 7)]);
    let is_begun = |defects| {
        CheckpointCommit::new(0, DefectSet::NONE)
            .advance(first(&mut read(&incomplete.to_bytes(defects))))
            .is_ok()
    };
    assert!(!is_begun(DefectSet::NONE));
    assert!(is_begun(DefectSet::NONE.with(Defect::AnnouncedNumberNotStored)));
}

#[test]
fn fact_76_what_is_held_of_one_subtask_twice_is_added() {
    let one = collector([summary(1, 7, 2), committable(1, 7, 3)]);
    let mut other = one.clone();
    other.merge(one.clone());
    let subtask = &other.checkpoints()[0].subtasks()[0];
    assert_eq!((subtask.announced(), subtask.requests().len()), (4, 2));
    let twice = [one.to_bytes(DefectSet::NONE), one.to_bytes(DefectSet::NONE)];
    let held = twice.iter().flat_map(|bytes| decode_committer_state(bytes).unwrap());
    assert_eq!(read(&encode_committer_state(held)), other);
}

proptest! {
    /// Whatever came, in whatever order, the bytes bring it back; and what was collected apart is, merged, what would have
    /// been collected together.
    #[test]
    fn bytes_and_merges_lose_nothing(counts in prop::collection::btree_map((0u32..4, 1u64..5), 0u32..4, 0..9)) {
        let messages = |keep: &dyn Fn(u32) -> bool| {
            let kept: Vec<_> = counts.iter().filter(|((subtask, _), _)| keep(*subtask)).collect();
            let one = |(subtask, checkpoint): (u32, u64), count: u32| {
                let committables = (0..count).map(move |name| committable(subtask, checkpoint, name as u8));
                std::iter::once(summary(subtask, checkpoint, count)).chain(committables)
            };
            collector(kept.into_iter().flat_map(|(key, count)| one(*key, *count)))
        };
        let whole = messages(&|_| true);
        prop_assert_eq!(&read(&whole.to_bytes(DefectSet::NONE)), &whole);
        let mut even = messages(&|subtask| subtask % 2 == 0);
        even.merge(messages(&|subtask| subtask % 2 == 1));
        prop_assert_eq!(even, whole);
    }
}
