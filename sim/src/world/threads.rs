//! Threads that share a role's memory: the fetchers of a task's reader, and the worker beside a source coordinator.
//!
//! Each has a slot of its own, with its own turns and pauses, so a seed chooses how they and the role's thread
//! interleave. Their state lies in the role: one turn of any of them may make each of the others runnable, and whatever
//! ends the role's slot ends theirs. A fetcher has timers of its own; the worker's are the coordinator's.

use super::World;
use super::pending::{Item, actor_code, tie};
use super::perform::SERVICE_GRID;
use super::process::ActorBody;
use crate::choices::{ChoiceKind, Choices, Draw, Label, Subject};
use crate::outside::input;
use splitrace_runtime::actor::{Outbox, TurnDecision};
use splitrace_runtime::api::input_io::{InputAnswer, InputOperation};
use splitrace_runtime::ids::{ActorId, FetcherNumber};
use std::rc::Rc;

impl World {
    /// Whether a turn of this slot's thread would do something. A role that stands still in the middle of a step holds the
    /// lock on its memory: what its other threads tell must not overtake what the step has yet to tell.
    pub(super) fn is_runnable(&self, slot: usize) -> bool {
        match self.actors[slot].body {
            ActorBody::Fetcher { task, number } => {
                let owner = &self.actors[task];
                match &owner.body {
                    ActorBody::Task(task) => owner.held.is_empty() && task.fetcher_is_runnable(number),
                    _ => false,
                }
            }
            ActorBody::Worker { coordinator } => {
                let owner = &self.actors[coordinator];
                match &owner.body {
                    ActorBody::Coordinator(role) => owner.held.is_empty() && role.worker_is_runnable(),
                    _ => false,
                }
            }
            _ => self.actors[slot].has_work(),
        }
    }

    /// The thread of this slot does one thing.
    pub(super) fn turn_of(&mut self, slot: usize, decision: TurnDecision, outbox: &mut Outbox) {
        match &mut self.actors[slot].body {
            ActorBody::Fetcher { task, number } => {
                let (task, number) = (*task, *number);
                if let ActorBody::Task(task) = &mut self.actors[task].body {
                    Rc::make_mut(task).fetcher_turn(number, decision, outbox);
                }
            }
            ActorBody::Worker { coordinator } => {
                let coordinator = *coordinator;
                if let ActorBody::Coordinator(coordinator) = &mut self.actors[coordinator].body {
                    Rc::make_mut(coordinator).worker_turn(outbox);
                }
            }
            body => body.turn(decision, outbox),
        }
    }

    /// The slot of the role whose memory the thread of this slot changes; nothing for roles with one thread.
    pub(super) fn memory_of(&self, slot: usize) -> Option<usize> {
        match self.actors[slot].body {
            ActorBody::Fetcher { task, .. } => Some(task),
            ActorBody::Worker { coordinator } => Some(coordinator),
            ActorBody::Task(_) | ActorBody::Coordinator(_) => Some(slot),
            _ => None,
        }
    }

    /// Enables the turns that a step of this slot's thread made possible.
    pub(super) fn schedule_after_step(
        &mut self,
        slot: usize,
        memory: Option<usize>,
        choices: &mut dyn Choices,
    ) {
        match memory {
            Some(role) => self.schedule_threads(role, choices),
            None => self.schedule_turn(slot, choices),
        }
    }

    /// Enables the turns that a change of a role's memory made possible.
    pub(super) fn schedule_threads(&mut self, role: usize, choices: &mut dyn Choices) {
        self.schedule_turn(role, choices);
        for at in 0..self.actors[role].threads.len() {
            self.schedule_turn(self.actors[role].threads[at], choices);
        }
    }

    /// The worker beside the coordinator in this slot.
    pub(super) fn add_worker(&mut self, coordinator: usize) {
        let ActorId::SourceCoordinator(operator) = self.actors[coordinator].id else {
            debug_assert!(false, "only a coordinator has a worker");
            return;
        };
        let (process, epoch) = (self.actors[coordinator].process, self.actors[coordinator].epoch);
        let body = ActorBody::Worker { coordinator };
        let worker = self.add_actor(ActorId::CoordinatorWorker(operator), process, epoch, body);
        self.actors[coordinator].threads.push(worker);
    }

