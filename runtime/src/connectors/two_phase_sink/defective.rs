//! What defective two-phase sinks do otherwise than the right ones, which know nothing of it.

use super::{TwoPhaseCommittable, TwoPhaseCommitter};
use crate::api::sink::{CommitRequest, Committer, CommittingSinkWriter, Sink, SinkIo, WriterInitContext};
use crate::connectors::defective::{CommitterFlaw, Flaw, WriterFlaw};
use crate::ids::{CheckpointId, Fence, TransactionName, TransactionPart};
use crate::message::StoreRequest;

/// A writer that can lose what it holds.
pub trait Forgetful: CommittingSinkWriter {
    /// Forgets the records of the current transaction.
    fn forget_transaction(&mut self);
}

/// A writer that does not hand over what it holds at the end of the input.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FinalBatchDropped;

impl Flaw for FinalBatchDropped {
    fn of(_context: &WriterInitContext) -> Self {
        Self
    }
}

impl<W: Forgetful> WriterFlaw<W> for FinalBatchDropped {
    fn flush(&mut self, right: &mut W, end_of_input: bool, io: &mut SinkIo) {
        if end_of_input {
            right.forget_transaction();
        }
        right.flush(end_of_input, io);
    }
}

/// A writer that does not have the store end what an earlier life prepared under the names that it will use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LabelsLeftBehind;

impl Flaw for LabelsLeftBehind {
    fn of(_context: &WriterInitContext) -> Self {
        Self
    }
}

impl<W: Forgetful> WriterFlaw<W> for LabelsLeftBehind {
    fn open(&mut self, _right: &mut W, _keep: &[TransactionName], _io: &mut SinkIo) {}
}

/// A committer that appends without looking whether the name is there already. A prepared transaction cannot be
/// committed twice, whoever commits it, so there it is harmless.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CommitterNotIdempotent;

impl Flaw for CommitterNotIdempotent {
    fn of(_context: &WriterInitContext) -> Self {
        Self
    }
}

impl CommitterFlaw<TwoPhaseCommitter> for CommitterNotIdempotent {
    fn commit(
        &mut self,
        right: &mut TwoPhaseCommitter,
        request: &mut CommitRequest<TwoPhaseCommittable>,
        io: &mut SinkIo,
    ) {
        match request.committable().clone() {
            TwoPhaseCommittable::Append { name, records } => io.ask(StoreRequest::Append { name, records }),
            TwoPhaseCommittable::Transactional { .. } => right.commit(request, io),
        }
    }
}

/// A committer that appends a restored committable under a name of its own life: the store cannot know it again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReplayUnderNewIdentity {
    fence: Fence,
    restored: Option<CheckpointId>,
}

impl Flaw for ReplayUnderNewIdentity {
    fn of(context: &WriterInitContext) -> Self {
        Self { fence: context.fence, restored: context.restored }
    }
}

impl CommitterFlaw<TwoPhaseCommitter> for ReplayUnderNewIdentity {
    fn commit(
        &mut self,
        right: &mut TwoPhaseCommitter,
        request: &mut CommitRequest<TwoPhaseCommittable>,
        io: &mut SinkIo,
    ) {
        match request.committable().clone() {
            TwoPhaseCommittable::Append { name, records } if Some(name.number) <= self.restored => {
                let part = Some(TransactionPart { fence: self.fence, counter: 0 });
                io.ask(StoreRequest::AppendIfAbsent { name: TransactionName { part, ..name }, records });
            }
            _ => right.commit(request, io),
        }
    }
}

/// A sink whose writers number their transactions from the start again after a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionIdsRestart<S>(pub S);

impl<S: Sink> Sink for TransactionIdsRestart<S> {
    type Committable = S::Committable;
    type Writer = S::Writer;
    type Committer = S::Committer;

    fn create_writer(&self, context: &WriterInitContext) -> S::Writer {
        self.0.create_writer(&WriterInitContext { restored: None, ..*context })
    }

    fn create_committer(&self, context: &WriterInitContext) -> S::Committer {
        self.0.create_committer(context)
    }
}
