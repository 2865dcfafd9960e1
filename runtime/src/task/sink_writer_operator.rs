//! The sink writer behind its port, and the lane of its requests to the store.
//!
//! One request is under way at a time: the store sees a writer's requests in their order, and one of unknown outcome
//! is asked again before the next goes out. Records are taken while the lane is busy, as an asynchronous client does
//! it; past [`QUEUED_REQUESTS_MAX`] the default action is suspended (back-pressure), and before a barrier the task
//! waits until the lane is empty.
//!
//! What a `prepare_commit` gave leaves the operator as messages for a committer, the summary first, under the number of the
//! checkpoint whose barrier follows, or, at the end of the input, one above the last (FACTS 59, 60).

use super::committable_collector::{CommittableMessage, CommittableSummary, CommittableWithLineage};
use super::store_client::StoreClient;
use super::task_error::TaskError;
use crate::actor::Outbox;
use crate::api::sink::{PreparedCommit, SinkIo, StoreAnswer, WriterPort, WriterVerdict};
use crate::ids::{CallId, CheckpointId, SubtaskIndex, TransactionName};
use crate::message::StoreRequest;
use crate::records::{Record, RecordRanges};

/// How many requests may wait behind the one under way before the reader is not polled any more.
pub const QUEUED_REQUESTS_MAX: usize = 4;

/// What a settled `prepare_commit` gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreparedMessages {
    /// The transactions that ended, each with its records; one without records when nothing did.
    pub transactions: Vec<(TransactionName, RecordRanges)>,
    /// All their records.
    pub records: RecordRanges,
    /// The checkpoint under which its committables go.
    pub checkpoint: CheckpointId,
    /// The summary, also when nothing follows it, and the committables.
    pub messages: Vec<CommittableMessage>,
}

/// Flink's `SinkWriterOperator`.
#[derive(Clone, Hash, Debug)]
pub struct SinkWriterOperator {
    writer: Box<dyn WriterPort>,
    /// The transaction that the next record goes into; read off the writer once per `prepare_commit`.
    transaction: TransactionName,
    io: SinkIo,
    subtask: SubtaskIndex,
    parallelism: u32,
    /// The last checkpoint with a `prepare_commit`, or the restored one.
    last_known: Option<CheckpointId>,
    /// A number under which everything goes that comes at the end of the input. Only a defective task has one.
    magic_id: Option<CheckpointId>,
    input_ended: bool,
    under_way: Option<(CallId, StoreRequest)>,
    /// What the last `prepare_commit` gave, and for which checkpoint, until its requests are settled.
    prepared: Option<(CheckpointId, PreparedCommit)>,
}

impl SinkWriterOperator {
    /// Around this writer, in a subtask among so many that restores this checkpoint.
    #[must_use]
    pub fn new(
        writer: Box<dyn WriterPort>,
        (subtask, parallelism): (SubtaskIndex, u32),
        restored: Option<CheckpointId>,
    ) -> Self {
        let transaction = writer.transaction();
        Self {
            writer,
            transaction,
            io: SinkIo::default(),
            subtask,
            parallelism,
            last_known: restored,
            magic_id: None,
            input_ended: false,
            under_way: None,
            prepared: None,
        }
    }

    /// The same, and what comes at the end of the input goes under this number, however often that end comes.
    #[must_use]
    pub fn ending_under(self, magic_id: Option<CheckpointId>) -> Self {
        Self { magic_id, ..self }
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

    /// What the clock of the process shows from here on.
    pub const fn set_processing_time_ms(&mut self, now_ms: u64) {
        self.io.set_processing_time_ms(now_ms);
    }

    /// In how many milliseconds the writer wants to be woken; never once its input has ended.
    #[must_use]
    pub fn wake_after_ms(&self) -> Option<u64> {
        let wake_at_ms = self.writer.wake_at_ms().filter(|_| !self.input_ended)?;
        Some(wake_at_ms.saturating_sub(self.io.processing_time_ms()))
    }

    /// Wakes the writer, unless its time is still to come.
    pub fn on_processing_time(&mut self, store: &mut StoreClient, outbox: &mut Outbox) {
        debug_assert!(self.prepared.is_none(), "the task waits for what is prepared");
        if self.wake_after_ms() == Some(0) {
            self.writer.on_processing_time(&mut self.io);
            self.pump(store, outbox);
        }
    }

    /// Restores the writer's state.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn restore(&mut self, state: &[u8]) -> Result<(), TaskError> {
        debug_assert!(self.is_idle(), "state comes first");
        Ok(self.writer.restore_state(state)?)
    }

