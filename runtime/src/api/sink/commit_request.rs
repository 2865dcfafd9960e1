//! Flink's `CommitRequest`: a committable on its way, with the signals that a committer may give.

use serde::{Deserialize, Serialize};

/// Where a request stands; part of a committer's state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum CommitRequestState {
    /// It came, or is being asked for.
    Received,
    /// To be asked for again.
    Retry,
    /// Given up.
    Failed,
    /// Visible.
    Committed,
}

impl CommitRequestState {
    /// Whether it is not asked for any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Failed | Self::Committed)
    }
}

/// What a committer signalled for a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CommitSignal {
    /// It is visible now. Also what no signal at all means.
    Committed,
    /// It was visible before.
    AlreadyCommitted,
    /// Ask again in the same commit (FACT 69).
    RetryLater,
    /// It can never be committed, and the reason is known: the job fails for good. Flink drops it in silence (FACT 73).
    FailedWithKnownReason(String),
    /// It cannot be committed and nobody knows why: the job fails (FACT 74).
    FailedWithUnknownReason(String),
}

/// A committable that is being committed.
#[derive(Clone, Debug)]
pub struct CommitRequest<C> {
    committable: C,
    retries: u32,
    signal: Option<CommitSignal>,
    updated: bool,
}

impl<C> CommitRequest<C> {
    /// A request that has been tried `retries` times before.
    #[must_use]
    pub const fn new(committable: C, retries: u32) -> Self {
        Self { committable, retries, signal: None, updated: false }
    }

    /// What is to be committed.
    #[must_use]
    pub const fn committable(&self) -> &C {
        &self.committable
    }

    /// How many retry signals it has had, also before a restart (FACT 71).
    #[must_use]
    pub const fn number_of_retries(&self) -> u32 {
        self.retries
    }

    /// It was visible before: counts as committed.
    pub fn signal_already_committed(&mut self) {
        self.signal = Some(CommitSignal::AlreadyCommitted);
    }

    /// Ask again at once. Each signal counts, not each call (FACT 71); the last signal of a call holds (FACT 72).
    pub fn retry_later(&mut self) {
        self.retries += 1;
        self.signal = Some(CommitSignal::RetryLater);
    }

    /// Ask again at once, with this committable instead.
    pub fn update_and_retry_later(&mut self, committable: C) {
        self.committable = committable;
        self.updated = true;
        self.retry_later();
    }

    /// It is lost for a reason that the connector knows. No restart brings it back, so the job fails for good; in Flink it
    /// is dropped and the job goes on (FACT 73).
    pub fn signal_failed_with_known_reason(&mut self, cause: impl Into<String>) {
        self.signal = Some(CommitSignal::FailedWithKnownReason(cause.into()));
    }

    /// It failed and the connector does not know why: the job fails at once (FACT 74).
    pub fn signal_failed_with_unknown_reason(&mut self, cause: impl Into<String>) {
        self.signal = Some(CommitSignal::FailedWithUnknownReason(cause.into()));
    }

    /// What was signalled last; committed when nothing was.
    #[must_use]
    pub fn signal(&self) -> CommitSignal {
        self.signal.clone().unwrap_or(CommitSignal::Committed)
    }

    /// Whether the committable was replaced.
    #[must_use]
    pub const fn is_updated(&self) -> bool {
        self.updated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_signal_of_a_call_holds_and_each_retry_counts() {
        let mut request = CommitRequest::new((), 0);
        assert_eq!(request.signal(), CommitSignal::Committed);
        request.signal_already_committed();
        request.retry_later();
        request.retry_later();
        assert_eq!((request.signal(), request.number_of_retries()), (CommitSignal::RetryLater, 2));
        request.signal_already_committed();
        assert_eq!(request.signal(), CommitSignal::AlreadyCommitted);
        request.signal_failed_with_known_reason("gone");
        request.update_and_retry_later(());
        assert!(request.is_updated() && request.signal() == CommitSignal::RetryLater);
    }
}
