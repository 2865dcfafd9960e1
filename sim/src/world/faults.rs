//! Deciding faults. Applying them is `world::apply` and `world::window_faults`; this module only says what, whom and when.
//!
//! **Fault budget.** Per run at most `*_max` planned crashes and partitions of each kind, plus at most
//! [`WINDOW_FAULTS_MAX`] faults aimed at protocol windows and [`SECOND_FAULTS_MAX`] faults inside recoveries (chains),
//! each only of a kind that the scenario allows at all. Frames may be lost, doubled, overtaken and held up; threads may
//! stand still; the outside systems may refuse, dawdle, do a thing without saying so, and the store may die with all
//! that is merely open in it. Not in the budget, since no protocol could survive it: loss of what the store
//! acknowledged as durable, or the high-availability service at all, and frames that change their content. After
//! healing none of these comes any more, partitions are lifted and zombies are gone: from there the protocol owes an
//! end.

use super::World;
use crate::choices::{ChoiceKind, Choices, Draw, Label, Subject};
use crate::scenario::Odds;
use splitrace_runtime::event::{EventKind, FaultKind, Window};
use splitrace_runtime::ids::{ActorId, ExecutionAttemptId, Incarnation, ProcessId};
use splitrace_runtime::message::Message;

/// How many faults a run may get that are aimed at windows.
pub const WINDOW_FAULTS_MAX: u32 = 8;
/// How many faults inside recoveries a run may get. Each may begin a recovery of its own and get the next: a chain.
pub const SECOND_FAULTS_MAX: u32 = 4;
/// How likely the window that a scenario favours gets a fault when it opens.
const FAVOURED_WINDOW: Odds = Odds { numerator: 19, denominator: 20 };
/// How likely another writer of a table commits just before a commit. Others write there whether anything breaks or not.
const FOREIGN_COMMIT: Odds = Odds { numerator: 2, denominator: 3 };
/// Planned times are drawn on this grid.
const TIME_GRID_NS: u64 = 100_000;

/// A fault that the plan or a failover brings. What is aimed at a window comes at once or never: later it would miss.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PlannedFault {
    /// An exception in some task.
    TaskFailure,
    /// A process dies.
    Crash {
        /// Which; `None` picks a task manager when it comes.
        process: Option<ProcessId>,
        /// Only this life of it.
        incarnation: Option<Incarnation>,
    },
    /// Some link lets nothing through for a while.
    Partition,
    /// Some link holds everything back for a while.
    Clog,
    /// Some processes are clogged one by one, and released in another order.
    Swizzle,
    /// The links of a process hold everything back.
    ClogProcess {
        /// Which.
        process: ProcessId,
        /// Until when.
        until_ns: u64,
    },
    /// All threads of some process stop.
    ProcessStop,
    /// They go on.
    ProcessWakes {
        /// Which.
        process: ProcessId,
    },
    /// Some clock is set.
    ClockStep,
    /// The store dies, and is away for a while.
    StoreCrash,
    /// A zombie's time is over.
    ZombieEnds {
        /// The execution's slot.
        slot: usize,
    },
}

/// How many faults are left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FaultBudget {
    /// Aimed at windows.
    pub window: u32,
    /// Second faults.
    pub second: u32,
    /// Job manager crashes beyond the plan.
    pub job_manager: u32,
}

/// What befalls a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameFault {
    /// It is lost.
    Lost,
    /// It comes twice.
    Doubled,
    /// It is held up.
    Spike,
    /// It is lost, as a plan wants it; what comes behind it is not.
    LostAlone,
    /// It is held up for so long, as a plan wants it.
    Delayed {
        /// In nanoseconds.
        for_ns: u64,
    },
}

/// What befalls a call to an outside system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutsideFault {
    /// It answers 'not now', or nothing at all.
    Unavailable,
    /// It does the thing and its reply is lost.
    ReplyLost,
    /// It takes long.
    Slow,
    /// The call is lost on its way: no effect and no answer.
    RequestLost,
}

/// What befalls the protocol when a window opens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowFault {
    /// The task concerned throws.
    TaskFailure,
    /// The task manager concerned dies.
    TaskManagerCrash,
    /// The job manager dies.
    JobManagerCrash,
    /// The thread that opened the window stands still.
    Pause,
    /// What the process sends is held up.
    Clog,
}

