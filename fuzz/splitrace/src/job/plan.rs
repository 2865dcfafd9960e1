//! From a job file to the configuration that the protocol is given.

use super::file::{Job, JobSink};
use super::state_folder::JobKey;
use splitrace_runtime::config::{
    AssignmentPolicy, CheckpointConfig, EnumeratorScript, EventTime, FetcherConfig, FetcherThreading,
    FileReaderConfig, FileSinkConfig, FileSourceConfig, HeartbeatConfig, JobConfig, LineContent,
    NANOS_PER_MILLI, ReaderKind, RegionScope, RestartConfig, SinkKind, SinkTopologyConfig, SourceConfig,
    TaskConfig, VertexConfig,
};
use splitrace_runtime::connectors::file_sink::Format;
use splitrace_runtime::connectors::file_source::RecordFormat;
use splitrace_runtime::defects::DefectSet;
use splitrace_runtime::ids::{JobId, LineageId, OperatorUid};
use splitrace_runtime::session::SessionConfig;
use std::time::Duration;

const SECOND_NS: u64 = 1_000 * NANOS_PER_MILLI;
/// So many bytes of a file are read at a time.
const CHUNK_BYTES: u64 = 1 << 16;
/// A disk may be slow for this long before anybody gives up on it: nothing here is ever lost, only late.
const PATIENCE_NS: u64 = 60 * SECOND_NS;
/// A failure may come back so often before the job fails for good; after [`PATIENCE_NS`] without one they count from 0.
const RESTARTS_MAX: u32 = 3;
/// A server takes so many rows at once; files gather their bytes themselves.
const ROWS_PER_INSERT: u32 = 512;

/// Frames are never lost here: sending one again is for a thread that the system forgot for a while.
pub(super) const SESSION: SessionConfig =
    SessionConfig { resend_after_ns: 10 * SECOND_NS, resend_max: 30, defects: DefectSet::NONE };

/// What the state of the job is good for.
pub(super) fn key(job: &Job) -> JobKey {
    let format = match job.format {
        RecordFormat::TextLines => "text-lines",
        RecordFormat::Frames => "frames",
    };
    JobKey {
        source: job.source_folder.display().to_string(),
        format: format.to_owned(),
        sink: job.sink.to_string(),
    }
}

/// The job as the protocol runs it: one chain `file source -> map -> writer -> committer`.
pub(super) fn config(job: &Job) -> JobConfig {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let vertex = VertexConfig {
        operator: OperatorUid(0),
        parallelism: job.parallelism,
        source: SourceConfig {
            split_count: 0,
            records_per_split: 0,
            policy: AssignmentPolicy::Pull,
            bounded: job.discover_every.is_none(),
            script: EnumeratorScript::NONE,
            discovery: None,
        },
        files: Some(FileSourceConfig {
            folder: String::new(),
            block_bytes: job.block_bytes,
            reader: FileReaderConfig { format: job.format, chunk_bytes: CHUNK_BYTES },
            discovery_period_ns: job.discover_every.map(nanoseconds),
        }),
        log: None,
        task: task(&job.sink),
        coordinated: None,
        exchange: None,
        topology: SinkTopologyConfig::CHAINED,
    };
    JobConfig {
        job: JobId(1),
        lineage: LineageId(1),
        vertices: vec![vertex],
        checkpointing: Some(CheckpointConfig {
            interval_ns: nanoseconds(job.checkpoint_interval),
            timeout_ns: 10 * PATIENCE_NS,
            pause_min_ns: 0,
            concurrent_max: 1,
            failures_tolerable: 0,
            retained_max: 1,
            after_tasks_finish: true,
            blocked_events_max: None,
        }),
        restart: RestartConfig::ExponentialDelay {
            initial_ns: SECOND_NS / 2,
            max_ns: PATIENCE_NS,
            multiplier_percent: 200,
            reset_after_ns: PATIENCE_NS,
            attempts_max: RESTARTS_MAX,
        },
        region: RegionScope::Subtask,
        task_managers: job.parallelism,
        slots_per_task_manager: Some(1),
        heartbeat: HeartbeatConfig { interval_ns: SECOND_NS, timeout_ns: PATIENCE_NS },
        high_availability_timeout_ns: PATIENCE_NS,
        sink: sink(&job.sink),
        defects: DefectSet::NONE,
    }
}

fn sink(sink: &JobSink) -> SinkKind {
    match sink {
        JobSink::Files(files) => SinkKind::Files(FileSinkConfig {
            policy: files.policy,
            format: Format::Row,
            bucket_check_interval_ms: u64::try_from(files.bucket_check.as_millis()).unwrap_or(u64::MAX),
            buckets: files.buckets,
            lines: LineContent::Payload,
            medium: files.medium,
            compaction: None,
        }),
        JobSink::Table(_) => SinkKind::PreparedTable,
    }
}

const fn task(sink: &JobSink) -> TaskConfig {
    TaskConfig {
        record_interval_ns: 0,
        filter_every: 0,
        user_failure: None,
        checkpoint_failure: None,
        write_buffer_records: match sink {
            JobSink::Files(_) => 1,
            JobSink::Table(_) => ROWS_PER_INSERT,
        },
        commit_retries_max: 10,
        commit_script: None,
        commit_back_off_ns: 100 * NANOS_PER_MILLI,
        store_timeout_ns: PATIENCE_NS,
        reader: ReaderKind::Fetchers(FetcherConfig {
            threading: FetcherThreading::Multiplexed,
            queue_capacity: 2,
        }),
        stall: None,
        event_time: EventTime::NUMBER,
        alignment: None,
    }
}
