//! The reader by its port, and the splits' encoding. The enumerator is tested with its coordinator.

use super::*;
use crate::api::source::{InputStatus, ReaderContext};
use crate::api::source_state::{encode_reader_state, reader_splits_held};
use crate::config::{EventTime, Stall};
use crate::defects::Defect;
use crate::ids::CheckpointId;
use crate::message::{ReaderEvent, SplitPayload};
use crate::records::Record;
use proptest::prelude::*;

const SOURCE: RangeSource = RangeSource {
    operator: OperatorUid(3),
    plan: SourceConfig {
        split_count: 3,
        records_per_split: 4,
        policy: AssignmentPolicy::Pull,
        bounded: true,
        script: EnumeratorScript::NONE,
        discovery: None,
    },
    task: task_config(0),
};

const fn task_config(record_interval_ns: u64) -> TaskConfig {
    TaskConfig {
        record_interval_ns,
        filter_every: 0,
        user_failure: None,
        checkpoint_failure: None,
        write_buffer_records: 1,
        commit_retries_max: 10,
        commit_script: None,
        commit_back_off_ns: 0,
        store_timeout_ns: 1,
        reader: ReaderKind::Direct,
        stall: None,
        event_time: EventTime::NUMBER,
        alignment: None,
    }
}

struct Bench {
    reader: Box<dyn ReaderPort>,
    output: Vec<Record>,
    context: ReaderContext,
}

impl Bench {
    fn new(record_interval_ns: u64, pull: bool, defects: DefectSet) -> Self {
        Self::with(task_config(record_interval_ns), pull, defects)
    }

    fn with(config: TaskConfig, pull: bool, defects: DefectSet) -> Self {
        let reader = range_reader(&config, pull, defects);
        Self { reader, output: Vec::new(), context: ReaderContext::default() }
    }

    fn add(&mut self, splits: &[RangeSplit]) {
        let splits = splits.iter().map(|split| SOURCE.encode_split(split)).collect();
        self.reader.add_splits(splits, &mut self.context);
    }

    fn poll(&mut self, batch_size_max: u32) -> (InputStatus, Vec<u64>) {
        let status = self.reader.poll_next(batch_size_max, &mut self.output, &mut self.context).unwrap();
        (status, self.output.drain(..).map(|record| record.offset).collect())
    }

    fn positions(&mut self) -> Vec<(u32, u64)> {
        let state = encode_reader_state(&self.reader.snapshot_state(CheckpointId(1)));
        let held = SOURCE.splits_held(&state).unwrap();
        assert_eq!(reader_splits_held(&state), Ok(held.clone()));
        held.iter().map(|at| (at.split.index, at.position)).collect()
    }
}

use InputStatus::{EndOfInput, MoreAvailable, NothingAvailable};

#[test]
fn a_batch_ends_at_the_end_of_its_split_and_a_snapshot_then_holds_it_at_its_end() {
    let mut bench = Bench::new(0, true, DefectSet::NONE);
    bench.add(&SOURCE.plan_splits()[..2]);
    assert_eq!(bench.poll(3), (MoreAvailable, vec![0, 1, 2]));
    assert_eq!(bench.poll(3), (MoreAvailable, vec![3]));
    assert_eq!(bench.positions(), [(0, 4), (1, 4)]);
    assert_eq!(bench.poll(3), (MoreAvailable, vec![]));
    assert_eq!(bench.context.finished, [SplitId { operator: OperatorUid(3), index: 0 }]);
    assert_eq!(bench.positions(), [(1, 4)]);
    assert_eq!(bench.poll(9), (MoreAvailable, vec![4, 5, 6, 7]));
    assert!(bench.context.events.is_empty());
    assert_eq!(bench.poll(9), (NothingAvailable, vec![]));
    assert_eq!(bench.context.events, [ReaderEvent::RequestSplit]);
    assert!(!bench.reader.is_available());
    bench.reader.notify_no_more_splits(&mut bench.context);
    assert!(bench.reader.is_available());
    assert_eq!(bench.poll(9), (EndOfInput, vec![]));
}

#[test]
fn a_pulling_reader_asks_at_its_start_only_when_it_holds_nothing() {
    for (pull, holds, asks) in [(true, false, 1), (true, true, 0), (false, false, 0)] {
        let mut bench = Bench::new(0, pull, DefectSet::NONE);
        if holds {
            bench.add(&SOURCE.plan_splits()[..1]);
        }
        bench.reader.start(&mut bench.context);
        assert_eq!(bench.context.events.len(), asks);
    }
}

#[test]
fn a_rate_makes_it_wait_for_its_wake() {
    let mut bench = Bench::new(10, true, DefectSet::NONE);
    bench.add(&SOURCE.plan_splits()[..1]);
    assert_eq!(bench.poll(2), (NothingAvailable, vec![0, 1]));
    assert_eq!(bench.context.wake_after_ns, Some(20));
    assert!(!bench.reader.is_available());
    assert_eq!(bench.poll(2), (NothingAvailable, vec![]));
    bench.reader.wake();
    assert!(bench.reader.is_available());
    assert_eq!(bench.poll(1), (NothingAvailable, vec![2]));
}

