//! The smallest world in which the gateways matter: two of them, one checkpoint, two events, one abort, one reset.
//!
//! A coordinated operator that is no source runs with parallelism 2, each subtask on a task manager of its own.
//! Its coordinator sends one event to each subtask; one checkpoint is triggered (the second of the job: the
//! first is complete when the search begins, so a reset has something to restore); it may time out; one task
//! may fail, be reset and come back. The world is driven by the latency queue until both tasks run; what is
//! explored begins there, with the three timers (event, checkpoint, later its timeout) and the failure as
//! things that may come at any moment.
//!
//! # What comes at once, and why no order that S2 can see is lost
//!
//! S2 sees, per subtask, the order of 'sent' and 'closed' in the main thread and of 'handled' and 'snapshot' in
//! the task.
//!
//! - *Turns of the main thread, the tasks, the endpoints and the source's coordinator.* Each has one FIFO
//!   mailbox, so a turn that waits is the same as an input that comes later, and when inputs come is explored.
//!   The task's part of a checkpoint is one turn here, as the sink has nothing to prepare. The source has no
//!   split, so its coordinator only answers checkpoints; a late answer delays the barrier, which the late
//!   answer of the other coordinator does too.
//! - *The coordinated operator's coordinator* answers a checkpoint in a turn of its own, so that mark, snapshot
//!   and close have everything else between them, the reset included. Its other turns answer nothing, or send
//!   the events whose moment is explored already, so they come at once. What stands behind the checkpoint in
//!   its mailbox waits with it.
//! - *The high-availability service.* A raise of the counter is a delay of the trigger. The add follows the last
//!   acknowledgement; what could come between changes neither what was sent nor what was handled before it.
//! - *Answers of sessions*, except to operator events: nobody reads them.
//! - *Deployment and a new attempt's way to RUNNING*: the new attempt takes no part in a checkpoint before it has
//!   registered, and it is marked and closed like any other from there on.
//!
//! Never stepped: heartbeats, resends (no frame is lost here), the time-outs of calls that are answered at
//! once, healing. An order that only a lost or repeated frame can bring is out of reach of this search; the
//! campaigns have those.

mod words;

pub use words::{in_words, story};

use super::{State, Treatment, Witness};
use crate::choices::{ChoiceKind, Choices, Draw, Label};
use crate::scenario::{DemoMode, DemoOptions, FaultConfig, Scenario};
use crate::world::World;
use crate::world::pending::Item;
use splitrace_invariants::{Code, Subject, Violation};
use splitrace_runtime::config::{CheckpointConfig, CoordinatedConfig, NANOS_PER_MILLI};
use splitrace_runtime::defects::{Defect, DefectSet};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{ActorId, ExecutionAttemptId, OperatorEventId, OperatorUid};
use splitrace_runtime::message::{CoordinatorMail, ExecutionState, Stream, Timer};
use splitrace_runtime::session::FrameBody;
use std::collections::BTreeMap;
use std::fmt;

/// The coordinated operator whose gateways are looked at.
pub const OPERATOR: OperatorUid = OperatorUid(1);

/// Until then the latency queue drives; nothing that is explored is due before.
const PRIMED_NS: u64 = 2_000 * NANOS_PER_MILLI;
const LATER_NS: u64 = 10 * PRIMED_NS;

// The budgets of a path.
const CHECKPOINTS: usize = 0;
const TIMEOUTS: usize = 1;
const ROUNDS: usize = 2;
const FAILURES: usize = 3;

/// Which steps are branches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Orders {
    /// All that the module does not call 'at once'.
    Every,
    /// Notices, answers to operator events and the news of a failure come at once too. Lost are: a notice that is
    /// overtaken, a close that waits for an answer alone, and what goes on until a failure is known.
    Fewer,
    /// Acknowledgements of checkpoints come at once as well: few enough to follow every path. Lost is what
    /// comes between a snapshot and its acknowledgement.
    Fewest,
}

/// What the small world may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// How many checkpoints are triggered.
    pub checkpoints: u8,
    /// How many of them may time out.
    pub timeouts: u8,
    /// How many tasks fail, 0 or 1; it is the first subtask's.
    pub failures: u8,
    /// How many rounds of events the coordinator sends, one event to each subtask that lacks one.
    pub rounds: u8,
    /// Which orders.
    pub orders: Orders,
    /// Planted defects.
    pub defects: DefectSet,
}

impl Shape {
    /// Two gateways, one checkpoint, two events, one abort, one failure with its reset.
    pub const LITMUS: Self = Self {
        checkpoints: 1,
        timeouts: 1,
        failures: 1,
        rounds: 1,
        orders: Orders::Every,
        defects: DefectSet::NONE,
    };

    /// The same in fewer orders.
    pub const LITMUS_OF_FEWER_ORDERS: Self = Self { orders: Orders::Fewer, ..Self::LITMUS };

