//! A scenario: the job, its network, what may break, and how long a run may take. With the choices it determines a run.
//!
//! Three ways to one: drawn from a seed (swarm: each seed has its own features and faults), the demo's, or a TOML file.

mod demo;
mod draw;
mod faults;
mod file;
mod input;
mod legality;
mod maker;
mod place;
mod plan;
mod resubmission;
mod weaker_modes;

pub use demo::{DemoMode, DemoOptions};
pub use faults::{LinkFaults, ProcessFaults};
pub use file::ScenarioError;
pub use legality::Illegality;
pub use maker::Maker;
pub use resubmission::{Ending, Resubmission};

use crate::outside::input::topic;
use crate::points::PlanStep;
use serde::{Deserialize, Serialize};
use splitrace_invariants::{Promise, PromiseInput, RunSetup};
use splitrace_runtime::config::{JobConfig, NANOS_PER_MILLI, ReaderKind, SinkKind, VertexConfig};
use splitrace_runtime::connectors::file_sink::RollingPolicy;
use splitrace_runtime::event::Window;

/// A job with at least so many restarts is never failed by the faults of a scenario alone.
const RESTARTS_BEYOND_ANY_BUDGET: u32 = 1_000;

/// Everything that determines a run but the choices.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// When a user cancels the job; `None` for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_after_ns: Option<u64>,
    /// The user asks for a savepoint once so many checkpoints are complete; `None` for not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub savepoint_after_checkpoints: Option<u32>,
    /// How the job is ended and submitted again; `None` for not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resubmission: Option<Resubmission>,
    /// What is to break at named points of the protocol.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlanStep>,
    /// The bounds of a run.
    pub limits: Limits,
    /// The network.
    pub network: NetworkConfig,
    /// What may break.
    pub faults: FaultConfig,
    /// The job.
    pub job: JobConfig,
}

/// The bounds of a run. Each is exact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// A run that takes more world steps ends as 'step limit'. A world step is one thing that happens: a turn of a role, a
    /// frame, a timer, a fault.
    pub steps_max: u64,
    /// A run that goes on longer ends as 'virtual timeout'.
    pub virtual_time_max_ns: u64,
    /// After healing, so long without a record, commit or change of a task's state is a deadlock.
    pub no_progress_max_ns: u64,
    /// How long the world goes on after the job's end, so that what comes late can do its harm.
    pub settle_ns: u64,
}

/// Which order and multiplicity the network keeps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkSemantics {
    /// Frames may overtake each other and arrive twice.
    UnorderedDuplicating,
    /// Frames may overtake each other.
    Unordered,
    /// Frames of one connection keep their order: Flink's assumption.
    OrderedPerConnection,
}

/// The network, for all links alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    /// Order and multiplicity.
    pub semantics: NetworkSemantics,
    /// The least time a frame takes.
    pub latency_min_ns: u64,
    /// What may come on top, uniformly.
    pub latency_jitter_ns: u64,
    /// How long an outside system takes at most beyond its least time.
    pub service_jitter_ns: u64,
    /// After this time without an acknowledgement a frame is sent again.
    pub resend_after_ns: u64,
    /// How often.
    pub resend_max: u32,
    /// Whether frames are encoded and decoded on their way.
    pub serialise: bool,
}

impl NetworkConfig {
    /// The longest that a frame takes which nothing befalls.
    #[must_use]
    pub const fn trip_ns(&self) -> u64 {
        self.latency_min_ns.saturating_add(self.latency_jitter_ns)
    }
}

/// A probability as a ratio of integers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Odds {
    /// The numerator; 0 for never.
    pub numerator: u32,
    /// The denominator, at least 1.
    pub denominator: u32,
}

impl Odds {
    /// It never happens.
    pub const NEVER: Self = Self { numerator: 0, denominator: 1 };

    /// One in so many.
    #[must_use]
    pub const fn one_in(denominator: u32) -> Self {
        Self { numerator: 1, denominator }
    }
}