    /// The slot whose timers the thread of this slot sets.
    pub(super) fn timers_of(&self, slot: usize) -> usize {
        match self.actors[slot].body {
            ActorBody::Worker { coordinator } => coordinator,
            _ => slot,
        }
    }

    /// A task's reader starts a fetcher.
    pub(super) fn start_fetcher(&mut self, slot: usize, number: FetcherNumber, choices: &mut dyn Choices) {
        let (process, epoch) = (self.actors[slot].process, self.actors[slot].epoch);
        let ActorId::Task(task) = self.actors[slot].id else {
            debug_assert!(false, "only a task's reader has fetchers");
            return;
        };
        let id = ActorId::Fetcher { task, fetcher: number };
        let fetcher = self.add_actor(id, process, epoch, ActorBody::Fetcher { task: slot, number });
        self.actors[slot].threads.push(fetcher);
        self.schedule_turn(fetcher, choices);
    }

    /// A thread of a task, or the task with all its threads, is about to be gone.
    pub(super) fn end_threads(&mut self, slot: usize) {
        if let ActorBody::Fetcher { task, .. } = self.actors[slot].body {
            self.actors[task].threads.retain(|thread| *thread != slot);
        }
        for thread in std::mem::take(&mut self.actors[slot].threads) {
            debug_assert!(self.actors[thread].threads.is_empty(), "a fetcher has no threads");
            self.actors[thread].end();
            let process = self.actors[thread].process;
            self.processes[process].slots.retain(|held| *held != thread);
        }
    }

    /// The time is over for which a fetcher's fetch blocks.
    pub(super) fn fetch_due(&mut self, slot: usize, number: FetcherNumber) {
        let Some(task) = self.memory_of(slot) else { return };
        debug_assert_ne!(task, slot, "the timer is the fetcher's");
        if let ActorBody::Task(task) = &mut self.actors[task].body {
            Rc::make_mut(task).fetch_due(number);
        }
    }

    /// A thread asks the outside for something of what its source reads, and waits as for a system call. The answer takes
    /// as long as the source has no next record, and whatever a disk takes.
    pub(super) fn ask_input(&mut self, slot: usize, operation: &InputOperation, choices: &mut dyn Choices) {
        let actor = &self.actors[slot];
        debug_assert!(
            matches!(actor.body, ActorBody::Fetcher { .. } | ActorBody::Worker { .. }),
            "{} has its answers mailed",
            actor.id
        );
        let answer = input::answer(&self.job, operation, self.now_ns);
        let records_ns = match actor.id {
            ActorId::Fetcher { task, .. } => {
                let vertex = self.job.vertices.iter().find(|vertex| vertex.operator == task.vertex);
                vertex.map_or(0, |vertex| vertex.task.record_interval_ns.saturating_mul(answer.file_bytes()))
            }
            _ => 0,
        };
        let process = self.processes[actor.process].id;
        let label = Label::new(ChoiceKind::OutsideDelay, Subject::Process(process));
        let steps = choices.choose(label, Draw::Below(SERVICE_GRID));
        let disk_ns = 1 + self.scenario.network.service_jitter_ns * steps / SERVICE_GRID;
        let tie = tie(4, actor_code(actor.id));
        let item = Item::InputAnswer { slot, answer: Box::new(answer) };
        self.pending.push(self.now_ns + records_ns + disk_ns, tie, item);
    }

    /// The outside answers a thread. One that has died meanwhile does not care.
    pub(super) fn input_answers(&mut self, slot: usize, answer: InputAnswer, choices: &mut dyn Choices) {
        let Some(role) = self.memory_of(slot).filter(|_| self.actors[slot].alive) else { return };
        debug_assert_ne!(role, slot, "a role's own thread asks for nothing");
        let fetcher = match self.actors[slot].body {
            ActorBody::Fetcher { number, .. } => Some(number),
            _ => None,
        };
        match (&mut self.actors[role].body, fetcher) {
            (ActorBody::Task(task), Some(fetcher)) => Rc::make_mut(task).fetch_answered(fetcher, answer),
            (ActorBody::Coordinator(coordinator), None) => Rc::make_mut(coordinator).worker_answered(answer),
            _ => debug_assert!(false, "only fetchers and workers ask"),
        }
        self.schedule_threads(slot, choices);
    }
}
