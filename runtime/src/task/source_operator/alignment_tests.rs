//! The operator with the range reader: two splits whose event times are far apart.

use super::*;
use crate::api::source::SimpleVersionedSerializer;
use crate::config::{AlignmentConfig, EventTime, ReaderKind, TaskConfig};
use crate::connectors::range_source::{RangeSplit, RangeSplitSerializer, range_reader};
use crate::event::EventKind;
use crate::ids::{OperatorUid, WatermarkGroup};
use crate::message::MAX_WATERMARK_MS;
use crate::records::SplitPosition;
use proptest::prelude::*;

const RECORDS: u64 = 10;

/// Split `i` begins 100 ms after split `i - 1`; a record is 10 ms after the one before.
fn config(reader: ReaderKind, allow_unaligned_splits: bool) -> TaskConfig {
    TaskConfig {
        record_interval_ns: 0,
        filter_every: 0,
        user_failure: None,
        checkpoint_failure: None,
        write_buffer_records: 1,
        commit_retries_max: 0,
        commit_script: None,
        commit_back_off_ns: 0,
        store_timeout_ns: 1,
        reader,
        stall: None,
        event_time: EventTime { step_ms: 10, split_skew_ms: 0 },
        alignment: Some(AlignmentConfig {
            group: WatermarkGroup(0),
            max_drift_ms: 20,
            period_ns: 5,
            allow_unaligned_splits,
        }),
    }
}

const fn id(index: u32) -> SplitId {
    SplitId { operator: OperatorUid(0), index }
}

fn split(index: u32) -> SplitPayload {
    let position = u64::from(index) * RECORDS;
    let at = SplitPosition { split: id(index), position, end: position + RECORDS };
    SplitPayload { at, version: 1, bytes: RangeSplitSerializer.serialize(&RangeSplit { at }) }
}

fn operator_of(config: TaskConfig, splits: &[u32]) -> SourceOperator {
    let reader = range_reader(&config, false, DefectSet::NONE);
    let mut operator = SourceOperator::new(reader, false, DefectSet::NONE).aligned(config.alignment);
    operator.open(splits.iter().map(|index| split(*index)).collect(), &mut |_| {});
    operator.handle_operator_event(OperatorEvent::NoMoreSplits).unwrap();
    operator
}

fn operator(splits: &[u32]) -> SourceOperator {
    operator_of(config(ReaderKind::Direct, false), splits)
}

/// Polls once; answers the number of the record, if one came.
fn poll(operator: &mut SourceOperator) -> Option<u64> {
    operator.emit_next(1).unwrap();
    let records = operator.take_records();
    let number = records.first().map(|record| record.offset);
    operator.give_back(records);
    operator.context().finished.clear();
    number
}

fn allow(operator: &mut SourceOperator, allowed_ms: i64) {
    operator.handle_operator_event(OperatorEvent::WatermarkAlignment { allowed_ms }).unwrap();
}

fn reported(operator: &mut SourceOperator) -> Vec<ReaderEvent> {
    operator.report_watermark();
    std::mem::take(&mut operator.context().events)
}

#[test]
fn a_reader_beyond_the_limit_waits_until_more_is_allowed() {
    let mut operator = operator(&[1]);
    assert_eq!(reported(&mut operator), [], "there is no watermark yet");
    assert_eq!([poll(&mut operator), poll(&mut operator)], [Some(10), Some(11)], "nobody has said anything");
    assert_eq!(reported(&mut operator), [ReaderEvent::ReportedWatermark(110)]);
    allow(&mut operator, 105);
    assert_eq!(operator.mode(), OperatingMode::WaitingForAlignment);
    assert_eq!(operator.waits_for_alignment(), Some((110, 105)));
    assert!(!operator.is_available(), "the default action is suspended");
    assert_eq!(poll(&mut operator), None);
    assert_eq!(operator.snapshot_state(CheckpointId(1))[0].at.position, 12, "a checkpoint is none the wiser");
    assert_eq!(reported(&mut operator), [ReaderEvent::ReportedWatermark(110)], "it reports all the same");
    allow(&mut operator, 120);
    assert!(operator.is_available());
    assert_eq!([poll(&mut operator), poll(&mut operator), poll(&mut operator)], [Some(12), Some(13), None]);
    let waits = |watermark_ms, allowed_ms| EventKind::AlignmentWaitBegan { watermark_ms, allowed_ms };
    let paused = EventKind::SplitsPaused { paused: vec![id(1)], resumed: Vec::new() };
    let resumed = EventKind::SplitsPaused { paused: Vec::new(), resumed: vec![id(1)] };
    assert_eq!(
        operator.take_alignment_notes(),
        [
            waits(110, 105),
            paused.clone(),
            EventKind::AlignmentWaitEnded { allowed_ms: 120 },
            resumed,
            paused,
            waits(130, 120)
        ]
    );
}

