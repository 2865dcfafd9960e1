//! Rules one by one, then two sessions under a network that does everything a network may do.

use super::*;
use crate::defects::DefectSet;
use crate::ids::{CheckpointId, ExecutionAttemptId, Incarnation, ProcessId};
use crate::message::{JobManagerMessage, TaskMessage};
use proptest::prelude::*;
use std::collections::BTreeMap;

const CONFIG: SessionConfig = SessionConfig { resend_after_ns: 100, resend_max: 2, defects: DefectSet::NONE };

fn address(process: ProcessId, incarnation: u32) -> ProcessAddress {
    ProcessAddress { process, incarnation: Incarnation(incarnation) }
}

fn job_manager() -> ProcessAddress {
    address(ProcessId::JobManager, 0)
}

fn task_manager() -> ProcessAddress {
    address(ProcessId::TaskManager(0), 0)
}

fn attempt() -> ExecutionAttemptId {
    ExecutionAttemptId::default()
}

fn message_in(epoch: u32, number: u64) -> Message {
    let message = TaskMessage::TriggerCheckpoint(CheckpointId(number));
    Message::Task { epoch: LeaderEpoch(epoch), attempt: attempt(), message }
}

fn message(number: u64) -> Message {
    message_in(1, number)
}

fn number_of(message: &Message) -> u64 {
    match message {
        Message::Task { message: TaskMessage::TriggerCheckpoint(CheckpointId(number)), .. } => *number,
        other => panic!("not sent by these tests: {other:?}"),
    }
}

fn link(peer: ProcessAddress, stream: Stream) -> LinkId {
    LinkId { peer, stream }
}

/// Two sessions and their outputs; frames move when a test says so.
struct Pair {
    sender: Session,
    receiver: Session,
}

impl Pair {
    fn new() -> Self {
        Self { sender: Session::new(job_manager(), CONFIG), receiver: Session::new(task_manager(), CONFIG) }
    }

    fn send(&mut self, stream: Stream, number: u64) -> SessionOutput {
        self.send_in(stream, 1, number)
    }

    fn send_in(&mut self, stream: Stream, epoch: u32, number: u64) -> SessionOutput {
        let mut out = SessionOutput::default();
        let token = Some(DeliveryToken(number));
        self.sender.send(task_manager(), stream, message_in(epoch, number), token, 1000 + number, &mut out);
        out
    }

    fn receive(&mut self, frame: &Frame, accepted: bool) -> SessionOutput {
        let mut out = SessionOutput::default();
        let session =
            if frame.to.process == ProcessId::JobManager { &mut self.sender } else { &mut self.receiver };
        session.receive(frame.clone(), &mut |_| accepted, &mut out);
        out
    }

    fn fire(&mut self, stream: Stream) -> SessionOutput {
        let mut out = SessionOutput::default();
        self.sender.resend_due(link(task_manager(), stream), &mut out);
        out
    }
}

fn numbers(out: &SessionOutput) -> Vec<u64> {
    out.deliveries.iter().map(|delivery| number_of(&delivery.message)).collect()
}

#[test]
fn a_message_is_delivered_once_with_its_cause_and_answered_each_time() {
    let mut pair = Pair::new();
    let stream = Stream::Deployment;
    let sent = pair.send(stream, 7);
    assert_eq!(sent.timers, [(link(task_manager(), stream), CONFIG.resend_after_ns)]);
    let first = pair.receive(&sent.frames[0], true);
    assert_eq!(numbers(&first), [7]);
    assert_eq!((first.deliveries[0].cause_sequence, first.deliveries[0].from), (1007, job_manager()));
    let second = pair.receive(&sent.frames[0], true);
    assert_eq!(numbers(&second), [0_u64; 0]);
    assert_eq!(second.frames, first.frames, "a duplicate gets the same answer");
    let answered = pair.receive(&first.frames[0], true);
    assert_eq!(answered.outcomes, [(DeliveryToken(7), DeliveryOutcome::Delivered)]);
    assert!(pair.receive(&second.frames[0], true).is_empty(), "one outcome per token");
    assert_eq!(pair.sender.outstanding_count(), 0);
    assert!(pair.fire(stream).is_empty(), "the timer fires once for nothing");
    assert_eq!(pair.send(stream, 8).timers.len(), 1, "and is set again when there is something to wait for");
}

