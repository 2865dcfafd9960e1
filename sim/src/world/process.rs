//! Processes and the actors in them.

use super::clock::Clock;
use super::pending::Item;
use splitrace_runtime::actor::{Actor, Outbox, Output, TurnDecision};
use splitrace_runtime::coordination::coordinator::Coordinator;
use splitrace_runtime::event::Cause;
use splitrace_runtime::ids::*;
use splitrace_runtime::job_master::MainThread;
use splitrace_runtime::message::*;
use splitrace_runtime::session::{Frame, LinkId, Session, SessionConfig};
use splitrace_runtime::task::Task;
use splitrace_runtime::task_manager::TaskManagerEndpoint;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// One process.
#[derive(Clone, Debug)]
pub(super) struct Process {
    /// Which.
    pub id: ProcessId,
    /// Its life.
    pub incarnation: Incarnation,
    /// Whether it runs.
    pub alive: bool,
    /// Whether it ever ran.
    pub has_lived: bool,
    /// Its sessions; `None` while it is down.
    pub session: Option<Session>,
    /// Its session timers, each with when it is over.
    pub session_timers: Vec<(LinkId, u64)>,
    /// When the process next looks at them, and the setting of that.
    pub session_clock: Option<(u64, u64)>,
    /// Answers on their way to it that nobody waits for, each with when it arrives; see [`super::network`].
    pub answers: Vec<(u64, Frame)>,
    /// How many events it has emitted over all its lives.
    pub events_emitted: u64,
    /// What it has heard of since its last event.
    pub causes: Vec<Cause>,
    /// What it had heard of, but not yet told an event after, when it sent something on; see [`super::emit`].
    pub relayed: RelayedCauses,
    /// Its actors.
    pub slots: Vec<usize>,
    /// Set when a crash waits for the next step of this process, to cut it.
    pub crash_armed: bool,
    /// Its clock.
    pub clock: Clock,
    /// All its threads stand still until then; 0 while they do not.
    pub stopped_until_ns: u64,
    /// What came meanwhile, in order.
    pub put_aside: Vec<Item>,
    /// An outside system handles one call after the other; until then it is busy.
    pub busy_until_ns: u64,
    /// An outside system that has died is away until then.
    pub down_until_ns: u64,
    /// Until then what it sends is held up.
    pub clogged_until_ns: u64,
    /// A leader's last words, before they begin.
    pub last_words: Option<LastWords>,
}

/// How a leader ends whose words are to arrive after its successor's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LastWords {
    /// How long it goes on talking.
    pub talk_ns: u64,
    /// How long its words are held up after its death.
    pub hold_ns: u64,
    /// How many writes still arrive before the fatal one.
    pub writes_before: u8,
}

/// Lists of causes behind each other in one, each named by its number from 1.
#[derive(Clone, Debug, Default)]
pub(super) struct RelayedCauses {
    causes: Vec<Cause>,
    /// Where each list ends.
    ends: Vec<usize>,
}

impl RelayedCauses {
    /// The number of a list: the last one's if it is the same.
    pub fn note(&mut self, causes: &[Cause]) -> u64 {
        debug_assert!(!causes.is_empty(), "no cause needs no list");
        let last = self.range(self.ends.len());
        if self.causes[last] != *causes {
            self.causes.extend_from_slice(causes);
            self.ends.push(self.causes.len());
        }
        self.ends.len() as u64
    }

    /// Where a list lies; that of number 0 is empty.
    pub fn range(&self, number: usize) -> std::ops::Range<usize> {
        match number {
            0 => 0..0,
            1 => 0..self.ends[0],
            _ => self.ends[number - 2]..self.ends[number - 1],
        }
    }

    /// A cause in a list.
    pub fn at(&self, at: usize) -> Cause {
        self.causes[at]
    }
}

impl Process {
    /// Where it is.
    pub const fn address(&self) -> ProcessAddress {
        ProcessAddress { process: self.id, incarnation: self.incarnation }
    }

    /// Whether all its threads stand still.
    pub const fn is_stopped(&self) -> bool {
        self.stopped_until_ns > 0
    }

