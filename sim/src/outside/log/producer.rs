//! A transactional id as the log's transaction coordinator knows it.

use crate::outside::content::Content;
use splitrace_runtime::api::log_io::{LogAnswer, ProducerIdAndEpoch, TransactionResult};
use splitrace_runtime::ids::Fence;
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub(super) struct Producer {
    pub(super) producer_id: u32,
    pub(super) epoch: u16,
    pub(super) timeout_ns: u64,
    pub(super) open: Option<Transaction>,
    /// The transaction before, if the epoch was raised by its end.
    pub(super) ended: Option<Ended>,
}

/// An open transaction.
#[derive(Clone, Debug, Hash)]
pub(super) struct Transaction {
    pub(super) fence: Fence,
    pub(super) content: Content,
    /// The next append's number in each partition that takes part.
    pub(super) sequences: BTreeMap<u32, u32>,
    since_ns: u64,
}

/// An ended transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(super) struct Ended {
    /// Of whoever had begun it.
    pub(super) epoch: u16,
    pub(super) outcome: Outcome,
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(super) enum Outcome {
    /// By its commit.
    Committed,
    /// As its producer asked.
    Aborted,
    /// By the log's clock.
    TimedOut,
    /// By an initialisation of its id.
    Fenced,
}

impl Outcome {
    /// What the marker says.
    pub(super) const fn result(self) -> TransactionResult {
        match self {
            Self::Committed => TransactionResult::Commit,
            Self::Aborted | Self::TimedOut | Self::Fenced => TransactionResult::Abort,
        }
    }
}

impl Transaction {
    pub(super) fn new(fence: Fence, now_ns: u64) -> Self {
        Self { fence, content: Content::default(), sequences: BTreeMap::new(), since_ns: now_ns }
    }
}

impl Producer {
    pub(super) const fn new(producer_id: u32, timeout_ns: u64) -> Self {
        Self { producer_id, epoch: 0, timeout_ns, open: None, ended: None }
    }

    pub(super) const fn id_and_epoch(&self) -> ProducerIdAndEpoch {
        ProducerIdAndEpoch { producer_id: self.producer_id, epoch: self.epoch }
    }

    /// Whether what is open is open for too long.
    pub(super) fn is_late(&self, now_ns: u64) -> bool {
        self.open.as_ref().is_some_and(|open| now_ns.saturating_sub(open.since_ns) > self.timeout_ns)
    }

    /// How the transaction ended that this producer was the last to have, if its end is all that has happened since.
    pub(super) fn ended_before(&self, producer: ProducerIdAndEpoch) -> Option<Outcome> {
        let is_same = |ended: &Ended| {
            (self.producer_id, ended.epoch, ended.epoch.wrapping_add(1))
                == (producer.producer_id, producer.epoch, self.epoch)
        };
        self.ended.filter(is_same).map(|ended| ended.outcome)
    }

    /// Why this producer may not write; `None`: it may.
    pub(super) fn refusal(&self, producer: ProducerIdAndEpoch) -> Option<LogAnswer> {
        if producer.producer_id != self.producer_id {
            return Some(LogAnswer::UnknownProducer);
        }
        if producer.epoch == self.epoch {
            return None;
        }
        let is_late = self.ended_before(producer) == Some(Outcome::TimedOut);
        Some(if is_late { LogAnswer::TransactionTimedOut } else { LogAnswer::ProducerFenced })
    }
}
