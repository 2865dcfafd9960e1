//! Writer and committer in tasks of their own, with the channel between them carried by hand.

use super::harness::*;
use crate::actor::{Effect, Output};
use crate::config::{EdgeKind, SinkKind};
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use crate::task::{CommittableMessage, TaskStatus};
use crate::topology::OperatorKind;

const COMMITTERS: OperatorUid = OperatorUid(0).sink_stage(SinkStage::Committers);

fn execution(vertex: OperatorUid, subtask: u32) -> ExecutionAttemptId {
    ExecutionAttemptId { vertex, subtask: SubtaskIndex(subtask), attempt: AttemptNumber(0) }
}

fn peer(vertex: OperatorUid, subtask: u32) -> ChannelPeer {
    let address = ProcessAddress { process: ProcessId::TaskManager(0), incarnation: Incarnation(0) };
    ChannelPeer { attempt: execution(vertex, subtask), address }
}

/// A running task with a reader and a writer, and with the split `0..end`, whose channel a committer has opened.
fn writing(end: u64) -> Bench {
    let mut descriptor = descriptor(SinkKind::Transactional);
    descriptor.operators = vec![OperatorKind::Source, OperatorKind::Map, OperatorKind::Writer];
    let consumers = vec![peer(COMMITTERS, 0)];
    descriptor.produces = Some(Box::new(ProducerEnd { edge: EdgeKind::Hash, consumers, unaligned: false }));
    let mut bench = Bench::running(descriptor, end);
    let request = ChannelRequest::Open { credit: 2 };
    bench.mail(TaskMessage::ChannelRequest { consumer: execution(COMMITTERS, 0), request });
    bench
}

/// A task with a committer behind two writers, the first turn of which has come.
fn committer(restored: Option<(u64, TaskSnapshot)>) -> Bench {
    committing(OperatorKind::Committer, true, restored)
}

fn committing(operator: OperatorKind, checkpointing: bool, restored: Option<(u64, TaskSnapshot)>) -> Bench {
    let mut descriptor = match restored {
        Some((checkpoint, snapshot)) => {
            super::harness::restored(SinkKind::Transactional, checkpoint, snapshot)
        }
        None => descriptor(SinkKind::Transactional),
    };
    descriptor.attempt.vertex = COMMITTERS;
    descriptor.operators = vec![operator];
    descriptor.checkpointing = checkpointing;
    let producers = (0..2).map(|subtask| Some(peer(OperatorUid(0), subtask))).collect();
    descriptor.consumes = Some(Box::new(ConsumerEnd { credit: 2, producers }));
    let mut bench = Bench::created(descriptor);
    bench.run();
    bench
}

fn deliver(bench: &mut Bench, subtask: u32, element: ChannelElement) {
    bench.mail(TaskMessage::Channel { producer: execution(OperatorUid(0), subtask), element });
}

fn barrier(checkpoint: u64) -> ChannelElement {
    ChannelElement::Barrier(CheckpointBarrier {
        checkpoint: CheckpointId(checkpoint),
        stop: None,
        unaligned: false,
    })
}

/// What a task put into its channel, oldest first.
fn sent(bench: &Bench) -> Vec<ChannelElement> {
    let element = |output: &Output| match &output.effect {
        Some(Effect::Send {
            message: Message::Task { message: TaskMessage::Channel { element, .. }, .. },
            ..
        }) => Some(element.clone()),
        _ => None,
    };
    bench.log.iter().filter_map(element).collect()
}

/// What a writer hands over with checkpoint 1, as subtask 0.
fn handed_over() -> Vec<CommittableMessage> {
    let mut bench = writing(10);
    bench.read(1);
    bench.answer_all();
    bench.trigger(1);
    bench.answer_all();
    let messages = sent(&bench).into_iter().find_map(|element| match element {
        ChannelElement::Committables(messages) => Some(messages),
        _ => None,
    });
    messages.expect("a record was written")
}

/// A subtask that has written nothing says so (FACT 59).
fn nothing_of(subtask: u32) -> ChannelElement {
    let [CommittableMessage::Summary(mut summary), ..] = handed_over()[..] else {
        panic!("the summary comes first");
    };
    (summary.subtask, summary.committables) = (SubtaskIndex(subtask), 0);
    ChannelElement::Committables(vec![CommittableMessage::Summary(summary)])
}

/// A committer that has what both writers hand over with checkpoint 1, and has acknowledged it.
fn collected() -> Bench {
    collected_by(OperatorKind::Committer)
}

fn collected_by(operator: OperatorKind) -> Bench {
    let mut bench = committing(operator, true, None);
    for subtask in 0..2 {
        deliver(&mut bench, subtask, ChannelElement::Opened);
    }
    deliver(&mut bench, 0, ChannelElement::Committables(handed_over()));
    deliver(&mut bench, 0, barrier(1));
    assert!(bench.lines_of(&["BarrierHandled"]).is_empty(), "the other writer owes its barrier");
    deliver(&mut bench, 1, nothing_of(1));
    deliver(&mut bench, 1, barrier(1));
    bench
}

