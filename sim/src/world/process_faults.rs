//! Applying faults of processes that go on living: all threads stop, a clock is set, a close takes long.
//!
//! **Fault budget.** As many stops and clock steps as are planned, each of one process, and any execution that is
//! stopped may take long to go. The outside systems never stop: a store that stands still is one that answers late,
//! which its calls' own faults bring. A stop may outlast the heartbeat time-out: the process is declared dead, its work
//! begins elsewhere, and it wakes up a zombie with everything that reached it meanwhile still to be handled. No
//! protocol could survive a clock that the outside system believes more than it should: one that jumps by more than a
//! transaction's time-out ends what a checkpoint holds. Afterwards the protocol owes what it owed before.

use super::World;
use super::faults::PlannedFault;
use super::pending::{Item, tie};
use super::perform::SERVICE_GRID;
use super::process::{ActorBody, index_of};
use super::window_faults::RestOfStep;
use crate::choices::{ChoiceKind, Choices, Draw, Label, Subject};
use splitrace_runtime::event::FaultKind;
use splitrace_runtime::ids::{ActorId, ProcessId};

/// Times are drawn on so many steps.
const GRID: u64 = 64;

impl World {
    /// All threads of a job manager or task manager stop.
    pub(super) fn stop_the_world(&mut self, choices: &mut dyn Choices) {
        let label = Label::new(ChoiceKind::FaultTarget, Subject::Fault(FaultKind::ProcessStop));
        let task_managers = self.processes.len() as u64 - 3;
        // Task managers first: 0 is the benign choice.
        let process = match choices.choose(label, Draw::Below(task_managers + 1)) {
            nth if nth == task_managers => ProcessId::JobManager,
            nth => ProcessId::TaskManager(nth as u32),
        };
        let length = Label::new(ChoiceKind::StopLength, Subject::Process(process));
        let steps = 1 + choices.choose(length, Draw::Below(GRID));
        let until_ns = self.now_ns + self.scenario.faults.processes.stop_max_ns * steps / GRID;
        let state = &mut self.processes[index_of(process)];
        if !state.alive || state.is_stopped() {
            return;
        }
        state.stopped_until_ns = until_ns;
        self.stopped_count += 1;
        self.tell_fault(FaultKind::ProcessStop, None);
        self.schedule_fault(until_ns, PlannedFault::ProcessWakes { process });
    }

    /// The process to which an item comes, if it is one that may stand still.
    fn receiver_of(&self, item: &Item) -> Option<usize> {
        match item {
            Item::Turn { slot } | Item::Timer { slot, .. } | Item::InputAnswer { slot, .. } => {
                Some(self.actors[*slot].process)
            }
            Item::SessionTimer { process, .. } => Some(*process),
            Item::Frame(frame) => Some(index_of(frame.to.process)),
            _ => None,
        }
    }

    /// Puts what comes to a stopped process aside until it wakes; gives back everything else.
    pub(super) fn put_aside(&mut self, item: Item) -> Option<Item> {
        let Some(index) = self.receiver_of(&item) else { return Some(item) };
        let process = &mut self.processes[index];
        if !process.is_stopped() {
            return Some(item);
        }
        process.put_aside.push(item);
        None
    }

    /// A stopped process goes on with what came meanwhile, in the order in which it came.
    pub(super) fn wake(&mut self, index: usize) {
        let process = &mut self.processes[index];
        if !process.is_stopped() {
            return;
        }
        process.stopped_until_ns = 0;
        self.stopped_count -= 1;
        for (nth, item) in std::mem::take(&mut process.put_aside).into_iter().enumerate() {
            self.pending.push(self.now_ns, tie(2, nth as u64), item);
        }
        debug_assert!(
            self.processes.iter().filter(|process| process.is_stopped()).count() == self.stopped_count
        );
    }

    /// The clock of a process is set forwards or back.
    pub(super) fn step_a_clock(&mut self, choices: &mut dyn Choices) {
        let label = Label::new(ChoiceKind::FaultTarget, Subject::Fault(FaultKind::ClockStep));
        let index = choices.choose(label, Draw::Below(self.processes.len() as u64)) as usize;
        let label = Label::new(ChoiceKind::ClockSkew, Subject::Fault(FaultKind::ClockStep));
        let steps = 1 + choices.choose(label, Draw::Below(GRID));
        let by_ns = signed(self.scenario.faults.processes.clock_step_max_ns, steps, GRID);
        self.processes[index].clock.step(by_ns);
        self.tell_fault(FaultKind::ClockStep, None);
    }

    /// Decides and applies a slow close of an execution that its task manager stops: it does nothing any more, but holds
    /// its connections, and its task manager waits for it.
    pub(super) fn close_slowly(
        &mut self,
        slot: usize,
        stopped_by: usize,
        choices: &mut dyn Choices,
    ) -> Option<RestOfStep> {
        let faults = self.scenario.faults.processes;
        if self.healed || faults.slow_close.numerator == 0 {
            return None;
        }
        let process = self.processes[self.actors[slot].process].id;
        let label = Label::new(ChoiceKind::SlowClose, Subject::Process(process));
        let steps = choices.choose(label, super::faults::draw(faults.slow_close, SERVICE_GRID));
        if steps == 0 {
            return None;
        }
        debug_assert!(matches!(self.actors[slot].id, ActorId::Task(_)));
        debug_assert!(matches!(self.actors[stopped_by].body, ActorBody::TaskManager(_)));
        let until_ns = self.now_ns + faults.slow_close_max_ns * steps / SERVICE_GRID;
        self.actors[slot].zombie = true;
        self.actors[slot].paused_until_ns = until_ns;
        self.actors[stopped_by].paused_until_ns = until_ns;
        self.schedule_fault(until_ns, PlannedFault::ZombieEnds { slot });
        self.tell_fault(FaultKind::SlowClose, None);
        Some(RestOfStep::StandsStill)
    }
}

/// A part of the most, forwards for odd steps and back for even ones; 0 for none.
pub(super) fn signed(most: u64, steps: u64, grid: u64) -> i64 {
    let part = i64::try_from(u128::from(most) * u128::from(steps) / u128::from(grid)).unwrap_or(i64::MAX);
    if steps % 2 == 1 { part } else { -part }
}
