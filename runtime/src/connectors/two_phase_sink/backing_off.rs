//! A committer that waits before it asks once more, and otherwise does as the right one.
//!
//! Flink asks again at once: eleven calls are over within milliseconds, and an outage of the outside that lasts longer
//! fails the task (FACT 69). Who wants to sit it out has to wait inside `commit`, as this does: longer with each retry that
//! the request itself counts. The task stands still meanwhile, and takes no barrier.

use crate::api::sink::{CommitRequest, Committer, SinkIo, StoreAnswer};

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BackingOffCommitter<C> {
    right: C,
    back_off_ns: u64,
}

impl<C> BackingOffCommitter<C> {
    /// Around the right committer; `back_off_ns` is waited for each retry; 0 asks at once.
    #[must_use]
    pub const fn new(right: C, back_off_ns: u64) -> Self {
        Self { right, back_off_ns }
    }
}

impl<C: Committer> Committer for BackingOffCommitter<C> {
    type Committable = C::Committable;

    fn commit(&mut self, request: &mut CommitRequest<C::Committable>, io: &mut SinkIo) {
        io.stand_still(self.back_off_ns.saturating_mul(u64::from(request.number_of_retries())));
        self.right.commit(request, io);
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
