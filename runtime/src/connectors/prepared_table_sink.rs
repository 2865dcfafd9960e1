//! The sink into a table with prepared transactions, in the manner of PostgreSQL.
//!
//! ```text
//! Connect · ListPrepared · RollbackPrepared what is lost │ Begin n · Insert · Insert · Prepare n │ Begin n+1 · ...
//! committer: CommitPrepared n ─ does not exist ─▶ LookForProof n ─ there ─▶ committed before
//!                                                                 └ not ─▶ lost: the task fails
//! ```
//! There is no fence: a zombie's session works on until it ends, and may prepare. Names carry the life that began them, so
//! it never prepares under a name of its successor's; what it leaves in doubt waits for the next life that looks through
//! the leftovers. What was refused: to end other lives' sessions (`pg_terminate_backend`), since a zombie would end its
//! successor's just as well, and connects again.

mod committer;
pub mod defective;
mod writer;

pub use committer::PreparedTableCommitter;
pub use writer::PreparedTableWriter;

use super::defective::{DefectiveSink, OwnTransactionsOnly, RepeatedCommitIsError, WithCommitters};
use super::leftovers::{Leftovers, Nothing, WhatIsLost, WholePrefix};
use super::named_committable::NamedCommittable;
use super::{SinkPorts, ports_of};
use crate::api::sink::{Sink, WriterInitContext};
use crate::defects::{Defect, DefectSet};
use defective::Trusting;

/// The sink; `L` says how its writers pick what to roll back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PreparedTableSink<L>(L);

impl<L: Leftovers> Sink for PreparedTableSink<L> {
    type Committable = NamedCommittable;
    type Writer = PreparedTableWriter<L>;
    type Committer = PreparedTableCommitter;

    fn create_writer(&self, context: &WriterInitContext) -> PreparedTableWriter<L> {
        PreparedTableWriter::new(context)
    }

    fn create_committer(&self, _context: &WriterInitContext) -> PreparedTableCommitter {
        PreparedTableCommitter
    }
}

/// The writer and the committer of one subtask, behind bytes.
#[must_use]
pub fn create_ports(context: &WriterInitContext, defects: DefectSet) -> SinkPorts {
    match defects.first_of(&[Defect::PreparedLeftInDoubt, Defect::WholePrefixRolledBack]) {
        Some(Defect::PreparedLeftInDoubt) => ports_of(&PreparedTableSink(Nothing), context),
        Some(_) => ports_of(&PreparedTableSink(WholePrefix), context),
        None => trust_and_create(PreparedTableSink(WhatIsLost), context, defects),
    }
}

/// Chooses whom writer and committer believe, and whether a writer answers for those that are gone.
fn trust_and_create(
    sink: PreparedTableSink<WhatIsLost>,
    context: &WriterInitContext,
    defects: DefectSet,
) -> SinkPorts {
    let altered = [Defect::UnknownGidIsCommitted, Defect::OwnTransactionsOnly, Defect::RepeatedCommitIsError];
    match defects.first_of(&altered) {
        Some(Defect::UnknownGidIsCommitted) => {
            ports_of(&DefectiveSink::<_, Trusting, Trusting>::new(sink), context)
        }
        Some(Defect::OwnTransactionsOnly) => ports_of(&OwnTransactionsOnly(sink), context),
        Some(_) => ports_of(&WithCommitters::<_, RepeatedCommitIsError>::new(sink), context),
        None => ports_of(&sink, context),
    }
}

#[cfg(test)]
mod tests;