#[test]
fn only_the_split_that_is_ahead_is_paused_and_none_of_its_records_is_lost() {
    let mut operator = operator(&[1, 0]);
    allow(&mut operator, 105);
    let read: Vec<_> = (0..6).map(|_| poll(&mut operator)).collect();
    assert_eq!(read, [Some(10), Some(11), Some(0), Some(1), Some(2), Some(3)], "split-1 is paused at 110 ms");
    assert_eq!(operator.waits_for_alignment(), None, "the slowest split counts");
    allow(&mut operator, 120);
    assert_eq!([poll(&mut operator), poll(&mut operator)], [Some(12), Some(13)]);
    let rest: Vec<_> = (0..7).map(|_| poll(&mut operator)).collect();
    assert_eq!(rest, [Some(4), Some(5), Some(6), Some(7), Some(8), Some(9), None]);
    assert_eq!(operator.waits_for_alignment(), Some((130, 120)), "split-0 has ended and holds nobody back");
}

#[test]
fn a_reader_that_cannot_pause_fails_unless_unaligned_splits_are_allowed() {
    let mut strict = operator_of(config(ReaderKind::Blocking, false), &[1, 0]);
    poll(&mut strict);
    let event = OperatorEvent::WatermarkAlignment { allowed_ms: 50 };
    let unsupported = PauseError::Unsupported(1);
    assert_eq!(strict.handle_operator_event(event.clone()), Err(SourceOperatorError::Alignment(unsupported)));
    let mut lax = operator_of(config(ReaderKind::Blocking, true), &[1, 0]);
    poll(&mut lax);
    assert_eq!(lax.handle_operator_event(event), Ok(()));
    assert_eq!(poll(&mut lax), Some(11), "it reads on");
}

#[test]
fn a_reader_that_waits_can_be_stopped() {
    for (mode, status) in
        [(StopMode::Drain, DataInputStatus::EndOfData), (StopMode::NoDrain, DataInputStatus::Stopped)]
    {
        let mut operator = operator(&[1]);
        poll(&mut operator);
        allow(&mut operator, 0);
        assert!(!operator.is_available());
        operator.stop(mode);
        assert!(operator.is_available());
        assert_eq!(operator.emit_next(1), Ok(status));
        let told = std::mem::take(&mut operator.context().events);
        let ends = [ReaderEvent::ReportedWatermark(MAX_WATERMARK_MS)];
        assert_eq!(told, if mode == StopMode::Drain { &ends[..] } else { &[] }, "{mode:?}");
        allow(&mut operator, MAX_WATERMARK_MS);
        assert_eq!(operator.mode(), OperatingMode::DataFinished, "an announcement revives nobody");
    }
}

#[test]
fn a_reader_that_has_ended_or_is_idle_holds_nobody_back() {
    let mut idle = operator(&[1]);
    poll(&mut idle);
    assert_eq!(reported(&mut idle), [ReaderEvent::ReportedWatermark(100)]);
    idle.outputs.as_mut().unwrap().mark_idle(id(1));
    assert_eq!(reported(&mut idle), [ReaderEvent::ReportedWatermark(MAX_WATERMARK_MS)]);

    let mut ended = operator(&[]);
    assert_eq!(ended.emit_next(1), Ok(DataInputStatus::EndOfData));
    let told = std::mem::take(&mut ended.context().events);
    assert_eq!(told, [ReaderEvent::ReportedWatermark(MAX_WATERMARK_MS)]);
}

#[test]
fn an_announcement_for_an_operator_without_alignment_is_an_error() {
    let plain = TaskConfig { alignment: None, ..config(ReaderKind::Direct, false) };
    let mut operator = operator_of(plain, &[0]);
    let outcome = operator.handle_operator_event(OperatorEvent::WatermarkAlignment { allowed_ms: 1 });
    assert!(matches!(outcome, Err(SourceOperatorError::UnexpectedEvent(_))));
}

proptest! {
    /// Whatever is announced and when: each record comes once, in the order of its split, and nothing comes while the
    /// watermark is beyond the limit.
    #[test]
    fn announcements_reorder_splits_and_nothing_else(limits in prop::collection::vec((0i64..320, 0usize..6), 0..30)) {
        let mut operator = operator(&[2, 0, 1]);
        let mut read = Vec::new();
        for (allowed_ms, polls) in limits.into_iter().chain([(MAX_WATERMARK_MS, 40)]) {
            allow(&mut operator, allowed_ms);
            for _ in 0..polls {
                let waits = operator.waits_for_alignment().is_some();
                prop_assert!(!waits || !operator.is_available());
                if operator.is_available() && operator.mode() != OperatingMode::DataFinished {
                    read.extend(poll(&mut operator));
                }
            }
        }
        for index in 0..3 {
            let of_split: Vec<u64> = read.iter().copied().filter(|number| number / RECORDS == index).collect();
            let expected: Vec<u64> = (index * RECORDS..(index + 1) * RECORDS).collect();
            prop_assert_eq!(of_split, expected);
        }
    }
}
