//! A job that its user ends and submits again: with another parallelism, from the latest checkpoint or an older one.

use serde::{Deserialize, Serialize};

/// When a user ends the job, and how it is submitted again. A job that ends by itself before that is not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resubmission {
    /// The user ends the job once so many checkpoints are complete, at least 1.
    pub after_checkpoints: u32,
    /// How the user ends it.
    pub ending: Ending,
    /// So long after the last of them.
    pub delay_ns: u64,
    /// How many of the retained checkpoints newer than the one that is restored are passed over; 0 restores the latest.
    /// With fewer retained ones it is the oldest of them.
    pub older_by: u32,
    /// How many subtasks each vertex has from then on.
    pub parallelism: u32,
    /// Time between the first job's end and the second one's submission.
    pub pause_ns: u64,
}

/// How a user ends a job.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The job is cancelled.
    Cancel,
    /// The job is stopped with a savepoint, where it stands.
    Stop,
    /// The job is stopped with a savepoint, and writers flush first as at the end of the input.
    Drain,
}
