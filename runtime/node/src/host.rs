//! What a process needs of the place that it runs in.

use splitrace_runtime::actor::{Outbox, TurnDecision};
use splitrace_runtime::api::input_io::{InputAnswer, InputOperation};
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::{ActorId, LeaderEpoch, ProcessAddress, ProcessId};
use splitrace_runtime::message::Message;
use std::fmt::Debug;

/// Who hears of what a process does, over all its lives.
pub trait Witness {
    /// A life of the process begins; the answer says where it is. No two lives have the same address.
    fn begin_life(&mut self, now_ns: u64) -> ProcessAddress;

    /// Something has happened.
    fn tell(&mut self, actor: ActorId, epoch: LeaderEpoch, event: EventKind, now_ns: u64);

    /// The process has heard of what another had told by then.
    fn note_cause(&mut self, from: ProcessId, sequence: u64);

    /// How many events it has told in all its lives.
    fn events_told(&self) -> u64;
}

/// Who decides what nothing else decides.
pub trait Scheduler {
    /// A turn begins, or a call of an outside system.
    fn turn_begins(&mut self) {}

    /// Which of `count`, at least 1, that could go on does; below `count`.
    fn pick(&mut self, count: usize) -> usize;

    /// What an actor's turn is told.
    fn turn_decision(&mut self, now_ns: u64) -> TurnDecision;

    /// Whether the process dies in this step; then what it does not live to do is taken out.
    fn dies_in(&mut self, outbox: &mut Outbox, now_ns: u64) -> bool {
        let _ = (outbox, now_ns);
        false
    }
}

/// Who carries out what sources ask of what they read.
pub trait Input {
    /// Carries an operation out at this time, at once: the thread that asked waits for nothing else.
    fn carry_out(&mut self, operation: &InputOperation, now_ns: u64) -> InputAnswer;
}

/// A place to run in.
pub trait Host: Witness + Scheduler + Input + Debug {}

impl<T: Witness + Scheduler + Input + Debug> Host for T {}

/// What a process is that holds no actors: the store, or the high-availability service.
pub trait OutsideSystem: Debug {
    /// In whose name it tells events.
    fn actor(&self) -> ActorId;

    /// Handles one call at this time. The outputs are sends and events.
    fn handle(&mut self, from: ProcessAddress, message: Message, now_ns: u64, outbox: &mut Outbox);
}
