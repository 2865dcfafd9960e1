//! The job whose holder is driven: one vertex, Flink's quirks on.

use splitrace_runtime::config::{
    AssignmentPolicy, CheckpointConfig, EnumeratorScript, EventTime, HeartbeatConfig, JobConfig, ReaderKind,
    RegionScope, RestartConfig, SinkKind, SinkTopologyConfig, SourceConfig, TaskConfig, VertexConfig,
};
use splitrace_runtime::defects::Profile;
use splitrace_runtime::ids::{
    Incarnation, JobId, LeaderEpoch, LineageId, OperatorUid, ProcessAddress, ProcessId,
};

/// The only operator.
pub(super) const OPERATOR: OperatorUid = OperatorUid(0);
/// The only leader's term.
pub(super) const EPOCH: LeaderEpoch = LeaderEpoch(1);
/// Where all executions run.
pub(super) const TASK_MANAGER: ProcessAddress =
    ProcessAddress { process: ProcessId::TaskManager(0), incarnation: Incarnation(1) };
const SECOND_NS: u64 = 1_000_000_000;

/// A job of one vertex. Times do not matter: the operations say when what happens.
pub(super) fn job(parallelism: u32, checkpointing: bool) -> JobConfig {
    JobConfig {
        job: JobId(1),
        lineage: LineageId(1),
        vertices: vec![VertexConfig {
            operator: OPERATOR,
            parallelism,
            source: SourceConfig {
                split_count: 0,
                records_per_split: 0,
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
                write_buffer_records: 1,
                commit_retries_max: 10,
                commit_script: None,
                commit_back_off_ns: 0,
                store_timeout_ns: SECOND_NS,
                reader: ReaderKind::Direct,
                stall: None,
                event_time: EventTime::NUMBER,
                alignment: None,
            },
            files: None,
            log: None,
            coordinated: None,
            exchange: None,
            topology: SinkTopologyConfig::CHAINED,
        }],
        checkpointing: checkpointing.then_some(CheckpointConfig {
            interval_ns: SECOND_NS,
            timeout_ns: SECOND_NS,
            pause_min_ns: 0,
            concurrent_max: u32::MAX,
            failures_tolerable: u32::MAX,
            retained_max: 1,
            after_tasks_finish: true,
            blocked_events_max: None,
        }),
        restart: RestartConfig::FixedDelay { delay_ns: 0, attempts_max: u32::MAX },
        region: RegionScope::Subtask,
        task_managers: 1,
        slots_per_task_manager: None,
        heartbeat: HeartbeatConfig { interval_ns: SECOND_NS, timeout_ns: SECOND_NS },
        high_availability_timeout_ns: JobConfig::HIGH_AVAILABILITY_TIMEOUT_NS,
        sink: SinkKind::Append,
        defects: Profile::Flink.quirks(),
    }
}
