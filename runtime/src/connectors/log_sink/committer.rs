//! The committer: it ends the transaction that the committable names, as the producer that the committable names.

use crate::api::log_io::{LogAnswer, LogOperation, ProducerIdAndEpoch, TransactionResult};
use crate::api::sink::{CommitRequest, Committer, SinkIo, StoreAnswer};
use crate::connectors::named_committable::NamedCommittable;
use crate::message::StoreRequest;

/// Holds no state: the log answers a commit that is asked again as it did the first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LogCommitter;

/// Resumes the producer and commits.
pub(super) fn commit(NamedCommittable { transaction: id, token, .. }: &NamedCommittable, io: &mut SinkIo) {
    let producer = ProducerIdAndEpoch::from_token(*token);
    let result = TransactionResult::Commit;
    io.ask(StoreRequest::Log(LogOperation::EndTransaction { id: *id, producer, result }));
}

impl Committer for LogCommitter {
    type Committable = NamedCommittable;

    fn commit(&mut self, request: &mut CommitRequest<NamedCommittable>, io: &mut SinkIo) {
        debug_assert!(!request.committable().records.is_empty(), "an empty transaction has no committable");
        commit(request.committable(), io);
    }

    fn answered(
        &mut self,
        request: &mut CommitRequest<NamedCommittable>,
        answer: StoreAnswer,
        _io: &mut SinkIo,
    ) {
        match answer {
            StoreAnswer::Done { .. } => {}
            StoreAnswer::Unavailable | StoreAnswer::Unknown => request.retry_later(),
            StoreAnswer::Fenced => {
                request.signal_failed_with_known_reason("its producer is fenced: what it wrote is lost");
            }
            StoreAnswer::Log(LogAnswer::TransactionTimedOut) => {
                request.signal_failed_with_known_reason(
                    "it was open for longer than the transaction time-out: what it wrote is lost",
                );
            }
            StoreAnswer::Log(answer @ (LogAnswer::InvalidTransactionState | LogAnswer::UnknownProducer)) => {
                request.signal_failed_with_known_reason(format!("{answer:?}: what it wrote is lost"));
            }
            other => request.signal_failed_with_unknown_reason(format!("{other:?}")),
        }
    }
}
