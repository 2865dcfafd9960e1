//! What defective committers do otherwise than the right one, which knows nothing of it.

use super::committer::{SnapshotTableCommitter, add};
use crate::api::sink::{CommitRequest, Committer, SinkIo, StoreAnswer, WriterInitContext};
use crate::api::snapshots_io::{SnapshotsAnswer, SnapshotsOperation};
use crate::connectors::defective::{CommitterFlaw, Flaw};
use crate::connectors::named_committable::NamedCommittable;
use crate::ids::{CheckpointId, Fence, TransactionName, TransactionPart};
use crate::message::StoreRequest;

/// How a committer finds out, by what the summaries name, that a file is committed already.
pub trait LooksUp: Flaw {
    /// Whether it takes the file for committed.
    fn is_committed(&self, request: &CommitRequest<NamedCommittable>, added: &[TransactionName]) -> bool;

    /// Behind which snapshot it looks.
    fn looks_behind(&self, request: &CommitRequest<NamedCommittable>) -> u64 {
        request.committable().token
    }
}

impl<L: LooksUp> CommitterFlaw<SnapshotTableCommitter> for L {
    fn commit(
        &mut self,
        _right: &mut SnapshotTableCommitter,
        request: &mut CommitRequest<NamedCommittable>,
        io: &mut SinkIo,
    ) {
        let since = Some(self.looks_behind(request));
        io.ask(StoreRequest::Snapshots(SnapshotsOperation::Load { since }));
    }

    fn answered(
        &mut self,
        right: &mut SnapshotTableCommitter,
        request: &mut CommitRequest<NamedCommittable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        match answer {
            StoreAnswer::Snapshots(SnapshotsAnswer::Loaded { current, added }) => {
                if self.is_committed(request, &added) {
                    request.signal_already_committed();
                } else {
                    add(request, current, io);
                }
            }
            StoreAnswer::Snapshots(SnapshotsAnswer::Conflict) => self.commit(right, request, io),
            other => right.answered(request, other, io),
        }
    }
}

/// It does not look at all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Unchecked;

impl Flaw for Unchecked {
    fn of(_context: &WriterInitContext) -> Self {
        Self
    }
}

impl LooksUp for Unchecked {
    fn is_committed(&self, _request: &CommitRequest<NamedCommittable>, _added: &[TransactionName]) -> bool {
        false
    }
}

/// It looks only when it is asked again: that an earlier life may have committed does not occur to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LooksOnRetryOnly;

impl Flaw for LooksOnRetryOnly {
    fn of(_context: &WriterInitContext) -> Self {
        Self
    }
}

impl LooksUp for LooksOnRetryOnly {
    fn is_committed(&self, request: &CommitRequest<NamedCommittable>, added: &[TransactionName]) -> bool {
        request.number_of_retries() > 0 && added.contains(&request.committable().transaction)
    }
}

/// It looks for a name with its own life in it, in place of the writer's that made the file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KeyOfThisLife(Fence);

impl Flaw for KeyOfThisLife {
    fn of(context: &WriterInitContext) -> Self {
        Self(context.fence)
    }
}

impl LooksUp for KeyOfThisLife {
    fn is_committed(&self, request: &CommitRequest<NamedCommittable>, added: &[TransactionName]) -> bool {
        let name = request.committable().transaction;
        let part = name.part.map(|part| TransactionPart { fence: self.0, ..part });
        added.contains(&TransactionName { part, ..name })
    }
}

/// It takes everything up to the highest number that its writer ever committed for committed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HighWaterMark;

impl Flaw for HighWaterMark {
    fn of(_context: &WriterInitContext) -> Self {
        Self
    }
}

impl LooksUp for HighWaterMark {
    fn is_committed(&self, request: &CommitRequest<NamedCommittable>, added: &[TransactionName]) -> bool {
        let TransactionName { writer, number, .. } = request.committable().transaction;
        added.iter().any(|name| name.writer == writer && name.number >= number)
    }

    fn looks_behind(&self, _request: &CommitRequest<NamedCommittable>) -> u64 {
        0
    }
}

/// It takes everything below the highest number that any writer of the sink committed for committed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LateIsCommitted;

impl Flaw for LateIsCommitted {
    fn of(_context: &WriterInitContext) -> Self {
        Self
    }
}

impl LooksUp for LateIsCommitted {
    fn is_committed(&self, request: &CommitRequest<NamedCommittable>, added: &[TransactionName]) -> bool {
        let name = request.committable().transaction;
        let is_newer = |other: &TransactionName| other.number > name.number;
        added.contains(&name)
            || added.iter().any(|other| other.writer.vertex == name.writer.vertex && is_newer(other))
    }
}

/// It makes a commit again, one without an answer or a restored one, on what is current then, and looks no further back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ForgetsLostCommits {
    restored: Option<CheckpointId>,
}

impl Flaw for ForgetsLostCommits {
    fn of(context: &WriterInitContext) -> Self {
        Self { restored: context.restored }
    }
}

impl CommitterFlaw<SnapshotTableCommitter> for ForgetsLostCommits {
    fn commit(
        &mut self,
        right: &mut SnapshotTableCommitter,
        request: &mut CommitRequest<NamedCommittable>,
        io: &mut SinkIo,
    ) {
        let NamedCommittable { transaction, .. } = *request.committable();
        if self.restored.is_some_and(|restored| transaction.number <= restored) {
            io.ask(StoreRequest::Snapshots(SnapshotsOperation::Load { since: Some(u64::MAX) }));
        } else {
            right.commit(request, io);
        }
    }

    fn answered(
        &mut self,
        right: &mut SnapshotTableCommitter,
        request: &mut CommitRequest<NamedCommittable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        match answer {
            StoreAnswer::Unknown => {
                let committable = request.committable().clone();
                request.update_and_retry_later(NamedCommittable { token: u64::MAX, ..committable });
            }
            other => right.answered(request, other, io),
        }
    }
}
