//! What readers say: registrations, requests, events of the connector. Handled in the order of arrival (FACT 34).

use super::SourceCoordinator;
use crate::actor::Outbox;
use crate::api::source_state;
use crate::coordination::coordinator_error::CoordinatorError;
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;

impl SourceCoordinator {
    pub(super) fn on_reader_event(
        &mut self,
        attempt: ExecutionAttemptId,
        event: ReaderEvent,
        out: &mut Outbox,
    ) {
        debug_assert_eq!(attempt.vertex, self.operator, "the holder passes on what is its own");
        let subtask = attempt.subtask;
        out.emit(EventKind::ReaderEventArrived { attempt });
        match event {
            ReaderEvent::Register { reported } => self.register(attempt, reported, out),
            ReaderEvent::RegisterAs(named) => {
                self.context.fail_job(CoordinatorError::WrongSubtask { sender: attempt, named }, out);
            }
            ReaderEvent::RequestSplit => {
                out.emit(EventKind::SplitRequested { attempt });
                // Whoever was told that there is nothing more is not heard any more (FACT 42).
                if !self.context.is_told_no_more_splits(subtask) {
                    self.call(out, |enumerator, context| enumerator.handle_split_request(subtask, context));
                }
            }
            ReaderEvent::Custom(event) => {
                self.call(out, |enumerator, context| {
                    enumerator.handle_source_event(subtask, &event, context)
                });
            }
            ReaderEvent::ReportedWatermark(watermark_ms) => {
                self.on_reported_watermark(attempt, watermark_ms, out);
            }
            ReaderEvent::Unrecognized(name) => {
                self.context.fail_job(CoordinatorError::UnrecognizedEvent(name), out);
            }
        }
    }

    /// The enumerator hears of a subtask's first reader; of a further attempt beside it, it does not.
    fn register(&mut self, attempt: ExecutionAttemptId, reported: Vec<SplitPayload>, out: &mut Outbox) {
        let is_first = match self.context.register(attempt) {
            Ok(is_first) => is_first,
            Err(error) => {
                self.context.fail_job(error, out);
                return;
            }
        };
        out.emit(EventKind::ReaderRegistered { attempt, reported: source_state::positions(&reported) });
        if is_first {
            let subtask = attempt.subtask;
            self.call(out, |enumerator, context| enumerator.add_reader(subtask, reported, context));
        }
    }
}
