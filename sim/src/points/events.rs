//! The points that are events: a table.
//!
//! The thirteen at which Flink's teachers stop a debugger to explain the protocol are marked as breakpoints.

use splitrace_runtime::event::EventKind;
use splitrace_runtime::message::ExecutionState;

macro_rules! points {
    ($($variant:ident = $name:literal, $pattern:pat, $breakpoint:literal, $sentence:literal;)+) => {
        /// A point that is an event.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum EventPoint {
            $(#[doc = $sentence] $variant,)+
        }

        impl EventPoint {
            /// Every one, in the order in which a job meets them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its name in plans.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What happens there.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)+ }
            }

            /// Whether it is one of the thirteen breakpoints.
            #[must_use]
            pub const fn is_breakpoint(self) -> bool {
                match self { $(Self::$variant => $breakpoint,)+ }
            }

            /// Whether this event is it.
            #[must_use]
            pub const fn is(self, event: &EventKind) -> bool {
                match self { $(Self::$variant => matches!(event, $pattern),)+ }
            }
        }
    };
}

points! {
    LeaderGranted = "leader-granted", EventKind::LeaderGranted { .. }, false,
        "a job manager gets the lease";
    TaskDeployed = "deploy", EventKind::TaskDeployed { .. }, false,
        "the job master sends a task to a task manager";
    TaskRestored = "task-restored", EventKind::TaskRestored { .. }, false,
        "a task has restored its state and has not registered yet";
    EnumeratorStarted = "enumerator-started", EventKind::EnumeratorStarted { .. }, false,
        "an enumerator was created or restored, and started";
    SplitsDiscovered = "splits-discovered", EventKind::SplitsDiscovered { .. }, false,
        "the enumerator discovered splits";
    ReaderEventArrived = "reader-event", EventKind::ReaderEventArrived { .. }, true,
        "an event from a reader arrives at its coordinator";
    ReaderRegistered = "registration", EventKind::ReaderRegistered { .. }, false,
        "a reader registers";
    SplitRequested = "split-request", EventKind::SplitRequested { .. }, false,
        "a reader asks for a split";
    SplitsAssigned = "assignment", EventKind::SplitsAssigned { .. }, true,
        "an assignment is recorded in the tracker";
    NoMoreSplitsSignalled = "no-more-splits-signalled", EventKind::NoMoreSplitsSignalled { .. }, false,
        "a reader is told that no split will come";
    OperatorEventReleased = "event-released", EventKind::OperatorEventReleased { .. }, false,
        "the holder sends an event of a coordinator to a task";
    OperatorEventBlocked = "event-blocked", EventKind::OperatorEventBlocked { .. }, false,
        "a closed gateway keeps an event back";
    OperatorEventLost = "event-lost", EventKind::OperatorEventLost { .. }, false,
        "the holder fails a subtask over because an event of its was lost";
    OperatorEventHandled = "event-handled", EventKind::OperatorEventHandled { .. }, false,
        "a task handles an event of a coordinator";
    SplitRestored = "restored-split", EventKind::SplitRestored { .. }, true,
        "a restored split goes to its reader";
    SplitAdded = "new-split", EventKind::SplitAdded { .. }, true,
        "a newly assigned split arrives at its reader";
    ReaderStarted = "reader-started", EventKind::ReaderStarted { .. }, false,
        "a reader starts with what it has restored";
    BatchFetched = "batch-fetched", EventKind::BatchFetched { .. }, false,
        "a fetcher has a batch in hand; it waits here while the hand-over queue is full";
    BatchHandedOver = "batch-handed-over", EventKind::BatchHandedOver { .. }, true,
        "a fetcher puts a batch into the hand-over queue";
    BatchTaken = "batch-taken", EventKind::BatchTaken { .. }, false,
        "a reader takes a batch out of the hand-over queue";
    FetcherEnded = "fetcher-ended", EventKind::FetcherEnded { .. }, false,
        "a fetcher's thread ends";
    RecordsEmitted = "records-emitted", EventKind::RecordsEmitted { .. }, false,
        "a reader hands records on";
    RecordsWritten = "records-written", EventKind::RecordsWritten { .. }, false,
        "a writer takes records";
    SplitFinished = "split-finished", EventKind::SplitFinished { .. }, false,
        "a task knows that a split is at its end";
    CheckpointTriggered = "checkpoint-triggered", EventKind::CheckpointTriggered { .. }, false,
        "a checkpoint begins";
    GatewaysMarked = "gateways-marked", EventKind::GatewaysMarked { .. }, false,
        "every gateway of a coordinator is marked for a checkpoint";
    EnumeratorSnapshotTaken = "enumerator-snapshot", EventKind::EnumeratorSnapshotTaken { .. }, false,
        "an enumerator takes its snapshot";
    AssignmentsFiled = "assignments-filed", EventKind::AssignmentsFiled { .. }, true,
        "the tracker files the assignments of a checkpoint";
    GatewaysClosed = "gateways-closed", EventKind::GatewaysClosed { .. }, true,
        "the gateways of a coordinator close";
    BarriersInjected = "barriers-injected", EventKind::BarriersInjected { .. }, false,
        "every running subtask is sent its trigger";
    BarrierHandled = "barrier", EventKind::BarrierHandled { .. }, false,
        "the barrier passes a task, and nothing of its checkpoint is done yet";
    TransactionPrepared = "prepare-commit", EventKind::TransactionPrepared { .. }, true,
        "a writer hands a transaction over for its commit";
    ReaderSnapshotTaken = "reader-snapshot", EventKind::ReaderSnapshotTaken { .. }, false,
        "a reader's state goes into the snapshot";
    GatewayOpened = "gateway-opened", EventKind::GatewayOpened { .. }, true,
        "the gateway of one subtask opens";
    CheckpointAcknowledged = "acknowledged", EventKind::CheckpointAcknowledged { .. }, false,
        "the coordinator counts a subtask's acknowledgement";
    LastAcknowledged = "last-acknowledged", EventKind::CheckpointAcknowledged { last: true, .. }, false,
        "the coordinator counts the last acknowledgement that it awaited";
    CheckpointCompleted = "checkpoint-complete", EventKind::CheckpointCompleted { .. }, false,
        "the store applies the add: the checkpoint is complete";
    CheckpointAborted = "checkpoint-aborted", EventKind::CheckpointAborted { .. }, false,
        "a checkpoint is given up";
    SavepointStored = "savepoint-stored", EventKind::SavepointStored { .. }, false,
        "the store holds a savepoint of a job that goes on";
    CoordinatorNotified = "coordinator-notified", EventKind::CoordinatorNotified { .. }, false,
        "a coordinator learns that a checkpoint is complete or aborted";
    CompletionNoticed = "completion-noticed", EventKind::CompletionNoticed { .. }, false,
        "a task learns that a checkpoint is complete";
    AbortNoticed = "abort-noticed", EventKind::AbortNoticed { .. }, false,
        "a task learns that a checkpoint is aborted";
    CommitRequested = "commit", EventKind::CommitRequested { recommit: false, .. }, true,
        "a committer asks the store to commit";
    Recommitted = "recommit", EventKind::CommitRequested { recommit: true, .. }, true,
        "a committer asks the store to commit what a restored checkpoint held";
    CommitRetried = "commit-retried", EventKind::CommitRetried { .. }, true,
        "a committer will ask again: one go of the retry loop";
    BecameVisible = "visible", EventKind::BecameVisible { .. }, false,
        "records become visible";
    AlreadyVisible = "already-visible", EventKind::AlreadyVisible { .. }, false,
        "a commit finds its work done before";
    CommitAnswered = "commit-answered", EventKind::CommitAnswered { .. }, false,
        "a committer learns what became of a commit";
    CommitsSettled = "commits-settled", EventKind::CommitsSettled { .. }, false,
        "a committer has done with a checkpoint";
    TransactionBegun = "transaction-begun", EventKind::TransactionBegun { .. }, false,
        "the store opens a transaction";
    TransactionWritten = "transaction-written", EventKind::TransactionWritten { .. }, false,
        "records are in an open transaction";
    TransactionDurable = "transaction-durable", EventKind::TransactionDurable { .. }, false,
        "the store has made a transaction durable";
    TransactionRolledBack = "transaction-rolled-back", EventKind::TransactionRolledBack { .. }, false,
        "the store rolls a transaction back";
    WriterFenced = "writer-fenced", EventKind::WriterFenced { .. }, false,
        "the store fences older lives of a writer off";
    EndOfInput = "end-of-input", EventKind::EndOfInput, false,
        "a reader has returned END_OF_INPUT";
    TaskEnded = "task-ended", EventKind::TaskEnded { .. }, false,
        "a task's thread ends by itself";
    TaskRunning = "task-running", EventKind::TaskStateChanged { state: ExecutionState::Running, .. }, false,
        "the job master learns that a task runs";
    TaskFinished = "task-finished", EventKind::TaskStateChanged { state: ExecutionState::Finished, .. }, false,
        "the job master learns that a task has finished";
    TaskFailed = "task-failed", EventKind::TaskStateChanged { state: ExecutionState::Failed, .. }, false,
        "the job master learns or decides that a task has failed";
    FailoverStarted = "failover", EventKind::FailoverStarted { .. }, false,
        "the job master begins to handle a failure";
    RestorePointChosen = "restore-point", EventKind::RestorePointChosen { .. }, false,
        "the job master picks the checkpoint that a failover restores";
    SplitsGivenBack = "given-back", EventKind::SplitsGivenBack { .. }, true,
        "a subtask is reset, and its later splits are given back";
    CommitterCreated = "committer-created", EventKind::CommitterCreated { .. }, false,
        "the committer of a task is created";
    WriterCreated = "writer-created", EventKind::WriterCreated { .. }, false,
        "the writer of a task is created";
    LeaderTermEnded = "leader-term-ended", EventKind::LeaderTermEnded { .. }, false,
        "a leader gives up";
    JobEnded = "job-ended", EventKind::JobEnded { .. }, false,
        "the job's result is stored";
}

impl EventPoint {
    /// The point with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|point| point.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thirteen_breakpoints_are_there() {
        assert_eq!(EventPoint::ALL.iter().filter(|point| point.is_breakpoint()).count(), 13);
    }

    #[test]
    fn every_name_is_its_own() {
        let mut names: Vec<&str> = EventPoint::ALL.iter().map(|point| point.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), EventPoint::ALL.len());
        assert!(names.iter().all(|name| EventPoint::named(name).is_some_and(|point| point.name() == *name)));
    }
}
