//! Performing what a turn wants done, output by output. A crash or an exception cuts the rest.

use super::World;
use super::emit::Opened;
use super::faults::{OutsideFault, WindowFault};
use super::pending::{Item, actor_code, process_code, tie};
use super::plan::PlannedStrike;
use super::process::{ActorBody, ActorSlot, index_of};
use super::window_faults::{AimedFault, RestOfStep};
use crate::choices::{ChoiceKind, Choices, Draw, Label, Subject};
use crate::outside::OutsideDecision;
use crate::points::Moment;
use splitrace_runtime::actor::{Effect, Outbox, Output};
use splitrace_runtime::event::{EventKind, FaultKind};
use splitrace_runtime::ids::*;
use splitrace_runtime::message::{Message, Timer};
use splitrace_runtime::task::Task;
use std::rc::Rc;

/// Service times are drawn on so many steps.
pub(super) const SERVICE_GRID: u64 = 64;

impl World {
    /// Performs the outputs of an actor's turn in order, until the end, a cut, or the actor's own death.
    pub(super) fn perform_turn(&mut self, slot: usize, outbox: &mut Outbox, choices: &mut dyn Choices) {
        let process = self.actors[slot].process;
        let armed = self.processes[process].crash_armed && self.processes[process].alive;
        if armed {
            let label = Label::new(ChoiceKind::CutAt, Subject::Process(self.processes[process].id));
            let kept = outbox.outputs().len() as u64;
            // 0 keeps everything: the crash comes right after the step.
            let cut = choices.choose(label, Draw::Below(kept + 1));
            outbox.cut((kept - cut) as usize);
            if cut > 0 {
                self.tell_fault(FaultKind::OutboxCut, None);
            }
        }
        let incarnation = self.processes[process].incarnation;
        self.perform_outputs(slot, outbox, choices);
        if armed && self.processes[process].alive && self.processes[process].incarnation == incarnation {
            self.crash(process, None, choices);
        }
    }

    fn perform_outputs(&mut self, slot: usize, outbox: &mut Outbox, choices: &mut dyn Choices) {
        let process = self.actors[slot].process;
        let incarnation = self.processes[process].incarnation;
        let mut outputs = outbox.drain();
        while let Some(output) = outputs.next() {
            let (rest, undone) = self.perform_output(slot, output, choices);
            if rest == RestOfStep::NeverHappens || !self.acts_on(slot, incarnation) {
                // The process died, or the thread ended: what was left of this step never happens.
                break;
            }
            // A fetcher shares its queue with its task, so what its step did to it is told before it stands still.
            if rest == RestOfStep::StandsStill && !matches!(self.actors[slot].id, ActorId::Fetcher { .. }) {
                self.actors[slot].held.extend(undone.into_iter().chain(outputs));
                break;
            }
        }
    }

    /// Performs one output of a step; answers what becomes of the rest, and the output itself where the plan stopped the
    /// step before it. An event without an effect reports a state that the role is in already: nobody stands still
    /// between the two.
    fn perform_output(
        &mut self,
        slot: usize,
        output: Output,
        choices: &mut dyn Choices,
    ) -> (RestOfStep, Option<Output>) {
        let (actor, process) = (self.actors[slot].id, self.actors[slot].process);
        let (mut planned, mut rest_before) = (PlannedStrike::default(), RestOfStep::GoesOn);
        if let Some(event) = &output.event
            && !self.plan.is_over()
        {
            let before = self.planned_at(Moment::Before, event, actor);
            if !before.is_empty() {
                let life = self.processes[process].incarnation;
                rest_before = self.strike_planned(Some(slot), process, &before, choices);
                let is_stopped = rest_before == RestOfStep::StandsStill && output.effect.is_some();
                if rest_before == RestOfStep::NeverHappens || is_stopped || !self.acts_on(slot, life) {
                    return (rest_before, Some(output));
                }
            }
            planned = self.planned_at(Moment::Told, event, actor);
        }
        let Output { effect, event } = output;
        let opened = event.and_then(|event| self.tell(process, actor, self.epoch_of(slot), event));
        let aimed = opened.and_then(|opened| self.react(opened, choices));
        if let Some(aimed) = aimed {
            self.hold_up(process, aimed, choices);
        }
        let mut rest = rest_before;
        if let Some(effect) = effect {
            rest = rest.max(self.perform(slot, effect, choices));
        }
        if let Some(aimed) = aimed {
            rest = rest.max(self.strike(Some(slot), aimed, choices));
        }
        if planned.is_empty() {
            return (rest, None);
        }
        (self.strike_planned(Some(slot), process, &planned, choices).max(rest), None)
    }

    /// Whether an actor, and that life of its process, go on.
    fn acts_on(&self, slot: usize, life: Incarnation) -> bool {
        let process = &self.processes[self.actors[slot].process];
        process.alive && process.incarnation == life && self.actors[slot].alive
    }

