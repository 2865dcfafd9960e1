//! What stands outside the protocol and sees all of it: the lives of processes, the event headers and the judge.
//!
//! Nodes reach it through a lock instead of messages: it belongs to the harness, and a run has one thread.

use splitrace_runtime::event::{Cause, Event, EventKind, FaultKind, Header, SCHEMA_VERSION};
use splitrace_runtime::ids::{
    ActorId, Incarnation, JobId, LeaderEpoch, LineageId, ProcessAddress, ProcessId,
};
use splitrace_runtime::message::SharedJobConfig;
use splitrace_runtime::records::OffsetRange;
use splitrace_sim::judge::Judge;
use splitrace_sim::outside::input::topic;
use splitrace_sim::scenario::Scenario;
use std::sync::{Arc, Mutex, MutexGuard};

/// The index of the job manager among the processes.
pub(crate) const JOB_MANAGER: usize = 0;
/// The index of the high-availability service.
pub(crate) const HIGH_AVAILABILITY: usize = 1;
/// The index of the store.
pub(crate) const STORE: usize = 2;
/// The index of the first task manager.
pub(crate) const FIRST_TASK_MANAGER: usize = 3;

/// The index of a process.
pub(crate) const fn index_of(process: ProcessId) -> usize {
    match process {
        ProcessId::JobManager => JOB_MANAGER,
        ProcessId::HighAvailability => HIGH_AVAILABILITY,
        ProcessId::Store => STORE,
        ProcessId::TaskManager(number) => FIRST_TASK_MANAGER + number as usize,
    }
}

/// What a run is made of: what its nodes share.
#[derive(Debug)]
pub(crate) struct Setup {
    /// The scenario.
    pub scenario: Scenario,
    /// Its job.
    pub job: SharedJobConfig,
    court: Mutex<Court>,
}

impl Setup {
    /// The ground for one run.
    pub fn new(scenario: &Scenario) -> Self {
        let job: SharedJobConfig = Arc::new(scenario.job.clone());
        Self { scenario: scenario.clone(), court: Mutex::new(Court::new(scenario)), job }
    }

    /// The court.
    pub fn court(&self) -> MutexGuard<'_, Court> {
        self.court.lock().expect("a run has one thread, and a panic ends it")
    }
}

/// What is known of one process over all its lives.
#[derive(Debug)]
struct Biography {
    id: ProcessId,
    incarnation: Incarnation,
    alive: bool,
    has_lived: bool,
    events_emitted: u64,
    causes: Vec<Cause>,
    /// It is to die in the middle of its next turn.
    crash_armed: bool,
    /// It stopped in the middle of a turn, and waits for its node to be killed.
    crash_due: bool,
    waiting: Vec<String>,
}

/// The court of one run.
#[derive(Debug)]
pub(crate) struct Court {
    job: JobId,
    lineage: LineageId,
    judge: Judge,
    processes: Vec<Biography>,
    turns: u64,
    turns_max: u64,
    healed: bool,
    no_progress_max_ns: u64,
    closed: bool,
    /// What of the topics of the job is no input, until it is told.
    without_input: Vec<OffsetRange>,
}

impl Court {
    fn new(scenario: &Scenario) -> Self {
        let setup = scenario.setup();
        let fixed = [ProcessId::JobManager, ProcessId::HighAvailability, ProcessId::Store];
        let processes = fixed
            .into_iter()
            .chain((0..scenario.job.task_managers).map(ProcessId::TaskManager))
            .map(|id| Biography {
                id,
                incarnation: Incarnation(0),
                alive: false,
                has_lived: false,
                events_emitted: 0,
                causes: Vec::new(),
                crash_armed: false,
                crash_due: false,
                waiting: Vec::new(),
            });
        Self {
            job: scenario.job.job,
            lineage: scenario.job.lineage,
            judge: Judge::new(&setup),
            processes: processes.collect(),
            turns: 0,
            turns_max: scenario.limits.steps_max,
            healed: false,
            no_progress_max_ns: scenario.limits.no_progress_max_ns,
            closed: false,
            without_input: topic::without_input(&scenario.job),
        }
    }

    /// A process begins a life, and this is where.
    pub fn begin_life(&mut self, index: usize, now_ns: u64) -> ProcessAddress {
        let process = &mut self.processes[index];
        if process.has_lived {
            process.incarnation.0 += 1;
        }
        process.has_lived = true;
        process.alive = true;
        let address = ProcessAddress { process: process.id, incarnation: process.incarnation };
        let is_first = process.id == ProcessId::HighAvailability;
        self.tell(index, ActorId::World, LeaderEpoch(0), EventKind::ProcessStarted { address }, now_ns);
        if is_first {
            for range in std::mem::take(&mut self.without_input) {
                let kind = EventKind::RecordsFiltered { range };
                self.tell(index, ActorId::World, LeaderEpoch(0), kind, now_ns);
            }
        }
        address
    }

    /// A process dies. Nothing of this life acts from here on.
    pub fn end_life(&mut self, index: usize, now_ns: u64) {
        let process = &mut self.processes[index];
        debug_assert!(process.alive, "only the living die");
        process.alive = false;
        process.crash_armed = false;
        process.crash_due = false;
        process.waiting.clear();
        let address = ProcessAddress { process: process.id, incarnation: process.incarnation };
        let fault = match process.id {
            ProcessId::JobManager => FaultKind::JobManagerCrash,
            _ => FaultKind::TaskManagerCrash,
        };
        self.tell_fault(fault, now_ns);
        self.tell(index, ActorId::World, LeaderEpoch(0), EventKind::ProcessCrashed { address }, now_ns);
    }

