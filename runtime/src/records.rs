//! Records, and sets of records as offset ranges.
//!
//! Checkers and ledgers never hold single records: a split's records are its offsets, so a set of them is a short
//! list of ranges and every question costs O(log n) or a walk over a few ranges.

use crate::ids::SplitId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One record with its provenance, which survives the user function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The split that it was read from.
    pub split: SplitId,
    /// Its offset in that split; for the range source this is the number itself.
    pub offset: u64,
    /// Event time in milliseconds.
    pub event_time_ms: u64,
    /// The key that a keyed exchange would use.
    pub key: u64,
    /// What the user sees.
    #[serde(with = "serde_bytes")]
    pub payload: Vec<u8>,
}

/// A split at a reading position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SplitPosition {
    /// The split.
    pub split: SplitId,
    /// The offset of the next record to read.
    pub position: u64,
    /// The offset behind the last record.
    pub end: u64,
}

impl fmt::Display for SplitPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}[{},{})", self.split, self.position, self.end)
    }
}

/// The offsets `start..end` of one split.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct OffsetRange {
    /// The split.
    pub split: SplitId,
    /// The first offset.
    pub start: u64,
    /// The offset behind the last one.
    pub end: u64,
}

impl OffsetRange {
    /// How many records it names.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Whether it names none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.start >= self.end
    }
}

impl fmt::Display for OffsetRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}[{}..{}]", self.split, self.start, self.end.saturating_sub(1))
    }
}

/// A set of records: ranges sorted by (split, start), disjoint and not adjacent.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct RecordRanges(Vec<OffsetRange>);

impl RecordRanges {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The ranges in order.
    #[must_use]
    pub fn ranges(&self) -> &[OffsetRange] {
        &self.0
    }

    /// Whether it holds no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many records it holds.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.iter().map(OffsetRange::len).sum()
    }

    /// Adds a range; answers the part of it that was there already (the first overlap), if any.
    pub fn insert(&mut self, range: OffsetRange) -> Option<OffsetRange> {
        if range.is_empty() {
            return None;
        }
        // Appending behind the last range is what a reader does, record by record.
        if let Some(last) = self.0.last_mut()
            && last.split == range.split
            && last.end == range.start
        {
            last.end = range.end;
            return None;
        }
        let first = self.0.partition_point(|held| (held.split, held.end) < (range.split, range.start));
        let mut merged = range;
        let mut overlap = None;
        let mut last = first;
        while let Some(held) = self.0.get(last) {
            if held.split != range.split || held.start > range.end {
                break;
            }
            let (start, end) = (held.start.max(range.start), held.end.min(range.end));
            if start < end && overlap.is_none() {
                overlap = Some(OffsetRange { split: range.split, start, end });
            }
            merged.start = merged.start.min(held.start);
            merged.end = merged.end.max(held.end);
            last += 1;
        }
        if last == first + 1 {
            self.0[first] = merged;
        } else {
            self.0.splice(first..last, [merged]);
        }
        debug_assert!(self.is_canonical_around(first), "ranges must stay sorted and disjoint: {:?}", self.0);
        overlap
    }

    /// Adds one record; answers whether it was there already.
    pub fn insert_record(&mut self, split: SplitId, offset: u64) -> bool {
        self.insert(OffsetRange { split, start: offset, end: offset + 1 }).is_some()
    }

    /// Adds all of `other`; answers the first overlap, if any.
    pub fn extend(&mut self, other: &Self) -> Option<OffsetRange> {
        let mut overlap = None;
        for range in &other.0 {
            overlap = overlap.or(self.insert(*range));
        }
        overlap
    }

    /// Whether the record is held.
    #[must_use]
    pub fn contains(&self, split: SplitId, offset: u64) -> bool {
        let index = self.0.partition_point(|held| (held.split, held.end) <= (split, offset));
        self.0.get(index).is_some_and(|held| held.split == split && held.start <= offset)
    }

    /// The first part of `range` that is not held, if any.
    #[must_use]
    pub fn first_gap(&self, range: OffsetRange) -> Option<OffsetRange> {
        let mut next = range.start;
        let first = self.0.partition_point(|held| (held.split, held.end) <= (range.split, range.start));
        for held in &self.0[first..] {
            if held.split != range.split || held.start >= range.end || next >= range.end {
                break;
            }
            if held.start > next {
                return Some(OffsetRange { split: range.split, start: next, end: held.start });
            }
            next = held.end;
        }
        (next < range.end).then_some(OffsetRange { split: range.split, start: next, end: range.end })
    }

    /// The first held part at or behind `range.start` and before `range.end`, if any.
    #[must_use]
    pub fn first_overlap(&self, range: OffsetRange) -> Option<OffsetRange> {
        let first = self.0.partition_point(|held| (held.split, held.end) <= (range.split, range.start));
        let held = self.0.get(first)?;
        let (start, end) = (held.start.max(range.start), held.end.min(range.end));
        (held.split == range.split && start < end).then_some(OffsetRange { split: range.split, start, end })
    }

    /// The ranges of one split.
    pub fn of_split(&self, split: SplitId) -> impl Iterator<Item = OffsetRange> + '_ {
        let first = self.0.partition_point(|held| held.split < split);
        self.0[first..].iter().take_while(move |held| held.split == split).copied()
    }

    /// Whether a range is not empty and lies between its neighbours with gaps; looking at all after each insertion
    /// would make the insertion as slow as the set is long.
    fn is_canonical_around(&self, index: usize) -> bool {
        let neighbours = &self.0[index.saturating_sub(1)..self.0.len().min(index + 2)];
        neighbours.windows(2).all(|pair| (pair[0].split, pair[0].end) < (pair[1].split, pair[1].start))
            && !self.0[index].is_empty()
    }
}