    /// What the world decides when an event opened a window or began a failover.
    fn react(&mut self, opened: Opened, choices: &mut dyn Choices) -> Option<AimedFault> {
        if opened.failover {
            self.decide_second_fault(choices);
        }
        self.aim(opened, choices)
    }

    /// A thread that stood still in the middle of a step does the rest of it.
    pub(super) fn resume_step(&mut self, slot: usize, choices: &mut dyn Choices) {
        let mut outbox = std::mem::take(&mut self.outbox);
        debug_assert!(outbox.is_empty(), "the last step's outputs were all performed, kept or cut");
        outbox.put_back(self.actors[slot].held.drain(..));
        let memory = self.memory_of(slot);
        self.perform_turn(slot, &mut outbox, choices);
        self.outbox = outbox;
        self.schedule_after_step(slot, memory, choices);
    }

    fn perform(&mut self, slot: usize, effect: Effect, choices: &mut dyn Choices) -> RestOfStep {
        let process = self.actors[slot].process;
        match effect {
            Effect::Send { to, stream, message, token } => {
                self.send(process, to, stream, message, token, choices)
            }
            Effect::Mail { to, mail } => {
                if let Some(receiver) = self.find_actor(process, to) {
                    self.actors[receiver].body.enqueue(mail);
                    self.schedule_turn(receiver, choices);
                }
            }
            Effect::SetTimer { timer, after_ns } => self.set_timer(self.timers_of(slot), timer, after_ns),
            Effect::CancelTimer { timer } => self.actors[slot].cancel_timer(timer),
            Effect::ResetSession { peer } => self.reset_session(process, peer, choices),
            Effect::StartTask(descriptor) => {
                let (attempt, epoch) = (descriptor.attempt, descriptor.leader_epoch);
                let mut task = Task::new(*descriptor);
                if super::emit::is_spent(&task.descriptor().config, self.user_failure_count) {
                    task.disarm_user_failure();
                }
                let body = ActorBody::Task(Rc::new(task));
                let started = self.add_actor(ActorId::Task(attempt), process, epoch, body);
                self.schedule_turn(started, choices);
            }
            Effect::StopTask(attempt) => return self.stop_task(slot, attempt, choices),
            Effect::StartFetcher(fetcher) => self.start_fetcher(slot, fetcher, choices),
            Effect::EndFetcher => self.remove_actor(slot),
            Effect::AskInput(operation) => self.ask_input(slot, &operation, choices),
            Effect::EndTerm => self.end_term(process, choices),
        }
        RestOfStep::GoesOn
    }

    pub(super) fn add_actor(
        &mut self,
        id: ActorId,
        process: usize,
        epoch: LeaderEpoch,
        body: ActorBody,
    ) -> usize {
        self.actors.push(ActorSlot::new(id, process, epoch, body));
        let slot = self.actors.len() - 1;
        self.processes[process].slots.push(slot);
        slot
    }

    fn set_timer(&mut self, slot: usize, timer: Timer, after_ns: u64) {
        let actor = &mut self.actors[slot];
        let setting = actor.set_timer(timer);
        let tie = tie(3, actor_code(actor.id));
        self.pending.push(self.now_ns + after_ns, tie, Item::Timer { slot, timer, setting });
    }

    /// A task's thread is told to stop: it is gone, goes on as a zombie for a while, or takes long to go.
    fn stop_task(
        &mut self,
        stopped_by: usize,
        attempt: ExecutionAttemptId,
        choices: &mut dyn Choices,
    ) -> RestOfStep {
        let process = self.actors[stopped_by].process;
        let Some(slot) = self.find_actor(process, ActorId::Task(attempt)) else { return RestOfStep::GoesOn };
        let faults = self.scenario.faults;
        let outlives_ns = std::mem::take(&mut self.actors[slot].outlives_ns);
        if !self.healed && outlives_ns > 0 {
            self.let_outlive(slot, outlives_ns);
            return RestOfStep::GoesOn;
        }
        if !self.healed && faults.zombie.numerator > 0 {
            let label = Label::new(ChoiceKind::ZombieTime, Subject::Process(self.processes[process].id));
            let time = choices.choose(label, super::faults::draw(faults.zombie, SERVICE_GRID));
            if time > 0 {
                self.let_outlive(slot, faults.zombie_max_ns * time / SERVICE_GRID);
                return RestOfStep::GoesOn;
            }
        }
        if let Some(rest) = self.close_slowly(slot, stopped_by, choices) {
            return rest;
        }
        self.end_task(slot);
        RestOfStep::GoesOn
    }

    /// A stopped execution goes on for a while.
    fn let_outlive(&mut self, slot: usize, for_ns: u64) {
        self.actors[slot].zombie = true;
        self.schedule_fault(self.now_ns + for_ns, super::faults::PlannedFault::ZombieEnds { slot });
        self.tell_fault(FaultKind::Zombie, None);
    }

