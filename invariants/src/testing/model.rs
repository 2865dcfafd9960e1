//! A tiny engine that is right: it makes histories with true sequences and causes, failures and zombies among them.
//!
//! One source, one reader and one writer per subtask, the transactional store. Each execution lives in a task manager of
//! its own, so that nothing but causes orders a zombie and its successor.

use super::*;
use splitrace_runtime::message::{ExecutionState, JobResult};
use std::collections::BTreeMap;

const SPLIT_RECORDS: u64 = 10;
/// Every offset that this divides is filtered.
pub const FILTER_EVERY: u64 = 7;

/// What the model is told to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Assign the next pending split to this subtask.
    Assign(u32),
    /// Let this subtask read so many records.
    Read(u32, u64),
    /// Take a checkpoint; it completes or is aborted.
    Checkpoint {
        /// Whether it completes.
        completes: bool,
    },
    /// Let this subtask commit what completed; the replies arrive or get lost.
    Commit(u32, bool),
    /// Let this subtask fail and restart; its old execution is gone or goes on as a zombie.
    Fail(u32, bool),
    /// Let the zombie of this subtask read on and commit what it was told of.
    Haunt(u32),
}

/// An execution that goes on: its number, its splits, and what it was told to commit.
type Zombie = (u32, Vec<SplitPosition>, Vec<(TransactionName, RecordRanges)>);

#[derive(Clone, Debug, Default)]
struct Subtask {
    number: u32,
    splits: Vec<SplitPosition>,
    open: RecordRanges,
    next_name: u64,
    committables: Vec<(TransactionName, RecordRanges)>,
    since_checkpoint: Vec<SplitPosition>,
    since_completed: Vec<SplitPosition>,
    zombie: Option<Zombie>,
}

#[derive(Clone, Debug, Default)]
struct Completed {
    checkpoint: u64,
    splits: Vec<Vec<SplitPosition>>,
    committables: Vec<Vec<(TransactionName, RecordRanges)>>,
}

/// The engine and the history that it made.
#[derive(Clone, Debug)]
pub struct ModelRun {
    /// What happened so far.
    pub history: History,
    subtasks: Vec<Subtask>,
    pending: Vec<SplitPosition>,
    completed: Option<Completed>,
    triggered: u64,
    sent: u64,
    /// The store: prepared, and visible.
    prepared: BTreeMap<TransactionName, RecordRanges>,
    visible: BTreeMap<TransactionName, RecordRanges>,
}

const MANAGER: ProcessId = ProcessId::JobManager;

impl ModelRun {
    /// A job of two subtasks and so many splits, all deployed.
    #[must_use]
    pub fn new(split_count: u32) -> Self {
        let pending: Vec<_> = (0..split_count)
            .map(|index| {
                let start = u64::from(index) * SPLIT_RECORDS;
                position(index, start, start + SPLIT_RECORDS)
            })
            .collect();
        let mut history = History::new();
        history.availability(EventKind::LeaderGranted { epoch: LeaderEpoch(1) });
        history.after(ProcessId::HighAvailability);
        history.coordinator(EventKind::SplitsDiscovered { splits: pending.clone() });
        history.coordinator(EventKind::EnumeratorStarted { pending: pending.clone(), restored: None });
        let mut run = Self {
            history,
            subtasks: vec![Subtask { next_name: 1, ..Subtask::default() }; 2],
            pending,
            completed: None,
            triggered: 0,
            sent: 0,
            prepared: BTreeMap::new(),
            visible: BTreeMap::new(),
        };
        (0..2).for_each(|subtask| run.deploy(subtask));
        run
    }

    /// Does one step; one that makes no sense now does nothing.
    pub fn step(&mut self, step: Step) {
        match step {
            Step::Assign(subtask) => self.assign(subtask % 2),
            Step::Read(subtask, count) => self.read(subtask % 2, count),
            Step::Checkpoint { completes } => self.checkpoint(completes),
            Step::Commit(subtask, replies) => self.commit(subtask % 2, replies),
            Step::Fail(subtask, zombie) => self.fail(subtask % 2, zombie),
            Step::Haunt(subtask) => self.haunt(subtask % 2),
        }
    }

