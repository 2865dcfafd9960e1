//! The sink side of the connector traits, typed, and the ports through which the protocol sees them as bytes.
//!
//! Connector logic is pure: it *asks* for store requests through a [`SinkIo`] and is told what became of them. The
//! operator sends the requests one after the other, waits where Flink's task thread would block, and takes care of
//! timeouts. Refused: an `async` writer (it could not be cloned, hashed or compared) and a writer that is handed the
//! store (it would have to block the step).
//!
//! ```text
//! record ─▶ SinkWriter::write ─▶ SinkIo ─▶ store
//! barrier ▶ flush, prepare_commit ─▶ committable (bytes) ─▶ Committer::commit ─▶ SinkIo ─▶ store
//! ```

mod adapter;
mod commit_request;
mod port;
mod state;

pub use adapter::{CommitterAdapter, WriterAdapter};
pub use commit_request::{CommitRequest, CommitRequestState, CommitSignal};
pub use port::{
    CommitError, CommittablePayload, CommitterPort, PreparedCommit, PreparedCommittable, WriterPort,
};
pub use state::{
    HeldCheckpoint, HeldRequest, HeldSubtask, SinkStateError, WriterStateElement, committables_held,
    decode_committer_state, decode_writer_state, encode_committer_state, encode_writer_state,
};

use crate::api::file_io::{FileAnswer, FileOperation};
use crate::api::log_io::LogAnswer;
use crate::api::snapshots_io::SnapshotsAnswer;
use crate::api::table_io::TableAnswer;
use crate::config::CommitScript;
use crate::ids::{CheckpointId, Fence, SubtaskId, TransactionName};
use crate::message::{StoreReply, StoreRequest};
use crate::records::{Record, RecordRanges};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::Hash;

/// So many bytes at most go into one write to a file.
const WRITE_BYTES_MAX: usize = 64 * 1024;

/// Where connector logic puts the requests that it wants sent, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SinkIo {
    requests: VecDeque<StoreRequest>,
    stand_still_ns: u64,
    clock: ProcessClock,
}

/// What the clock of the process shows during a call. Set anew before each: it is no state, so nothing of it is hashed or
/// compared.
#[derive(Clone, Copy, Debug, Default)]
struct ProcessClock {
    processing_time_ms: u64,
}

impl Hash for ProcessClock {
    fn hash<H: std::hash::Hasher>(&self, _hasher: &mut H) {}
}

impl PartialEq for ProcessClock {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for ProcessClock {}

impl SinkIo {
    /// Asks for a request behind those that were asked for before.
    pub fn ask(&mut self, request: StoreRequest) {
        self.requests.push_back(request);
    }

    /// Asks for an operation of a file system. One that only writes on where the last one that is not sent yet ends becomes
    /// a part of it, so that a file takes many records at once.
    pub fn ask_file(&mut self, operation: FileOperation) {
        if let FileOperation::Write { path, at, bytes } = &operation
            && let Some(FileOperation::Write { at: begin, bytes: before, .. }) = self.last_about(path)
            && *begin + before.len() as u64 == *at
            && before.len() + bytes.len() <= WRITE_BYTES_MAX
        {
            before.extend_from_slice(bytes);
            return;
        }
        self.ask(StoreRequest::File(operation));
    }

    /// What was asked last about a file and is not sent yet. What is asked about others does not touch it.
    fn last_about(&mut self, path: &str) -> Option<&mut FileOperation> {
        self.requests.iter_mut().rev().find_map(|request| match request {
            StoreRequest::File(operation) if operation.path() == path => Some(operation),
            _ => None,
        })
    }

    /// Stands still for this long before the first request goes out: where Flink's user code sleeps. Only a committer may.
    pub const fn stand_still(&mut self, for_ns: u64) {
        self.stand_still_ns = for_ns;
    }

    /// The operator tells the time before it calls.
    pub const fn set_processing_time_ms(&mut self, now_ms: u64) {
        self.clock.processing_time_ms = now_ms;
    }

    /// What the clock of the process shows, in milliseconds.
    #[must_use]
    pub const fn processing_time_ms(&self) -> u64 {
        self.clock.processing_time_ms
    }

    /// For how long nothing is to be sent, in nanoseconds.
    #[must_use]
    pub const fn stand_still_ns(&self) -> u64 {
        self.stand_still_ns
    }

    /// Takes the oldest request that is not sent yet.
    pub fn next_request(&mut self) -> Option<StoreRequest> {
        self.requests.pop_front()
    }

