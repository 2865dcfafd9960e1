//! What a job is: its graph, its checkpointing, its restarts. Plain data, handed to each role at its start.
//!
//! Nothing here is read from the environment, and every unit is in its name.

mod discovery;
mod event_time;
mod exchange;
mod file_sink;
mod files;
mod log_sink;
mod log_source;
mod restart;
mod script;
mod sink_topology;

pub use discovery::DiscoveryConfig;
pub use event_time::{AlignmentConfig, EventTime};
pub use exchange::{EdgeKind, ExchangeConfig};
pub use file_sink::{CompactionConfig, FileMedium, FileSinkConfig, LineContent};
pub use files::{FileReaderConfig, FileSourceConfig};
pub use log_sink::LogSinkConfig;
pub use log_source::{LogReaderConfig, LogSourceConfig, StartPosition, UpstreamConfig};
pub use restart::RestartConfig;
pub use script::{
    CheckpointFailure, CheckpointMoment, CommitRefusal, CommitScript, EnumeratorFailure, EnumeratorScript,
    Reassignment, ReturnedSplits, SnapshotAssignment,
};
pub use sink_topology::{CommittersConfig, SinkTopologyConfig};

use crate::defects::DefectSet;
use crate::ids::{JobId, LineageId, OperatorUid};
use serde::{Deserialize, Serialize};

/// Nanoseconds of virtual time in a millisecond.
pub const NANOS_PER_MILLI: u64 = 1_000_000;

/// A whole job.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobConfig {
    /// The job.
    pub job: JobId,
    /// The lineage of its checkpoints.
    pub lineage: LineageId,
    /// One or two independent chains `source -> map -> writer -> committer`.
    pub vertices: Vec<VertexConfig>,
    /// `None` is Flink's mode without checkpoints: one commit at the end of a bounded input, none otherwise.
    pub checkpointing: Option<CheckpointConfig>,
    /// When and how often tasks are restarted.
    pub restart: RestartConfig,
    /// Which subtasks fail together.
    pub region: RegionScope,
    /// How many task managers the job master may use.
    pub task_managers: u32,
    /// How many slots each of them has; `None` for as many as are asked for. Subtasks of one index share a slot, whatever
    /// their vertex, as in Flink's default slot sharing group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots_per_task_manager: Option<u32>,
    /// How the heartbeats between task managers and the job master run.
    pub heartbeat: HeartbeatConfig,
    /// How long a job master waits for an answer of the high-availability service before it asks once more: above an
    /// ordinary delay, and short enough that an outage of the service leaves an outcome unknown.
    #[serde(default = "default_timeout_ns", skip_serializing_if = "is_default_timeout_ns")]
    pub high_availability_timeout_ns: u64,
    /// What the sink writes to.
    pub sink: SinkKind,
    /// The planted defects that are switched on; empty in every honest run.
    pub defects: DefectSet,
}

impl TaskConfig {
    /// How long a reader takes for `count` records when the record at `offset` is the next that it waits for, in
    /// nanoseconds.
    #[must_use]
    pub fn wait_ns(&self, offset: u64, count: u64) -> u64 {
        let stall_ns = self.stall.filter(|stall| stall.record == offset).map_or(0, |stall| stall.for_ns);
        self.record_interval_ns.saturating_mul(count).saturating_add(stall_ns)
    }

    /// How many of `count` records from this offset on can be read at once: a stall cuts them.
    #[must_use]
    pub fn count_before_stall(&self, offset: u64, count: u64) -> u64 {
        let stall = self.stall.filter(|stall| offset < stall.record && stall.record < offset + count);
        stall.map_or(count, |stall| stall.record - offset)
    }
}

