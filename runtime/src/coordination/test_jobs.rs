//! Small jobs for the tests of this folder.

use crate::config::*;
use crate::defects::DefectSet;
use crate::ids::{JobId, LineageId, OperatorUid};

/// One vertex, operator 0: five splits of ten numbers, pulled, with a coordinated operator 9.
pub(crate) fn job(parallelism: u32, defects: DefectSet) -> JobConfig {
    JobConfig {
        job: JobId(1),
        lineage: LineageId(1),
        vertices: vec![VertexConfig {
            operator: OperatorUid(0),
            parallelism,
            source: SourceConfig {
                split_count: 5,
                records_per_split: 10,
                policy: AssignmentPolicy::Pull,
                bounded: true,
                script: EnumeratorScript::NONE,
                discovery: None,
            },
            task: TaskConfig {
                record_interval_ns: 0,
                filter_every: 0,
                user_failure: None,
                checkpoint_failure: None,
                write_buffer_records: 4,
                commit_retries_max: 10,
                commit_script: None,
                commit_back_off_ns: 0,
                store_timeout_ns: 1_000_000_000,
                reader: ReaderKind::Direct,
                stall: None,
                event_time: EventTime::NUMBER,
                alignment: None,
            },
            exchange: None,
            topology: SinkTopologyConfig::CHAINED,
            files: None,
            log: None,
            coordinated: Some(CoordinatedConfig {
                operator: OperatorUid(9),
                event_interval_ns: 1_000_000,
                event_count: 4,
            }),
        }],
        checkpointing: Some(CheckpointConfig {
            interval_ns: 1_000_000_000,
            timeout_ns: 10_000_000_000,
            pause_min_ns: 0,
            concurrent_max: 2,
            failures_tolerable: 0,
            retained_max: 1,
            after_tasks_finish: true,
            blocked_events_max: None,
        }),
        restart: RestartConfig::FixedDelay { delay_ns: 0, attempts_max: 10 },
        region: RegionScope::Subtask,
        task_managers: 1,
        slots_per_task_manager: None,
        heartbeat: HeartbeatConfig { interval_ns: 1_000_000_000, timeout_ns: 5_000_000_000 },
        high_availability_timeout_ns: JobConfig::HIGH_AVAILABILITY_TIMEOUT_NS,
        sink: SinkKind::Append,
        defects,
    }
}
