//! What kind of sink a drawn job has, and how its operators are spread.

use super::{Drawer, Property};
use crate::choices::Choices;
use splitrace_runtime::config::{
    CommittersConfig, CompactionConfig, FileMedium, FileSinkConfig, LineContent, LogSinkConfig, SinkKind,
    SinkTopologyConfig,
};
use splitrace_runtime::connectors::file_sink::{Format, RollingPolicy};

/// Half of the jobs have one of the two-phase sinks, one in five writes files, and of each other kind of sink there is one
/// in ten: a table with prepared transactions, a table format, a log.
pub(super) fn draw_sink<C: Choices>(drawer: &mut Drawer<C>) -> SinkKind {
    match drawer.below(Property::Sink, 20) {
        0..=4 => SinkKind::Append,
        7..=11 => SinkKind::Transactional,
        6 | 13 => SinkKind::SnapshotTable,
        5 | 12 => SinkKind::Log(draw_log(drawer)),
        14..=17 => SinkKind::Files(draw_files(drawer)),
        _ => SinkKind::PreparedTable,
    }
}

/// No run lasts as long as the transaction time-out: what a shorter one costs is nobody's fault, and nobody's finding.
fn draw_log<C: Choices>(drawer: &mut Drawer<C>) -> LogSinkConfig {
    LogSinkConfig {
        partitions: drawer.within(Property::LogPartitions, 1, 4) as u32,
        ..LogSinkConfig::DEFAULT
    }
}

/// Jobs in a hundred whose committers are a vertex of their own; one in three of these is a global committer.
const COMMITTERS_PERCENT: u64 = 15;

/// Over which vertices the operators of the sinks are spread: mostly writer and committer are one chain.
pub(super) fn draw_topology<C: Choices>(drawer: &mut Drawer<C>) -> SinkTopologyConfig {
    let are_apart = drawer.percent(Property::Committers, COMMITTERS_PERCENT);
    let global = drawer.below(Property::GlobalCommitter, 3) == 2;
    let committers = CommittersConfig {
        parallelism: drawer.within(Property::CommittersParallelism, 1, 3) as u32,
        credit: drawer.within(Property::CommittersCredit, 1, 3) as u32,
        global,
    };
    let committers = if global { committers.rescaled(1) } else { committers };
    SinkTopologyConfig { committers: are_apart.then_some(committers) }
}

/// File sinks in a hundred that compact, unless their format does not let them.
const COMPACTION_PERCENT: u64 = 35;

/// Files so small and so short-lived that a run closes many of them, by each of the reasons that there are.
fn draw_files<C: Choices>(drawer: &mut Drawer<C>) -> FileSinkConfig {
    let on_checkpoint = drawer.percent(Property::RollsOnCheckpoint, 50);
    let bulk = drawer.percent(Property::BulkFormat, 40);
    let in_objects = drawer.percent(Property::InObjectStore, 50);
    let by_size_and_age = RollingPolicy::Default {
        part_size_max_bytes: drawer.within(Property::PartSize, 20, 400),
        rollover_interval_ms: drawer.within(Property::RolloverInterval, 20, 300),
        inactivity_interval_ms: drawer.within(Property::InactivityInterval, 20, 300),
    };
    let compacts = drawer.percent(Property::Compaction, COMPACTION_PERCENT);
    let compaction =
        CompactionConfig { every_checkpoints: drawer.within(Property::CompactionEvery, 1, 4) as u32 };
    let is_bulk = on_checkpoint && bulk;
    FileSinkConfig {
        policy: if on_checkpoint { RollingPolicy::OnCheckpoint } else { by_size_and_age },
        format: if is_bulk { Format::Bulk } else { Format::Row },
        bucket_check_interval_ms: drawer.within(Property::BucketCheckInterval, 20, 200),
        buckets: drawer.within(Property::Buckets, 1, 3) as u32,
        lines: LineContent::Provenance,
        medium: if on_checkpoint && in_objects { FileMedium::ObjectStore } else { FileMedium::FileSystem },
        compaction: (compacts && !is_bulk).then_some(compaction),
    }
}
