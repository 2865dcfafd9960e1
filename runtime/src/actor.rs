//! A role as a single-threaded state machine, and the outbox that it fills.
//!
//! A role takes mail into its mailbox and, when it is given a turn, handles one input, changes its own state and puts
//! outputs into the outbox. It holds no clock, thread, socket, file, randomness or global. A host delivers mail, decides
//! when a turn comes, and performs the outputs in order. A crash or an exception may cut them anywhere: the first k
//! happen, the rest never. An event is attached to the effect that it reports, so a cut cannot part them.

use crate::api::input_io::InputOperation;
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::hash::Hasher;

/// Something a role wants done.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Effect {
    /// Over the network, through the session layer.
    Send {
        /// To this life of a process.
        to: ProcessAddress,
        /// In this stream.
        stream: Stream,
        /// The message.
        message: Message,
        /// Set when the outcome matters: it comes back as mail.
        token: Option<DeliveryToken>,
    },
    /// To another actor of the same process.
    Mail {
        /// The actor.
        to: ActorId,
        /// The mail.
        mail: Mail,
    },
    /// Fire this timer of the same actor after a while; replaces an earlier setting of it.
    SetTimer {
        /// The timer.
        timer: Timer,
        /// Nanoseconds from now.
        after_ns: u64,
    },
    /// Forget a timer of the same actor.
    CancelTimer {
        /// The timer.
        timer: Timer,
    },
    /// The peer is gone: its sessions end, and what was under way has an unknown outcome.
    ResetSession {
        /// That life of the peer.
        peer: ProcessAddress,
    },
    /// Task manager: start a task's thread.
    StartTask(Box<TaskDescriptor>),
    /// Task manager: stop a task's thread.
    StopTask(ExecutionAttemptId),
    /// Task: start the thread of one of its reader's fetchers.
    StartFetcher(FetcherNumber),
    /// Fetcher: its thread is over.
    EndFetcher,
    /// Fetcher, or a coordinator's worker: carry this out on what the source reads. The answer goes to that very
    /// thread, which waits for it as for a system call: it is no mail, and no other thread of the role waits with it.
    AskInput(InputOperation),
    /// Main thread: this leader's term is over. The host replaces the main thread and the coordinators of the process
    /// by new ones, which ask for the lease again.
    EndTerm,
}

/// One entry of an outbox; a cut falls between entries.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Output {
    /// What is to be done.
    pub effect: Option<Effect>,
    /// What is to be told of it, or of a change of the role's own state.
    pub event: Option<EventKind>,
}

/// What one turn wants done, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outbox {
    outputs: Vec<Output>,
}

impl Outbox {
    /// An empty outbox.
    #[must_use]
    pub const fn new() -> Self {
        Self { outputs: Vec::new() }
    }

    /// Tells of a change of the role's own state.
    pub fn emit(&mut self, event: EventKind) {
        self.outputs.push(Output { effect: None, event: Some(event) });
    }

    /// Asks for an effect.
    pub fn effect(&mut self, effect: Effect) {
        self.outputs.push(Output { effect: Some(effect), event: None });
    }

    /// Asks for an effect and tells of it: both happen or neither.
    pub fn effect_with(&mut self, effect: Effect, event: EventKind) {
        self.outputs.push(Output { effect: Some(effect), event: Some(event) });
    }

    /// Sends without asking for the outcome.
    pub fn send(&mut self, to: ProcessAddress, stream: Stream, message: Message) {
        self.effect(Effect::Send { to, stream, message, token: None });
    }

    /// Mail to another actor of the process.
    pub fn mail(&mut self, to: ActorId, mail: Mail) {
        self.effect(Effect::Mail { to, mail });
    }

    /// Sets a timer of the same actor.
    pub fn set_timer(&mut self, timer: Timer, after_ns: u64) {
        self.effect(Effect::SetTimer { timer, after_ns });
    }

    /// Forgets a timer of the same actor.
    pub fn cancel_timer(&mut self, timer: Timer) {
        self.effect(Effect::CancelTimer { timer });
    }

    /// The outputs so far.
    #[must_use]
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Takes the outputs out, keeping the room.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Output> {
        self.outputs.drain(..)
    }

    /// Puts outputs back that a host took out and did not perform: a thread may stand still in the middle of a step.
    pub fn put_back(&mut self, outputs: impl IntoIterator<Item = Output>) {
        self.outputs.extend(outputs);
    }

    /// Keeps the first `count` outputs: the rest never happens.
    pub fn cut(&mut self, count: usize) {
        self.outputs.truncate(count);
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }
}

/// What the host decides for a turn: the nondeterminism that is not in the order of turns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TurnDecision {
    /// How many records a reader may hand on in one turn of the default action; at least 1.
    pub batch_size_max: u32,
    /// What the clock of the process shows, in milliseconds (Flink's processing time): user code may ask for it, the
    /// protocol never does.
    pub processing_time_ms: u64,
}

impl Default for TurnDecision {
    fn default() -> Self {
        Self { batch_size_max: 1, processing_time_ms: 0 }
    }
}

/// A role with a mailbox.
pub trait Actor: Clone + Debug {
    /// What its mailbox takes.
    type Mail;

    /// Puts mail at the end of the mailbox. Nothing is handled yet.
    fn enqueue(&mut self, mail: Self::Mail);

    /// Whether a turn would do something: there is mail that may be handled now, or a default action.
    fn is_runnable(&self) -> bool;

    /// Handles one input: the next mail that may be handled, or the default action.
    fn turn(&mut self, decision: TurnDecision, outbox: &mut Outbox);

    /// Feeds the whole state, mailbox included, into `hasher`.
    fn fingerprint(&self, hasher: &mut dyn Hasher);
}
