//! What a point is about: the facts that a plan may ask for, read off events and messages.

use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::{ActorId, CheckpointId, ExecutionAttemptId, SubtaskId, TransactionName};
use splitrace_runtime::message::{JobManagerMessage, Message, Notice, TaskManagerMessage, TaskMessage};
use splitrace_runtime::records::OffsetRange;

/// A fact that a point can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fact {
    /// The checkpoint; of a transaction the number in its name.
    Checkpoint,
    /// The vertex, by its first operator's uid.
    Vertex,
    /// The subtask.
    Subtask,
    /// The attempt, counted from 0.
    Attempt,
    /// The split's number in its source.
    Split,
    /// A record that is among those concerned, by its offset in its split.
    Record,
}

impl Fact {
    /// Every fact.
    pub const ALL: [Self; 6] =
        [Self::Checkpoint, Self::Vertex, Self::Subtask, Self::Attempt, Self::Split, Self::Record];

    /// Its name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::Vertex => "vertex",
            Self::Subtask => "subtask",
            Self::Attempt => "attempt",
            Self::Split => "split",
            Self::Record => "record",
        }
    }

    /// The fact with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fact| fact.name() == name)
    }
}

/// What is known of an event or a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    checkpoint: Option<CheckpointId>,
    subtask: Option<SubtaskId>,
    attempt: Option<ExecutionAttemptId>,
    split: Option<u32>,
    records: Option<(u64, u64)>,
}

impl Facts {
    /// Of an event that `actor` tells.
    #[must_use]
    pub fn of_event(event: &EventKind, actor: ActorId) -> Self {
        let mut facts = Self::default();
        match actor {
            ActorId::Task(attempt) | ActorId::Fetcher { task: attempt, .. } => facts.is_of(attempt),
            _ => {}
        }
        facts.checkpoint = checkpoint_of(event);
        match event {
            EventKind::TaskDeployed { attempt, .. }
            | EventKind::TaskStateChanged { attempt, .. }
            | EventKind::ReaderEventArrived { attempt }
            | EventKind::ReaderRegistered { attempt, .. }
            | EventKind::SplitRequested { attempt }
            | EventKind::NoMoreSplitsSignalled { attempt }
            | EventKind::GatewayOpened { attempt, .. }
            | EventKind::OperatorEventBlocked { attempt, .. }
            | EventKind::OperatorEventReleased { attempt, .. }
            | EventKind::OperatorEventLost { attempt, .. }
            | EventKind::CheckpointAcknowledged { attempt, .. } => facts.is_of(*attempt),
            EventKind::SplitsAssigned { attempt, splits } => {
                facts.is_of(*attempt);
                facts.split = splits.first().map(|split| split.split.index);
            }
            EventKind::SplitsGivenBack { subtask, splits, .. } => {
                facts.subtask = Some(*subtask);
                facts.split = splits.first().map(|split| split.split.index);
            }
            EventKind::SplitRestored { split } | EventKind::SplitAdded { split } => {
                facts.split = Some(split.split.index);
            }
            EventKind::SplitFinished { split } => facts.split = Some(split.index),
            EventKind::RecordsEmitted { range } | EventKind::RecordsWritten { range, .. } => {
                facts.reads(range)
            }
            EventKind::TransactionBegun { transaction, .. }
            | EventKind::TransactionWritten { transaction, .. }
            | EventKind::TransactionDurable { transaction, .. }
            | EventKind::TransactionRolledBack { transaction, .. }
            | EventKind::AlreadyVisible { transaction } => facts.subtask = Some(transaction.writer),
            EventKind::BecameVisible { by, .. } => facts.is_of(*by),
            EventKind::WriterFenced { writer, .. } => facts.subtask = Some(*writer),
            _ => {}
        }
        facts
    }

