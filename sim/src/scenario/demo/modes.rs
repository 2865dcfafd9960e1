//! What user code does in each mode of the demo.

use super::super::{Ending, FaultConfig, Resubmission};
use super::{DemoMode, DemoOptions};
use splitrace_runtime::config::*;
use splitrace_runtime::connectors::file_sink::RollingPolicy;
use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_runtime::ids::WatermarkGroup;

/// The checkpoint at which the modes strike that strike at a checkpoint.
const STRUCK_CHECKPOINT: u64 = 3;
/// When the store goes out in the modes with an outage: after the first checkpoints, so that there is something to restore.
const OUTAGE_FROM_NS: u64 = 1_500 * NANOS_PER_MILLI;
/// Longer than the recorded job's three restarts, each a second after eleven calls, can last (FACT 69).
const OUTAGE_NS: u64 = 8_000 * NANOS_PER_MILLI;
/// Ten retries wait 55 times this: 11 s.
const BACK_OFF_NS: u64 = 200 * NANOS_PER_MILLI;
/// How often the committer of `commit-flaky` refuses.
const FLAKY_REFUSALS: u32 = 3;
/// The request that follows the first one of each of two readers.
const FAILING_REQUEST: u32 = 3;
/// How long the other subtask holds a barrier up, in `fail-while-pending`.
const STALL_NS: u64 = 430 * NANOS_PER_MILLI;

/// Long enough for the commits of the last checkpoint.
const RESUBMISSION_DELAY_NS: u64 = 70 * NANOS_PER_MILLI;
/// Between the first job's end and the second one's submission.
const RESUBMISSION_PAUSE_NS: u64 = 1_000 * NANOS_PER_MILLI;

impl DemoMode {
    pub(super) const fn has_checkpoints(self) -> bool {
        !matches!(self, Self::Nockpt | Self::NockptFail | Self::NockptUnbounded)
    }

    /// Whether its source has no end: the job is cancelled then.
    pub(super) const fn is_endless(self) -> bool {
        matches!(self, Self::NockptUnbounded) || self.writes_files()
    }

    /// Whether its sink writes files; then how long records are hidden is what it is about.
    #[must_use]
    pub const fn writes_files(self) -> bool {
        matches!(self, Self::FilesinkDefault | Self::FilesinkOncheckpoint)
    }

    pub(super) const fn sink(self, options: DemoOptions) -> SinkKind {
        let policy = match self {
            Self::FilesinkDefault => RollingPolicy::Default {
                part_size_max_bytes: options.part_size_bytes,
                rollover_interval_ms: options.rollover_interval_ms,
                inactivity_interval_ms: options.rollover_interval_ms,
            },
            Self::FilesinkOncheckpoint => RollingPolicy::OnCheckpoint,
            _ => return SinkKind::Append,
        };
        let bucket_check_interval_ms = options.bucket_check_interval_ms;
        SinkKind::Files(FileSinkConfig { policy, bucket_check_interval_ms, ..FileSinkConfig::DEFAULT })
    }

    pub(super) const fn is_push(self) -> bool {
        matches!(self, Self::Push | Self::PushFail | Self::WatermarkAlignment)
    }

    /// A mode in which a checkpoint is meant to fail survives that.
    pub(super) const fn failures_tolerable(self) -> u32 {
        match self {
            Self::EnumSnapshotFail => 1,
            // What a silent outside costs is to be seen, not to end the job.
            Self::BlockingReader | Self::BlockedFetcher => 3,
            _ => 0,
        }
    }

    /// Split i begins a second of event time after split i - 1, and nobody may be half a second ahead. A reader takes
    /// 1.25 s of event time in a second.
    pub(super) fn event_time(self, options: DemoOptions) -> (EventTime, Option<AlignmentConfig>) {
        if self != Self::WatermarkAlignment {
            return (EventTime::NUMBER, None);
        }
        let step_ms = 100;
        let numbers_ms = i64::try_from(options.records_per_split.saturating_mul(step_ms)).unwrap_or(i64::MAX);
        let alignment = AlignmentConfig {
            group: WatermarkGroup(0),
            max_drift_ms: 500,
            period_ns: 500 * NANOS_PER_MILLI,
            allow_unaligned_splits: false,
        };
        (EventTime { step_ms, split_skew_ms: 1_000 - numbers_ms }, Some(alignment))
    }

    /// When the job is ended and submitted again.
    pub(super) fn resubmission(self, options: DemoOptions) -> Option<Resubmission> {
        matches!(self, Self::Rescale | Self::RescaleReassign).then_some(Resubmission {
            after_checkpoints: STRUCK_CHECKPOINT as u32,
            ending: Ending::Cancel,
            delay_ns: RESUBMISSION_DELAY_NS,
            older_by: 0,
            parallelism: options.second_parallelism,
            pause_ns: RESUBMISSION_PAUSE_NS,
        })
    }

