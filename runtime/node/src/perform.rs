//! Performing what a turn, a session or an outside system wants done.

use crate::actors::Body;
use crate::host::Host;
use crate::process::{Call, Process};
use crate::timers::TimerOwner;
use splitrace_runtime::actor::{Effect, Outbox};
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::{ActorId, ExecutionAttemptId, LeaderEpoch, ProcessAddress};
use splitrace_runtime::message::{DeliveryToken, Mail, MainMail, Message, Stream};
use splitrace_runtime::session::SessionOutput;
use splitrace_runtime::task::Task;

impl<H: Host> Process<H> {
    /// Performs the outputs of an actor's turn in order, until the end, a cut, or the actor's own end.
    pub(crate) fn perform_turn(&mut self, number: u64, mut outbox: Outbox) {
        debug_assert!(!self.crashed, "the dead do nothing");
        let dies = self.host.dies_in(&mut outbox, self.now_ns);
        let life = self.address;
        for output in outbox.drain() {
            let Some(at) = self.actors.iter().position(|actor| actor.number == number) else { break };
            if let Some(event) = output.event {
                let (id, epoch) = (self.actors[at].speaker(), self.actors[at].epoch());
                self.host.tell(id, epoch, event, self.now_ns);
            }
            if let Some(effect) = output.effect {
                self.perform(number, effect);
            }
            if self.address != life {
                // The term is over: what was left of this step never happens.
                break;
            }
        }
        self.crashed = dies;
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
            Effect::AskInput(operation) => {
                let answer = self.host.carry_out(&operation, self.now_ns);
                if let Some(actor) = self.actors.iter_mut().find(|actor| actor.number == number) {
                    actor.answered(answer);
                }
            }
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
        let emitted = self.host.events_told();
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
        self.host.tell(ActorId::World, LeaderEpoch(0), EventKind::ExecutionGone { attempt }, self.now_ns);
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

    /// The outside system that this process is handles a call.
    pub(crate) fn handle_call(&mut self, call: Call) {
        let Call { from, cause_sequence, message } = call;
        self.host.note_cause(from.process, cause_sequence);
        let mut outbox = Outbox::new();
        let outside = self.outside.as_mut().expect("only outside systems are called");
        let actor = outside.actor();
        outside.handle(from, message, self.now_ns, &mut outbox);
        for output in outbox.drain() {
            if let Some(event) = output.event {
                self.host.tell(actor, LeaderEpoch(0), event, self.now_ns);
            }
            if let Some(Effect::Send { to, stream, message, token }) = output.effect {
                self.send(to, stream, message, token);
            }
        }
    }
}
