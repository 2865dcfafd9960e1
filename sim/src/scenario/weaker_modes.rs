//! The part of the draw that departs from the full promise: about one seed in seven.
//!
//! Most seeds draw a bounded job with checkpoints, a final checkpoint and restarts without end, since only such a job owes
//! everything. But a protocol that is right only there is not right, so each weaker mode is switched on by a choice of its
//! own, rarely, and independently of the others. The promise of the scenario follows from the modes by the table of
//! promises; nothing is decided here about what a run may get away with.
//!
//! Their shares are bounded by what a campaign owes: 95 % of the seeds finish with every record visible once, and each mode
//! but the last takes some of the other 5 %.

use super::FaultConfig;
use super::draw::{Drawer, Property};
use crate::choices::Choices;
use splitrace_runtime::config::*;

/// Seeds in a thousand without checkpoints: what restarts comes twice.
const NO_CHECKPOINTS_PERMILLE: u64 = 15;
/// Seeds in a thousand without a last checkpoint once tasks have finished: the tail is lost (FACT 97).
const NO_FINAL_CHECKPOINT_PERMILLE: u64 = 15;
/// Seeds in a thousand whose sources do not end, and which a user cancels.
const UNBOUNDED_PERMILLE: u64 = 8;
/// Seeds in a thousand whose job has few restarts and may end FAILED.
const FEW_RESTARTS_PERMILLE: u64 = 30;
/// The most restarts of such a job.
const FEW_RESTARTS_MAX: u64 = 8;
/// Seeds in a thousand in which user code throws at one of the five moments. The promise stays whole.
const USER_FAILURE_PERMILLE: u64 = 100;

/// Draws the weaker modes into a job; answers when a user cancels it.
pub(super) fn weaken<C: Choices>(
    drawer: &mut Drawer<C>,
    job: &mut JobConfig,
    faults: &FaultConfig,
) -> Option<u64> {
    debug_assert!(job.checkpointing.is_some(), "the draw begins with a job that owes everything");
    if drawer.permille(Property::NoCheckpoints, NO_CHECKPOINTS_PERMILLE) {
        job.checkpointing = None;
        // What fails there is never restored, so it would fail for ever.
        for vertex in &mut job.vertices {
            vertex.task.commit_script = None;
        }
    }
    if drawer.permille(Property::NoFinalCheckpoint, NO_FINAL_CHECKPOINT_PERMILLE)
        && let Some(checkpointing) = &mut job.checkpointing
    {
        checkpointing.after_tasks_finish = false;
    }
    if drawer.permille(Property::FewRestarts, FEW_RESTARTS_PERMILLE) {
        let attempts_max = drawer.within(Property::RestartAttempts, 1, FEW_RESTARTS_MAX) as u32;
        job.restart = RestartConfig::FixedDelay { delay_ns: job.restart.first_delay_ns(), attempts_max };
    }
    if drawer.permille(Property::UserFailure, USER_FAILURE_PERMILLE) {
        let vertex = &mut job.vertices[0];
        vertex.task.user_failure = Some(draw_user_failure(drawer, &vertex.source));
    }
    drawer.permille(Property::Unbounded, UNBOUNDED_PERMILLE).then(|| {
        for vertex in &mut job.vertices {
            vertex.source.bounded = false;
        }
        // Before, between and after the faults.
        let grid_ns = 10 * NANOS_PER_MILLI;
        let latest_ns = faults.heal_after_ns + 500 * NANOS_PER_MILLI;
        grid_ns * drawer.within(Property::CancelTime, 1, latest_ns / grid_ns)
    })
}

/// The benign value is the demo's: the user function is handed the record and throws.
fn draw_user_failure<C: Choices>(drawer: &mut Drawer<C>, source: &SourceConfig) -> UserFailure {
    let records = u64::from(source.split_count) * source.records_per_split;
    let moments = FailureMoment::ALL;
    UserFailure {
        record: drawer.below(Property::UserFailureRecord, records.max(1)),
        attempts_below: drawer.within(Property::UserFailureAttempts, 1, 8) as u32,
        moment: moments[drawer.below(Property::UserFailureMoment, moments.len() as u64) as usize],
    }
}