    /// The same in so few orders that every path of it can be followed.
    pub const LITMUS_OF_FEWEST_ORDERS: Self = Self { orders: Orders::Fewest, ..Self::LITMUS };

    /// Without the failure; in every order.
    pub const WITHOUT_FAILURE: Self = Self { failures: 0, ..Self::LITMUS };

    /// The first checkpoint is given up or not, and a second one must hold what the first one waited for.
    pub const TWO_CHECKPOINTS: Self =
        Self { checkpoints: 2, failures: 0, orders: Orders::Fewer, ..Self::LITMUS };

    /// This shape with planted defects.
    #[must_use]
    pub const fn with(self, defect: Defect) -> Self {
        Self { defects: self.defects.with(defect), ..self }
    }

    /// The scenario.
    #[must_use]
    pub fn scenario(&self) -> Scenario {
        let mut scenario = Scenario::demo(DemoMode::Push, DemoOptions::default());
        let vertex = &mut scenario.job.vertices[0];
        vertex.source.bounded = false;
        vertex.source.split_count = 0;
        vertex.coordinated =
            Some(CoordinatedConfig { operator: OPERATOR, event_interval_ns: LATER_NS, event_count: 1 });
        scenario.job.checkpointing = Some(CheckpointConfig {
            interval_ns: LATER_NS,
            timeout_ns: LATER_NS,
            pause_min_ns: 0,
            concurrent_max: 1,
            failures_tolerable: 9,
            retained_max: 1,
            after_tasks_finish: true,
            blocked_events_max: None,
        });
        scenario.job.defects = self.defects;
        scenario.faults = FaultConfig {
            heal_after_ns: 100 * LATER_NS,
            plan_until_ns: LATER_NS,
            task_failures_max: u32::from(self.failures),
            ..FaultConfig::NONE
        };
        scenario
    }

    /// The state from which it is explored: both tasks run, everything that was sent has arrived.
    ///
    /// # Panics
    /// When the job does not come to run, which is a bug.
    #[must_use]
    pub fn start(&self) -> State<GatewayWitness> {
        let mut choices = PlannedLate;
        let mut world = World::new(&self.scenario(), &mut choices);
        while world.enabled().first().is_some_and(|first| first.due_ns < PRIMED_NS) {
            let key = world.next_by_latency().expect("something is enabled");
            world.step(key, &mut choices);
        }
        assert!(world.judge().violation().is_none(), "the way to RUNNING is sound");
        State::start(world, GatewayWitness::default(), &|world, item| self.treatment(world, item))
    }

    /// What the search does with an item; see the module for the reasons.
    #[must_use]
    pub fn treatment(&self, world: &World, item: &Item) -> Treatment {
        match item {
            Item::Turn { .. } => match (world.actor_of(item), world.coordinator_mail_of(item)) {
                (Some((ActorId::SourceCoordinator(OPERATOR), _)), Some(CoordinatorMail::Checkpoint(_))) => {
                    Treatment::Branch
                }
                _ => Treatment::AtOnce,
            },
            Item::Timer { timer, .. } => self.timer_treatment(*timer),
            Item::Frame(frame) => match (frame.stream, &frame.body) {
                (Stream::OperatorEvents(_), FrameBody::Ack { .. })
                | (Stream::Notices(_) | Stream::TaskManager, _)
                    if self.orders != Orders::Every =>
                {
                    Treatment::AtOnce
                }
                (Stream::Acknowledgements(_), _) if self.orders == Orders::Fewest => Treatment::AtOnce,
                (Stream::OperatorEvents(_), _) => Treatment::Branch,
                (_, FrameBody::Ack { .. } | FrameBody::Forgotten { .. }) => Treatment::AtOnce,
                (
                    Stream::Triggers(_)
                    | Stream::Acknowledgements(_)
                    | Stream::Notices(_)
                    | Stream::TaskManager,
                    _,
                ) => Treatment::Branch,
                _ => Treatment::AtOnce,
            },
            Item::OutsideCall { .. } | Item::ClientGone { .. } | Item::InputAnswer { .. } => {
                Treatment::AtOnce
            }
            Item::Fault(_) => Treatment::BranchAtMost { budget: FAILURES, times: self.failures },
            Item::SessionTimer { .. }
            | Item::StartProcess(_)
            | Item::CancelJob
            | Item::SubmitJob
            | Item::Savepoint
            | Item::Heal => Treatment::Never,
        }
    }

