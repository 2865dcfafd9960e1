//! The life itself: actors, session, timers, and the frames that have yet to be sent.

use crate::actors::{Body, Hosted};
use crate::host::{Host, OutsideSystem};
use crate::timers::{TimerOwner, Timers};
use splitrace_runtime::actor::Outbox;
use splitrace_runtime::coordination::coordinator::Coordinator;
use splitrace_runtime::ids::{ActorId, ExecutionAttemptId, LeaderEpoch, ProcessAddress, ProcessId};
use splitrace_runtime::job_master::MainThread;
use splitrace_runtime::message::{
    Mail, MainMail, Message, SharedJobConfig, TaskMail, TaskManagerMail, TaskMessage,
};
use splitrace_runtime::session::{Delivery, Frame, Session, SessionConfig, SessionOutput};
use splitrace_runtime::task_manager::TaskManagerEndpoint;
use std::collections::VecDeque;
use std::sync::Arc;

/// How a step of a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Nothing is runnable.
    Idle,
    /// A turn was taken.
    Turned,
    /// It stopped in the middle of a turn and must not act again.
    Crashed,
}

/// A call that waits for the outside system that this process is.
#[derive(Debug)]
pub(crate) struct Call {
    pub from: ProcessAddress,
    pub cause_sequence: u64,
    pub message: Message,
}

/// A process, from the life that it begins with on. A leader whose term ends goes on as a new life of the same process.
#[derive(Debug)]
pub struct Process<H> {
    pub(crate) host: H,
    pub(crate) address: ProcessAddress,
    pub(crate) now_ns: u64,
    pub(crate) session: Session,
    pub(crate) actors: Vec<Hosted>,
    pub(crate) timers: Timers,
    pub(crate) calls: VecDeque<Call>,
    pub(crate) outside: Option<Box<dyn OutsideSystem>>,
    pub(crate) frames: Vec<Frame>,
    pub(crate) crashed: bool,
    job: SharedJobConfig,
    session_config: SessionConfig,
    hosted_count: u64,
}

impl<H: Host> Process<H> {
    /// A process begins a life. `outside` is what it is when it is an outside system.
    #[must_use]
    pub fn begin(
        mut host: H,
        job: SharedJobConfig,
        session_config: SessionConfig,
        outside: Option<Box<dyn OutsideSystem>>,
        now_ns: u64,
    ) -> Self {
        let address = host.begin_life(now_ns);
        let mut process = Self {
            host,
            session: Session::new(address, session_config),
            address,
            now_ns,
            actors: Vec::new(),
            timers: Timers::default(),
            calls: VecDeque::new(),
            outside,
            frames: Vec::new(),
            crashed: false,
            job,
            session_config,
            hosted_count: 0,
        };
        process.add_first_actors();
        process
    }

    /// Where this life is.
    #[must_use]
    pub const fn address(&self) -> ProcessAddress {
        self.address
    }

    /// Where it runs.
    #[must_use]
    pub const fn host(&self) -> &H {
        &self.host
    }