/// Records as runs: each range names records that come one behind the other and have consecutive offsets of one split.
/// Nearly all records of a batch are one run, and a run is one look into a set.
pub fn runs<'a>(records: impl IntoIterator<Item = &'a Record>) -> impl Iterator<Item = OffsetRange> {
    let mut records = records.into_iter().peekable();
    std::iter::from_fn(move || {
        let first = records.next()?;
        let mut run = OffsetRange { split: first.split, start: first.offset, end: first.offset + 1 };
        while records.next_if(|next| next.split == run.split && next.offset == run.end).is_some() {
            run.end += 1;
        }
        Some(run)
    })
}

impl<'a> FromIterator<&'a Record> for RecordRanges {
    fn from_iter<T: IntoIterator<Item = &'a Record>>(records: T) -> Self {
        let mut ranges = Self::new();
        for run in runs(records) {
            ranges.insert(run);
        }
        ranges
    }
}

impl FromIterator<OffsetRange> for RecordRanges {
    fn from_iter<T: IntoIterator<Item = OffsetRange>>(items: T) -> Self {
        let mut ranges = Self::new();
        for range in items {
            ranges.insert(range);
        }
        ranges
    }
}

impl fmt::Display for RecordRanges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[")?;
        for (index, range) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str(", ")?;
            }
            write!(formatter, "{}..{}", range.start, range.end - 1)?;
        }
        formatter.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn range(index: u32, start: u64, end: u64) -> OffsetRange {
        OffsetRange { split: SplitId { index, ..SplitId::default() }, start, end }
    }

    proptest! {
        #[test]
        fn ranges_agree_with_a_plain_set(ops in prop::collection::vec((0u32..3, 0u64..30, 0u64..6), 0..40)) {
            let mut ranges = RecordRanges::new();
            let mut plain = BTreeSet::new();
            for (split, start, len) in ops {
                let added = range(split, start, start + len);
                let known: Vec<u64> = (start..start + len).filter(|offset| plain.contains(&(split, *offset))).collect();
                let gap = (start..start + len).find(|offset| !plain.contains(&(split, *offset)));
                prop_assert_eq!(ranges.first_gap(added).map(|gap| gap.start), gap);
                prop_assert_eq!(ranges.first_overlap(added).map(|held| held.start), known.first().copied());
                prop_assert_eq!(ranges.insert(added).map(|held| held.start), known.first().copied());
                plain.extend((start..start + len).map(|offset| (split, offset)));
                prop_assert_eq!(ranges.len(), plain.len() as u64);
            }
            for split in 0..3 {
                for offset in 0..40 {
                    let id = SplitId { index: split, ..SplitId::default() };
                    prop_assert_eq!(ranges.contains(id, offset), plain.contains(&(split, offset)));
                }
            }
        }
    }

    #[test]
    fn a_run_ends_at_a_gap_a_repetition_and_another_split() {
        let record = |index, offset| Record {
            split: SplitId { index, ..SplitId::default() },
            offset,
            event_time_ms: 0,
            key: 0,
            payload: Vec::new(),
        };
        let records = [(0, 3), (0, 4), (0, 4), (0, 6), (1, 7), (1, 8)].map(|(index, at)| record(index, at));
        let found: Vec<OffsetRange> = runs(&records).collect();
        assert_eq!(found, [range(0, 3, 5), range(0, 4, 5), range(0, 6, 7), range(1, 7, 9)]);
        assert_eq!(runs(&[]).count(), 0);
    }

    #[test]
    fn adjacent_ranges_become_one() {
        let ranges: RecordRanges = [range(0, 0, 4), range(0, 8, 9), range(0, 4, 8)].into_iter().collect();
        assert_eq!(ranges.ranges(), &[range(0, 0, 9)]);
        assert_eq!(ranges.to_string(), "[0..8]");
    }
}
