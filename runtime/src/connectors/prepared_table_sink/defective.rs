//! What a defective sink does otherwise than the right one, which knows nothing of it.

use super::{PreparedTableCommitter, PreparedTableWriter};
use crate::api::sink::{
    CommitRequest, Committer, SinkIo, SinkWriter, StoreAnswer, WriterInitContext, WriterVerdict,
};
use crate::api::table_io::TableOperation;
use crate::connectors::defective::{CommitterFlaw, Flaw, WriterFlaw};
use crate::connectors::leftovers::WhatIsLost;
use crate::connectors::named_committable::NamedCommittable;
use crate::message::StoreRequest;

/// Everything is taken for done: begin and prepare whatever the answer, and a commit of what the table does not know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Trusting;

impl Flaw for Trusting {
    fn of(_context: &WriterInitContext) -> Self {
        Self
    }
}

impl WriterFlaw<PreparedTableWriter<WhatIsLost>> for Trusting {
    fn answered(
        &mut self,
        right: &mut PreparedTableWriter<WhatIsLost>,
        request: &StoreRequest,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) -> WriterVerdict {
        match request {
            StoreRequest::Table(TableOperation::Begin { .. } | TableOperation::Prepare { .. }) => {
                WriterVerdict::Settled
            }
            _ => right.answered(request, answer, io),
        }
    }
}

impl CommitterFlaw<PreparedTableCommitter> for Trusting {
    fn answered(
        &mut self,
        right: &mut PreparedTableCommitter,
        request: &mut CommitRequest<NamedCommittable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        match answer {
            StoreAnswer::NotFound => request.signal_already_committed(),
            other => right.answered(request, other, io),
        }
    }
}