    /// Opens the writer; `keep` names what the restored checkpoint holds.
    pub fn open(&mut self, keep: &[TransactionName], store: &mut StoreClient, outbox: &mut Outbox) {
        debug_assert!(self.is_idle(), "open comes first");
        self.writer.open(keep, &mut self.io);
        self.pump(store, outbox);
    }

    /// Takes all the records.
    ///
    /// # Errors
    /// When the input has ended (FACT 62).
    pub fn write(
        &mut self,
        records: &mut Vec<Record>,
        store: &mut StoreClient,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        if self.input_ended {
            return Err(TaskError::RecordAfterEnd);
        }
        debug_assert!(self.prepared.is_none(), "no record comes between prepare_commit and the barrier");
        self.writer.write(records, &mut self.io);
        self.pump(store, outbox);
        debug_assert!(records.is_empty(), "the writer takes every record");
        Ok(())
    }

    /// `prepareSnapshotPreBarrier`: `flush` and `prepare_commit` (FACT 59); the outcome is there once the operator is idle.
    /// After the end of the input there is nothing to prepare (FACT 60): false.
    pub fn prepare_snapshot_pre_barrier(
        &mut self,
        checkpoint: CheckpointId,
        store: &mut StoreClient,
        outbox: &mut Outbox,
    ) -> bool {
        if self.input_ended {
            return false;
        }
        self.last_known = Some(checkpoint);
        self.flush_and_prepare(checkpoint, store, outbox);
        true
    }

    /// The last `flush` and `prepare_commit`. What it gives goes under the number after the last one known, which may
    /// lie below the checkpoint that commits it in the end, never above (FACTS 60, 61).
    pub fn end_input(&mut self, store: &mut StoreClient, outbox: &mut Outbox) {
        self.input_ended = true;
        let next = self.last_known.unwrap_or_default().next();
        self.flush_and_prepare(self.magic_id.unwrap_or(next), store, outbox);
    }

    fn flush_and_prepare(&mut self, checkpoint: CheckpointId, store: &mut StoreClient, outbox: &mut Outbox) {
        debug_assert!(self.prepared.is_none(), "one prepare_commit at a time");
        self.writer.flush(self.input_ended, &mut self.io);
        let prepared = self.writer.prepare_commit(&mut self.io);
        debug_assert_eq!(
            prepared.transaction, self.transaction,
            "the transaction that took the records ended"
        );
        self.prepared = Some((checkpoint, prepared));
        self.transaction = self.writer.transaction();
        self.pump(store, outbox);
    }

    /// What the last `prepare_commit` gave, once its requests are settled.
    #[must_use]
    pub fn take_prepared(&mut self) -> PreparedMessages {
        debug_assert!(self.is_idle(), "what is prepared counts only once it is settled");
        let (checkpoint, prepared) = self.prepared.take().expect("prepare_commit ran before");
        let PreparedCommit { transaction, records, committables } = prepared;
        let mut transactions: Vec<_> =
            committables.iter().map(|held| (held.payload.transaction, held.records.clone())).collect();
        if transactions.is_empty() {
            transactions.push((transaction, RecordRanges::new()));
        }
        let subtask = self.subtask;
        let summary = CommittableMessage::Summary(CommittableSummary {
            subtask,
            number_of_subtasks: self.parallelism,
            checkpoint,
            committables: committables.len() as u32,
            failed: 0,
        });
        let committables = committables.into_iter().map(|committable| {
            CommittableMessage::Committable(CommittableWithLineage { committable, checkpoint, subtask })
        });
        let messages = std::iter::once(summary).chain(committables).collect();
        PreparedMessages { transactions, records, checkpoint, messages }
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
        match self.writer.answered(&request, answer, &mut self.io) {
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
            StoreRequest::File(operation) => format!("{} ({call})", operation.sentence()),
            StoreRequest::Table(operation) => format!("{} ({call})", operation.sentence()),
            StoreRequest::Snapshots(operation) => format!("{} ({call})", operation.sentence()),
            StoreRequest::Log(operation) => format!("{} ({call})", operation.sentence()),
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
