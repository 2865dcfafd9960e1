//! Applying faults that were decided elsewhere, and starting processes.

use super::faults::{PlannedFault, WindowFault};
use super::pending::{Item, process_code, tie};
use super::process::{ActorBody, index_of};
use super::{World, started_mail};
use crate::choices::{ChoiceKind, Choices, Draw, Label, Subject};
use splitrace_runtime::coordination::coordinator::Coordinator;
use splitrace_runtime::event::{EventKind, FaultKind, Window};
use splitrace_runtime::ids::*;
use splitrace_runtime::job_master::MainThread;
use splitrace_runtime::session::SessionConfig;
use splitrace_runtime::task_manager::TaskManagerEndpoint;
use std::sync::Arc;

/// Times are drawn on so many steps.
const GRID: u64 = 64;
/// A crash that waits for a step to cut waits no longer than this.
const CUT_PATIENCE_NS: u64 = 5_000_000;
/// So long a leader goes on talking while its words are held up.
const LAST_WORDS_NS: u64 = 12_000_000;
/// A task failure that finds no task comes again after this time.
const PATIENCE_NS: u64 = 7_000_000;

impl World {
    /// Schedules a fault.
    pub(super) fn schedule_fault(&mut self, due_ns: u64, fault: PlannedFault) {
        self.fault_count += 1;
        self.pending.push(due_ns, tie(0, self.fault_count), Item::Fault(fault));
    }

    /// A planned fault comes; after healing only zombies still end.
    pub(super) fn apply_planned(&mut self, fault: PlannedFault, choices: &mut dyn Choices) {
        if let PlannedFault::ZombieEnds { slot } = fault {
            if self.actors[slot].alive && self.actors[slot].zombie {
                self.end_task(slot);
            }
            return;
        }
        if self.healed {
            return;
        }
        match fault {
            PlannedFault::TaskFailure { attempt, window } => self.fail_task(attempt, window, choices),
            PlannedFault::Crash { process, incarnation, window } => {
                self.crash_when_it_hurts(process, incarnation, window, choices);
            }
            PlannedFault::Partition => self.begin_partition(choices),
            PlannedFault::ZombieEnds { .. } => unreachable!("handled above"),
        }
    }

    /// Some living task throws.
    pub(super) fn fail_task(
        &mut self,
        attempt: Option<ExecutionAttemptId>,
        window: Option<Window>,
        choices: &mut dyn Choices,
    ) {
        let is_task = |slot: &usize| {
            let actor = &self.actors[*slot];
            actor.alive && !actor.zombie && matches!(actor.id, ActorId::Task(_))
        };
        let candidates: Vec<usize> = (0..self.actors.len()).filter(is_task).collect();
        let wanted = attempt.and_then(|attempt| {
            candidates.iter().copied().find(|slot| self.actors[*slot].id == ActorId::Task(attempt))
        });
        let slot = match wanted {
            Some(slot) => slot,
            None if candidates.is_empty() => {
                // Nobody runs just now; an exception needs somebody to throw it.
                let fault = PlannedFault::TaskFailure { attempt: None, window };
                return self.schedule_fault(self.now_ns + PATIENCE_NS, fault);
            }
            None => {
                let label = Label::new(ChoiceKind::FaultTarget, Subject::Fault(FaultKind::TaskFailure));
                candidates[choices.choose(label, Draw::Below(candidates.len() as u64)) as usize]
            }
        };
        self.tell_fault(FaultKind::TaskFailure, window);
        self.throw_in_task(slot, "injected failure", choices);
    }

    /// A task's thread ends by an exception, and what it then wants done is performed.
    pub(super) fn throw_in_task(&mut self, slot: usize, cause: &str, choices: &mut dyn Choices) {
        let mut outbox = splitrace_runtime::actor::Outbox::new();
        if let ActorBody::Task(task) = &mut self.actors[slot].body {
            Arc::make_mut(task).fail(cause, &mut outbox);
        }
        self.perform_turn(slot, &mut outbox, choices);
    }

    /// A process is to die: now, or in the middle of its next step.
    fn crash_when_it_hurts(
        &mut self,
        process: Option<ProcessId>,
        incarnation: Option<Incarnation>,
        window: Option<Window>,
        choices: &mut dyn Choices,
    ) {
        let process = process.unwrap_or_else(|| {
            let label = Label::new(ChoiceKind::FaultTarget, Subject::Fault(FaultKind::TaskManagerCrash));
            let count = self.processes.len() as u64 - 3;
            ProcessId::TaskManager(choices.choose(label, Draw::Below(count)) as u32)
        });
        let index = index_of(process);
        let state = &self.processes[index];
        if !state.alive || incarnation.is_some_and(|incarnation| incarnation != state.incarnation) {
            return;
        }
        if incarnation.is_none() && process == ProcessId::JobManager && self.hold_last_words(choices) {
            return;
        }
        let state = &self.processes[index];
        let label = Label::new(ChoiceKind::CrashInStep, Subject::Process(process));
        if incarnation.is_none() && choices.choose(label, Draw::Below(2)) == 1 {
            let life = state.incarnation;
            self.processes[index].crash_armed = true;
            let fallback = PlannedFault::Crash { process: Some(process), incarnation: Some(life), window };
            self.schedule_fault(self.now_ns + CUT_PATIENCE_NS, fallback);
            return;
        }
        self.crash(index, window, choices);
    }

