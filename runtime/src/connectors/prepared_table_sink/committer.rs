//! The committer: an unknown name was committed before, or it is lost, and only the proof tells.

use crate::api::sink::{CommitRequest, Committer, SinkIo, StoreAnswer};
use crate::api::table_io::{TableAnswer, TableOperation};
use crate::connectors::named_committable::NamedCommittable;
use crate::message::StoreRequest;

/// Holds no state: what was committed before, the table knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PreparedTableCommitter;

impl Committer for PreparedTableCommitter {
    type Committable = NamedCommittable;

    fn commit(&mut self, request: &mut CommitRequest<NamedCommittable>, io: &mut SinkIo) {
        let NamedCommittable { transaction, ref records, .. } = *request.committable();
        debug_assert!(!records.is_empty(), "an empty transaction has no committable");
        io.ask(StoreRequest::Table(TableOperation::CommitPrepared { transaction }));
    }

    fn answered(
        &mut self,
        request: &mut CommitRequest<NamedCommittable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        match answer {
            StoreAnswer::Done { .. } => {}
            StoreAnswer::NotFound => {
                let transaction = request.committable().transaction;
                io.ask(StoreRequest::Table(TableOperation::LookForProof { transaction }));
            }
            StoreAnswer::Table(TableAnswer::Proof(true)) => request.signal_already_committed(),
            StoreAnswer::Table(TableAnswer::Proof(false)) => {
                request.signal_failed_with_unknown_reason("it is neither prepared nor committed: it is lost");
            }
            // The look for the proof makes it safe to ask again.
            StoreAnswer::Unavailable | StoreAnswer::Unknown => request.retry_later(),
            other => request.signal_failed_with_unknown_reason(format!("{other:?}")),
        }
    }
}