pub(super) const fn draw(odds: Odds, max: u64) -> Draw {
    Draw::Odds { numerator: odds.numerator, denominator: odds.denominator, max }
}

impl World {
    /// Draws the plan of a run.
    pub(super) fn plan_faults(&mut self, choices: &mut dyn Choices) {
        let faults = self.scenario.faults;
        let plans = [
            (FaultKind::TaskFailure, faults.task_failures_max),
            (FaultKind::TaskManagerCrash, faults.task_manager_crashes_max),
            (FaultKind::JobManagerCrash, faults.job_manager_crashes_max),
            (FaultKind::Partition, faults.partitions_max),
            (FaultKind::StoreCrash, faults.store_crashes_max),
            (FaultKind::Clog, faults.links.clogs_max),
            (FaultKind::Swizzle, faults.links.swizzles_max),
            (FaultKind::ProcessStop, faults.processes.stops_max),
            (FaultKind::ClockStep, faults.processes.clock_steps_max),
        ];
        for (kind, count) in plans {
            for nth in 0..count {
                // The first of a kind comes early enough to hit a job that nothing else has held up.
                let until_ns = if nth == 0 { faults.plan_until_ns * 2 / 3 } else { faults.plan_until_ns };
                let slots = until_ns / TIME_GRID_NS + 1;
                let label = Label::new(ChoiceKind::FaultTime, Subject::Fault(kind));
                let time = choices.choose(label, Draw::Below(slots));
                if time > 0 {
                    self.schedule_fault(time * TIME_GRID_NS, planned(kind));
                }
            }
        }
    }

    /// Decides what befalls a frame; nothing after healing.
    pub(super) fn decide_frame_fault(&self, link: Subject, choices: &mut dyn Choices) -> Option<FrameFault> {
        if self.healed {
            return None;
        }
        let label = Label::new(ChoiceKind::FrameFault, link);
        match choices.choose(label, draw(self.scenario.faults.frame, 6)) {
            0 => None,
            1 | 2 => Some(FrameFault::Lost),
            3 | 4 => Some(FrameFault::Doubled),
            _ => Some(FrameFault::Spike),
        }
    }

    /// Decides what befalls a call to an outside system.
    pub(super) fn decide_outside_fault(
        &self,
        process: ProcessId,
        choices: &mut dyn Choices,
    ) -> Option<OutsideFault> {
        if self.healed {
            return None;
        }
        let is_out = self.scenario.faults.store_out_after_ns.is_some_and(|after_ns| self.now_ns >= after_ns);
        if is_out && process == ProcessId::Store {
            return Some(OutsideFault::Unavailable);
        }
        let label = Label::new(ChoiceKind::OutsideFault, Subject::Process(process));
        match choices.choose(label, draw(self.scenario.faults.outside, 7)) {
            0 => None,
            1 | 2 => Some(OutsideFault::Unavailable),
            3 | 4 => Some(OutsideFault::ReplyLost),
            5 => Some(OutsideFault::RequestLost),
            _ => Some(OutsideFault::Slow),
        }
    }

    /// Decides whether another writer of the table commits just before this call of the store.
    pub(super) fn decide_interference(&self, message: &Message, choices: &mut dyn Choices) -> bool {
        if self.healed || !self.store.is_contended(message) {
            return false;
        }
        let label = Label::new(ChoiceKind::ForeignCommit, Subject::World);
        choices.choose(label, draw(FOREIGN_COMMIT, 1)) > 0
    }

    /// Decides whether a window that just opened gets a fault.
    pub(super) fn decide_window_fault(
        &mut self,
        window: Window,
        choices: &mut dyn Choices,
    ) -> Option<WindowFault> {
        if self.healed || self.budget.window == 0 {
            return None;
        }
        let label = Label::new(ChoiceKind::WindowFault, Subject::Window(window));
        let config = &self.scenario.faults;
        let odds = if config.window_favoured == Some(window) { FAVOURED_WINDOW } else { config.window };
        if config.window.numerator == 0 {
            return None;
        }
        let fault = match choices.choose(label, draw(odds, 12)) {
            0 => return None,
            1..=3 => WindowFault::TaskFailure,
            4..=6 => WindowFault::TaskManagerCrash,
            7 | 8 => WindowFault::JobManagerCrash,
            9 | 10 => WindowFault::Pause,
            // Nothing that the network carries ends these.
            _ if is_local(window) => WindowFault::Pause,
            _ => WindowFault::Clog,
        };
        let fault = self.allowed_instead(fault)?;
        self.budget.window -= 1;
        if fault == WindowFault::JobManagerCrash {
            self.budget.job_manager -= 1;
        }
        Some(fault)
    }

