//! From deployment to RUNNING, tail of the chain first (FACT 51, 63).
//!
//! ```text
//! INITIALIZING · committer created, commits again ┆ writer created, opens ┆ state restored · splits · registration
//! · reader started · RUNNING          (┆ waits for the store)
//! ```
//! Each task does its part of it. One before an exchange of records has no committer and no writer; one behind an exchange
//! asks its producers to open their channels where the other registers its reader and starts it. Where an exchange parts
//! committers from their writers, nothing says which of them comes first: what others' committers hold, a writer knows from
//! its deployment.

use super::Task;
use super::chain::Head;
use super::checkpoint_committer::{CommitProgress, CommitTurn};
use super::status::TaskStatus;
use super::task_error::TaskError;
use crate::actor::Outbox;
use crate::api::source_state::{decode_reader_state, positions};
use crate::defects::Defect;
use crate::event::EventKind;
use crate::message::{ExecutionState, JobManagerMessage, Message, Stream};

impl Task {
    /// The first turn.
    pub(super) fn initialize(&mut self, outbox: &mut Outbox) -> Result<(), TaskError> {
        debug_assert_eq!(self.status, TaskStatus::Created, "a task initialises once");
        tracing::debug!(attempt = %self.descriptor.attempt, "task initialising");
        self.tell_state(ExecutionState::Initializing, outbox);
        if let Some(state) = &self.descriptor.restored {
            self.progress.kept_transactions.clone_from(&state.held_elsewhere);
        }
        let Some(committer) = &mut self.tail.committer else { return self.open_writer(outbox) };
        self.status = TaskStatus::Recommitting;
        let restored = self.progress.restored();
        outbox.emit(EventKind::CommitterCreated { restored });
        if let Some(state) = &self.descriptor.restored {
            committer.restore(&state.snapshot.committer)?;
        }
        self.progress.kept_transactions.extend(committer.transactions());
        if self.descriptor.defects.has(Defect::RestoredNotRecommitted) {
            committer.drop_restored();
        }
        let Some(checkpoint) = restored else { return self.open_writer(outbox) };
        let turn = &mut CommitTurn { store: &mut self.store, outbox, emit: &mut |_| {} };
        match committer.recommit(checkpoint, turn)? {
            CommitProgress::Settled => self.recommitted(outbox),
            CommitProgress::Waiting => Ok(()),
        }
    }

    /// What the restored checkpoint holds is committed.
    pub(super) fn recommitted(&mut self, outbox: &mut Outbox) -> Result<(), TaskError> {
        debug_assert_eq!(self.status, TaskStatus::Recommitting);
        let checkpoint = self.progress.restored().expect("only a restored task commits again");
        outbox.emit(EventKind::CommitsSettled { checkpoint });
        self.open_writer(outbox)
    }

    fn open_writer(&mut self, outbox: &mut Outbox) -> Result<(), TaskError> {
        let committer = self.tail.committer.as_ref();
        let is_settled = committer.is_none_or(|committer| committer.waiting_for().is_none());
        debug_assert!(is_settled, "the committer comes before the writer (FACT 63)");
        self.status = TaskStatus::OpeningWriter;
        let Some(writer) = &mut self.tail.writer else { return self.start(outbox) };
        outbox.emit(EventKind::WriterCreated { restored: self.progress.restored() });
        let keep = std::mem::take(&mut self.progress.kept_transactions);
        if let Some(state) = &self.descriptor.restored {
            writer.restore(&state.snapshot.writer)?;
        }
        writer.open(&keep, &mut self.store, outbox);
        if writer.is_idle() { self.start(outbox) } else { Ok(()) }
    }

    /// The writer, if there is one, is open: restore the rest, start the other end of the chain, run.
    pub(super) fn start(&mut self, outbox: &mut Outbox) -> Result<(), TaskError> {
        debug_assert_eq!(self.status, TaskStatus::OpeningWriter);
        self.restore_channels()?;
        if let Head::Gate(gate) = &mut self.head {
            self.descriptor.restored = None;
            outbox.emit(EventKind::TaskRestored { checkpoint: self.progress.restored() });
            gate.open(outbox);
        } else {
            self.start_reader(outbox)?;
        }
        self.status = TaskStatus::Running;
        self.set_writer_timer(outbox);
        self.tell_state(ExecutionState::Running, outbox);
        Ok(())
    }

    /// Restores what belongs to the reader, registers and starts it.
    fn start_reader(&mut self, outbox: &mut Outbox) -> Result<(), TaskError> {
        let snapshot = self.descriptor.restored.take().map(|state| state.snapshot).unwrap_or_default();
        let splits = decode_reader_state(&snapshot.reader)?;
        if let Some(operator) = &mut self.coordinated {
            operator.restore(&snapshot.coordinated)?;
        }
        outbox.emit(EventKind::TaskRestored { checkpoint: self.progress.restored() });
        // Restored splits stay with their reader, or travel in its registration and come back as assignments (FACT 53).
        let source = self.head.source_mut();
        let restored = if source.reassigns_on_recovery() { Vec::new() } else { positions(&splits) };
        for split in &restored {
            outbox.emit(EventKind::SplitRestored { split: *split });
        }
        let attempt = self.descriptor.attempt;
        let descriptor = &self.descriptor;
        source.open(splits, &mut |event| {
            let message = JobManagerMessage::OperatorEvent { attempt, operator: attempt.vertex, event };
            let message = Message::JobManager { epoch: descriptor.leader_epoch, message };
            outbox.send(descriptor.job_manager, Stream::SubtaskEvents(attempt), message);
        });
        outbox.emit(EventKind::ReaderStarted { splits: restored });
        self.apply_reader_context(outbox);
        Ok(())
    }
}