    /// Reads everything, commits everything and ends the job.
    pub fn finish(&mut self) {
        while !self.pending.is_empty() {
            self.assign(0);
        }
        (0..2).for_each(|subtask| self.read(subtask, u64::MAX));
        for subtask in 0..2 {
            self.tell(subtask, EventKind::EndOfInput);
        }
        self.checkpoint(true);
        for subtask in 0..2 {
            self.commit(subtask, true);
            let (attempt, manager) = self.place(subtask);
            self.tell(subtask, EventKind::TaskEnded { state: ExecutionState::Finished, cause: None });
            self.history.after(manager).main(state_changed(attempt, ExecutionState::Finished));
        }
        self.history.after(MANAGER).availability(EventKind::JobEnded { result: JobResult::Finished });
    }

    fn place(&self, subtask: u32) -> (ExecutionAttemptId, ProcessId) {
        let number = self.subtasks[subtask as usize].number;
        (attempt(subtask, number), ProcessId::TaskManager(subtask + 2 * number))
    }

    fn tell(&mut self, subtask: u32, kind: EventKind) {
        let (attempt, manager) = self.place(subtask);
        self.history.push(manager, ActorId::Task(attempt), kind);
    }

    fn deploy(&mut self, subtask: u32) {
        let (attempt, manager) = self.place(subtask);
        let restored = self.completed.as_ref().map(|completed| CheckpointId(completed.checkpoint));
        let ProcessId::TaskManager(task_manager) = manager else {
            unreachable!("tasks run in task managers")
        };
        self.history.main(EventKind::TaskDeployed { attempt, task_manager, restored });
        self.history.after(MANAGER);
        self.tell(subtask, EventKind::TaskRestored { checkpoint: restored });
        self.recover(subtask);
        for split in self.subtasks[subtask as usize].splits.clone() {
            self.tell(subtask, EventKind::SplitRestored { split });
        }
        self.history.after(manager).main(state_changed(attempt, ExecutionState::Running));
        self.history.coordinator(EventKind::ReaderRegistered { attempt, reported: Vec::new() });
    }

    /// Fences the writer, rolls back what the restored checkpoint does not hold, commits what it holds.
    fn recover(&mut self, subtask: u32) {
        let (attempt, manager) = self.place(subtask);
        let fence = Fence { leader_epoch: LeaderEpoch(1), attempt: attempt.attempt };
        let writer = attempt.subtask_id();
        let keep = self.subtasks[subtask as usize].committables.clone();
        self.history.after(manager).store(EventKind::WriterFenced { writer, fence });
        let orphans: Vec<_> = self
            .prepared
            .keys()
            .filter(|name| name.writer == writer && keep.iter().all(|(kept, _)| kept != *name))
            .copied()
            .collect();
        for transaction in orphans {
            self.prepared.remove(&transaction);
            self.history.store(EventKind::TransactionRolledBack { transaction, prepared: true });
        }
        self.history.after(ProcessId::Store);
        self.tell(subtask, EventKind::WriterCreated { restored: None });
        self.commit_all(subtask, &keep, true);
        self.subtasks[subtask as usize].committables.clear();
    }

    fn assign(&mut self, subtask: u32) {
        if self.pending.is_empty() {
            return;
        }
        let split = self.pending.remove(0);
        let (attempt, _) = self.place(subtask);
        let (operator, id) = (OperatorUid(0), OperatorEventId(self.sent));
        self.sent += 1;
        self.history.coordinator(EventKind::SplitsAssigned { attempt, splits: vec![split] });
        self.history.main(EventKind::OperatorEventReleased { operator, attempt, id });
        self.history.after(MANAGER);
        self.tell(subtask, EventKind::OperatorEventHandled { operator, id });
        self.tell(subtask, EventKind::SplitAdded { split });
        let state = &mut self.subtasks[subtask as usize];
        state.splits.push(split);
        state.since_checkpoint.push(split);
    }

    fn read(&mut self, subtask: u32, count: u64) {
        for _ in 0..count.min(1000) {
            let state = &mut self.subtasks[subtask as usize];
            let Some(split) = state.splits.first_mut() else { return };
            if split.position == split.end {
                let split = state.splits.remove(0).split;
                self.tell(subtask, EventKind::SplitFinished { split });
                continue;
            }
            let one = OffsetRange { split: split.split, start: split.position, end: split.position + 1 };
            split.position += 1;
            let filtered = one.start.is_multiple_of(FILTER_EVERY);
            if !filtered {
                state.open.insert(one);
            }
            let transaction = name(subtask, state.next_name);
            self.tell(subtask, EventKind::RecordsEmitted { range: one });
            self.tell(
                subtask,
                if filtered {
                    EventKind::RecordsFiltered { range: one }
                } else {
                    EventKind::RecordsWritten { transaction, range: one }
                },
            );
        }
    }