    pub fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        (self.id, self.incarnation, self.alive, self.crash_armed).hash(&mut hasher);
        self.session.hash(&mut hasher);
    }

    /// Whether a setting of the session clock still holds.
    pub fn holds_clock(&self, setting: u64) -> bool {
        self.session_clock.is_some_and(|(_, held)| held == setting)
    }

    /// Begins a session for the present life.
    pub fn begin_session(&mut self, config: SessionConfig) {
        self.session = Some(Session::new(self.address(), config));
        self.session_timers.clear();
        self.session_clock = None;
    }
}

/// The index of a process.
pub(super) const fn index_of(process: ProcessId) -> usize {
    super::pending::process_code(process) as usize
}

/// All processes, none of them started.
pub(super) fn all(task_managers: u32) -> Vec<Process> {
    let fixed = [ProcessId::JobManager, ProcessId::HighAvailability, ProcessId::Store];
    let processes: Vec<Process> = fixed
        .into_iter()
        .chain((0..task_managers).map(ProcessId::TaskManager))
        .map(|id| Process {
            id,
            incarnation: Incarnation(0),
            alive: false,
            has_lived: false,
            session: None,
            session_timers: Vec::new(),
            session_clock: None,
            answers: Vec::new(),
            events_emitted: 0,
            causes: Vec::new(),
            relayed: RelayedCauses::default(),
            slots: Vec::new(),
            crash_armed: false,
            clock: Clock::default(),
            stopped_until_ns: 0,
            put_aside: Vec::new(),
            busy_until_ns: 0,
            down_until_ns: 0,
            clogged_until_ns: 0,
            last_words: None,
        })
        .collect();
    debug_assert!(processes.iter().enumerate().all(|(index, process)| index_of(process.id) == index));
    processes
}

/// The state machine of an actor; copied on write, so that forks share what does not differ. A world and its forks stay in
/// one thread: counting owners atomically, twice per turn and per mail, was a fiftieth of a run.
#[derive(Clone, Debug)]
pub(super) enum ActorBody {
    Main(Rc<MainThread>),
    Coordinator(Rc<Coordinator>),
    TaskManager(Rc<TaskManagerEndpoint>),
    Task(Rc<Task>),
    /// A thread that shares the memory of the task in this slot.
    Fetcher {
        task: usize,
        number: FetcherNumber,
    },
    /// The worker's thread, which shares the memory of the coordinator in this slot.
    Worker {
        coordinator: usize,
    },
    /// It is gone.
    Gone,
}

impl ActorBody {
    pub fn enqueue(&mut self, mail: Mail) {
        match (self, mail) {
            (Self::Main(actor), Mail::Main(mail)) => Rc::make_mut(actor).enqueue(mail),
            (Self::Coordinator(actor), Mail::Coordinator(mail)) => Rc::make_mut(actor).enqueue(mail),
            (Self::TaskManager(actor), Mail::TaskManager(mail)) => Rc::make_mut(actor).enqueue(mail),
            (Self::Task(actor), Mail::Task(mail)) => Rc::make_mut(actor).enqueue(mail),
            (Self::Fetcher { .. } | Self::Worker { .. } | Self::Gone, _) => {}
            (body, mail) => unreachable!("mail goes to an actor of its kind, not {mail:?} to {body:?}"),
        }
    }

    pub fn is_runnable(&self) -> bool {
        match self {
            Self::Main(actor) => actor.is_runnable(),
            Self::Coordinator(actor) => actor.is_runnable(),
            Self::TaskManager(actor) => actor.is_runnable(),
            Self::Task(actor) => actor.is_runnable(),
            // Whose memory it shares knows; see `World::is_runnable`.
            Self::Fetcher { .. } | Self::Worker { .. } | Self::Gone => false,
        }
    }

    pub fn turn(&mut self, decision: TurnDecision, outbox: &mut Outbox) {
        match self {
            Self::Main(actor) => Rc::make_mut(actor).turn(decision, outbox),
            Self::Coordinator(actor) => Rc::make_mut(actor).turn(decision, outbox),
            Self::TaskManager(actor) => Rc::make_mut(actor).turn(decision, outbox),
            Self::Task(actor) => Rc::make_mut(actor).turn(decision, outbox),
            Self::Fetcher { .. } | Self::Worker { .. } | Self::Gone => {}
        }
    }

