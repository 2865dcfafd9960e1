//! Performing what a turn, a session or an outside system wants done.

use crate::actors::Body;
use crate::chance;
use crate::process::{Call, Outside, Process};
use crate::timers::TimerOwner;
use splitrace_runtime::actor::{Effect, Outbox};
use splitrace_runtime::event::{EventKind, FaultKind};
use splitrace_runtime::ids::{ActorId, ExecutionAttemptId, LeaderEpoch, ProcessAddress};
use splitrace_runtime::message::{DeliveryToken, Mail, MainMail, Message, Stream};
use splitrace_runtime::session::SessionOutput;
use splitrace_runtime::task::Task;
use splitrace_sim::outside::OutsideDecision;

impl Process {
    /// Performs the outputs of an actor's turn in order, until the end, a cut, or the actor's own end.
    pub(crate) fn perform_turn(&mut self, number: u64, mut outbox: Outbox) {
        debug_assert!(!self.crashed, "the dead do nothing");
        let armed = self.setup.court().is_crash_armed(self.index);
        if armed {
            self.cut(&mut outbox);
        }
        let life = self.address;
        for output in outbox.drain() {
            let Some(at) = self.actors.iter().position(|actor| actor.number == number) else { break };
            if let Some(event) = output.event {
                let (id, epoch) = (self.actors[at].speaker(), self.actors[at].epoch());
                self.tell(id, epoch, event);
            }
            if let Some(effect) = output.effect {
                self.perform(number, effect);
            }
            if self.address != life {
                // The term is over: what was left of this step never happens.
                break;
            }
        }
        self.crashed = armed;
    }

    /// A crash falls into this step: the first few outputs happen, the rest never.
    fn cut(&mut self, outbox: &mut Outbox) {
        let count = outbox.outputs().len() as u64;
        let kept = chance::below(count + 1);
        outbox.cut(kept as usize);
        if kept < count {
            self.setup.court().tell_fault(FaultKind::OutboxCut, self.now_ns);
        }
    }

    fn tell(&self, actor: ActorId, epoch: LeaderEpoch, kind: EventKind) {
        self.setup.court().tell(self.index, actor, epoch, kind, self.now_ns);
    }

    fn perform(&mut self, number: u64, effect: Effect) {
        match effect {
            Effect::Send { to, stream, message, token } => self.send(to, stream, message, token),
            Effect::Mail { to, mail } => self.mail(to, mail),
            Effect::SetTimer { timer, after_ns } => {
                self.timers.set(TimerOwner::Actor(number, timer), self.now_ns + after_ns);
            }
            Effect::CancelTimer { timer } => self.timers.cancel(TimerOwner::Actor(number, timer)),
            Effect::ResetSession { peer } => {
                let mut output = SessionOutput::default();
                self.session.reset_peer(peer, &mut output);
                self.perform_session(output);
            }
            Effect::StartTask(descriptor) => {
                let (attempt, epoch) = (descriptor.attempt, descriptor.leader_epoch);
                let task = Body::Task(Box::new(Task::new(*descriptor)));
                self.add_actor(ActorId::Task(attempt), epoch, task);
            }
            Effect::StopTask(attempt) => self.stop_task(attempt),
            Effect::StartFetcher(_) | Effect::EndFetcher => self.perform_for_fetcher(number, &effect),
            Effect::EndTerm => self.begin_again(),
        }
    }

    /// A thread that shares its task's memory starts or is over.
    fn perform_for_fetcher(&mut self, number: u64, effect: &Effect) {
        let Some(actor) = self.actors.iter_mut().find(|actor| actor.number == number) else { return };
        match (effect, actor.fetching) {
            (Effect::StartFetcher(fetcher), _) => actor.fetchers.push(*fetcher),
            (_, Some(ended)) => actor.fetchers.retain(|fetcher| *fetcher != ended),
            (_, None) => debug_assert!(false, "only a fetcher ends itself"),
        }
    }

    fn send(&mut self, to: ProcessAddress, stream: Stream, message: Message, token: Option<DeliveryToken>) {
        if to == self.address {
            // Both ends of a channel may lie in one process: then there is neither network nor session between them.
            if let Message::Task { epoch, attempt, message } = message {
                self.deliver_to_task(epoch, attempt, message);
            }
            return;
        }
        let emitted = self.setup.court().events_emitted(self.index);
        let mut output = SessionOutput::default();
        self.session.send(to, stream, message, token, emitted, &mut output);
        self.perform_session(output);
    }

    /// A task's thread is gone.
    fn stop_task(&mut self, attempt: ExecutionAttemptId) {
        let Some(at) = self.actors.iter().position(|actor| actor.id == ActorId::Task(attempt)) else {
            return;
        };
        let actor = self.actors.remove(at);
        self.timers.cancel_actor(actor.number);
        self.tell(ActorId::World, LeaderEpoch(0), EventKind::ExecutionGone { attempt });
    }

    /// Performs what the session wants done.
    pub(crate) fn perform_session(&mut self, output: SessionOutput) {
        for link in output.cancelled_timers {
            self.timers.cancel(TimerOwner::Link(link));
        }
        for (link, after_ns) in output.timers {
            self.timers.set(TimerOwner::Link(link), self.now_ns + after_ns);
        }
        self.frames.extend(output.frames);
        for (token, outcome) in output.outcomes {
            self.mail(ActorId::MainThread, Mail::Main(MainMail::DeliveryOutcome { token, outcome }));
        }
        for delivery in output.deliveries {
            self.deliver(delivery);
        }
        for link in output.broken_links {
            if let Some(attempt) = link.stream.owner() {
                self.fail_task(attempt);
            }
        }
    }

    /// Events of a task to its coordinators, or words to the other end of a channel, were lost: the task fails, as Flink's
    /// gateway on the task's side does.
    fn fail_task(&mut self, attempt: ExecutionAttemptId) {
        let Some(actor) = self.actors.iter_mut().find(|actor| actor.id == ActorId::Task(attempt)) else {
            return;
        };
        let number = actor.number;
        let mut outbox = Outbox::new();
        if let Body::Task(task) = &mut actor.body {
            task.fail("its words were lost", &mut outbox);
        }
        self.perform_turn(number, outbox);
    }

    /// An outside system handles a call.
    pub(crate) fn handle_call(&mut self, call: Call) {
        let Call { from, cause_sequence, message } = call;
        self.setup.court().note_cause(self.index, from.process, cause_sequence);
        let decision = OutsideDecision::default();
        let mut outbox = Outbox::new();
        let id = match self.outside.as_mut().expect("only outside systems are called") {
            Outside::Store(store) => {
                store.handle(from, message, decision, &mut outbox);
                ActorId::Store
            }
            Outside::HighAvailability(service) => {
                service.handle(from, message, decision, &mut outbox);
                ActorId::HighAvailability
            }
        };
        for output in outbox.drain() {
            if let Some(event) = output.event {
                self.tell(id, LeaderEpoch(0), event);
            }
            if let Some(Effect::Send { to, stream, message, token }) = output.effect {
                self.send(to, stream, message, token);
            }
        }
    }
}
