//! Event time: how the records of the range source get theirs, and how far the sources of a group may drift apart in it.

use crate::ids::{SplitId, WatermarkGroup};
use serde::{Deserialize, Serialize};

/// The event time of a record of the range source: its number times a step, and a head start for each split.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventTime {
    /// Milliseconds of event time between two numbers.
    pub step_ms: u64,
    /// Split `i` is `i` times so many milliseconds ahead of what its numbers say, or behind; no time is below 0.
    pub split_skew_ms: i64,
}

impl Default for EventTime {
    fn default() -> Self {
        Self::NUMBER
    }
}

impl EventTime {
    /// A record's event time is its number.
    pub const NUMBER: Self = Self { step_ms: 1, split_skew_ms: 0 };

    /// The event time of the record with this number, in milliseconds.
    #[must_use]
    pub fn of(self, split: SplitId, number: u64) -> u64 {
        let skew_ms = self.split_skew_ms.saturating_mul(i64::from(split.index));
        number.saturating_mul(self.step_ms).saturating_add_signed(skew_ms)
    }
}

/// Watermark alignment of a source (Flink's `WatermarkAlignmentParams`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlignmentConfig {
    /// The sources of a job that name the same group wait for each other.
    pub group: WatermarkGroup,
    /// How far a watermark may be ahead of the least one of the group, in milliseconds of event time.
    pub max_drift_ms: u64,
    /// Time between two announcements of what is allowed, and between two reports of a reader.
    pub period_ns: u64,
    /// A reader that cannot pause single splits reads them on unaligned, instead of failing
    /// (`pipeline.watermark-alignment.allow-unaligned-source-splits`).
    #[serde(default)]
    pub allow_unaligned_splits: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::OperatorUid;

    #[test]
    fn a_split_is_ahead_or_behind_and_never_below_zero() {
        let split = |index| SplitId { operator: OperatorUid(0), index };
        let ahead = EventTime { step_ms: 10, split_skew_ms: 7 };
        assert_eq!([ahead.of(split(0), 3), ahead.of(split(2), 3)], [30, 44]);
        let behind = EventTime { split_skew_ms: -20, ..ahead };
        assert_eq!([behind.of(split(1), 3), behind.of(split(2), 3)], [10, 0]);
        assert_eq!(EventTime::NUMBER.of(split(9), 3), 3);
        assert_eq!(EventTime { step_ms: u64::MAX, split_skew_ms: 1 }.of(split(1), 2), u64::MAX);
    }
}