    /// A leader's last words may be held up, so that they arrive after its successor's first: what it sends from here
    /// on is clogged, and it dies a little later.
    fn hold_last_words(&mut self, choices: &mut dyn Choices) -> bool {
        let label = Label::new(ChoiceKind::LastWords, Subject::World);
        let steps = choices.choose(label, Draw::Odds { numerator: 2, denominator: 3, max: GRID });
        if steps == 0 {
            return false;
        }
        let index = index_of(ProcessId::JobManager);
        let life = self.processes[index].incarnation;
        let hold_ns = LAST_WORDS_NS + self.scenario.faults.spike_max_ns * steps / GRID;
        self.processes[index].clogged_until_ns = self.now_ns + LAST_WORDS_NS + hold_ns;
        self.tell_fault(FaultKind::DelaySpike, None);
        let process = Some(ProcessId::JobManager);
        let crash = PlannedFault::Crash { process, incarnation: Some(life), window: None };
        self.schedule_fault(self.now_ns + LAST_WORDS_NS, crash);
        true
    }

    /// A process dies with all its actors, timers and sessions. Frames that it had sent go on.
    pub(super) fn crash(&mut self, index: usize, window: Option<Window>, choices: &mut dyn Choices) {
        debug_assert!(self.processes[index].alive, "only the living die");
        let id = self.processes[index].id;
        let fault = match id {
            ProcessId::JobManager => FaultKind::JobManagerCrash,
            _ => FaultKind::TaskManagerCrash,
        };
        self.tell_fault(fault, window);
        let address = self.processes[index].address();
        self.stop_process(index);
        self.tell_world(EventKind::ProcessCrashed { address });
        let label = Label::new(ChoiceKind::DownTime, Subject::Process(id));
        let steps = 1 + choices.choose(label, Draw::Below(GRID));
        let due_ns = self.now_ns + self.scenario.faults.down_time_max_ns * steps / GRID;
        self.pending.push(due_ns, tie(5, process_code(id)), Item::StartProcess(id));
    }

    fn stop_process(&mut self, index: usize) {
        for slot in std::mem::take(&mut self.processes[index].slots) {
            self.actors[slot].end();
        }
        let process = &mut self.processes[index];
        process.alive = false;
        process.crash_armed = false;
        process.session = None;
        process.session_timers.clear();
        process.clogged_until_ns = 0;
    }

    /// The leader's term is over: the process goes on as a new life with a new main thread.
    pub(super) fn end_term(&mut self, index: usize, choices: &mut dyn Choices) {
        self.stop_process(index);
        self.start_process(self.processes[index].id, choices);
    }

    /// A process begins a life.
    pub(super) fn start_process(&mut self, id: ProcessId, choices: &mut dyn Choices) {
        let index = index_of(id);
        if self.processes[index].alive {
            return;
        }
        let network = self.scenario.network;
        let skew = self.scenario.faults.clock_skew_max_ns;
        let label = Label::new(ChoiceKind::ClockSkew, Subject::Process(id));
        let offset = skew * choices.choose(label, Draw::Below(if skew > 0 { GRID } else { 1 })) / GRID;
        let process = &mut self.processes[index];
        if process.has_lived {
            process.incarnation.0 += 1;
        }
        process.has_lived = true;
        process.alive = true;
        process.clock_offset_ns = offset;
        process.begin_session(SessionConfig {
            resend_after_ns: network.resend_after_ns,
            resend_max: network.resend_max,
        });
        let address = process.address();
        self.tell_world(EventKind::ProcessStarted { address });
        self.add_actors(index, choices);
        if let Some(mail) = started_mail(id, address) {
            let slot = self.processes[index].slots[0];
            self.actors[slot].body.enqueue(mail);
            self.schedule_turn(slot, choices);
        }
    }

