//! One event of each kind, from an actor that tells such events. A table.

use super::{History, attempt, contents, name, position, range, split};
use splitrace_runtime::config::FailureMoment;
use splitrace_runtime::event::{CommitOutcome, EventKind, FaultKind};
use splitrace_runtime::ids::*;
use splitrace_runtime::message::{ExecutionState, JobResult};
use splitrace_runtime::records::RecordRanges;

const OPERATOR: OperatorUid = OperatorUid(0);
const CHECKPOINT: CheckpointId = CheckpointId(1);
const FENCE: Fence = Fence { leader_epoch: LeaderEpoch(1), attempt: AttemptNumber(0) };

/// One event of each kind, all of one subtask, one split, one checkpoint and one transaction.
#[must_use]
pub fn every_kind() -> History {
    let mut history = History::new();
    tell_job(&mut history);
    tell_coordinator(&mut history);
    tell_main_thread(&mut history);
    tell_task(&mut history);
    tell_commits(&mut history);
    tell_store(&mut history);
    tell_world(&mut history);
    history
}

fn records() -> RecordRanges {
    [range(0, 0, 4)].into_iter().collect()
}

fn tell_job(history: &mut History) {
    let (attempt, subtasks) = (attempt(0, 0), vec![attempt(0, 0).subtask_id()]);
    let checkpoint = Some(CHECKPOINT);
    history.availability(EventKind::LeaderGranted { epoch: LeaderEpoch(1) });
    history.main(EventKind::LeaderTermEnded { cause: "fenced".to_owned() });
    history.availability(EventKind::CounterRaised { checkpoint: CHECKPOINT });
    history.availability(EventKind::JobEnded { result: JobResult::Finished });
    history.main(EventKind::FailoverStarted {
        global: true,
        subtasks: subtasks.clone(),
        cause: "lost".to_owned(),
    });
    history.main(EventKind::TaskDeployed { attempt, task_manager: 0, restored: None });
    let state = ExecutionState::Running;
    history.main(EventKind::TaskStateChanged { attempt, state, cause: None });
    history.main(EventKind::RestorePointChosen { checkpoint, global: false, subtasks });
    history.availability(EventKind::JobSubmitted { checkpoint, parallelism: 2 });
    let contents = Box::new(contents(&[], &[], &[]));
    history.availability(EventKind::SavepointStored { checkpoint: CHECKPOINT, contents });
    let (readers, committables) = (Vec::new(), Vec::new());
    history.main(EventKind::StateRedistributed { checkpoint: CHECKPOINT, readers, committables });
}

fn tell_coordinator(history: &mut History) {
    let (attempt, checkpoint) = (attempt(0, 0), CHECKPOINT);
    let splits = vec![position(0, 0, 10)];
    let pending = splits.clone();
    history.coordinator(EventKind::SplitsDiscovered { splits: splits.clone() });
    history.coordinator(EventKind::EnumeratorStarted { pending: pending.clone(), restored: None });
    history.coordinator(EventKind::ReaderEventArrived { attempt });
    history.coordinator(EventKind::ReaderRegistered { attempt, reported: splits.clone() });
    history.coordinator(EventKind::SplitRequested { attempt });
    history.coordinator(EventKind::SplitsAssigned { attempt, splits: splits.clone() });
    history.coordinator(EventKind::NoMoreSplitsSignalled { attempt });
    let subtasks = vec![attempt.subtask];
    history.coordinator(EventKind::AlignmentAnnounced { allowed_ms: 7, subtasks });
    history.coordinator(EventKind::AssignmentsFiled { checkpoint, remembered: 1 });
    history.coordinator(EventKind::EnumeratorSnapshotTaken { checkpoint, pending });
    let subtask = attempt.subtask_id();
    history.coordinator(EventKind::SplitsGivenBack { subtask, restored: Some(checkpoint), splits });
    history.coordinator(EventKind::CoordinatorNotified { checkpoint, completed: true });
}

fn tell_main_thread(history: &mut History) {
    let (operator, attempt, checkpoint) = (OPERATOR, attempt(0, 0), CHECKPOINT);
    let id = OperatorEventId(1);
    history.main(EventKind::CheckpointTriggered { checkpoint });
    history.main(EventKind::GatewaysMarked { operator, checkpoint });
    history.main(EventKind::GatewaysClosed { operator, checkpoint });
    history.main(EventKind::GatewayOpened { operator, attempt, checkpoint, released: 1 });
    history.main(EventKind::OperatorEventBlocked { operator, attempt, id, checkpoint });
    history.main(EventKind::OperatorEventReleased { operator, attempt, id });
    history.main(EventKind::OperatorEventLost { operator, attempt, id });
    history.main(EventKind::BarriersInjected { checkpoint });
    history.main(EventKind::CheckpointAcknowledged { checkpoint, attempt, last: true });
    history.main(EventKind::CheckpointAborted { checkpoint, reason: "expired".to_owned() });
    history.completed(1, contents(&[], &[(0, 0, 4, 10)], &[(name(0, 1), records())]));
}

