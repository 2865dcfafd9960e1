//! `SourceCoordinator`: the logical thread in which an enumerator lives.
//!
//! Everything from the readers and everything from the main thread comes through one inbox and is handled in the order
//! of arrival (FACT 34). At a checkpoint the tracker files first and the enumerator snapshots then (FACT 35), so that
//! an assignment is either in the enumerator's state, or filed at or below that checkpoint and thus in some reader's.
//! At a completion the tracker drops first (FACT 37). What an enumerator throws fails the job, except in its snapshot,
//! where it fails the checkpoint (FACT 38).
//!
//! What was refused: to give splits back when a subtask *fails*. Which checkpoint it restores is not known then.

mod context;
#[cfg(test)]
mod tests;

use crate::actor::Outbox;
use crate::api::source::{EnumeratorContext, EnumeratorPort, UserError};
use crate::api::source_state;
use crate::connectors::range_source::range_enumerator;
use crate::defects::Defect;
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use context::{ContextCall, SourceCoordinatorContext};
use std::hash::{Hash, Hasher};

/// See the module.
#[derive(Clone, Debug)]
pub struct SourceCoordinator {
    config: SharedJobConfig,
    operator: OperatorUid,
    enumerator: Option<Box<dyn EnumeratorPort>>,
    context: SourceCoordinatorContext,
}

impl Hash for SourceCoordinator {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // The configuration never changes within a run.
        self.operator.hash(hasher);
        self.enumerator.hash(hasher);
        self.context.hash(hasher);
    }
}

impl SourceCoordinator {
    /// A coordinator that waits for its `Start`.
    ///
    /// # Panics
    /// When the job has no such source.
    #[must_use]
    pub fn new(config: SharedJobConfig, operator: OperatorUid) -> Self {
        let parallelism = super::vertex_of(&config, operator).parallelism;
        let context = SourceCoordinatorContext::new(operator, 0, parallelism);
        Self { config, operator, enumerator: None, context }
    }

    /// How many assignments its tracker remembers, for bounds on memory.
    #[must_use]
    pub fn tracked_split_count(&self) -> usize {
        self.context.tracker.len()
    }

    /// Handles one piece of mail.
    pub fn handle(&mut self, mail: CoordinatorMail, out: &mut Outbox) {
        match mail {
            CoordinatorMail::Start { generation, restored } => self.start(generation, restored, out),
            CoordinatorMail::FromReader { attempt, event } => self.on_reader_event(attempt, event, out),
            CoordinatorMail::ExecutionAttemptReady(attempt) => self.context.attempt_ready(attempt),
            CoordinatorMail::ExecutionAttemptFailed { attempt, last_completed } => {
                self.on_attempt_failed(attempt, last_completed, out);
            }
            CoordinatorMail::SubtaskReset { subtask, restored } => {
                self.on_subtask_reset(subtask, restored, out)
            }
            CoordinatorMail::Checkpoint(checkpoint) => self.on_checkpoint(checkpoint, out),
            CoordinatorMail::NotifyCheckpointComplete(checkpoint) => {
                self.context.tracker.on_checkpoint_complete(checkpoint);
                out.emit(EventKind::CoordinatorNotified { checkpoint, completed: true });
                self.call(out, |enumerator, context| {
                    enumerator.notify_checkpoint_complete(checkpoint, context)
                });
            }
            CoordinatorMail::NotifyCheckpointAborted(checkpoint) => {
                out.emit(EventKind::CoordinatorNotified { checkpoint, completed: false });
                self.call(out, |enumerator, context| {
                    enumerator.notify_checkpoint_aborted(checkpoint, context)
                });
            }
            CoordinatorMail::Timer(timer) => debug_assert!(false, "a source coordinator sets no {timer:?}"),
        }
    }

    /// A new coordinator: an empty tracker, nobody registered, the enumerator created or restored (FACT 47).
    fn start(&mut self, generation: u32, restored: Option<(CheckpointId, Vec<u8>)>, out: &mut Outbox) {
        debug_assert!(generation > self.context.generation(), "generations rise");
        if let Some(Err(error)) = self.enumerator.take().map(|mut replaced| replaced.close()) {
            tracing::warn!(operator = self.operator.0, %error, "closing the replaced enumerator failed");
        }
        let vertex = super::vertex_of(&self.config, self.operator);
        self.context = SourceCoordinatorContext::new(self.operator, generation, vertex.parallelism);
        let state = restored.as_ref().map(|(_, state)| state.as_slice());
        let held = state.map_or_else(|| Ok(Vec::new()), source_state::enumerator_splits_held);
        let made = held.and_then(|held| Ok((held, range_enumerator(vertex, self.config.defects, state)?)));
        match made {
            Ok((pending, enumerator)) => {
                self.enumerator = Some(enumerator);
                out.emit(EventKind::EnumeratorStarted {
                    pending,
                    restored: restored.map(|(checkpoint, _)| checkpoint),
                });
                self.call(out, |enumerator, context| enumerator.start(context));
            }
            Err(error) => self.context.fail_job(format!("the enumerator cannot be restored: {error}"), out),
        }
    }

