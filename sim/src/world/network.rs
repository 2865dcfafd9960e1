//! The network: how long a frame takes, and what befalls it.
//!
//! A link is directed. Latency is the least time plus a drawn jitter; order is what falls out of that, unless the scenario
//! asks for `ordered-per-connection`. A link that is cut holds frames until it is released, or loses them; a slow one has
//! more latency. Frames outlive the life of their sender: what a dead leader had sent may arrive after its successor's.
//!
//! **Answers that nobody reads are no steps.** An answer tells the sender's session that a message need not be sent again.
//! Unless a role asked for the outcome, or the message was refused, the only thing that ever looks at that is the clock of
//! the sessions. So such an answer travels like any other frame (latency, faults, order), but lies beside the queue until
//! that clock is due, and is heard then if it has arrived: no world can tell the difference, and a seventh of all world
//! steps is gone. Cumulative and delayed answers were refused instead: they save frames where many go one way, and here
//! most links carry one message per checkpoint.

use super::faults::FrameFault;
use super::links::Late;
use super::pending::{Item, process_code, tie};
use super::process::{ActorBody, index_of};
use super::{World, is_heartbeat};
use crate::choices::{ChoiceKind, Choices, Draw, Label, Subject};
use crate::scenario::NetworkSemantics;
use splitrace_runtime::encoding::encode_onto;
use splitrace_runtime::event::FaultKind;
use splitrace_runtime::ids::{ActorId, Incarnation, ProcessId};
use splitrace_runtime::message::*;
use splitrace_runtime::session::{Delivery, Frame, FrameBody, LinkId, SessionOutput};
use std::sync::Arc;

/// Jitters are drawn on so many steps.
const JITTER_GRID: u64 = 256;

impl World {
    /// Sends a frame on its way.
    fn transmit(&mut self, frame: Frame, choices: &mut dyn Choices) {
        let (from, to) = (frame.from.process, frame.to.process);
        let subject = Subject::Link(from, to);
        let config = self.scenario.network;
        let jitter = choices.choose(Label::new(ChoiceKind::Latency, subject), Draw::Below(JITTER_GRID));
        let keeps_order = config.semantics == NetworkSemantics::OrderedPerConnection;
        let healthy_due_ns =
            self.now_ns + config.latency_min_ns + config.latency_jitter_ns * jitter / JITTER_GRID;
        let mut due_ns = healthy_due_ns + self.slowness_ns(from, to, jitter);
        let sender = &self.processes[index_of(from)];
        if sender.last_words.is_none() || to != ProcessId::HighAvailability {
            due_ns = due_ns.max(sender.clogged_until_ns);
        }
        let drawn = self.decide_frame_fault(subject, choices);
        let fault = self.planned_frame_fault(&frame).or(drawn);
        let link = self.network.link(from, to);
        if link.cut_until_ns > self.now_ns {
            if !link.holds {
                return;
            }
            due_ns += link.cut_until_ns - self.now_ns;
        }
        let duplicates = config.semantics == NetworkSemantics::UnorderedDuplicating;
        match fault {
            Some(FrameFault::Lost) => {
                self.begin_loss_burst(from, to, choices);
                return self.tell_fault(FaultKind::MessageLoss, None);
            }
            Some(FrameFault::LostAlone) => return self.tell_fault(FaultKind::MessageLoss, None),
            Some(FrameFault::Delayed { for_ns }) => {
                due_ns += for_ns;
                self.tell_fault(FaultKind::DelaySpike, None);
            }
            Some(FrameFault::Spike) => {
                let label = Label::new(ChoiceKind::SpikeLength, subject);
                let length = 1 + choices.choose(label, Draw::Below(JITTER_GRID));
                due_ns += self.scenario.faults.spike_max_ns * length / JITTER_GRID;
                self.tell_fault(FaultKind::DelaySpike, None);
            }
            Some(FrameFault::Doubled) if duplicates => {
                self.tell_fault(FaultKind::MessageDuplicate, None);
                let later_ns = config.latency_jitter_ns;
                self.arrive_at(due_ns + later_ns, healthy_due_ns + later_ns, frame.clone());
            }
            Some(FrameFault::Doubled) | None => {}
        }
        let link = self.network.link(from, to);
        let healthy_due_ns = link.healthy_due_ns(healthy_due_ns, keeps_order);
        if keeps_order {
            due_ns = due_ns.max(link.last_due_ns + 1);
        }
        let overtakes = due_ns < link.last_due_ns;
        link.last_due_ns = link.last_due_ns.max(due_ns);
        if overtakes && !self.network.reorder_told {
            self.network.reorder_told = true;
            self.tell_fault(FaultKind::MessageReorder, None);
        }
        self.arrive_at(due_ns, healthy_due_ns, frame);
    }