#[test]
fn an_idle_timer_can_be_stopped_and_a_busy_one_cannot() {
    let mut pair = Pair::new();
    let stream = Stream::Deployment;
    let timer = link(task_manager(), stream);
    assert!(pair.sender.stop_idle_timer(timer), "nothing was ever sent");
    let sent = pair.send(stream, 0);
    assert!(!pair.sender.stop_idle_timer(timer), "it waits for an answer");
    let answer = pair.receive(&sent.frames[0], true);
    pair.receive(&answer.frames[0], true);
    assert!(pair.sender.stop_idle_timer(timer));
    assert_eq!(pair.send(stream, 1).timers, [(timer, CONFIG.resend_after_ns)], "the next send sets it anew");
    assert_eq!(pair.fire(stream).frames.len(), 1, "and waits a whole interval");
}

#[test]
fn an_ordered_stream_waits_for_the_gap_and_an_unordered_one_does_not() {
    let mut pair = Pair::new();
    for (stream, early, late) in
        [(Stream::Triggers(attempt()), vec![], vec![0, 1]), (Stream::Notices(attempt()), vec![1], vec![0])]
    {
        let (zero, one) = (pair.send(stream, 0), pair.send(stream, 1));
        let held = pair.receive(&one.frames[0], true);
        assert_eq!(numbers(&held), early);
        assert_eq!(
            held.frames.len(),
            early.len(),
            "delivered means in the mailbox, so what is held has no answer"
        );
        assert!(numbers(&pair.receive(&one.frames[0], true)).is_empty());
        assert_eq!(numbers(&pair.receive(&zero.frames[0], true)), late);
    }
}

#[test]
fn streams_do_not_wait_for_each_other() {
    let mut pair = Pair::new();
    let _lost = pair.send(Stream::Triggers(attempt()), 0);
    let other = pair.send(Stream::OperatorEvents(attempt()), 1);
    assert_eq!(numbers(&pair.receive(&other.frames[0], true)), [1]);
}

#[test]
fn a_refused_message_stays_refused() {
    let mut pair = Pair::new();
    let sent = pair.send(Stream::Triggers(attempt()), 0);
    let refused = pair.receive(&sent.frames[0], false);
    assert!(refused.deliveries.is_empty());
    let repeated = pair.receive(&sent.frames[0], true);
    assert!(repeated.deliveries.is_empty(), "the actor came too late for it");
    let answered = pair.receive(&repeated.frames[0], true);
    assert_eq!(answered.outcomes, [(DeliveryToken(0), DeliveryOutcome::NotDelivered)]);
    let next = pair.send(Stream::Triggers(attempt()), 1);
    assert_eq!(numbers(&pair.receive(&next.frames[0], true)), [1]);
}

#[test]
fn a_gapless_stream_refuses_everything_behind_a_refusal() {
    let mut pair = Pair::new();
    let stream = Stream::OperatorEvents(attempt());
    let (first, second) = (pair.send(stream, 0), pair.send(stream, 1));
    let refused = pair.receive(&first.frames[0], false);
    let later = pair.receive(&second.frames[0], true);
    assert!(later.deliveries.is_empty());
    let answered = pair.receive(&refused.frames[0], true);
    assert_eq!(answered.broken_links, [link(task_manager(), stream)]);
    assert_eq!(
        pair.receive(&later.frames[0], true).outcomes,
        [(DeliveryToken(1), DeliveryOutcome::NotDelivered)]
    );
}