    fn add_actors(&mut self, index: usize, _choices: &mut dyn Choices) {
        match self.processes[index].id {
            ProcessId::JobManager => {
                let main = ActorBody::Main(Arc::new(MainThread::new(Arc::clone(&self.job))));
                self.add_actor(ActorId::MainThread, index, LeaderEpoch(0), main);
                let job = Arc::clone(&self.job);
                for operator in job.coordinated_operators() {
                    let body = ActorBody::Coordinator(Arc::new(Coordinator::new(Arc::clone(&job), operator)));
                    self.add_actor(ActorId::SourceCoordinator(operator), index, LeaderEpoch(0), body);
                }
            }
            ProcessId::TaskManager(number) => {
                let endpoint = TaskManagerEndpoint::new(number, self.job.heartbeat);
                let body = ActorBody::TaskManager(Arc::new(endpoint));
                self.add_actor(ActorId::TaskManager(number), index, LeaderEpoch(0), body);
            }
            ProcessId::HighAvailability | ProcessId::Store => {}
        }
    }

    fn begin_partition(&mut self, choices: &mut dyn Choices) {
        let faults = self.scenario.faults;
        let label = Label::new(ChoiceKind::FaultTarget, Subject::Fault(FaultKind::Partition));
        let count = self.processes.len() as u64;
        let first = choices.choose(label, Draw::Below(count)) as usize;
        let second = (first + 1 + choices.choose(label, Draw::Below(count - 1)) as usize) % count as usize;
        let shape = choices.choose(label, Draw::Below(4));
        let length = Label::new(ChoiceKind::PartitionLength, Subject::World);
        let steps = 1 + choices.choose(length, Draw::Below(GRID));
        let until_ns = self.now_ns + faults.partition_max_ns * steps / GRID;
        let (first, second) = (self.processes[first].id, self.processes[second].id);
        let holds = shape & 1 == 1;
        self.network.partition(first, second, until_ns, holds);
        if shape & 2 == 2 {
            self.network.partition(second, first, until_ns, holds);
        }
        self.tell_fault(FaultKind::Partition, None);
    }

    /// A fault aimed at a window that an actor just opened.
    pub(super) fn apply_window_fault(
        &mut self,
        slot: usize,
        fault: WindowFault,
        window: Window,
        attempt: Option<ExecutionAttemptId>,
        choices: &mut dyn Choices,
    ) {
        if fault == WindowFault::Pause {
            let until_ns = self.now_ns + self.window_delay(window, choices);
            self.actors[slot].paused_until_ns = until_ns;
            self.tell_fault(FaultKind::ThreadPause, Some(window));
            return;
        }
        let process = self.actors[slot].process;
        self.apply_window_fault_outside(process, fault, window, attempt, choices);
    }

    /// A fault aimed at a window, other than a pause of the thread that opened it.
    pub(super) fn apply_window_fault_outside(
        &mut self,
        index: usize,
        fault: WindowFault,
        window: Window,
        attempt: Option<ExecutionAttemptId>,
        choices: &mut dyn Choices,
    ) {
        match fault {
            WindowFault::TaskFailure => {
                let fault = PlannedFault::TaskFailure { attempt, window: Some(window) };
                self.schedule_fault(self.now_ns, fault);
            }
            WindowFault::TaskManagerCrash => {
                let process = attempt.and_then(|attempt| self.task_manager_of(attempt));
                let index = process.map(index_of).filter(|index| self.processes[*index].alive);
                match index {
                    Some(index) => self.crash(index, Some(window), choices),
                    None => {
                        let fault =
                            PlannedFault::Crash { process: None, incarnation: None, window: Some(window) };
                        self.schedule_fault(self.now_ns, fault);
                    }
                }
            }
            WindowFault::JobManagerCrash => {
                let index = index_of(ProcessId::JobManager);
                if self.processes[index].alive {
                    self.crash(index, Some(window), choices);
                }
            }
            WindowFault::Pause | WindowFault::Clog => {
                let until_ns = self.now_ns + self.window_delay(window, choices);
                self.processes[index].clogged_until_ns = until_ns;
                self.tell_fault(FaultKind::DelaySpike, Some(window));
            }
        }
    }

    fn window_delay(&self, window: Window, choices: &mut dyn Choices) -> u64 {
        let label = Label::new(ChoiceKind::WindowDelay, Subject::Window(window));
        let steps = 1 + choices.choose(label, Draw::Below(GRID));
        // An add is in doubt only after its call was sent as often as it may be, so this delay must outlast that.
        let outlasting = if window == Window::LastAcknowledgeToAdd { 4 } else { 1 };
        self.scenario.faults.spike_max_ns * steps * outlasting / GRID
    }

    fn task_manager_of(&self, attempt: ExecutionAttemptId) -> Option<ProcessId> {
        let runs = |actor: &&super::process::ActorSlot| actor.alive && actor.id == ActorId::Task(attempt);
        self.actors.iter().find(runs).map(|actor| self.processes[actor.process].id)
    }
}