    /// Of a message.
    #[must_use]
    pub fn of_message(message: &Message) -> Self {
        let mut facts = Self::default();
        match message {
            Message::JobManager { message, .. } => match message {
                JobManagerMessage::AcknowledgeCheckpoint { attempt, checkpoint, .. }
                | JobManagerMessage::DeclineCheckpoint { attempt, checkpoint, .. } => {
                    facts.is_of(*attempt);
                    facts.checkpoint = Some(*checkpoint);
                }
                JobManagerMessage::TaskStateChanged { attempt, .. }
                | JobManagerMessage::OperatorEvent { attempt, .. }
                | JobManagerMessage::EndOfData { attempt } => facts.is_of(*attempt),
                _ => {}
            },
            Message::TaskManager { message, .. } => match message {
                TaskManagerMessage::Deploy(task) => facts.is_of(task.attempt),
                TaskManagerMessage::Cancel(attempt) => facts.is_of(*attempt),
                _ => {}
            },
            Message::Task { attempt, message, .. } => {
                facts.is_of(*attempt);
                facts.checkpoint = match message {
                    TaskMessage::TriggerCheckpoint(checkpoint)
                    | TaskMessage::TriggerStop { checkpoint, .. }
                    | TaskMessage::NotifyCheckpointComplete(Notice { checkpoint, .. })
                    | TaskMessage::NotifyCheckpointAborted(Notice { checkpoint, .. }) => Some(*checkpoint),
                    _ => None,
                };
            }
            Message::Store { attempt, .. } => facts.is_of(*attempt),
            Message::HighAvailability { .. } | Message::HighAvailabilityReply { .. } => {}
        }
        facts
    }

    fn is_of(&mut self, attempt: ExecutionAttemptId) {
        self.attempt = Some(attempt);
        self.subtask = Some(attempt.subtask_id());
    }

    fn reads(&mut self, range: &OffsetRange) {
        self.split = Some(range.split.index);
        self.records = Some((range.start, range.end));
    }

    /// Whether the fact is known and is this.
    #[must_use]
    pub fn holds(&self, fact: Fact, value: u64) -> bool {
        match fact {
            Fact::Checkpoint => self.checkpoint.is_some_and(|checkpoint| checkpoint.0 == value),
            Fact::Vertex => self.subtask.is_some_and(|subtask| u64::from(subtask.vertex.0) == value),
            Fact::Subtask => self.subtask.is_some_and(|subtask| u64::from(subtask.subtask.0) == value),
            Fact::Attempt => self.attempt.is_some_and(|attempt| u64::from(attempt.attempt.0) == value),
            Fact::Split => self.split.is_some_and(|split| u64::from(split) == value),
            Fact::Record => self.records.is_some_and(|(start, end)| (start..end).contains(&value)),
        }
    }

    /// The execution concerned.
    #[must_use]
    pub const fn attempt(&self) -> Option<ExecutionAttemptId> {
        self.attempt
    }
}

fn checkpoint_of(event: &EventKind) -> Option<CheckpointId> {
    let of_transaction = |transaction: &TransactionName| Some(transaction.number);
    match event {
        EventKind::TaskDeployed { restored, .. }
        | EventKind::EnumeratorStarted { restored, .. }
        | EventKind::SplitsGivenBack { restored, .. }
        | EventKind::CommitterCreated { restored }
        | EventKind::WriterCreated { restored } => *restored,
        EventKind::TaskRestored { checkpoint } | EventKind::RestorePointChosen { checkpoint, .. } => {
            *checkpoint
        }
        EventKind::AssignmentsFiled { checkpoint, .. }
        | EventKind::EnumeratorSnapshotTaken { checkpoint, .. }
        | EventKind::CoordinatorNotified { checkpoint, .. }
        | EventKind::GatewaysMarked { checkpoint, .. }
        | EventKind::GatewaysClosed { checkpoint, .. }
        | EventKind::GatewayOpened { checkpoint, .. }
        | EventKind::OperatorEventBlocked { checkpoint, .. }
        | EventKind::CheckpointTriggered { checkpoint }
        | EventKind::BarriersInjected { checkpoint }
        | EventKind::CheckpointAcknowledged { checkpoint, .. }
        | EventKind::CheckpointAborted { checkpoint, .. }
        | EventKind::CheckpointCompleted { checkpoint, .. }
        | EventKind::SavepointStored { checkpoint, .. }
        | EventKind::BarrierHandled { checkpoint }
        | EventKind::ReaderSnapshotTaken { checkpoint, .. }
        | EventKind::CompletionNoticed { checkpoint, .. }
        | EventKind::AbortNoticed { checkpoint, .. }
        | EventKind::CommitsSettled { checkpoint } => Some(*checkpoint),
        EventKind::RecordsWritten { transaction, .. }
        | EventKind::TransactionPrepared { transaction, .. }
        | EventKind::CommitRequested { transaction, .. }
        | EventKind::CommitRetried { transaction, .. }
        | EventKind::CommitAnswered { transaction, .. }
        | EventKind::TransactionBegun { transaction, .. }
        | EventKind::TransactionWritten { transaction, .. }
        | EventKind::TransactionDurable { transaction, .. }
        | EventKind::TransactionRolledBack { transaction, .. }
        | EventKind::BecameVisible { transaction, .. }
        | EventKind::AlreadyVisible { transaction } => of_transaction(transaction),
        _ => None,
    }
}
