//! Sinks with a planted defect: whole implementations beside the right one, which knows nothing of them.

use super::committer::commit;
use super::{LogCommitter, LogSink, LogWriter};
use crate::api::log_io::{LogAnswer, LogOperation, ProducerIdAndEpoch};
use crate::api::sink::{CommitRequest, Committer, Sink, SinkIo, StoreAnswer, WriterInitContext};
use crate::config::LogSinkConfig;
use crate::connectors::leftovers::WhatIsLost;
use crate::connectors::named_committable::NamedCommittable;
use crate::ids::CheckpointId;
use crate::message::StoreRequest;

/// Shorter than most outages, and longer than a checkpoint takes.
pub const SHORT_TIMEOUT_NS: u64 = 150_000_000;

/// A sink whose committer initialises the producer of a restored committable, in place of resuming it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InitialisingSink(pub LogSink<WhatIsLost>);

impl Sink for InitialisingSink {
    type Committable = NamedCommittable;
    type Writer = LogWriter<WhatIsLost>;
    type Committer = InitialisingCommitter;

    fn create_writer(&self, context: &WriterInitContext) -> LogWriter<WhatIsLost> {
        self.0.create_writer(context)
    }

    fn create_committer(&self, context: &WriterInitContext) -> InitialisingCommitter {
        InitialisingCommitter { right: self.0.create_committer(context), restored: context.restored }
    }
}

/// The committer of [`InitialisingSink`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InitialisingCommitter {
    right: LogCommitter,
    restored: Option<CheckpointId>,
}

impl Committer for InitialisingCommitter {
    type Committable = NamedCommittable;

    fn commit(&mut self, request: &mut CommitRequest<NamedCommittable>, io: &mut SinkIo) {
        let id = request.committable().transaction;
        if self.restored.is_some_and(|restored| id.number <= restored) {
            let timeout_ns = LogSinkConfig::DEFAULT.transaction_timeout_ns;
            io.ask(StoreRequest::Log(LogOperation::InitProducer { id, timeout_ns }));
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
            StoreAnswer::Log(LogAnswer::Producer(producer)) => {
                let token = ProducerIdAndEpoch::to_token(producer);
                commit(&NamedCommittable { token, ..request.committable().clone() }, io);
            }
            other => self.right.answered(request, other, io),
        }
    }
}
