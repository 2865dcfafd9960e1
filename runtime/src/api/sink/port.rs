//! The sink as the operators see it: committables and states are bytes, so that the protocol compiles once.

use super::commit_request::CommitSignal;
use super::{SinkIo, SinkStateError, StoreAnswer, WriterVerdict};
use crate::ids::{CheckpointId, TransactionName};
use crate::message::StoreRequest;
use crate::records::{Record, RecordRanges};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// A committable as bytes, with the one thing that the runtime itself must know of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CommittablePayload {
    /// The transaction, as the adapter read it off the typed committable.
    pub transaction: TransactionName,
    /// The version of the serialiser.
    pub version: u32,
    /// The serialised committable.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// A committable with the records that its commit makes visible.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct PreparedCommittable {
    /// The committable.
    pub payload: CommittablePayload,
    /// Its records.
    pub records: RecordRanges,
}

/// What one `prepare_commit` gave.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PreparedCommit {
    /// The transaction that ended, also when nothing is in it.
    pub transaction: TransactionName,
    /// All records of the committables.
    pub records: RecordRanges,
    /// The committables; none for an empty transaction.
    pub committables: Vec<PreparedCommittable>,
}

/// A sink writer behind bytes; see [`super::SinkWriter`] for the meaning of each method.
pub trait WriterPort: Debug + Send + Sync {
    /// The transaction that the next record goes into.
    fn transaction(&self) -> TransactionName;
    /// Opens the writer.
    fn open(&mut self, keep: &[TransactionName], io: &mut SinkIo);
    /// Takes all records out of `records`, keeping its room.
    fn write(&mut self, records: &mut Vec<Record>, io: &mut SinkIo);
    /// Event time has advanced.
    fn write_watermark(&mut self, watermark_ms: u64, io: &mut SinkIo);
    /// Hands on what is held.
    fn flush(&mut self, end_of_input: bool, io: &mut SinkIo);
    /// Ends the transaction.
    fn prepare_commit(&mut self, io: &mut SinkIo) -> PreparedCommit;
    /// The writer's state as versioned bytes; no bytes when it has none.
    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<u8>;
    /// Takes over state.
    ///
    /// # Errors
    /// When the bytes cannot be read.
    fn restore_state(&mut self, bytes: &[u8]) -> Result<(), SinkStateError> {
        debug_assert!(bytes.is_empty(), "a writer without state restores none");
        Ok(())
    }
    /// When it wants to be woken.
    fn wake_at_ms(&self) -> Option<u64> {
        None
    }
    /// Wakes it.
    fn on_processing_time(&mut self, io: &mut SinkIo) {
        let _ = io;
    }
    /// Judges an answer, and may ask for what follows from it.
    fn answered(&mut self, request: &StoreRequest, answer: StoreAnswer, io: &mut SinkIo) -> WriterVerdict;
    /// A copy, for forks.
    fn clone_box(&self) -> Box<dyn WriterPort>;
    /// Feeds the whole state into `hasher`.
    fn fingerprint(&self, hasher: &mut dyn Hasher);
}

/// Why a committer does not come to a signal.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CommitError {
    /// It cannot read the committable.
    #[error(transparent)]
    State(#[from] SinkStateError),
    /// It throws: nothing of the call counts as committed, whatever was done before (FACT 74).
    #[error("the committer throws: {0}")]
    Thrown(String),
}

/// A committer behind bytes; see [`super::Committer`].
pub trait CommitterPort: Debug + Send + Sync {
    /// A call begins: what [`CommitterPort::commit`] is asked next is all that is pending of one checkpoint (FACT 67), each
    /// with its retries.
    fn call_begins(&mut self, pending: &[(&CommittablePayload, u32)]) {
        let _ = pending;
    }

    /// Asks for the one store request that commits this; or for none, and then answers what was signalled at once. May
    /// replace the payload and raises `retries` as [`CommitterPort::answered`] does.
    ///
    /// # Errors
    /// When the bytes cannot be read, or the committer throws.
    fn commit(
        &mut self,
        payload: &mut CommittablePayload,
        retries: &mut u32,
        io: &mut SinkIo,
    ) -> Result<Option<CommitSignal>, CommitError>;

    /// Signals what the answer means; may replace the payload and raises `retries` at each retry signal. Or asks for the
    /// next store request of the same commit, and signals nothing.
    ///
    /// # Errors
    /// When the bytes cannot be read.
    fn answered(
        &mut self,
        payload: &mut CommittablePayload,
        retries: &mut u32,
        answer: StoreAnswer,
        io: &mut SinkIo,
    ) -> Result<Option<CommitSignal>, SinkStateError>;

    /// The records that a commit of this makes visible, read off the bytes.
    ///
    /// # Errors
    /// When the bytes cannot be read.
    fn records_held(&self, payload: &CommittablePayload) -> Result<RecordRanges, SinkStateError>;

    /// A copy, for forks.
    fn clone_box(&self) -> Box<dyn CommitterPort>;
    /// Feeds the whole state into `hasher`.
    fn fingerprint(&self, hasher: &mut dyn Hasher);
}

impl Clone for Box<dyn WriterPort> {
    fn clone(&self) -> Self {
        self.as_ref().clone_box()
    }
}

impl Hash for dyn WriterPort {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.fingerprint(hasher);
    }
}

impl Clone for Box<dyn CommitterPort> {
    fn clone(&self) -> Self {
        self.as_ref().clone_box()
    }
}

impl Hash for dyn CommitterPort {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.fingerprint(hasher);
    }
}