    /// How much longer a frame takes on a slow link, each by a part of its own.
    fn slowness_ns(&mut self, from: ProcessId, to: ProcessId, jitter: u64) -> u64 {
        let link = self.network.link(from, to);
        if link.slow_ns == 0 {
            return 0;
        }
        let half_ns = link.slow_ns / 2;
        if !std::mem::replace(&mut link.slow_told, true) {
            self.tell_fault(FaultKind::SlowLink, None);
        }
        half_ns + half_ns * jitter / JITTER_GRID
    }

    /// A lost frame may begin a burst in which its link loses everything, up to a little longer than a message is sent
    /// again: so a message gets lost for good while both its ends live.
    fn begin_loss_burst(&mut self, from: ProcessId, to: ProcessId, choices: &mut dyn Choices) {
        let label = Label::new(ChoiceKind::LossBurst, Subject::Link(from, to));
        let steps = choices.choose(label, Draw::Odds { numerator: 1, denominator: 2, max: JITTER_GRID });
        let config = self.scenario.network;
        let longest_ns = u128::from(config.resend_after_ns) * (u128::from(config.resend_max) + 2);
        let burst_ns = longest_ns * u128::from(steps) / u128::from(JITTER_GRID);
        let until_ns = self.now_ns.saturating_add(u64::try_from(burst_ns).unwrap_or(u64::MAX));
        if steps > 0 {
            self.network.cut(from, to, until_ns, false);
        }
    }

    fn arrive_at(&mut self, due_ns: u64, healthy_due_ns: u64, frame: Frame) {
        let (from, to) = (frame.from.process, frame.to.process);
        let link = self.network.link(from, to);
        link.frames += 1;
        if is_unread_answer(&frame) {
            let process = &mut self.processes[index_of(to)];
            if process.alive && process.address() == frame.to {
                process.answers.push((due_ns, frame));
            }
            return;
        }
        let tie = tie(2, process_code(from) << 52 | process_code(to) << 44 | link.frames);
        let key = self.pending.push(due_ns, tie, Item::Frame(frame));
        if due_ns > healthy_due_ns {
            self.network.note_late(Late { key, tie, healthy_due_ns });
        }
    }

    /// The sessions of a process hear the answers that have arrived by `until_ns`; see the module for why so late. Their
    /// order does not matter: each ends the sending of one message, and nobody waits for that.
    fn hear_answers(&mut self, index: usize, until_ns: u64) {
        let process = &mut self.processes[index];
        let Some(session) = process.session.as_mut() else { return };
        let mut output = self.session_output.take().unwrap_or_default();
        for (_, answer) in process.answers.extract_if(.., |(due_ns, _)| *due_ns <= until_ns) {
            session.receive(answer, &mut |_| true, &mut output);
        }
        debug_assert!(output.is_empty(), "nobody waits for these: {output:?}");
        self.session_output = Some(output);
    }

    /// Every answer under way that nobody waits for arrives now: for a search in which time decides nothing.
    pub fn hear_answers_at_once(&mut self) {
        for index in 0..self.processes.len() {
            self.hear_answers(index, u64::MAX);
        }
    }

