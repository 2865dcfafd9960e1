//! A run told in tens to hundreds of lines.
//!
//! A run has thousands of events; its turns (faults, failovers, the fate of checkpoints, the end) are few and
//! are always told. The room that is left goes to the protocol's steps from the end backwards, because a run
//! stops where something is violated, and the last rows are told in full detail. What is left out is counted
//! where it would stand.

use crate::file_watch::FileWatch;
use crate::timeline::{Row, Rows, Weight};
use splitrace_runtime::config::{JobConfig, SinkKind};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::records::{OffsetRange, RecordRanges};
use std::fmt::Write;

/// How many rows a story has at most, turns apart.
pub const ROWS_MAX: usize = 240;

/// How many of the last rows are told whatever their weight.
pub const LAST_ROWS: usize = 40;

/// Collects what a run's events say.
#[derive(Clone, Debug)]
pub struct Story {
    rows: Rows,
    told: Vec<Row>,
    reads: Ledger,
    visible: Ledger,
    /// What appears in the folder of a job that writes files.
    files: Option<FileWatch>,
}

impl Story {
    /// For a run of this job.
    #[must_use]
    pub fn new(job: &JobConfig) -> Self {
        Self {
            rows: Rows::new(job),
            told: Vec::new(),
            reads: Ledger::default(),
            visible: Ledger::default(),
            files: matches!(job.sink, SinkKind::Files(_)).then(FileWatch::default),
        }
    }

    /// Takes the next event of the run.
    pub fn observe(&mut self, event: &Event) {
        match &event.kind {
            EventKind::RecordsEmitted { range } => self.reads.take(*range),
            EventKind::BecameVisible { records, .. } => {
                records.ranges().iter().for_each(|range| self.visible.take(*range));
            }
            _ => {}
        }
        if let Some(files) = &mut self.files {
            files.observe(event);
        }
        self.told.extend(self.rows.row(event));
    }

    /// What appeared in the folder of a job that writes files.
    #[must_use]
    pub const fn files(&self) -> Option<&FileWatch> {
        self.files.as_ref()
    }

    /// Adds a row of the program that submitted the job.
    pub fn say(&mut self, virtual_time_ns: u64, text: String) {
        self.told.push(Rows::main(virtual_time_ns, text));
    }

    /// All rows.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.told
    }

    /// What readers read.
    #[must_use]
    pub const fn reads(&self) -> &Ledger {
        &self.reads
    }

    /// What became visible outside.
    #[must_use]
    pub const fn visible(&self) -> &Ledger {
        &self.visible
    }

    /// The story in at most about [`ROWS_MAX`] lines, or whole.
    #[must_use]
    pub fn text(&self, all: bool) -> String {
        let mut text = String::new();
        let mut left_out = 0;
        let kept = if all { vec![true; self.told.len()] } else { keep(&self.told, ROWS_MAX, LAST_ROWS) };
        for (row, kept) in self.told.iter().zip(kept) {
            if !kept {
                left_out += 1;
                continue;
            }
            tell_gap(&mut text, &mut left_out);
            writeln!(text, "{row}").expect("a string takes all");
        }
        tell_gap(&mut text, &mut left_out);
        text
    }
}

fn tell_gap(text: &mut String, left_out: &mut usize) {
    if *left_out > 0 {
        writeln!(text, "          ... {left_out} quieter rows (--all tells them)")
            .expect("a string takes all");
        *left_out = 0;
    }
}

/// Which rows are told: all turns, the last rows, and steps from the end backwards while there is room.
fn keep(rows: &[Row], rows_max: usize, last_rows: usize) -> Vec<bool> {
    let mut kept: Vec<bool> = rows.iter().map(|row| row.weight == Weight::Turn).collect();
    let mut room = rows_max.saturating_sub(kept.iter().filter(|kept| **kept).count());
    let last = rows.len().saturating_sub(last_rows);
    for (from, least) in [(last, Weight::Detail), (0, Weight::Step), (0, Weight::Detail)] {
        for index in (from..rows.len()).rev() {
            if room > 0 && !kept[index] && rows[index].weight >= least {
                kept[index] = true;
                room -= 1;
            }
        }
    }
    debug_assert!(kept.len() == rows.len(), "one answer per row");
    kept
}

/// To which records something happened, and to which more than once. It goes record by record: stories are
/// small.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    count: u64,
    once: RecordRanges,
    again: RecordRanges,
}

impl Ledger {
    fn take(&mut self, range: OffsetRange) {
        self.count += range.len();
        for offset in range.start..range.end {
            if self.once.insert_record(range.split, offset) {
                self.again.insert_record(range.split, offset);
            }
        }
    }

    /// How often it happened, each time counted.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The records to which it happened more than once.
    #[must_use]
    pub const fn again(&self) -> &RecordRanges {
        &self.again
    }

    /// How often it was not a record's first time.
    #[must_use]
    pub fn repeats(&self) -> u64 {
        self.count - self.once.len()
    }
}

/// `split-1[77..79], split-2[80..85]`.
#[must_use]
pub fn named(records: &RecordRanges) -> String {
    let shown: Vec<String> = records.ranges().iter().map(ToString::to_string).collect();
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitrace_runtime::ids::SplitId;

    fn row(index: u64, weight: Weight) -> Row {
        Row { weight, ..Rows::main(index, String::new()) }
    }

    fn weights(count: u64) -> Vec<Row> {
        let weight = |index| match index % 10 {
            0 => Weight::Turn,
            1 | 2 => Weight::Step,
            _ => Weight::Detail,
        };
        (0..count).map(|index| row(index, weight(index))).collect()
    }

    #[test]
    fn a_short_story_is_told_whole() {
        assert!(keep(&weights(50), 50, 10).iter().all(|kept| *kept));
        assert!(keep(&[], 50, 10).is_empty());
    }

    #[test]
    fn turns_and_the_end_are_always_told() {
        let rows = weights(1_000);
        let kept = keep(&rows, 150, 20);
        assert!(rows.iter().zip(&kept).all(|(row, kept)| *kept || row.weight != Weight::Turn));
        assert!(kept[980..].iter().all(|kept| *kept));
        assert_eq!(kept.iter().filter(|kept| **kept).count(), 150);
        // What room is left goes to the later steps.
        assert!(kept[971] && !kept[11] && !kept[975]);
    }

    #[test]
    fn more_turns_than_room_are_still_told() {
        let rows = weights(1_000);
        assert_eq!(keep(&rows, 10, 5).iter().filter(|kept| **kept).count(), 100);
    }

    #[test]
    fn reading_again_is_counted_per_read_and_named_once() {
        let mut reads = Ledger::default();
        for (start, end) in [(0, 3), (1, 3), (2, 3)] {
            reads.take(OffsetRange { split: SplitId::default(), start, end });
        }
        assert_eq!((reads.count(), reads.repeats(), named(reads.again()).as_str()), (6, 3, "split-0[1..2]"));
    }
}
