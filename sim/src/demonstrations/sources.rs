//! Defects of enumerators, readers and fetchers, and of what coordinators do for them.

use super::{Demonstration, job, plain};
use crate::scenario::Scenario;
use splitrace_runtime::config::{
    AssignmentPolicy, DiscoveryConfig, EnumeratorFailure, FetcherConfig, JobConfig, NANOS_PER_MILLI,
    ReaderKind, Reassignment, RestartConfig,
};
use splitrace_runtime::defects::Defect;

/// A task fails with a split that no checkpoint holds.
const FAILS_EARLY: &str = "after(new-split subtask=1).after(records-emitted subtask=1) do fail-task";
/// A task fails behind the first checkpoint, which holds its split.
const FAILS_LATER: &str =
    "after(checkpoint-complete checkpoint=1).after(records-emitted subtask=1) do fail-task";
/// The fetcher of a subtask stands still behind the last batch of its first split.
const FETCHER_PAUSES: &str = "after(batch-handed-over subtask=1 nth=10) do pause 20ms";

/// Their demonstrations.
pub(super) const ALL: &[Demonstration] = &[
    Demonstration {
        defect: Defect::CoordinatorFutureLeaked,
        story: "a checkpoint expires while its coordinator stands still, and it is the last that is ever triggered",
        scenario: || job(expires_soon, &["before(enumerator-snapshot checkpoint=1) do pause 300ms"]),
    },
    Demonstration {
        defect: Defect::NoResetWithoutCheckpoint,
        story: "a subtask fails before the first checkpoint, and its coordinator never hears of the reset",
        scenario: || job(plain, &[FAILS_EARLY]),
    },
    Demonstration {
        defect: Defect::TrackerInState,
        story: "a new leader's tracker knows of a split that a reader restores, and gives it back when the reader fails",
        scenario: || {
            let fails_restored = "after(leader-granted nth=2).after(restored-split subtask=1) do fail-task";
            job(plain, &["after(checkpoint-complete checkpoint=1) do crash-job-manager", fails_restored])
        },
    },
    Demonstration {
        defect: Defect::CoordinatorsResetTwice,
        story: "the job fails as a whole while a task is being restarted, and its coordinators are reset under what runs",
        scenario: || {
            let fails = "after(checkpoint-complete checkpoint=1) do fail-task vertex=0 subtask=1";
            job(restarts_slowly, &[fails, "before(coordinator-notified checkpoint=1) do pause 15ms"])
        },
    },
    Demonstration {
        defect: Defect::OldCoordinatorUnfenced,
        story: "the enumerator of before a global failover answers one more request, with a split that its successor has",
        scenario: || job(throws_later, &[]),
    },
    Demonstration {
        defect: Defect::SavepointAnnounced,
        story: "a savepoint is announced, and its records are committed though no checkpoint holds them",
        scenario: || Scenario { savepoint_after_checkpoints: Some(1), ..job(plain, &[]) },
    },
    Demonstration {
        defect: Defect::IdleReaderNeverTold,
        story: "two readers have one split, and the other reader waits for ever",
        scenario: || job(|job| job.vertices[0].source.split_count = 1, &[]),
    },
    Demonstration {
        defect: Defect::FirstPartEndsSource,
        story: "the splits of the second look are there, and whoever asks for one is told that there are none",
        scenario: || job(|job| discovers(job, 2, 30), &[]),
    },
    Demonstration {
        defect: Defect::ParkedSplitsNotSnapshotted,
        story: "the first checkpoint behind a restart comes before the reader is set up",
        scenario: || job(plain, &[FAILS_LATER]),
    },
    Demonstration {
        defect: Defect::HeldPositionsForgotten,
        story: "a restored reader reports a split, and the enumerator has it read from its start",
        scenario: || job(reassigns, &[FAILS_LATER]),
    },
    Demonstration {
        defect: Defect::ReportedSplitsForgotten,
        story: "the first checkpoint behind a restart comes before what was reported is assigned again",
        scenario: || job(reassigns, &[FAILS_LATER]),
    },
    Demonstration {
        defect: Defect::ReturnedSplitsShelved,
        story: "a subtask fails with a split that no checkpoint holds, and the split that comes back is forgotten",
        scenario: || job(plain, &[FAILS_EARLY]),
    },
    Demonstration {
        defect: Defect::SplitMovedUnrevoked,
        story: "a reader that asks when nothing is left gets what the other one reads",
        scenario: || job(plain, &[]),
    },
    Demonstration {
        defect: Defect::RestoredPlanReordered,
        story: "a new leader's enumerator goes on with the plan where the old one stood, and the plan is in another order",
        scenario: || {
            let crashes = "after(checkpoint-complete checkpoint=1) do crash-job-manager";
            job(|job| discovers(job, 1, 60), &[crashes])
        },
    },
    Demonstration {
        defect: Defect::IdleFetcherSilent,
        story: "a fetcher becomes idle when its reader has taken the last batch and heard that nothing more comes",
        scenario: || {
            let has_one_split_each = |job: &mut JobConfig| {
                fetches(job);
                job.vertices[0].source.split_count = 2;
            };
            job(has_one_split_each, &[FETCHER_PAUSES])
        },
    },
    Demonstration {
        defect: Defect::IdleFlagOverAddedSplit,
        story: "the next split comes between a fetcher's look at its work and its word that it is idle",
        scenario: || job(fetches, &[]),
    },
    Demonstration {
        defect: Defect::LastFetcherEndsSilently,
        story: "a reader that knows that nothing more comes waits for its fetcher to be gone",
        scenario: || {
            let tells_early = |job: &mut JobConfig| {
                fetches(job);
                job.vertices[0].source.script.signals_everyone = true;
            };
            job(tells_early, &[])
        },
    },
    Demonstration {
        defect: Defect::SplitReaderClosedEarly,
        story: "a fetcher is done while its last batch still waits for the reader",
        scenario: || job(fetches, &[]),
    },
    Demonstration {
        defect: Defect::SplitReaderShared,
        story: "a fetcher is slow to end, and takes the split reader of the next one with it",
        scenario: || job(fetches, &[FETCHER_PAUSES]),
    },
    Demonstration {
        defect: Defect::WokenReadDropped,
        story: "a new split wakes a fetcher that waits for a record of another, and that record is gone",
        scenario: || {
            let gets_splits_while_it_reads = |job: &mut JobConfig| {
                fetches(job);
                discovers(job, 2, 10);
                job.vertices[0].source.policy = AssignmentPolicy::Push;
            };
            job(gets_splits_while_it_reads, &[])
        },
    },
];

