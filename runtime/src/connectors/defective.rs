//! The one place where a sink with a defect forwards to the right one.
//!
//! A defect says only what it does otherwise: [`DefectiveSink`] puts one beside the writer and one beside the committer of
//! any sink, and passes everything else on. The right sinks know nothing of it. What was refused: a wrapper for each
//! defect, since nearly all of it would be forwarding, and a new method of a writer would be forgotten in one of them.

use crate::api::sink::{
    CommitRequest, Committer, CommittingSinkWriter, Sink, SinkIo, SinkStateError, SinkWriter, StoreAnswer,
    WriterInitContext, WriterStateElement, WriterVerdict,
};
use crate::api::table_io::TableAnswer;
use crate::ids::{CheckpointId, TransactionName};
use crate::message::StoreRequest;
use crate::records::Record;
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

/// What is wrong with one instance of a writer or a committer, with what it has to remember for that.
pub trait Flaw: Clone + Debug + Hash + Send + Sync + 'static {
    /// That of the instance which is made with this context.
    fn of(context: &WriterInitContext) -> Self;
}

/// What a writer does otherwise than the right one; by default nothing.
pub trait WriterFlaw<W: CommittingSinkWriter>: Flaw {
    /// In place of [`SinkWriter::open`].
    fn open(&mut self, right: &mut W, keep: &[TransactionName], io: &mut SinkIo) {
        right.open(keep, io);
    }

    /// In place of [`SinkWriter::flush`].
    fn flush(&mut self, right: &mut W, end_of_input: bool, io: &mut SinkIo) {
        right.flush(end_of_input, io);
    }

    /// In place of [`SinkWriter::answered`].
    fn answered(
        &mut self,
        right: &mut W,
        request: &StoreRequest,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) -> WriterVerdict {
        right.answered(request, answer, io)
    }

    /// In place of [`CommittingSinkWriter::prepare_commit`].
    fn prepare_commit(&mut self, right: &mut W, io: &mut SinkIo) -> Vec<W::Committable> {
        right.prepare_commit(io)
    }
}

/// What a committer does otherwise than the right one; by default nothing.
pub trait CommitterFlaw<C: Committer>: Flaw {
    /// In place of [`Committer::commit`].
    fn commit(&mut self, right: &mut C, request: &mut CommitRequest<C::Committable>, io: &mut SinkIo) {
        right.commit(request, io);
    }

    /// In place of [`Committer::answered`].
    fn answered(
        &mut self,
        right: &mut C,
        request: &mut CommitRequest<C::Committable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        right.answered(request, answer, io);
    }
}

/// Nothing is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Flawless;

impl Flaw for Flawless {
    fn of(_context: &WriterInitContext) -> Self {
        Self
    }
}

impl<W: CommittingSinkWriter> WriterFlaw<W> for Flawless {}
impl<C: Committer> CommitterFlaw<C> for Flawless {}

/// A sink whose writers have the flaw `W`, and whose committers have the flaw `C`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DefectiveSink<S, W, C> {
    right: S,
    flaws: PhantomData<(W, C)>,
}

/// A sink with right committers.
pub type WithWriters<S, W> = DefectiveSink<S, W, Flawless>;
/// A sink with right writers.
pub type WithCommitters<S, C> = DefectiveSink<S, Flawless, C>;

impl<S, W, C> DefectiveSink<S, W, C> {
    /// Around the right sink.
    #[must_use]
    pub const fn new(right: S) -> Self {
        Self { right, flaws: PhantomData }
    }
}

impl<S: Sink, W: WriterFlaw<S::Writer>, C: CommitterFlaw<S::Committer>> Sink for DefectiveSink<S, W, C> {
    type Committable = S::Committable;
    type Writer = DefectiveWriter<S::Writer, W>;
    type Committer = DefectiveCommitter<S::Committer, C>;

    fn create_writer(&self, context: &WriterInitContext) -> Self::Writer {
        DefectiveWriter { right: self.right.create_writer(context), flaw: W::of(context) }
    }

    fn create_committer(&self, context: &WriterInitContext) -> Self::Committer {
        DefectiveCommitter { right: self.right.create_committer(context), flaw: C::of(context) }
    }
}

/// The writer of [`DefectiveSink`].
#[derive(Clone, Hash, Debug)]
pub struct DefectiveWriter<W, F> {
    right: W,
    flaw: F,
}

impl<W: CommittingSinkWriter, F: WriterFlaw<W>> SinkWriter for DefectiveWriter<W, F> {
    fn transaction(&self) -> TransactionName {
        self.right.transaction()
    }

    fn open(&mut self, keep: &[TransactionName], io: &mut SinkIo) {
        self.flaw.open(&mut self.right, keep, io);
    }

    fn write(&mut self, record: Record, io: &mut SinkIo) {
        self.right.write(record, io);
    }

    fn write_watermark(&mut self, watermark_ms: u64, io: &mut SinkIo) {
        self.right.write_watermark(watermark_ms, io);
    }

    fn flush(&mut self, end_of_input: bool, io: &mut SinkIo) {
        self.flaw.flush(&mut self.right, end_of_input, io);
    }

    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<WriterStateElement> {
        self.right.snapshot_state(checkpoint)
    }

    fn restore_state(&mut self, elements: Vec<WriterStateElement>) -> Result<(), SinkStateError> {
        self.right.restore_state(elements)
    }

    fn wake_at_ms(&self) -> Option<u64> {
        self.right.wake_at_ms()
    }

    fn on_processing_time(&mut self, io: &mut SinkIo) {
        self.right.on_processing_time(io);
    }

    fn answered(&mut self, request: &StoreRequest, answer: StoreAnswer, io: &mut SinkIo) -> WriterVerdict {
        self.flaw.answered(&mut self.right, request, answer, io)
    }
}

impl<W: CommittingSinkWriter, F: WriterFlaw<W>> CommittingSinkWriter for DefectiveWriter<W, F> {
    type Committable = W::Committable;

    fn prepare_commit(&mut self, io: &mut SinkIo) -> Vec<W::Committable> {
        self.flaw.prepare_commit(&mut self.right, io)
    }
}

/// The committer of [`DefectiveSink`].
#[derive(Clone, Hash, Debug)]
pub struct DefectiveCommitter<C, F> {
    right: C,
    flaw: F,
}

impl<C: Committer, F: CommitterFlaw<C>> Committer for DefectiveCommitter<C, F> {
    type Committable = C::Committable;

    fn commit(&mut self, request: &mut CommitRequest<C::Committable>, io: &mut SinkIo) {
        self.flaw.commit(&mut self.right, request, io);
    }

    fn answered(
        &mut self,
        request: &mut CommitRequest<C::Committable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        self.flaw.answered(&mut self.right, request, answer, io);
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

/// A committer to which it is an error that what it commits has been committed before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RepeatedCommitIsError;

impl Flaw for RepeatedCommitIsError {
    fn of(_context: &WriterInitContext) -> Self {
        Self
    }
}

impl<C: Committer> CommitterFlaw<C> for RepeatedCommitIsError {
    fn answered(
        &mut self,
        right: &mut C,
        request: &mut CommitRequest<C::Committable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        match answer {
            StoreAnswer::Done { before: true } | StoreAnswer::Table(TableAnswer::Proof(true)) => {
                request.signal_failed_with_unknown_reason("there is nothing of that name to commit");
            }
            other => right.answered(request, other, io),
        }
    }
}
