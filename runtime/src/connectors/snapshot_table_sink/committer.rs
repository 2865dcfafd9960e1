//! The committer: a look, and a commit on what was looked at.

use crate::api::sink::{CommitRequest, Committer, SinkIo, StoreAnswer};
use crate::api::snapshots_io::{SnapshotsAnswer, SnapshotsOperation};
use crate::connectors::named_committable::NamedCommittable;
use crate::message::StoreRequest;

/// Holds no state: what was committed before, the summaries know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SnapshotTableCommitter;

pub(super) fn look(request: &CommitRequest<NamedCommittable>, io: &mut SinkIo) {
    let since = Some(request.committable().token);
    io.ask(StoreRequest::Snapshots(SnapshotsOperation::Load { since }));
}

pub(super) fn add(request: &CommitRequest<NamedCommittable>, base: u64, io: &mut SinkIo) {
    let file = request.committable().transaction;
    io.ask(StoreRequest::Snapshots(SnapshotsOperation::Commit { base, file }));
}

impl Committer for SnapshotTableCommitter {
    type Committable = NamedCommittable;

    fn commit(&mut self, request: &mut CommitRequest<NamedCommittable>, io: &mut SinkIo) {
        debug_assert!(!request.committable().records.is_empty(), "an empty transaction has no committable");
        look(request, io);
    }

    fn answered(
        &mut self,
        request: &mut CommitRequest<NamedCommittable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        match answer {
            StoreAnswer::Done { .. } => {}
            StoreAnswer::Snapshots(SnapshotsAnswer::Loaded { current, added }) => {
                if added.contains(&request.committable().transaction) {
                    request.signal_already_committed();
                } else {
                    add(request, current, io);
                }
            }
            StoreAnswer::Snapshots(SnapshotsAnswer::Conflict) => look(request, io),
            // A commit without an answer may have been made: the next call looks first.
            StoreAnswer::Unavailable | StoreAnswer::Unknown => request.retry_later(),
            other => request.signal_failed_with_unknown_reason(format!("{other:?}")),
        }
    }
}