#[test]
fn the_budget_ends_a_message_as_unknown_and_the_next_one_gets_through() {
    let mut pair = Pair::new();
    let stream = Stream::Deployment;
    let (first, second) = (pair.send(stream, 0), pair.send(stream, 1));
    assert!(pair.receive(&second.frames[0], true).deliveries.is_empty());
    let one = pair.fire(stream);
    assert_eq!(one.frames.len(), 1, "the second message has not waited for a whole interval");
    assert_eq!(one.timers[0].1, 2 * CONFIG.resend_after_ns);
    let two = pair.fire(stream);
    assert_eq!((two.frames.len(), two.timers[0].1), (2, 4 * CONFIG.resend_after_ns));
    assert_eq!(two.frames[0], first.frames[0]);
    let end = pair.fire(stream);
    assert!(end.frames.is_empty() && end.timers.is_empty());
    let unknown = |number| (DeliveryToken(number), DeliveryOutcome::Unknown);
    assert_eq!(end.outcomes, [unknown(0), unknown(1)]);
    assert_eq!(end.broken_links, [link(task_manager(), stream)]);

    let third = pair.send(stream, 2);
    assert_eq!(
        numbers(&pair.receive(&third.frames[0], true)),
        [2],
        "the gap of the older generation blocks nobody"
    );
    assert!(pair.receive(&first.frames[0], true).is_empty(), "the older generation is over");
}

#[test]
fn a_lost_message_of_an_unordered_stream_ends_alone() {
    let mut pair = Pair::new();
    let stream = Stream::Notices(attempt());
    let (_lost, second) = (pair.send(stream, 0), pair.send(stream, 1));
    let answer = pair.receive(&second.frames[0], true);
    pair.receive(&answer.frames[0], true);
    pair.fire(stream);
    pair.fire(stream);
    let end = pair.fire(stream);
    assert_eq!(end.outcomes, [(DeliveryToken(0), DeliveryOutcome::Unknown)]);
    assert!(end.broken_links.is_empty() && end.timers.is_empty());
}

#[test]
fn a_gapless_stream_stays_broken_until_reset_or_a_newer_epoch() {
    let mut pair = Pair::new();
    let stream = Stream::SubtaskEvents(attempt());
    let break_it = |pair: &mut Pair| {
        pair.send(stream, 0);
        for _ in 0..=CONFIG.resend_max {
            pair.fire(stream);
        }
        let later = pair.send(stream, 1);
        assert!(later.frames.is_empty());
        assert_eq!(later.outcomes, [(DeliveryToken(1), DeliveryOutcome::Unknown)]);
    };
    break_it(&mut pair);
    let mut out = SessionOutput::default();
    pair.sender.reset_peer(task_manager(), &mut out);
    let sent = pair.send(stream, 2);
    assert_eq!(numbers(&pair.receive(&sent.frames[0], true)), [2]);
    break_it(&mut pair);
    let sent = pair.send_in(stream, 2, 3);
    assert_eq!(numbers(&pair.receive(&sent.frames[0], true)), [3], "attempts count anew in each epoch");
}

#[test]
fn a_newer_epoch_is_not_refused_for_what_an_older_one_met() {
    let mut pair = Pair::new();
    let stream = Stream::OperatorEvents(attempt());
    let old = pair.send(stream, 0);
    pair.receive(&old.frames[0], false);
    let new = pair.send_in(stream, 2, 1);
    assert_eq!(new.outcomes, [(DeliveryToken(0), DeliveryOutcome::Unknown)]);
    assert_eq!(numbers(&pair.receive(&new.frames[0], true)), [1]);
}

#[test]
fn heartbeats_are_neither_answered_nor_resent_and_old_ones_are_dropped() {
    let mut pair = Pair::new();
    let (old, new) = (pair.send(Stream::Heartbeats, 0), pair.send(Stream::Heartbeats, 1));
    assert!(old.timers.is_empty());
    assert_eq!(old.outcomes, [(DeliveryToken(0), DeliveryOutcome::Unknown)]);
    let taken = pair.receive(&new.frames[0], true);
    assert_eq!((numbers(&taken), taken.frames.len()), (vec![1], 0));
    assert!(pair.receive(&old.frames[0], true).is_empty() && pair.receive(&new.frames[0], true).is_empty());
}

