//! `SourceCoordinator`: the logical thread in which an enumerator lives.
//!
//! Everything from the readers and everything from the main thread comes through one inbox and is handled in the order
//! of arrival (FACT 34). At a checkpoint the enumerator snapshots first and the tracker files then, so that an assignment
//! is either in the enumerator's state, or filed at or below that checkpoint and thus in some reader's: also one that the
//! enumerator makes inside its snapshot, which Flink gets wrong by filing first (FACTS 35, 36). At a completion the tracker
//! drops first (FACT 37). What an enumerator throws fails the job, except in its snapshot, where it fails the checkpoint
//! (FACT 38).
//!
//! In a batch job the snapshot is for [`CheckpointId::BATCH`]: nothing is filed, and the state holds the tracker's, as no
//! reader's state will ever hold what was assigned.
//!
//! What was refused: to give splits back when a subtask *fails*. Which checkpoint it restores is not known then.

mod alignment;
#[cfg(test)]
mod alignment_tests;
mod checkpoints;
mod context;
mod outlived;
mod reader_events;
#[cfg(test)]
mod tests;
mod worker;

use super::coordinator_error::CoordinatorError;
use super::split_assignment_tracker::SplitAssignmentTracker;
use crate::actor::Outbox;
use crate::api::source::{EnumeratorContext, EnumeratorFactory, EnumeratorPort, UserError};
use crate::api::source_state;
use crate::connectors::file_source::file_enumerators;
use crate::connectors::log_source::log_enumerators;
use crate::connectors::range_source::range_enumerators;
use crate::defects::{Defect, DefectSet};
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use crate::records::SplitPosition;
use alignment::WatermarkAlignment;
use context::{ContextCall, SourceCoordinatorContext};
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use worker::Worker;

/// See the module.
#[derive(Clone, Debug)]
pub struct SourceCoordinator {
    operator: OperatorUid,
    parallelism: u32,
    defects: DefectSet,
    enumerators: Arc<dyn EnumeratorFactory>,
    started: bool,
    /// What the enumerator was restored from, and the splits that it held.
    restored: Option<(CheckpointId, Vec<SplitPosition>)>,
    enumerator: Option<Box<dyn EnumeratorPort>>,
    context: SourceCoordinatorContext,
    worker: Worker,
    /// `None` when the source waits for nobody in event time.
    alignment: Option<Box<WatermarkAlignment>>,
    /// The enumerator that was replaced last, where a defect lets it go on.
    outlived: Option<Box<dyn EnumeratorPort>>,
}

impl Hash for SourceCoordinator {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // The configuration never changes within a run, and what was restored is in the enumerator.
        self.operator.hash(hasher);
        self.started.hash(hasher);
        self.enumerator.hash(hasher);
        self.context.hash(hasher);
        self.worker.hash(hasher);
        self.alignment.hash(hasher);
        if let Some(outlived) = &self.outlived {
            outlived.hash(hasher);
        }
    }
}

impl SourceCoordinator {
    /// A coordinator that waits for its `Start`.
    ///
    /// # Panics
    /// When the job has no such source.
    #[must_use]
    pub fn new(config: &SharedJobConfig, operator: OperatorUid) -> Self {
        let vertex = super::vertex_of(config, operator);
        let enumerators = match (&vertex.files, vertex.log) {
            (Some(files), _) => file_enumerators(operator, files),
            (None, Some(log)) => log_enumerators(vertex, log, config.defects),
            (None, None) => range_enumerators(vertex, config.defects),
        };
        Self {
            alignment: WatermarkAlignment::of(config, operator).map(Box::new),
            worker: Worker::new(vertex.source.discovery.map_or(0, |discovery| discovery.look_ns)),
            ..Self::with_enumerators(operator, vertex.parallelism, config.defects, enumerators)
        }
    }

    /// A coordinator of any source, aligned with nobody, that waits for its `Start`. `parallelism` is at least 1.
    #[must_use]
    pub fn with_enumerators(
        operator: OperatorUid,
        parallelism: u32,
        defects: DefectSet,
        enumerators: Arc<dyn EnumeratorFactory>,
    ) -> Self {
        let context = SourceCoordinatorContext::new(operator, 0, parallelism, defects);
        Self {
            operator,
            parallelism,
            defects,
            enumerators,
            started: false,
            restored: None,
            enumerator: None,
            context,
            worker: Worker::new(0),
            alignment: None,
            outlived: None,
        }
    }

