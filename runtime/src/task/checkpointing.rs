//! A task's part of a checkpoint, in one order for every chain (FACT 58, 59):
//!
//! ```text
//! trigger N ▶ BarrierHandled · writer flush, prepare_commit ┆ TransactionPrepared · committables to the committer
//! · reader snapshot · writer snapshot · committer snapshot · acknowledgement       (┆ waits for the store)
//! ```
//! An exchange parts it: the task before it sends the barrier on, behind what its writer handed over, and takes its
//! snapshot; that behind it begins when the barrier has come through every channel.
//!
//! A trigger at or below the last one seen, or below an abort that overtook it, is ignored: triggers and notices
//! travel in different streams.

use super::Task;
use super::chain::Head;
use super::checkpoint_committer::CommitTurn;
use super::committable_collector::CommittableMessage;
use super::overtaken::HeldSnapshot;
use super::sink_writer_operator::PreparedMessages;
use super::source_operator::StopMode;
use super::status::TaskStatus;
use super::task_error::TaskError;
use crate::actor::Outbox;
use crate::api::source_state::{encode_reader_state, positions};
use crate::defects::Defect;
use crate::event::EventKind;
use crate::exchange::{OvertakenBuffers, encode_channel_state};
use crate::ids::{CheckpointId, TransactionName};
use crate::message::{CheckpointBarrier, JobManagerMessage, Notice, Stream, TaskSnapshot, Timer};
use std::sync::Arc;

/// What a task remembers of checkpoints.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CheckpointProgress {
    restored: Option<CheckpointId>,
    /// The transactions of the restored committables, until the writer is open.
    pub(super) kept_transactions: Vec<TransactionName>,
    /// The highest trigger seen.
    last_triggered: Option<CheckpointId>,
    /// The highest abort seen.
    last_aborted: Option<CheckpointId>,
    /// The last checkpoint that was acknowledged or declined.
    pub(super) last_answered: Option<CheckpointId>,
    /// The highest completion seen.
    pub(super) last_completed: Option<CheckpointId>,
    /// The savepoint with which the task is stopped.
    pub(super) stop: Option<CheckpointId>,
    /// The last savepoint of that kind that was triggered here, and whether it drains: its barrier says so.
    stop_triggered: Option<(CheckpointId, bool)>,
    /// What waits for the last barrier of its checkpoint.
    pub(super) held_snapshot: Option<HeldSnapshot>,
    /// It was stopped without a drain and has said so: it reads no more, and only waits for that savepoint.
    pub(super) stopped_reading: bool,
    /// The first checkpoint that began after the end of input: the task finishes when it or a later one is complete.
    pub(super) first_after_end: Option<CheckpointId>,
}

impl CheckpointProgress {
    /// Of a task that restores this checkpoint.
    #[must_use]
    pub fn new(restored: Option<CheckpointId>) -> Self {
        Self { restored, ..Self::default() }
    }

    /// The checkpoint that the task restores.
    #[must_use]
    pub const fn restored(&self) -> Option<CheckpointId> {
        self.restored
    }

    /// The task begins its part of a checkpoint.
    pub(super) fn triggered(&mut self, checkpoint: CheckpointId) {
        debug_assert!(self.last_aborted < Some(checkpoint), "an aborted checkpoint does not begin");
        self.last_triggered = self.last_triggered.max(Some(checkpoint));
    }

    /// No checkpoint follows the savepoint that ends the job, unless that was given up and its notice got lost. A source
    /// that has stopped for it never reads the rest of its splits: it must not take part, and finish with the next one.
    fn goes_on_after_stop(&self, next: CheckpointId) -> Result<(), TaskError> {
        match self.stop {
            Some(savepoint) if savepoint < next => Err(TaskError::StopFailed(savepoint)),
            _ => Ok(()),
        }
    }

    /// This savepoint ends the job: the barriers that the task sends say so.
    pub(super) const fn stop_passes_on(&mut self, savepoint: CheckpointId, drain: bool) {
        self.stop_triggered = Some((savepoint, drain));
    }

    fn barrier_of(&self, checkpoint: CheckpointId, unaligned: bool) -> CheckpointBarrier {
        let stop = self.stop_triggered.filter(|(savepoint, _)| *savepoint == checkpoint);
        let stop = stop.map(|(_, drain)| drain);
        CheckpointBarrier { checkpoint, stop, unaligned: unaligned && stop.is_none() }
    }

    /// Whether a trigger comes too late to be answered.
    fn is_stale(&self, checkpoint: CheckpointId) -> bool {
        let seen = self.last_triggered.max(self.last_aborted).max(self.restored);
        seen.is_some_and(|seen| checkpoint <= seen)
    }
}