    /// A task's thread is gone.
    pub(super) fn end_task(&mut self, slot: usize) {
        let (process, id) = (self.actors[slot].process, self.actors[slot].id);
        self.remove_actor(slot);
        if let ActorId::Task(attempt) = id {
            self.tell_world_about(process, EventKind::ExecutionGone { attempt });
        }
    }

    pub(super) fn remove_actor(&mut self, slot: usize) {
        self.end_threads(slot);
        self.note_client_gone(slot);
        self.actors[slot].end();
        let process = self.actors[slot].process;
        self.processes[process].slots.retain(|held| *held != slot);
    }

    /// A call reaches an outside system, which handles one after the other.
    pub(super) fn call_outside(
        &mut self,
        index: usize,
        from: ProcessAddress,
        message: Message,
        cause_sequence: u64,
        choices: &mut dyn Choices,
    ) {
        let process = self.processes[index].id;
        let label = Label::new(ChoiceKind::OutsideDelay, Subject::Process(process));
        let steps = choices.choose(label, Draw::Below(SERVICE_GRID));
        let service_ns = 1 + self.scenario.network.service_jitter_ns * steps / SERVICE_GRID;
        let due_ns = self.now_ns.max(self.processes[index].busy_until_ns) + service_ns;
        self.processes[index].busy_until_ns = due_ns;
        let item =
            Item::OutsideCall { process, from, message: Box::new(message), cause_sequence, delayed: false };
        self.pending.push(due_ns, tie(2, process_code(process) << 52 | self.step_count), item);
    }

    /// An outside system handles a call.
    pub(super) fn outside_handles(
        &mut self,
        process: ProcessId,
        from: ProcessAddress,
        message: Box<Message>,
        cause_sequence: u64,
        delayed: bool,
        choices: &mut dyn Choices,
    ) {
        if self.now_ns < self.processes[index_of(process)].down_until_ns {
            return;
        }
        let fault = if delayed { None } else { self.decide_outside_fault(process, choices) };
        let mut decision = OutsideDecision::default();
        match fault {
            Some(OutsideFault::Slow) => {
                self.tell_fault(FaultKind::StoreSlow, None);
                let due_ns = self.now_ns + self.scenario.faults.spike_max_ns;
                self.processes[index_of(process)].busy_until_ns = due_ns;
                let item = Item::OutsideCall { process, from, message, cause_sequence, delayed: true };
                self.pending.push(due_ns, tie(2, process_code(process) << 52 | self.step_count), item);
                return;
            }
            Some(OutsideFault::RequestLost) => return self.tell_fault(FaultKind::RequestLost, None),
            Some(OutsideFault::Unavailable) => {
                self.tell_fault(FaultKind::StoreUnavailable, None);
                decision.unavailable = true;
            }
            Some(OutsideFault::ReplyLost) => {
                self.tell_fault(FaultKind::ReplyLost, None);
                decision.lose_reply = true;
            }
            None => {}
        }
        if self.decide_interference(&message, choices) {
            self.tell_fault(FaultKind::ForeignCommit, None);
            self.store.interfere();
        }
        self.event_step_count += 1;
        let index = index_of(process);
        self.note_cause(index, from.process, cause_sequence);
        let mut outbox = std::mem::take(&mut self.outbox);
        let actor = if process == ProcessId::Store {
            let shown_ns = self.processes[index].clock.shows_ns(self.now_ns);
            self.store.handle(from, *message, decision, shown_ns, &mut outbox);
            ActorId::Store
        } else {
            self.high_availability.handle(from, *message, decision, &mut outbox);
            ActorId::HighAvailability
        };
        self.perform_outside(index, actor, &mut outbox, choices);
        self.outbox = outbox;
    }

    fn perform_outside(
        &mut self,
        index: usize,
        actor: ActorId,
        outbox: &mut Outbox,
        choices: &mut dyn Choices,
    ) {
        for Output { effect, event } in outbox.drain() {
            let mut planned = PlannedStrike::default();
            if let Some(event) = &event {
                self.note_for_resubmission(event);
                // What an outside system has done is done: who is hit before it only does not hear of it.
                let before = self.planned_at(Moment::Before, event, actor);
                self.strike_planned(None, index, &before, choices);
                planned = self.planned_at(Moment::Told, event, actor);
            }
            let opened = event.and_then(|event| self.tell(index, actor, LeaderEpoch(0), event));
            let mut aimed = opened.and_then(|opened| self.aim(opened, choices));
            if let Some(aimed) = &mut aimed {
                // The outside systems themselves neither die nor stand still; what hangs on them does.
                if aimed.fault == WindowFault::Pause {
                    aimed.fault = WindowFault::Clog;
                }
                self.hold_up(index, *aimed, choices);
            }
            if let Some(Effect::Send { to, stream, message, token }) = effect {
                self.send(index, to, stream, message, token, choices);
            }
            if let Some(aimed) = aimed {
                self.strike(None, aimed, choices);
            }
            self.strike_planned(None, index, &planned, choices);
        }
    }
}
