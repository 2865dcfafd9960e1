//! When a checkpoint begins, which are pending, and which one is the latest that is complete.
//!
//! It decides and remembers; the main thread does what follows from it at holders, tasks and the high-availability
//! service, because an abort, a reset and a notice must not be parted from what the main thread knows of executions
//! (FACT 28). It has no clock: 'due' and 'pausing' are flags that timers raise, and what was due while it could not be
//! triggered is triggered as soon as it can.
//!
//! A checkpoint's identifier is raised durably before its trigger, so one trigger is two steps, `raise` and `trigger`;
//! a failure in between voids the raised identifier, which then is never used.

use super::pending_checkpoint::{PendingCheckpoint, PendingPhase};
use crate::actor::Outbox;
use crate::config::{CheckpointConfig, NANOS_PER_MILLI};
use crate::defects::{Defect, DefectSet};
use crate::ids::{CheckpointId, ExecutionAttemptId};
use crate::message::{CheckpointKind, CompletedCheckpoint, Timer};
use std::sync::Arc;

/// From the last registration at a job's start to its first checkpoint; 20-60 ms were measured (FACT 94).
pub const FIRST_CHECKPOINT_DELAY_NS: u64 = 20 * NANOS_PER_MILLI;
/// From a region's restart, with another region still running, to the next checkpoint (FACT 94).
pub const REGION_RESTART_DELAY_NS: u64 = 10 * NANOS_PER_MILLI;

/// Why the periodic schedule starts anew.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ScheduleStart {
    /// The job was deployed by this leader for the first time.
    JobStart,
    /// Some tasks were restarted while others went on.
    SomeRestarted,
    /// Every task was restarted.
    AllRestarted,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Schedule {
    /// Tasks are missing; no timer runs.
    Suspended,
    /// The interval timer runs.
    Armed,
    /// The interval timer has fired.
    Due,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Raise {
    checkpoint: CheckpointId,
    kind: CheckpointKind,
    void: bool,
}

/// Flink's `CheckpointCoordinator`, as far as it needs no other role.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CheckpointCoordinator {
    settings: Option<CheckpointConfig>,
    counter: CheckpointId,
    raising: Option<Raise>,
    pending: Vec<PendingCheckpoint>,
    latest: Option<Arc<CompletedCheckpoint>>,
    schedule: Schedule,
    pausing: bool,
    wanted_at_once: bool,
    /// A savepoint that a user has asked for.
    wanted_savepoint: Option<CheckpointKind>,
    /// The job is being stopped with a savepoint: nothing periodic begins.
    stopping: bool,
    /// A trigger never came to its end: none follows.
    trigger_leaked: bool,
    consecutive_failures: u32,
}

impl CheckpointCoordinator {
    /// One that knows of no checkpoint; with `settings` absent it never triggers any.
    #[must_use]
    pub const fn new(settings: Option<CheckpointConfig>) -> Self {
        Self {
            settings,
            counter: CheckpointId(0),
            raising: None,
            pending: Vec::new(),
            latest: None,
            schedule: Schedule::Suspended,
            pausing: false,
            wanted_at_once: false,
            wanted_savepoint: None,
            stopping: false,
            trigger_leaked: false,
            consecutive_failures: 0,
        }
    }

    /// The trigger of an aborted checkpoint still waits for its coordinators, and nobody will ever answer it. Only a
    /// defect does this.
    pub const fn leak_trigger(&mut self) {
        self.trigger_leaked = true;
    }

    /// Takes over from the last leader: the durable counter and the latest completed checkpoint.
    pub fn adopt(
        &mut self,
        counter: CheckpointId,
        latest: Option<Arc<CompletedCheckpoint>>,
        defects: DefectSet,
    ) {
        debug_assert!(self.pending.is_empty() && self.latest.is_none(), "a leader adopts once, at its start");
        let restored = latest.as_ref().map_or(CheckpointId(0), |checkpoint| checkpoint.id);
        debug_assert!(
            restored <= counter,
            "a checkpoint completed under an identifier that was never raised"
        );
        self.counter = if defects.has(Defect::CounterRestartsAtRestored) { restored } else { counter };
        self.latest = latest;
    }

    /// The latest completed checkpoint: what a failover restores.
    #[must_use]
    pub fn latest(&self) -> Option<&CompletedCheckpoint> {
        self.latest.as_deref()
    }

