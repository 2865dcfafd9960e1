//! Applying faults that are aimed at a window of the protocol, at the very event that opened it.
//!
//! A crash or an exception cuts what was left of the step. A thread that stands still keeps it and goes on later: many a
//! window opens and ends in one step (prepare and snapshot do), and a delay between two steps would miss it. Frames are
//! held up before the effect that the event is attached to, so that a reply that goes with its event is late too.
//!
//! A fault that finds nobody to hit is not made up for later and not told: it would miss its window.

use super::World;
use super::faults::WindowFault;
use super::process::{ActorBody, index_of};
use crate::choices::{ChoiceKind, Choices, Draw, Label, Subject};
use splitrace_runtime::event::{FaultKind, Window};
use splitrace_runtime::ids::*;

/// Delays are drawn on so many steps.
const GRID: u64 = 64;

/// A fault that was decided for a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AimedFault {
    pub fault: WindowFault,
    pub window: Window,
    /// The execution that the window is about.
    pub attempt: Option<ExecutionAttemptId>,
}

/// What becomes of the rest of the step that opened a window; the later of two weighs more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum RestOfStep {
    /// It goes on.
    GoesOn,
    /// Its thread stands still; it goes on later.
    StandsStill,
    /// Its thread threw: it never happens.
    NeverHappens,
}

impl World {
    /// Decides whether a window that just opened gets a fault.
    pub(super) fn aim(
        &mut self,
        opened: super::emit::Opened,
        choices: &mut dyn Choices,
    ) -> Option<AimedFault> {
        let window = opened.window?;
        let fault = self.decide_window_fault(window, choices)?;
        Some(AimedFault { fault, window, attempt: opened.attempt })
    }

    /// Holds up what a process sends from here on, when that is the fault.
    pub(super) fn hold_up(&mut self, process: usize, aimed: AimedFault, choices: &mut dyn Choices) {
        if aimed.fault == WindowFault::Clog {
            self.processes[process].clogged_until_ns = self.now_ns + self.window_delay(aimed.window, choices);
            self.tell_fault(FaultKind::DelaySpike, Some(aimed.window));
        }
    }

    /// Lets every other fault come; `slot` is the actor that opened the window, if it is one.
    pub(super) fn strike(
        &mut self,
        slot: Option<usize>,
        aimed: AimedFault,
        choices: &mut dyn Choices,
    ) -> RestOfStep {
        let window = aimed.window;
        match (aimed.fault, slot) {
            (WindowFault::Clog, _) => {}
            (WindowFault::Pause, Some(slot)) => {
                self.actors[slot].paused_until_ns = self.now_ns + self.window_delay(window, choices);
                self.tell_fault(FaultKind::ThreadPause, Some(window));
                return RestOfStep::StandsStill;
            }
            (WindowFault::Pause, None) => unreachable!("an outside system's replies are held up instead"),
            (WindowFault::TaskFailure, _) => {
                let hit = self.choose_task(aimed.attempt, choices);
                if let Some(hit) = hit {
                    self.fail_task(hit, Some(window), choices);
                }
                if hit.is_some() && hit == slot {
                    return RestOfStep::NeverHappens;
                }
            }
            (WindowFault::TaskManagerCrash, _) => {
                let index = self.choose_task_manager(aimed.attempt, choices);
                if self.processes[index].alive {
                    self.crash(index, Some(window), choices);
                }
            }
            (WindowFault::JobManagerCrash, _) => {
                let index = index_of(ProcessId::JobManager);
                if self.processes[index].alive {
                    self.crash(index, Some(window), choices);
                }
            }
        }
        RestOfStep::GoesOn
    }

    /// The task that a failure hits: the execution concerned and no other, or any that runs.
    pub(super) fn choose_task(
        &self,
        attempt: Option<ExecutionAttemptId>,
        choices: &mut dyn Choices,
    ) -> Option<usize> {
        let can_throw = |slot: &usize| {
            let actor = &self.actors[*slot];
            let runs = actor.alive && !actor.zombie && !self.processes[actor.process].is_stopped();
            runs && matches!(&actor.body, ActorBody::Task(task) if !task.has_ended())
        };
        let mut candidates = (0..self.actors.len()).filter(can_throw);
        if let Some(attempt) = attempt {
            return candidates.find(|slot| self.actors[*slot].id == ActorId::Task(attempt));
        }
        let candidates: Vec<usize> = candidates.collect();
        let label = Label::new(ChoiceKind::FaultTarget, Subject::Fault(FaultKind::TaskFailure));
        let nth = choices.choose(label, Draw::Below((candidates.len() as u64).max(1)));
        candidates.get(nth as usize).copied()
    }

    /// The index of the task manager that a crash hits: the execution's, or any.
    pub(super) fn choose_task_manager(
        &self,
        attempt: Option<ExecutionAttemptId>,
        choices: &mut dyn Choices,
    ) -> usize {
        let runs = |actor: &&super::process::ActorSlot| {
            actor.alive && attempt.is_some_and(|attempt| actor.id == ActorId::Task(attempt))
        };
        if let Some(actor) = self.actors.iter().find(runs) {
            return actor.process;
        }
        let label = Label::new(ChoiceKind::FaultTarget, Subject::Fault(FaultKind::TaskManagerCrash));
        let count = self.processes.len() as u64 - 3;
        index_of(ProcessId::TaskManager(choices.choose(label, Draw::Below(count)) as u32))
    }

    fn window_delay(&self, window: Window, choices: &mut dyn Choices) -> u64 {
        let label = Label::new(ChoiceKind::WindowDelay, Subject::Window(window));
        let steps = 1 + choices.choose(label, Draw::Below(GRID));
        // An add is in doubt only after its call was sent as often as it may be, so this delay must outlast that.
        let outlasting = if window == Window::LastAcknowledgeToAdd { 4 } else { 1 };
        self.scenario.faults.spike_max_ns * steps * outlasting / GRID
    }
}
