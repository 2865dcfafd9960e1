//! Rows of everyone but the tasks: enumerator, job master, gateways, store, world.

use super::{Label, Line, ThreadNames, Weight, checkpoint_or_none, positions, subtask_name, watermark};
use splitrace_runtime::event::{EventKind, FaultKind, Window};
use splitrace_runtime::ids::{OperatorUid, SubtaskId};
use splitrace_runtime::message::{ExecutionState, JobResult};

/// What the words of an enumerator depend on.
#[derive(Clone, Copy)]
pub(super) struct EnumeratorHabit {
    /// Its readers ask for splits.
    pub pulls: bool,
    /// It does not know them all from the start.
    pub discovers: bool,
}

/// The row of an event that a source coordinator emitted.
pub(super) fn coordinator_row(
    kind: &EventKind,
    operator: OperatorUid,
    EnumeratorHabit { pulls: pull, discovers }: EnumeratorHabit,
    threads: &ThreadNames,
) -> Option<Line> {
    let said = match kind {
        EventKind::EnumeratorStarted { restored: Some(restored), pending } => {
            format!("start from {restored}, pending={}", positions(pending))
        }
        EventKind::SplitsDiscovered { splits } if discovers => {
            format!("discovered by the worker: {}", positions(splits))
        }
        EventKind::SplitsDiscovered { splits } => format!("start, pending={}", positions(splits)),
        EventKind::ReaderRegistered { attempt, reported } if reported.is_empty() => {
            format!("addReader({})", subtask_name(attempt.subtask))
        }
        EventKind::ReaderRegistered { attempt, reported } => {
            format!("addReader({}), which reports {}", subtask_name(attempt.subtask), positions(reported))
        }
        EventKind::SplitsAssigned { attempt, splits } => {
            let shown: Vec<String> = splits.iter().map(ToString::to_string).collect();
            let (splits, reader) = (shown.join(", "), subtask_name(attempt.subtask));
            if discovers {
                format!("assign {splits} -> {reader}")
            } else if pull {
                format!("{reader} requests a split -> assign {splits}")
            } else {
                format!("push {splits} -> {reader}")
            }
        }
        EventKind::NoMoreSplitsSignalled { attempt } => {
            let reader = subtask_name(attempt.subtask);
            if discovers {
                format!("signalNoMoreSplits to {reader}")
            } else if pull {
                format!("{reader} requests a split -> signalNoMoreSplits")
            } else {
                format!("push: signalNoMoreSplits to {reader}")
            }
        }
        EventKind::AlignmentAnnounced { allowed_ms, subtasks } => {
            let readers: Vec<String> = subtasks.iter().map(|subtask| subtask_name(*subtask)).collect();
            format!("watermark alignment: {} may go up to {}", readers.join(", "), watermark(*allowed_ms))
        }
        EventKind::EnumeratorSnapshotTaken { checkpoint, pending } => {
            format!("snapshotState({checkpoint}), pending={}", positions(pending))
        }
        EventKind::SplitsGivenBack { subtask, splits, .. } if splits.is_empty() => {
            format!("nothing to give back from failed {}", subtask_name(subtask.subtask))
        }
        EventKind::SplitsGivenBack { subtask, splits, .. } => {
            format!("addSplitsBack({}) from failed {}", positions(splits), subtask_name(subtask.subtask))
        }
        EventKind::CoordinatorNotified { checkpoint, completed } => {
            let notice = if *completed { "Complete" } else { "Aborted" };
            format!("notifyCheckpoint{notice}({})", checkpoint.0)
        }
        _ => return row(kind, threads),
    };
    Line::new(Label::Enumerator, coordinator_name(operator), said, Weight::Step)
}

/// The row of an event of any actor but a task or a coordinator.
pub(super) fn row(kind: &EventKind, threads: &ThreadNames) -> Option<Line> {
    job_says(kind, threads)
        .or_else(|| checkpoints_say(kind))
        .or_else(|| gateway_says(kind))
        .or_else(|| outside_says(kind))
}