    /// A frame arrives at a process.
    pub(super) fn frame_arrives(&mut self, frame: Frame, choices: &mut dyn Choices) {
        let frame = if self.scenario.network.serialise { self.recoded(frame) } else { frame };
        let index = index_of(frame.to.process);
        let process = &mut self.processes[index];
        if !process.alive || process.incarnation != frame.to.incarnation {
            return;
        }
        self.notice_stale_leader(&frame);
        let process = &mut self.processes[index];
        let mut output = self.session_output.take().unwrap_or_default();
        let (actors, slots) = (&self.actors, &process.slots);
        let mut accept = |message: &Message| match message {
            Message::Task { epoch, attempt, .. } => slots.iter().any(|slot| {
                let actor = &actors[*slot];
                let is_meant = actor.id == ActorId::Task(*attempt) && actor.epoch == *epoch;
                // A thread that has ended takes nothing, also before its task manager has cleared it away.
                is_meant && actor.alive && matches!(&actor.body, ActorBody::Task(task) if !task.has_ended())
            }),
            _ => true,
        };
        let session = process.session.as_mut().expect("a living process has a session");
        session.receive(frame, &mut accept, &mut output);
        self.perform_session(index, &mut output, choices);
        self.session_output = Some(output);
    }

    /// A frame after a journey over a real wire. Only those with a message take it: the others are a few numbers, and
    /// every other frame is one of them.
    fn recoded(&mut self, frame: Frame) -> Frame {
        if !matches!(frame.body, FrameBody::Data { .. }) {
            return frame;
        }
        let mut wire = std::mem::take(&mut self.network.wire);
        wire.clear();
        let wire = encode_onto(&frame, wire);
        let decoded: Frame = postcard::from_bytes(&wire).expect("what was encoded decodes");
        assert_eq!(decoded, frame, "a frame must survive the wire");
        self.network.wire = wire;
        decoded
    }

    /// Tells, once a run for each kind, that a dead leader's words arrive late: what fencing is for. Late is, for the
    /// high-availability service, after its successor got the lease; for all others, after the successor's first words.
    fn notice_stale_leader(&mut self, frame: &Frame) {
        let (ProcessId::JobManager, FrameBody::Data { message, .. }) = (frame.from.process, &frame.body)
        else {
            return;
        };
        let incarnation = frame.from.incarnation;
        let newest = if frame.to.process == ProcessId::HighAvailability {
            self.high_availability.leader().map_or(incarnation, |leader| leader.incarnation)
        } else {
            let heard = &mut self.network.leaders_heard[index_of(frame.to.process)];
            *heard = (*heard).max(incarnation);
            *heard
        };
        let stale = stale_kind(message);
        if incarnation < newest && !self.network.stale_told.contains(&stale) {
            self.network.stale_told.push(stale);
            self.tell_fault(stale, None);
        }
    }

    /// Sends a message through the session of a process.
    pub(super) fn send(
        &mut self,
        index: usize,
        to: splitrace_runtime::ids::ProcessAddress,
        stream: Stream,
        message: Message,
        token: Option<DeliveryToken>,
        choices: &mut dyn Choices,
    ) {
        if to == self.processes[index].address() {
            self.deliver_inside(index, message, choices);
            return;
        }
        if self.processes[index].last_words.is_some() && stale_kind(&message) == FaultKind::StaleWrite {
            self.count_last_write();
        }
        debug_assert!(token.is_none() || stream.has_outcomes(), "answers of {stream:?} are heard late");
        let cause = self.cause_of_send(index);
        let Some(session) = self.processes[index].session.as_mut() else { return };
        let mut output = self.session_output.take().unwrap_or_default();
        session.send(to, stream, message, token, cause, &mut output);
        self.perform_session(index, &mut output, choices);
        self.session_output = Some(output);
    }

    /// Ends the sessions with a peer.
    pub(super) fn reset_session(
        &mut self,
        index: usize,
        peer: splitrace_runtime::ids::ProcessAddress,
        choices: &mut dyn Choices,
    ) {
        let Some(session) = self.processes[index].session.as_mut() else { return };
        let mut output = self.session_output.take().unwrap_or_default();
        session.reset_peer(peer, &mut output);
        self.perform_session(index, &mut output, choices);
        self.session_output = Some(output);
    }

