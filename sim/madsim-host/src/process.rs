//! One life of a process without its clock and sockets: actors, session, timers, and what it has yet to send.
//!
//! It knows nothing of madsim. [`super::node`] hands it datagrams and the time, gives it turns, and sends what it leaves.

use crate::actors::{Body, Hosted};
use crate::chance;
use crate::court::{HIGH_AVAILABILITY, STORE, Setup, index_of};
use crate::timers::{TimerOwner, Timers};
use splitrace_runtime::actor::{Outbox, TurnDecision};
use splitrace_runtime::coordination::coordinator::Coordinator;
use splitrace_runtime::ids::{ActorId, ExecutionAttemptId, LeaderEpoch, ProcessAddress, ProcessId};
use splitrace_runtime::job_master::MainThread;
use splitrace_runtime::message::{Mail, MainMail, Message, TaskMail, TaskManagerMail, TaskMessage};
use splitrace_runtime::session::{Delivery, Frame, Session, SessionConfig, SessionOutput};
use splitrace_runtime::task_manager::TaskManagerEndpoint;
use splitrace_sim::outside::{HighAvailability, Store};
use std::collections::VecDeque;
use std::sync::Arc;

/// How a step of a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Nothing is runnable.
    Idle,
    /// A turn was taken.
    Turned,
    /// It stopped in the middle of a turn and must not act again.
    Crashed,
}

/// The state machine of a process that is no part of the runtime.
#[derive(Debug)]
pub(crate) enum Outside {
    HighAvailability(Box<HighAvailability>),
    Store(Box<Store>),
}

/// A call that waits for an outside system.
#[derive(Debug)]
pub(crate) struct Call {
    pub from: ProcessAddress,
    pub cause_sequence: u64,
    pub message: Message,
}

/// One life of a process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) setup: Arc<Setup>,
    pub(crate) index: usize,
    pub(crate) address: ProcessAddress,
    pub(crate) now_ns: u64,
    pub(crate) session: Session,
    pub(crate) actors: Vec<Hosted>,
    pub(crate) timers: Timers,
    pub(crate) calls: VecDeque<Call>,
    pub(crate) outside: Option<Outside>,
    pub(crate) frames: Vec<Frame>,
    pub(crate) crashed: bool,
    hosted_count: u64,
}

impl Process {
    /// A process begins a life.
    pub fn begin(setup: Arc<Setup>, index: usize, now_ns: u64) -> Self {
        let address = setup.court().begin_life(index, now_ns);
        let job = Arc::clone(&setup.job);
        let outside = match index {
            HIGH_AVAILABILITY => {
                Some(Outside::HighAvailability(Box::new(HighAvailability::new(Arc::clone(&job)))))
            }
            STORE => Some(Outside::Store(Box::new(Store::new(job.sink, job.defects)))),
            _ => None,
        };
        let mut process = Self {
            session: Session::new(address, session_config(&setup)),
            setup,
            index,
            address,
            now_ns,
            actors: Vec::new(),
            timers: Timers::default(),
            calls: VecDeque::new(),
            outside,
            frames: Vec::new(),
            crashed: false,
            hosted_count: 0,
        };
        process.add_first_actors();
        process
    }

    /// The leader's term is over: the process goes on as a new life, with nothing of the old one.
    pub(crate) fn begin_again(&mut self) {
        debug_assert!(self.outside.is_none(), "outside systems have one life");
        let next = Self::begin(Arc::clone(&self.setup), self.index, self.now_ns);
        let frames = std::mem::take(&mut self.frames);
        *self = next;
        // What was sent is sent, whoever sent it.
        self.frames.splice(0..0, frames);
    }

    fn add_first_actors(&mut self) {
        let (job, address) = (Arc::clone(&self.setup.job), self.address);
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
            ProcessId::HighAvailability | ProcessId::Store => {}
        }
    }

    /// Adds an actor.
    pub(crate) fn add_actor(&mut self, id: ActorId, epoch: LeaderEpoch, body: Body) {
        self.hosted_count += 1;
        self.actors.push(Hosted::new(self.hosted_count, id, epoch, body));
    }

    /// Puts mail into the mailbox of an actor of this process, if it is there.
    pub(crate) fn mail(&mut self, to: ActorId, mail: Mail) {
        if let Some(actor) = self.actors.iter_mut().find(|actor| actor.id == to) {
            actor.enqueue(mail);
        }
    }

    /// A datagram arrives.
    pub fn datagram_arrives(&mut self, datagram: &[u8]) {
        let frame: Frame = postcard::from_bytes(datagram).expect("nodes send nothing but frames");
        if frame.to != self.address {
            // It was on its way to an earlier life.
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

    /// Gives a turn to one of those that can take one; which, is drawn.
    pub fn take_turn(&mut self) -> Step {
        if let Some(call) = self.calls.pop_front() {
            self.setup.court().count_turn();
            self.handle_call(call);
            return Step::Turned;
        }
        let runnable: Vec<usize> =
            (0..self.actors.len()).filter(|at| self.actors[*at].is_runnable()).collect();
        if runnable.is_empty() {
            return Step::Idle;
        }
        self.setup.court().count_turn();
        let at = runnable[chance::below(runnable.len() as u64) as usize];
        let batch_size_max = 1 + chance::below(u64::from(self.setup.scenario.faults.batch_size_max)) as u32;
        let mut outbox = Outbox::new();
        let actor = &mut self.actors[at];
        let processing_time_ms = self.now_ns / 1_000_000;
        actor.turn(TurnDecision { batch_size_max, processing_time_ms }, &mut outbox);
        let number = actor.number;
        self.perform_turn(number, outbox);
        if self.crashed { Step::Crashed } else { Step::Turned }
    }

    /// What it wants sent, encoded, with the index of the receiver.
    pub fn take_datagrams(&mut self) -> Vec<(usize, Vec<u8>)> {
        let encode = |frame: Frame| {
            let bytes = postcard::to_stdvec(&frame).expect("every frame serialises");
            (index_of(frame.to.process), bytes)
        };
        self.frames.drain(..).map(encode).collect()
    }

    /// What its actors wait for.
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
        self.setup.court().note_cause(self.index, from.process, cause_sequence);
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

fn session_config(setup: &Setup) -> SessionConfig {
    let network = setup.scenario.network;
    SessionConfig { resend_after_ns: network.resend_after_ns, resend_max: network.resend_max }
}
