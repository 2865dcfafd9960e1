//! The two-phase-commit sink of the demo, in two kinds that share their committables' encoding.
//!
//! *Append* (the demo's shared map): the writer gathers records in memory, the committable carries them, a commit
//! appends them under the transaction's name in one atomic operation. *Transactional*: the writer sends records into
//! an open transaction of the store, `prepare` makes it durable, the committable is its name.
//!
//! Names follow `s{subtask}-chk{n}`: n starts at the restored checkpoint + 1 and goes one up at each `prepare_commit`,
//! empty or not (FACT 60, 100). It may lag the checkpoint that carries it but never exceeds it, so that a committed
//! name is never used again; one that was prepared and lost may be, which is why a transactional writer has the store
//! roll back what the restored checkpoint does not hold before it writes.

mod append_writer;
mod backing_off;
mod committable;
mod committer;
pub mod defective;
mod scripted;
mod transactional_writer;

pub use append_writer::AppendWriter;
pub use backing_off::BackingOffCommitter;
pub use committable::TwoPhaseCommittable;
pub use committer::TwoPhaseCommitter;
pub use scripted::ScriptedCommitter;
pub use transactional_writer::TransactionalWriter;

use super::defective::{OwnTransactionsOnly, RepeatedCommitIsError, WithCommitters, WithWriters};
use super::{SinkPorts, ports_of};
use crate::api::sink::{Sink, WriterInitContext};
use crate::config::SinkKind;
use crate::defects::{Defect, DefectSet};
use crate::ids::TransactionName;
use defective::{
    CommitterNotIdempotent, FinalBatchDropped, Forgetful, LabelsLeftBehind, ReplayUnderNewIdentity,
    TransactionIdsRestart,
};

/// The sink whose commits carry the records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AppendSink;

impl Sink for AppendSink {
    type Committable = TwoPhaseCommittable;
    type Writer = AppendWriter;
    type Committer = TwoPhaseCommitter;

    fn create_writer(&self, context: &WriterInitContext) -> AppendWriter {
        AppendWriter::new(context)
    }

    fn create_committer(&self, _context: &WriterInitContext) -> TwoPhaseCommitter {
        TwoPhaseCommitter
    }
}

/// The sink whose records wait in the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionalSink;

impl Sink for TransactionalSink {
    type Committable = TwoPhaseCommittable;
    type Writer = TransactionalWriter;
    type Committer = TwoPhaseCommitter;

    fn create_writer(&self, context: &WriterInitContext) -> TransactionalWriter {
        TransactionalWriter::new(context)
    }

    fn create_committer(&self, _context: &WriterInitContext) -> TwoPhaseCommitter {
        TwoPhaseCommitter
    }
}

/// The writer and the committer of one subtask, behind bytes.
#[must_use]
pub fn create_ports(kind: SinkKind, context: &WriterInitContext, defects: DefectSet) -> SinkPorts {
    match kind {
        SinkKind::Append => number_and_create(AppendSink, context, defects),
        SinkKind::Transactional => number_and_create(TransactionalSink, context, defects),
        other => unreachable!("a sink of {} is no two-phase sink of this module", other.name()),
    }
}

/// Chooses how transactions are numbered, and whose a writer looks after when it opens.
fn number_and_create<S>(sink: S, context: &WriterInitContext, defects: DefectSet) -> SinkPorts
where
    S: Sink<Committable = TwoPhaseCommittable, Writer: Forgetful, Committer = TwoPhaseCommitter>,
{
    match defects.first_of(&[Defect::TransactionIdsRestart, Defect::OwnTransactionsOnly]) {
        Some(Defect::TransactionIdsRestart) => {
            commit_and_create(TransactionIdsRestart(sink), context, defects)
        }
        Some(_) => commit_and_create(OwnTransactionsOnly(sink), context, defects),
        None => commit_and_create(sink, context, defects),
    }
}

/// Chooses the committer.
fn commit_and_create<S>(sink: S, context: &WriterInitContext, defects: DefectSet) -> SinkPorts
where
    S: Sink<Committable = TwoPhaseCommittable, Writer: Forgetful, Committer = TwoPhaseCommitter>,
{
    let of_committers =
        [Defect::CommitterNotIdempotent, Defect::ReplayUnderNewIdentity, Defect::RepeatedCommitIsError];
    match defects.first_of(&of_committers) {
        Some(Defect::CommitterNotIdempotent) => {
            ports_of(&WithCommitters::<S, CommitterNotIdempotent>::new(sink), context)
        }
        Some(Defect::ReplayUnderNewIdentity) => {
            ports_of(&WithCommitters::<S, ReplayUnderNewIdentity>::new(sink), context)
        }
        Some(_) => ports_of(&WithCommitters::<S, RepeatedCommitIsError>::new(sink), context),
        None => write_and_create(sink, context, defects),
    }
}

/// Chooses the writer.
fn write_and_create<S: Sink<Writer: Forgetful>>(
    sink: S,
    context: &WriterInitContext,
    defects: DefectSet,
) -> SinkPorts {
    match defects.first_of(&[Defect::FinalBatchDropped, Defect::LabelsLeftBehind]) {
        Some(Defect::FinalBatchDropped) => ports_of(&WithWriters::<S, FinalBatchDropped>::new(sink), context),
        Some(_) => ports_of(&WithWriters::<S, LabelsLeftBehind>::new(sink), context),
        None => ports_of(&sink, context),
    }
}

/// The name of a writer's first transaction.
fn first_transaction(context: &WriterInitContext) -> TransactionName {
    let number = context.restored.unwrap_or_default().next();
    debug_assert!(number.0 >= 1, "Flink counts checkpoints from 1");
    TransactionName::new(context.subtask, number)
}
