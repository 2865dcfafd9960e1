//! Where a process of a job runs: a thread of this program, on the real clock, with real files.

use super::watch::Watch;
use crate::real_files::RealFiles;
use splitrace_node::host::{Input, Scheduler, Witness};
use splitrace_runtime::actor::TurnDecision;
use splitrace_runtime::api::file_io::FileAnswer;
use splitrace_runtime::api::input_io::{InputAnswer, InputOperation};
use splitrace_runtime::config::NANOS_PER_MILLI;
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::{ActorId, Incarnation, LeaderEpoch, ProcessAddress, ProcessId};

/// At most so many records go down the chain in one turn.
const BATCH_SIZE_MAX: u32 = 1_024;

/// The place of one process.
#[derive(Debug)]
pub(super) struct Place {
    process: ProcessId,
    lives: u32,
    events_told: u64,
    turn: usize,
    input: RealFiles,
    watch: Watch,
}

impl Place {
    /// A place in which nobody has lived. Sources read below `input`.
    pub(super) const fn new(process: ProcessId, input: RealFiles, watch: Watch) -> Self {
        Self { process, lives: 0, events_told: 0, turn: 0, input, watch }
    }

    /// Who sees what happens here.
    pub(super) fn watch(&self) -> Watch {
        self.watch.clone()
    }
}

impl Witness for Place {
    fn begin_life(&mut self, _now_ns: u64) -> ProcessAddress {
        let incarnation = Incarnation(self.lives);
        self.lives += 1;
        ProcessAddress { process: self.process, incarnation }
    }

    fn tell(&mut self, _actor: ActorId, _epoch: LeaderEpoch, event: EventKind, _now_ns: u64) {
        self.events_told += 1;
        self.watch.hear(event);
    }

    /// Nobody judges the order of a real job's events.
    fn note_cause(&mut self, _from: ProcessId, _sequence: u64) {}

    fn events_told(&self) -> u64 {
        self.events_told
    }
}

impl Scheduler for Place {
    /// In turns: each that could go on does before any does twice.
    fn pick(&mut self, count: usize) -> usize {
        self.turn = self.turn.wrapping_add(1);
        self.turn % count
    }

    fn turn_decision(&mut self, now_ns: u64) -> TurnDecision {
        TurnDecision { batch_size_max: BATCH_SIZE_MAX, processing_time_ms: now_ns / NANOS_PER_MILLI }
    }
}

impl Input for Place {
    fn carry_out(&mut self, operation: &InputOperation, _now_ns: u64) -> InputAnswer {
        let InputOperation::File(operation) = operation else {
            unreachable!("a real job reads files: {operation:?}");
        };
        let answer = self.input.perform(operation);
        if let FileAnswer::Bytes(bytes) = &answer {
            self.watch.read(bytes.len() as u64);
        }
        InputAnswer::File(answer)
    }
}
