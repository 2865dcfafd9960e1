//! What connectors ask of a partitioned log, and what they are told: the words of Kafka's protocol.
//!
//! A writer has a *transactional id*. To initialise it gives a producer id and an epoch, and every further request carries
//! both; a second initialisation raises the epoch, aborts what the older one has open, and refuses it from then on. A
//! transaction spans partitions: each takes the records as they come, and a control marker ends the transaction in all of
//! them. Who reads what is committed reads no further than the first transaction that is still open.
//!
//! There is no `prepare`: what the log acknowledged is durable, and an open transaction outlives its producer, until
//! somebody ends it or its time is over. So the name, the producer id and the epoch are a committable.
//!
//! A commit or an abort raises the epoch as well, as since KIP-890: a request of the ended transaction that comes late must
//! not open another one under its name. The commit itself may be asked again.

use crate::ids::{OperatorUid, TransactionName};
use crate::records::Record;
use serde::{Deserialize, Serialize};

/// The instance of a producer that a log lets write under a transactional id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ProducerIdAndEpoch {
    /// The transactional id's number in the log.
    pub producer_id: u32,
    /// How often the id was initialised or had a transaction ended before.
    pub epoch: u16,
}

impl ProducerIdAndEpoch {
    /// Both in one number, as committables carry it.
    #[must_use]
    pub const fn to_token(self) -> u64 {
        (self.producer_id as u64) << u16::BITS | self.epoch as u64
    }

    /// What such a number says.
    #[must_use]
    pub const fn from_token(token: u64) -> Self {
        Self { producer_id: (token >> u16::BITS) as u32, epoch: token as u16 }
    }
}

/// How a producer ends its transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TransactionResult {
    /// Its records are there for everybody.
    Commit,
    /// Its records are passed over by whoever reads what is committed.
    Abort,
}

/// One thing asked of the log.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum LogOperation {
    /// `InitProducerId`.
    InitProducer {
        /// The transactional id.
        id: TransactionName,
        /// The log aborts a transaction that is open for longer, in nanoseconds.
        timeout_ns: u64,
    },
    /// `AddPartitionsToTxn`: these partitions take part in the transaction, which begins with the first of them.
    AddPartitions {
        /// The transactional id.
        id: TransactionName,
        /// Who asks.
        producer: ProducerIdAndEpoch,
        /// Which partitions of the topic.
        partitions: Vec<u32>,
    },
    /// `Produce`, acknowledged by all replicas.
    Append {
        /// The transactional id.
        id: TransactionName,
        /// Who asks.
        producer: ProducerIdAndEpoch,
        /// To which partition.
        partition: u32,
        /// How many appends to this partition the producer has sent before: the log takes each once, in their order.
        sequence: u32,
        /// The records.
        records: Vec<Record>,
    },
    /// `EndTxn`.
    EndTransaction {
        /// The transactional id.
        id: TransactionName,
        /// Who asks, or whoever holds its committable.
        producer: ProducerIdAndEpoch,
        /// How it ends.
        result: TransactionResult,
    },
    /// `ListTransactions`: which are open under the ids of this vertex.
    ListTransactions {
        /// The vertex.
        vertex: OperatorUid,
    },
}

impl LogOperation {
    /// What is asked, as a sentence's end.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::InitProducer { id, .. } => format!("initialise the producer of {id}"),
            Self::AddPartitions { id, partitions, .. } => format!("add partitions {partitions:?} to {id}"),
            Self::Append { id, partition, records, .. } => {
                format!("append {} records of {id} to partition {partition}", records.len())
            }
            Self::EndTransaction { id, result: TransactionResult::Commit, .. } => format!("commit {id}"),
            Self::EndTransaction { id, result: TransactionResult::Abort, .. } => format!("abort {id}"),
            Self::ListTransactions { vertex } => format!("list what {vertex} has open"),
        }
    }
}

/// What became of an operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum LogAnswer {
    /// It is done, now or by an earlier request like this one.
    Done,
    /// Who may write under the id from now on.
    Producer(ProducerIdAndEpoch),
    /// A newer producer of the id is known (`PRODUCER_FENCED`), or its transaction was ended: nothing was done.
    ProducerFenced,
    /// The log has aborted the producer's transaction, because it was open for too long: nothing was done, and what was in
    /// it is lost.
    TransactionTimedOut,
    /// No transaction is open, or it was ended the other way (`INVALID_TXN_STATE`): nothing was done.
    InvalidTransactionState,
    /// An append before this one is missing (`OUT_OF_ORDER_SEQUENCE_NUMBER`): nothing was done.
    OutOfOrderSequence,
    /// The id is unknown, or another producer's (`INVALID_PRODUCER_ID_MAPPING`): nothing was done.
    UnknownProducer,
    /// What is open, in the order of the names.
    Transactions(Vec<TransactionName>),
}

/// How far a reader reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum IsolationLevel {
    /// Up to the first transaction that is still open, and without what was aborted.
    ReadCommitted,
    /// Whatever is there.
    ReadUncommitted,
}

/// One thing asked by a reader.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum LogReadOperation {
    /// Which partitions the topic has, and what there is in them.
    DescribeTopic {
        /// The topic's number.
        topic: u16,
    },
    /// `Fetch`: records from these positions on.
    Fetch {
        /// The topic's number.
        topic: u16,
        /// Partitions, each with the offset from which on it is read.
        positions: Vec<(u32, u64)>,
        /// At most so many records of each.
        records_max: u32,
        /// How far.
        isolation: IsolationLevel,
    },
}

/// What a reader is told.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LogReadAnswer {
    /// The partitions from 0 on; a topic never loses one.
    Partitions(Vec<PartitionOffsets>),
    /// For each position that was asked about, in that order. It may bring nothing.
    Fetched(Vec<FetchedPartition>),
}

/// Where a partition stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct PartitionOffsets {
    /// Behind the last record that is committed, with all before it.
    pub last_stable_offset: u64,
    /// What the source's group has left as its position, if it ever has.
    pub committed: Option<u64>,
}

/// What a fetch brings of one partition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FetchedPartition {
    /// Which.
    pub partition: u32,
    /// The offset that was asked for.
    pub from: u64,
    /// Records with their offsets, which have gaps: markers have offsets too, and so has what was aborted.
    pub records: Vec<(u64, Vec<u8>)>,
    /// From where to go on.
    pub next_offset: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_what_was_put_into_it() {
        let extremes = [(0, 0), (7, 3), (u32::MAX, u16::MAX)];
        for producer in extremes.map(|(producer_id, epoch)| ProducerIdAndEpoch { producer_id, epoch }) {
            assert_eq!(ProducerIdAndEpoch::from_token(producer.to_token()), producer);
        }
    }
}
