//! What user code is meant to do beside its work: the failures and the habits of enumerators, readers and user functions
//! that Flink's demo job shows.
//!
//! Plain data, like the rest of the configuration, so that a scenario file can say it and a replay repeats it.

use super::FailureMoment;
use serde::{Deserialize, Serialize};

/// What an enumerator does beside handing splits out. The default is: nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnumeratorScript {
    /// It throws once. One that was restored does not.
    pub failure: Option<EnumeratorFailure>,
    /// Inside `snapshot_state` it assigns the next split to the first registered reader that still waits for one (FACT 36).
    pub assigns_in_snapshot: Option<SnapshotAssignment>,
    /// Restored splits do not stay with their readers: these report them, and the enumerator assigns them anew (FACT 53).
    pub reassignment: Option<Reassignment>,
    /// Who gets the splits that came back.
    pub returned: ReturnedSplits,
    /// As soon as no split is left it signals 'no more splits' to every subtask, also to those whose reader is not there,
    /// and catches what the context throws for these (FACT 43). Means nothing for an unbounded source.
    pub signals_everyone: bool,
}

impl EnumeratorScript {
    /// Nothing.
    pub const NONE: Self = Self {
        failure: None,
        assigns_in_snapshot: None,
        reassignment: None,
        returned: ReturnedSplits::Wait,
        signals_everyone: false,
    };

    /// Whether it does nothing beside handing splits out.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::NONE
    }
}

/// Where an enumerator throws (FACT 38).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnumeratorFailure {
    /// In the n-th `handle_split_request`, counted from 1: the job fails over as a whole.
    SplitRequest(u32),
    /// In `snapshot_state` of this checkpoint: that checkpoint fails, the job goes on.
    Snapshot(u64),
    /// In `notify_checkpoint_complete` of this checkpoint: the job fails over as a whole, and has a checkpoint to restore.
    Completion(u64),
}

/// In which snapshots an enumerator assigns a split.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SnapshotAssignment {
    /// In that of this checkpoint.
    In(u64),
    /// In each: whoever hands out work in step with checkpoints does so.
    Always,
}

/// Who gets the splits that came back. A split is handled carelessly once; when it comes back again, it waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReturnedSplits {
    /// They wait for whoever asks, or registers, next.
    #[default]
    Wait,
    /// The first registered reader, at once. It may have ended (FACT 55).
    FirstReader,
    /// The subtask that lost them, at once. Its reader is not registered again yet, so the context throws, and with it the
    /// enumerator's callback: the job fails over as a whole (FACTS 38, 39).
    WhoLostThem,
}

/// To whom an enumerator gives the splits that a restored reader reports (FLIP-537).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reassignment {
    /// Back to the reader that reports them.
    Same,
    /// To the next subtask after the one that reports them; that one may have ended by then (FACT 55). A restored
    /// enumerator is more careful, and does as [`Self::Spread`].
    Other,
    /// What subtask `s` of `p` reports to subtask `2 s mod p`. Until that one is registered, the enumerator keeps it.
    Spread,
}

/// What a committer signals instead of committing: what the outside would make it signal, said by itself, so that no
/// store is needed that misbehaves in just this way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommitScript {
    /// The signal.
    pub refusal: CommitRefusal,
    /// Only for the transaction with this number; `None` for each.
    #[serde(default)]
    pub transaction: Option<u64>,
}

/// A signal of a committer that has not committed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommitRefusal {
    /// `retry_later`, until it has signalled so this often (FACT 69).
    Retry(u32),
    /// `update_and_retry_later`, likewise.
    Update(u32),
    /// `signal_failed_with_known_reason`: it can never be committed (FACT 73).
    KnownReason,
    /// `signal_failed_with_unknown_reason`, unless the committable was restored (FACT 74).
    UnknownReason,
}

impl CommitScript {
    /// Whether the committer gives something up for good, and with it the job.
    #[must_use]
    pub fn gives_up(&self) -> bool {
        self.refusal == CommitRefusal::KnownReason
    }
}

/// A failure of user code that one checkpoint brings about, in the attempts below a bound.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointFailure {
    /// The subtask that fails.
    pub subtask: u32,
    /// The checkpoint.
    pub checkpoint: u64,
    /// Only attempts with a number below this one fail.
    pub attempts_below: u32,
    /// When.
    pub moment: CheckpointMoment,
}

/// The moments of a checkpoint at which user code can fail.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckpointMoment {
    /// The reader's `snapshot_state` throws.
    ReaderSnapshot,
    /// At the first record after the subtask's own acknowledgement. Every other subtask stalls for so many nanoseconds when
    /// the barrier reaches it, so that the checkpoint stays pending.
    Pending {
        /// How long the others stall.
        stall_ns: u64,
    },
    /// When the notice of the checkpoint's completion comes, before anything is committed.
    Completed,
}

impl CheckpointMoment {
    /// The moment, as events name it.
    #[must_use]
    pub const fn failure_moment(self) -> FailureMoment {
        match self {
            Self::ReaderSnapshot => FailureMoment::ReaderSnapshot,
            Self::Pending { .. } => FailureMoment::CheckpointPending,
            Self::Completed => FailureMoment::CheckpointCompleted,
        }
    }
}