    /// The clock of a process's sessions. All its links share one, and a link of which everything was answered meanwhile
    /// gives its timer back: nearly all do, so a clock per link would mostly tick for nothing.
    pub(super) fn session_timer_fires(
        &mut self,
        index: usize,
        incarnation: Incarnation,
        setting: u64,
        choices: &mut dyn Choices,
    ) {
        let process = &mut self.processes[index];
        if !process.alive || process.incarnation != incarnation || !process.holds_clock(setting) {
            return;
        }
        process.session_clock = None;
        self.hear_answers(index, self.now_ns);
        let process = &mut self.processes[index];
        let Some(session) = process.session.as_mut() else { return };
        let mut output = self.session_output.take().unwrap_or_default();
        let now_ns = self.now_ns;
        process.session_timers.retain(|(link, due_ns)| {
            if *due_ns <= now_ns {
                session.resend_due(*link, &mut output);
                return false;
            }
            !session.stop_idle_timer(*link)
        });
        self.perform_session(index, &mut output, choices);
        self.session_output = Some(output);
        self.set_session_clock(index);
    }

    /// Performs what a session wants done. Most calls want one frame, or one and a delivery.
    fn perform_session(&mut self, index: usize, output: &mut SessionOutput, choices: &mut dyn Choices) {
        if !output.cancelled_timers.is_empty() || !output.timers.is_empty() {
            self.perform_session_timers(index, output);
        }
        while_drained(&mut output.frames, |frame| self.transmit(frame, choices));
        while_drained(&mut output.outcomes, |(token, outcome)| {
            if let Some(slot) = self.find_actor(index, ActorId::MainThread) {
                self.message_count += 1;
                self.actors[slot].body.enqueue(Mail::Main(MainMail::DeliveryOutcome { token, outcome }));
                self.schedule_turn(slot, choices);
            }
        });
        while_drained(&mut output.deliveries, |delivery| self.deliver(index, delivery, choices));
        while_drained(&mut output.broken_links, |link| self.link_broke(index, link, choices));
    }

    fn perform_session_timers(&mut self, index: usize, output: &mut SessionOutput) {
        for link in output.cancelled_timers.drain(..) {
            self.processes[index].session_timers.retain(|(held, _)| *held != link);
        }
        for (link, after_ns) in output.timers.drain(..) {
            self.set_session_timer(index, link, after_ns);
        }
    }

    /// A stream gave up. A task whose events no longer reach its coordinator, or whose words no longer reach the other end
    /// of a channel, fails, as in Flink. Executions of two leaders may share the name and so the stream; neither is heard
    /// any more.
    fn link_broke(&mut self, index: usize, link: LinkId, choices: &mut dyn Choices) {
        let Some(attempt) = link.stream.owner() else { return };
        for slot in self.processes[index].slots.clone() {
            if self.actors[slot].alive && self.actors[slot].id == ActorId::Task(attempt) {
                let cause = match link.stream {
                    Stream::SubtaskEvents(_) => "its events no longer reach the job manager".to_owned(),
                    _ => format!("its channels no longer reach {}", link.peer.process),
                };
                self.throw_in_task(slot, &cause, choices);
            }
        }
    }

    fn set_session_timer(&mut self, index: usize, link: LinkId, after_ns: u64) {
        let due_ns = self.now_ns + after_ns;
        let process = &mut self.processes[index];
        match process.session_timers.iter_mut().find(|(held, _)| *held == link) {
            Some((_, held)) => *held = due_ns,
            None => process.session_timers.push((link, due_ns)),
        }
        if process.session_clock.is_none_or(|(clock_ns, _)| due_ns < clock_ns) {
            self.set_session_clock(index);
        }
    }

    /// Lets the clock fire when the first of the session timers is over.
    fn set_session_clock(&mut self, index: usize) {
        let process = &mut self.processes[index];
        let Some(due_ns) = process.session_timers.iter().map(|(_, due_ns)| *due_ns).min() else { return };
        if process.session_clock.is_some_and(|(clock_ns, _)| clock_ns <= due_ns) {
            return;
        }
        self.network_timer_settings += 1;
        let setting = self.network_timer_settings;
        process.session_clock = Some((due_ns, setting));
        let item = Item::SessionTimer { process: index, incarnation: process.incarnation, setting };
        let identity = process_code(process.id) << 48 | setting;
        self.pending.push(due_ns, tie(4, identity), item);
    }

