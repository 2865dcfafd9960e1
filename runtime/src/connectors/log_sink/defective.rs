//! What defective log sinks do otherwise than the right one, which knows nothing of it.

use super::committer::commit;
use super::{LogCommitter, LogWriter};
use crate::api::log_io::{LogAnswer, LogOperation, ProducerIdAndEpoch, TransactionResult};
use crate::api::sink::{
    CommitRequest, Committer, CommittingSinkWriter, SinkIo, SinkWriter, StoreAnswer, WriterInitContext,
    WriterVerdict,
};
use crate::config::LogSinkConfig;
use crate::connectors::defective::{CommitterFlaw, Flaw, WriterFlaw};
use crate::connectors::leftovers::WhatIsLost;
use crate::connectors::named_committable::NamedCommittable;
use crate::ids::CheckpointId;
use crate::message::StoreRequest;

/// Shorter than most outages, and longer than a checkpoint takes.
pub const SHORT_TIMEOUT_NS: u64 = 150_000_000;

/// A committer that initialises the producer of a restored committable, in place of resuming it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InitialisesRestored(Option<CheckpointId>);

impl Flaw for InitialisesRestored {
    fn of(context: &WriterInitContext) -> Self {
        Self(context.restored)
    }
}

impl CommitterFlaw<LogCommitter> for InitialisesRestored {
    fn commit(
        &mut self,
        right: &mut LogCommitter,
        request: &mut CommitRequest<NamedCommittable>,
        io: &mut SinkIo,
    ) {
        let id = request.committable().transaction;
        if self.0.is_some_and(|restored| id.number <= restored) {
            let timeout_ns = LogSinkConfig::DEFAULT.transaction_timeout_ns;
            io.ask(StoreRequest::Log(LogOperation::InitProducer { id, timeout_ns }));
        } else {
            right.commit(request, io);
        }
    }

    fn answered(
        &mut self,
        right: &mut LogCommitter,
        request: &mut CommitRequest<NamedCommittable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        match answer {
            StoreAnswer::Log(LogAnswer::Producer(producer)) => {
                let token = ProducerIdAndEpoch::to_token(producer);
                commit(&NamedCommittable { token, ..request.committable().clone() }, io);
            }
            other => right.answered(request, other, io),
        }
    }
}

/// A writer to which an append that failed, or had no answer, is over: the error is in a future that nobody looks at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SwallowsErrors;

impl Flaw for SwallowsErrors {
    fn of(_context: &WriterInitContext) -> Self {
        Self
    }
}

impl WriterFlaw<LogWriter<WhatIsLost>> for SwallowsErrors {
    fn answered(
        &mut self,
        right: &mut LogWriter<WhatIsLost>,
        request: &StoreRequest,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) -> WriterVerdict {
        match request {
            StoreRequest::Log(LogOperation::Append { .. }) => WriterVerdict::Settled,
            _ => right.answered(request, answer, io),
        }
    }
}

/// A writer that aborts its last transaction when it is closed, also if that has been handed over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AbortsWhenClosed {
    closes: bool,
}

impl Flaw for AbortsWhenClosed {
    fn of(_context: &WriterInitContext) -> Self {
        Self { closes: false }
    }
}

impl WriterFlaw<LogWriter<WhatIsLost>> for AbortsWhenClosed {
    fn flush(&mut self, right: &mut LogWriter<WhatIsLost>, end_of_input: bool, io: &mut SinkIo) {
        self.closes = end_of_input;
        right.flush(end_of_input, io);
    }

    fn prepare_commit(
        &mut self,
        right: &mut LogWriter<WhatIsLost>,
        io: &mut SinkIo,
    ) -> Vec<NamedCommittable> {
        let prepared = right.prepare_commit(io);
        for NamedCommittable { transaction: id, token, .. } in prepared.iter().filter(|_| self.closes) {
            let (id, producer) = (*id, ProducerIdAndEpoch::from_token(*token));
            let result = TransactionResult::Abort;
            io.ask(StoreRequest::Log(LogOperation::EndTransaction { id, producer, result }));
        }
        prepared
    }
}
