//! A number for each event kind, in the order of the schema, and the kinds' names. A table.

use splitrace_runtime::event::EventKind;

macro_rules! kinds {
    ($($kind:ident)+) => {
        #[derive(Clone, Copy)]
        enum Kind { $($kind,)+ }

        /// The kinds' names, by number.
        pub(super) const NAMES: &[&str] = &[$(stringify!($kind),)+];

        /// The kind's number. The arms are the schema's, so that a new kind does not compile until it stands here.
        pub(super) const fn index(kind: &EventKind) -> usize {
            (match kind { $(EventKind::$kind { .. } => Kind::$kind,)+ }) as usize
        }
    };
}

/// How many kinds there are.
pub(super) const COUNT: usize = NAMES.len();

kinds! {
    LeaderGranted
    LeaderTermEnded
    CounterRaised
    JobEnded
    FailoverStarted
    TaskDeployed
    TaskStateChanged
    EnumeratorStarted
    SplitsDiscovered
    ReaderEventArrived
    ReaderRegistered
    SplitRequested
    SplitsAssigned
    NoMoreSplitsSignalled
    AssignmentsFiled
    EnumeratorSnapshotTaken
    SplitsGivenBack
    CoordinatorNotified
    GatewaysMarked
    GatewaysClosed
    GatewayOpened
    OperatorEventBlocked
    OperatorEventReleased
    OperatorEventLost
    CheckpointTriggered
    BarriersInjected
    CheckpointAcknowledged
    CheckpointAborted
    CheckpointCompleted
    RestorePointChosen
    TaskRestored
    SplitRestored
    SplitAdded
    OperatorEventHandled
    NoMoreSplitsNoticed
    RecordsEmitted
    RecordsFiltered
    RecordsWritten
    SplitFinished
    BarrierHandled
    TransactionPrepared
    ReaderSnapshotTaken
    EndOfInput
    CompletionNoticed
    AbortNoticed
    CommitRequested
    CommitAnswered
    CommitRetried
    CommitsSettled
    UserFailure
    TaskEnded
    CommitterCreated
    WriterCreated
    ReaderStarted
    WriterFenced
    TransactionBegun
    TransactionWritten
    TransactionDurable
    TransactionRolledBack
    BecameVisible
    AlreadyVisible
    StoreRefused
    ProcessStarted
    ProcessCrashed
    ExecutionGone
    FaultInjected
    Healed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::good_history;

    #[test]
    fn numbers_and_names_agree_with_the_schema() {
        for event in good_history().events() {
            assert_eq!(NAMES[index(&event.kind)], event.kind.name());
        }
        assert_eq!(NAMES.iter().collect::<std::collections::BTreeSet<_>>().len(), COUNT);
    }
}