impl Task {
    /// A trigger.
    pub(super) fn trigger_checkpoint(
        &mut self,
        checkpoint: CheckpointId,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        if self.progress.is_stale(checkpoint) {
            tracing::debug!(attempt = %self.descriptor.attempt, %checkpoint, "stale trigger ignored");
            return Ok(());
        }
        self.progress.goes_on_after_stop(checkpoint)?;
        self.progress.triggered(checkpoint);
        if self.status.is_initializing() {
            self.decline(checkpoint, "it is not running yet", outbox);
            return Ok(());
        }
        debug_assert_eq!(self.status, TaskStatus::Running, "triggers wait while the task waits");
        let barrier = self.progress.barrier_of(checkpoint, false);
        if let Head::Gate(gate) = &mut self.head {
            let verdict = gate.trigger(barrier);
            return self.pass_barrier(verdict, outbox);
        }
        if let Some(stall_ns) = self.user_code.stalls_at(checkpoint) {
            self.status = TaskStatus::Stalling(checkpoint);
            outbox.set_timer(Timer::UserCodeStall, stall_ns);
            return Ok(());
        }
        self.begin_checkpoint(checkpoint, outbox)
    }

    /// The savepoint after which the job ends. With a drain everything that was read is flushed first, as at the end of the
    /// input; without one the task stops where it stands, and its next life goes on from there.
    pub(super) fn trigger_stop(
        &mut self,
        checkpoint: CheckpointId,
        drain: bool,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        self.progress.stop_passes_on(checkpoint, drain);
        let Head::Source(source) = &mut self.head else {
            return self.trigger_checkpoint(checkpoint, outbox);
        };
        if self.progress.is_stale(checkpoint) || self.status.is_initializing() || self.input_ended {
            return self.trigger_checkpoint(checkpoint, outbox);
        }
        self.progress.goes_on_after_stop(checkpoint)?;
        self.progress.triggered(checkpoint);
        self.progress.stop = Some(checkpoint);
        if drain {
            // The barrier follows the end of data.
            source.stop(StopMode::Drain);
            return Ok(());
        }
        source.stop(StopMode::NoDrain);
        self.begin_checkpoint(checkpoint, outbox)
    }

    /// User code goes on: the barrier that it held up passes.
    pub(super) fn stall_over(&mut self, outbox: &mut Outbox) -> Result<(), TaskError> {
        let TaskStatus::Stalling(checkpoint) = self.status else { return Ok(()) };
        self.status = TaskStatus::Running;
        self.begin_checkpoint(checkpoint, outbox)
    }

    pub(super) fn begin_checkpoint(
        &mut self,
        checkpoint: CheckpointId,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        debug_assert_eq!(self.status, TaskStatus::Running, "nothing else is under way");
        outbox.emit(EventKind::BarrierHandled { checkpoint });
        if self.input_ended {
            self.progress.first_after_end.get_or_insert(checkpoint);
        }
        let Some(writer) = &mut self.tail.writer else { return self.pass_on(checkpoint, outbox) };
        if !writer.prepare_snapshot_pre_barrier(checkpoint, &mut self.store, outbox) {
            return self.pass_on(checkpoint, outbox);
        }
        self.status = TaskStatus::PreparingCheckpoint(checkpoint);
        if writer.is_idle() { self.prepared_checkpoint(checkpoint, outbox) } else { Ok(()) }
    }

    /// The pre-barrier part is over, or there is none: the barrier goes on, and the snapshot is taken.
    fn pass_on(&mut self, checkpoint: CheckpointId, outbox: &mut Outbox) -> Result<(), TaskError> {
        let unaligned = self.descriptor.produces.as_ref().is_some_and(|end| end.unaligned);
        let barrier = self.progress.barrier_of(checkpoint, unaligned);
        let channels = self.tail.channels.as_mut();
        let overtaken = channels.map(|channels| channels.send_barrier(barrier, outbox));
        self.snapshot(checkpoint, &overtaken.unwrap_or_default(), outbox)
    }

    pub(super) fn decline(&mut self, checkpoint: CheckpointId, why: &str, outbox: &mut Outbox) {
        debug_assert!(self.progress.last_answered < Some(checkpoint), "each checkpoint is answered once");
        self.progress.last_answered = Some(checkpoint);
        let attempt = self.descriptor.attempt;
        let reason = why.to_owned();
        let message = JobManagerMessage::DeclineCheckpoint { attempt, checkpoint, reason };
        self.tell_job_manager(Stream::Acknowledgements(attempt), message, None, outbox);
    }

    /// The pre-barrier part is settled.
    pub(super) fn prepared_checkpoint(
        &mut self,
        checkpoint: CheckpointId,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        debug_assert_eq!(self.status, TaskStatus::PreparingCheckpoint(checkpoint));
        let prepared = self.tail.writer_mut().take_prepared();
        self.status = TaskStatus::Running;
        self.hand_over(prepared, false, outbox)?;
        self.pass_on(checkpoint, outbox)
    }

