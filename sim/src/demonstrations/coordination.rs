//! Defects of coordinator, holder, gateways, tracker, checkpoint coordinator and job master.

use super::{Demonstration, job, plain, scenario};
use crate::scenario::Scenario;
use splitrace_runtime::config::{CoordinatedConfig, JobConfig, NANOS_PER_MILLI, SinkKind};
use splitrace_runtime::defects::Defect;
use splitrace_runtime::ids::OperatorUid;

/// A checkpoint whose trigger reaches a subtask late, while the subtask asks for its next split.
const LATE_TRIGGER: &[&str] = &["before(send-trigger checkpoint=1 subtask=0) do delay 60ms"];
/// A checkpoint whose trigger never reaches a subtask.
const LOST_TRIGGER: &[&str] = &["before(send-trigger checkpoint=1 subtask=0) do lose"];
/// The leader dies when two checkpoints are complete and a third has begun.
const LEADER_DIES: &[&str] =
    &["after(checkpoint-complete checkpoint=2).after(checkpoint-triggered) do crash-job-manager"];

fn coordinated(job: &mut JobConfig) {
    job.vertices[0].coordinated = Some(CoordinatedConfig {
        operator: OperatorUid(100),
        event_interval_ns: 7 * NANOS_PER_MILLI,
        event_count: 30,
    });
    if let Some(checkpointing) = &mut job.checkpointing {
        checkpointing.blocked_events_max = Some(5);
    }
}

/// And a task manager that dies is away for a second.
fn one_slot_each(scenario: &mut Scenario) {
    scenario.job.slots_per_task_manager = Some(1);
    scenario.faults.down_time_max_ns = 64_000 * NANOS_PER_MILLI;
    scenario.limits.no_progress_max_ns = 200_000 * NANOS_PER_MILLI;
}

/// Their demonstrations.
pub(super) const ALL: &[Demonstration] = &[
    Demonstration {
        defect: Defect::TrackerReturnsNothing,
        story: "a subtask fails with a split that no checkpoint holds, and nobody gets the split back",
        scenario: || {
            job(plain, &["after(new-split subtask=1).after(records-emitted subtask=1) do fail-task"])
        },
    },
    Demonstration {
        defect: Defect::GatewayNeverCloses,
        story: "a split is assigned behind the coordinator's snapshot and arrives before the barrier",
        scenario: || job(plain, LATE_TRIGGER),
    },
    Demonstration {
        defect: Defect::GatewayOpensAtInjection,
        story: "the barriers are under way, the gateway is open again, and a split overtakes the barrier",
        scenario: || job(plain, LATE_TRIGGER),
    },
    Demonstration {
        defect: Defect::GatewayStaysClosedOnAbort,
        story: "a trigger is lost, its checkpoint expires, and the subtask never hears of its next split",
        scenario: || job(plain, LOST_TRIGGER),
    },
    Demonstration {
        defect: Defect::EventLossIgnored,
        story: "an assignment is lost for good while both ends live",
        scenario: || job(plain, &["before(send-add-splits subtask=1 nth=2) do lose"]),
    },
    Demonstration {
        defect: Defect::GivenBackAtFailure,
        story: "a subtask fails between its acknowledgement and the completion of the checkpoint that holds its split",
        scenario: || {
            job(plain, &["after(acknowledged checkpoint=1 subtask=1) do fail-task vertex=0 subtask=1"])
        },
    },
    Demonstration {
        defect: Defect::NoMoreSplitsLatchKept,
        story: "a subtask fails after it was told that no split comes, and its successor is not told again",
        scenario: || job(plain, &["after(no-more-splits-signalled subtask=1) do fail-task"]),
    },
    Demonstration {
        defect: Defect::InDoubtAddTreatedAsAbort,
        story: "the store completes a checkpoint and its answer is lost",
        scenario: || {
            job(
                |job| job.sink = SinkKind::Transactional,
                &[
                    "after(checkpoint-complete checkpoint=1).before(send-high-availability-reply) do lose",
                    "after(checkpoint-complete checkpoint=1).after(prepare-commit subtask=0) do fail-task",
                ],
            )
        },
    },
    Demonstration {
        defect: Defect::CounterRestartsAtRestored,
        story: "a leader dies behind a raised counter, and its successor gives the same number again",
        scenario: || job(plain, LEADER_DIES),
    },
    Demonstration {
        defect: Defect::PendingNeverExpires,
        story: "a trigger is lost, and the checkpoint that waits for it is never given up",
        scenario: || job(plain, LOST_TRIGGER),
    },
    Demonstration {
        defect: Defect::BlockedEventsUnbounded,
        story: "a coordinator sends on and on to a subtask that does not see its trigger",
        scenario: || job(coordinated, &["before(send-trigger checkpoint=1 subtask=0) do delay 150ms"]),
    },
    Demonstration {
        defect: Defect::TrackerNeverForgets,
        story: "a checkpoint completes, and the tracker still remembers what it covers",
        scenario: || scenario(|_| {}, &[]),
    },
    Demonstration {
        defect: Defect::SlotsNotCounted,
        story: "a task manager dies, and the other has no room for what ran there",
        scenario: || {
            scenario(one_slot_each, &["after(barrier checkpoint=1 subtask=1) do crash-task-manager"])
        },
    },
];
