//! The simulated world: processes and actors on a virtual clock, a network between them, outside systems around them.
//!
//! [`World::enabled`] lists what can happen next and [`World::step`] does the chosen thing; doing a later thing first moves
//! time to max(now, due). The latency queue ([`World::next_by_latency`]) is one policy over that: earliest due first. Each
//! step is one of: a frame arrives, a thread takes a turn, a timer fires, an outside system handles a call, a process
//! starts, a fault comes. Nothing else moves the world, and whatever is open inside a step is a labelled choice.
//!
//! What was refused: delivering a message as a nested call into the receiver (it would hide interleavings), and one
//! generator shared by all (see [`crate::choices`]).

pub mod faults;
pub mod fingerprinter;
pub mod pending;

mod apply;
mod clock;
mod emit;
mod fingerprint;
mod healing;
mod link_faults;
mod links;
mod network;
mod perform;
mod plan;
mod process;
mod process_faults;
mod resubmission;
mod threads;
mod window_faults;

use crate::choices::{ChoiceKind, Choices, Draw, Label, Subject};
use crate::judge::Judge;
use crate::outside::{HighAvailability, Store};
use crate::points::{PlanProgress, StepReport};
use crate::scenario::Scenario;
use faults::{FaultBudget, SECOND_FAULTS_MAX, WINDOW_FAULTS_MAX};
use pending::{Item, ItemKey, Pending, actor_code, tie};
use process::{ActorBody, ActorSlot, Process};
use resubmission::ResubmissionPhase;
use splitrace_runtime::actor::{Outbox, TurnDecision};
use splitrace_runtime::event::Event;
use splitrace_runtime::ids::{ActorId, ProcessId};
use splitrace_runtime::message::{Mail, MainMail, SharedJobConfig, Stream, TaskManagerMail, Timer};
use splitrace_runtime::session::SessionOutput;
use std::sync::Arc;

/// Who looks on while a world runs. Sees every event after the judge did.
pub type Observer<'a> = &'a mut dyn FnMut(&Event);

/// A world between two steps.
#[derive(Clone, Debug)]
pub struct World {
    scenario: Arc<Scenario>,
    job: SharedJobConfig,
    now_ns: u64,
    pending: Pending,
    processes: Vec<Process>,
    actors: Vec<ActorSlot>,
    high_availability: HighAvailability,
    store: Store,
    network: links::Network,
    budget: FaultBudget,
    plan: PlanProgress,
    resubmission: ResubmissionPhase,
    /// A savepoint is asked for after so many more completed checkpoints.
    savepoint_after: Option<u32>,
    healed: bool,
    /// How many processes stand still.
    stopped_count: usize,
    step_count: u64,
    event_step_count: u64,
    heartbeat_step_count: u64,
    message_count: u64,
    fault_count: u64,
    network_timer_settings: u64,
    judge: Judge,
    judging: bool,
    /// Who took the last turn.
    acting: Option<ActorId>,
    user_failure_count: u32,
    observed: Option<Vec<Event>>,
    outbox: Outbox,
    /// Reused by every call of a session, unless one comes inside another.
    session_output: Option<Box<SessionOutput>>,
}

/// Something that can happen next, as `enabled` lists it.
#[derive(Clone, Debug)]
pub struct Enabled<'a> {
    /// Names it for [`World::step`].
    pub key: ItemKey,
    /// When it would happen by itself.
    pub due_ns: u64,
    /// What it is.
    pub item: &'a Item,
}

