//! Defects of enumerators, readers and their alignment.

use super::{Demonstration, job, plain};
use splitrace_runtime::config::{
    AlignmentConfig, AssignmentPolicy, DiscoveryConfig, EventTime, FetcherConfig, FetcherThreading,
    JobConfig, NANOS_PER_MILLI, ReaderKind, RestartConfig, SinkKind,
};
use splitrace_runtime::defects::Defect;
use splitrace_runtime::ids::WatermarkGroup;

const FETCHERS: ReaderKind =
    ReaderKind::Fetchers(FetcherConfig { threading: FetcherThreading::Multiplexed, queue_capacity: 2 });

fn discovering(job: &mut JobConfig) {
    job.vertices[0].source.discovery = Some(DiscoveryConfig {
        initial_delay_ns: NANOS_PER_MILLI,
        period_ns: Some(25 * NANOS_PER_MILLI),
        look_ns: 5 * NANOS_PER_MILLI,
        splits_per_look: 2,
        failing_of: 0,
        failures_tolerated: true,
    });
}

/// A reader waits for the next look, and a failed one is long in coming back.
fn discovering_rarely(job: &mut JobConfig) {
    discovering(job);
    if let Some(discovery) = &mut job.vertices[0].source.discovery {
        discovery.period_ns = Some(100 * NANOS_PER_MILLI);
    }
    job.restart = RestartConfig::FixedDelay { delay_ns: 200 * NANOS_PER_MILLI, attempts_max: 100 };
}

/// A look begins before the result of the one before has come.
fn discovering_slowly(job: &mut JobConfig) {
    discovering(job);
    if let Some(discovery) = &mut job.vertices[0].source.discovery {
        discovery.period_ns = Some(10 * NANOS_PER_MILLI);
        discovery.look_ns = 30 * NANOS_PER_MILLI;
    }
}

/// The splits of a source begin 100 ms of event time apart, and nobody may be ahead by more than 50 ms.
fn aligned(job: &mut JobConfig) {
    let vertex = &mut job.vertices[0];
    vertex.task.reader = FETCHERS;
    vertex.task.event_time = EventTime { step_ms: 10, split_skew_ms: 100 };
    vertex.task.alignment = Some(AlignmentConfig {
        group: WatermarkGroup(0),
        max_drift_ms: 50,
        period_ns: 10 * NANOS_PER_MILLI,
        allow_unaligned_splits: false,
    });
}

/// Readers are told that they have all their splits while they wait for others.
fn aligned_and_dealt_out(job: &mut JobConfig) {
    aligned(job);
    discovering(job);
    job.vertices[0].source.policy = AssignmentPolicy::Push;
}

/// The task waits for the store with every other record, while its fetcher goes on.
fn writing_through(job: &mut JobConfig) {
    job.sink = SinkKind::Transactional;
    let task = &mut job.vertices[0].task;
    task.reader = FETCHERS;
    task.write_buffer_records = 2;
}

/// Their demonstrations.
pub(super) const ALL: &[Demonstration] = &[
    Demonstration {
        defect: Defect::ReaderSnapshotsAhead,
        story: "a subtask restores a position that is one record too far",
        scenario: || job(plain, &["after(completion-noticed checkpoint=1 subtask=1) do fail-task"]),
    },
    Demonstration {
        defect: Defect::EnumeratorRepeatsSplits,
        story: "a leader dies, and the enumerator that its successor restores plans the same splits again",
        scenario: || job(plain, &["after(checkpoint-complete checkpoint=1) do crash-job-manager"]),
    },
    Demonstration {
        defect: Defect::EmptyDiscoveryReturnsEarly,
        story: "a leader dies when everything is discovered, and readers are never told so",
        scenario: || job(discovering, &["after(checkpoint-complete checkpoint=2) do crash-job-manager"]),
    },
    Demonstration {
        defect: Defect::DiscoveredSplitForGoneReader,
        story: "a reader asks, fails, and a split that is discovered then is given to it",
        scenario: || {
            job(discovering_rarely, &["after(split-request subtask=1 nth=2) do fail-task vertex=0 subtask=1"])
        },
    },
    Demonstration {
        defect: Defect::WorkerMovesPosition,
        story: "a checkpoint falls between the worker's look and its result, and is restored",
        scenario: || {
            job(discovering_slowly, &["after(checkpoint-complete checkpoint=1) do crash-job-manager"])
        },
    },
    Demonstration {
        defect: Defect::ReaderSwapsRecords,
        story: "two records of a split come the wrong way round",
        scenario: || job(plain, &[]),
    },
    Demonstration {
        defect: Defect::FinishedSubtaskHoldsBack,
        story: "a reader that has ended holds its group back with its last watermark",
        scenario: || job(aligned, &[]),
    },
    Demonstration {
        defect: Defect::AnnouncementsEndAtRestart,
        story: "a subtask is being restarted when the next announcement is due",
        scenario: || job(aligned, &["after(records-emitted subtask=0 nth=6) do fail-task"]),
    },
    Demonstration {
        defect: Defect::AnnouncementsEndAtNoMoreSplits,
        story: "a reader that was told 'no more splits' waits for an announcement that is not sent to it",
        scenario: || job(aligned_and_dealt_out, &[]),
    },
    Demonstration {
        defect: Defect::PausedRecordsSkipped,
        story: "a split that was paused is read on from one record too far",
        scenario: || job(aligned, &[]),
    },
    Demonstration {
        defect: Defect::HandOverQueueUnbounded,
        story: "a fetcher fetches on while its task waits for the store",
        scenario: || job(writing_through, &["before(send-store-reply subtask=0 nth=4) do delay 100ms"]),
    },
];
