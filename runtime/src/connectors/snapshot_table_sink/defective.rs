//! Sinks with a planted defect: whole committers beside the right one, which knows nothing of them.

use super::committer::{SnapshotTableCommitter, add};
use super::{SnapshotTableSink, SnapshotTableWriter};
use crate::api::sink::{CommitRequest, Committer, Sink, SinkIo, StoreAnswer, WriterInitContext};
use crate::api::snapshots_io::{SnapshotsAnswer, SnapshotsOperation};
use crate::connectors::named_committable::NamedCommittable;
use crate::ids::CheckpointId;
use crate::message::StoreRequest;

/// A sink whose committer does not look whether a summary names the file already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UncheckedSink;

impl Sink for UncheckedSink {
    type Committable = NamedCommittable;
    type Writer = SnapshotTableWriter;
    type Committer = UncheckedCommitter;

    fn create_writer(&self, context: &WriterInitContext) -> SnapshotTableWriter {
        SnapshotTableSink.create_writer(context)
    }

    fn create_committer(&self, context: &WriterInitContext) -> UncheckedCommitter {
        UncheckedCommitter(SnapshotTableSink.create_committer(context))
    }
}

/// The committer of [`UncheckedSink`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UncheckedCommitter(SnapshotTableCommitter);

impl Committer for UncheckedCommitter {
    type Committable = NamedCommittable;

    fn commit(&mut self, request: &mut CommitRequest<NamedCommittable>, io: &mut SinkIo) {
        self.0.commit(request, io);
    }

    fn answered(
        &mut self,
        request: &mut CommitRequest<NamedCommittable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        match answer {
            StoreAnswer::Snapshots(SnapshotsAnswer::Loaded { current, .. }) => add(request, current, io),
            other => self.0.answered(request, other, io),
        }
    }
}

/// A sink whose committer makes a commit again, one without an answer or a restored one, on what is current then, and looks
/// no further back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForgetfulSink;

impl Sink for ForgetfulSink {
    type Committable = NamedCommittable;
    type Writer = SnapshotTableWriter;
    type Committer = ForgetfulCommitter;

    fn create_writer(&self, context: &WriterInitContext) -> SnapshotTableWriter {
        SnapshotTableSink.create_writer(context)
    }

    fn create_committer(&self, context: &WriterInitContext) -> ForgetfulCommitter {
        ForgetfulCommitter { right: SnapshotTableSink.create_committer(context), restored: context.restored }
    }
}

/// The committer of [`ForgetfulSink`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ForgetfulCommitter {
    right: SnapshotTableCommitter,
    restored: Option<CheckpointId>,
}

impl Committer for ForgetfulCommitter {
    type Committable = NamedCommittable;

    fn commit(&mut self, request: &mut CommitRequest<NamedCommittable>, io: &mut SinkIo) {
        let NamedCommittable { transaction, .. } = *request.committable();
        if self.restored.is_some_and(|restored| transaction.number <= restored) {
            io.ask(StoreRequest::Snapshots(SnapshotsOperation::Load { since: Some(u64::MAX) }));
        } else {
            self.right.commit(request, io);
        }
    }

    fn answered(
        &mut self,
        request: &mut CommitRequest<NamedCommittable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        match answer {
            StoreAnswer::Unknown => {
                let committable = request.committable().clone();
                request.update_and_retry_later(NamedCommittable { token: u64::MAX, ..committable });
            }
            other => self.right.answered(request, other, io),
        }
    }
}