impl World {
    /// A world at time 0: every process is about to start, and the faults are planned.
    #[must_use]
    pub fn new(scenario: &Scenario, choices: &mut dyn Choices) -> Self {
        let scenario = Arc::new(scenario.clone());
        let job: SharedJobConfig = Arc::new(scenario.job.clone());
        let setup = scenario.setup();
        let task_managers = job.task_managers;
        let mut world = Self {
            now_ns: 0,
            pending: Pending::default(),
            processes: process::all(task_managers),
            actors: Vec::with_capacity(24),
            high_availability: HighAvailability::new(Arc::clone(&job)),
            store: Store::new(job.sink, job.defects),
            network: links::Network::new(task_managers),
            budget: FaultBudget {
                window: WINDOW_FAULTS_MAX,
                second: SECOND_FAULTS_MAX,
                job_manager: scenario.faults.job_manager_crashes_max,
            },
            plan: PlanProgress::new(&scenario.plan),
            resubmission: scenario.resubmission.map_or(ResubmissionPhase::None, |resubmission| {
                ResubmissionPhase::Awaiting(resubmission.after_checkpoints.max(1))
            }),
            savepoint_after: scenario.savepoint_after_checkpoints,
            healed: scenario.faults.heal_after_ns == 0,
            stopped_count: 0,
            step_count: 0,
            event_step_count: 0,
            heartbeat_step_count: 0,
            message_count: 0,
            fault_count: 0,
            network_timer_settings: 0,
            judge: Judge::new(&setup),
            judging: false,
            acting: None,
            user_failure_count: 0,
            observed: None,
            outbox: Outbox::new(),
            session_output: None,
            job,
            scenario,
        };
        for index in 0..world.processes.len() {
            let process = world.processes[index].id;
            world.pending.push(0, tie(5, pending::process_code(process)), Item::StartProcess(process));
        }
        if let Some(cancel_after_ns) = world.scenario.cancel_after_ns {
            world.pending.push(cancel_after_ns, tie(6, 0), Item::CancelJob);
        }
        if !world.healed {
            world.pending.push(world.scenario.faults.heal_after_ns, tie(7, 0), Item::Heal);
            world.plan_faults(choices);
            world.plan_slow_links(choices);
        }
        world
    }

    /// Virtual time in nanoseconds.
    #[must_use]
    pub const fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// How many world steps were taken: turns, frames, timers, faults, whatever happened.
    #[must_use]
    pub const fn step_count(&self) -> u64 {
        self.step_count
    }

    /// How many role steps there were: an input handled by one role, what 'events per second' counts. Session
    /// acknowledgements and heartbeats do not count.
    #[must_use]
    pub const fn event_step_count(&self) -> u64 {
        self.event_step_count.saturating_sub(self.heartbeat_step_count)
    }

    /// How many messages living processes took: for a mailbox, for an outside system, or the outcome of a delivery that
    /// somebody waits for. What arrives twice, answers that only keep a message from being sent again, and heartbeats do
    /// not count.
    #[must_use]
    pub const fn message_count(&self) -> u64 {
        self.message_count
    }

    /// Whether faults have ended.
    #[must_use]
    pub const fn is_healed(&self) -> bool {
        self.healed
    }

    /// What became of each step of the plan.
    #[must_use]
    pub fn plan_report(&self) -> Vec<StepReport> {
        self.plan.report(&self.scenario.plan)
    }

    /// The judge.
    #[must_use]
    pub const fn judge(&self) -> &Judge {
        &self.judge
    }

    /// Whether the judge is looking at an event just now: a panic then is a checker's.
    #[must_use]
    pub const fn is_judging(&self) -> bool {
        self.judging
    }

    /// Whose code was running last: the checkers' at an event, or a role's in its turn.
    #[must_use]
    pub fn place_of_panic(&self) -> String {
        let at_ns = self.now_ns;
        match (self.judging, self.judge.last(), self.acting) {
            (true, Some(moment), _) => {
                format!("judging event {} of {} at {at_ns} ns", moment.sequence, moment.process)
            }
            (_, _, Some(actor)) => format!("in the last turn, of {actor}, at {at_ns} ns"),
            _ => format!("before the first turn, at {at_ns} ns"),
        }
    }

    /// The judge, for its last word.
    pub const fn judge_mut(&mut self) -> &mut Judge {
        &mut self.judge
    }

    /// Keeps every event from here on, until [`Self::drain_events`] takes them.
    pub fn keep_events(&mut self) {
        self.observed.get_or_insert_default();
    }

    /// The events kept since the last call.
    pub fn drain_events(&mut self) -> Vec<Event> {
        self.observed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What can happen next, in order of (due, identity).
    #[must_use]
    pub fn enabled(&self) -> Vec<Enabled<'_>> {
        let all = self.pending.all().into_iter();
        all.map(|(key, due_ns, item)| Enabled { key, due_ns, item }).collect()
    }