    fn on_reader_event(&mut self, attempt: ExecutionAttemptId, event: ReaderEvent, out: &mut Outbox) {
        debug_assert_eq!(attempt.vertex, self.operator, "the holder passes on what is its own");
        let subtask = attempt.subtask;
        out.emit(EventKind::ReaderEventArrived { attempt });
        match event {
            ReaderEvent::Register { reported } => {
                if let Err(error) = self.context.register(attempt) {
                    self.context.fail_job(error.message, out);
                    return;
                }
                out.emit(EventKind::ReaderRegistered {
                    attempt,
                    reported: source_state::positions(&reported),
                });
                self.call(out, |enumerator, context| enumerator.add_reader(subtask, reported, context));
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
        }
    }

    /// The reader is unregistered and its gateway gone; nothing is given back yet (FACT 46).
    fn on_attempt_failed(
        &mut self,
        attempt: ExecutionAttemptId,
        last_completed: Option<CheckpointId>,
        out: &mut Outbox,
    ) {
        self.context.attempt_failed(attempt);
        if self.config.defects.has(Defect::GivenBackAtFailure) {
            self.give_back(attempt.subtask_id(), last_completed, out);
        }
    }

    /// Forgets the reader, its gateway and its latch, then gives back what is later than the restored checkpoint: always,
    /// also nothing (FACT 46).
    fn on_subtask_reset(&mut self, subtask: SubtaskId, restored: Option<CheckpointId>, out: &mut Outbox) {
        let latch_kept = self.config.defects.has(Defect::NoMoreSplitsLatchKept);
        self.context.subtask_reset(subtask.subtask, latch_kept);
        self.give_back(subtask, restored, out);
    }

    fn give_back(&mut self, subtask: SubtaskId, restored: Option<CheckpointId>, out: &mut Outbox) {
        debug_assert_eq!(subtask.vertex, self.operator);
        let mut splits =
            self.context.tracker.get_and_remove_uncheckpointed_assignment(subtask.subtask, restored);
        if self.config.defects.has(Defect::TrackerReturnsNothing) {
            splits.clear();
        }
        out.emit(EventKind::SplitsGivenBack { subtask, restored, splits: source_state::positions(&splits) });
        self.call(out, |enumerator, context| enumerator.add_splits_back(splits, subtask.subtask, context));
    }

    /// The tracker files, then the enumerator snapshots, then the main thread hears of it (FACT 35).
    fn on_checkpoint(&mut self, checkpoint: CheckpointId, out: &mut Outbox) {
        self.context.tracker.on_checkpoint(checkpoint);
        out.emit(EventKind::AssignmentsFiled { checkpoint });
        let Some(enumerator) = self.enumerator.as_mut() else {
            let state = Err(NOT_STARTED.to_owned());
            self.context.mail_main(CoordinatorToMain::CheckpointResult { checkpoint, state }, out);
            self.context.fail_job(NOT_STARTED.to_owned(), out);
            return;
        };
        let snapshot = enumerator.snapshot_state(checkpoint).and_then(|state| {
            let pending = source_state::enumerator_splits_held(&state)?;
            Ok((state, pending))
        });
        let state = match snapshot {
            Ok((state, pending)) => {
                out.emit(EventKind::EnumeratorSnapshotTaken { checkpoint, pending });
                Ok(state)
            }
            Err(error) => Err(format!("Failed to checkpoint SplitEnumerator: {error}")),
        };
        self.context.mail_main(CoordinatorToMain::CheckpointResult { checkpoint, state }, out);
    }

    /// Calls the enumerator; what it throws fails the job (FACTS 38, 49).
    fn call(
        &mut self,
        out: &mut Outbox,
        callback: impl FnOnce(&mut dyn EnumeratorPort, &mut dyn EnumeratorContext) -> Result<(), UserError>,
    ) {
        let result = match self.enumerator.as_mut() {
            Some(enumerator) => {
                callback(enumerator.as_mut(), &mut ContextCall { context: &mut self.context, out: &mut *out })
            }
            None => Err(UserError::new(NOT_STARTED)),
        };
        if let Err(error) = result {
            self.context.fail_job(error.message, out);
        }
    }
}

/// What mail before the start is answered with (FACT 49).
const NOT_STARTED: &str = "The coordinator has not started yet";
