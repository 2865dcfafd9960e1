//! What kind of sink a drawn job has.

use super::{Drawer, Property};
use crate::choices::Choices;
use splitrace_runtime::config::{FileSinkConfig, LineContent, SinkKind};
use splitrace_runtime::connectors::file_sink::{Format, RollingPolicy};

/// Mostly one of the two-phase sinks; one job in five writes files, one in ten into a table with prepared transactions, one
/// in ten into a table format.
pub(super) fn draw_sink<C: Choices>(drawer: &mut Drawer<C>) -> SinkKind {
    match drawer.below(Property::Sink, 20) {
        0..=5 => SinkKind::Append,
        7..=12 => SinkKind::Transactional,
        6 | 13 => SinkKind::SnapshotTable,
        14..=17 => SinkKind::Files(draw_files(drawer)),
        _ => SinkKind::PreparedTable,
    }
}

/// Files so small and so short-lived that a run closes many of them, by each of the reasons that there are.
fn draw_files<C: Choices>(drawer: &mut Drawer<C>) -> FileSinkConfig {
    let on_checkpoint = drawer.percent(Property::RollsOnCheckpoint, 50);
    let bulk = drawer.percent(Property::BulkFormat, 40);
    let by_size_and_age = RollingPolicy::Default {
        part_size_max_bytes: drawer.within(Property::PartSize, 20, 400),
        rollover_interval_ms: drawer.within(Property::RolloverInterval, 20, 300),
        inactivity_interval_ms: drawer.within(Property::InactivityInterval, 20, 300),
    };
    FileSinkConfig {
        policy: if on_checkpoint { RollingPolicy::OnCheckpoint } else { by_size_and_age },
        format: if on_checkpoint && bulk { Format::Bulk } else { Format::Row },
        bucket_check_interval_ms: drawer.within(Property::BucketCheckInterval, 20, 200),
        buckets: drawer.within(Property::Buckets, 1, 3) as u32,
        lines: LineContent::Provenance,
    }
}
