//! The actors of a process behind one face.

use crate::host::Scheduler;
use splitrace_runtime::actor::{Actor, Outbox, TurnDecision};
use splitrace_runtime::api::input_io::InputAnswer;
use splitrace_runtime::coordination::coordinator::Coordinator;
use splitrace_runtime::ids::{ActorId, FetcherNumber, LeaderEpoch};
use splitrace_runtime::job_master::MainThread;
use splitrace_runtime::message::{CoordinatorMail, Mail, MainMail, TaskMail, TaskManagerMail, Timer};
use splitrace_runtime::task::Task;
use splitrace_runtime::task_manager::TaskManagerEndpoint;

/// The state machine of an actor.
#[derive(Debug)]
pub enum Body {
    Main(Box<MainThread>),
    Coordinator(Box<Coordinator>),
    TaskManager(Box<TaskManagerEndpoint>),
    Task(Box<Task>),
}

/// One actor of a process.
#[derive(Debug)]
pub struct Hosted {
    /// Counts the actors of this life of the process: two executions of different epochs may bear one name.
    pub number: u64,
    /// Who.
    pub id: ActorId,
    /// The leader's epoch that it obeys; the main thread's own is asked of it.
    epoch: LeaderEpoch,
    /// The state machine.
    pub body: Body,
    /// The fetchers of a task's reader; each turn of the task is one of its own or one of theirs.
    pub fetchers: Vec<FetcherNumber>,
    /// Whose turn it was, when it was a fetcher's.
    pub fetching: Option<FetcherNumber>,
}

impl Hosted {
    /// An actor that has had no turn yet.
    pub const fn new(number: u64, id: ActorId, epoch: LeaderEpoch, body: Body) -> Self {
        Self { number, id, epoch, body, fetchers: Vec::new(), fetching: None }
    }

    /// The leader's epoch that it obeys.
    pub fn epoch(&self) -> LeaderEpoch {
        match &self.body {
            Body::Main(main) => main.epoch(),
            _ => self.epoch,
        }
    }

    /// Whose turn it was.
    pub fn speaker(&self) -> ActorId {
        match (self.id, self.fetching) {
            (ActorId::Task(task), Some(fetcher)) => ActorId::Fetcher { task, fetcher },
            (id, _) => id,
        }
    }

    fn runnable_fetchers(&self) -> Vec<FetcherNumber> {
        let Body::Task(task) = &self.body else { return Vec::new() };
        self.fetchers.iter().copied().filter(|fetcher| task.fetcher_is_runnable(*fetcher)).collect()
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
            Body::Coordinator(actor) => actor.is_runnable() || actor.worker_is_runnable(),
            Body::TaskManager(actor) => actor.is_runnable(),
            Body::Task(actor) => actor.is_runnable() || !self.runnable_fetchers().is_empty(),
        }
    }

    /// Handles one input.
    pub fn turn(&mut self, decision: TurnDecision, scheduler: &mut dyn Scheduler, outbox: &mut Outbox) {
        debug_assert!(self.is_runnable(), "a turn has something to do");
        let fetchers = self.runnable_fetchers();
        self.fetching = None;
        match &mut self.body {
            Body::Task(actor) if !fetchers.is_empty() => {
                let own = usize::from(actor.is_runnable());
                match fetchers.get(scheduler.pick(fetchers.len() + own)) {
                    Some(fetcher) => {
                        self.fetching = Some(*fetcher);
                        actor.fetcher_turn(*fetcher, decision, outbox);
                    }
                    None => actor.turn(decision, outbox),
                }
            }
            Body::Main(actor) => actor.turn(decision, outbox),
            // Here the worker has no place of its own in the schedule: a call is run when it is due.
            Body::Coordinator(actor) if actor.worker_is_runnable() => actor.worker_turn(outbox),
            Body::Coordinator(actor) => actor.turn(decision, outbox),
            Body::TaskManager(actor) => actor.turn(decision, outbox),
            Body::Task(actor) => actor.turn(decision, outbox),
        }
    }

    /// The answer to what the thread asked for whose turn it was.
    pub fn answered(&mut self, answer: InputAnswer) {
        match (&mut self.body, self.fetching) {
            (Body::Task(task), Some(fetcher)) => task.fetch_answered(fetcher, answer),
            (Body::Coordinator(coordinator), None) => coordinator.worker_answered(answer),
            _ => unreachable!("only fetchers and workers ask for files, not {}", self.id),
        }
    }

    /// A timer of it, or of one of its threads, fires.
    pub fn timer_fires(&mut self, timer: Timer) {
        if let (Body::Task(task), Timer::FetchDue(fetcher)) = (&mut self.body, timer) {
            return task.fetch_due(fetcher);
        }
        let mail = self.timer_mail(timer);
        self.enqueue(mail);
    }

    /// A timer of it as mail.
    const fn timer_mail(&self, timer: Timer) -> Mail {
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