    /// What the latency queue does next: the earliest due, ties by identity.
    pub fn next_by_latency(&mut self) -> Option<ItemKey> {
        self.pending.earliest()
    }

    /// Does one enabled thing; time moves to max(now, due). A stale key does nothing.
    pub fn step(&mut self, key: ItemKey, choices: &mut dyn Choices) {
        if let Some((due_ns, item)) = self.pending.take(key) {
            self.happen(due_ns, item, choices);
        }
    }

    /// Does what the latency queue does next; answers whether there was anything.
    pub fn step_by_latency(&mut self, choices: &mut dyn Choices) -> bool {
        match self.pending.take_earliest() {
            Some((due_ns, item)) => {
                self.happen(due_ns, item, choices);
                true
            }
            None => false,
        }
    }

    fn happen(&mut self, due_ns: u64, item: Item, choices: &mut dyn Choices) {
        self.now_ns = self.now_ns.max(due_ns);
        self.step_count += 1;
        let item = match self.stopped_count {
            0 => item,
            _ => match self.put_aside(item) {
                Some(item) => item,
                None => return,
            },
        };
        match item {
            Item::Turn { slot } => self.take_turn(slot, choices),
            Item::Frame(frame) => self.frame_arrives(frame, choices),
            Item::Timer { slot, timer, setting } => self.timer_fires(slot, timer, setting, choices),
            Item::InputAnswer { slot, answer } => self.input_answers(slot, *answer, choices),
            Item::SessionTimer { process, incarnation, setting } => {
                self.session_timer_fires(process, incarnation, setting, choices);
            }
            Item::OutsideCall { process, from, message, cause_sequence, delayed } => {
                self.outside_handles(process, from, message, cause_sequence, delayed, choices);
            }
            Item::StartProcess(process) => self.start_process(process, choices),
            Item::Fault(fault) => self.apply_planned(fault, choices),
            Item::CancelJob => self.cancel_job(choices),
            Item::SubmitJob => self.submit_job(choices),
            Item::ClientGone { attempt, epoch } => self.client_gone(attempt, epoch),
            Item::Savepoint => self.ask_for_savepoint(choices),
            Item::Heal => self.heal(choices),
        }
    }

    /// One turn of an actor's thread: handle one input, then perform what it wants done.
    fn take_turn(&mut self, slot: usize, choices: &mut dyn Choices) {
        let batch_max = self.scenario.faults.batch_size_max;
        let actor = &mut self.actors[slot];
        actor.turn_scheduled = false;
        if !actor.alive || !self.is_runnable(slot) {
            return;
        }
        let actor = &self.actors[slot];
        if actor.paused_until_ns > self.now_ns {
            self.schedule_turn(slot, choices);
            return;
        }
        if !actor.held.is_empty() {
            self.resume_step(slot, choices);
            return;
        }
        let batch_size_max = match actor.body {
            ActorBody::Task(_) | ActorBody::Fetcher { .. } if batch_max > 1 => {
                let label = Label::new(ChoiceKind::BatchSize, Subject::Actor(actor.id));
                1 + choices.choose(label, Draw::Below(u64::from(batch_max))) as u32
            }
            _ => 1,
        };
        self.acting = Some(self.actors[slot].id);
        let mut outbox = std::mem::take(&mut self.outbox);
        debug_assert!(outbox.is_empty(), "the last step's outputs were all performed or cut");
        self.event_step_count += 1;
        {
            // Gives what the roles trace the virtual time and the actor; where nobody listens it is not even made.
            let _span = tracing::enabled!(tracing::Level::DEBUG).then(|| {
                let actor = self.actors[slot].id;
                tracing::debug_span!("turn", virtual_time_ns = self.now_ns, actor = %actor).entered()
            });
            let process = &self.processes[self.actors[slot].process];
            let processing_time_ms = process.clock.shows_ns(self.now_ns) / 1_000_000;
            self.turn_of(slot, TurnDecision { batch_size_max, processing_time_ms }, &mut outbox);
        }
        let memory = self.memory_of(slot);
        self.perform_turn(slot, &mut outbox, choices);
        self.outbox = outbox;
        self.schedule_after_step(slot, memory, choices);
    }