#[test]
fn after_the_senders_reset_outcomes_are_unknown_and_late_answers_mean_nothing() {
    let mut pair = Pair::new();
    let sent = pair.send(Stream::Deployment, 0);
    let answer = pair.receive(&sent.frames[0], true);
    let mut out = SessionOutput::default();
    pair.sender.reset_peer(task_manager(), &mut out);
    assert_eq!(out.outcomes, [(DeliveryToken(0), DeliveryOutcome::Unknown)]);
    assert_eq!(out.cancelled_timers, [link(task_manager(), Stream::Deployment)]);
    assert!(pair.receive(&answer.frames[0], true).is_empty());
    let next = pair.send(Stream::Deployment, 1);
    assert!(pair.receive(&answer.frames[0], true).is_empty(), "an answer of the older generation");
    assert_eq!(numbers(&pair.receive(&next.frames[0], true)), [1]);
}

#[test]
fn after_the_receivers_reset_duplicates_stay_out_and_the_sender_begins_anew() {
    let mut pair = Pair::new();
    let stream = Stream::TaskManager;
    let sent = pair.send(stream, 0);
    let beat = pair.send(Stream::Heartbeats, 1);
    assert_eq!(numbers(&pair.receive(&sent.frames[0], true)), [0]);
    pair.receive(&beat.frames[0], true);
    let mut out = SessionOutput::default();
    pair.receiver.reset_peer(job_manager(), &mut out);

    let refused = pair.receive(&sent.frames[0], true);
    assert!(refused.deliveries.is_empty(), "it was delivered before the reset");
    assert!(matches!(refused.frames[0].body, FrameBody::Forgotten { .. }));
    let told = pair.receive(&refused.frames[0], true);
    assert_eq!(told.outcomes, [(DeliveryToken(0), DeliveryOutcome::Unknown)]);
    assert_eq!(told.broken_links.len(), 2, "every stream to that peer begins anew");
    assert!(pair.receive(&refused.frames[0], true).is_empty(), "being told twice changes nothing");
    for stream in [stream, Stream::Heartbeats] {
        let next = pair.send(stream, 2);
        assert_eq!(numbers(&pair.receive(&next.frames[0], true)), [2]);
    }
}

#[test]
fn frames_for_another_life_are_dropped_and_a_newer_life_ends_the_older() {
    let mut pair = Pair::new();
    let sent = pair.send(Stream::Deployment, 0);
    pair.receiver = Session::new(address(ProcessId::TaskManager(0), 1), CONFIG);
    assert!(pair.receive(&sent.frames[0], true).is_empty(), "addressed to the life before");

    let mut hello = SessionOutput::default();
    let register =
        Message::JobManager { epoch: LeaderEpoch(1), message: JobManagerMessage::RegisterTaskManager };
    pair.receiver.send(job_manager(), Stream::TaskManager, register, None, 0, &mut hello);
    let met = pair.receive(&hello.frames[0], true);
    assert_eq!(met.outcomes, [(DeliveryToken(0), DeliveryOutcome::Unknown)]);
    assert_eq!(met.cancelled_timers, [link(task_manager(), Stream::Deployment)]);
    assert_eq!(met.deliveries.len(), 1);

    let late = pair.send(Stream::Deployment, 1);
    assert!(late.frames.is_empty());
    assert_eq!(late.outcomes, [(DeliveryToken(1), DeliveryOutcome::Unknown)]);
    let mut old_life = Session::new(task_manager(), CONFIG);
    let mut out = SessionOutput::default();
    old_life.send(job_manager(), Stream::TaskManager, message(9), None, 0, &mut out);
    assert!(pair.receive(&out.frames[0], true).is_empty(), "a late frame of a life that is over");
}

/// One move of the network, of a role, or of a clock.
#[derive(Clone, Copy, Debug)]
enum Move {
    Send { from_first: bool, stream: usize },
    Deliver(usize),
    Duplicate(usize),
    Drop(usize),
    Fire(usize),
    StopIdle,
    Reset(bool),
}

fn a_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        6 => (any::<bool>(), 0..STREAMS.len()).prop_map(|(from_first, stream)| Move::Send { from_first, stream }),
        8 => any::<usize>().prop_map(Move::Deliver),
        2 => any::<usize>().prop_map(Move::Duplicate),
        2 => any::<usize>().prop_map(Move::Drop),
        3 => any::<usize>().prop_map(Move::Fire),
        1 => Just(Move::StopIdle),
        1 => any::<bool>().prop_map(Move::Reset),
    ]
}

