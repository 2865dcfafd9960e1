//! Sinks with a planted defect: whole implementations beside the right ones, which know nothing of them.

use super::{TwoPhaseCommittable, TwoPhaseCommitter};
use crate::api::sink::{
    CommitRequest, Committer, CommittingSinkWriter, Sink, SinkIo, SinkWriter, StoreAnswer, WriterInitContext,
    WriterVerdict,
};
use crate::ids::TransactionName;
use crate::message::StoreRequest;
use crate::records::Record;

/// A writer that can lose what it holds.
pub trait Forgetful: CommittingSinkWriter {
    /// Forgets the records of the current transaction.
    fn forget_transaction(&mut self);
}

/// A writer that does not hand over what it holds at the end of the input.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FinalBatchDropped<W>(W);

impl<W: Forgetful> SinkWriter for FinalBatchDropped<W> {
    fn transaction(&self) -> TransactionName {
        self.0.transaction()
    }

    fn open(&mut self, keep: &[TransactionName], io: &mut SinkIo) {
        self.0.open(keep, io);
    }

    fn write(&mut self, record: Record, io: &mut SinkIo) {
        self.0.write(record, io);
    }

    fn flush(&mut self, end_of_input: bool, io: &mut SinkIo) {
        if end_of_input {
            self.0.forget_transaction();
        }
        self.0.flush(end_of_input, io);
    }

    fn answered(&mut self, request: &StoreRequest, answer: StoreAnswer, io: &mut SinkIo) -> WriterVerdict {
        self.0.answered(request, answer, io)
    }
}

impl<W: Forgetful> CommittingSinkWriter for FinalBatchDropped<W> {
    type Committable = W::Committable;

    fn prepare_commit(&mut self, io: &mut SinkIo) -> Vec<W::Committable> {
        self.0.prepare_commit(io)
    }
}

/// A committer that appends without looking whether the name is there already. A prepared transaction cannot be
/// committed twice, whoever commits it, so there it is harmless.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CommitterNotIdempotent(TwoPhaseCommitter);

impl Committer for CommitterNotIdempotent {
    type Committable = TwoPhaseCommittable;

    fn commit(&mut self, request: &mut CommitRequest<TwoPhaseCommittable>, io: &mut SinkIo) {
        match request.committable().clone() {
            TwoPhaseCommittable::Append { name, records } => io.ask(StoreRequest::Append { name, records }),
            TwoPhaseCommittable::Transactional { .. } => self.0.commit(request, io),
        }
    }

    fn answered(
        &mut self,
        request: &mut CommitRequest<TwoPhaseCommittable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        self.0.answered(request, answer, io);
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

/// A sink whose writers believe that they stand in for nobody.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnTransactionsOnly<S>(pub S);

impl<S: Sink> Sink for OwnTransactionsOnly<S> {
    type Committable = S::Committable;
    type Writer = S::Writer;
    type Committer = S::Committer;

    fn create_writer(&self, context: &WriterInitContext) -> S::Writer {
        self.0.create_writer(&WriterInitContext { parallelism: u32::MAX, ..*context })
    }

    fn create_committer(&self, context: &WriterInitContext) -> S::Committer {
        self.0.create_committer(context)
    }
}

/// A sink with [`FinalBatchDropped`] writers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FinalBatchDroppingSink<S>(pub S);

impl<S: Sink<Writer: Forgetful>> Sink for FinalBatchDroppingSink<S> {
    type Committable = S::Committable;
    type Writer = FinalBatchDropped<S::Writer>;
    type Committer = S::Committer;

    fn create_writer(&self, context: &WriterInitContext) -> Self::Writer {
        FinalBatchDropped(self.0.create_writer(context))
    }

    fn create_committer(&self, context: &WriterInitContext) -> S::Committer {
        self.0.create_committer(context)
    }
}

/// A sink with [`CommitterNotIdempotent`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotIdempotentSink<S>(pub S);

impl<S> Sink for NotIdempotentSink<S>
where
    S: Sink<Committable = TwoPhaseCommittable, Committer = TwoPhaseCommitter>,
{
    type Committable = S::Committable;
    type Writer = S::Writer;
    type Committer = CommitterNotIdempotent;

    fn create_writer(&self, context: &WriterInitContext) -> S::Writer {
        self.0.create_writer(context)
    }

    fn create_committer(&self, context: &WriterInitContext) -> Self::Committer {
        CommitterNotIdempotent(self.0.create_committer(context))
    }
}
