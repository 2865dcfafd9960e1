//! Applying faults that were decided elsewhere, and starting processes.

use super::clock::Clock;
use super::faults::PlannedFault;
use super::pending::{Item, actor_code, process_code, tie};
use super::process::{ActorBody, LastWords, index_of};
use super::process_faults::signed;
use super::{World, started_mail};
use crate::choices::{ChoiceKind, Choices, Draw, HarshestChoices, Label, Subject};
use splitrace_runtime::config::VertexConfig;
use splitrace_runtime::coordination::coordinator::Coordinator;
use splitrace_runtime::event::{EventKind, FaultKind, Window};
use splitrace_runtime::ids::*;
use splitrace_runtime::job_master::MainThread;
use splitrace_runtime::session::SessionConfig;
use splitrace_runtime::task_manager::TaskManagerEndpoint;
use std::rc::Rc;
use std::sync::Arc;

/// Times are drawn on so many steps.
const GRID: u64 = 64;
/// A crash that waits for a step to cut waits no longer than this.
const CUT_PATIENCE_NS: u64 = 5_000_000;
/// So long a leader waits for something to write before it dies without last words.
const WRITE_PATIENCE_NS: u64 = 250_000_000;
/// So long at least a leader goes on talking while its words are held up, and so long at least they are.
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
            PlannedFault::TaskFailure => match self.choose_task(None, choices) {
                Some(slot) => self.fail_task(slot, None, choices),
                // The job has ended and no task comes any more: looking on for one was a ninth of all world steps.
                None if self.judge.job_result().is_some() && self.is_last_job() => {}
                // Nobody runs just now; an exception needs somebody to throw it.
                None => self.schedule_fault(self.now_ns + PATIENCE_NS, fault),
            },
            PlannedFault::Crash { process, incarnation } => {
                self.crash_when_it_hurts(process, incarnation, choices);
            }
            PlannedFault::Partition => self.cut_a_link(FaultKind::Partition, choices),
            PlannedFault::Clog => self.cut_a_link(FaultKind::Clog, choices),
            PlannedFault::Swizzle => self.swizzle(choices),
            PlannedFault::ClogProcess { process, until_ns } => self.clog_process(process, until_ns),
            PlannedFault::ProcessStop => self.stop_the_world(choices),
            PlannedFault::ProcessWakes { process } => {
                let index = index_of(process);
                if self.processes[index].stopped_until_ns <= self.now_ns {
                    self.wake(index);
                }
            }
            PlannedFault::ClockStep => self.step_a_clock(choices),
            PlannedFault::StoreCrash => self.crash_store(choices),
            PlannedFault::ZombieEnds { .. } => unreachable!("handled above"),
        }
    }

    /// A task throws.
    pub(super) fn fail_task(&mut self, slot: usize, window: Option<Window>, choices: &mut dyn Choices) {
        self.tell_fault(FaultKind::TaskFailure, window);
        self.throw_in_task(slot, "injected failure", choices);
    }

    /// A task's thread ends by an exception, and what it then wants done is performed.
    pub(super) fn throw_in_task(&mut self, slot: usize, cause: &str, choices: &mut dyn Choices) {
        let mut outbox = splitrace_runtime::actor::Outbox::new();
        if let ActorBody::Task(task) = &mut self.actors[slot].body {
            Rc::make_mut(task).fail(cause, &mut outbox);
        }
        // What an interrupted step still wanted never happens.
        self.actors[slot].held.clear();
        self.perform_turn(slot, &mut outbox, choices);
        self.schedule_threads(slot, choices);
    }

    /// A process is to die: now, or in the middle of its next step.
    fn crash_when_it_hurts(
        &mut self,
        process: Option<ProcessId>,
        incarnation: Option<Incarnation>,
        choices: &mut dyn Choices,
    ) {
        let index = match process {
            Some(process) => index_of(process),
            None => self.choose_task_manager(None, choices),
        };
        let process = self.processes[index].id;
        let state = &self.processes[index];
        if !state.alive || incarnation.is_some_and(|incarnation| incarnation != state.incarnation) {
            return;
        }
        if incarnation.is_none() && process == ProcessId::JobManager && self.arm_last_words(choices) {
            return;
        }
        let state = &self.processes[index];
        let label = Label::new(ChoiceKind::CrashInStep, Subject::Process(process));
        if incarnation.is_none() && choices.choose(label, Draw::Below(2)) == 1 {
            let life = state.incarnation;
            self.processes[index].crash_armed = true;
            let fallback = PlannedFault::Crash { process: Some(process), incarnation: Some(life) };
            self.schedule_fault(self.now_ns + CUT_PATIENCE_NS, fallback);
            return;
        }
        self.crash(index, None, choices);
    }

    /// A leader may get last words that are held up, so that they arrive after its successor's first. They begin with a
    /// write to the high-availability service that is not to arrive before the leader's death: its next one, or the one
    /// after that, and then what it says to task managers is clogged already. A leader that does not write so much in a
    /// while dies all the same.
    fn arm_last_words(&mut self, choices: &mut dyn Choices) -> bool {
        let label = Label::new(ChoiceKind::LastWords, Subject::World);
        let steps = choices.choose(label, Draw::Odds { numerator: 7, denominator: 8, max: GRID });
        if steps == 0 {
            return false;
        }
        let early = choices.choose(label, Draw::Below(3)) == 2;
        let words = LastWords {
            // Long enough for a failed task to be deployed again.
            talk_ns: self.scenario.job.restart.first_delay_ns()
                + LAST_WORDS_NS
                + LAST_WORDS_NS * 2 * choices.choose(label, Draw::Below(GRID)) / GRID,
            hold_ns: LAST_WORDS_NS + self.scenario.faults.spike_max_ns * steps / GRID,
            writes_before: u8::from(early),
        };
        let leader = &mut self.processes[index_of(ProcessId::JobManager)];
        leader.last_words = Some(words);
        if early {
            leader.clogged_until_ns = self.now_ns + WRITE_PATIENCE_NS + words.hold_ns;
            self.tell_fault(FaultKind::DelaySpike, None);
        }
        self.let_leader_die(WRITE_PATIENCE_NS);
        true
    }

    /// A leader with last words is about to write to the high-availability service. From the fatal write on that is
    /// clogged too; a task fails so that there is much to say, and the leader dies a little later.
    pub(super) fn count_last_write(&mut self) {
        let leader = &mut self.processes[index_of(ProcessId::JobManager)];
        let Some(words) = &mut leader.last_words else { return };
        if words.writes_before > 0 {
            words.writes_before -= 1;
            return;
        }
        let words = *words;
        leader.last_words = None;
        leader.clogged_until_ns = leader.clogged_until_ns.max(self.now_ns + words.talk_ns + words.hold_ns);
        self.tell_fault(FaultKind::DelaySpike, None);
        if self.scenario.faults.task_failures_max > 0 {
            self.schedule_fault(self.now_ns + LAST_WORDS_NS / 4, PlannedFault::TaskFailure);
        }
        self.let_leader_die(words.talk_ns);
    }

    fn let_leader_die(&mut self, after_ns: u64) {
        let incarnation = Some(self.processes[index_of(ProcessId::JobManager)].incarnation);
        let crash = PlannedFault::Crash { process: Some(ProcessId::JobManager), incarnation };
        self.schedule_fault(self.now_ns + after_ns, crash);
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
        // Whoever dies with words under way is back before they have arrived.
        let soon = if self.processes[index].clogged_until_ns > self.now_ns { 4 } else { 1 };
        self.stop_process(index);
        self.tell_world(EventKind::ProcessCrashed { address });
        let label = Label::new(ChoiceKind::DownTime, Subject::Process(id));
        let steps = 1 + choices.choose(label, Draw::Below(GRID));
        let due_ns = self.now_ns + self.scenario.faults.down_time_max_ns * steps / (soon * GRID);
        self.pending.push(due_ns, tie(5, process_code(id)), Item::StartProcess(id));
    }

    /// The store dies and comes back. Calls that come meanwhile have no effect and no answer. Its sessions of frames are
    /// not reset: a call that was under way may reach the new life, as on a network that delivers late.
    fn crash_store(&mut self, choices: &mut dyn Choices) {
        self.take_store_down(choices);
        self.lose_in_store(choices);
    }

    /// As [`Self::crash_store`], and everything that may be lost is.
    pub(super) fn crash_store_with_all(&mut self, choices: &mut dyn Choices) {
        self.take_store_down(choices);
        self.lose_in_store(&mut HarshestChoices);
    }

    fn lose_in_store(&mut self, choices: &mut dyn Choices) {
        let mut events = Vec::new();
        self.store.crash(choices, &mut events);
        self.tell_of_store(events);
    }

    fn take_store_down(&mut self, choices: &mut dyn Choices) {
        self.tell_fault(FaultKind::StoreCrash, None);
        let label = Label::new(ChoiceKind::DownTime, Subject::Process(ProcessId::Store));
        let steps = 1 + choices.choose(label, Draw::Below(GRID));
        let back_ns = self.now_ns + self.scenario.faults.down_time_max_ns * steps / GRID;
        self.processes[index_of(ProcessId::Store)].down_until_ns = back_ns;
    }

    /// The store learns that a client is gone.
    pub(super) fn client_gone(&mut self, attempt: ExecutionAttemptId, epoch: LeaderEpoch) {
        let mut events = Vec::new();
        self.store.lose_client(attempt, epoch, &mut events);
        self.tell_of_store(events);
    }

    /// What happened in the store that nobody had asked for.
    fn tell_of_store(&mut self, events: Vec<EventKind>) {
        for event in events {
            self.tell(index_of(ProcessId::Store), ActorId::Store, LeaderEpoch(0), event);
        }
    }

    /// An execution is gone, and its connections with it. A server learns of that behind whatever the client had sent
    /// before, so not before the longest trip of a frame is over.
    pub(super) fn note_client_gone(&mut self, slot: usize) {
        let ActorId::Task(attempt) = self.actors[slot].id else { return };
        if self.store.has_connections() {
            let epoch = self.actors[slot].epoch;
            let due_ns = self.now_ns + self.scenario.network.trip_ns();
            let tie = tie(8, actor_code(self.actors[slot].id));
            self.pending.push(due_ns, tie, Item::ClientGone { attempt, epoch });
        }
    }

    fn stop_process(&mut self, index: usize) {
        for slot in std::mem::take(&mut self.processes[index].slots) {
            self.note_client_gone(slot);
            self.actors[slot].end();
        }
        if self.processes[index].is_stopped() {
            self.stopped_count -= 1;
        }
        let process = &mut self.processes[index];
        process.stopped_until_ns = 0;
        process.put_aside.clear();
        process.alive = false;
        process.crash_armed = false;
        process.session = None;
        process.session_timers.clear();
        process.answers.clear();
        process.clogged_until_ns = 0;
        process.last_words = None;
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
        let clock = self.draw_clock(id, choices);
        let process = &mut self.processes[index];
        if process.has_lived {
            process.incarnation.0 += 1;
        }
        process.has_lived = true;
        process.alive = true;
        process.clock = clock;
        process.begin_session(SessionConfig {
            resend_after_ns: network.resend_after_ns,
            resend_max: network.resend_max,
            defects: self.job.defects,
        });
        let address = process.address();
        self.tell_world(EventKind::ProcessStarted { address });
        if id == ProcessId::HighAvailability {
            self.tell_what_is_no_input();
        }
        self.add_actors(index, choices);
        if let Some(mail) = started_mail(id, address) {
            let slot = self.processes[index].slots[0];
            self.actors[slot].body.enqueue(mail);
            self.schedule_turn(slot, choices);
        }
    }

    /// What the clock of a process is off by, and how much it gains or loses.
    fn draw_clock(&self, id: ProcessId, choices: &mut dyn Choices) -> Clock {
        let faults = &self.scenario.faults;
        let label = Label::new(ChoiceKind::ClockSkew, Subject::Process(id));
        let mut part = |most: u64| choices.choose(label, Draw::Below(if most > 0 { GRID } else { 1 }));
        let offset_ns = faults.clock_skew_max_ns * part(faults.clock_skew_max_ns) / GRID;
        let drift_max_ppm = u64::from(faults.processes.clock_drift_max_ppm);
        let drift_steps = part(drift_max_ppm);
        let drift_ppm = if self.healed { 0 } else { signed(drift_max_ppm, drift_steps, GRID) };
        Clock::new(offset_ns as i64, drift_ppm, self.now_ns)
    }

    fn add_actors(&mut self, index: usize, _choices: &mut dyn Choices) {
        match self.processes[index].id {
            ProcessId::JobManager => {
                let main = ActorBody::Main(Rc::new(MainThread::new(Arc::clone(&self.job))));
                self.add_actor(ActorId::MainThread, index, LeaderEpoch(0), main);
                let job = Arc::clone(&self.job);
                for operator in job.coordinated_operators() {
                    let body = ActorBody::Coordinator(Rc::new(Coordinator::new(Arc::clone(&job), operator)));
                    let id = ActorId::SourceCoordinator(operator);
                    let slot = self.add_actor(id, index, LeaderEpoch(0), body);
                    let looks =
                        |vertex: &VertexConfig| vertex.operator == operator && vertex.discovers_splits();
                    if job.vertices.iter().any(looks) {
                        self.add_worker(slot);
                    }
                }
            }
            ProcessId::TaskManager(number) => {
                let endpoint = TaskManagerEndpoint::new(number, self.job.heartbeat);
                let body = ActorBody::TaskManager(Rc::new(endpoint));
                self.add_actor(ActorId::TaskManager(number), index, LeaderEpoch(0), body);
            }
            ProcessId::HighAvailability | ProcessId::Store => {}
        }
    }
}