    fn prepare(&mut self, subtask: u32) {
        let (attempt, manager) = self.place(subtask);
        let state = &mut self.subtasks[subtask as usize];
        let records = std::mem::take(&mut state.open);
        let transaction = name(subtask, state.next_name);
        state.next_name += 1;
        if !records.is_empty() {
            state.committables.push((transaction, records.clone()));
            self.prepared.insert(transaction, records.clone());
            let fence = Fence { leader_epoch: LeaderEpoch(1), attempt: attempt.attempt };
            let durable = EventKind::TransactionDurable { transaction, fence, records: records.clone() };
            self.history.after(manager).store(durable);
            self.history.after(ProcessId::Store);
        }
        self.tell(subtask, EventKind::TransactionPrepared { transaction, records, end_of_input: false });
    }

    fn checkpoint(&mut self, completes: bool) {
        self.triggered += 1;
        let checkpoint = CheckpointId(self.triggered);
        let operator = OperatorUid(0);
        self.history.main(EventKind::CheckpointTriggered { checkpoint });
        self.history.main(EventKind::GatewaysMarked { operator, checkpoint });
        let pending = self.pending.clone();
        self.history.coordinator(EventKind::EnumeratorSnapshotTaken { checkpoint, pending: pending.clone() });
        self.history.main(EventKind::GatewaysClosed { operator, checkpoint });
        for subtask in 0..2 {
            self.history.after(MANAGER);
            self.tell(subtask, EventKind::BarrierHandled { checkpoint });
            self.prepare(subtask);
            let splits = self.subtasks[subtask as usize].splits.clone();
            self.tell(subtask, EventKind::ReaderSnapshotTaken { checkpoint, splits });
        }
        for subtask in 0..2 {
            let (attempt, manager) = self.place(subtask);
            let last = subtask == 1;
            self.history.after(manager);
            self.history.main(EventKind::CheckpointAcknowledged { checkpoint, attempt, last });
        }
        let states = self.subtasks.iter_mut();
        states.for_each(|state| state.since_completed.append(&mut state.since_checkpoint));
        if completes {
            self.complete(checkpoint, pending);
        } else {
            self.history.main(EventKind::CheckpointAborted { checkpoint, reason: "timeout".to_owned() });
        }
    }

    fn complete(&mut self, checkpoint: CheckpointId, enumerators: Vec<SplitPosition>) {
        let mut contents = CheckpointContents { enumerators, ..CheckpointContents::default() };
        for (subtask, state) in (0u32..).zip(&mut self.subtasks) {
            state.since_completed.clear();
            let id = attempt(subtask, 0).subtask_id();
            contents.readers.extend(state.splits.iter().map(|split| (id, *split)));
            let held = state.committables.iter().cloned();
            contents.committables.extend(held.map(|(name, records)| (id, name, records)));
        }
        self.completed = Some(Completed {
            checkpoint: checkpoint.0,
            splits: self.subtasks.iter().map(|state| state.splits.clone()).collect(),
            committables: self.subtasks.iter().map(|state| state.committables.clone()).collect(),
        });
        self.history.after(MANAGER).completed(checkpoint.0, contents);
        self.history.after(ProcessId::HighAvailability);
        self.history.coordinator(EventKind::CoordinatorNotified { checkpoint, completed: true });
    }

    fn commit(&mut self, subtask: u32, replies: bool) {
        let Some(completed) = &self.completed else { return };
        let checkpoint = CheckpointId(completed.checkpoint);
        let held = &completed.committables[subtask as usize];
        let (due, rest): (Vec<_>, Vec<_>) = self.subtasks[subtask as usize]
            .committables
            .clone()
            .into_iter()
            .partition(|own| held.contains(own));
        self.history.after(MANAGER);
        let (addressee, _) = self.place(subtask);
        let epoch = LeaderEpoch(1);
        self.tell(subtask, EventKind::CompletionNoticed { checkpoint, addressee, epoch });
        self.commit_all(subtask, &due, replies);
        if replies {
            self.subtasks[subtask as usize].committables = rest;
        }
        self.tell(subtask, EventKind::CommitsSettled { checkpoint });
    }

    fn commit_all(&mut self, subtask: u32, due: &[(TransactionName, RecordRanges)], replies: bool) {
        let (by, manager) = self.place(subtask);
        for (transaction, records) in due.iter().cloned() {
            let request = EventKind::CommitRequested { transaction, records, retries: 0, recommit: false };
            self.history.push(manager, ActorId::Task(by), request);
            self.effect(transaction, by, manager);
            let outcome = if replies { CommitOutcome::Committed } else { CommitOutcome::Maybe };
            if replies {
                self.history.after(ProcessId::Store);
            }
            let answer = EventKind::CommitAnswered { transaction, outcome };
            self.history.push(manager, ActorId::Task(by), answer);
        }
    }

