//! The exactly-once sink into a partitioned log, in the manner of Flink's `KafkaSink`.
//!
//! ```text
//! writer:    ListTransactions · InitProducer of what is lost │ InitProducer n · AddPartitions · Append · Append │
//!            InitProducer n+1 · ...
//! committer: EndTransaction n ─ fenced, timed out ─▶ lost: the job fails
//! ```
//! Nothing is prepared: what the log has acknowledged is durable, and the transaction stays open until its commit. Its
//! transactional id, producer id and epoch are the committable, with which anybody may end it.
//!
//! The id is the sink's prefix (the vertex), the subtask, the checkpoint counter and the life of the writer. A new life
//! lists what is open under the prefix and initialises every id that is lost, which fences its producer and aborts its
//! transaction. So does Flink's sink since it pools its ids. What was refused is its older way, ids without the life, which
//! a new life *probes* one after the other until it meets one that was never used: whoever initialises an id fences whoever
//! holds it, so that a late request of a zombie aborts what its successor has handed to a checkpoint under the same id.
//!
//! A transaction that the log aborted because it was open for too long is lost, and no restart brings it back. Flink's
//! `KafkaCommitter` signals a *known reason* then, which is logged and dropped in silence (FACT 73); here it fails the job
//! for good, and `known-reason-dropped` shows the other.

mod committer;
pub mod defective;
mod writer;

pub use committer::LogCommitter;
pub use writer::LogWriter;

use super::defective::{OwnTransactionsOnly, WithCommitters, WithWriters};
use super::leftovers::{Leftovers, Nothing, WhatIsLost, WhatIsNext};
use super::named_committable::NamedCommittable;
use super::{SinkPorts, ports_of};
use crate::api::sink::{Sink, WriterInitContext};
use crate::config::LogSinkConfig;
use crate::defects::{Defect, DefectSet};
use defective::{AbortsWhenClosed, InitialisesRestored, SwallowsErrors};
use std::marker::PhantomData;

/// The sink; `L` says how its writers pick what to abort.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogSink<L> {
    config: LogSinkConfig,
    leftovers: PhantomData<L>,
}

impl<L> LogSink<L> {
    /// Of this configuration.
    #[must_use]
    pub const fn new(config: LogSinkConfig) -> Self {
        debug_assert!(config.is_valid(), "checked when it was read");
        Self { config, leftovers: PhantomData }
    }
}

impl<L: Leftovers> Sink for LogSink<L> {
    type Committable = NamedCommittable;
    type Writer = LogWriter<L>;
    type Committer = LogCommitter;

    fn create_writer(&self, context: &WriterInitContext) -> LogWriter<L> {
        LogWriter::new(self.config, context)
    }

    fn create_committer(&self, _context: &WriterInitContext) -> LogCommitter {
        LogCommitter
    }
}

/// The writer and the committer of one subtask, behind bytes.
#[must_use]
pub fn create_ports(config: LogSinkConfig, context: &WriterInitContext, defects: DefectSet) -> SinkPorts {
    if defects.has(Defect::TransactionTimeoutTooShort) {
        let transaction_timeout_ns = defective::SHORT_TIMEOUT_NS;
        return pick_leftovers(LogSinkConfig { transaction_timeout_ns, ..config }, context, defects);
    }
    pick_leftovers(config, context, defects)
}

/// Chooses which lingering transactions are ended.
fn pick_leftovers(config: LogSinkConfig, context: &WriterInitContext, defects: DefectSet) -> SinkPorts {
    let altered = [Defect::LingeringTransactionsLeft, Defect::SupersededTransactionsLeft];
    match defects.first_of(&altered) {
        Some(Defect::LingeringTransactionsLeft) => ports_of(&LogSink::<Nothing>::new(config), context),
        Some(_) => ports_of(&LogSink::<WhatIsNext>::new(config), context),
        None => alter_and_create(LogSink::new(config), context, defects),
    }
}

/// Chooses what a writer makes of errors and of its end, what a committer does with a restored producer, and whether a
/// writer answers for those that are gone.
fn alter_and_create(sink: LogSink<WhatIsLost>, context: &WriterInitContext, defects: DefectSet) -> SinkPorts {
    let altered = [
        Defect::RestoredProducerInitialised,
        Defect::OwnTransactionsOnly,
        Defect::WriteErrorSwallowed,
        Defect::CloseAbortsHandedOver,
    ];
    match defects.first_of(&altered) {
        Some(Defect::RestoredProducerInitialised) => {
            ports_of(&WithCommitters::<_, InitialisesRestored>::new(sink), context)
        }
        Some(Defect::OwnTransactionsOnly) => ports_of(&OwnTransactionsOnly(sink), context),
        Some(Defect::WriteErrorSwallowed) => ports_of(&WithWriters::<_, SwallowsErrors>::new(sink), context),
        Some(_) => ports_of(&WithWriters::<_, AbortsWhenClosed>::new(sink), context),
        None => ports_of(&sink, context),
    }
}

#[cfg(test)]
mod tests;