#[test]
fn a_stall_cuts_the_batch_before_its_record_and_is_waited_for() {
    let stalled = TaskConfig { stall: Some(Stall { record: 2, for_ns: 1000 }), ..task_config(10) };
    let mut bench = Bench::with(stalled, true, DefectSet::NONE);
    bench.add(&SOURCE.plan_splits()[..1]);
    assert_eq!(bench.poll(4), (NothingAvailable, vec![0, 1]));
    assert_eq!(bench.context.wake_after_ns, Some(1020));
}

#[test]
fn a_blocking_reader_waits_inside_its_poll_for_each_record() {
    let blocking = TaskConfig { reader: ReaderKind::Blocking, ..task_config(10) };
    let mut bench = Bench::with(blocking, true, DefectSet::NONE);
    bench.add(&SOURCE.plan_splits()[..1]);
    for offset in 0..4 {
        assert_eq!(bench.poll(3), (NothingAvailable, vec![]));
        assert_eq!(bench.context.blocked_for_ns.take(), Some(10));
        bench.reader.wake();
        assert_eq!(bench.poll(3), (MoreAvailable, vec![offset]));
    }
    assert_eq!((bench.context.blocked_for_ns, bench.context.wake_after_ns), (None, None));
}

#[test]
fn splits_at_their_end_and_empty_ones_are_finished_without_a_record() {
    let mut bench = Bench::new(0, false, DefectSet::NONE);
    let mut split = SOURCE.plan_splits()[0];
    split.at.position = split.at.end;
    bench.add(&[split]);
    bench.reader.notify_no_more_splits(&mut bench.context);
    assert_eq!(bench.poll(1), (MoreAvailable, vec![]));
    assert_eq!(bench.context.finished, [split.at.split]);
    assert_eq!(bench.poll(1), (EndOfInput, vec![]));
}

#[test]
fn the_defective_snapshot_names_the_position_behind_the_next_record() {
    let mut bench = Bench::new(0, true, DefectSet::NONE.with(Defect::ReaderSnapshotsAhead));
    bench.add(&SOURCE.plan_splits()[..1]);
    bench.poll(1);
    assert_eq!(bench.positions(), [(0, 2)]);
}

#[test]
fn the_defective_order_swaps_pairs_and_keeps_every_record() {
    let mut bench = Bench::new(0, true, DefectSet::NONE.with(Defect::ReaderSwapsRecords));
    bench.add(&SOURCE.plan_splits()[..1]);
    let mut offsets = Vec::new();
    for _ in 0..20 {
        offsets.extend(bench.poll(3).1);
    }
    let mut sorted = offsets.clone();
    sorted.sort_unstable();
    assert_eq!(offsets[..2], [sorted[1], sorted[0]]);
    assert_eq!(sorted.len() as u64, SOURCE.plan.records_per_split);
}

#[test]
fn an_unbounded_plan_has_no_end_in_reach() {
    let mut source = SOURCE;
    source.plan.bounded = false;
    assert!(source.plan_splits().iter().all(|split| split.at.end == UNBOUNDED_END));
    assert_eq!(source.boundedness(), Boundedness::ContinuousUnbounded);
    assert_eq!(SOURCE.boundedness(), Boundedness::Bounded);
}

#[test]
fn stored_splits_that_say_something_else_than_their_payload_are_refused() {
    let mut payload: SplitPayload = SOURCE.encode_split(&SOURCE.plan_splits()[1]);
    assert!(SOURCE.decode_split(&payload).is_ok());
    payload.at.position += 1;
    assert!(matches!(SOURCE.decode_split(&payload), Err(StateError::Malformed(_))));
    payload.version = 2;
    assert_eq!(SOURCE.decode_split(&payload), Err(StateError::UnknownVersion(2)));
}

#[test]
fn equal_readers_have_equal_fingerprints_and_copies_part() {
    use std::hash::DefaultHasher;
    use std::hash::Hasher;
    let fingerprint = |reader: &dyn ReaderPort| {
        let mut hasher = DefaultHasher::new();
        reader.fingerprint(&mut hasher);
        hasher.finish()
    };
    let mut bench = Bench::new(0, true, DefectSet::NONE);
    bench.add(&SOURCE.plan_splits());
    let copy = bench.reader.clone();
    assert_eq!(fingerprint(copy.as_ref()), fingerprint(bench.reader.as_ref()));
    bench.poll(1);
    assert_ne!(fingerprint(copy.as_ref()), fingerprint(bench.reader.as_ref()));
}

proptest! {
    /// However the polls are cut, and wherever a reader is replaced by one restored from its state, each record comes
    /// once and in order.
    #[test]
    fn every_record_comes_once_across_restores(polls in prop::collection::vec((1u32..6, any::<bool>()), 1..40)) {
        let mut bench = Bench::new(0, false, DefectSet::NONE);
        bench.add(&SOURCE.plan_splits());
        let mut read = Vec::new();
        let rest = std::iter::repeat_n((5, false), 12);
        for (batch_size_max, replaced) in polls.into_iter().chain(rest) {
            read.extend(bench.poll(batch_size_max).1);
            if replaced {
                let state = bench.reader.snapshot_state(CheckpointId(1));
                bench = Bench::new(0, false, DefectSet::NONE);
                bench.reader.add_splits(state, &mut bench.context);
            }
        }
        prop_assert_eq!(read, (0..12).collect::<Vec<u64>>());
    }
}
