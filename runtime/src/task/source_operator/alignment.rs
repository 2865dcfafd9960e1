//! Watermark alignment from the reader's side: what it has reached in event time, what the coordinator allows, and who
//! waits for that.
//!
//! A split beyond the limit is paused, and read again once the limit has caught up. When the reader as a whole is beyond
//! it, the operator polls no more ([`OperatingMode::WaitingForAlignment`]); the announcement that allows more makes it go
//! on, and no timer ever looks. A watermark counts when its batch is emitted, as with a generator that emits at each event.
//! A reader begins without a limit: a restored one knows of none until the next announcement.

use super::{OperatingMode, SourceOperator, SourceOperatorError};
use crate::api::source::PauseError;
use crate::config::AlignmentConfig;
use crate::defects::Defect;
use crate::event::EventKind;
use crate::ids::SplitId;
use crate::message::{MAX_WATERMARK_MS, ReaderEvent};
use std::collections::{BTreeMap, BTreeSet};

/// The state of an aligned reader. Times are milliseconds of event time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Alignment {
    config: AlignmentConfig,
    allowed_ms: i64,
    /// The watermark of the whole reader; `None` before there is one.
    watermark_ms: Option<i64>,
    /// What each split has reached.
    splits: BTreeMap<SplitId, i64>,
    paused: BTreeSet<SplitId>,
    /// What is to be told of it.
    notes: Vec<EventKind>,
}

impl Alignment {
    pub(super) const fn new(config: AlignmentConfig) -> Self {
        Self {
            config,
            allowed_ms: MAX_WATERMARK_MS,
            watermark_ms: None,
            splits: BTreeMap::new(),
            paused: BTreeSet::new(),
            notes: Vec::new(),
        }
    }

    fn must_wait(&self) -> bool {
        self.watermark_ms.is_some_and(|watermark_ms| watermark_ms > self.allowed_ms)
    }

    /// Who is to be paused and who resumed now, by what the splits have reached.
    fn changes(&self) -> (Vec<SplitId>, Vec<SplitId>) {
        let is_beyond = |reached_ms: &i64| *reached_ms > self.allowed_ms;
        let of = |beyond: bool, paused: bool| {
            let splits = self.splits.iter().filter(move |(split, reached_ms)| {
                is_beyond(reached_ms) == beyond && self.paused.contains(split) == paused
            });
            splits.map(|(split, _)| *split).collect()
        };
        (of(true, false), of(false, true))
    }
}

/// Event time as a watermark.
fn watermark(event_time_ms: u64) -> i64 {
    i64::try_from(event_time_ms).unwrap_or(MAX_WATERMARK_MS)
}

impl SourceOperator {
    /// The same operator, aligned with its group; with `None` with nobody.
    #[must_use]
    pub fn aligned(mut self, config: Option<AlignmentConfig>) -> Self {
        debug_assert_eq!(self.mode, OperatingMode::OutputNotInitialized, "decided before it runs");
        self.alignment = config.map(Alignment::new).map(Box::new);
        self
    }

    /// Nanoseconds between two reports of the watermark, from the first emission on; `None` without alignment.
    #[must_use]
    pub fn report_period_ns(&self) -> Option<u64> {
        self.alignment.as_ref().map(|alignment| alignment.config.period_ns)
    }

    /// The watermark and the limit, in milliseconds, while the reader waits for the others of its group.
    #[must_use]
    pub fn waits_for_alignment(&self) -> Option<(i64, i64)> {
        let alignment =
            self.alignment.as_ref().filter(|_| self.mode == OperatingMode::WaitingForAlignment)?;
        alignment.watermark_ms.map(|watermark_ms| (watermark_ms, alignment.allowed_ms))
    }

    /// What alignment has to tell since it was last asked, in order.
    pub fn take_alignment_notes(&mut self) -> Vec<EventKind> {
        self.alignment.as_mut().map_or_else(Vec::new, |alignment| std::mem::take(&mut alignment.notes))
    }

