//! A sink with a planted defect: a whole implementation beside the right one, which knows nothing of it.

use super::{PreparedTableCommitter, PreparedTableSink, PreparedTableWriter};
use crate::api::sink::{
    CommitRequest, Committer, CommittingSinkWriter, Sink, SinkIo, SinkWriter, StoreAnswer, WriterInitContext,
    WriterVerdict,
};
use crate::api::table_io::TableOperation;
use crate::connectors::leftovers::WhatIsLost;
use crate::connectors::named_committable::NamedCommittable;
use crate::ids::TransactionName;
use crate::message::StoreRequest;
use crate::records::Record;

/// A sink that takes everything for done: begin and prepare whatever the answer, and a commit of what the table does not
/// know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrustingSink(pub PreparedTableSink<WhatIsLost>);

impl Sink for TrustingSink {
    type Committable = NamedCommittable;
    type Writer = TrustingWriter;
    type Committer = TrustingCommitter;

    fn create_writer(&self, context: &WriterInitContext) -> TrustingWriter {
        TrustingWriter(self.0.create_writer(context))
    }

    fn create_committer(&self, context: &WriterInitContext) -> TrustingCommitter {
        TrustingCommitter(self.0.create_committer(context))
    }
}

/// The writer of [`TrustingSink`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TrustingWriter(PreparedTableWriter<WhatIsLost>);

impl SinkWriter for TrustingWriter {
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
        self.0.flush(end_of_input, io);
    }

    fn answered(&mut self, request: &StoreRequest, answer: StoreAnswer, io: &mut SinkIo) -> WriterVerdict {
        match request {
            StoreRequest::Table(TableOperation::Begin { .. } | TableOperation::Prepare { .. }) => {
                WriterVerdict::Settled
            }
            _ => self.0.answered(request, answer, io),
        }
    }
}

impl CommittingSinkWriter for TrustingWriter {
    type Committable = NamedCommittable;

    fn prepare_commit(&mut self, io: &mut SinkIo) -> Vec<NamedCommittable> {
        self.0.prepare_commit(io)
    }
}

/// The committer of [`TrustingSink`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TrustingCommitter(PreparedTableCommitter);

impl Committer for TrustingCommitter {
    type Committable = NamedCommittable;

    fn commit(&mut self, request: &mut CommitRequest<NamedCommittable>, io: &mut SinkIo) {
        self.0.commit(request, io);
    }

    fn answered(
        &mut self,
        request: &mut CommitRequest<NamedCommittable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) {
        match answer {
            StoreAnswer::NotFound => request.signal_already_committed(),
            other => self.0.answered(request, other, io),
        }
    }
}