    /// Whether it was started since it was last reset.
    #[must_use]
    pub const fn is_started(&self) -> bool {
        self.started
    }

    /// The assignments that it would give back.
    #[must_use]
    pub const fn tracker(&self) -> &SplitAssignmentTracker {
        &self.context.tracker
    }

    /// The attempts that are registered, by subtask; subtasks without one are left out.
    pub fn registered_attempts(&self) -> impl Iterator<Item = (SubtaskIndex, &BTreeSet<AttemptNumber>)> {
        self.context.registered_attempts()
    }

    /// Whether the context has had anything to do with a gateway or a latch yet (FACT 43).
    #[must_use]
    pub const fn is_context_touched(&self) -> bool {
        self.context.is_touched()
    }

    /// How many assignments its tracker remembers, for bounds on memory.
    #[must_use]
    pub fn tracked_split_count(&self) -> usize {
        self.context.tracker.len()
    }

    /// Handles one piece of mail.
    pub fn handle(&mut self, mail: CoordinatorMail, out: &mut Outbox) {
        match mail {
            CoordinatorMail::Start { generation, restored } => {
                for call in self.context.async_calls() {
                    out.cancel_timer(Timer::AsyncCall(call));
                }
                if self.worker.is_busy() {
                    out.cancel_timer(Timer::AsyncCallReturns);
                }
                self.replace(generation, restored, out);
            }
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
                if !self.defects.has(Defect::TrackerNeverForgets) {
                    self.context.tracker.on_checkpoint_complete(checkpoint);
                }
                out.emit(EventKind::CoordinatorNotified { checkpoint, completed: true });
                self.call(out, |enumerator, context| {
                    enumerator.notify_checkpoint_complete(checkpoint, context)
                });
                self.outlived_acts(out);
            }
            CoordinatorMail::NotifyCheckpointAborted(checkpoint) => {
                out.emit(EventKind::CoordinatorNotified { checkpoint, completed: false });
                self.call(out, |enumerator, context| {
                    enumerator.notify_checkpoint_aborted(checkpoint, context)
                });
            }
            CoordinatorMail::AsyncResult { generation, call, result } => {
                if generation == self.context.generation() {
                    self.call(out, |enumerator, context| {
                        enumerator.handle_async_result(call, result, context)
                    });
                }
            }
            CoordinatorMail::GroupWatermark { source, watermark_ms } => {
                self.on_group_watermark(source, watermark_ms);
            }
            CoordinatorMail::Timer(Timer::AlignmentAnnouncement) => self.announce_alignment(out),
            CoordinatorMail::Timer(timer) => debug_assert!(false, "a source coordinator sets no {timer:?}"),
        }
    }

    /// A new coordinator takes the place of the old one, if there is one.
    fn replace(&mut self, generation: u32, restored: Option<(CheckpointId, Vec<u8>)>, out: &mut Outbox) {
        let old = self.enumerator.clone();
        match self.reset_to_checkpoint(generation, restored) {
            Ok(()) => self.start(out),
            Err(error) => self.context.fail_job(error, out),
        }
        if let Some(old) = old
            && self.defects.has(Defect::OldCoordinatorUnfenced)
        {
            self.outlive(old);
        }
    }

    /// A new coordinator that is not started: an empty tracker, nobody registered, the enumerator restored, or none yet
    /// (FACT 47). The old one is closed.
    ///
    /// # Errors
    /// When the state is wrong, or user code throws. The job is to fail then.
    pub fn reset_to_checkpoint(
        &mut self,
        generation: u32,
        restored: Option<(CheckpointId, Vec<u8>)>,
    ) -> Result<(), CoordinatorError> {
        debug_assert!(generation > self.context.generation(), "generations rise");
        self.close();
        self.context =
            SourceCoordinatorContext::new(self.operator, generation, self.parallelism, self.defects);
        self.restored = None;
        let Some((checkpoint, stored)) = restored else { return Ok(()) };
        let state = self.restored_state(checkpoint, stored)?;
        let held = source_state::enumerator_splits_held(&state)?;
        self.restored = Some((checkpoint, held));
        self.enumerator = Some(self.enumerators.restore(&state).map_err(CoordinatorError::Enumerator)?);
        Ok(())
    }

    /// Starts it: creates the enumerator unless one was restored, and starts that (FACTS 34, 49).
    pub fn start(&mut self, out: &mut Outbox) {
        debug_assert!(!self.started, "started once");
        self.started = true;
        if self.enumerator.is_none() {
            match self.enumerators.create() {
                Ok(enumerator) => self.enumerator = Some(enumerator),
                Err(error) => {
                    self.context.fail_job(CoordinatorError::Enumerator(error), out);
                    return;
                }
            }
        }
        let (restored, pending) = self.restored.take().unzip();
        out.emit(EventKind::EnumeratorStarted { pending: pending.unwrap_or_default(), restored });
        self.call(out, |enumerator, context| enumerator.start(context));
        self.begin_alignment(out);
    }

    /// Closes the enumerator, if it was started. What it throws is logged, nothing else.
    pub fn close(&mut self) {
        self.worker.clear();
        let enumerator = self.enumerator.take();
        let was_started = std::mem::take(&mut self.started);
        let closed = enumerator.filter(|_| was_started).map(|mut enumerator| enumerator.close());
        if let Some(Err(error)) = closed {
            tracing::warn!(operator = self.operator.0, %error, "closing the enumerator failed");
        }
    }

    /// Calls the context on behalf of another thread: Flink hands such a call over to the coordinator's thread and waits,
    /// and an exception goes back to the caller, not to the job.
    pub fn with_context<T>(
        &mut self,
        out: &mut Outbox,
        call: impl FnOnce(&mut dyn EnumeratorContext) -> T,
    ) -> T {
        call(&mut ContextCall { context: &mut self.context, out })
    }

    /// The reader is unregistered and its gateway gone; nothing is given back yet (FACT 46).
    fn on_attempt_failed(
        &mut self,
        attempt: ExecutionAttemptId,
        last_completed: Option<CheckpointId>,
        out: &mut Outbox,
    ) {
        self.context.attempt_failed(attempt);
        if self.defects.has(Defect::GivenBackAtFailure) {
            self.give_back(attempt.subtask_id(), last_completed, out);
        }
    }

    /// Forgets the reader, its gateway and its latch, then gives back what is later than the restored checkpoint: always,
    /// also nothing (FACT 46).
    fn on_subtask_reset(&mut self, subtask: SubtaskId, restored: Option<CheckpointId>, out: &mut Outbox) {
        self.context.subtask_reset(subtask.subtask);
        self.give_back(subtask, restored, out);
    }

    fn give_back(&mut self, subtask: SubtaskId, restored: Option<CheckpointId>, out: &mut Outbox) {
        debug_assert_eq!(subtask.vertex, self.operator);
        let mut splits =
            self.context.tracker.get_and_remove_uncheckpointed_assignment(subtask.subtask, restored);
        if self.defects.has(Defect::TrackerReturnsNothing) {
            splits.clear();
        }
        out.emit(EventKind::SplitsGivenBack { subtask, restored, splits: source_state::positions(&splits) });
        self.call(out, |enumerator, context| enumerator.add_splits_back(splits, subtask.subtask, context));
    }

    /// Calls the enumerator; what it throws fails the job (FACTS 38, 49). Without an enumerator the start has failed, and
    /// the job with it.
    fn call(
        &mut self,
        out: &mut Outbox,
        callback: impl FnOnce(&mut dyn EnumeratorPort, &mut dyn EnumeratorContext) -> Result<(), UserError>,
    ) {
        let result = match self.enumerator.as_mut() {
            Some(enumerator) => {
                callback(enumerator.as_mut(), &mut ContextCall { context: &mut self.context, out: &mut *out })
                    .map_err(CoordinatorError::Enumerator)
            }
            None if self.started => Ok(()),
            None => Err(CoordinatorError::NotStarted),
        };
        if let Err(error) = result {
            self.context.fail_job(error, out);
        }
    }
}