    /// How many requests are not sent yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether every request has been sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}

/// What became of a store request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StoreAnswer {
    /// The store did it now, or had done it before.
    Done {
        /// Whether it had been done before.
        before: bool,
    },
    /// A newer fence is known for the writer.
    Fenced,
    /// The store knows no such transaction in the needed state.
    NotFound,
    /// The store did nothing and asks to be asked again.
    Unavailable,
    /// No reply came in time: it may have been done.
    Unknown,
    /// What only a file system answers; what others answer too has the same name here.
    File(FileAnswer),
    /// What only a table with prepared transactions answers.
    Table(TableAnswer),
    /// What only a table format answers.
    Snapshots(SnapshotsAnswer),
    /// What only a partitioned log answers.
    Log(LogAnswer),
}

impl From<StoreReply> for StoreAnswer {
    fn from(reply: StoreReply) -> Self {
        match reply {
            StoreReply::Done => Self::Done { before: false },
            StoreReply::AlreadyDone => Self::Done { before: true },
            StoreReply::Fenced => Self::Fenced,
            StoreReply::NotFound => Self::NotFound,
            StoreReply::Unavailable => Self::Unavailable,
            StoreReply::File(FileAnswer::Done) => Self::Done { before: false },
            StoreReply::File(FileAnswer::AlreadyDone) => Self::Done { before: true },
            StoreReply::File(FileAnswer::NotFound) => Self::NotFound,
            StoreReply::File(answer) => Self::File(answer),
            StoreReply::Table(TableAnswer::Done) => Self::Done { before: false },
            StoreReply::Table(TableAnswer::DoesNotExist) => Self::NotFound,
            StoreReply::Table(TableAnswer::ConnectionLost) => Self::Unknown,
            StoreReply::Table(answer) => Self::Table(answer),
            StoreReply::Snapshots(SnapshotsAnswer::Done) => Self::Done { before: false },
            StoreReply::Snapshots(SnapshotsAnswer::NoFile) => Self::NotFound,
            StoreReply::Snapshots(answer) => Self::Snapshots(answer),
            StoreReply::Log(LogAnswer::Done) => Self::Done { before: false },
            StoreReply::Log(LogAnswer::ProducerFenced) => Self::Fenced,
            StoreReply::Log(answer) => Self::Log(answer),
        }
    }
}

/// What a writer makes of an answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum WriterVerdict {
    /// The request is settled.
    Settled,
    /// Send the same request again, as a new call.
    AskAgain,
    /// The writer cannot go on; the task fails with this cause.
    Failed(String),
}

/// What a sink is told when it makes a writer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriterInitContext {
    /// The parallel instance that writes.
    pub subtask: SubtaskId,
    /// Which of its executions: newer than all before it.
    pub fence: Fence,
    /// How many parallel instances write.
    pub parallelism: u32,
    /// The checkpoint that the task restores, if any (FACT 62).
    pub restored: Option<CheckpointId>,
    /// How many records a writer may gather before it sends them out.
    pub write_buffer_records: u32,
    /// What the committer signals instead of committing, if anything.
    pub commit_script: Option<CommitScript>,
    /// How long the committer stands still before it asks once more, for each retry.
    pub commit_back_off_ns: u64,
}

/// Flink's `Sink` with the two-phase capabilities: it makes writers and committers that understand each other.
pub trait Sink {
    /// What is handed from the writer to the committer.
    type Committable: SinkCommittable;
    /// The writer.
    type Writer: CommittingSinkWriter<Committable = Self::Committable>;
    /// The committer.
    type Committer: Committer<Committable = Self::Committable>;

    /// Makes the writer of one subtask.
    fn create_writer(&self, context: &WriterInitContext) -> Self::Writer;

    /// Makes a committer; it is made before the writer (FACT 63).
    fn create_committer(&self, context: &WriterInitContext) -> Self::Committer;
}

