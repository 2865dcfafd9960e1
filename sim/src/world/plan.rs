//! Applying the plan of a scenario: what is to break at its named places. Where that is, [`crate::points`] decides.

use super::World;
use super::faults::FrameFault;
use super::process::{ActorBody, index_of};
use super::window_faults::RestOfStep;
use crate::choices::Choices;
use crate::points::{Action, Facts, Moment};
use splitrace_runtime::event::{EventKind, FaultKind};
use splitrace_runtime::ids::*;
use splitrace_runtime::session::Frame;

/// What a plan wants done at an event, and whom it is about.
#[derive(Clone, Debug, Default)]
pub(super) struct PlannedStrike {
    actions: Vec<Action>,
    attempt: Option<ExecutionAttemptId>,
}

impl PlannedStrike {
    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }
}

impl World {
    /// What the plan wants done at an event; nothing after healing.
    pub(super) fn planned_at(&mut self, moment: Moment, event: &EventKind, actor: ActorId) -> PlannedStrike {
        if self.healed || self.plan.is_over() {
            return PlannedStrike::default();
        }
        let actions = self.plan.event(&self.scenario.plan, moment, event, actor, self.now_ns);
        if actions.is_empty() {
            return PlannedStrike::default();
        }
        PlannedStrike { actions, attempt: Facts::of_event(event, actor).attempt() }
    }

    /// What the plan wants to befall a frame.
    pub(super) fn planned_frame_fault(&mut self, frame: &Frame) -> Option<FrameFault> {
        if self.healed || self.plan.knows_no_message() {
            return None;
        }
        Some(match self.plan.frame(&self.scenario.plan, frame, self.now_ns)? {
            Action::Drop | Action::Lose => FrameFault::LostAlone,
            Action::Double => FrameFault::Doubled,
            Action::Delay { for_ns } => FrameFault::Delayed { for_ns },
            other => unreachable!("no step does '{other}' to a message"),
        })
    }

    /// Lets what the plan wants come; `slot` is the actor that is at the place, if it is one, `process` its process.
    pub(super) fn strike_planned(
        &mut self,
        slot: Option<usize>,
        process: usize,
        planned: &PlannedStrike,
        choices: &mut dyn Choices,
    ) -> RestOfStep {
        let mut rest = RestOfStep::GoesOn;
        for action in &planned.actions {
            tracing::debug!(%action, now_ns = self.now_ns, "a place of the plan is reached");
            rest = rest.max(self.strike_one(*action, slot, process, planned.attempt, choices));
        }
        rest
    }

    fn strike_one(
        &mut self,
        action: Action,
        slot: Option<usize>,
        process: usize,
        attempt: Option<ExecutionAttemptId>,
        choices: &mut dyn Choices,
    ) -> RestOfStep {
        match action {
            Action::FailTask { target } => {
                let hit = match target {
                    Some((vertex, subtask)) => self.running_task(vertex, subtask),
                    None => self.choose_task(attempt, choices),
                };
                if let Some(hit) = hit {
                    self.fail_task(hit, None, choices);
                }
                if hit.is_some() && hit == slot {
                    return RestOfStep::NeverHappens;
                }
            }
            Action::CrashTaskManager { target } => {
                let index = match target {
                    Some(number) => index_of(ProcessId::TaskManager(number)),
                    None => self.choose_task_manager(attempt, choices),
                };
                self.crash_if_alive(index, choices);
            }
            Action::CrashJobManager => self.crash_if_alive(index_of(ProcessId::JobManager), choices),
            Action::CrashStore => self.crash_store_with_all(choices),
            Action::Pause { for_ns } => {
                if let Some(slot) = slot {
                    self.actors[slot].paused_until_ns = self.now_ns + for_ns;
                    self.tell_fault(FaultKind::ThreadPause, None);
                    return RestOfStep::StandsStill;
                }
                self.hold_process(process, for_ns);
            }
            Action::Hold { for_ns } => self.hold_process(process, for_ns),
            Action::Cut { from, to, for_ns } => {
                self.network.cut(from, to, self.now_ns + for_ns, false);
                self.tell_fault(FaultKind::Partition, None);
            }
            Action::Outlive { for_ns } => {
                let concerned = attempt.map(ActorId::Task);
                for actor in self.actors.iter_mut().filter(|actor| actor.alive && Some(actor.id) == concerned)
                {
                    actor.outlives_ns = for_ns;
                }
            }
            Action::Drop | Action::Lose | Action::Double | Action::Delay { .. } => {
                unreachable!("no step does '{action}' to an event")
            }
        }
        RestOfStep::GoesOn
    }

    fn hold_process(&mut self, process: usize, for_ns: u64) {
        let held = &mut self.processes[process].clogged_until_ns;
        *held = (*held).max(self.now_ns + for_ns);
        self.tell_fault(FaultKind::DelaySpike, None);
    }

    fn crash_if_alive(&mut self, index: usize, choices: &mut dyn Choices) {
        if self.processes[index].alive {
            self.crash(index, None, choices);
        }
    }

    /// The running execution of a subtask.
    fn running_task(&self, vertex: u16, subtask: u32) -> Option<usize> {
        let subtask = SubtaskId { vertex: OperatorUid(vertex), subtask: SubtaskIndex(subtask) };
        self.actors.iter().position(|actor| {
            let runs = matches!(&actor.body, ActorBody::Task(task) if !task.has_ended());
            let is_it = matches!(actor.id, ActorId::Task(attempt) if attempt.subtask_id() == subtask);
            runs && is_it && actor.alive && !actor.zombie
        })
    }
}
