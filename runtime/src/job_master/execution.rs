//! A subtask and its current execution.

use crate::ids::{AttemptNumber, CheckpointId, ExecutionAttemptId, ProcessAddress, SubtaskId};
use crate::message::ExecutionState;

/// Where the current execution of a subtask stands, seen from the job master.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Phase {
    /// Nothing was deployed yet by this leader.
    Created,
    /// Sent to a task manager.
    Deploying,
    /// It restores its state; its gateways are usable.
    Initializing,
    /// It runs.
    Running,
    /// It was told to stop and has not answered.
    Canceling,
    /// It ended well, or was restored as finished.
    Finished,
    /// It stopped because it was told to.
    Canceled,
    /// It failed, or was lost.
    Failed,
}

/// A subtask with its current execution. Older executions are forgotten: nothing they say is heard.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Execution {
    subtask: SubtaskId,
    attempts: u32,
    phase: Phase,
    task_manager: Option<ProcessAddress>,
    /// Whether the main thread has handled the reader's registration; only then it can take part in a checkpoint. A
    /// subtask behind an exchange has no reader.
    pub(super) registered: bool,
    /// Whether its source has read END_OF_DATA.
    pub(super) end_of_data: bool,
    /// It says that it has finished, and that this is the last checkpoint it acknowledged or declined.
    pub(super) held_finish: Option<Option<CheckpointId>>,
    /// A message found no such task where it should run.
    missing: bool,
    /// Heartbeat checks since it was deployed, cancelled or missed.
    pub(super) checks: u32,
}

impl Execution {
    pub(super) const fn new(subtask: SubtaskId) -> Self {
        Self {
            subtask,
            attempts: 0,
            phase: Phase::Created,
            task_manager: None,
            registered: subtask.vertex.is_behind_exchange(),
            end_of_data: false,
            held_finish: None,
            missing: false,
            checks: 0,
        }
    }

    pub(super) const fn subtask(&self) -> SubtaskId {
        self.subtask
    }

    pub(super) const fn phase(&self) -> Phase {
        self.phase
    }

    /// Where the current execution was sent.
    pub(super) const fn task_manager(&self) -> Option<ProcessAddress> {
        self.task_manager
    }

    /// The current execution, if there was one in this term.
    pub(super) fn attempt(&self) -> Option<ExecutionAttemptId> {
        let attempt = AttemptNumber(self.attempts.checked_sub(1)?);
        Some(ExecutionAttemptId { vertex: self.subtask.vertex, subtask: self.subtask.subtask, attempt })
    }

    /// The execution that its next deployment begins.
    pub(super) const fn next_attempt(&self) -> AttemptNumber {
        AttemptNumber(self.attempts)
    }

    /// Deployed, and neither ended nor told to.
    pub(super) const fn is_live(&self) -> bool {
        matches!(self.phase, Phase::Deploying | Phase::Initializing | Phase::Running)
    }

    /// Whether nothing of it runs any more, as far as the job master cares.
    pub(super) const fn is_terminal(&self) -> bool {
        matches!(self.phase, Phase::Created | Phase::Finished | Phase::Canceled | Phase::Failed)
    }

    /// Whether its operators may be heard: Flink's `TaskNotRunningException` otherwise.
    pub(super) const fn is_heard(&self) -> bool {
        matches!(self.phase, Phase::Initializing | Phase::Running)
    }

    /// Whether a checkpoint may count on it.
    pub(super) const fn is_checkpointable(&self) -> bool {
        self.has_started() && self.held_finish.is_none()
    }

    /// Whether it runs and its reader is registered: all that a deployment is followed by has arrived.
    pub(super) const fn has_started(&self) -> bool {
        matches!(self.phase, Phase::Running) && self.registered
    }

    /// Whether word of it is overdue: that it started, or how it ended.
    pub(super) const fn owes_word(&self) -> bool {
        self.is_live() && (self.missing || !self.has_started())
    }

    /// A message found no such task: its end is on the way, or the word of it is lost.
    pub(super) const fn missed(&mut self) {
        debug_assert!(self.is_live(), "nobody is surprised that what has ended is not there");
        if !self.missing {
            self.missing = true;
            self.checks = 0;
        }
    }

    /// Begins a new execution.
    pub(super) fn deploy(&mut self, task_manager: ProcessAddress) -> ExecutionAttemptId {
        debug_assert!(self.is_terminal(), "{} still has an execution in {:?}", self.subtask, self.phase);
        *self = Self {
            attempts: self.attempts + 1,
            phase: Phase::Deploying,
            task_manager: Some(task_manager),
            ..Self::new(self.subtask)
        };
        self.attempt().expect("one was just begun")
    }

    /// Takes it for finished without running it: its vertex had finished in the restored checkpoint.
    pub(super) fn restore_as_finished(&mut self) {
        debug_assert!(self.is_terminal(), "{} still runs", self.subtask);
        self.phase = Phase::Finished;
        self.task_manager = None;
    }

    /// It started to restore, or runs.
    pub(super) fn started(&mut self, state: ExecutionState) {
        debug_assert!(self.is_live(), "{} is {:?}", self.subtask, self.phase);
        self.phase = match state {
            ExecutionState::Initializing => Phase::Initializing,
            ExecutionState::Running => Phase::Running,
            other => unreachable!("{other:?} is no start"),
        };
    }

    /// It was told to stop.
    pub(super) fn canceling(&mut self) {
        debug_assert!(self.is_live(), "{} is {:?}", self.subtask, self.phase);
        self.phase = Phase::Canceling;
        self.checks = 0;
    }

    /// It is over.
    pub(super) fn ended(&mut self, state: ExecutionState) {
        debug_assert!(!self.is_terminal(), "{} ended twice: {:?}", self.subtask, self.phase);
        self.phase = match state {
            ExecutionState::Finished => Phase::Finished,
            ExecutionState::Canceled => Phase::Canceled,
            ExecutionState::Failed => Phase::Failed,
            other => unreachable!("{other:?} is no end"),
        };
        self.held_finish = None;
        debug_assert!(self.is_terminal(), "an end is an end");
    }
}