    /// The time goes on to this, in nanoseconds since any fixed moment.
    pub const fn set_time(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// Whether it stopped in the middle of a turn: it must not act again.
    #[must_use]
    pub const fn is_crashed(&self) -> bool {
        self.crashed
    }

    /// When its next timer is due; `None` without any.
    #[must_use]
    pub fn next_due_ns(&self) -> Option<u64> {
        self.timers.next_due_ns()
    }

    /// The leader's term is over: the process goes on as a new life, with nothing of the old one but what it has sent.
    pub(crate) fn begin_again(&mut self) {
        debug_assert!(self.outside.is_none(), "outside systems have one life");
        self.address = self.host.begin_life(self.now_ns);
        self.session = Session::new(self.address, self.session_config);
        self.actors.clear();
        self.timers = Timers::default();
        self.calls.clear();
        self.add_first_actors();
    }

    fn add_first_actors(&mut self) {
        let (job, address) = (Arc::clone(&self.job), self.address);
        match address.process {
            ProcessId::JobManager => {
                let main = Body::Main(Box::new(MainThread::new(Arc::clone(&job))));
                self.add_actor(ActorId::MainThread, LeaderEpoch(0), main);
                for operator in job.coordinated_operators() {
                    let body = Body::Coordinator(Box::new(Coordinator::new(Arc::clone(&job), operator)));
                    self.add_actor(ActorId::SourceCoordinator(operator), LeaderEpoch(0), body);
                }
                self.mail(ActorId::MainThread, Mail::Main(MainMail::ProcessStarted { address }));
            }
            ProcessId::TaskManager(number) => {
                let endpoint = TaskManagerEndpoint::new(number, job.heartbeat);
                let id = ActorId::TaskManager(number);
                self.add_actor(id, LeaderEpoch(0), Body::TaskManager(Box::new(endpoint)));
                self.mail(id, Mail::TaskManager(TaskManagerMail::ProcessStarted { address }));
            }
            ProcessId::HighAvailability | ProcessId::Store => {
                debug_assert!(self.outside.is_some(), "{} is an outside system", address.process);
            }
        }
    }

    /// Adds an actor.
    pub(crate) fn add_actor(&mut self, id: ActorId, epoch: LeaderEpoch, body: Body) {
        self.hosted_count += 1;
        self.actors.push(Hosted::new(self.hosted_count, id, epoch, body));
    }

    /// Puts mail into the mailbox of an actor of this process, if it is there.
    pub fn mail(&mut self, to: ActorId, mail: Mail) {
        if let Some(actor) = self.actors.iter_mut().find(|actor| actor.id == to) {
            actor.enqueue(mail);
        }
    }

    /// A frame arrives. One that was on its way to an earlier life is dropped.
    pub fn frame_arrives(&mut self, frame: Frame) {
        if frame.to != self.address {
            return;
        }
        let mut output = SessionOutput::default();
        let actors = &self.actors;
        let mut accept = |message: &Message| match message {
            Message::Task { epoch, attempt, .. } => runs(actors, *epoch, *attempt)
                .is_some_and(|index| matches!(&actors[index].body, Body::Task(task) if !task.has_ended())),
            _ => true,
        };
        self.session.receive(frame, &mut accept, &mut output);
        self.perform_session(output);
    }

    /// Fires every timer that is due.
    pub fn fire_timers(&mut self) {
        while let Some(owner) = self.timers.take_due(self.now_ns) {
            match owner {
                TimerOwner::Actor(number, timer) => {
                    if let Some(actor) = self.actors.iter_mut().find(|actor| actor.number == number) {
                        actor.timer_fires(timer);
                    }
                }
                TimerOwner::Link(link) => {
                    let mut output = SessionOutput::default();
                    self.session.resend_due(link, &mut output);
                    self.perform_session(output);
                }
            }
        }
    }

    /// Handles the oldest call, or gives a turn to one of the actors that can take one; which, the host picks.
    pub fn take_turn(&mut self) -> Step {
        debug_assert!(!self.crashed, "the dead take no turn");
        if let Some(call) = self.calls.pop_front() {
            self.host.turn_begins();
            self.handle_call(call);
            return Step::Turned;
        }
        let runnable: Vec<usize> =
            (0..self.actors.len()).filter(|at| self.actors[*at].is_runnable()).collect();
        if runnable.is_empty() {
            return Step::Idle;
        }
        self.host.turn_begins();
        let at = runnable[self.host.pick(runnable.len())];
        let decision = self.host.turn_decision(self.now_ns);
        let mut outbox = Outbox::new();
        let actor = &mut self.actors[at];
        actor.turn(decision, &mut self.host, &mut outbox);
        let number = actor.number;
        self.perform_turn(number, outbox);
        if self.crashed { Step::Crashed } else { Step::Turned }
    }

    /// What it wants sent.
    pub fn take_frames(&mut self) -> Vec<Frame> {
        std::mem::take(&mut self.frames)
    }

    /// What its actors wait for, for the report of a deadlock.
    #[must_use]
    pub fn waiting(&self) -> Vec<String> {
        self.actors.iter().filter_map(Hosted::waiting_for).collect()
    }

    /// Puts a delivered message where it is for.
    pub(crate) fn deliver(&mut self, delivery: Delivery) {
        let Delivery { from, cause_sequence, message, .. } = delivery;
        let message = Arc::unwrap_or_clone(message);
        if self.outside.is_some() {
            self.calls.push_back(Call { from, cause_sequence, message });
            return;
        }
        self.host.note_cause(from.process, cause_sequence);
        match message {
            Message::JobManager { epoch, message } => {
                self.mail(ActorId::MainThread, Mail::Main(MainMail::FromNetwork { from, epoch, message }));
            }
            Message::HighAvailabilityReply { call, reply } => {
                self.mail(ActorId::MainThread, Mail::Main(MainMail::HighAvailabilityReply { call, reply }));
            }
            Message::TaskManager { epoch, message } => {
                if let ProcessId::TaskManager(number) = self.address.process {
                    let mail = TaskManagerMail::FromNetwork { from, epoch, message };
                    self.mail(ActorId::TaskManager(number), Mail::TaskManager(mail));
                }
            }
            Message::Task { epoch, attempt, message } => self.deliver_to_task(epoch, attempt, message),
            Message::Store { .. } | Message::HighAvailability { .. } => {
                unreachable!("calls to outside systems go to their processes")
            }
        }
    }

    pub(crate) fn deliver_to_task(
        &mut self,
        epoch: LeaderEpoch,
        attempt: ExecutionAttemptId,
        message: TaskMessage,
    ) {
        if let Some(at) = runs(&self.actors, epoch, attempt) {
            self.actors[at].enqueue(Mail::Task(TaskMail::FromNetwork(message)));
        }
    }
}

/// Where that very execution runs in a process.
fn runs(actors: &[Hosted], epoch: LeaderEpoch, attempt: ExecutionAttemptId) -> Option<usize> {
    actors.iter().position(|actor| actor.id == ActorId::Task(attempt) && actor.epoch() == epoch)
}