/// Flink's `SinkWriter`. Its [`Hash`] is its whole state: forks are compared by it.
pub trait SinkWriter: Clone + Debug + Hash + Send + Sync + 'static {
    /// The transaction that the next record goes into.
    fn transaction(&self) -> TransactionName;

    /// Called once, before everything else; `keep` names the transactions that the restored checkpoint holds. The
    /// task waits until what is asked for here is settled.
    fn open(&mut self, keep: &[TransactionName], io: &mut SinkIo);

    /// Takes one record.
    fn write(&mut self, record: Record, io: &mut SinkIo);

    /// Event time has reached `watermark_ms`.
    fn write_watermark(&mut self, watermark_ms: u64, io: &mut SinkIo) {
        let _ = (watermark_ms, io);
    }

    /// Hands everything that is still held to the store, before each `prepare_commit` (FACT 59). `end_of_input` is
    /// true once, for the last one (FACT 60).
    fn flush(&mut self, end_of_input: bool, io: &mut SinkIo);

    /// Flink's `StatefulSinkWriter.snapshotState`: a list, whose elements a change of parallelism deals to others; empty
    /// for a writer that hands everything over at each `prepare_commit`. What it holds must be durable: whatever that
    /// takes is asked for in [`CommittingSinkWriter::prepare_commit`], for which the task waits.
    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<WriterStateElement> {
        let _ = checkpoint;
        Vec::new()
    }

    /// Takes over what earlier lives, of this writer or of others, had in their state. Comes before [`Self::open`].
    ///
    /// # Errors
    /// When an element cannot be read.
    fn restore_state(&mut self, elements: Vec<WriterStateElement>) -> Result<(), SinkStateError> {
        debug_assert!(elements.is_empty(), "a writer without state restores none");
        Ok(())
    }

    /// When it wants [`Self::on_processing_time`], in milliseconds of processing time.
    fn wake_at_ms(&self) -> Option<u64> {
        None
    }

    /// That time has come, or is over.
    fn on_processing_time(&mut self, io: &mut SinkIo) {
        let _ = io;
    }

    /// Judges the answer to a request of this writer, and may ask for what follows from it. By default every request is
    /// idempotent: it is asked again until it is settled, and a fence or an unknown transaction ends the writer.
    fn answered(&mut self, request: &StoreRequest, answer: StoreAnswer, io: &mut SinkIo) -> WriterVerdict {
        let _ = io;
        match answer {
            StoreAnswer::Done { .. } => WriterVerdict::Settled,
            StoreAnswer::Unavailable | StoreAnswer::Unknown => WriterVerdict::AskAgain,
            StoreAnswer::Fenced => {
                WriterVerdict::Failed("the writer is fenced by a newer attempt".to_owned())
            }
            StoreAnswer::NotFound => {
                WriterVerdict::Failed(format!("the store lost the transaction of {}", request_name(request)))
            }
            other => WriterVerdict::Failed(format!("{other:?} is no answer to {}", request_name(request))),
        }
    }
}

/// Flink's `CommittingSinkWriter` (`TwoPhaseCommittingSink.PrecommittingSinkWriter` before).
pub trait CommittingSinkWriter: SinkWriter {
    /// What a commit needs.
    type Committable: SinkCommittable;

    /// Ends the current transaction and begins to count the next one. What it returns counts only once every request
    /// asked for so far is settled; the operator waits for that.
    fn prepare_commit(&mut self, io: &mut SinkIo) -> Vec<Self::Committable>;
}

/// A committable with its versioned serialiser and what the census must know of it.
pub trait SinkCommittable: Clone + Debug + Send + Sync + Sized + 'static {
    /// The version that [`SinkCommittable::to_bytes`] writes.
    const VERSION: u32;

    /// The transaction that a commit ends.
    fn transaction(&self) -> TransactionName;

    /// The records that a commit makes visible.
    fn records_held(&self) -> RecordRanges;

    /// Its bytes.
    fn to_bytes(&self) -> Vec<u8>;

    /// The committable in these bytes.
    ///
    /// # Errors
    /// When the version is unknown or the bytes are not what that version writes.
    fn from_bytes(version: u32, bytes: &[u8]) -> Result<Self, SinkStateError>;
}

/// Flink's `Committer`, cut where Flink's blocks: it asks, and later it is told the answer and signals.
pub trait Committer: Clone + Debug + Hash + Send + Sync + 'static {
    /// What a commit needs.
    type Committable: SinkCommittable;

    /// Asks for one store request for this committable, and must be safe to ask again; or asks for none, and signals at
    /// once what becomes of it.
    fn commit(&mut self, request: &mut CommitRequest<Self::Committable>, io: &mut SinkIo);

    /// The answer has come: signal on the request what it means; no signal means committed. Or ask for one more store
    /// request, where Flink's would go on with its dialogue inside the same `commit`: then nothing is signalled yet.
    fn answered(
        &mut self,
        request: &mut CommitRequest<Self::Committable>,
        answer: StoreAnswer,
        io: &mut SinkIo,
    );
}

/// The transaction a request is about, for sentences.
fn request_name(request: &StoreRequest) -> String {
    match request {
        StoreRequest::AppendIfAbsent { name, .. }
        | StoreRequest::Append { name, .. }
        | StoreRequest::Begin { name }
        | StoreRequest::Write { name, .. }
        | StoreRequest::Prepare { name, .. }
        | StoreRequest::Commit { name } => name.to_string(),
        StoreRequest::InitTransactions { writer, .. } => format!("writer {writer}"),
        StoreRequest::File(operation) => operation.path().to_owned(),
        StoreRequest::Table(operation) => operation.sentence(),
        StoreRequest::Snapshots(operation) => operation.sentence(),
        StoreRequest::Log(operation) => operation.sentence(),
    }
}
