//! One producer and its consumers, with the messages between them carried by hand.

use crate::actor::{Effect, Outbox};
use crate::config::EdgeKind;
use crate::defects::DefectSet;
use crate::exchange::{BarrierVerdict, GateEvent, InputGate, RecordWriter};
use crate::ids::*;
use crate::message::*;
use crate::records::Record;
use std::collections::VecDeque;

const READERS: OperatorUid = OperatorUid(0);
const WRITERS: OperatorUid = READERS.behind_exchange();
const EPOCH: LeaderEpoch = LeaderEpoch(1);

fn execution(vertex: OperatorUid, subtask: u32) -> ExecutionAttemptId {
    ExecutionAttemptId { vertex, subtask: SubtaskIndex(subtask), attempt: AttemptNumber(0) }
}

fn peer(vertex: OperatorUid, subtask: u32) -> ChannelPeer {
    let address = ProcessAddress { process: ProcessId::TaskManager(0), incarnation: Incarnation(0) };
    ChannelPeer { attempt: execution(vertex, subtask), address }
}

fn record(offset: u64) -> Record {
    let split = SplitId { operator: READERS, index: 0 };
    Record { split, offset, event_time_ms: offset, key: offset, payload: Vec::new() }
}

fn barrier(checkpoint: u64) -> CheckpointBarrier {
    CheckpointBarrier { checkpoint: CheckpointId(checkpoint), stop: None, unaligned: false }
}

/// Producers and consumers, and what is on its way between them.
struct Bench {
    producers: Vec<RecordWriter>,
    consumers: Vec<InputGate>,
    wire: VecDeque<(ExecutionAttemptId, TaskMessage)>,
}

impl Bench {
    fn new(edge: EdgeKind, producers: u32, consumers: u32, credit: u32) -> Self {
        let peers = |vertex, count| (0..count).map(move |index| peer(vertex, index));
        let consuming: Vec<_> = peers(WRITERS, consumers).collect();
        let producing: Vec<_> = peers(READERS, producers).map(Some).collect();
        let mut bench = Self {
            producers: (0..producers)
                .map(|index| RecordWriter::new((execution(READERS, index), EPOCH), edge, &consuming))
                .collect(),
            consumers: (0..consumers)
                .map(|index| {
                    let me = (execution(WRITERS, index), EPOCH);
                    InputGate::new(me, credit, &producing, None, DefectSet::NONE)
                })
                .collect(),
            wire: VecDeque::new(),
        };
        for index in 0..bench.consumers.len() {
            bench.consumer(index, |gate, outbox| gate.open(outbox));
        }
        bench.carry();
        bench
    }

    fn take(&mut self, mut outbox: Outbox) {
        for output in outbox.drain() {
            if let Some(Effect::Send { message: Message::Task { attempt, message, .. }, .. }) = output.effect
            {
                self.wire.push_back((attempt, message));
            }
        }
    }

    fn producer(&mut self, index: usize, act: impl FnOnce(&mut RecordWriter, &mut Outbox)) {
        let mut outbox = Outbox::new();
        act(&mut self.producers[index], &mut outbox);
        self.take(outbox);
    }

    fn consumer<T>(&mut self, index: usize, act: impl FnOnce(&mut InputGate, &mut Outbox) -> T) -> T {
        let mut outbox = Outbox::new();
        let answer = act(&mut self.consumers[index], &mut outbox);
        self.take(outbox);
        answer
    }

    /// Everything on the wire arrives.
    fn carry(&mut self) {
        while let Some((to, message)) = self.wire.pop_front() {
            let index = to.subtask.0 as usize;
            match message {
                TaskMessage::Channel { producer, element } => {
                    self.consumers[index].receive(producer, element);
                }
                TaskMessage::ChannelRequest { consumer, request } => {
                    self.producer(index, |writer, outbox| writer.requested(consumer, request, outbox));
                }
                other => panic!("{other:?} is not of channels"),
            }
        }
    }

