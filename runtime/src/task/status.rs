//! Where a task stands. Waiting is a state, never a blocked call: the request went out, the answer comes as mail.

use super::mailbox::MailGate;
use crate::ids::CheckpointId;
use crate::message::ExecutionState;

/// The stage of a task's life.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TaskStatus {
    /// Nothing is done yet; the first turn initialises.
    Created,
    /// Initialising: the committer commits again what the restored checkpoint holds (FACT 63).
    Recommitting,
    /// Initialising: the writer opens.
    OpeningWriter,
    /// Mail is handled, and the reader is polled unless the input has ended.
    Running,
    /// The reader's `poll_next` has not come back.
    BlockedInPoll,
    /// The pre-barrier part of this checkpoint waits for the writer's requests.
    PreparingCheckpoint(CheckpointId),
    /// User code stands still, and the barrier of this checkpoint with it.
    Stalling(CheckpointId),
    /// The last `prepare_commit` waits for the writer's requests.
    PreparingEndOfInput,
    /// The committer waits for its commits. The checkpoint is the one whose completion was noticed, if it was that.
    Committing(Option<CheckpointId>),
    /// The thread has ended.
    Ended(ExecutionState),
}

impl TaskStatus {
    /// Whether RUNNING has not been reached yet.
    #[must_use]
    pub const fn is_initializing(self) -> bool {
        matches!(self, Self::Created | Self::Recommitting | Self::OpeningWriter)
    }

    /// Which mail may be handled.
    #[must_use]
    pub const fn gate(self) -> MailGate {
        match self {
            Self::Running => MailGate::Open,
            Self::Created | Self::Recommitting | Self::OpeningWriter => MailGate::Initializing,
            Self::BlockedInPoll => MailGate::ReaderOnly,
            Self::PreparingCheckpoint(_)
            | Self::PreparingEndOfInput
            | Self::Stalling(_)
            | Self::Committing(_)
            | Self::Ended(_) => MailGate::StoreOnly,
        }
    }
}