    /// The fault, or the nearest one that the scenario allows at all.
    fn allowed_instead(&self, fault: WindowFault) -> Option<WindowFault> {
        let faults = &self.scenario.faults;
        let (crashes, failures) = (faults.task_manager_crashes_max > 0, faults.task_failures_max > 0);
        Some(match fault {
            WindowFault::JobManagerCrash if self.budget.job_manager > 0 => fault,
            WindowFault::JobManagerCrash | WindowFault::TaskManagerCrash if crashes => {
                WindowFault::TaskManagerCrash
            }
            WindowFault::JobManagerCrash | WindowFault::TaskManagerCrash | WindowFault::TaskFailure
                if failures =>
            {
                WindowFault::TaskFailure
            }
            WindowFault::Pause | WindowFault::Clog => fault,
            _ => return None,
        })
    }

    /// Decides whether a failover that just began gets a second fault, and schedules it.
    pub(super) fn decide_second_fault(&mut self, choices: &mut dyn Choices) {
        if self.healed || self.budget.second == 0 {
            return;
        }
        let restart_ns = self.scenario.job.restart.first_delay_ns();
        let slots = (2 * restart_ns + 60_000_000) / TIME_GRID_NS;
        let label = Label::new(ChoiceKind::SecondFault, Subject::World);
        let time = choices.choose(label, draw(self.scenario.faults.second, slots.max(1)));
        if time == 0 {
            return;
        }
        self.budget.second -= 1;
        let target = choices.choose(Label::new(ChoiceKind::FaultTarget, Subject::World), Draw::Below(6));
        let crashes = self.scenario.faults.task_manager_crashes_max > 0;
        let fault = match target {
            4 if crashes => planned(FaultKind::TaskManagerCrash),
            5 if self.budget.job_manager > 0 => {
                self.budget.job_manager -= 1;
                planned(FaultKind::JobManagerCrash)
            }
            _ => planned(FaultKind::TaskFailure),
        };
        self.schedule_fault(self.now_ns + time * TIME_GRID_NS, fault);
    }
}

const fn planned(kind: FaultKind) -> PlannedFault {
    match kind {
        FaultKind::JobManagerCrash => {
            PlannedFault::Crash { process: Some(ProcessId::JobManager), incarnation: None }
        }
        FaultKind::TaskManagerCrash => PlannedFault::Crash { process: None, incarnation: None },
        FaultKind::Partition => PlannedFault::Partition,
        FaultKind::StoreCrash => PlannedFault::StoreCrash,
        FaultKind::Clog => PlannedFault::Clog,
        FaultKind::Swizzle => PlannedFault::Swizzle,
        FaultKind::ProcessStop => PlannedFault::ProcessStop,
        FaultKind::ClockStep => PlannedFault::ClockStep,
        _ => PlannedFault::TaskFailure,
    }
}

/// Whether a window opens and ends in one process, so that frames held up are no delay inside it.
const fn is_local(window: Window) -> bool {
    matches!(
        window,
        Window::MarkToClose
            | Window::PrepareToSnapshot
            | Window::FailureToReset
            | Window::RegistrationToAssignment
            | Window::SplitEndToFinish
    )
}

/// The execution that an event is about; a fault that is aimed at a window hits this one.
pub(super) const fn concerned_attempt(kind: &EventKind, actor: ActorId) -> Option<ExecutionAttemptId> {
    match (kind, actor) {
        (
            EventKind::CheckpointAcknowledged { attempt, .. }
            | EventKind::ReaderRegistered { attempt, .. }
            | EventKind::BecameVisible { by: attempt, .. },
            _,
        ) => Some(*attempt),
        (_, ActorId::Task(attempt)) => Some(attempt),
        _ => None,
    }
}