/// Checkpoints expire after twice their interval.
fn expires_soon(job: &mut JobConfig) {
    if let Some(checkpointing) = &mut job.checkpointing {
        checkpointing.timeout_ns = 100 * NANOS_PER_MILLI;
    }
}

/// The enumerator throws when the first checkpoint is complete: the job fails over as a whole.
fn throws_later(job: &mut JobConfig) {
    job.vertices[0].source.script.failure = Some(EnumeratorFailure::Completion(1));
}

/// So does this one, with so long a delay that restored readers are given new splits within another one.
fn restarts_slowly(job: &mut JobConfig) {
    throws_later(job);
    job.restart = RestartConfig::FixedDelay { delay_ns: 30 * NANOS_PER_MILLI, attempts_max: 100 };
    if let Some(checkpointing) = &mut job.checkpointing {
        checkpointing.interval_ns = 20 * NANOS_PER_MILLI;
    }
}

/// Restored readers report their splits, and get them back.
fn reassigns(job: &mut JobConfig) {
    job.vertices[0].source.script.reassignment = Some(Reassignment::Same);
}

/// Splits are discovered, so many at a time.
fn discovers(job: &mut JobConfig, splits_per_look: u32, period_ms: u64) {
    job.vertices[0].source.discovery = Some(DiscoveryConfig {
        initial_delay_ns: 0,
        period_ns: Some(period_ms * NANOS_PER_MILLI),
        look_ns: 0,
        splits_per_look,
        failing_of: 0,
        failures_tolerated: true,
    });
}

/// Readers have one fetcher for all their splits.
fn fetches(job: &mut JobConfig) {
    job.vertices[0].task.reader = ReaderKind::Fetchers(FetcherConfig::DEFAULT);
}
