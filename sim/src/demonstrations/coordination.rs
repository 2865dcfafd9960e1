//! Defects of coordinator, holder, gateways, tracker and checkpoint coordinator.

use super::{Demonstration, job, plain};
use splitrace_runtime::defects::Defect;

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
        defect: Defect::GivenBackAtFailure,
        story: "a subtask fails between its acknowledgement and the completion of the checkpoint that holds its split",
        scenario: || {
            job(plain, &["after(acknowledged checkpoint=1 subtask=1) do fail-task vertex=0 subtask=1"])
        },
    },
];