const fn default_timeout_ns() -> u64 {
    JobConfig::HIGH_AVAILABILITY_TIMEOUT_NS
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_default_timeout_ns(timeout_ns: &u64) -> bool {
    *timeout_ns == JobConfig::HIGH_AVAILABILITY_TIMEOUT_NS
}

impl JobConfig {
    /// What [`Self::high_availability_timeout_ns`] is on a simulated network.
    pub const HIGH_AVAILABILITY_TIMEOUT_NS: u64 = 150 * NANOS_PER_MILLI;

    /// The longest that anything which this configuration names may take by itself, in nanoseconds.
    #[must_use]
    pub fn longest_delay_ns(&self) -> u64 {
        let tasks = self.vertices.iter().flat_map(|vertex| {
            let task = vertex.task;
            let stall_ns = task.stall.map_or(0, |stall| stall.for_ns);
            let held_up_ns = match task.checkpoint_failure.map(|failure| failure.moment) {
                Some(CheckpointMoment::Pending { stall_ns }) => stall_ns,
                _ => 0,
            };
            let period_ns = task.alignment.map_or(0, |alignment| alignment.period_ns);
            let discovery = vertex.source.discovery;
            let look_ns = discovery.map_or(0, |discovery| {
                let period_ns = discovery.period_ns.unwrap_or_default();
                discovery.initial_delay_ns.max(period_ns).max(discovery.look_ns)
            });
            [task.store_timeout_ns, task.record_interval_ns, stall_ns, held_up_ns, period_ns, look_ns]
        });
        let checkpointing = self.checkpointing.iter().flat_map(|checkpointing| {
            [checkpointing.timeout_ns, checkpointing.interval_ns, checkpointing.pause_min_ns]
        });
        let own =
            [self.restart.longest_delay_ns(), self.heartbeat.timeout_ns, self.high_availability_timeout_ns];
        own.into_iter().chain(tasks).chain(checkpointing).max().unwrap_or(0)
    }

    /// Whether barriers overtake buffers in some exchange.
    #[must_use]
    pub fn has_unaligned_exchange(&self) -> bool {
        self.vertices.iter().any(VertexConfig::has_unaligned_exchange)
    }

    /// The operators that have a coordinator, in the order of the graph.
    pub fn coordinated_operators(&self) -> impl Iterator<Item = OperatorUid> + '_ {
        self.vertices.iter().flat_map(|vertex| {
            [Some(vertex.operator), vertex.coordinated.map(|coordinated| coordinated.operator)]
                .into_iter()
                .flatten()
        })
    }
}

/// One chain `source -> map -> writer -> committer`, run by `parallelism` subtasks; or its first part, where exchanges cut
/// it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VertexConfig {
    /// The uid of the source operator; it names the vertex too.
    pub operator: OperatorUid,
    /// How many subtasks.
    pub parallelism: u32,
    /// How the enumerator cuts and hands out its splits.
    pub source: SourceConfig,
    /// It reads files, and no numbers: then `source` only says whether it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileSourceConfig>,
    /// It reads a log, and no numbers: then `source` says whether it ends, and its splits are the partitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogSourceConfig>,
    /// What each task does.
    pub task: TaskConfig,
    /// A second coordinated operator in the chain that is no source: its coordinator sends numbered events, its
    /// operator keeps the last number as state.
    pub coordinated: Option<CoordinatedConfig>,
    /// An exchange between map and writer: it cuts the chain in two, `source -> map` and `writer -> committer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<ExchangeConfig>,
    /// Over which vertices the operators of its sink are spread.
    #[serde(default, skip_serializing_if = "SinkTopologyConfig::is_chained")]
    pub topology: SinkTopologyConfig,
}

impl VertexConfig {
    /// How many subtasks its writers have.
    #[must_use]
    pub fn writers(&self) -> u32 {
        self.exchange.map_or(self.parallelism, |exchange| exchange.parallelism)
    }

    /// The most subtasks that a vertex of its chain has.
    #[must_use]
    pub fn widest(&self) -> u32 {
        let committers = self.topology.committers.map_or(0, |committers| committers.parallelism);
        self.parallelism.max(self.writers()).max(committers)
    }

    /// Whether a worker looks for its splits, beside its coordinator.
    #[must_use]
    pub const fn discovers_splits(&self) -> bool {
        self.source.discovery.is_some() || self.files.is_some() || self.log.is_some()
    }

