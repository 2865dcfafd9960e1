//! FACTS 51-57, on the operator alone. The reader hands on one record a poll and logs the calls that it gets.

use super::*;
use crate::api::source_state::positions;
use crate::ids::OperatorUid;
use crate::records::SplitPosition;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};

#[derive(Clone, Debug, Default, Hash)]
struct LoggingReader {
    calls: Vec<String>,
    splits: VecDeque<SplitPayload>,
    no_more: bool,
}

impl ReaderPort for LoggingReader {
    fn start(&mut self, context: &mut ReaderContext) {
        self.calls.push("start".to_owned());
        context.events.push(ReaderEvent::RequestSplit);
    }

    fn poll_next(
        &mut self,
        _: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> Result<InputStatus, UserError> {
        let Some(front) = self.splits.front_mut() else {
            return if self.no_more { Ok(InputStatus::EndOfInput) } else { Err(UserError::new("no split")) };
        };
        let at = &mut front.at;
        output.push(Record {
            split: at.split,
            offset: at.position,
            event_time_ms: at.position,
            key: 0,
            payload: Vec::new(),
        });
        at.position += 1;
        if at.position == at.end {
            context.finished.push(at.split);
            self.splits.pop_front();
        }
        Ok(InputStatus::MoreAvailable)
    }

    fn snapshot_state(&mut self, _: CheckpointId) -> Vec<SplitPayload> {
        self.splits.iter().cloned().collect()
    }

    fn add_splits(&mut self, splits: Vec<SplitPayload>, _: &mut ReaderContext) {
        self.calls.push(format!("addSplits {}", splits.len()));
        self.splits.extend(splits);
    }

    fn notify_no_more_splits(&mut self, _: &mut ReaderContext) {
        self.no_more = true;
    }

    fn handle_source_event(&mut self, event: Vec<u8>, _: &mut ReaderContext) {
        self.calls.push(format!("event {event:?}"));
    }

    fn wake(&mut self) {}

    fn is_available(&self) -> bool {
        !self.splits.is_empty() || self.no_more
    }

    fn notify_checkpoint_complete(&mut self, _: CheckpointId) {}

    fn notify_checkpoint_aborted(&mut self, _: CheckpointId) {}

    fn clone_box(&self) -> Box<dyn ReaderPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.hash(&mut hasher);
    }
}

const fn id(index: u32) -> SplitId {
    SplitId { operator: OperatorUid(0), index }
}

fn split(index: u32, end: u64) -> SplitPayload {
    SplitPayload { at: SplitPosition { split: id(index), position: 0, end }, version: 1, bytes: Vec::new() }
}

fn operator(reassigns: bool, defects: DefectSet) -> SourceOperator {
    SourceOperator::new(Box::new(LoggingReader::default()), reassigns, defects)
}

fn opened(splits: Vec<SplitPayload>) -> SourceOperator {
    let mut operator = operator(false, DefectSet::NONE);
    operator.open(splits, &mut |_| {});
    operator.context().events.clear();
    operator
}

fn add(operator: &mut SourceOperator, splits: Vec<SplitPayload>) -> Result<(), SourceOperatorError> {
    operator.handle_operator_event(OperatorEvent::AddSplits(splits))
}

fn emit(operator: &mut SourceOperator) -> DataInputStatus {
    let status = operator.emit_next(1).unwrap();
    operator.context().finished.clear();
    let records = operator.take_records();
    operator.give_back(records);
    status
}

fn calls(operator: &SourceOperator) -> String {
    format!("{:?}", operator.reader())
}