/// What may break, how often, and until when.
///
/// The budget: crashes are bounded by their counts (window faults and second faults draw on them too), so the restart
/// budget of the job, which a drawn scenario sets above their sum, is never used up by them alone. All faults end at
/// `heal_after_ns`; partitions end with them. Outside systems never lose what they acknowledged as
/// durable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultConfig {
    /// From here on nothing breaks any more, and the job must come to its end.
    pub heal_after_ns: u64,
    /// Planned faults come before this time; what answers to the protocol (windows, second faults) until healing.
    pub plan_until_ns: u64,
    /// Task failures by an injected exception, at most.
    pub task_failures_max: u32,
    /// Task manager crashes, at most.
    pub task_manager_crashes_max: u32,
    /// Job manager crashes, at most.
    pub job_manager_crashes_max: u32,
    /// Partitions, at most.
    pub partitions_max: u32,
    /// Crashes of the store, at most.
    #[serde(default)]
    pub store_crashes_max: u32,
    /// How long a crashed process stays down at most.
    pub down_time_max_ns: u64,
    /// How long a partition lasts at most.
    pub partition_max_ns: u64,
    /// A frame is lost, doubled or held up.
    pub frame: Odds,
    /// How long a held-up frame takes at most.
    pub spike_max_ns: u64,
    /// A thread stands still before a turn.
    pub pause: Odds,
    /// How long at most.
    pub pause_max_ns: u64,
    /// A call to an outside system is refused, answered late, or done without a reply.
    pub outside: Odds,
    /// From here on the store answers 'not now', until nothing breaks any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_out_after_ns: Option<u64>,
    /// A window of the protocol gets a crash or a delay when it opens.
    pub window: Odds,
    /// The window that gets one far more often than the others, if windows get any: so each of them gets its share over
    /// many seeds, those too that open once in a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_favoured: Option<Window>,
    /// A failover gets a second fault inside it.
    pub second: Odds,
    /// A stopped execution goes on as a zombie.
    pub zombie: Odds,
    /// How long at most.
    pub zombie_max_ns: u64,
    /// How many records one turn of a reader hands on at most.
    pub batch_size_max: u32,
    /// How far the clock of a process may be off.
    pub clock_skew_max_ns: u64,
    /// What befalls links as a whole.
    #[serde(default, skip_serializing_if = "LinkFaults::is_none")]
    pub links: LinkFaults,
    /// What befalls processes that do not die.
    #[serde(default, skip_serializing_if = "ProcessFaults::is_none")]
    pub processes: ProcessFaults,
}

impl FaultConfig {
    /// Nothing breaks.
    pub const NONE: Self = Self {
        heal_after_ns: 0,
        plan_until_ns: 0,
        task_failures_max: 0,
        task_manager_crashes_max: 0,
        job_manager_crashes_max: 0,
        partitions_max: 0,
        store_crashes_max: 0,
        down_time_max_ns: 1,
        partition_max_ns: 1,
        frame: Odds::NEVER,
        spike_max_ns: 1,
        pause: Odds::NEVER,
        pause_max_ns: 1,
        outside: Odds::NEVER,
        store_out_after_ns: None,
        window: Odds::NEVER,
        window_favoured: None,
        second: Odds::NEVER,
        zombie: Odds::NEVER,
        zombie_max_ns: 1,
        batch_size_max: 1,
        clock_skew_max_ns: 0,
        links: LinkFaults::NONE,
        processes: ProcessFaults::NONE,
    };

    /// Whether anything can make a task restart.
    #[must_use]
    pub const fn failover_possible(&self) -> bool {
        self.task_failures_max > 0
            || self.task_manager_crashes_max > 0
            || self.job_manager_crashes_max > 0
            || self.partitions_max > 0
            || self.store_crashes_max > 0
            || self.frame.numerator > 0
            || self.outside.numerator > 0
            || self.store_out_after_ns.is_some()
            || self.pause.numerator > 0
            || self.window.numerator > 0
            || self.links.can_break()
            || self.processes.stops_max > 0
    }
}

/// Whether user code is meant to throw, or may be made to by what it does.
fn may_user_code_fail(vertex: &VertexConfig) -> bool {
    vertex.task.user_failure.is_some()
        || vertex.task.checkpoint_failure.is_some()
        || vertex.source.script.failure.is_some()
        || vertex.task.commit_script.is_some()
        || is_alignment_unsupported(vertex)
}

/// Whether alignment will ask a reader for what it cannot do.
fn is_alignment_unsupported(vertex: &VertexConfig) -> bool {
    vertex.task.reader == ReaderKind::Blocking
        && vertex.task.alignment.is_some_and(|alignment| !alignment.allow_unaligned_splits)
}

/// Whether what a checkpoint holds may be gone before its commit comes, by nobody's fault.
const fn may_expire(sink: SinkKind) -> bool {
    matches!(sink, SinkKind::Log(log) if log.may_expire())
}

impl Scenario {
    /// What this scenario promises, per invariant, with the reason.
    #[must_use]
    pub fn promise(&self) -> Promise {
        let job = &self.job;
        let mut promise = Promise::new(PromiseInput {
            bounded: job.vertices.iter().all(|vertex| vertex.source.bounded),
            checkpointing: job.checkpointing.is_some(),
            restores_older: self.resubmission.is_some_and(|resubmission| resubmission.older_by > 0),
            failover_possible: self.faults.failover_possible()
                || !self.plan.is_empty()
                || job.vertices.iter().any(may_user_code_fail),
            sink: job.sink,
            after_tasks_finish: job
                .checkpointing
                .is_none_or(|checkpointing| checkpointing.after_tasks_finish),
        });
        // The budget of faults cannot use up this many restarts, so a job that fails all the same is a finding.
        promise.may_fail &= job.restart.failures_survived() < RESTARTS_BEYOND_ANY_BUDGET;
        // What a committer gives up for good no restart brings back.
        let gives_up =
            |vertex: &VertexConfig| vertex.task.commit_script.is_some_and(|script| script.gives_up());
        promise.may_fail |= job.vertices.iter().any(gives_up) || may_expire(job.sink);
        promise.may_be_cancelled = self.cancel_after_ns.is_some();
        promise
    }