    /// The same checkpoint with its state dealt to other subtasks.
    pub fn replace_latest(&mut self, dealt: Arc<CompletedCheckpoint>) {
        debug_assert_eq!(self.latest_id(), Some(dealt.id), "only the subtasks differ");
        self.latest = Some(dealt);
    }

    /// The identifier of the latest completed checkpoint.
    #[must_use]
    pub fn latest_id(&self) -> Option<CheckpointId> {
        self.latest.as_ref().map(|checkpoint| checkpoint.id)
    }

    /// What is pending, oldest first.
    #[must_use]
    pub fn pending(&self) -> &[PendingCheckpoint] {
        &self.pending
    }

    /// The pending checkpoint with this identifier.
    pub fn pending_mut(&mut self, checkpoint: CheckpointId) -> Option<&mut PendingCheckpoint> {
        self.pending.iter_mut().find(|pending| pending.id() == checkpoint)
    }

    /// Whether an add is on its way: no restore point can be chosen until its outcome is known.
    #[must_use]
    pub fn is_adding(&self) -> bool {
        self.pending.iter().any(|pending| pending.phase() == PendingPhase::Adding)
    }

    /// What a failure must abort: everything that is not being added.
    #[must_use]
    pub fn abortable(&self) -> Vec<CheckpointId> {
        self.pending
            .iter()
            .filter(|pending| pending.phase() != PendingPhase::Adding)
            .map(PendingCheckpoint::id)
            .collect()
    }

    /// The checkpoints that can never complete because this execution, whose acknowledgement they await, has finished.
    #[must_use]
    pub fn awaiting(&self, attempt: ExecutionAttemptId) -> Vec<CheckpointId> {
        self.pending.iter().filter(|pending| pending.awaits(attempt)).map(PendingCheckpoint::id).collect()
    }