    /// Whether barriers overtake buffers in its exchange.
    #[must_use]
    pub fn has_unaligned_exchange(&self) -> bool {
        self.exchange.is_some_and(|exchange| exchange.unaligned)
    }
}

/// A coordinated operator that is no source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoordinatedConfig {
    /// Its uid, different from every source's.
    pub operator: OperatorUid,
    /// Virtual time between two events to every subtask.
    pub event_interval_ns: u64,
    /// How many events it sends in all.
    pub event_count: u32,
}

/// The range source: `split_count` splits of `records_per_split` consecutive numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceConfig {
    /// How many splits.
    pub split_count: u32,
    /// How many records each has; split i holds `i * records_per_split ..`.
    pub records_per_split: u64,
    /// Who starts an assignment.
    pub policy: AssignmentPolicy,
    /// Whether the source ends after its last split.
    pub bounded: bool,
    /// What its enumerator does beside handing splits out.
    #[serde(default, skip_serializing_if = "EnumeratorScript::is_plain")]
    pub script: EnumeratorScript,
    /// Whether splits are discovered while the job runs; without it all are known when it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery: Option<DiscoveryConfig>,
}

/// How splits reach the readers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssignmentPolicy {
    /// A reader asks when it is idle, as in the demo.
    Pull,
    /// The enumerator deals all splits out once every reader has registered.
    Push,
}

/// What the task of a vertex is given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskConfig {
    /// Virtual time between two records of a reader; 0 reads as fast as turns come.
    pub record_interval_ns: u64,
    /// Every `n`-th offset is dropped by the user function and declared as filtered; 0 drops none.
    pub filter_every: u64,
    /// A failure of the user's code, as the demo injects it.
    pub user_failure: Option<UserFailure>,
    /// A failure of the user's code that one checkpoint brings about.
    #[serde(default)]
    pub checkpoint_failure: Option<CheckpointFailure>,
    /// How many records a transactional writer gathers before it sends them out.
    pub write_buffer_records: u32,
    /// How many immediate retries a committer has (`sink.committer.retries`, 10 in Flink).
    pub commit_retries_max: u32,
    /// What the committer signals instead of committing.
    #[serde(default)]
    pub commit_script: Option<CommitScript>,
    /// How long the committer stands still inside `commit` before it asks once more, for each retry that the committable
    /// has had; 0 asks again at once, as Flink itself does (FACT 69).
    #[serde(default)]
    pub commit_back_off_ns: u64,
    /// How long a task waits for the store before it takes the outcome as unknown.
    pub store_timeout_ns: u64,
    /// How the reader waits for its next record.
    #[serde(default)]
    pub reader: ReaderKind,
    /// The outside has nothing to read for a while.
    #[serde(default)]
    pub stall: Option<Stall>,
    /// Which event time a record has.
    #[serde(default)]
    pub event_time: EventTime,
    /// Which other sources its source waits for in event time; `None` for nobody.
    #[serde(default)]
    pub alignment: Option<AlignmentConfig>,
}

/// How a reader waits for its next record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReaderKind {
    /// It answers 'nothing available' and says when to ask again.
    #[default]
    Direct,
    /// It blocks inside its poll, and with it the task's thread.
    Blocking,
    /// It has split fetchers: they wait in threads of their own.
    Fetchers(FetcherConfig),
}

/// The split fetchers of a reader.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetcherConfig {
    /// Who fetches.
    pub threading: FetcherThreading,
    /// For how many batches the queue between fetchers and reader has room (2 in Flink).
    pub queue_capacity: u32,
}

impl FetcherConfig {
    /// What a reader has that needs fetchers when its job says nothing of them: Flink's default
    /// (`source.reader.element.queue.capacity`).
    pub const DEFAULT: Self = Self { threading: FetcherThreading::Multiplexed, queue_capacity: 2 };
}

/// Which fetcher reads which split.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FetcherThreading {
    /// One fetcher reads all splits.
    Multiplexed,
    /// Each split has its own.
    PerSplit,
}

