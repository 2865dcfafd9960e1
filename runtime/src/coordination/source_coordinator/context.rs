//! `SourceCoordinatorContext`: who is registered, which gateways there are, who was told 'no more splits', and the tracker.
//!
//! All is kept by attempt, as in Flink: two attempts of one subtask may be registered at once when the end of the older
//! one has not been heard of, and then both are sent what the subtask is assigned.

use crate::actor::{Effect, Outbox};
use crate::api::source::{AsyncCall, AsyncCallName, ContextError, EnumeratorContext, UserError};
use crate::api::source_state::positions;
use crate::coordination::coordinator_error::CoordinatorError;
use crate::coordination::split_assignment_tracker::SplitAssignmentTracker;
use crate::defects::{Defect, DefectSet};
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use crate::records::SplitPosition;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of one subtask.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Subtask {
    registered: BTreeSet<AttemptNumber>,
    gateways: BTreeSet<AttemptNumber>,
    told_no_more_splits: bool,
}

/// The state behind the enumerator's context.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct SourceCoordinatorContext {
    operator: OperatorUid,
    generation: u32,
    defects: DefectSet,
    subtasks: Vec<Subtask>,
    /// Whether gateways or latches were ever looked at: Flink makes its arrays then, and without them a latch cannot be
    /// set (FACT 43).
    touched: bool,
    /// What workers run, with the period of what they run again.
    async_calls: BTreeMap<AsyncCallName, Option<u64>>,
    pub(super) tracker: SplitAssignmentTracker,
}

impl SourceCoordinatorContext {
    pub(super) fn new(operator: OperatorUid, generation: u32, parallelism: u32, defects: DefectSet) -> Self {
        debug_assert!(parallelism > 0, "a source has subtasks");
        let subtasks = vec![Subtask::default(); parallelism as usize];
        Self {
            operator,
            generation,
            defects,
            subtasks,
            touched: false,
            async_calls: BTreeMap::new(),
            tracker: SplitAssignmentTracker::new(),
        }
    }

    pub(super) const fn generation(&self) -> u32 {
        self.generation
    }

    pub(super) const fn is_touched(&self) -> bool {
        self.touched
    }

    pub(super) fn attempt_ready(&mut self, attempt: ExecutionAttemptId) {
        self.touched = true;
        self.slot_mut(attempt.subtask).gateways.insert(attempt.attempt);
    }

    /// Registers a reader; the same execution twice is an error (FACT 44). Answers whether it is the subtask's only one.
    pub(super) fn register(&mut self, attempt: ExecutionAttemptId) -> Result<bool, CoordinatorError> {
        let slot = self.slot_mut(attempt.subtask);
        let is_first = slot.registered.is_empty();
        if !slot.registered.insert(attempt.attempt) {
            return Err(CoordinatorError::AlreadyRegistered(attempt));
        }
        Ok(is_first)
    }

    /// The attempts that are registered, by subtask; subtasks without one are left out.
    pub(super) fn registered_attempts(
        &self,
    ) -> impl Iterator<Item = (SubtaskIndex, &BTreeSet<AttemptNumber>)> {
        let slots = (0..).map(SubtaskIndex).zip(&self.subtasks);
        slots.map(|(subtask, slot)| (subtask, &slot.registered)).filter(|(_, attempts)| !attempts.is_empty())
    }

    pub(super) fn attempt_failed(&mut self, attempt: ExecutionAttemptId) {
        self.touched = true;
        let slot = self.slot_mut(attempt.subtask);
        slot.registered.remove(&attempt.attempt);
        slot.gateways.remove(&attempt.attempt);
    }

    pub(super) fn subtask_reset(&mut self, subtask: SubtaskIndex) {
        self.touched = true;
        let latch_kept = self.defects.has(Defect::NoMoreSplitsLatchKept);
        let slot = self.slot_mut(subtask);
        *slot = Subtask { told_no_more_splits: slot.told_no_more_splits && latch_kept, ..Subtask::default() };
    }

    pub(super) fn is_told_no_more_splits(&mut self, subtask: SubtaskIndex) -> bool {
        self.touched = true;
        self.slot_mut(subtask).told_no_more_splits
    }

