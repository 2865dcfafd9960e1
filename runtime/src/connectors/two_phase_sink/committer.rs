//! The committer of both kinds: one idempotent store request per committable.

use super::TwoPhaseCommittable;
use crate::api::sink::{CommitRequest, Committer, SinkIo, StoreAnswer};
use crate::message::StoreRequest;

/// Holds no state: whether a commit was done before is the store's knowledge alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TwoPhaseCommitter;

impl Committer for TwoPhaseCommitter {
    type Committable = TwoPhaseCommittable;

    fn commit(&mut self, request: &mut CommitRequest<TwoPhaseCommittable>, io: &mut SinkIo) {
        io.ask(match request.committable().clone() {
            TwoPhaseCommittable::Append { name, records } => {
                debug_assert!(!records.is_empty(), "an empty transaction has no committable");
                StoreRequest::AppendIfAbsent { name, records }
            }
            TwoPhaseCommittable::Transactional { name, .. } => StoreRequest::Commit { name },
        });
    }

    fn answered(
        &mut self,
        request: &mut CommitRequest<TwoPhaseCommittable>,
        answer: StoreAnswer,
        _io: &mut SinkIo,
    ) {
        match answer {
            StoreAnswer::Done { before: false } => {}
            StoreAnswer::Done { before: true } => request.signal_already_committed(),
            // Of an unknown outcome nothing is lost by asking again: the name decides.
            StoreAnswer::Unavailable | StoreAnswer::Unknown => request.retry_later(),
            StoreAnswer::NotFound => request.signal_failed_with_unknown_reason("the store does not know it"),
            StoreAnswer::Fenced => request.signal_failed_with_unknown_reason("a newer fence is known"),
            StoreAnswer::File(_)
            | StoreAnswer::Table(_)
            | StoreAnswer::Snapshots(_)
            | StoreAnswer::Log(_) => {
                unreachable!("another store answers so")
            }
        }
    }
}