    /// How many subtasks its widest vertex ever has: how many slots the job needs.
    #[must_use]
    pub fn widest(&self) -> u32 {
        let first = self.job.vertices.iter().map(VertexConfig::widest);
        let again = self.resubmission.map(|resubmission| resubmission.parallelism);
        first.chain(again).max().unwrap_or(0)
    }

    /// What a checker may know of it before the first event.
    #[must_use]
    pub fn setup(&self) -> RunSetup {
        RunSetup {
            config: self.job.clone(),
            promise: self.promise(),
            visible_within_ns: self.visible_within_ns(),
            handed_over_within_ns: self.handed_over_within_ns(),
        }
    }

    /// What a two-phase sink states: three times what a notice and a commit may take, each with all that may hold it up
    /// at its longest.
    fn visible_within_ns(&self) -> u64 {
        let trip_ns =
            self.network.latency_min_ns + self.network.latency_jitter_ns + self.network.service_jitter_ns;
        let planned_ns = self.plan.iter().map(|step| step.action.holds_up_ns()).max().unwrap_or(0);
        let faults = &self.faults;
        let held_up_ns = (faults.spike_max_ns.max(planned_ns) + faults.pause_max_ns.max(planned_ns))
            .saturating_add(faults.links.held_up_ns())
            .saturating_add(faults.processes.held_up_ns());
        let task_ns = |vertex: &VertexConfig| {
            let stall_ns = vertex.task.stall.map_or(0, |stall| stall.for_ns);
            vertex.task.store_timeout_ns.saturating_add(stall_ns)
        };
        let slowest_ns = self.job.vertices.iter().map(task_ns).max().unwrap_or(0);
        (4 * trip_ns).saturating_add(held_up_ns).saturating_add(slowest_ns).saturating_mul(3)
    }

    /// What a file sink with a rolling policy states: a file is old enough at the first check after its time, and is handed
    /// over by the next checkpoint, which takes its time as well. A compactor may keep it for some checkpoints more.
    fn handed_over_within_ns(&self) -> u64 {
        let (SinkKind::Files(files), Some(checkpointing)) = (self.job.sink, self.job.checkpointing) else {
            return 0;
        };
        let age_ns = match files.policy {
            RollingPolicy::Default { rollover_interval_ms, .. } => {
                rollover_interval_ms.saturating_add(files.bucket_check_interval_ms) * NANOS_PER_MILLI
            }
            RollingPolicy::OnCheckpoint if files.compaction.is_none() => return 0,
            RollingPolicy::OnCheckpoint => 0,
        };
        let kept_for = files.compaction.map_or(0, |compaction| u64::from(compaction.every_checkpoints));
        let checkpoint_ns = checkpointing.interval_ns.saturating_add(checkpointing.pause_min_ns);
        // A clock that is set back makes every file younger.
        let clock_ns = self.faults.processes.clock_moves_ns(self.limits.virtual_time_max_ns);
        let cycle_ns = checkpoint_ns.saturating_add(self.visible_within_ns());
        age_ns.saturating_add(clock_ns).saturating_add(cycle_ns.saturating_mul(2 + kept_for))
    }

    /// How many records the job must make visible in all, without those that the user function drops, and without those of
    /// a topic that is begun at its latest record: how many these are, only time tells.
    #[must_use]
    pub fn expected_records(&self) -> u64 {
        self.job
            .vertices
            .iter()
            .map(|vertex| {
                let source = vertex.source;
                if let Some(log) = vertex.log {
                    let keeps = |offset: u64| match vertex.task.filter_every {
                        0 => true,
                        every => !offset.is_multiple_of(every),
                    };
                    let (records, partitions) = (source.records_per_split, source.split_count);
                    return topic::expected_records(records, partitions, log, keeps).unwrap_or(0);
                }
                let total = u64::from(source.split_count) * source.records_per_split;
                let dropped = match (vertex.task.filter_every, &vertex.files) {
                    (0, _) => 0,
                    (every, None) => total.div_ceil(every),
                    // A record's offset is its number in its split: each block of a file counts from 0.
                    (every, Some(files)) => {
                        let (blocks, rest) = (
                            source.records_per_split / files.block_bytes,
                            source.records_per_split % files.block_bytes,
                        );
                        let of_file = blocks * files.block_bytes.div_ceil(every) + rest.div_ceil(every);
                        u64::from(source.split_count) * of_file
                    }
                };
                total - dropped
            })
            .sum()
    }
}
