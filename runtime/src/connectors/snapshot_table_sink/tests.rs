//! What the committers make of answers.

use super::*;
use crate::api::sink::{CommitRequest, CommitSignal, Committer, SinkIo, StoreAnswer};
use crate::api::snapshots_io::SnapshotsAnswer;
use crate::ids::*;
use crate::message::StoreRequest;

fn file() -> TransactionName {
    let part = Some(TransactionPart { fence: Fence::default(), counter: 0 });
    TransactionName { writer: SubtaskId::default(), number: CheckpointId(3), part }
}

fn context() -> WriterInitContext {
    WriterInitContext {
        subtask: SubtaskId::default(),
        fence: Fence { attempt: AttemptNumber(1), ..Fence::default() },
        parallelism: 1,
        restored: None,
        write_buffer_records: 2,
        commit_script: None,
        commit_back_off_ns: 0,
    }
}

fn loaded(current: u64, added: &[TransactionName]) -> StoreAnswer {
    StoreAnswer::Snapshots(SnapshotsAnswer::Loaded { current, added: added.to_vec() })
}

/// What a committer asks or signals at each answer, after its first look.
fn dialogue(
    mut committer: impl Committer<Committable = NamedCommittable>,
    answers: &[StoreAnswer],
) -> Vec<String> {
    let records = [crate::records::OffsetRange { split: SplitId::default(), start: 0, end: 2 }];
    let committable =
        NamedCommittable { transaction: file(), records: records.into_iter().collect(), token: 4 };
    let mut request = CommitRequest::new(committable, 0);
    let mut io = SinkIo::default();
    committer.commit(&mut request, &mut io);
    let mut said = Vec::new();
    for answer in answers.iter().cloned().map(Some).chain([None]) {
        match io.next_request() {
            Some(StoreRequest::Snapshots(operation)) => said.push(operation.sentence()),
            Some(other) => panic!("a table format is asked in its own words: {other:?}"),
            None => said.push(format!("{:?}", request.signal())),
        }
        let Some(answer) = answer else { break };
        committer.answered(&mut request, answer, &mut io);
    }
    said
}

#[test]
fn a_commit_is_made_on_what_was_looked_at_and_a_conflict_is_looked_at_again() {
    let conflict = StoreAnswer::Snapshots(SnapshotsAnswer::Conflict);
    let answers = [loaded(6, &[]), conflict, loaded(7, &[]), StoreAnswer::Done { before: false }];
    let look = "load the snapshots behind 4";
    let add = |base: u64| format!("add {} to snapshot {base}", file());
    let said = dialogue(SnapshotTableCommitter, &answers);
    assert_eq!(said, [look, &add(6), look, &add(7), "Committed"]);
}

#[test]
fn a_file_that_a_summary_names_is_committed_before_and_the_defective_one_adds_it_again() {
    let answers = [loaded(6, &[file()])];
    assert_eq!(
        dialogue(SnapshotTableCommitter, &answers)[1],
        format!("{:?}", CommitSignal::AlreadyCommitted)
    );
    let careless = dialogue(committer_with::<Unchecked>(), &answers);
    assert_eq!(careless[1], format!("add {} to snapshot 6", file()));
}

fn committer_with<F: CommitterFlaw<SnapshotTableCommitter>>() -> impl Committer<Committable = NamedCommittable>
{
    WithCommitters::<_, F>::new(SnapshotTableSink).create_committer(&context())
}

#[test]
fn each_defective_look_takes_too_much_or_too_little_for_committed() {
    let renumbered = |number| TransactionName { number: CheckpointId(number), ..file() };
    let other_writer = |number| {
        let writer = SubtaskId { subtask: SubtaskIndex(7), ..file().writer };
        TransactionName { writer, ..renumbered(number) }
    };
    let newer = file().number.0 + 1;
    let committed = format!("{:?}", CommitSignal::AlreadyCommitted);
    let added = format!("add {} to snapshot 6", file());
    let say = |name| vec![loaded(6, &[name])];
    assert_eq!(dialogue(SnapshotTableCommitter, &say(renumbered(newer)))[1], added);
    assert_eq!(dialogue(committer_with::<HighWaterMark>(), &say(renumbered(newer)))[1], committed);
    assert_eq!(dialogue(committer_with::<HighWaterMark>(), &say(other_writer(newer)))[1], added);
    assert_eq!(dialogue(committer_with::<LateIsCommitted>(), &say(other_writer(newer)))[1], committed);
    assert_eq!(dialogue(committer_with::<LooksOnRetryOnly>(), &say(file()))[1], added);
    assert_eq!(dialogue(committer_with::<KeyOfThisLife>(), &say(file()))[1], added);
}

#[test]
fn a_commit_without_an_answer_is_looked_for_where_it_may_be() {
    let answers = [loaded(6, &[]), StoreAnswer::Unknown];
    let retry = format!("{:?}", CommitSignal::RetryLater);
    assert_eq!(dialogue(SnapshotTableCommitter, &answers)[2], retry);
    let committable = NamedCommittable { transaction: file(), records: Default::default(), token: 4 };
    let mut request = CommitRequest::new(committable, 0);
    let mut committer = committer_with::<ForgetsLostCommits>();
    committer.answered(&mut request, StoreAnswer::Unknown, &mut SinkIo::default());
    assert_eq!(request.committable().token, u64::MAX, "it will not look behind what is current");
}
