//! A committer that refuses as its script says, and otherwise does as the right one.
//!
//! It keeps nothing: how often it has refused is the request's own count of retries, and what the restored checkpoint holds
//! it tells by the number, as a transaction's never exceeds that of the checkpoint which carries it (FACT 100).

use crate::api::sink::{CommitRequest, Committer, SinkCommittable, SinkIo, StoreAnswer};
use crate::config::{CommitRefusal, CommitScript};
use crate::ids::CheckpointId;

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ScriptedCommitter<C> {
    right: C,
    script: CommitScript,
    restored: Option<CheckpointId>,
}

impl<C> ScriptedCommitter<C> {
    /// Around the right committer, in an execution that has restored this checkpoint.
    #[must_use]
    pub const fn new(right: C, script: CommitScript, restored: Option<CheckpointId>) -> Self {
        Self { right, script, restored }
    }
}

impl<C: Committer> Committer for ScriptedCommitter<C> {
    type Committable = C::Committable;

    fn commit(&mut self, request: &mut CommitRequest<C::Committable>, io: &mut SinkIo) {
        let number = request.committable().transaction().number;
        let is_meant = self.script.transaction.is_none_or(|meant| meant == number.0);
        let is_restored = self.restored.is_some_and(|restored| number <= restored);
        debug_assert!(number.0 > 0, "transactions count from 1");
        match self.script.refusal {
            CommitRefusal::Retry(times) if is_meant && request.number_of_retries() < times => {
                request.retry_later();
            }
            CommitRefusal::Update(times) if is_meant && request.number_of_retries() < times => {
                let same = request.committable().clone();
                request.update_and_retry_later(same);
            }
            CommitRefusal::KnownReason if is_meant => {
                request.signal_failed_with_known_reason("it has expired");
            }
            CommitRefusal::UnknownReason if is_meant && !is_restored => {
                request.signal_failed_with_unknown_reason("nobody knows why");
            }
            _ => self.right.commit(request, io),
        }
    }

    fn answered(
        &mut self,
        request: &mut CommitRequest<C::Committable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        self.right.answered(request, answer, io);
    }
}
