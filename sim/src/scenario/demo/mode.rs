//! The modes by name: one table for the code, the command line and its help.

/// Makes the enumeration and its tables.
macro_rules! modes {
    ($($variant:ident = $id:literal, $sentence:literal;)+) => {
        /// A variant of the experiment.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum DemoMode {
            $(#[doc = $sentence] $variant,)+
        }

        impl DemoMode {
            /// Every mode, in the order of the help.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Its name on the command line.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$variant => $id,)+
                }
            }

            /// What it shows, in a sentence.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self {
                    $(Self::$variant => $sentence,)+
                }
            }
        }
    };
}

modes! {
    Normal = "normal",
        "Nothing fails";
    Push = "push",
        "Nothing fails, and the enumerator deals the splits out itself";
    Fail = "fail",
        "User code fails once, at record 80: its split was assigned after the last checkpoint and comes back";
    FailMid = "fail-mid",
        "The same at record 60: its split is in the restored checkpoint, nothing comes back";
    FailLate = "fail-late",
        "The same at record 110: the reader restores its split at a later position";
    PushFail = "push-fail",
        "As `fail`, with splits dealt out: they are in reader state from the first checkpoint on";
    FailNaive = "fail-naive",
        "As `fail`; transaction numbers restart and the committer is not idempotent (C1)";
    FailNaiveIdsIdempotent = "fail-naive-ids-idempotent",
        "As `fail`; transaction numbers restart, but the committer is idempotent: records are lost (K2, C2)";
    FailInSnapshot = "fail-in-snapshot",
        "A reader throws in its snapshotState of checkpoint 3";
    FailWhilePending = "fail-while-pending",
        "A subtask fails after its acknowledgement of checkpoint 3, while the other one owes its own";
    EnumFail = "enum-fail",
        "The enumerator throws in handleSplitRequest: everything restarts, the enumerator is restored";
    EnumSnapshotFail = "enum-snapshot-fail",
        "The enumerator throws in snapshotState: that checkpoint fails, the job goes on";
    AssignInSnapshot = "assign-in-snapshot",
        "The enumerator assigns a split inside snapshotState, and Flink's tracker files it too late (S1, C1)";
    ReassignFail = "reassign-fail",
        "As `fail`; the restored reader reports its splits, and the enumerator gives them back to it";
    ReassignToFinished = "reassign-to-finished",
        "As `fail`; the enumerator gives the reported splits to another reader; with delay=20 interval=250 that one has ended (S1, C2)";
    FinalOff = "final-off",
        "No last checkpoint after the end of the input: what no periodic one covered stays uncommitted";
    Rescale = "rescale",
        "Cancelled after three checkpoints and submitted again from the latest one with another parallelism";
    RescaleReassign = "rescale-reassign",
        "The same; the restored readers report their splits, and the enumerator spreads them";
    Nockpt = "nockpt",
        "No checkpoints: one commit at the end of the input";
    NockptUnbounded = "nockpt-unbounded",
        "No checkpoints and no end: cancelled after a while, commits nothing";
    NockptFail = "nockpt-fail",
        "A failure without checkpoints: everything is read again";
    CommitFlaky = "commit-flaky",
        "The committer signals retryLater three times for each committable";
    CommitKnown = "commit-known",
        "The committer signals a known reason, and Flink drops the committables in silence (C2)";
    CommitThenCrash = "commit-then-crash",
        "A task fails right after a commit: it is found done when it is committed again";
    CommitThrow = "commit-throw",
        "The committer throws at what was not restored: the restarts are used up";
    CommitUnknown = "commit-unknown",
        "The committer signals an unknown reason for what was not restored: the same";
    RetryLater = "retry-later",
        "The committer signals retryLater for ever: 11 calls, then the task fails, whatever 'retries' says";
    Outage = "outage",
        "The store is out for 8 s: 11 calls and the restarts are used up, and the job fails";
    OutageBackOff = "outage-back-off",
        "The same, and the committer backs off inside commit: nothing fails";
    FilesinkDefault = "filesink-default",
        "The file sink with its default policy: records are hidden until their file is a minute old at a check";
    FilesinkOncheckpoint = "filesink-oncheckpoint",
        "The file sink that closes its file at each checkpoint: records are hidden for an interval";
    CommitEarly = "commit-early",
        "The committer does not wait until the checkpoint is complete (C3)";
    Fetcher = "fetcher",
        "Nothing fails; records come through split fetchers, in threads of their own";
    BlockingReader = "blocking-reader",
        "The outside is silent for 12 s and the reader blocks inside its poll: a checkpoint times out";
    BlockedFetcher = "blocked-fetcher",
        "The same outside, waited for by a split fetcher: checkpoints go on";
    WatermarkAlignment = "watermark-alignment",
        "Splits that are ahead in event time are paused until the others catch up, and whole readers wait";
    Discovery = "discovery",
        "A worker discovers the splits one after another while the job runs, and some of its looks fail";
}

impl DemoMode {
    /// The mode with this name.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.id() == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_found_by_its_name() {
        for mode in DemoMode::ALL {
            assert_eq!(DemoMode::from_id(mode.id()), Some(*mode));
        }
        assert_eq!(DemoMode::from_id("absent"), None);
    }
}