    /// Enables the next turn of an actor, unless it is enabled already or has nothing to do.
    fn schedule_turn(&mut self, slot: usize, choices: &mut dyn Choices) {
        let actor = &self.actors[slot];
        if actor.turn_scheduled || !actor.alive || !self.is_runnable(slot) {
            return;
        }
        let mut due_ns = (self.now_ns + TURN_NS).max(actor.paused_until_ns);
        if !self.healed && self.scenario.faults.pause.numerator > 0 {
            let label = Label::new(ChoiceKind::ThreadDelay, Subject::Actor(actor.id));
            let grid = self.scenario.faults.pause_max_ns / PAUSE_GRID;
            let steps = choices.choose(label, faults::draw(self.scenario.faults.pause, PAUSE_GRID));
            if steps > 0 {
                due_ns += steps * grid;
                self.tell_fault(splitrace_runtime::event::FaultKind::ThreadPause, None);
            }
        }
        let actor = &mut self.actors[slot];
        actor.turn_scheduled = true;
        self.pending.push(due_ns, tie(1, actor_code(actor.id)), Item::Turn { slot });
    }

    fn timer_fires(&mut self, slot: usize, timer: Timer, setting: u64, choices: &mut dyn Choices) {
        let actor = &mut self.actors[slot];
        if !actor.alive || !actor.take_timer(timer, setting) {
            return;
        }
        if matches!(timer, Timer::Heartbeat | Timer::HeartbeatCheck) {
            // The turn that it leads to is no event; see the definition of events per second.
            self.heartbeat_step_count += 1;
        }
        if let Timer::FetchDue(fetcher) = timer {
            self.fetch_due(slot, fetcher);
        } else {
            let mail = actor.body.timer_mail(timer);
            actor.body.enqueue(mail);
        }
        self.schedule_threads(slot, choices);
    }

    fn cancel_job(&mut self, choices: &mut dyn Choices) {
        if self.is_wish_granted() {
            return;
        }
        let wish = self.ending_mail();
        if let Some(slot) = self.find_actor(0, ActorId::MainThread) {
            self.actors[slot].body.enqueue(Mail::Main(wish));
            self.schedule_turn(slot, choices);
        }
        if self.judge.job_result().is_none() {
            // A leader may die with the wish; the user asks again until the job has ended.
            self.pending.push(self.now_ns + CANCEL_AGAIN_NS, tie(6, 0), Item::CancelJob);
        }
    }

    /// The slot of a living actor of a process.
    fn find_actor(&self, process: usize, id: ActorId) -> Option<usize> {
        self.processes[process].slots.iter().copied().find(|slot| {
            let actor = &self.actors[*slot];
            actor.alive && !actor.zombie && actor.id == id
        })
    }

    /// Who waits for what, for the report of a deadlock.
    #[must_use]
    pub fn waiting(&self) -> Vec<String> {
        let alive = self.actors.iter().filter(|actor| actor.alive);
        let mut waiting: Vec<String> = alive.filter_map(|actor| actor.body.waiting_for()).collect();
        waiting.extend(
            self.processes
                .iter()
                .filter(|process| !process.alive)
                .map(|process| format!("{} is down", process.id)),
        );
        waiting
    }
}

/// A user who wants a job cancelled asks again after this time.
const CANCEL_AGAIN_NS: u64 = 200_000_000;
/// How long a turn takes.
const TURN_NS: u64 = 1_000;
/// A pause is so many parts of the longest one.
const PAUSE_GRID: u64 = 64;

/// The streams whose deliveries are no events.
const fn is_heartbeat(stream: Stream) -> bool {
    matches!(stream, Stream::Heartbeats)
}

/// The mail that tells an actor that its process has started.
fn started_mail(process: ProcessId, address: splitrace_runtime::ids::ProcessAddress) -> Option<Mail> {
    match process {
        ProcessId::JobManager => Some(Mail::Main(MainMail::ProcessStarted { address })),
        ProcessId::TaskManager(_) => Some(Mail::TaskManager(TaskManagerMail::ProcessStarted { address })),
        ProcessId::HighAvailability | ProcessId::Store => None,
    }
}
