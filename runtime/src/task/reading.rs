//! The default action, and what coordinators send.

use super::Task;
use super::chain::Tail;
use super::source_operator::{DataInputStatus, OperatingMode};
use super::status::TaskStatus;
use super::task_error::TaskError;
use super::user_code::UserCode;
use crate::actor::{Outbox, TurnDecision};
use crate::api::source_state::positions;
use crate::event::EventKind;
use crate::ids::{OperatorEventId, OperatorUid};
use crate::message::{ChannelElement, JobManagerMessage, OperatorEvent, Stream, Timer};
use crate::records::{OffsetRange, Record};

impl Task {
    /// Polls the reader once and sends what it gives down the chain.
    pub(super) fn poll(&mut self, decision: TurnDecision, outbox: &mut Outbox) -> Result<(), TaskError> {
        debug_assert!(self.can_poll(), "the default action is suspended");
        let source = self.head.source_mut();
        let is_first = source.mode() == OperatingMode::OutputNotInitialized;
        let status = source.emit_next(decision.batch_size_max)?;
        let mut records = source.take_records();
        let outcome = if records.is_empty() { Ok(()) } else { self.process(&mut records, outbox) };
        self.head.source_mut().give_back(records);
        outcome?;
        if is_first {
            self.set_report_timer(outbox);
        }
        self.apply_reader_context(outbox);
        match status {
            DataInputStatus::MoreAvailable | DataInputStatus::NothingAvailable => Ok(()),
            DataInputStatus::EndOfData => self.end_input(outbox),
            DataInputStatus::Stopped | DataInputStatus::EndOfInput => {
                debug_assert!(self.progress.stop.is_some(), "{status:?}: an ended source is not polled");
                self.progress.stopped_reading = true;
                self.tail.broadcast(&ChannelElement::EndOfData { drain: false }, outbox);
                Ok(())
            }
        }
    }

    /// Reader -> map -> writer, or into the channels, for one batch. An exception at record k leaves those before it
    /// emitted and written.
    fn process(&mut self, records: &mut Vec<Record>, outbox: &mut Outbox) -> Result<(), TaskError> {
        debug_assert!(!records.is_empty());
        let cut = self.user_code.cut(records);
        if let Some((count, _)) = cut {
            records.truncate(count);
        }
        if let Some(first) = records.first() {
            let (split, start) = (first.split, first.offset);
            let range = OffsetRange { split, start, end: start + records.len() as u64 };
            outbox.emit(EventKind::RecordsEmitted { range });
            let Tail { writer, channels, .. } = &mut self.tail;
            self.map.process(records, writer.as_ref().map(|writer| writer.transaction()), outbox);
            match (writer, channels) {
                (Some(writer), _) => writer.write(records, &mut self.store, outbox)?,
                (None, Some(channels)) => channels.emit(records, outbox),
                (None, None) => unreachable!("records go to a writer or into channels"),
            }
        }
        match cut {
            Some((_, failure)) => Err(UserCode::throw(failure, outbox)),
            None => Ok(()),
        }
    }

    fn set_report_timer(&self, outbox: &mut Outbox) {
        if let Some(period_ns) = self.head.source().report_period_ns() {
            outbox.set_timer(Timer::WatermarkReport, period_ns);
        }
    }

    /// The source reports its watermark, also while it waits and after its end: until the task ends.
    pub(super) fn report_watermark(&mut self, outbox: &mut Outbox) {
        debug_assert_eq!(self.status, TaskStatus::Running, "a busy thread fires no timer");
        self.head.source_mut().report_watermark();
        self.set_report_timer(outbox);
        self.apply_reader_context(outbox);
    }

    /// Does what the reader asked for in its last call, and tells what its alignment did.
    pub(super) fn apply_reader_context(&mut self, outbox: &mut Outbox) {
        let source = self.head.source_mut();
        source.take_alignment_notes().into_iter().for_each(|note| outbox.emit(note));
        let context = source.context();
        for split in context.finished.drain(..) {
            outbox.emit(EventKind::SplitFinished { split });
        }
        if let Some(after_ns) = context.wake_after_ns.take() {
            outbox.set_timer(Timer::ReaderWake, after_ns);
        }
        if let Some(after_ns) = context.blocked_for_ns.take() {
            debug_assert_eq!(self.status, TaskStatus::Running, "only a poll blocks");
            self.status = TaskStatus::BlockedInPoll;
            outbox.set_timer(Timer::ReaderWake, after_ns);
        }
        if !context.fetching.is_empty() {
            let notes = std::mem::take(&mut context.fetching);
            Self::tell_of_fetching(notes, outbox);
        }
        if context.events.is_empty() {
            return;
        }
        let attempt = self.descriptor.attempt;
        for event in std::mem::take(&mut context.events) {
            let message = JobManagerMessage::OperatorEvent { attempt, operator: attempt.vertex, event };
            self.tell_job_manager(Stream::SubtaskEvents(attempt), message, None, outbox);
        }
    }

    /// An operator event: it goes to the source or to the other coordinated operator of the chain.
    pub(super) fn handle_operator_event(
        &mut self,
        operator: OperatorUid,
        id: OperatorEventId,
        event: OperatorEvent,
        outbox: &mut Outbox,
    ) -> Result<(), TaskError> {
        debug_assert_eq!(self.status, TaskStatus::Running, "events wait until the task runs");
        outbox.emit(EventKind::OperatorEventHandled { operator, id });
        if operator == self.descriptor.attempt.vertex {
            return self.handle_source_event(event, outbox);
        }
        match (&mut self.coordinated, event) {
            (Some(coordinated), OperatorEvent::Custom(bytes)) if coordinated.operator() == operator => {
                coordinated.handle(&bytes)
            }
            _ => Err(TaskError::UnknownOperatorEvent(operator)),
        }
    }

    fn handle_source_event(&mut self, event: OperatorEvent, outbox: &mut Outbox) -> Result<(), TaskError> {
        let added = match &event {
            OperatorEvent::AddSplits(splits) => positions(splits),
            _ => Vec::new(),
        };
        let told = matches!(event, OperatorEvent::NoMoreSplits);
        let empty = added.is_empty() && matches!(event, OperatorEvent::AddSplits(_));
        debug_assert!(!empty, "an empty assignment sends no event (FACT 40)");
        self.head.source_mut().handle_operator_event(event)?;
        added.into_iter().for_each(|split| outbox.emit(EventKind::SplitAdded { split }));
        if told {
            outbox.emit(EventKind::NoMoreSplitsNoticed);
        }
        self.apply_reader_context(outbox);
        Ok(())
    }
}
