//! What the sources of a drawn job read.

use super::{Drawer, Property};
use crate::choices::Choices;
use crate::outside::input::topic;
use splitrace_runtime::api::log_io::IsolationLevel;
use splitrace_runtime::config::*;
use splitrace_runtime::connectors::file_source::RecordFormat;

/// Jobs in a hundred whose sources read files.
const FILES_PERCENT: u64 = 8;
/// Jobs in a hundred whose sources read a log.
const LOG_PERCENT: u64 = 8;

/// Some jobs read files or a log, and no numbers. Their enumerators have one habit, and event time is the range source's
/// business: jobs that are aligned in it, or have no end, stay as they are.
pub(super) fn draw_input<C: Choices>(drawer: &mut Drawer<C>, vertices: &mut [VertexConfig]) {
    let reads_files = drawer.percent(Property::ReadsFiles, FILES_PERCENT);
    let reads_log = drawer.percent(Property::ReadsLog, LOG_PERCENT);
    let queue_capacity = drawer.within(Property::FileQueue, 1, 3) as u32;
    let stay = |vertex: &VertexConfig| !vertex.source.bounded || vertex.task.alignment.is_some();
    if vertices.iter().any(stay) {
        return;
    }
    for vertex in vertices {
        if reads_files {
            read_with_fetchers(vertex, AssignmentPolicy::Pull, queue_capacity);
            draw_files(drawer, vertex);
        } else if reads_log {
            read_with_fetchers(vertex, AssignmentPolicy::Push, queue_capacity);
            draw_log(drawer, vertex);
        }
    }
}

/// Reading files or a log blocks, so its readers always have fetchers.
fn read_with_fetchers(vertex: &mut VertexConfig, policy: AssignmentPolicy, queue_capacity: u32) {
    vertex.source.policy = policy;
    vertex.source.script = EnumeratorScript::NONE;
    vertex.source.discovery = None;
    if !matches!(vertex.task.reader, ReaderKind::Fetchers(_)) {
        let threading = FetcherThreading::Multiplexed;
        vertex.task.reader = ReaderKind::Fetchers(FetcherConfig { threading, queue_capacity });
    }
}

fn draw_files<C: Choices>(drawer: &mut Drawer<C>, vertex: &mut VertexConfig) {
    let block_bytes = drawer.within(Property::BlockBytes, 1, 24);
    let chunk_bytes = drawer.within(Property::ChunkBytes, 1, 6);
    if let Some(failure) = &mut vertex.task.user_failure {
        // A record's offset is its number in its split, and not in the source.
        failure.record %= block_bytes.min(vertex.source.records_per_split).max(1);
    }
    vertex.files = Some(FileSourceConfig {
        folder: format!("source-{}", vertex.operator.0),
        block_bytes,
        reader: FileReaderConfig { format: RecordFormat::TextLines, chunk_bytes },
        discovery_period_ns: None,
    });
}

/// Transactions so short that a run has many of them, and partitions that come while it runs.
fn draw_log<C: Choices>(drawer: &mut Drawer<C>, vertex: &mut VertexConfig) {
    let transaction_records = drawer.within(Property::UpstreamRecords, 1, 6);
    let upstream = UpstreamConfig {
        transaction_records,
        transaction_ns: transaction_records * vertex.task.record_interval_ns,
        aborted_every: [0, 2, 3, 4][drawer.below(Property::UpstreamAborts, 4) as usize],
        partition_interval_ns: [0, 0, 15, 60][drawer.below(Property::PartitionInterval, 4) as usize]
            * NANOS_PER_MILLI,
        committed: None,
    };
    let end = topic::end_offset(vertex.source.records_per_split, upstream);
    if let Some(failure) = &mut vertex.task.user_failure {
        failure.record %= end.max(1);
    }
    let begins_later = drawer.percent(Property::StartsLater, 20);
    let start = drawer.below(Property::StartOffset, end + 1);
    vertex.log = Some(LogSourceConfig {
        start: if begins_later { StartPosition::Offset(start) } else { StartPosition::Earliest },
        stop_offset: Some(end),
        discovery_period_ns: drawer.within(Property::PartitionDiscovery, 3, 40) * NANOS_PER_MILLI,
        reader: LogReaderConfig {
            topic: vertex.operator.0,
            fetch_records_max: drawer.within(Property::FetchRecords, 1, 6) as u32,
            poll_ns: drawer.within(Property::FetchPoll, 1, 8) * NANOS_PER_MILLI,
            isolation: IsolationLevel::ReadCommitted,
        },
        upstream,
    });
}