    /// The time of a report has come: it goes into the context, unless there is no watermark yet. A reader whose splits
    /// are all idle holds nobody back.
    pub fn report_watermark(&mut self) {
        let Some(watermark_ms) = self.alignment.as_ref().and_then(|alignment| alignment.watermark_ms) else {
            return;
        };
        let idle = self.outputs.as_ref().is_some_and(|outputs| !outputs.is_empty() && outputs.is_idle());
        let reported_ms = if idle { MAX_WATERMARK_MS } else { watermark_ms };
        self.context.events.push(ReaderEvent::ReportedWatermark(reported_ms));
    }

    /// After an emission: pauses the split that has gone too far, and waits when the whole reader has.
    pub(super) fn align(&mut self, emitted: Option<(SplitId, u64)>) -> Result<(), SourceOperatorError> {
        let Some(alignment) = &mut self.alignment else { return Ok(()) };
        if let Some((split, event_time_ms)) = emitted {
            let reached_ms = alignment.splits.entry(split).or_insert(i64::MIN);
            *reached_ms = (*reached_ms).max(watermark(event_time_ms));
        }
        for split in &self.context.finished {
            alignment.splits.remove(split);
            alignment.paused.remove(split);
        }
        let outputs = self.outputs.as_mut().expect("they are made before the first poll");
        alignment.watermark_ms = alignment.watermark_ms.max(outputs.watermark_ms().map(watermark));
        let is_beyond =
            |(split, _)| alignment.splits.get(&split).is_some_and(|at| *at > alignment.allowed_ms);
        if emitted.is_some_and(is_beyond) {
            self.pause_and_resume()?;
        }
        self.wait_or_go_on();
        Ok(())
    }

    /// The coordinator says how far the reader may go.
    pub(super) fn allow(&mut self, allowed_ms: i64) -> Result<(), SourceOperatorError> {
        let Some(alignment) = &mut self.alignment else {
            let event = format!("WatermarkAlignmentEvent {{ maxWatermark={allowed_ms} }}");
            return Err(SourceOperatorError::UnexpectedEvent(event));
        };
        alignment.allowed_ms = allowed_ms;
        self.wait_or_go_on();
        self.pause_and_resume()
    }

    /// The reader holds nobody back any more: Flink says so in its next emission, the first one that brings
    /// END_OF_INPUT.
    pub(super) fn report_end(&mut self) {
        if self.defects.has(Defect::FinishedSubtaskHoldsBack) {
            return;
        }
        if let Some(alignment) = &mut self.alignment {
            alignment.watermark_ms = Some(MAX_WATERMARK_MS);
            self.report_watermark();
        }
    }

    fn pause_and_resume(&mut self) -> Result<(), SourceOperatorError> {
        let alignment = self.alignment.as_mut().expect("asked by an aligned reader");
        let (pause, resume) = alignment.changes();
        if pause.is_empty() && resume.is_empty() {
            return Ok(());
        }
        let outcome = self.reader.pause_or_resume_splits(&pause, &resume);
        PauseError::tolerate(outcome, alignment.config.allow_unaligned_splits)?;
        alignment.paused.extend(&pause);
        alignment.paused.retain(|split| !resume.contains(split));
        alignment.notes.push(EventKind::SplitsPaused { paused: pause, resumed: resume });
        debug_assert_eq!(alignment.changes(), (Vec::new(), Vec::new()), "all is as the limit says");
        Ok(())
    }

    fn wait_or_go_on(&mut self) {
        let alignment = self.alignment.as_mut().expect("asked by an aligned reader");
        let allowed_ms = alignment.allowed_ms;
        match (self.mode, alignment.must_wait()) {
            (OperatingMode::Reading, true) => {
                let watermark_ms = alignment.watermark_ms.expect("it is beyond the limit");
                self.mode = OperatingMode::WaitingForAlignment;
                alignment.notes.push(EventKind::AlignmentWaitBegan { watermark_ms, allowed_ms });
            }
            (OperatingMode::WaitingForAlignment, false) => {
                self.mode = OperatingMode::Reading;
                alignment.notes.push(EventKind::AlignmentWaitEnded { allowed_ms });
            }
            _ => {}
        }
        debug_assert!(self.mode != OperatingMode::Reading || !alignment.must_wait(), "who is beyond waits");
    }
}