fn is_settled(output: &Output) -> bool {
    matches!(output.event, Some(EventKind::CommitsSettled { .. }))
}

#[test]
fn committables_go_before_the_barrier_and_not_into_the_writers_snapshot() {
    let mut bench = writing(10);
    bench.read(1);
    bench.answer_all();
    bench.trigger(1);
    assert_eq!(bench.task.status(), TaskStatus::PreparingCheckpoint(CheckpointId(1)));
    bench.answer_all();
    let sent = sent(&bench);
    assert_eq!(sent[0], ChannelElement::Opened);
    let ChannelElement::Committables(messages) = &sent[1] else { panic!("{sent:?}") };
    assert!(matches!(messages[..], [CommittableMessage::Summary(_), CommittableMessage::Committable(_)]));
    assert_eq!(sent[2..], [barrier(1)]);
    assert_eq!(bench.snapshot().committer, Vec::<u8>::new());
    assert_eq!(bench.task.status(), TaskStatus::Running);
}

#[test]
fn without_credit_committables_wait_and_the_barrier_behind_them() {
    let mut bench = writing(10);
    for checkpoint in 1..=3 {
        bench.trigger(checkpoint);
        bench.answer_all();
    }
    let before = sent(&bench).len();
    assert_eq!(before, 5, "opened, and two checkpoints with their barriers");
    let request = ChannelRequest::Grant(1);
    bench.mail(TaskMessage::ChannelRequest { consumer: execution(COMMITTERS, 0), request });
    assert_eq!(sent(&bench).len(), before + 2);
}

#[test]
fn a_committer_holds_what_its_writers_handed_over_and_commits_it_once_that_is_complete() {
    let mut bench = collected();
    assert!(!bench.snapshot().committer.is_empty());
    bench.complete(1);
    assert_eq!(bench.calls.len(), 1, "one transaction");
    bench.answer_all();
    assert!(bench.log.iter().any(is_settled));
    assert_eq!(bench.task.status(), TaskStatus::Running);
}

#[test]
fn a_restored_committer_commits_again_before_it_opens_its_channels() {
    let snapshot = collected().snapshot();
    let mut bench = committer(Some((1, snapshot)));
    let asks = |bench: &Bench| {
        bench.log.iter().any(|output| {
            matches!(&output.effect, Some(Effect::Send { stream: Stream::ChannelOpening(_), .. }))
        })
    };
    assert_eq!((bench.calls.len(), asks(&bench)), (1, false));
    bench.answer_all();
    assert!(asks(&bench) && bench.log.iter().any(is_settled));
}

#[test]
fn a_committer_finishes_with_the_checkpoint_behind_the_end_of_its_channels() {
    let mut bench = collected();
    for subtask in 0..2 {
        deliver(&mut bench, subtask, ChannelElement::EndOfData { drain: true });
    }
    bench.complete(1);
    bench.answer_all();
    for subtask in 0..2 {
        deliver(&mut bench, subtask, barrier(2));
        deliver(&mut bench, subtask, ChannelElement::EndOfPartition);
    }
    assert!(!bench.task.has_ended(), "checkpoint 2 is the last");
    bench.complete(2);
    assert!(bench.task.has_ended());
}

#[test]
fn a_global_committer_commits_a_completed_checkpoint_and_again_what_it_restores() {
    let mut bench = collected_by(OperatorKind::GlobalCommitter);
    let snapshot = bench.snapshot();
    assert!(bench.calls.is_empty(), "behind writers it commits on no input");
    bench.complete(1);
    assert_eq!(bench.calls.len(), 1);
    bench.answer_all();
    assert!(bench.log.iter().any(is_settled));
    let mut bench = committing(OperatorKind::GlobalCommitter, true, Some((1, snapshot)));
    assert_eq!(bench.calls.len(), 1);
    bench.answer_all();
    assert!(bench.log.iter().any(is_settled));
}

#[test]
fn without_checkpoints_committers_of_either_kind_commit_when_every_channel_has_ended() {
    for operator in [OperatorKind::Committer, OperatorKind::GlobalCommitter] {
        let mut bench = committing(operator, false, None);
        for subtask in 0..2 {
            deliver(&mut bench, subtask, ChannelElement::Opened);
        }
        deliver(&mut bench, 0, ChannelElement::Committables(handed_over()));
        deliver(&mut bench, 0, ChannelElement::EndOfData { drain: true });
        deliver(&mut bench, 1, nothing_of(1));
        assert!(bench.calls.is_empty(), "a writer goes on");
        deliver(&mut bench, 1, ChannelElement::EndOfData { drain: true });
        assert_eq!(bench.calls.len(), 1, "{operator:?}");
        bench.answer_all();
        for subtask in 0..2 {
            deliver(&mut bench, subtask, ChannelElement::EndOfPartition);
        }
        assert!(bench.task.has_ended());
    }
}
