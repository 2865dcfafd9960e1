//! What the sources of a drawn job read.

use super::{Drawer, Property};
use crate::choices::Choices;
use splitrace_runtime::config::*;
use splitrace_runtime::connectors::file_source::RecordFormat;

/// Jobs in a hundred whose sources read files.
const FILES_PERCENT: u64 = 8;

/// Some jobs read files and no numbers. Their enumerator has one habit, and event time is the range source's business: jobs
/// that are aligned in it, or have no end, stay as they are.
pub(super) fn draw_input<C: Choices>(drawer: &mut Drawer<C>, vertices: &mut [VertexConfig]) {
    let reads_files = drawer.percent(Property::ReadsFiles, FILES_PERCENT);
    let block_bytes = drawer.within(Property::BlockBytes, 1, 24);
    let chunk_bytes = drawer.within(Property::ChunkBytes, 1, 6);
    let queue_capacity = drawer.within(Property::FileQueue, 1, 3) as u32;
    let stay = |vertex: &VertexConfig| !vertex.source.bounded || vertex.task.alignment.is_some();
    if !reads_files || vertices.iter().any(stay) {
        return;
    }
    for vertex in vertices {
        let source = &mut vertex.source;
        source.policy = AssignmentPolicy::Pull;
        source.script = EnumeratorScript::NONE;
        source.discovery = None;
        if let Some(failure) = &mut vertex.task.user_failure {
            // A record's offset is its number in its split, and not in the source.
            failure.record %= block_bytes.min(source.records_per_split).max(1);
        }
        // Reading a file blocks, so its readers always have fetchers.
        if !matches!(vertex.task.reader, ReaderKind::Fetchers(_)) {
            let threading = FetcherThreading::Multiplexed;
            vertex.task.reader = ReaderKind::Fetchers(FetcherConfig { threading, queue_capacity });
        }
        vertex.files = Some(FileSourceConfig {
            folder: format!("source-{}", vertex.operator.0),
            block_bytes,
            reader: FileReaderConfig { format: RecordFormat::TextLines, chunk_bytes },
            discovery_period_ns: None,
        });
    }
}