    /// Whether the schedule waits for tasks to come (back).
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.schedule == Schedule::Suspended
    }

    /// A task is missing: nothing is triggered, and an identifier that is being raised is void.
    pub fn suspend(&mut self, out: &mut Outbox) {
        debug_assert!(self.abortable().is_empty(), "aborts come before the suspension");
        if let Some(raise) = &mut self.raising {
            raise.void = true;
        }
        self.wanted_at_once = false;
        // As in Flink, a failure fails the savepoints that were asked for; their user asks again.
        self.wanted_savepoint = None;
        self.stopping = false;
        if self.schedule == Schedule::Armed {
            out.cancel_timer(Timer::CheckpointInterval);
        }
        self.schedule = Schedule::Suspended;
    }

    /// Every task runs and is registered: the schedule begins (FACT 94). Does nothing without checkpointing.
    pub fn resume(&mut self, start: ScheduleStart, out: &mut Outbox) {
        debug_assert!(self.is_suspended(), "the schedule runs already");
        let Some(settings) = self.settings else { return };
        let after_ns = match start {
            ScheduleStart::JobStart => FIRST_CHECKPOINT_DELAY_NS,
            ScheduleStart::SomeRestarted => REGION_RESTART_DELAY_NS,
            ScheduleStart::AllRestarted => settings.interval_ns,
        };
        self.schedule = Schedule::Armed;
        out.set_timer(Timer::CheckpointInterval, after_ns);
    }

    /// The interval timer fired. A stale one, of before a suspension, changes nothing.
    pub fn interval_elapsed(&mut self) {
        if self.schedule == Schedule::Armed {
            self.schedule = Schedule::Due;
        }
    }

    /// The pause timer fired.
    pub const fn pause_elapsed(&mut self) {
        self.pausing = false;
    }

    /// All tasks have read their last record: take one more checkpoint without waiting for the interval (FACT 96).
    pub fn want_at_once(&mut self) {
        self.wanted_at_once =
            !self.stopping && self.settings.is_some_and(|settings| settings.after_tasks_finish);
    }

    /// A user asks for a savepoint. Stopping takes the place of a plain one, and comes once.
    pub fn want_savepoint(&mut self, kind: CheckpointKind) {
        debug_assert_ne!(kind, CheckpointKind::Recovery, "nobody asks for those");
        let stops = matches!(kind, CheckpointKind::Stop { .. });
        if self.stopping || (self.wanted_savepoint.is_some() && !stops) {
            return;
        }
        self.wanted_savepoint = Some(kind);
        self.stopping = stops;
    }

    /// Whether the latest completed checkpoint is the savepoint that ended the job: nothing may restart from it, and
    /// nothing older may be restored any more.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.latest.as_ref().is_some_and(|latest| matches!(latest.kind, CheckpointKind::Stop { .. }))
    }

    /// The identifier to raise when a checkpoint is due and allowed now. A periodic one waits for the pause; one that is
    /// wanted at once does not (Flink's `CheckpointRequestDecider` holds back periodic requests only).
    pub fn next_raise(&mut self, out: &mut Outbox) -> Option<CheckpointId> {
        let settings = self.settings?;
        let asked = self.wanted_at_once || (self.schedule == Schedule::Due && !self.pausing);
        let room = self.pending.len() < settings.concurrent_max.max(1) as usize;
        let is_triggering = self.raising.is_some() || self.trigger_leaked;
        if is_triggering || self.is_suspended() || self.is_stopped() {
            return None;
        }
        // A savepoint waits for neither pause nor room (Flink's `forceCheckpoint`), and leaves the schedule alone.
        if let Some(kind) = self.wanted_savepoint.take() {
            let checkpoint = self.counter.next();
            self.raising = Some(Raise { checkpoint, kind, void: false });
            return Some(checkpoint);
        }
        if !asked || !room || self.stopping {
            return None;
        }
        let checkpoint = self.counter.next();
        debug_assert!(
            self.pending.last().is_none_or(|pending| pending.id() < checkpoint),
            "identifiers increase"
        );
        self.raising = Some(Raise { checkpoint, kind: CheckpointKind::Recovery, void: false });
        self.schedule = Schedule::Armed;
        out.set_timer(Timer::CheckpointInterval, settings.interval_ns);
        Some(checkpoint)
    }

    /// The high-availability service raised the counter; answers the identifier unless a failure voided it.
    pub fn raised(&mut self, checkpoint: CheckpointId) -> Option<(CheckpointId, CheckpointKind)> {
        let raise = self.raising.take();
        debug_assert_eq!(raise.map(|raise| raise.checkpoint), Some(checkpoint), "one raise at a time");
        self.counter = checkpoint;
        raise.filter(|raise| !raise.void).map(|raise| (raise.checkpoint, raise.kind))
    }

    /// A raised identifier could not be used: the world has changed. Its user asks again.
    pub const fn skipped(&mut self, kind: CheckpointKind) {
        if matches!(kind, CheckpointKind::Stop { .. }) {
            self.stopping = false;
        }
    }

    /// A checkpoint was triggered.
    pub fn triggered(&mut self, pending: PendingCheckpoint, out: &mut Outbox) {
        debug_assert_eq!(pending.id(), self.counter, "triggered under the identifier that was raised for it");
        debug_assert!(
            self.latest_id().is_none_or(|latest| latest < pending.id()),
            "identifiers never return"
        );
        if let Some(settings) = self.settings {
            out.set_timer(Timer::CheckpointTimeout(pending.id()), settings.timeout_ns);
        }
        self.wanted_at_once &= pending.kind() != CheckpointKind::Recovery;
        self.pending.push(pending);
    }

    /// The last acknowledgement came: the checkpoint turns into an add, and older ones that are not being added are
    /// subsumed. They are to be aborted now and not at the answer: otherwise one of them could still be added behind it.
    pub fn begin_adding(
        &mut self,
        checkpoint: CheckpointId,
        out: &mut Outbox,
    ) -> (CompletedCheckpoint, Vec<CheckpointId>) {
        let completed =
            self.pending_mut(checkpoint).expect("the acknowledged checkpoint is pending").begin_adding();
        out.cancel_timer(Timer::CheckpointTimeout(checkpoint));
        // Savepoints neither subsume nor are subsumed: each was asked for.
        let is_recovery = |pending: &&PendingCheckpoint| pending.kind() == CheckpointKind::Recovery;
        let subsumed: Vec<_> = match completed.kind {
            CheckpointKind::Savepoint => Vec::new(),
            _ => {
                let pending = self.pending.iter().filter(is_recovery);
                let abortable = pending.filter(|pending| pending.phase() != PendingPhase::Adding);
                abortable.map(PendingCheckpoint::id).filter(|older| *older < checkpoint).collect()
            }
        };
        debug_assert!(!subsumed.contains(&checkpoint), "{checkpoint} is being added");
        (completed, subsumed)
    }

    /// The store holds a savepoint: it is done with, and changes nothing.
    pub fn savepoint_stored(&mut self, checkpoint: CheckpointId) {
        let before = self.pending.len();
        self.pending.retain(|pending| pending.id() != checkpoint);
        debug_assert_eq!(self.pending.len() + 1, before, "{checkpoint} was not pending");
    }

    /// The store applied the add: it is complete.
    pub fn completed(&mut self, completed: Arc<CompletedCheckpoint>, out: &mut Outbox) {
        debug_assert!(self.latest_id().is_none_or(|latest| latest < completed.id), "completions increase");
        let before = self.pending.len();
        self.pending.retain(|pending| pending.id() != completed.id);
        debug_assert_eq!(self.pending.len() + 1, before, "{} was not pending", completed.id);
        self.latest = Some(completed);
        self.consecutive_failures = 0;
        self.begin_pause(out);
    }

    /// Forgets a pending checkpoint; answers whether it was there.
    pub fn abort(&mut self, checkpoint: CheckpointId, out: &mut Outbox) -> bool {
        let before = self.pending.len();
        let is_stop = |pending: &PendingCheckpoint| matches!(pending.kind(), CheckpointKind::Stop { .. });
        if self.pending.iter().any(|pending| pending.id() == checkpoint && is_stop(pending)) {
            self.stopping = false;
        }
        self.pending.retain(|pending| pending.id() != checkpoint);
        debug_assert!(before - self.pending.len() <= 1, "{checkpoint} was pending twice");
        if self.pending.len() == before {
            return false;
        }
        out.cancel_timer(Timer::CheckpointTimeout(checkpoint));
        self.begin_pause(out);
        true
    }

    /// Counts a declined, failed or timed-out checkpoint (an abort by a failover is none); answers whether the job has
    /// had more of them in a row than it tolerates, and then starts counting anew.
    pub fn count_failure(&mut self) -> bool {
        self.consecutive_failures += 1;
        let tolerable = self.settings.map_or(u32::MAX, |settings| settings.failures_tolerable);
        let exceeded = self.consecutive_failures > tolerable;
        if exceeded {
            self.consecutive_failures = 0;
        }
        exceeded
    }

    fn begin_pause(&mut self, out: &mut Outbox) {
        let pause_ns = self.settings.map_or(0, |settings| settings.pause_min_ns);
        self.pausing = pause_ns > 0;
        if self.pausing {
            out.set_timer(Timer::CheckpointPause, pause_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pending_checkpoint::SubtaskPart;
    use super::*;
    use crate::ids::OperatorUid;

    fn settings() -> CheckpointConfig {
        CheckpointConfig {
            interval_ns: 1000,
            timeout_ns: 500,
            pause_min_ns: 100,
            concurrent_max: 1,
            failures_tolerable: 1,
            retained_max: 1,
            after_tasks_finish: true,
            blocked_events_max: None,
        }
    }

    fn trigger(coordinator: &mut CheckpointCoordinator, out: &mut Outbox) -> CheckpointId {
        let raised = coordinator.next_raise(out).expect("due");
        let (checkpoint, _) = coordinator.raised(raised).expect("not void");
        let parts = vec![SubtaskPart::Awaited(ExecutionAttemptId::default())];
        coordinator.triggered(PendingCheckpoint::new(checkpoint, &[OperatorUid(0)], parts), out);
        checkpoint
    }

    #[test]
    fn a_due_checkpoint_waits_for_room_and_for_the_pause_but_a_final_one_only_for_room() {
        let mut out = Outbox::new();
        let mut coordinator = CheckpointCoordinator::new(Some(settings()));
        coordinator.interval_elapsed();
        assert_eq!(coordinator.next_raise(&mut out), None, "suspended");
        coordinator.resume(ScheduleStart::JobStart, &mut out);
        coordinator.interval_elapsed();
        let first = trigger(&mut coordinator, &mut out);
        coordinator.interval_elapsed();
        assert_eq!(coordinator.next_raise(&mut out), None, "no room");
        assert!(coordinator.abort(first, &mut out));
        assert_eq!(coordinator.next_raise(&mut out), None, "pausing");
        coordinator.want_at_once();
        assert_eq!(trigger(&mut coordinator, &mut out), CheckpointId(2));
        assert!(coordinator.abort(CheckpointId(2), &mut out));
        coordinator.pause_elapsed();
        assert_eq!(coordinator.next_raise(&mut out), None, "the interval began anew");
        coordinator.interval_elapsed();
        assert_eq!(coordinator.next_raise(&mut out), Some(CheckpointId(3)));
    }

    #[test]
    fn a_suspension_voids_the_identifier_that_is_being_raised() {
        let mut out = Outbox::new();
        let mut coordinator = CheckpointCoordinator::new(Some(settings()));
        coordinator.resume(ScheduleStart::JobStart, &mut out);
        coordinator.interval_elapsed();
        assert_eq!(coordinator.next_raise(&mut out), Some(CheckpointId(1)));
        coordinator.suspend(&mut out);
        coordinator.resume(ScheduleStart::SomeRestarted, &mut out);
        coordinator.interval_elapsed();
        assert_eq!(coordinator.next_raise(&mut out), None, "one raise at a time");
        assert_eq!(coordinator.raised(CheckpointId(1)), None, "void");
        assert_eq!(coordinator.next_raise(&mut out), Some(CheckpointId(2)), "identifiers are not used twice");
    }

    #[test]
    fn savepoints_wait_for_nothing_and_stopping_ends_the_schedule() {
        let mut out = Outbox::new();
        let mut coordinator = CheckpointCoordinator::new(Some(settings()));
        coordinator.resume(ScheduleStart::JobStart, &mut out);
        coordinator.interval_elapsed();
        let first = trigger(&mut coordinator, &mut out);
        coordinator.want_savepoint(CheckpointKind::Savepoint);
        let raised = coordinator.next_raise(&mut out).expect("there is no room, and none is needed");
        assert_eq!(coordinator.raised(raised), Some((CheckpointId(2), CheckpointKind::Savepoint)));
        coordinator.want_savepoint(CheckpointKind::Stop { drain: true });
        coordinator.want_savepoint(CheckpointKind::Savepoint);
        let raised = coordinator.next_raise(&mut out).expect("stopping comes at once");
        let (checkpoint, kind) = coordinator.raised(raised).expect("not void");
        assert_eq!(kind, CheckpointKind::Stop { drain: true });
        let parts = vec![SubtaskPart::Awaited(ExecutionAttemptId::default())];
        let pending = PendingCheckpoint::new(checkpoint, &[OperatorUid(0)], parts).of_kind(kind);
        coordinator.triggered(pending, &mut out);
        assert!(coordinator.abort(first, &mut out));
        coordinator.pause_elapsed();
        coordinator.interval_elapsed();
        coordinator.want_at_once();
        assert_eq!(coordinator.next_raise(&mut out), None, "the job is being stopped");
        assert!(coordinator.abort(checkpoint, &mut out));
        coordinator.pause_elapsed();
        assert_eq!(coordinator.next_raise(&mut out), Some(CheckpointId(4)), "the stop failed: it goes on");
    }

    #[test]
    fn a_new_leader_counts_on_from_the_counter() {
        let latest = CompletedCheckpoint {
            kind: CheckpointKind::Recovery,
            id: CheckpointId(3),
            coordinators: Vec::new(),
            subtasks: Vec::new(),
        };
        for (defects, next) in
            [(DefectSet::NONE, 8), (DefectSet::NONE.with(Defect::CounterRestartsAtRestored), 4)]
        {
            let mut out = Outbox::new();
            let mut coordinator = CheckpointCoordinator::new(Some(settings()));
            coordinator.adopt(CheckpointId(7), Some(Arc::new(latest.clone())), defects);
            coordinator.resume(ScheduleStart::JobStart, &mut out);
            coordinator.interval_elapsed();
            assert_eq!(coordinator.next_raise(&mut out), Some(CheckpointId(next)));
        }
    }

    #[test]
    fn failures_in_a_row_are_tolerated_up_to_the_limit() {
        let mut coordinator = CheckpointCoordinator::new(Some(settings()));
        assert!(!coordinator.count_failure());
        assert!(coordinator.count_failure());
        assert!(!coordinator.count_failure(), "it counts anew after the failover");
    }
}
