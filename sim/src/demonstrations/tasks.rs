//! Defects of tasks, exchanges and committer operators.

use super::{Demonstration, job, plain, scenario};
use crate::scenario::Scenario;
use splitrace_runtime::config::{CommittersConfig, EdgeKind, ExchangeConfig, JobConfig, NANOS_PER_MILLI};
use splitrace_runtime::defects::Defect;

fn exchanging(job: &mut JobConfig) {
    job.vertices[0].exchange =
        Some(ExchangeConfig { edge: EdgeKind::Rebalance, parallelism: 2, credit: 2, unaligned: false });
}

/// One reader has a long split and the other none.
fn ending_at_different_times(job: &mut JobConfig) {
    exchanging(job);
    job.vertices[0].source.split_count = 1;
    job.vertices[0].source.records_per_split = 60;
}

/// So long that what is held back is late.
fn long(scenario: &mut Scenario) {
    let vertex = &mut scenario.job.vertices[0];
    vertex.source.records_per_split = 300;
    vertex.task.store_timeout_ns = 50 * NANOS_PER_MILLI;
    scenario.faults.heal_after_ns = NANOS_PER_MILLI;
}

fn overtaking(job: &mut JobConfig) {
    job.vertices[0].exchange =
        Some(ExchangeConfig { edge: EdgeKind::Rebalance, parallelism: 2, credit: 2, unaligned: true });
}

fn committers_apart(job: &mut JobConfig) {
    job.vertices[0].topology.committers = Some(CommittersConfig { parallelism: 2, credit: 1, global: false });
}

/// Their demonstrations.
pub(super) const ALL: &[Demonstration] = &[
    Demonstration {
        defect: Defect::BarrierNotAligned,
        story: "one channel's barrier comes late, and what its other channels bring is taken meanwhile",
        scenario: || job(exchanging, &["before(barrier checkpoint=1 vertex=0 subtask=1) do pause 30ms"]),
    },
    Demonstration {
        defect: Defect::EndedChannelOwesBarrier,
        story: "a channel has ended, and the next checkpoint waits for its barrier",
        scenario: || job(ending_at_different_times, &[]),
    },
    Demonstration {
        defect: Defect::RegionIgnoresExchange,
        story: "a reader fails, and those behind its channels are left as they are",
        scenario: || job(exchanging, &["after(records-emitted subtask=1 nth=3) do fail-task"]),
    },
    Demonstration {
        defect: Defect::OvertakenBuffersNotRestored,
        story: "a barrier overtakes buffers, and a restore leaves them in the checkpoint",
        scenario: || {
            job(
                overtaking,
                &[
                    "after(records-emitted vertex=0 subtask=0 nth=3) do hold 40ms",
                    "after(checkpoint-complete checkpoint=1) do crash-task-manager 0",
                ],
            )
        },
    },
    Demonstration {
        defect: Defect::CommitBeforeComplete,
        story: "a committer commits with its snapshot, before the checkpoint is complete",
        scenario: || job(plain, &[]),
    },
    Demonstration {
        defect: Defect::RestoredNotRecommitted,
        story: "a subtask fails between the completion and its commit",
        scenario: || {
            job(plain, &["after(checkpoint-complete checkpoint=1).before(commit subtask=0) do fail-task"])
        },
    },
    Demonstration {
        defect: Defect::BadShutdownCommit,
        story: "a job with checkpoints commits at the end of its input without one",
        scenario: || job(plain, &[]),
    },
    Demonstration {
        defect: Defect::CommitsWaitForTheEnd,
        story: "what is complete stays hidden until the input ends",
        scenario: || scenario(long, &[]),
    },
    Demonstration {
        defect: Defect::UnalignedSinkEdges,
        story: "a barrier overtakes the committables on their way to the committer",
        scenario: || job(committers_apart, &[]),
    },
];