/// For a while there is nothing to read before one record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// The offset of the record.
    pub record: u64,
    /// How long a reader that has read all before it waits for it.
    pub for_ns: u64,
}

/// A failure of user code at one record, in the attempts below a bound.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserFailure {
    /// The offset of the record.
    pub record: u64,
    /// Only attempts with a number below this one fail, and only so many times in the whole job (a host sees to that);
    /// it is 1 in the demo.
    pub attempts_below: u32,
    /// At which moment of the record's journey.
    pub moment: FailureMoment,
}

/// The moments at which user code can fail: five of a record's journey, and three of a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureMoment {
    /// The user function is handed the record; the writer never sees it.
    Read,
    /// The writer has taken the record.
    Write,
    /// `prepare_commit` of the transaction that holds the record has answered; nothing is snapshotted.
    Prepared,
    /// The snapshot that holds the record has been acknowledged.
    Snapshot,
    /// The store has made the record visible and the committer is about to learn of it.
    Committing,
    /// `snapshot_state` of the reader throws; see [`CheckpointFailure`], as for the two below.
    ReaderSnapshot,
    /// The first record after the subtask's own acknowledgement, while others still owe theirs.
    CheckpointPending,
    /// The notice that the checkpoint is complete has come; nothing is committed yet.
    CheckpointCompleted,
}

impl FailureMoment {
    /// Every moment of a record, in the order of its journey.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Prepared, Self::Snapshot, Self::Committing];
}

/// How checkpoints run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointConfig {
    /// Time between two triggers.
    pub interval_ns: u64,
    /// After this time a pending checkpoint is aborted.
    pub timeout_ns: u64,
    /// Least time between the end of one checkpoint and the trigger of the next.
    pub pause_min_ns: u64,
    /// How many may be pending at once.
    pub concurrent_max: u32,
    /// How many consecutive failed checkpoints a job survives (declines and timeouts; not aborts by a failover).
    pub failures_tolerable: u32,
    /// How many completed checkpoints are kept, at least 1 (`num-retained`); a later job may restore any of them.
    pub retained_max: u32,
    /// Whether a last checkpoint is taken once tasks have finished (`checkpoints-after-tasks-finish`).
    pub after_tasks_finish: bool,
    /// How many events a gateway may keep back: the one that fills it fails the checkpoints that it waits behind, so that
    /// it opens. `None` for no bound, as in Flink. A bound below what a coordinator sends while a checkpoint runs lets none
    /// complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_events_max: Option<u32>,
}

/// Which subtasks fail together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RegionScope {
    /// The pipelined regions of the topology: a subtask of a chain alone, or all that exchanges connect (FACT 48).
    Subtask,
    /// All tasks of a source and of the sink behind it, as if a shuffle stood before them.
    Vertex,
}

/// Heartbeats from task managers to the job master.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeartbeatConfig {
    /// Time between two heartbeats.
    pub interval_ns: u64,
    /// After this time of silence a task manager is taken for dead.
    pub timeout_ns: u64,
}

/// What a commit does at the outside system.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SinkKind {
    /// The committable carries the records; a commit appends them under the transaction's name.
    Append,
    /// Records are written into an open transaction; `prepare` makes it durable, a commit makes it visible.
    Transactional,
    /// Records are lines of files, hidden until a commit renames them.
    Files(FileSinkConfig),
    /// The same in the manner of PostgreSQL: an open transaction lives and dies with its session, nothing fences an older
    /// life off, and of a committed transaction only the row tells that it wrote of itself.
    PreparedTable,
    /// Records are written as data files, and a commit adds one to the current snapshot of a table.
    SnapshotTable,
    /// Records are appended to the partitions of a log inside a transaction, which stays open until it is committed.
    Log(LogSinkConfig),
}

impl SinkKind {
    /// Its name, as scenarios and options say it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Transactional => "transactional",
            Self::Files(_) => "files",
            Self::PreparedTable => "prepared-table",
            Self::SnapshotTable => "snapshot-table",
            Self::Log(_) => "log",
        }
    }
}