    fn emit(&mut self, producer: usize, offsets: std::ops::Range<u64>) {
        let mut records: Vec<Record> = offsets.map(record).collect();
        self.producer(producer, |writer, outbox| writer.emit(&mut records, outbox));
        self.carry();
    }

    fn broadcast(&mut self, producer: usize, element: ChannelElement) {
        self.producer(producer, |writer, outbox| writer.broadcast(&element, outbox));
        self.carry();
    }

    fn poll(&mut self, consumer: usize) -> GateEvent {
        let event = self.consumer(consumer, InputGate::poll);
        self.carry();
        event
    }

    /// Polls until there is nothing; the offsets of the records, and whatever else came.
    fn drain(&mut self, consumer: usize) -> (Vec<u64>, Vec<GateEvent>) {
        let (mut offsets, mut others) = (Vec::new(), Vec::new());
        while self.consumers[consumer].is_available() {
            match self.poll(consumer) {
                GateEvent::Records(records) => offsets.extend(records.iter().map(|record| record.offset)),
                GateEvent::Nothing => {}
                GateEvent::Barrier(verdict) if verdict == BarrierVerdict::default() => {}
                other => others.push(other),
            }
        }
        (offsets, others)
    }
}

#[test]
fn each_edge_picks_its_channels() {
    for (edge, expected) in [
        (EdgeKind::Rebalance, [vec![0, 2, 4], vec![1, 3]]),
        (EdgeKind::Hash, [vec![0, 2, 4], vec![1, 3]]),
        (EdgeKind::Global, [vec![0, 1, 2, 3, 4], vec![]]),
    ] {
        let mut bench = Bench::new(edge, 1, 2, 4);
        bench.emit(0, 0..5);
        let taken = [bench.drain(0).0, bench.drain(1).0];
        assert_eq!(taken, expected, "{edge:?}");
    }
    let mut bench = Bench::new(EdgeKind::Rebalance, 2, 2, 4);
    bench.emit(1, 0..1);
    assert_eq!(bench.drain(1).0, [0], "the second producer begins with the second channel");
}

#[test]
fn without_credit_the_producer_is_suspended_until_a_buffer_is_taken() {
    let mut bench = Bench::new(EdgeKind::Global, 1, 1, 2);
    for offset in 0..2 {
        assert!(bench.producers[0].is_available());
        bench.emit(0, offset..offset + 1);
    }
    assert!(bench.producers[0].is_available(), "two buffers are under way");
    bench.emit(0, 2..3);
    assert!(!bench.producers[0].is_available(), "the third waits for credit");
    bench.broadcast(0, ChannelElement::Barrier(barrier(1)));
    assert!(matches!(bench.poll(0), GateEvent::Records(_)));
    assert!(
        bench.producers[0].is_available(),
        "credit came back, and the barrier went out behind the buffer"
    );
    let (offsets, others) = bench.drain(0);
    assert_eq!(offsets, [1, 2]);
    let aligned =
        BarrierVerdict { begins: Some(barrier(1)), aligned: Some(barrier(1)), ..BarrierVerdict::default() };
    assert_eq!(others, [GateEvent::Barrier(aligned)]);
}

#[test]
fn nothing_is_sent_before_the_channel_is_open() {
    let consumers = [peer(WRITERS, 0)];
    let mut writer = RecordWriter::new((execution(READERS, 0), EPOCH), EdgeKind::Forward, &consumers);
    let mut outbox = Outbox::new();
    writer.broadcast(&ChannelElement::Barrier(barrier(1)), &mut outbox);
    assert!(outbox.is_empty());
    let stranger = ExecutionAttemptId { attempt: AttemptNumber(1), ..consumers[0].attempt };
    writer.requested(stranger, ChannelRequest::Open { credit: 1 }, &mut outbox);
    assert!(outbox.is_empty(), "another execution of the consumer is nobody");
    writer.requested(consumers[0].attempt, ChannelRequest::Open { credit: 1 }, &mut outbox);
    assert_eq!(outbox.outputs().len(), 2, "opened, and the barrier");
    writer.requested(consumers[0].attempt, ChannelRequest::Open { credit: 1 }, &mut outbox);
    assert_eq!(outbox.outputs().len(), 2, "asked again: it was answered");
}