    /// Whether that life of a process may still act.
    pub fn may_act(&self, index: usize, address: ProcessAddress) -> bool {
        let process = &self.processes[index];
        !self.closed && process.alive && !process.crash_due && process.incarnation == address.incarnation
    }

    /// Whether a process lives.
    pub fn is_alive(&self, index: usize) -> bool {
        self.processes[index].alive
    }

    /// A process is to die in the middle of its next turn.
    pub fn arm_crash(&mut self, index: usize) {
        self.processes[index].crash_armed = true;
    }

    /// Whether it is.
    pub fn is_crash_armed(&self, index: usize) -> bool {
        self.processes[index].crash_armed
    }

    /// It has stopped in the middle of a turn.
    pub fn crash_is_due(&mut self, index: usize) {
        debug_assert!(self.processes[index].crash_armed, "only a crash that was ordered falls due");
        self.processes[index].crash_due = true;
    }

    /// Whether it has stopped so, and its node is to be killed.
    pub fn is_crash_due(&self, index: usize) -> bool {
        self.processes[index].crash_due
    }

    /// No process is to die any more.
    pub fn disarm_crashes(&mut self) {
        for process in &mut self.processes {
            process.crash_armed = false;
        }
    }

    /// Counts a turn; closes the court when there were too many.
    pub fn count_turn(&mut self) {
        self.turns += 1;
        if self.turns >= self.turns_max {
            self.closed = true;
        }
    }

    /// Tells an event.
    pub fn tell(
        &mut self,
        index: usize,
        actor: ActorId,
        leader_epoch: LeaderEpoch,
        kind: EventKind,
        now_ns: u64,
    ) {
        if self.closed {
            return;
        }
        let process = &mut self.processes[index];
        let header = Header {
            schema_version: SCHEMA_VERSION,
            job: self.job,
            lineage: self.lineage,
            leader_epoch,
            process: process.id,
            sequence: process.events_emitted,
            causes: std::mem::take(&mut process.causes),
            actor,
            virtual_time_ns: now_ns,
            local_time_ns: now_ns,
        };
        process.events_emitted += 1;
        self.judge.observe(&Event { header, kind });
        self.closed |= self.judge.violation().is_some();
    }

    /// Tells that something was broken; in the name of the high-availability service, since the world has no process.
    pub fn tell_fault(&mut self, fault: FaultKind, now_ns: u64) {
        let kind = EventKind::FaultInjected { fault, window: None };
        self.tell(HIGH_AVAILABILITY, ActorId::World, LeaderEpoch(0), kind, now_ns);
    }

    /// Faults end here.
    pub fn heal(&mut self, now_ns: u64) {
        self.healed = true;
        self.tell(HIGH_AVAILABILITY, ActorId::World, LeaderEpoch(0), EventKind::Healed, now_ns);
    }

    /// Notes that a process has heard of what another had told by then.
    pub fn note_cause(&mut self, index: usize, from: ProcessId, sequence: u64) {
        if from == self.processes[index].id || sequence == 0 {
            return;
        }
        let causes = &mut self.processes[index].causes;
        match causes.iter_mut().find(|cause| cause.process == from) {
            Some(cause) => cause.sequence = cause.sequence.max(sequence),
            None => causes.push(Cause { process: from, sequence }),
        }
    }

    /// How many events a process has told.
    pub fn events_emitted(&self, index: usize) -> u64 {
        self.processes[index].events_emitted
    }

    /// Whether nothing has come forward for half of the time that makes a deadlock.
    pub fn looks_stuck(&self, now_ns: u64) -> bool {
        self.healed
            && self.judge.job_result().is_none()
            && now_ns > self.judge.last_progress_ns() + self.no_progress_max_ns / 2
    }

    /// Whether nothing has come forward for the whole of that time.
    pub fn looks_deadlocked(&self, now_ns: u64) -> bool {
        self.healed && now_ns > self.judge.last_progress_ns() + self.no_progress_max_ns
    }

    /// What the actors of a process wait for.
    pub fn note_waiting(&mut self, index: usize, waiting: Vec<String>) {
        self.processes[index].waiting = waiting;
    }

    /// What all actors were waiting for when they were last asked.
    pub fn waiting(&self) -> Vec<String> {
        let down = self.processes.iter().filter(|process| !process.alive);
        let down = down.map(|process| format!("{} is down", process.id));
        self.processes.iter().flat_map(|process| process.waiting.iter().cloned()).chain(down).collect()
    }

    /// Ends the run: nobody acts any more and nothing is told.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether it has ended.
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// How many turns were taken.
    pub const fn turns(&self) -> u64 {
        self.turns
    }

    /// Whether the turns are used up.
    pub const fn is_out_of_turns(&self) -> bool {
        self.turns >= self.turns_max
    }

    /// How many processes there are.
    pub fn process_count(&self) -> usize {
        self.processes.len()
    }

    /// The judge.
    pub const fn judge(&self) -> &Judge {
        &self.judge
    }

    /// The judge, for its last word.
    pub const fn judge_mut(&mut self) -> &mut Judge {
        &mut self.judge
    }
}