    /// Tells of a settled `prepare_commit` and hands its committables to the committer, summary first (FACT 59, 64).
    pub(super) fn hand_over(
        &mut self,
        prepared: PreparedMessages,
        end_of_input: bool,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        let PreparedMessages { transactions, records, checkpoint, messages } = prepared;
        debug_assert_eq!(messages.len() == 1, records.is_empty(), "an empty transaction has no committable");
        for (transaction, records) in transactions {
            debug_assert!(
                transaction.number <= checkpoint,
                "{transaction} exceeds {checkpoint}, which carries it"
            );
            outbox.emit(EventKind::TransactionPrepared { transaction, records, end_of_input });
        }
        self.user_code.prepared(&records, outbox)?;
        self.collect(messages, outbox)
    }

    /// Committables reach what comes next in the chain: the committer, or the channels to others' committers.
    pub(super) fn collect(
        &mut self,
        messages: Vec<CommittableMessage>,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        debug_assert!(!messages.is_empty(), "a summary comes also when nothing follows it");
        match (&mut self.tail.committer, &mut self.tail.channels) {
            (Some(committer), _) => {
                let turn = &mut CommitTurn { store: &mut self.store, outbox, emit: &mut |_| {} };
                messages.into_iter().try_for_each(|message| committer.process(message, turn))
            }
            (None, Some(channels)) => {
                channels.emit_committables(messages, outbox);
                Ok(())
            }
            (None, None) => unreachable!("a sink with committables has committers"),
        }
    }

    /// The snapshots; those of a task before an exchange hold what its barrier overtook.
    fn snapshot(
        &mut self,
        checkpoint: CheckpointId,
        overtaken: &OvertakenBuffers,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        debug_assert!(self.progress.last_answered < Some(checkpoint), "each checkpoint is answered once");
        let mut snapshot =
            TaskSnapshot { channels: encode_channel_state(overtaken), ..TaskSnapshot::default() };
        if let Head::Source(source) = &mut self.head {
            let splits = source.snapshot_state(checkpoint);
            outbox.emit(EventKind::ReaderSnapshotTaken { checkpoint, splits: positions(&splits) });
            self.user_code.reader_snapshot(checkpoint, outbox)?;
            snapshot.reader = encode_reader_state(&splits);
        }
        if let Some(operator) = &self.coordinated {
            snapshot.coordinated = operator.snapshot_state();
        }
        if let Some(writer) = &mut self.tail.writer {
            debug_assert!(writer.is_idle(), "nothing of the writer is under way at the barrier");
            snapshot.writer = writer.snapshot_state(checkpoint);
        }
        if let Some(committer) = &self.tail.committer {
            snapshot.committer = committer.snapshot_state();
        }
        self.add_channels(checkpoint, snapshot, outbox)
    }

    /// The task's part of a checkpoint is done.
    pub(super) fn acknowledge(
        &mut self,
        checkpoint: CheckpointId,
        snapshot: TaskSnapshot,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        let snapshot = Arc::new(snapshot);
        self.progress.last_answered = Some(checkpoint);
        let attempt = self.descriptor.attempt;
        let message = JobManagerMessage::AcknowledgeCheckpoint { attempt, checkpoint, snapshot };
        self.tell_job_manager(Stream::Acknowledgements(attempt), message, None, outbox);
        self.user_code.acknowledged(checkpoint, outbox)?;
        if self.descriptor.defects.has(Defect::CommitBeforeComplete) && self.tail.committer.is_some() {
            return self.commit(Some(checkpoint), None, outbox);
        }
        Ok(())
    }

    /// An abort: the committables stay and ride on the next completed checkpoint (FACT 66).
    ///
    /// # Errors
    /// When it is the savepoint with which the task was to stop: it has stopped reading, so only a restart helps.
    pub(super) fn notify_checkpoint_aborted(
        &mut self,
        notice: Notice,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        let Notice { checkpoint, addressee, epoch } = notice;
        debug_assert_eq!(self.status, TaskStatus::Running, "notices wait while the task waits");
        outbox.emit(EventKind::AbortNoticed { checkpoint, addressee, epoch });
        self.progress.last_aborted = self.progress.last_aborted.max(Some(checkpoint));
        match &mut self.head {
            Head::Source(source) => source.notify_checkpoint_aborted(checkpoint),
            Head::Gate(gate) => {
                gate.aborted(checkpoint);
                self.drop_held_snapshot(checkpoint);
            }
        }
        if self.progress.stop == Some(checkpoint) {
            return Err(TaskError::StopFailed(checkpoint));
        }
        Ok(())
    }
}