#[test]
fn what_another_attempt_of_the_producer_sends_is_refused() {
    let mut bench = Bench::new(EdgeKind::Global, 1, 1, 2);
    let older = ExecutionAttemptId { attempt: AttemptNumber(9), ..execution(READERS, 0) };
    bench.consumers[0].receive(older, ChannelElement::Buffer(vec![record(7)]));
    assert!(!bench.consumers[0].is_available());
}

#[test]
fn what_comes_through_a_channel_that_is_not_open_is_refused() {
    let me = (execution(WRITERS, 0), EPOCH);
    let mut gate = InputGate::new(me, 2, &[Some(peer(READERS, 0))], None, DefectSet::NONE);
    gate.receive(execution(READERS, 0), ChannelElement::Buffer(vec![record(7)]));
    assert!(!gate.is_available());
}

#[test]
fn a_blocked_channel_keeps_its_records_until_all_have_delivered_the_barrier() {
    let mut bench = Bench::new(EdgeKind::Global, 2, 1, 4);
    bench.emit(0, 0..1);
    bench.broadcast(0, ChannelElement::Barrier(barrier(1)));
    bench.emit(0, 1..2);
    bench.emit(1, 10..11);
    assert_eq!(bench.drain(0), (vec![0, 10], vec![]), "record 1 is behind the barrier");
    bench.broadcast(1, ChannelElement::Barrier(barrier(1)));
    let (offsets, others) = bench.drain(0);
    assert_eq!((offsets, others.len()), (vec![1], 1));
}

#[test]
fn a_gate_ends_in_two_steps_and_the_producer_learns_of_the_first() {
    let mut bench = Bench::new(EdgeKind::Global, 2, 1, 4);
    bench.broadcast(0, ChannelElement::EndOfData { drain: true });
    assert_eq!(bench.drain(0), (vec![], vec![]));
    assert!(bench.producers[0].is_taken() && !bench.producers[1].is_taken());
    bench.broadcast(1, ChannelElement::EndOfData { drain: true });
    assert_eq!(bench.drain(0), (vec![], vec![GateEvent::EndOfData { drain: true }]));
    bench.broadcast(0, ChannelElement::EndOfPartition);
    bench.broadcast(1, ChannelElement::Barrier(barrier(3)));
    let (_, others) = bench.drain(0);
    assert_eq!(others.len(), 1, "the ended channel owes no barrier");
    bench.broadcast(1, ChannelElement::EndOfPartition);
    assert_eq!(bench.drain(0).1, [GateEvent::EndOfInput]);
    assert!(bench.consumers[0].has_ended());
}

#[test]
fn a_stop_without_a_drain_flushes_nothing() {
    let mut bench = Bench::new(EdgeKind::Global, 2, 1, 4);
    bench.broadcast(0, ChannelElement::EndOfData { drain: true });
    bench.broadcast(1, ChannelElement::EndOfData { drain: false });
    assert_eq!(bench.drain(0).1, [GateEvent::EndOfData { drain: false }]);
}

#[test]
fn finished_producers_owe_nothing_from_the_beginning_on() {
    let me = (execution(WRITERS, 0), EPOCH);
    let mut gate = InputGate::new(me, 2, &[None, None], Some(CheckpointId(4)), DefectSet::NONE);
    let mut outbox = Outbox::new();
    gate.open(&mut outbox);
    assert!(outbox.is_empty(), "there is nobody to ask");
    assert_eq!(gate.poll(&mut outbox), GateEvent::EndOfData { drain: true });
    assert_eq!(gate.poll(&mut outbox), GateEvent::EndOfInput);
    assert!(!gate.is_available());
    assert_eq!(gate.trigger(barrier(5)).aligned, Some(barrier(5)), "its checkpoints are triggered");
}