fn job_says(kind: &EventKind, threads: &ThreadNames) -> Option<Line> {
    let (said, weight) = match kind {
        EventKind::LeaderGranted { epoch } => (format!("a job master leads, {epoch}"), Weight::Turn),
        EventKind::LeaderTermEnded { cause } => {
            (format!("this leader's term is over: {cause}"), Weight::Turn)
        }
        EventKind::JobEnded { result } => {
            let said = match result {
                JobResult::Finished => "job FINISHED".to_owned(),
                JobResult::Failed(cause) => format!("job FAILED: {cause}"),
                JobResult::Cancelled => "job CANCELED".to_owned(),
                JobResult::Stopped(savepoint) => {
                    format!("job FINISHED, stopped with the savepoint {savepoint}")
                }
            };
            return Line::new(Label::Main, "main".to_owned(), said, Weight::Turn);
        }
        EventKind::JobSubmitted { checkpoint, parallelism } => {
            let from = checkpoint.map_or_else(|| "nothing".to_owned(), |checkpoint| checkpoint.to_string());
            let said = format!("submitted again: parallelism {parallelism} from {from}");
            return Line::new(Label::Main, "main".to_owned(), said, Weight::Turn);
        }
        EventKind::FailoverStarted { global, subtasks, cause } => {
            let scope = if *global { "global failover" } else { "failover" };
            (format!("{scope} of {}: {cause}", subtask_names(subtasks)), Weight::Turn)
        }
        EventKind::TaskDeployed { attempt, task_manager, restored } => {
            let from = restored.map(|restored| format!(" from {restored}")).unwrap_or_default();
            let said = format!("deploys {attempt}{from} to task-manager-{task_manager}");
            return Line::new(Label::JobMaster, threads.of(attempt.vertex), said, Weight::Step);
        }
        EventKind::TaskStateChanged { attempt, state, cause } => {
            let cause = cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
            let weight = match state {
                ExecutionState::Failed => Weight::Turn,
                ExecutionState::Finished | ExecutionState::Canceled => Weight::Step,
                _ => Weight::Detail,
            };
            let said = format!("{attempt} is {state:?}{cause}");
            return Line::new(Label::JobMaster, threads.of(attempt.vertex), said, weight);
        }
        _ => return None,
    };
    Line::new(Label::JobMaster, "job-master".to_owned(), said, weight)
}

fn checkpoints_say(kind: &EventKind) -> Option<Line> {
    let (said, weight) = match kind {
        EventKind::CounterRaised { checkpoint } => {
            (format!("the durable counter is at {}", checkpoint.0), Weight::Detail)
        }
        EventKind::CheckpointTriggered { checkpoint } => (format!("triggers {checkpoint}"), Weight::Step),
        EventKind::BarriersInjected { checkpoint } => {
            (format!("injects the barriers of {checkpoint}"), Weight::Detail)
        }
        EventKind::CheckpointAcknowledged { checkpoint, attempt, last } => {
            let last = if *last { ", the last one" } else { "" };
            (format!("{attempt} acknowledges {checkpoint}{last}"), Weight::Detail)
        }
        EventKind::CheckpointAborted { checkpoint, reason } => {
            (format!("{checkpoint} is aborted: {reason}"), Weight::Turn)
        }
        EventKind::CheckpointCompleted { checkpoint, .. } => {
            (format!("{checkpoint} is complete"), Weight::Turn)
        }
        EventKind::SavepointStored { checkpoint, .. } => {
            (format!("the savepoint {checkpoint} is stored"), Weight::Turn)
        }
        EventKind::StateRedistributed { checkpoint, .. } => {
            (format!("the state of {checkpoint} is dealt to other subtasks"), Weight::Turn)
        }
        EventKind::RestorePointChosen { checkpoint, subtasks, .. } => {
            let from = checkpoint_or_none(*checkpoint);
            (format!("{} will be restored from checkpoint {from}", subtask_names(subtasks)), Weight::Turn)
        }
        _ => return None,
    };
    Line::new(Label::JobMaster, "checkpoint-coordinator".to_owned(), said, weight)
}