    /// What is switched on: careless sinks, and quirks of Flink that the mode stumbles over.
    pub(super) fn defects(self) -> DefectSet {
        match self {
            Self::FailNaive => {
                [Defect::TransactionIdsRestart, Defect::CommitterNotIdempotent].into_iter().collect()
            }
            Self::FailNaiveIdsIdempotent => DefectSet::NONE.with(Defect::TransactionIdsRestart),
            // Early alone is seen by C3; that nobody looks whether the name is there makes the harm visible to C1 too.
            Self::CommitEarly => {
                [Defect::CommitBeforeComplete, Defect::CommitterNotIdempotent].into_iter().collect()
            }
            Self::AssignInSnapshot => DefectSet::NONE.with(Defect::AssignedInSnapshot),
            Self::ReassignToFinished => DefectSet::NONE.with(Defect::SplitAfterEndOfInputLost),
            Self::CommitKnown => DefectSet::NONE.with(Defect::KnownReasonDropped),
            Self::RetryLater => DefectSet::NONE.with(Defect::CommitterRetriesIgnored),
            _ => DefectSet::NONE,
        }
    }

    /// One split in 1.5 s, and a reader takes 3.2 s for each; every third look fails, the first one included.
    pub(super) fn discovery(self) -> Option<DiscoveryConfig> {
        (self == Self::Discovery).then_some(DiscoveryConfig {
            initial_delay_ns: 0,
            period_ns: Some(1_500 * NANOS_PER_MILLI),
            look_ns: 300 * NANOS_PER_MILLI,
            splits_per_look: 1,
            failing_of: 3,
            failures_tolerated: true,
        })
    }

    pub(super) fn script(self) -> EnumeratorScript {
        let none = EnumeratorScript::NONE;
        match self {
            Self::EnumFail => {
                let failure = Some(EnumeratorFailure::SplitRequest(FAILING_REQUEST));
                EnumeratorScript { failure, ..none }
            }
            Self::EnumSnapshotFail => {
                EnumeratorScript { failure: Some(EnumeratorFailure::Snapshot(1)), ..none }
            }
            Self::AssignInSnapshot => {
                let assigns_in_snapshot = Some(SnapshotAssignment::In(STRUCK_CHECKPOINT));
                EnumeratorScript { assigns_in_snapshot, ..none }
            }
            Self::ReassignFail => EnumeratorScript { reassignment: Some(Reassignment::Same), ..none },
            Self::RescaleReassign => EnumeratorScript { reassignment: Some(Reassignment::Spread), ..none },
            Self::ReassignToFinished => EnumeratorScript { reassignment: Some(Reassignment::Other), ..none },
            _ => none,
        }
    }

    pub(super) fn user_failure(self, options: DemoOptions) -> Option<UserFailure> {
        let record = match self {
            Self::Fail
            | Self::PushFail
            | Self::FailNaive
            | Self::FailNaiveIdsIdempotent
            | Self::ReassignFail
            | Self::ReassignToFinished
            | Self::NockptFail
            | Self::CommitEarly => 80,
            Self::FailMid => 60,
            Self::FailLate => 110,
            Self::CommitThenCrash => 70,
            _ => return None,
        };
        let record = options.fail_at_record.unwrap_or(record);
        let moment = if self == Self::CommitThenCrash { FailureMoment::Committing } else { options.moment };
        Some(UserFailure { record, attempts_below: 1, moment })
    }

    pub(super) fn commit_script(self, options: DemoOptions) -> Option<CommitScript> {
        let refusal = match self {
            Self::CommitFlaky if options.commit_updates => CommitRefusal::Update(FLAKY_REFUSALS),
            Self::CommitFlaky => CommitRefusal::Retry(FLAKY_REFUSALS),
            Self::CommitKnown => CommitRefusal::KnownReason,
            // What commit() throws ends the task as an unknown reason does (FACT 74).
            Self::CommitThrow | Self::CommitUnknown => CommitRefusal::UnknownReason,
            Self::RetryLater => CommitRefusal::Retry(u32::MAX),
            _ => return None,
        };
        Some(CommitScript { refusal, transaction: None })
    }

    pub(super) fn commit_back_off_ns(self) -> u64 {
        if self == Self::OutageBackOff { BACK_OFF_NS } else { 0 }
    }

    pub(super) fn faults(self) -> FaultConfig {
        match self {
            Self::Outage | Self::OutageBackOff => FaultConfig {
                store_out_after_ns: Some(OUTAGE_FROM_NS),
                heal_after_ns: OUTAGE_FROM_NS + OUTAGE_NS,
                ..FaultConfig::NONE
            },
            _ => FaultConfig::NONE,
        }
    }

    pub(super) fn checkpoint_failure(self) -> Option<CheckpointFailure> {
        let moment = match self {
            Self::FailInSnapshot => CheckpointMoment::ReaderSnapshot,
            Self::FailWhilePending => CheckpointMoment::Pending { stall_ns: STALL_NS },
            Self::AssignInSnapshot => CheckpointMoment::Completed,
            _ => return None,
        };
        Some(CheckpointFailure { subtask: 0, checkpoint: STRUCK_CHECKPOINT, attempts_below: 1, moment })
    }
}
