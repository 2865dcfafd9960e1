//! A task behind an exchange: what it takes out of its channels.

use super::Task;
use super::chain::Head;
use super::status::TaskStatus;
use super::task_error::TaskError;
use super::user_code::UserCode;
use crate::actor::Outbox;
use crate::event::EventKind;
use crate::exchange::{BarrierVerdict, GateEvent, InputGate};
use crate::message::{ChannelElement, CheckpointBarrier};
use crate::records::{Record, RecordRanges};

impl Task {
    /// Polls the gate once.
    pub(super) fn poll_gate(&mut self, outbox: &mut Outbox) -> Result<(), TaskError> {
        debug_assert!(self.can_poll(), "the default action is suspended");
        match self.gate_mut().poll(outbox) {
            GateEvent::Nothing => Ok(()),
            GateEvent::Records(records) => self.write_received(records, outbox),
            GateEvent::Committables(messages) => self.collect(messages, outbox),
            GateEvent::Barrier(verdict) => self.pass_barrier(verdict, outbox),
            GateEvent::EndOfData { drain: true } => self.end_input(outbox),
            // Stopped where it stands: nothing is flushed, and its savepoint ends the task.
            GateEvent::EndOfData { drain: false } => {
                self.tail.broadcast(&ChannelElement::EndOfData { drain: false }, outbox);
                Ok(())
            }
            GateEvent::EndOfInput => {
                self.finish_if_due(outbox);
                Ok(())
            }
        }
    }

    fn gate_mut(&mut self) -> &mut InputGate {
        match &mut self.head {
            Head::Gate(gate) => gate,
            Head::Source(_) => unreachable!("a task with a reader has no channels into it"),
        }
    }

    /// One buffer into the writer. An exception at record k leaves those up to it written.
    fn write_received(&mut self, mut records: Vec<Record>, outbox: &mut Outbox) -> Result<(), TaskError> {
        let cut = self.user_code.cut(&records);
        if let Some((count, _)) = cut {
            records.truncate(count);
        }
        let writer = self.tail.writer_mut();
        let transaction = writer.transaction();
        let ranges: RecordRanges = records.iter().collect();
        debug_assert_eq!(ranges.len(), records.len() as u64, "a buffer holds each record once");
        for range in ranges.ranges() {
            outbox.emit(EventKind::RecordsWritten { transaction, range: *range });
        }
        writer.write(&mut records, &mut self.store, outbox)?;
        match cut {
            Some((_, failure)) => Err(UserCode::throw(failure, outbox)),
            None => Ok(()),
        }
    }

    /// The gate has given a checkpoint up, or one begins, or every channel has delivered its barrier.
    pub(super) fn pass_barrier(
        &mut self,
        verdict: BarrierVerdict,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        debug_assert_eq!(self.status, TaskStatus::Running, "a task that waits takes nothing");
        if let Some(checkpoint) = verdict.given_up {
            self.drop_held_snapshot(checkpoint);
            self.decline(checkpoint, "a newer barrier came before all of this one's", outbox);
        }
        if let Some(CheckpointBarrier { checkpoint, stop, .. }) = verdict.begins {
            self.progress.triggered(checkpoint);
            if let Some(drain) = stop {
                self.progress.stop_passes_on(checkpoint, drain);
                if !self.input_ended {
                    self.progress.stop = Some(checkpoint);
                }
            }
            self.begin_checkpoint(checkpoint, outbox)?;
        }
        match verdict.aligned {
            Some(barrier) => self.channels_captured(barrier.checkpoint, outbox),
            None => Ok(()),
        }
    }
}