#[test]
fn restored_splits_then_the_registration_then_the_start() {
    let mut operator = operator(false, DefectSet::NONE);
    let mut told = Vec::new();
    operator.open(vec![split(1, 5), split(0, 5)], &mut |event| told.push(event));
    assert_eq!(told, [ReaderEvent::Register { reported: Vec::new() }]);
    assert!(calls(&operator).contains(r#"calls: ["addSplits 2", "start"]"#), "{}", calls(&operator));
    assert_eq!(operator.context().events, [ReaderEvent::RequestSplit]);
    assert_eq!(positions(&operator.snapshot_state(CheckpointId(1)))[0].split, id(1));
}

#[test]
fn without_restored_splits_none_are_added() {
    assert!(calls(&opened(Vec::new())).contains(r#"calls: ["start"]"#));
}

#[test]
fn a_source_that_reassigns_reports_its_splits_and_keeps_none() {
    let mut operator = operator(true, DefectSet::NONE);
    let mut told = Vec::new();
    operator.open(vec![split(0, 5)], &mut |event| told.push(event));
    assert_eq!(told, [ReaderEvent::Register { reported: vec![split(0, 5)] }]);
    assert!(operator.snapshot_state(CheckpointId(1)).is_empty());
    add(&mut operator, vec![split(0, 5)]).unwrap();
    assert_eq!(operator.snapshot_state(CheckpointId(2)), [split(0, 5)]);
}

#[test]
fn end_of_data_once_then_end_of_input_for_ever() {
    let mut operator = opened(Vec::new());
    operator.handle_operator_event(OperatorEvent::NoMoreSplits).unwrap();
    let statuses: Vec<_> = (0..3).map(|_| emit(&mut operator)).collect();
    use DataInputStatus::{EndOfData, EndOfInput};
    assert_eq!(statuses, [EndOfData, EndOfInput, EndOfInput]);
    assert!(operator.is_available());
}

#[test]
fn a_split_after_the_end_is_refused_or_lost_for_good() {
    for (defects, taken) in
        [(DefectSet::NONE, false), (DefectSet::NONE.with(Defect::SplitAfterEndOfInputLost), true)]
    {
        let mut operator = operator(false, defects);
        operator.open(Vec::new(), &mut |_| {});
        operator.handle_operator_event(OperatorEvent::NoMoreSplits).unwrap();
        emit(&mut operator);
        assert_eq!(add(&mut operator, vec![split(3, 5)]).is_ok(), taken);
        assert_eq!(emit(&mut operator), DataInputStatus::EndOfInput);
        assert_eq!(operator.snapshot_state(CheckpointId(9)).len(), usize::from(taken));
    }
}

#[test]
fn an_unknown_event_is_named() {
    let error = opened(Vec::new()).handle_operator_event(OperatorEvent::Unknown("E".to_owned())).unwrap_err();
    assert_eq!(error.to_string(), "Received unexpected operator event E");
}

#[test]
fn a_stop_ends_the_reading_with_or_without_a_drain() {
    for (mode, first) in
        [(StopMode::Drain, DataInputStatus::EndOfData), (StopMode::NoDrain, DataInputStatus::Stopped)]
    {
        let mut operator = opened(vec![split(0, 5)]);
        assert_eq!(emit(&mut operator), DataInputStatus::MoreAvailable);
        operator.stop(mode);
        operator.stop(StopMode::NoDrain);
        assert!(operator.is_available());
        assert_eq!(emit(&mut operator), first);
        assert_eq!(emit(&mut operator), DataInputStatus::EndOfInput);
        // A savepoint takes what is assigned meanwhile along, so it is not lost.
        add(&mut operator, vec![split(1, 5)]).unwrap();
        assert_eq!(operator.snapshot_state(CheckpointId(1)).len(), 2);
    }
}

#[test]
fn a_split_after_a_stop_before_the_first_emission_has_no_output() {
    let mut operator = opened(vec![split(0, 5)]);
    operator.stop(StopMode::NoDrain);
    assert_eq!(
        add(&mut operator, vec![split(1, 5)]),
        Err(SourceOperatorError::NoMainOutput { split: id(1) })
    );
    assert_eq!(operator.snapshot_state(CheckpointId(1)).len(), 1);
}

#[test]
fn what_the_reader_throws_is_the_tasks_error() {
    let error = opened(Vec::new()).emit_next(1).unwrap_err();
    assert_eq!(error.to_string(), "the source reader failed: no split");
}

#[test]
fn outputs_come_with_the_first_emission_and_go_with_their_split() {
    let mut operator = opened(vec![split(0, 1), split(1, 2)]);
    add(&mut operator, vec![split(2, 5)]).unwrap();
    assert!(operator.outputs().is_none());
    emit(&mut operator);
    let held = |operator: &SourceOperator| operator.outputs().unwrap().splits().collect::<Vec<_>>();
    assert_eq!(held(&operator), [id(1), id(2)], "split-0 was at its end after one record");
    add(&mut operator, vec![split(3, 5)]).unwrap();
    assert_eq!(held(&operator), [id(1), id(2), id(3)]);
}

#[test]
fn only_a_reading_operator_goes_on_within_a_turn() {
    use DataInputStatus::{MoreAvailable, NothingAvailable};
    use OperatingMode::{OutputNotInitialized, Reading};
    let mut operator = opened(vec![split(0, 5)]);
    assert!(!operator.goes_on(OutputNotInitialized, MoreAvailable, true));
    assert_eq!(operator.emit_next(1), Ok(MoreAvailable));
    assert!(operator.goes_on(Reading, MoreAvailable, true));
    assert!(!operator.goes_on(Reading, MoreAvailable, false));
    assert!(!operator.goes_on(Reading, NothingAvailable, true));
    assert!(!operator.goes_on(OutputNotInitialized, MoreAvailable, true));
}

proptest! {
    /// The combined watermark is the minimum over the active outputs, and never goes back.
    #[test]
    fn watermarks_agree_with_a_plain_minimum(ops in prop::collection::vec((0u32..3, 0u64..20, 0u8..6), 1..40)) {
        let (mut outputs, mut plain, mut reached) = (SplitOutputs::default(), BTreeMap::new(), None);
        for (index, time, op) in ops {
            match op {
                0 => { outputs.release(id(index)); plain.remove(&index); }
                1 => { outputs.create(id(index)); plain.entry(index).or_insert((None, false)); }
                2 => { outputs.mark_idle(id(index)); plain.entry(index).and_modify(|output| output.1 = true); }
                _ => {
                    outputs.emitted(id(index), time);
                    let output = plain.entry(index).or_insert((None, false));
                    *output = (output.0.max(Some(time)), false);
                }
            }
            let least = plain.values().filter(|output| !output.1).map(|output| output.0).min().flatten();
            reached = reached.max(least);
            prop_assert_eq!(outputs.watermark_ms(), reached);
            prop_assert_eq!(outputs.is_idle(), plain.values().all(|output| output.1));
        }
    }
}