fn overtaking(checkpoint: u64) -> CheckpointBarrier {
    CheckpointBarrier { unaligned: true, ..barrier(checkpoint) }
}

fn offsets(buffers: &[(SubtaskIndex, Vec<Record>)]) -> Vec<u64> {
    buffers.iter().flat_map(|(_, records)| records).map(|record| record.offset).collect()
}

#[test]
fn a_barrier_that_overtakes_takes_the_buffers_of_both_ends_as_state() {
    let mut bench = Bench::new(EdgeKind::Global, 2, 1, 1);
    bench.emit(0, 0..1);
    bench.emit(0, 1..2);
    bench.emit(1, 10..11);
    let mut overtaken = Vec::new();
    bench.producer(0, |writer, outbox| overtaken = writer.send_barrier(overtaking(1), outbox));
    assert_eq!(offsets(&overtaken), [1], "what waits for credit is the producer's");
    bench.carry();
    let verdict = BarrierVerdict { begins: Some(overtaking(1)), ..BarrierVerdict::default() };
    assert_eq!(bench.poll(0), GateEvent::Barrier(verdict), "it is taken first");
    assert_eq!(bench.drain(0), (vec![0, 10, 1], vec![]), "nobody is blocked");
    assert_eq!(bench.consumers[0].take_captured(CheckpointId(1)), None, "a channel owes its barrier");
    bench.producer(1, |writer, outbox| drop(writer.send_barrier(overtaking(1), outbox)));
    bench.carry();
    let verdict = BarrierVerdict { aligned: Some(overtaking(1)), ..BarrierVerdict::default() };
    assert_eq!(bench.poll(0), GateEvent::Barrier(verdict));
    let captured = bench.consumers[0].take_captured(CheckpointId(1)).unwrap();
    assert_eq!(offsets(&captured), [0, 10], "overtaken, or taken before its own channel's barrier");
}

#[test]
fn restored_buffers_come_first_and_belong_to_a_checkpoint_that_comes_before_they_are_taken() {
    let mut bench = Bench::new(EdgeKind::Global, 1, 1, 1);
    bench.consumers[0].restore(vec![(SubtaskIndex(0), vec![record(3)]), (SubtaskIndex(0), vec![record(4)])]);
    bench.emit(0, 5..6);
    assert!(matches!(bench.poll(0), GateEvent::Records(records) if records == [record(3)]));
    bench.producer(0, |writer, outbox| drop(writer.send_barrier(overtaking(2), outbox)));
    bench.carry();
    let verdict =
        BarrierVerdict { begins: Some(overtaking(2)), aligned: Some(overtaking(2)), given_up: None };
    assert_eq!(bench.poll(0), GateEvent::Barrier(verdict));
    assert_eq!(offsets(&bench.consumers[0].take_captured(CheckpointId(2)).unwrap()), [4, 5]);
    assert_eq!(bench.drain(0).0, [4, 5]);
}

#[test]
fn restored_buffers_of_a_producer_go_out_before_what_it_reads() {
    let consumers = [peer(WRITERS, 0)];
    let mut writer = RecordWriter::new((execution(READERS, 0), EPOCH), EdgeKind::Forward, &consumers);
    writer.restore(vec![(SubtaskIndex(0), vec![record(1)]), (SubtaskIndex(0), vec![record(2)])]);
    assert!(!writer.is_available(), "the reader waits for them");
    let mut outbox = Outbox::new();
    writer.requested(consumers[0].attempt, ChannelRequest::Open { credit: 1 }, &mut outbox);
    assert_eq!(offsets(&writer.send_barrier(overtaking(4), &mut outbox)), [2], "one is sent");
}