const ATTEMPT: ExecutionAttemptId = ExecutionAttemptId {
    vertex: crate::ids::OperatorUid(0),
    subtask: crate::ids::SubtaskIndex(0),
    attempt: crate::ids::AttemptNumber(0),
};
const STREAMS: [Stream; 5] = [
    Stream::OperatorEvents(ATTEMPT),
    Stream::Triggers(ATTEMPT),
    Stream::Notices(ATTEMPT),
    Stream::Deployment,
    Stream::Heartbeats,
];

/// What must have become of a message, seen from outside the sessions.
#[derive(Debug)]
struct Sent {
    link: (bool, Stream),
    outcome: Option<DeliveryOutcome>,
    delivered: bool,
}

/// Two sessions, the frames between them, and the truth.
struct Harness {
    sessions: [Session; 2],
    frames: Vec<Frame>,
    /// (which session, link)
    timers: Vec<(usize, LinkId)>,
    sent: BTreeMap<u64, Sent>,
    delivered_last: BTreeMap<(bool, Stream), u64>,
    refusing: bool,
    was_reset: bool,
}

impl Harness {
    fn new(refusing: bool) -> Self {
        Self {
            sessions: [Session::new(job_manager(), CONFIG), Session::new(task_manager(), CONFIG)],
            frames: Vec::new(),
            timers: Vec::new(),
            sent: BTreeMap::new(),
            delivered_last: BTreeMap::new(),
            refusing,
            was_reset: false,
        }
    }

    fn absorb(&mut self, owner: usize, out: SessionOutput) {
        for link in out.cancelled_timers {
            self.timers.retain(|timer| *timer != (owner, link));
        }
        for (link, after_ns) in out.timers {
            assert!(after_ns >= CONFIG.resend_after_ns);
            assert!(!self.timers.contains(&(owner, link)), "one timer per link");
            self.timers.push((owner, link));
        }
        for delivery in out.deliveries {
            let number = number_of(&delivery.message);
            assert_eq!(delivery.cause_sequence, number + 1);
            let sent = self.sent.get_mut(&number).expect("only what was sent is delivered");
            assert_eq!(sent.link, (owner == 1, delivery.stream));
            assert!(!sent.delivered, "delivered twice: {number}");
            sent.delivered = true;
            let last = self.delivered_last.insert(sent.link, number);
            if delivery.stream != Stream::Notices(ATTEMPT) {
                assert!(last.is_none_or(|last| last < number), "{:?}: {number} behind {last:?}", sent.link);
            }
        }
        for (DeliveryToken(number), outcome) in out.outcomes {
            let sent = self.sent.get_mut(&number).expect("only what was sent ends");
            assert_eq!(sent.outcome.replace(outcome), None, "two outcomes of {number}");
            match outcome {
                DeliveryOutcome::Delivered => assert!(sent.delivered),
                DeliveryOutcome::NotDelivered => assert!(!sent.delivered),
                DeliveryOutcome::Unknown => {}
            }
        }
        self.frames.extend(out.frames);
    }

    fn deliver(&mut self, frame: Frame) {
        let owner = usize::from(frame.to == task_manager());
        let refusing = self.refusing;
        let mut out = SessionOutput::default();
        let accept = &mut |message: &Message| !refusing || !number_of(message).is_multiple_of(5);
        self.sessions[owner].receive(frame, accept, &mut out);
        self.absorb(owner, out);
    }

    fn fire(&mut self, index: usize) {
        let (owner, link) = self.timers.remove(index);
        let mut out = SessionOutput::default();
        self.sessions[owner].resend_due(link, &mut out);
        self.absorb(owner, out);
    }