fn tell_task(history: &mut History) {
    let (checkpoint, split_id) = (CHECKPOINT, split(0));
    let (split, splits) = (position(0, 0, 10), vec![position(0, 0, 10)]);
    let (transaction, range) = (name(0, 1), range(0, 0, 4));
    let mut task = |kind: EventKind| {
        history.task(0, attempt(0, 0), kind);
    };
    task(EventKind::TaskRestored { checkpoint: Some(checkpoint) });
    task(EventKind::CommitterCreated { restored: Some(checkpoint) });
    task(EventKind::WriterCreated { restored: Some(checkpoint) });
    task(EventKind::ReaderStarted { splits: splits.clone() });
    task(EventKind::SplitRestored { split });
    task(EventKind::SplitAdded { split });
    task(EventKind::OperatorEventHandled { operator: OPERATOR, id: OperatorEventId(1) });
    task(EventKind::NoMoreSplitsNoticed);
    task(EventKind::SplitsPaused { paused: vec![split_id], resumed: Vec::new() });
    task(EventKind::AlignmentWaitBegan { watermark_ms: 4, allowed_ms: 3 });
    task(EventKind::AlignmentWaitEnded { allowed_ms: 4 });
    task(EventKind::RecordsEmitted { range });
    task(EventKind::RecordsFiltered { range });
    task(EventKind::RecordsWritten { transaction, range });
    task(EventKind::SplitFinished { split: split_id });
    task(EventKind::BarrierHandled { checkpoint });
    task(EventKind::TransactionPrepared { transaction, records: records(), end_of_input: false });
    task(EventKind::ReaderSnapshotTaken { checkpoint, splits });
    task(EventKind::EndOfInput);
    task(EventKind::UserFailure { moment: FailureMoment::Read, record: 3 });
    task(EventKind::TaskEnded { state: ExecutionState::Failed, cause: None });
}

fn tell_commits(history: &mut History) {
    let (checkpoint, transaction) = (CHECKPOINT, name(0, 1));
    let (outcome, addressee, epoch) = (CommitOutcome::Maybe, attempt(0, 0), FENCE.leader_epoch);
    let mut task = |kind: EventKind| {
        history.task(0, attempt(0, 0), kind);
    };
    task(EventKind::CompletionNoticed { checkpoint, addressee, epoch });
    task(EventKind::AbortNoticed { checkpoint, addressee, epoch });
    task(EventKind::CommitRequested { transaction, records: records(), retries: 0, recommit: false });
    task(EventKind::CommitAnswered { transaction, outcome });
    task(EventKind::CommitRetried { transaction, retries: 1 });
    task(EventKind::CommitsSettled { checkpoint });
}

fn tell_store(history: &mut History) {
    let (transaction, fence, by) = (name(0, 1), FENCE, attempt(0, 0));
    let (records, writer, epoch) = (records(), by.subtask_id(), FENCE.leader_epoch);
    history.store(EventKind::WriterFenced { writer, fence });
    history.store(EventKind::TransactionBegun { transaction, fence });
    history.store(EventKind::TransactionWritten { transaction, fence, records: records.clone() });
    history.store(EventKind::TransactionDurable { transaction, fence, records: records.clone() });
    history.store(EventKind::TransactionRolledBack { transaction, prepared: true });
    history.store(EventKind::BecameVisible { transaction, by, epoch, records });
    history.store(EventKind::AlreadyVisible { transaction });
    history.store(EventKind::LeftoversListed { writer: transaction.writer, fence });
    history.store(EventKind::StoreRefused { transaction, fence });
}

fn tell_world(history: &mut History) {
    let address = ProcessAddress { process: ProcessId::JobManager, incarnation: Incarnation(0) };
    history.world(EventKind::ProcessStarted { address });
    history.world(EventKind::ProcessCrashed { address });
    history.world(EventKind::ExecutionGone { attempt: attempt(0, 0) });
    history.world(EventKind::FaultInjected { fault: FaultKind::TaskFailure, window: None });
    history.world(EventKind::Healed);
    let fetcher = FetcherNumber(0);
    history.task(0, attempt(0, 0), EventKind::FetcherStarted { fetcher });
    let thread = ActorId::Fetcher { task: attempt(0, 0), fetcher };
    history.push(ProcessId::TaskManager(0), thread, EventKind::BatchFetched { records: 1 });
    history.push(ProcessId::TaskManager(0), thread, EventKind::BatchHandedOver { queued: 1 });
    history.task(0, attempt(0, 0), EventKind::BatchTaken { queued: 0 });
    history.push(ProcessId::TaskManager(0), thread, EventKind::FetcherEnded { cause: None });
}
