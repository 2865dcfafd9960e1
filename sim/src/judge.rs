//! What stands beside a run and judges it: the checkers, the running trace hash, the counts of what was exercised and the
//! totals of records. It reads events only, never the world.

use serde::{Deserialize, Serialize};
use splitrace_invariants::{
    Checkers, Code, Coverage, Exercised, Judgement, Moment, RunEnd, RunSetup, TraceHash, Violation,
};
use splitrace_runtime::event::{Event, EventKind, Window};
use splitrace_runtime::message::JobResult;
use splitrace_runtime::records::RecordRanges;
use std::hash::Hasher;

/// How many records were read and made visible.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RecordTotals {
    /// Visible, each as often as it is visible.
    pub total: u64,
    /// Visible, each once.
    pub distinct: u64,
    /// What must be visible at the end.
    pub expected: u64,
    /// `total - distinct`.
    pub duplicates: u64,
    /// `expected - distinct`.
    pub missing: u64,
    /// Handed on by readers.
    pub read: u64,
    /// Handed on by readers although they had been handed on before.
    pub re_read: u64,
}

/// The judge of one run.
#[derive(Clone, Debug)]
pub struct Judge {
    checkers: Checkers,
    hash: TraceHash,
    coverage: Coverage,
    violations: Vec<Violation>,
    hears_all: bool,
    event_count: u64,
    read: u64,
    read_ranges: RecordRanges,
    re_read: u64,
    visible_total: u64,
    visible: RecordRanges,
    last_progress_ns: u64,
    job_result: Option<JobResult>,
    last: Option<Moment>,
}

impl Judge {
    /// A judge for a run.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self {
            checkers: Checkers::new(setup),
            hash: TraceHash::new(),
            coverage: Coverage::new(),
            violations: Vec::new(),
            hears_all: false,
            event_count: 0,
            read: 0,
            read_ranges: RecordRanges::new(),
            re_read: 0,
            visible_total: 0,
            visible: RecordRanges::new(),
            last_progress_ns: 0,
            job_result: None,
            last: None,
        }
    }

    /// Takes one event in; answers the window of the protocol that it opens.
    pub fn observe(&mut self, event: &Event) -> Option<Window> {
        self.event_count += 1;
        self.last = Some(Moment::from(&event.header));
        self.hash.observe(event);
        let opened = self.coverage.observe(event);
        self.count(event);
        if self.hears_all {
            self.checkers.observe_each(event, &mut self.violations);
        } else if self.violations.is_empty()
            && let Err(violation) = self.checkers.observe(event)
        {
            tracing::error!(%violation, "violated");
            self.violations.push(violation);
        }
        opened
    }

    /// From here on every checker has its say, also after another one's violation.
    pub const fn hear_all(&mut self) {
        self.hears_all = true;
    }

    /// The run is over: what the checkers still have to say.
    pub fn finish(&mut self, end: &RunEnd) {
        if self.hears_all {
            self.checkers.finish_each(end, &mut self.violations);
        } else if self.violations.is_empty()
            && let Err(violation) = self.checkers.finish(end)
        {
            self.violations.push(violation);
        }
    }

    /// What each invariant had to judge.
    #[must_use]
    pub fn judgements(&self) -> Vec<(Code, Judgement)> {
        self.checkers.judgements()
    }

    fn count(&mut self, event: &Event) {
        match &event.kind {
            EventKind::RecordsEmitted { range } => {
                self.read += range.len();
                if self.read_ranges.first_overlap(*range).is_some() {
                    self.re_read += covered(&self.read_ranges, *range);
                }
                self.read_ranges.insert(*range);
            }
            EventKind::BecameVisible { records, .. } => {
                self.visible_total += records.len();
                self.visible.extend(records);
            }
            EventKind::JobEnded { result } => self.job_result = Some(result.clone()),
            // A completed checkpoint is none: a job that waits for ever goes on completing them.
            EventKind::TaskStateChanged { .. } | EventKind::JobSubmitted { .. } | EventKind::Healed => {}
            _ => return,
        }
        self.last_progress_ns = event.header.virtual_time_ns;
    }

    /// The job is submitted again: its result is to come.
    pub fn job_submitted(&mut self) {
        debug_assert!(self.job_result.is_some(), "the last one has ended");
        self.job_result = None;
    }

    /// The totals, given what must be visible at the end.
    #[must_use]
    pub fn totals(&self, expected: u64) -> RecordTotals {
        let distinct = self.visible.len();
        RecordTotals {
            total: self.visible_total,
            distinct,
            expected,
            duplicates: self.visible_total - distinct,
            missing: expected.saturating_sub(distinct),
            read: self.read,
            re_read: self.re_read,
        }
    }

    /// The first violation.
    #[must_use]
    pub fn violation(&self) -> Option<&Violation> {
        self.violations.first()
    }

    /// Every violation, in the order in which they were seen: more than one only after [`Self::hear_all`].
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Virtual time of the last record, commit or change of a task's state.
    #[must_use]
    pub const fn last_progress_ns(&self) -> u64 {
        self.last_progress_ns
    }

    /// The job's result, once the high-availability service has it.
    #[must_use]
    pub const fn job_result(&self) -> Option<&JobResult> {
        self.job_result.as_ref()
    }

    /// Where the last event was told.
    #[must_use]
    pub const fn last(&self) -> Option<Moment> {
        self.last
    }

    /// How many events there were.
    #[must_use]
    pub const fn event_count(&self) -> u64 {
        self.event_count
    }

    /// The trace hash so far.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.hash.value()
    }

    /// What was exercised.
    #[must_use]
    pub fn exercised(&self) -> Exercised {
        self.coverage.exercised()
    }

    /// Feeds what a verdict may still depend on into `hasher`: the checkers, not the counts.
    pub fn fingerprint(&self, hasher: &mut dyn Hasher) {
        self.checkers.fingerprint(hasher);
    }
}

/// How many records of `range` are in `ranges`.
fn covered(ranges: &RecordRanges, range: splitrace_runtime::records::OffsetRange) -> u64 {
    ranges
        .of_split(range.split)
        .map(|held| held.end.min(range.end).saturating_sub(held.start.max(range.start)))
        .sum()
}
