//! The actors of a process behind one face.

use splitrace_runtime::actor::{Actor, Outbox, TurnDecision};
use splitrace_runtime::coordination::coordinator::Coordinator;
use splitrace_runtime::ids::{ActorId, LeaderEpoch};
use splitrace_runtime::job_master::MainThread;
use splitrace_runtime::message::{CoordinatorMail, Mail, MainMail, TaskMail, TaskManagerMail, Timer};
use splitrace_runtime::task::Task;
use splitrace_runtime::task_manager::TaskManagerEndpoint;

/// The state machine of an actor.
#[derive(Debug)]
pub(crate) enum Body {
    Main(Box<MainThread>),
    Coordinator(Box<Coordinator>),
    TaskManager(Box<TaskManagerEndpoint>),
    Task(Box<Task>),
}

/// One actor of a process.
#[derive(Debug)]
pub(crate) struct Hosted {
    /// Counts the actors of this life of the process: two executions of different epochs may bear one name.
    pub number: u64,
    /// Who.
    pub id: ActorId,
    /// The leader's epoch that it obeys; the main thread's own is asked of it.
    epoch: LeaderEpoch,
    /// The state machine.
    pub body: Body,
}

impl Hosted {
    /// An actor that has had no turn yet.
    pub const fn new(number: u64, id: ActorId, epoch: LeaderEpoch, body: Body) -> Self {
        Self { number, id, epoch, body }
    }

    /// The leader's epoch that it obeys.
    pub fn epoch(&self) -> LeaderEpoch {
        match &self.body {
            Body::Main(main) => main.epoch(),
            _ => self.epoch,
        }
    }

    /// Puts mail into its mailbox.
    pub fn enqueue(&mut self, mail: Mail) {
        match (&mut self.body, mail) {
            (Body::Main(actor), Mail::Main(mail)) => actor.enqueue(mail),
            (Body::Coordinator(actor), Mail::Coordinator(mail)) => actor.enqueue(mail),
            (Body::TaskManager(actor), Mail::TaskManager(mail)) => actor.enqueue(mail),
            (Body::Task(actor), Mail::Task(mail)) => actor.enqueue(mail),
            (_, mail) => unreachable!("mail goes to an actor of its kind, not {mail:?} to {}", self.id),
        }
    }

    /// Whether a turn would do something.
    pub fn is_runnable(&self) -> bool {
        match &self.body {
            Body::Main(actor) => actor.is_runnable(),
            Body::Coordinator(actor) => actor.is_runnable(),
            Body::TaskManager(actor) => actor.is_runnable(),
            Body::Task(actor) => actor.is_runnable(),
        }
    }

    /// Handles one input.
    pub fn turn(&mut self, decision: TurnDecision, outbox: &mut Outbox) {
        debug_assert!(self.is_runnable(), "a turn has something to do");
        match &mut self.body {
            Body::Main(actor) => actor.turn(decision, outbox),
            Body::Coordinator(actor) => actor.turn(decision, outbox),
            Body::TaskManager(actor) => actor.turn(decision, outbox),
            Body::Task(actor) => actor.turn(decision, outbox),
        }
    }

    /// A timer of it as mail.
    pub const fn timer_mail(&self, timer: Timer) -> Mail {
        match &self.body {
            Body::Main(_) => Mail::Main(MainMail::Timer(timer)),
            Body::Coordinator(_) => Mail::Coordinator(CoordinatorMail::Timer(timer)),
            Body::TaskManager(_) => Mail::TaskManager(TaskManagerMail::Timer(timer)),
            Body::Task(_) => Mail::Task(TaskMail::Timer(timer)),
        }
    }

    /// What it waits for, for the report of a deadlock.
    pub fn waiting_for(&self) -> Option<String> {
        match &self.body {
            Body::Main(actor) => actor.waiting_for(),
            Body::TaskManager(actor) => actor.waiting_for(),
            Body::Task(actor) => actor.waiting_for(),
            Body::Coordinator(_) => None,
        }
    }
}