    /// Puts a message into the mailbox that it is for.
    fn deliver(&mut self, index: usize, delivery: Delivery, choices: &mut dyn Choices) {
        let Delivery { from, stream, cause_sequence, message } = delivery;
        if is_heartbeat(stream) {
            self.heartbeat_step_count += 1;
        } else {
            self.message_count += 1;
        }
        let (actor, mail) = match Arc::unwrap_or_clone(message) {
            Message::JobManager { epoch, message } => {
                (ActorId::MainThread, Mail::Main(MainMail::FromNetwork { from, epoch, message }))
            }
            Message::HighAvailabilityReply { call, reply } => {
                (ActorId::MainThread, Mail::Main(MainMail::HighAvailabilityReply { call, reply }))
            }
            Message::TaskManager { epoch, message } => {
                let ProcessId::TaskManager(number) = self.processes[index].id else { return };
                (
                    ActorId::TaskManager(number),
                    Mail::TaskManager(TaskManagerMail::FromNetwork { from, epoch, message }),
                )
            }
            Message::Task { epoch, attempt, message } => {
                self.note_cause(index, from.process, cause_sequence);
                self.deliver_to_task(index, epoch, attempt, message, choices);
                return;
            }
            message @ (Message::Store { .. } | Message::HighAvailability { .. }) => {
                self.call_outside(index, from, message, cause_sequence, choices);
                return;
            }
        };
        self.note_cause(index, from.process, cause_sequence);
        if let Some(slot) = self.find_actor(index, actor) {
            self.actors[slot].body.enqueue(mail);
            self.schedule_turn(slot, choices);
        }
    }

    /// Both ends of a channel may lie in one process: then there is neither network nor session between them.
    fn deliver_inside(&mut self, index: usize, message: Message, choices: &mut dyn Choices) {
        let Message::Task { epoch, attempt, message } = message else {
            unreachable!("only tasks speak to tasks: {message:?}")
        };
        self.deliver_to_task(index, epoch, attempt, message, choices);
    }

    fn deliver_to_task(
        &mut self,
        index: usize,
        epoch: splitrace_runtime::ids::LeaderEpoch,
        attempt: splitrace_runtime::ids::ExecutionAttemptId,
        message: TaskMessage,
        choices: &mut dyn Choices,
    ) {
        let found = self.processes[index].slots.iter().copied().find(|slot| {
            let actor = &self.actors[*slot];
            actor.alive && actor.id == ActorId::Task(attempt) && actor.epoch == epoch
        });
        if let Some(slot) = found {
            self.actors[slot].body.enqueue(Mail::Task(TaskMail::FromNetwork(message)));
            self.schedule_turn(slot, choices);
        }
    }
}

/// Whether a frame only keeps its addressee from sending something again.
const fn is_unread_answer(frame: &Frame) -> bool {
    matches!(frame.body, FrameBody::Ack { accepted: true, .. }) && !frame.stream.has_outcomes()
}

/// What it is called when a dead leader's message arrives late.
fn stale_kind(message: &Message) -> FaultKind {
    match message {
        Message::HighAvailability {
            request:
                HighAvailabilityRequest::RaiseCounter(_)
                | HighAvailabilityRequest::AddCheckpoint(_)
                | HighAvailabilityRequest::PutResult(_),
            ..
        } => FaultKind::StaleWrite,
        Message::Task {
            message: TaskMessage::NotifyCheckpointComplete(_) | TaskMessage::NotifyCheckpointAborted(_),
            ..
        } => FaultKind::StaleNotice,
        Message::TaskManager { message: TaskManagerMessage::Deploy(_), .. } => FaultKind::StaleDeploy,
        Message::TaskManager { message: TaskManagerMessage::Cancel(_), .. } => FaultKind::StaleCancel,
        _ => FaultKind::StaleLeader,
    }
}

/// Hands all on in order and keeps the room. A list of one, the usual case, is popped instead of drained.
fn while_drained<T>(list: &mut Vec<T>, mut each: impl FnMut(T)) {
    if list.len() <= 1 {
        if let Some(only) = list.pop() {
            each(only);
        }
        return;
    }
    list.drain(..).for_each(each);
}