    pub fn timer_mail(&self, timer: Timer) -> Mail {
        match self {
            Self::Main(_) => Mail::Main(MainMail::Timer(timer)),
            Self::Coordinator(_) | Self::Worker { .. } => Mail::Coordinator(CoordinatorMail::Timer(timer)),
            Self::TaskManager(_) => Mail::TaskManager(TaskManagerMail::Timer(timer)),
            Self::Task(_) | Self::Fetcher { .. } | Self::Gone => Mail::Task(TaskMail::Timer(timer)),
        }
    }

    pub fn waiting_for(&self) -> Option<String> {
        match self {
            Self::Main(actor) => actor.waiting_for(),
            Self::TaskManager(actor) => actor.waiting_for(),
            Self::Task(actor) => actor.waiting_for(),
            Self::Coordinator(_) | Self::Fetcher { .. } | Self::Worker { .. } | Self::Gone => None,
        }
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        match self {
            Self::Main(actor) => actor.fingerprint(hasher),
            Self::Coordinator(actor) => actor.fingerprint(hasher),
            Self::TaskManager(actor) => actor.fingerprint(hasher),
            Self::Task(actor) => actor.fingerprint(hasher),
            Self::Fetcher { .. } => hasher.write_u8(1),
            Self::Worker { .. } => hasher.write_u8(2),
            Self::Gone => hasher.write_u8(0),
        }
    }
}

/// One actor and what the host keeps of it.
#[derive(Clone, Debug)]
pub(super) struct ActorSlot {
    /// Who.
    pub id: ActorId,
    /// Its process's index.
    pub process: usize,
    /// The epoch of the leader that it obeys; the main thread's own is asked of it.
    pub epoch: LeaderEpoch,
    /// The state machine.
    pub body: ActorBody,
    /// Whether it may act.
    pub alive: bool,
    /// Whether it was stopped and goes on all the same.
    pub zombie: bool,
    /// Whether its next turn is pending.
    pub turn_scheduled: bool,
    /// It stands still until then.
    pub paused_until_ns: u64,
    /// What is left of a step in whose middle it stands still.
    pub held: Vec<Output>,
    /// So long it goes on once it is told to stop, as a plan wants it.
    pub outlives_ns: u64,
    /// The slots of the threads that share its memory.
    pub threads: Vec<usize>,
    timers: Vec<(Timer, u64)>,
    timer_settings: u64,
}

impl ActorSlot {
    pub fn new(id: ActorId, process: usize, epoch: LeaderEpoch, body: ActorBody) -> Self {
        Self {
            id,
            process,
            epoch,
            body,
            alive: true,
            zombie: false,
            turn_scheduled: false,
            paused_until_ns: 0,
            held: Vec::new(),
            outlives_ns: 0,
            threads: Vec::new(),
            timers: Vec::new(),
            timer_settings: 0,
        }
    }

    /// Whether a turn would do something.
    pub fn has_work(&self) -> bool {
        !self.held.is_empty() || self.body.is_runnable()
    }

    /// Sets a timer anew; answers the setting's number.
    pub fn set_timer(&mut self, timer: Timer) -> u64 {
        self.timer_settings += 1;
        match self.timers.iter_mut().find(|(set, _)| *set == timer) {
            Some((_, setting)) => *setting = self.timer_settings,
            None => self.timers.push((timer, self.timer_settings)),
        }
        self.timer_settings
    }

    /// Forgets a timer.
    pub fn cancel_timer(&mut self, timer: Timer) {
        self.timers.retain(|(set, _)| *set != timer);
    }

    /// Whether a timer's setting still holds; it is used up by this.
    pub fn take_timer(&mut self, timer: Timer, setting: u64) -> bool {
        match self.timers.iter().position(|held| *held == (timer, setting)) {
            Some(index) => {
                self.timers.swap_remove(index);
                true
            }
            None => false,
        }
    }

    /// Whether a timer's setting still holds.
    pub fn holds_timer(&self, timer: Timer, setting: u64) -> bool {
        self.timers.contains(&(timer, setting))
    }

    /// It is gone: state, timers and all.
    pub fn end(&mut self) {
        self.alive = false;
        self.zombie = false;
        self.body = ActorBody::Gone;
        self.held.clear();
        self.timers.clear();
    }

    pub fn fingerprint(&self, hasher: &mut dyn Hasher) {
        self.body.fingerprint(hasher);
        let mut hasher = hasher;
        (self.id, self.alive, self.zombie, self.epoch, &self.held, self.outlives_ns).hash(&mut hasher);
    }
}
