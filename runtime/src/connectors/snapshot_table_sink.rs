//! The sink into a table format, in the manner of Iceberg's.
//!
//! ```text
//! writer:    Load │ WriteFile n │ WriteFile n+1 · ...
//! committer: Load behind the writer's first look ─ n is in a summary ─▶ committed before
//!                        └ it is not ─▶ Commit on the current snapshot ─ conflict ─▶ Load ...
//! ```
//! The table takes a file as often as it is asked to, so what keeps a second commit out is the look into the summaries
//! alone, and that the commit is made on the very snapshot that was looked at. A conflict is no failure: somebody else got
//! on, and the look is repeated. It draws on no retry. What was refused: Iceberg's 'highest checkpoint committed so far' in
//! place of names; committables of one writer are dealt out when a job changes its parallelism, and then need not come in
//! order.

mod committer;
pub mod defective;
mod writer;

pub use committer::SnapshotTableCommitter;
pub use writer::SnapshotTableWriter;

use super::defective::{CommitterFlaw, WithCommitters};
use super::named_committable::NamedCommittable;
use super::{SinkPorts, ports_of};
use crate::api::sink::{Sink, WriterInitContext};
use crate::defects::{Defect, DefectSet};
use defective::{
    ForgetsLostCommits, HighWaterMark, KeyOfThisLife, LateIsCommitted, LooksOnRetryOnly, Unchecked,
};

/// The sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SnapshotTableSink;

impl Sink for SnapshotTableSink {
    type Committable = NamedCommittable;
    type Writer = SnapshotTableWriter;
    type Committer = SnapshotTableCommitter;

    fn create_writer(&self, context: &WriterInitContext) -> SnapshotTableWriter {
        SnapshotTableWriter::new(context)
    }

    fn create_committer(&self, _context: &WriterInitContext) -> SnapshotTableCommitter {
        SnapshotTableCommitter
    }
}

/// The writer and the committer of one subtask, behind bytes.
#[must_use]
pub fn create_ports(context: &WriterInitContext, defects: DefectSet) -> SinkPorts {
    const ALTERED: [Defect; 6] = [
        Defect::SnapshotSummaryNotChecked,
        Defect::LostCommitRetriedAsNew,
        Defect::DedupeKeyOfThisLife,
        Defect::HighWaterMarkFilter,
        Defect::LateCommittableIgnored,
        Defect::CommittedSoughtOnRetryOnly,
    ];
    match defects.first_of(&ALTERED) {
        Some(Defect::SnapshotSummaryNotChecked) => with_committers::<Unchecked>(context),
        Some(Defect::LostCommitRetriedAsNew) => with_committers::<ForgetsLostCommits>(context),
        Some(Defect::DedupeKeyOfThisLife) => with_committers::<KeyOfThisLife>(context),
        Some(Defect::HighWaterMarkFilter) => with_committers::<HighWaterMark>(context),
        Some(Defect::LateCommittableIgnored) => with_committers::<LateIsCommitted>(context),
        Some(_) => with_committers::<LooksOnRetryOnly>(context),
        None => ports_of(&SnapshotTableSink, context),
    }
}

fn with_committers<F: CommitterFlaw<SnapshotTableCommitter>>(context: &WriterInitContext) -> SinkPorts {
    ports_of(&WithCommitters::<_, F>::new(SnapshotTableSink), context)
}

#[cfg(test)]
mod tests;
