//! `SourceCoordinatorContext`: who is registered, which gateways there are, who was told 'no more splits', and the tracker.

use crate::actor::{Effect, Outbox};
use crate::api::source::{EnumeratorContext, UserError};
use crate::api::source_state::positions;
use crate::coordination::split_assignment_tracker::SplitAssignmentTracker;
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use crate::records::SplitPosition;

/// What is known of one subtask.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Subtask {
    registered: Option<ExecutionAttemptId>,
    gateway: Option<ExecutionAttemptId>,
    told_no_more_splits: bool,
}

/// The state behind the enumerator's context.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct SourceCoordinatorContext {
    operator: OperatorUid,
    generation: u32,
    subtasks: Vec<Subtask>,
    pub(super) tracker: SplitAssignmentTracker,
}

impl SourceCoordinatorContext {
    pub(super) fn new(operator: OperatorUid, generation: u32, parallelism: u32) -> Self {
        debug_assert!(parallelism > 0, "a source has subtasks");
        let subtasks = vec![Subtask::default(); parallelism as usize];
        Self { operator, generation, subtasks, tracker: SplitAssignmentTracker::new() }
    }

    pub(super) const fn generation(&self) -> u32 {
        self.generation
    }

    pub(super) fn attempt_ready(&mut self, attempt: ExecutionAttemptId) {
        self.slot_mut(attempt.subtask).gateway = Some(attempt);
    }

    /// Registers a reader; the same execution twice is an error (FACT 44).
    pub(super) fn register(&mut self, attempt: ExecutionAttemptId) -> Result<(), UserError> {
        let slot = self.slot_mut(attempt.subtask);
        if slot.registered == Some(attempt) {
            return Err(UserError::new(format!("ReaderInfo of {attempt} already exists")));
        }
        slot.registered = Some(attempt);
        Ok(())
    }

    pub(super) fn attempt_failed(&mut self, attempt: ExecutionAttemptId) {
        let slot = self.slot_mut(attempt.subtask);
        slot.registered = slot.registered.filter(|registered| *registered != attempt);
        slot.gateway = slot.gateway.filter(|gateway| *gateway != attempt);
    }

    pub(super) fn subtask_reset(&mut self, subtask: SubtaskIndex, latch_kept: bool) {
        let slot = self.slot_mut(subtask);
        *slot = Subtask { told_no_more_splits: slot.told_no_more_splits && latch_kept, ..Subtask::default() };
    }

    pub(super) fn is_told_no_more_splits(&self, subtask: SubtaskIndex) -> bool {
        self.slot(subtask).told_no_more_splits
    }

    pub(super) fn fail_job(&self, cause: String, out: &mut Outbox) {
        self.mail_main(CoordinatorToMain::FailJob { cause }, out);
    }

    pub(super) fn mail_main(&self, message: CoordinatorToMain, out: &mut Outbox) {
        out.effect(self.to_main(message));
    }

    fn to_main(&self, message: CoordinatorToMain) -> Effect {
        let (operator, generation) = (self.operator, self.generation);
        let mail = Mail::Main(MainMail::FromCoordinator { operator, generation, message });
        Effect::Mail { to: ActorId::MainThread, mail }
    }

    fn slot(&self, subtask: SubtaskIndex) -> &Subtask {
        &self.subtasks[subtask.0 as usize]
    }

    fn slot_mut(&mut self, subtask: SubtaskIndex) -> &mut Subtask {
        &mut self.subtasks[subtask.0 as usize]
    }

    fn registered(&self, subtask: SubtaskIndex) -> Result<ExecutionAttemptId, UserError> {
        let slot = self.subtasks.get(subtask.0 as usize);
        slot.and_then(|slot| slot.registered).ok_or_else(|| {
            UserError::new(format!(
                "Cannot assign splits to {subtask} because the subtask is not registered."
            ))
        })
    }

    fn gateway(&self, subtask: SubtaskIndex) -> Result<ExecutionAttemptId, UserError> {
        let slot = self.subtasks.get(subtask.0 as usize);
        slot.and_then(|slot| slot.gateway)
            .ok_or_else(|| UserError::new(format!("{subtask} is not ready yet to receive events.")))
    }
}

/// One call of the enumerator: its context with the outbox of the turn.
pub(super) struct ContextCall<'a> {
    pub(super) context: &'a mut SourceCoordinatorContext,
    pub(super) out: &'a mut Outbox,
}

impl EnumeratorContext for ContextCall<'_> {
    fn current_parallelism(&self) -> u32 {
        self.context.subtasks.len() as u32
    }

    fn registered_readers(&self) -> Vec<SubtaskIndex> {
        let indices = (0..).map(SubtaskIndex).zip(&self.context.subtasks);
        indices.filter(|(_, slot)| slot.registered.is_some()).map(|(subtask, _)| subtask).collect()
    }

    fn splits_discovered(&mut self, splits: &[SplitPosition]) {
        debug_assert!(
            splits.iter().all(|at| at.split.operator == self.context.operator),
            "splits of this source"
        );
        self.out.emit(EventKind::SplitsDiscovered { splits: splits.to_vec() });
    }

    fn assign_splits(&mut self, assignment: Vec<(SubtaskIndex, Vec<SplitPayload>)>) -> Result<(), UserError> {
        for (subtask, _) in &assignment {
            self.context.registered(*subtask)?;
        }
        for (subtask, splits) in &assignment {
            let attempt = self.context.registered(*subtask)?;
            self.context.tracker.record_split_assignment(*subtask, splits);
            self.out.emit(EventKind::SplitsAssigned { attempt, splits: positions(splits) });
        }
        for (subtask, splits) in assignment {
            let attempt = self.context.gateway(subtask)?;
            if !splits.is_empty() {
                let event = OperatorEvent::AddSplits(splits);
                self.context.mail_main(CoordinatorToMain::SendEvent { attempt, event }, self.out);
            }
        }
        Ok(())
    }

    fn signal_no_more_splits(&mut self, subtask: SubtaskIndex) -> Result<(), UserError> {
        self.context.registered(subtask)?;
        let attempt = self.context.gateway(subtask)?;
        self.context.slot_mut(subtask).told_no_more_splits = true;
        debug_assert!(self.context.is_told_no_more_splits(subtask));
        let message = CoordinatorToMain::SendEvent { attempt, event: OperatorEvent::NoMoreSplits };
        self.out.effect_with(self.context.to_main(message), EventKind::NoMoreSplitsSignalled { attempt });
        Ok(())
    }

    fn send_event_to_source_reader(
        &mut self,
        subtask: SubtaskIndex,
        event: Vec<u8>,
    ) -> Result<(), UserError> {
        let attempt = self.context.gateway(subtask)?;
        debug_assert_eq!(attempt.subtask, subtask);
        let event = OperatorEvent::Custom(event);
        self.context.mail_main(CoordinatorToMain::SendEvent { attempt, event }, self.out);
        Ok(())
    }
}