    const fn timer_treatment(&self, timer: Timer) -> Treatment {
        match timer {
            Timer::CheckpointInterval => {
                Treatment::BranchAtMost { budget: CHECKPOINTS, times: self.checkpoints }
            }
            Timer::CheckpointTimeout(_) => Treatment::BranchAtMost { budget: TIMEOUTS, times: self.timeouts },
            Timer::CoordinatedEvent => Treatment::BranchAtMost { budget: ROUNDS, times: self.rounds },
            Timer::RestartDelay(_)
            | Timer::RestartBackoff
            | Timer::AsyncCall(_)
            | Timer::AsyncCallReturns => Treatment::Branch,
            Timer::CheckpointPause => Treatment::AtOnce,
            Timer::HeartbeatCheck
            | Timer::HighAvailabilityTimeout(_)
            | Timer::Heartbeat
            | Timer::ReaderWake
            | Timer::FetchDue(_)
            | Timer::WriterWake
            | Timer::UserCodeStall
            | Timer::WatermarkReport
            | Timer::AlignmentAnnouncement
            | Timer::OpenChannels
            | Timer::RestartQuiet
            | Timer::FailureForgotten(_)
            | Timer::StoreCallDue(_)
            | Timer::StoreTimeout(_) => Treatment::Never,
        }
    }
}

/// Benign, but a planned fault is planned as late as can be: the search brings it.
#[derive(Debug)]
struct PlannedLate;

impl Choices for PlannedLate {
    fn choose(&mut self, label: Label, draw: Draw) -> u64 {
        if label.kind == ChoiceKind::FaultTime { draw.max() } else { 0 }
    }
}

/// What became of one event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EventFate {
    /// Behind a closed gateway.
    KeptBack,
    /// On its way.
    Sent,
    /// The task handled it before a barrier, or without one.
    Handled,
    /// The task handled it after its barrier.
    HandledBehindBarrier,
}

/// What became of one execution.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
struct Life {
    failed: bool,
    barrier: bool,
    events: BTreeMap<OperatorEventId, EventFate>,
}

/// The outcome of a path, as far as it goes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct GatewayWitness {
    triggered: u8,
    completed: u8,
    aborted: u8,
    lives: BTreeMap<ExecutionAttemptId, Life>,
}

impl Witness for GatewayWitness {
    fn observe(&mut self, event: &Event) {
        let task = match event.header.actor {
            ActorId::Task(attempt) => Some(attempt),
            _ => None,
        };
        match &event.kind {
            EventKind::CheckpointTriggered { .. } => self.triggered += 1,
            EventKind::CheckpointCompleted { .. } => self.completed += 1,
            EventKind::CheckpointAborted { .. } => self.aborted += 1,
            EventKind::OperatorEventBlocked { attempt, id, .. } => {
                self.life(*attempt).events.insert(*id, EventFate::KeptBack);
            }
            EventKind::OperatorEventReleased { attempt, id, .. } => {
                self.life(*attempt).events.insert(*id, EventFate::Sent);
            }
            EventKind::OperatorEventHandled { id, .. } => {
                let life = self.life(task.expect("a task handles it"));
                let fate = if life.barrier { EventFate::HandledBehindBarrier } else { EventFate::Handled };
                life.events.insert(*id, fate);
            }
            EventKind::BarrierHandled { .. } => self.life(task.expect("a task handles it")).barrier = true,
            EventKind::TaskStateChanged { attempt, state: ExecutionState::Failed, .. } => {
                self.life(*attempt).failed = true;
            }
            _ => {}
        }
    }
}

impl GatewayWitness {
    fn life(&mut self, attempt: ExecutionAttemptId) -> &mut Life {
        self.lives.entry(attempt).or_default()
    }

    /// Judges an end: an event to an execution that lives must have been handled. S2's own verdicts came before.
    ///
    /// # Errors
    /// S4, with the first event that waits for ever.
    pub fn judge_end(state: &State<Self>) -> Result<(), Violation> {
        let Some(at) = state.world.judge().last() else { return Ok(()) };
        for (attempt, life) in state.witness.lives.iter().filter(|(_, life)| !life.failed) {
            for (id, fate) in &life.events {
                if matches!(fate, EventFate::KeptBack | EventFate::Sent) {
                    let sentence = format!(
                        "nothing more can happen, and {id} to {attempt} was never handled ({fate:?})"
                    );
                    let subject = Subject::OperatorEvent { operator: OPERATOR, id: *id };
                    return Err(Violation::new(Code::S4, subject, at, sentence));
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for GatewayWitness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { triggered, completed, aborted, lives } = self;
        write!(formatter, "checkpoints: {triggered} triggered, {completed} completed, {aborted} aborted")?;
        for (attempt, life) in lives {
            write!(formatter, "; {attempt}:")?;
            for fate in life.events.values() {
                formatter.write_str(match fate {
                    EventFate::KeptBack => " event kept back",
                    EventFate::Sent => " event under way",
                    EventFate::Handled if life.barrier => " event, then barrier",
                    EventFate::Handled => " event",
                    EventFate::HandledBehindBarrier => " barrier, then event",
                })?;
            }
            if life.events.is_empty() {
                formatter.write_str(if life.barrier { " barrier" } else { " no event" })?;
            }
            if life.failed {
                formatter.write_str(", failed")?;
            }
        }
        Ok(())
    }
}

/// The filter of a shape, to hand on.
pub fn filter_of(shape: &Shape) -> impl Fn(&World, &Item) -> Treatment + '_ {
    |world, item| shape.treatment(world, item)
}