fn gateway_says(kind: &EventKind) -> Option<Line> {
    let holder = |operator: &OperatorUid| format!("holder of {operator}");
    let (thread, said, weight) = match kind {
        EventKind::GatewaysMarked { operator, checkpoint } => {
            (holder(operator), format!("marks its gateways for {checkpoint}"), Weight::Detail)
        }
        EventKind::GatewaysClosed { operator, checkpoint } => {
            (holder(operator), format!("closes its gateways for {checkpoint}"), Weight::Detail)
        }
        EventKind::GatewayOpened { operator, attempt, checkpoint, released } => {
            let said = format!("opens the gateway of {attempt} for {checkpoint}, {released} events go");
            (holder(operator), said, Weight::Detail)
        }
        EventKind::OperatorEventBlocked { operator, attempt, id, checkpoint } => {
            (holder(operator), format!("keeps {id} for {attempt} behind {checkpoint}"), Weight::Step)
        }
        EventKind::OperatorEventReleased { operator, attempt, id } => {
            (holder(operator), format!("sends {id} to {attempt}"), Weight::Detail)
        }
        EventKind::OperatorEventLost { operator, attempt, id } => {
            (holder(operator), format!("{id} for {attempt} is lost: fails it over"), Weight::Turn)
        }
        _ => return None,
    };
    Line::new(Label::Gateway, thread, said, weight)
}

fn outside_says(kind: &EventKind) -> Option<Line> {
    let (label, said, weight) = match kind {
        EventKind::WriterFenced { writer, fence } => {
            (Label::Store, format!("{writer}: all older than {fence} are fenced"), Weight::Detail)
        }
        EventKind::TransactionBegun { transaction, .. } => {
            (Label::Store, format!("{transaction} is open"), Weight::Detail)
        }
        EventKind::TransactionWritten { transaction, records, .. } => {
            (Label::Store, format!("{transaction} takes {records}"), Weight::Detail)
        }
        EventKind::TransactionDurable { transaction, records, .. } => {
            (Label::Store, format!("{transaction} is prepared with {records}"), Weight::Detail)
        }
        EventKind::TransactionRolledBack { transaction, prepared } => {
            let was = if *prepared { "prepared" } else { "open" };
            (Label::Store, format!("{transaction} is rolled back, it was {was}"), Weight::Step)
        }
        EventKind::BecameVisible { transaction, records, by, .. } => {
            (Label::Store, format!("{transaction} makes {records} visible for {by}"), Weight::Step)
        }
        EventKind::AlreadyVisible { transaction } => {
            (Label::Store, format!("{transaction} was visible before"), Weight::Step)
        }
        EventKind::LeftoversListed { writer, fence } => {
            let said = format!("{fence} of {writer} looks for what earlier lives left behind");
            (Label::Store, said, Weight::Step)
        }
        EventKind::StoreRefused { transaction, fence } => {
            (Label::Store, format!("{transaction} is refused: {fence} is fenced"), Weight::Turn)
        }
        EventKind::ProcessStarted { address } => (Label::World, format!("{address} starts"), Weight::Step),
        EventKind::ProcessCrashed { address } => (Label::World, format!("!!! {address} dies"), Weight::Turn),
        EventKind::ExecutionGone { attempt } => (Label::World, format!("{attempt} is gone"), Weight::Detail),
        EventKind::FaultInjected { fault, window } => {
            let window = window.map(|window| format!(" between {}", window_name(window))).unwrap_or_default();
            (Label::World, format!("!!! {}{window}", fault_sentence(*fault)), fault_weight(*fault))
        }
        EventKind::Healed => (Label::World, "healed: no more faults from here on".to_owned(), Weight::Turn),
        _ => return None,
    };
    let thread = if label == Label::Store { "store" } else { "world" };
    Line::new(label, thread.to_owned(), said, weight)
}

