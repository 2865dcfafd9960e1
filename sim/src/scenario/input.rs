//! Checks what a scenario's sources read, where that is no numbers.

use super::file::ScenarioError;
use crate::outside::input::topic;
use splitrace_runtime::config::{
    AssignmentPolicy, EnumeratorScript, FileReaderConfig, FileSourceConfig, LogSourceConfig, ReaderKind,
    StartPosition, UpstreamConfig, VertexConfig,
};
use splitrace_runtime::connectors::file_source::RecordFormat;

/// Checks the files or the log of a source.
///
/// # Errors
/// The first value that makes no sense.
pub(super) fn validate_input(vertex: &VertexConfig) -> Result<(), ScenarioError> {
    match (&vertex.files, vertex.log) {
        (Some(_), Some(_)) => {
            Err(ScenarioError::value("job.vertices.log", "a source that reads files reads no log"))
        }
        (Some(files), None) => validate_files(vertex, files),
        (None, Some(log)) => validate_log(vertex, log),
        (None, None) => Ok(()),
    }
}

/// A source that reads files has an enumerator and readers of its own, and its lines are made up.
fn validate_files(vertex: &VertexConfig, files: &FileSourceConfig) -> Result<(), ScenarioError> {
    let wrong = |place: &str, message: &str| Err(ScenarioError::value(place, message));
    let source = vertex.source;
    let is_plain = source.script == EnumeratorScript::NONE && source.discovery.is_none() && source.bounded;
    if !is_plain || source.policy != AssignmentPolicy::Pull || files.discovery_period_ns.is_some() {
        let message = "files are read by a bounded source with the policy 'pull', without a script and without discovery";
        return wrong("job.vertices.source", message);
    }
    if files.folder != format!("source-{}", vertex.operator.0) {
        let message = format!("the files of this source are in 'source-{}'", vertex.operator.0);
        return wrong("job.vertices.files.folder", &message);
    }
    if !matches!(vertex.task.reader, ReaderKind::Fetchers(_)) {
        return wrong("job.vertices.task.reader", "it has 'fetchers' where files are read");
    }
    let FileReaderConfig { format, chunk_bytes } = files.reader;
    if format != RecordFormat::TextLines || !(1..=CHUNK_BYTES_MAX).contains(&chunk_bytes) {
        let message = format!("format is 'text-lines', and chunk_bytes lies between 1 and {CHUNK_BYTES_MAX}");
        return wrong("job.vertices.files.reader", &message);
    }
    let blocks = source.records_per_split.div_ceil(files.block_bytes.max(1));
    if files.block_bytes == 0 || blocks.saturating_mul(u64::from(source.split_count)) > SPLITS_MAX {
        let message = format!("it is at least 1, and makes at most {SPLITS_MAX} splits of all files");
        return wrong("job.vertices.files.block_bytes", &message);
    }
    Ok(())
}

/// A source that reads a log has an enumerator and readers of its own, and reads its topic to the end or for ever.
fn validate_log(vertex: &VertexConfig, log: LogSourceConfig) -> Result<(), ScenarioError> {
    let wrong = |place: &str, message: &str| Err(ScenarioError::value(place, message));
    let source = vertex.source;
    let is_plain = source.script == EnumeratorScript::NONE && source.discovery.is_none();
    if !is_plain || source.policy != AssignmentPolicy::Push {
        let message = "a log is read with the policy 'push', without a script and without source.discovery";
        return wrong("job.vertices.source", message);
    }
    if log.reader.topic != vertex.operator.0 {
        let message = format!("the topic of this source has the number {}", vertex.operator.0);
        return wrong("job.vertices.log.reader.topic", &message);
    }
    if !matches!(vertex.task.reader, ReaderKind::Fetchers(_)) {
        return wrong("job.vertices.task.reader", "it has 'fetchers' where a log is read");
    }
    let UpstreamConfig { transaction_records, transaction_ns, .. } = log.upstream;
    let counts = [log.discovery_period_ns, u64::from(log.reader.fetch_records_max), log.reader.poll_ns];
    if counts.contains(&0) || transaction_records == 0 || transaction_ns == 0 {
        let message = "discovery_period_ns, fetch_records_max, poll_ns, transaction_records and transaction_ns are at least 1";
        return wrong("job.vertices.log", message);
    }
    let end = topic::end_offset(source.records_per_split, log.upstream);
    if source.bounded != log.stop_offset.is_some() || log.stop_offset.is_some_and(|stop| stop > end) {
        let message = format!("a bounded source has one, and nothing lies behind offset {end}");
        return wrong("job.vertices.log.stop_offset", &message);
    }
    let last = log.stop_offset.unwrap_or(end);
    let is_behind = |offset: &u64| *offset > last;
    let start = if let StartPosition::Offset(offset) = log.start { Some(offset) } else { None };
    if start.iter().chain(&log.upstream.committed).any(is_behind) {
        return wrong("job.vertices.log", &format!("no partition is begun behind offset {last}"));
    }
    Ok(())
}

/// Of more splits no run comes to its end.
const SPLITS_MAX: u64 = 10_000;
/// A chunk is read at once.
const CHUNK_BYTES_MAX: u64 = 1 << 20;