    /// What workers still run for the enumerator.
    pub(super) fn async_calls(&self) -> impl Iterator<Item = AsyncCallName> + '_ {
        self.async_calls.keys().copied()
    }

    /// Whether the call is to be run, once or again.
    pub(super) fn is_async_call(&self, call: AsyncCallName) -> bool {
        self.async_calls.contains_key(&call)
    }

    /// The worker runs this call: it runs it again after its period.
    pub(super) fn async_call_runs(&mut self, call: AsyncCallName, out: &mut Outbox) {
        debug_assert!(self.is_async_call(call), "it was asked for");
        match self.async_calls.get(&call).copied().flatten() {
            Some(period_ns) => out.set_timer(Timer::AsyncCall(call), period_ns),
            None => drop(self.async_calls.remove(&call)),
        }
    }

    /// Mails the coordinator what came of a call.
    pub(super) fn mail_async_result(
        &self,
        call: AsyncCallName,
        result: Result<Vec<u8>, UserError>,
        out: &mut Outbox,
    ) {
        let mail = CoordinatorMail::AsyncResult { generation: self.generation, call, result };
        out.mail(ActorId::SourceCoordinator(self.operator), Mail::Coordinator(mail));
    }

    pub(super) fn fail_job(&self, cause: CoordinatorError, out: &mut Outbox) {
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

    fn slot_mut(&mut self, subtask: SubtaskIndex) -> &mut Subtask {
        &mut self.subtasks[subtask.0 as usize]
    }

    fn parallelism(&self) -> u32 {
        self.subtasks.len() as u32
    }

    fn attempt_of(&self, subtask: SubtaskIndex, attempt: AttemptNumber) -> ExecutionAttemptId {
        ExecutionAttemptId { vertex: self.operator, subtask, attempt }
    }

    /// The registered attempts of a subtask, oldest first.
    fn registered(&self, subtask: SubtaskIndex) -> Result<Vec<ExecutionAttemptId>, ContextError> {
        let attempts = self.subtasks.get(subtask.0 as usize).map(|slot| &slot.registered);
        match attempts {
            Some(attempts) if !attempts.is_empty() => {
                Ok(attempts.iter().map(|attempt| self.attempt_of(subtask, *attempt)).collect())
            }
            _ => Err(ContextError::NotRegistered(subtask)),
        }
    }

    fn check_index(&self, subtask: SubtaskIndex) -> Result<(), ContextError> {
        let parallelism = self.parallelism();
        if subtask.0 < parallelism {
            Ok(())
        } else {
            Err(ContextError::NoSuchSubtask { subtask, parallelism })
        }
    }

    fn check_ready(&mut self, attempt: ExecutionAttemptId) -> Result<(), ContextError> {
        self.touched = true;
        let is_ready = self.slot_mut(attempt.subtask).gateways.contains(&attempt.attempt);
        if is_ready { Ok(()) } else { Err(ContextError::NotReady(attempt)) }
    }

    /// The gateway of a subtask whose reader need not be registered.
    fn only_gateway(&mut self, subtask: SubtaskIndex) -> Result<ExecutionAttemptId, ContextError> {
        self.ready_gateway(subtask).ok_or(ContextError::NoGateway(subtask))
    }

    /// The same where a subtask without a gateway is nothing wrong.
    pub(super) fn ready_gateway(&mut self, subtask: SubtaskIndex) -> Option<ExecutionAttemptId> {
        self.touched = true;
        let newest = self.slot_mut(subtask).gateways.last().copied();
        newest.map(|attempt| self.attempt_of(subtask, attempt))
    }

    fn latch(&mut self, subtask: SubtaskIndex) {
        debug_assert!(self.touched, "a latch needs its array");
        self.slot_mut(subtask).told_no_more_splits = true;
    }
}

/// One call of the enumerator: its context with the outbox of the turn.
pub(super) struct ContextCall<'a> {
    pub(super) context: &'a mut SourceCoordinatorContext,
    pub(super) out: &'a mut Outbox,
}

impl EnumeratorContext for ContextCall<'_> {
    fn current_parallelism(&self) -> u32 {
        self.context.parallelism()
    }

    fn registered_readers(&self) -> Vec<SubtaskIndex> {
        self.context.registered_attempts().map(|(subtask, _)| subtask).collect()
    }

    fn splits_discovered(&mut self, splits: &[SplitPosition]) {
        debug_assert!(
            splits.iter().all(|at| at.split.operator == self.context.operator),
            "splits of this source"
        );
        self.out.emit(EventKind::SplitsDiscovered { splits: splits.to_vec() });
    }

    fn assign_splits(
        &mut self,
        assignment: Vec<(SubtaskIndex, Vec<SplitPayload>)>,
    ) -> Result<(), ContextError> {
        for (subtask, _) in &assignment {
            self.context.registered(*subtask)?;
        }
        for (subtask, splits) in &assignment {
            self.context.tracker.record_split_assignment(*subtask, splits);
            for attempt in self.context.registered(*subtask)? {
                self.out.emit(EventKind::SplitsAssigned { attempt, splits: positions(splits) });
            }
        }
        for (subtask, splits) in assignment {
            if splits.is_empty() {
                continue;
            }
            for attempt in self.context.registered(subtask)? {
                self.context.check_ready(attempt)?;
                let event = OperatorEvent::AddSplits(splits.clone());
                self.context.mail_main(CoordinatorToMain::SendEvent { attempt, event }, self.out);
            }
        }
        Ok(())
    }

    fn signal_no_more_splits(&mut self, subtask: SubtaskIndex) -> Result<(), ContextError> {
        self.context.check_index(subtask)?;
        if self.context.touched && self.context.defects.has(Defect::LatchBeforeCheck) {
            self.context.latch(subtask);
        }
        for attempt in self.context.registered(subtask)? {
            self.context.check_ready(attempt)?;
            let message = CoordinatorToMain::SendEvent { attempt, event: OperatorEvent::NoMoreSplits };
            let signalled = EventKind::NoMoreSplitsSignalled { attempt };
            self.out.effect_with(self.context.to_main(message), signalled);
        }
        self.context.latch(subtask);
        Ok(())
    }

    fn send_event_to_source_reader(
        &mut self,
        subtask: SubtaskIndex,
        event: Vec<u8>,
    ) -> Result<(), ContextError> {
        self.context.check_index(subtask)?;
        let attempt = self.context.only_gateway(subtask)?;
        debug_assert_eq!(attempt.subtask, subtask);
        let event = OperatorEvent::Custom(event);
        self.context.mail_main(CoordinatorToMain::SendEvent { attempt, event }, self.out);
        Ok(())
    }
    fn call_async(&mut self, call: AsyncCall) {
        debug_assert!(call.period_ns != Some(0), "a period of nothing never lets anybody else run");
        self.context.async_calls.insert(call.name, call.period_ns);
        self.out.set_timer(Timer::AsyncCall(call.name), call.initial_delay_ns);
    }

    fn run_in_coordinator_thread(&mut self, call: AsyncCallName) {
        self.context.mail_async_result(call, Ok(Vec::new()), self.out);
    }
}
