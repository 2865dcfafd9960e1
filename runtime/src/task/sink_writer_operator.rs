//! The sink writer behind its port, and the lane of its requests to the store.
//!
//! One request is under way at a time: the store sees a writer's requests in their order, and one of unknown outcome
//! is asked again before the next goes out. Records are taken while the lane is busy, as an asynchronous client does
//! it; past [`QUEUED_REQUESTS_MAX`] the default action is suspended (back-pressure), and before a barrier the task
//! waits until the lane is empty.

use super::store_client::StoreClient;
use super::task_error::TaskError;
use crate::actor::Outbox;
use crate::api::sink::{PreparedCommit, SinkIo, StoreAnswer, WriterPort, WriterVerdict};
use crate::ids::{CallId, CheckpointId, TransactionName};
use crate::message::StoreRequest;
use crate::records::Record;

/// How many requests may wait behind the one under way before the reader is not polled any more.
pub const QUEUED_REQUESTS_MAX: usize = 4;

/// Flink's `SinkWriterOperator`.
#[derive(Clone, Hash, Debug)]
pub struct SinkWriterOperator {
    writer: Box<dyn WriterPort>,
    /// The transaction that the next record goes into; read off the writer once per `prepare_commit`.
    transaction: TransactionName,
    io: SinkIo,
    under_way: Option<(CallId, StoreRequest)>,
    /// What the last `prepare_commit` gave, until its requests are settled.
    prepared: Option<PreparedCommit>,
}

impl SinkWriterOperator {
    /// Around this writer.
    #[must_use]
    pub fn new(writer: Box<dyn WriterPort>) -> Self {
        let transaction = writer.transaction();
        Self { writer, transaction, io: SinkIo::default(), under_way: None, prepared: None }
    }

    /// The transaction that the next record goes into.
    #[must_use]
    pub const fn transaction(&self) -> TransactionName {
        self.transaction
    }

    /// Whether all its requests are settled.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.under_way.is_none() && self.io.is_empty()
    }

    /// Whether it takes records now.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.io.len() <= QUEUED_REQUESTS_MAX
    }

    /// Opens the writer; `keep` names what the restored checkpoint holds.
    pub fn open(&mut self, keep: &[TransactionName], store: &mut StoreClient, outbox: &mut Outbox) {
        debug_assert!(self.is_idle(), "open comes first");
        self.writer.open(keep, &mut self.io);
        self.pump(store, outbox);
    }

    /// Takes all the records.
    pub fn write(&mut self, records: &mut Vec<Record>, store: &mut StoreClient, outbox: &mut Outbox) {
        debug_assert!(self.prepared.is_none(), "no record comes between prepare_commit and the barrier");
        self.writer.write(records, &mut self.io);
        self.pump(store, outbox);
        debug_assert!(records.is_empty(), "the writer takes every record");
    }

    /// `flush` and `prepare_commit` (FACT 59, 60); the outcome is there once the operator is idle.
    pub fn flush_and_prepare(&mut self, end_of_input: bool, store: &mut StoreClient, outbox: &mut Outbox) {
        debug_assert!(self.prepared.is_none(), "one prepare_commit at a time");
        self.writer.flush(end_of_input, &mut self.io);
        let prepared = self.writer.prepare_commit(&mut self.io);
        debug_assert_eq!(
            prepared.transaction, self.transaction,
            "the transaction that took the records ended"
        );
        self.prepared = Some(prepared);
        self.transaction = self.writer.transaction();
        self.pump(store, outbox);
    }

    /// What the last `prepare_commit` gave, once its requests are settled.
    #[must_use]
    pub fn take_prepared(&mut self) -> PreparedCommit {
        debug_assert!(self.is_idle(), "what is prepared counts only once it is settled");
        self.prepared.take().expect("prepare_commit ran before")
    }

    /// The writer's state.
    pub fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<u8> {
        debug_assert!(self.prepared.is_none(), "the committables went on before the snapshot");
        self.writer.snapshot_state(checkpoint)
    }

    /// Whether it waits for this call.
    #[must_use]
    pub fn awaits(&self, call: CallId) -> bool {
        self.under_way.as_ref().is_some_and(|(awaited, _)| *awaited == call)
    }

    /// The awaited call is answered, or its time is over.
    ///
    /// # Errors
    /// When the writer cannot go on.
    pub fn answered(
        &mut self,
        answer: StoreAnswer,
        store: &mut StoreClient,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        let (call, request) = self.under_way.take().expect("a call is under way");
        match self.writer.answered(&request, answer) {
            WriterVerdict::Settled => self.pump(store, outbox),
            WriterVerdict::AskAgain => {
                let again = store.ask(request.clone(), None, outbox);
                debug_assert!(again > call, "a repeated call has a new number");
                self.under_way = Some((again, request));
            }
            WriterVerdict::Failed(cause) => return Err(TaskError::Writer(cause)),
        }
        Ok(())
    }

    /// What it waits for, as a sentence's end.
    #[must_use]
    pub fn waiting_for(&self) -> Option<String> {
        let (call, request) = self.under_way.as_ref()?;
        Some(match request {
            StoreRequest::InitTransactions { .. } => format!("recover the writer's transactions ({call})"),
            StoreRequest::Begin { name } => format!("begin {name} ({call})"),
            StoreRequest::Write { name, index, .. } => format!("write {index} of {name} ({call})"),
            StoreRequest::Prepare { name, .. } => format!("prepare {name} ({call})"),
            StoreRequest::AppendIfAbsent { name, .. }
            | StoreRequest::Append { name, .. }
            | StoreRequest::Commit { name } => format!("commit {name} ({call})"),
        })
    }

    fn pump(&mut self, store: &mut StoreClient, outbox: &mut Outbox) {
        if self.under_way.is_none()
            && let Some(request) = self.io.next_request()
        {
            let call = store.ask(request.clone(), None, outbox);
            self.under_way = Some((call, request));
        }
    }
}