    fn make(&mut self, chosen: Move) {
        let pick = |index: usize, len: usize| index.checked_rem(len);
        match chosen {
            Move::Send { from_first, stream } => {
                let number = self.sent.len() as u64;
                let stream = STREAMS[stream];
                self.sent
                    .insert(number, Sent { link: (from_first, stream), outcome: None, delivered: false });
                let (owner, to) = if from_first { (0, task_manager()) } else { (1, job_manager()) };
                let mut out = SessionOutput::default();
                let token = Some(DeliveryToken(number));
                self.sessions[owner].send(to, stream, message(number), token, number + 1, &mut out);
                self.absorb(owner, out);
            }
            Move::Deliver(index) => {
                if let Some(index) = pick(index, self.frames.len()) {
                    let frame = self.frames.remove(index);
                    self.deliver(frame);
                }
            }
            Move::Duplicate(index) => {
                if let Some(index) = pick(index, self.frames.len()) {
                    let frame = self.frames[index].clone();
                    self.deliver(frame);
                }
            }
            Move::Drop(index) => {
                if let Some(index) = pick(index, self.frames.len()) {
                    self.frames.remove(index);
                }
            }
            Move::Fire(index) => {
                if let Some(index) = pick(index, self.timers.len()) {
                    self.fire(index);
                }
            }
            Move::StopIdle => {
                let sessions = &mut self.sessions;
                self.timers.retain(|(owner, link)| !sessions[*owner].stop_idle_timer(*link));
            }
            Move::Reset(first) => {
                self.was_reset = true;
                let (owner, peer) = if first { (0, task_manager()) } else { (1, job_manager()) };
                let mut out = SessionOutput::default();
                self.sessions[owner].reset_peer(peer, &mut out);
                self.absorb(owner, out);
            }
        }
    }

    /// From here on nothing is lost: frames first, timers when there are none.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            if !self.frames.is_empty() {
                let frame = self.frames.remove(0);
                self.deliver(frame);
            } else if !self.timers.is_empty() {
                self.fire(0);
            } else {
                return;
            }
        }
        panic!("two sessions with a good network do not come to rest");
    }

    fn check_end(&self) {
        for (number, sent) in &self.sent {
            assert!(sent.outcome.is_some(), "{number} never ended");
        }
        assert_eq!(self.sessions.iter().map(Session::outstanding_count).sum::<usize>(), 0);
        if !self.was_reset {
            for from_first in [true, false] {
                let gapless = (from_first, Stream::OperatorEvents(ATTEMPT));
                let mut delivered =
                    self.sent.values().filter(|sent| sent.link == gapless).map(|sent| sent.delivered);
                let _prefix = delivered.by_ref().take_while(|delivered| *delivered).count();
                assert!(
                    !delivered.any(|delivered| delivered),
                    "a prefix is delivered, nothing behind a loss"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_network_does_the_contract_holds(
        moves in prop::collection::vec(a_move(), 0..150),
        (refusing, resetting) in any::<(bool, bool)>(),
    ) {
        let mut harness = Harness::new(refusing);
        for chosen in moves {
            if resetting || !matches!(chosen, Move::Reset(_)) {
                harness.make(chosen);
            }
        }
        harness.settle();
        harness.check_end();
        // And it still works: in a stream that forgives, a new message gets through at the first try or is told of
        // a forgotten session and gets through at the second.
        harness.refusing = false;
        for _ in 0..2 {
            harness.make(Move::Send { from_first: true, stream: 3 });
            harness.settle();
        }
        let last = harness.sent.values().next_back().expect("just sent");
        prop_assert_eq!(last.outcome, Some(DeliveryOutcome::Delivered));
    }

    #[test]
    fn without_loss_or_reset_everything_is_delivered(
        sends in prop::collection::vec((any::<bool>(), 0..4_usize, any::<usize>()), 0..60),
    ) {
        let mut harness = Harness::new(false);
        for (from_first, stream, picked) in sends {
            harness.make(Move::Send { from_first, stream });
            harness.make(Move::Deliver(picked));
            harness.make(Move::Duplicate(picked));
        }
        harness.settle();
        for sent in harness.sent.values() {
            prop_assert!(sent.delivered);
            prop_assert_eq!(sent.outcome, Some(DeliveryOutcome::Delivered));
        }
    }
}