fn coordinator_name(operator: OperatorUid) -> String {
    if operator == OperatorUid(0) {
        "SourceCoordinator-Source: range-source".to_owned()
    } else {
        format!("SourceCoordinator-Source: range-source-{}", operator.0)
    }
}

fn subtask_names(subtasks: &[SubtaskId]) -> String {
    let names: Vec<String> = subtasks.iter().map(ToString::to_string).collect();
    if names.is_empty() { "all subtasks".to_owned() } else { names.join(", ") }
}

/// The faults that end something are turns of the story; those of single messages are many.
const fn fault_weight(fault: FaultKind) -> Weight {
    match fault {
        FaultKind::MessageReorder => Weight::Detail,
        FaultKind::DelaySpike
        | FaultKind::MessageLoss
        | FaultKind::MessageDuplicate
        | FaultKind::StoreSlow
        | FaultKind::SlowLink
        | FaultKind::RequestLost
        | FaultKind::StoreUnavailable
        | FaultKind::ThreadPause => Weight::Step,
        _ => Weight::Turn,
    }
}

const fn fault_sentence(fault: FaultKind) -> &'static str {
    match fault {
        FaultKind::TaskFailure => "a task is made to fail",
        FaultKind::TaskManagerCrash => "a task manager is killed",
        FaultKind::JobManagerCrash => "the job manager is killed",
        FaultKind::OutboxCut => "a step is cut short: its first outputs happen, the rest never",
        FaultKind::DelaySpike => "a message takes very long",
        FaultKind::MessageLoss => "a message is lost",
        FaultKind::MessageDuplicate => "a message arrives twice",
        FaultKind::MessageReorder => "a message is overtaken",
        FaultKind::Partition => "a link lets nothing through for a while",
        FaultKind::ReplyLost => "the store does it, and its reply is lost",
        FaultKind::StoreUnavailable => "the store answers 'not now'",
        FaultKind::ForeignCommit => "another writer of the table commits in between",
        FaultKind::StoreCrash => "the store dies, and what is merely open in it is lost",
        FaultKind::StoreSlow => "the store is slow",
        FaultKind::Zombie => "an execution that should be gone goes on",
        FaultKind::ThreadPause => "a thread stands still",
        FaultKind::StaleLeader => "a dead leader's words arrive after its successor's",
        FaultKind::StaleWrite => "a dead leader's write arrives after its successor got the lease",
        FaultKind::StaleNotice => "a dead leader's notice arrives after its successor's first words",
        FaultKind::StaleDeploy => {
            "a dead leader's word to run a task arrives after its successor's first words"
        }
        FaultKind::StaleCancel => {
            "a dead leader's word to stop a task arrives after its successor's first words"
        }
        FaultKind::Clog => "a link holds everything back for a while",
        FaultKind::Swizzle => "processes are clogged one by one, to be released in another order",
        FaultKind::SlowLink => "a link is slow",
        FaultKind::RequestLost => "a call is lost on its way",
        FaultKind::ProcessStop => "all threads of a process stop",
        FaultKind::ClockStep => "a clock is set forwards or back",
        FaultKind::SlowClose => "a stopped execution takes long to go",
    }
}

const fn window_name(window: Window) -> &'static str {
    match window {
        Window::MarkToClose => "mark and close of the gateways",
        Window::CloseToBarrier => "close of the gateways and barrier",
        Window::BarrierToAcknowledge => "barrier and acknowledgement",
        Window::LastAcknowledgeToAdd => "the last acknowledgement and the completion of the checkpoint",
        Window::AddToNotice => "the completion of the checkpoint and its notice",
        Window::NoticeToCommit => "the completion notice and the commit",
        Window::CommitEffectToReply => "the commit and its reply",
        Window::PrepareToSnapshot => "prepareCommit and snapshot",
        Window::FailureToReset => "failure and reset",
        Window::ResetToRegistration => "reset and registration",
        Window::RegistrationToAssignment => "registration and first assignment",
        Window::EndOfInputToResult => "end of input and job result",
        Window::SplitEndToFinish => "the last record of a split and its finish",
    }
}