    /// What the store does on a commit.
    fn effect(&mut self, transaction: TransactionName, by: ExecutionAttemptId, manager: ProcessId) {
        self.history.after(manager);
        if let Some(records) = self.prepared.remove(&transaction) {
            self.visible.insert(transaction, records.clone());
            self.history.store(EventKind::BecameVisible { transaction, by, epoch: LeaderEpoch(1), records });
        } else {
            assert!(
                self.visible.contains_key(&transaction),
                "what a checkpoint holds is prepared or visible"
            );
            self.history.store(EventKind::AlreadyVisible { transaction });
        }
    }

    fn fail(&mut self, subtask: u32, zombie: bool) {
        let (old, manager) = self.place(subtask);
        if !zombie {
            self.tell(subtask, EventKind::TaskEnded { state: ExecutionState::Failed, cause: None });
            self.history.after(manager);
        }
        let id = old.subtask_id();
        let restored = self.completed.as_ref().map(|completed| CheckpointId(completed.checkpoint));
        self.history.main(state_changed(old, ExecutionState::Failed));
        self.history.main(EventKind::FailoverStarted {
            global: false,
            subtasks: vec![id],
            cause: String::new(),
        });
        let chosen =
            EventKind::RestorePointChosen { checkpoint: restored, global: false, subtasks: vec![id] };
        self.history.main(chosen);
        let completed = self.completed.clone().unwrap_or_default();
        let state = &mut self.subtasks[subtask as usize];
        let told = state.committables.clone();
        let told =
            told.into_iter().filter(|own| completed.committables.iter().any(|held| held.contains(own)));
        state.zombie = zombie.then(|| (state.number, state.splits.clone(), told.collect()));
        let mut back = std::mem::take(&mut state.since_completed);
        back.append(&mut state.since_checkpoint);
        state.splits = completed.splits.get(subtask as usize).cloned().unwrap_or_default();
        state.committables = completed.committables.get(subtask as usize).cloned().unwrap_or_default();
        state.next_name = completed.checkpoint + 1;
        state.open = RecordRanges::new();
        state.number += 1;
        self.history.coordinator(EventKind::SplitsGivenBack { subtask: id, restored, splits: back.clone() });
        self.pending.append(&mut back);
        self.deploy(subtask);
    }

    fn haunt(&mut self, subtask: u32) {
        let Some((number, splits, told)) = self.subtasks[subtask as usize].zombie.take() else { return };
        let (ghost, manager) = (attempt(subtask, number), ProcessId::TaskManager(subtask + 2 * number));
        for split in splits {
            let range = OffsetRange { split: split.split, start: split.position, end: split.end };
            self.history.push(manager, ActorId::Task(ghost), EventKind::RecordsEmitted { range });
            let finished = EventKind::SplitFinished { split: split.split };
            self.history.push(manager, ActorId::Task(ghost), finished);
        }
        for (transaction, records) in told {
            let request = EventKind::CommitRequested { transaction, records, retries: 0, recommit: false };
            self.history.push(manager, ActorId::Task(ghost), request);
            self.effect(transaction, ghost, manager);
        }
        self.history.push(manager, ActorId::World, EventKind::ExecutionGone { attempt: ghost });
    }
}

fn state_changed(attempt: ExecutionAttemptId, state: ExecutionState) -> EventKind {
    EventKind::TaskStateChanged { attempt, state, cause: None }
}

/// A run with everything in it: an aborted checkpoint, a lost reply, a failure, a zombie, and its end.
#[must_use]
pub fn good_history() -> History {
    let mut run = ModelRun::new(4);
    for step in [
        Step::Assign(0),
        Step::Assign(1),
        Step::Read(0, 4),
        Step::Read(1, 12),
        Step::Checkpoint { completes: true },
        Step::Commit(0, true),
        Step::Commit(1, false),
        Step::Assign(1),
        Step::Read(1, 3),
        Step::Checkpoint { completes: false },
        Step::Fail(1, true),
        Step::Read(0, 20),
        Step::Haunt(1),
        Step::Assign(0),
        Step::Read(0, 5),
        Step::Checkpoint { completes: true },
        Step::Fail(0, false),
        Step::Commit(1, true),
    ] {
        run.step(step);
    }
    run.finish();
    run.history
}
