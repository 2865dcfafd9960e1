//! A reader under the test's control, and a bench that plays job manager and store.

use crate::actor::{Actor, Effect, Outbox, Output, TurnDecision};
use crate::api::source::{InputStatus, ReaderContext, ReaderPort, UserError};
use crate::api::source_state::encode_reader_state;
use crate::config::{EventTime, ReaderKind, SinkKind, TaskConfig};
use crate::defects::{Defect, DefectSet};
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use crate::records::{Record, SplitPosition};
use crate::task::Task;
use crate::topology::OperatorKind;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Hands on one batch per wake-up.
#[derive(Clone, Debug, Default, Hash)]
pub struct ScriptedReader {
    splits: VecDeque<SplitPayload>,
    no_more: bool,
    awake: bool,
}

impl ReaderPort for ScriptedReader {
    fn start(&mut self, context: &mut ReaderContext) {
        if self.splits.is_empty() {
            context.events.push(ReaderEvent::RequestSplit);
        }
        context.wake_after_ns = Some(80);
    }

    fn poll_next(
        &mut self,
        batch_size_max: u32,
        output: &mut Vec<Record>,
        context: &mut ReaderContext,
    ) -> Result<InputStatus, UserError> {
        let Some(front) = self.splits.front_mut() else {
            assert!(self.no_more, "nothing to poll");
            return Ok(InputStatus::EndOfInput);
        };
        let at = &mut front.at;
        let end = at.end.min(at.position + u64::from(batch_size_max));
        output.extend((at.position..end).map(|offset| Record {
            split: at.split,
            offset,
            event_time_ms: offset,
            key: offset,
            payload: vec![7],
        }));
        at.position = end;
        if at.position == at.end {
            context.finished.push(at.split);
            self.splits.pop_front();
        }
        self.awake = false;
        context.wake_after_ns = Some(80);
        Ok(InputStatus::NothingAvailable)
    }

    fn snapshot_state(&mut self, _: CheckpointId) -> Vec<SplitPayload> {
        self.splits.iter().cloned().collect()
    }

    fn add_splits(&mut self, splits: Vec<SplitPayload>, _: &mut ReaderContext) {
        self.splits.extend(splits);
    }

    fn notify_no_more_splits(&mut self, _: &mut ReaderContext) {
        self.no_more = true;
    }

    fn handle_source_event(&mut self, _: Vec<u8>, _: &mut ReaderContext) {}

    fn wake(&mut self) {
        self.awake = true;
    }

    fn is_available(&self) -> bool {
        self.awake && (!self.splits.is_empty() || self.no_more)
    }

    fn notify_checkpoint_complete(&mut self, _: CheckpointId) {}

    fn notify_checkpoint_aborted(&mut self, _: CheckpointId) {}

    fn clone_box(&self) -> Box<dyn ReaderPort> {
        Box::new(self.clone())
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.hash(&mut hasher);
    }
}

/// A split of numbers.
pub fn split(index: u32, position: u64, end: u64) -> SplitPayload {
    let at = SplitPosition { split: SplitId { operator: OperatorUid(0), index }, position, end };
    SplitPayload { at, version: 1, bytes: postcard::to_stdvec(&(position, end)).unwrap() }
}

/// A first attempt of subtask 0 with checkpoints and the final one.
pub fn descriptor(sink: SinkKind) -> TaskDescriptor {
    TaskDescriptor {
        attempt: ExecutionAttemptId::default(),
        leader_epoch: LeaderEpoch(1),
        task_manager: 0,
        job_manager: ProcessAddress { process: ProcessId::JobManager, incarnation: Incarnation(1) },
        parallelism: 1,
        config: TaskConfig {
            record_interval_ns: 80,
            filter_every: 0,
            user_failure: None,
            checkpoint_failure: None,
            write_buffer_records: 2,
            commit_retries_max: 10,
            commit_script: None,
            commit_back_off_ns: 0,
            store_timeout_ns: 1000,
            reader: ReaderKind::Direct,
            stall: None,
            event_time: EventTime::NUMBER,
            alignment: None,
        },
        bounded: true,
        pull: true,
        files: None,
        log: None,
        reports_splits: false,
        checkpointing: true,
        final_checkpoint: true,
        sink,
        coordinated: None,
        operators: OperatorKind::CHAIN.to_vec(),
        consumes: None,
        produces: None,
        restored: None,
        defects: DefectSet::NONE,
    }
}

/// The next attempt, restored from this snapshot.
pub fn restored(sink: SinkKind, checkpoint: u64, snapshot: TaskSnapshot) -> TaskDescriptor {
    let mut descriptor = descriptor(sink);
    descriptor.attempt.attempt = AttemptNumber(1);
    let snapshot = Arc::new(snapshot);
    descriptor.restored =
        Some(RestoredState { checkpoint: CheckpointId(checkpoint), snapshot, held_elsewhere: Vec::new() });
    descriptor
}

/// A task with its surroundings.
pub struct Bench {
    pub task: Task,
    /// Everything that came out, in order.
    pub log: Vec<Output>,
    /// Store calls without an answer, oldest first.
    pub calls: VecDeque<(CallId, StoreRequest)>,
    pub batch_size_max: u32,
}

impl Bench {
    /// A task whose first turn has not come.
    pub fn created(descriptor: TaskDescriptor) -> Self {
        let task = Task::with_reader(descriptor, Box::new(ScriptedReader::default()));
        Self { task, log: Vec::new(), calls: VecDeque::new(), batch_size_max: 1 }
    }

    /// A running task with one split `0..end`, its log emptied.
    pub fn running(descriptor: TaskDescriptor, end: u64) -> Self {
        let mut bench = Self::created(descriptor);
        bench.run();
        bench.answer_all();
        bench.event(OperatorEvent::AddSplits(vec![split(0, 0, end)]));
        bench.log.clear();
        bench
    }

    /// The same with a defect.
    pub fn with_defect(mut descriptor: TaskDescriptor, defect: Defect, end: u64) -> Self {
        descriptor.defects = DefectSet::NONE.with(defect);
        Self::running(descriptor, end)
    }

    /// One turn.
    pub fn turn(&mut self) {
        let mut outbox = Outbox::new();
        self.task.turn(
            TurnDecision { batch_size_max: self.batch_size_max, ..TurnDecision::default() },
            &mut outbox,
        );
        for output in outbox.drain() {
            if let Some(Effect::Send { message: Message::Store { call, request, .. }, .. }) = &output.effect {
                self.calls.push_back((*call, request.clone()));
            }
            self.log.push(output);
        }
    }

    /// Turns until there is nothing to do.
    pub fn run(&mut self) {
        while self.task.is_runnable() {
            self.turn();
        }
    }

    /// Mail, and the turns that it makes possible.
    pub fn mail(&mut self, message: TaskMessage) {
        self.task.enqueue(TaskMail::FromNetwork(message));
        self.run();
    }

    pub fn event(&mut self, event: OperatorEvent) {
        let (operator, id) = (OperatorUid(0), OperatorEventId(1));
        self.mail(TaskMessage::OperatorEvent { operator, id, event });
    }

    pub fn trigger(&mut self, checkpoint: u64) {
        self.mail(TaskMessage::TriggerCheckpoint(CheckpointId(checkpoint)));
    }

    fn notice(&self, checkpoint: u64) -> Notice {
        let TaskDescriptor { attempt, leader_epoch, .. } = *self.task.descriptor();
        Notice { checkpoint: CheckpointId(checkpoint), addressee: attempt, epoch: leader_epoch }
    }

    pub fn complete(&mut self, checkpoint: u64) {
        self.mail(TaskMessage::NotifyCheckpointComplete(self.notice(checkpoint)));
    }

    pub fn abort(&mut self, checkpoint: u64) {
        self.mail(TaskMessage::NotifyCheckpointAborted(self.notice(checkpoint)));
    }

    /// Fires the reader's timer so many times.
    pub fn read(&mut self, times: u32) {
        for _ in 0..times {
            self.task.enqueue(TaskMail::Timer(Timer::ReaderWake));
            self.run();
        }
    }

    /// Answers the oldest call.
    pub fn reply(&mut self, reply: StoreReply) {
        let (call, _) = self.calls.pop_front().expect("a call waits");
        self.mail(TaskMessage::StoreReply { call, reply });
    }

    /// The oldest call has no answer in time.
    pub fn time_out(&mut self) -> CallId {
        let (call, _) = self.calls.pop_front().expect("a call waits");
        self.task.enqueue(TaskMail::Timer(Timer::StoreTimeout(call)));
        self.run();
        call
    }

    /// The time of the committer that stands still is over; answers for how long it stood.
    pub fn stand_still_over(&mut self) -> u64 {
        let held = self.log.iter().rev().find_map(|output| match output.effect {
            Some(Effect::SetTimer { timer: timer @ Timer::StoreCallDue(_), after_ns }) => {
                Some((timer, after_ns))
            }
            _ => None,
        });
        let (timer, after_ns) = held.expect("a committer stands still");
        self.task.enqueue(TaskMail::Timer(timer));
        self.run();
        after_ns
    }

    /// The store does everything at once.
    pub fn answer_all(&mut self) {
        while !self.calls.is_empty() && !self.task.has_ended() {
            self.reply(StoreReply::Done);
        }
    }

    /// Reads to the end of the input.
    pub fn end_input(&mut self) {
        self.event(OperatorEvent::NoMoreSplits);
        self.read(1);
        self.answer_all();
    }

    /// The snapshot in the newest acknowledgement.
    pub fn snapshot(&self) -> TaskSnapshot {
        let acknowledged = self.log.iter().rev().find_map(|output| match job_manager(output)? {
            JobManagerMessage::AcknowledgeCheckpoint { snapshot, .. } => Some((**snapshot).clone()),
            _ => None,
        });
        acknowledged.expect("a checkpoint was acknowledged")
    }

    /// What came out since the log was emptied, timers left out, in short words; empties the log.
    pub fn lines(&mut self) -> Vec<String> {
        self.log.drain(..).flat_map(|output| lines(&output)).collect()
    }

    /// The same, only the lines that begin with one of these words.
    pub fn lines_of(&mut self, kinds: &[&str]) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| kinds.iter().any(|kind| line.starts_with(kind)));
        lines
    }

    pub fn fingerprint(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        self.task.fingerprint(&mut hasher);
        hasher.finish()
    }
}

/// A snapshot whose reader holds one split.
pub fn snapshot_with_split(position: u64, end: u64) -> TaskSnapshot {
    TaskSnapshot { reader: encode_reader_state(&[split(0, position, end)]), ..TaskSnapshot::default() }
}

pub fn job_manager(output: &Output) -> Option<&JobManagerMessage> {
    match &output.effect {
        Some(Effect::Send { message: Message::JobManager { message, .. }, .. }) => Some(message),
        _ => None,
    }
}

fn lines(output: &Output) -> Vec<String> {
    let effect = match &output.effect {
        Some(Effect::Send { message: Message::Store { request, .. }, .. }) => Some(call_line(request)),
        Some(Effect::Send { .. }) => job_manager(output).map(job_manager_line),
        Some(Effect::Mail { to, .. }) => Some(format!("mail to {to}")),
        _ => None,
    };
    effect.into_iter().chain(output.event.as_ref().map(event_line)).collect()
}

fn call_line(request: &StoreRequest) -> String {
    match request {
        StoreRequest::AppendIfAbsent { name, records } => {
            format!("append-if-absent {name} {}", records.len())
        }
        StoreRequest::Append { name, records } => format!("append {name} {}", records.len()),
        StoreRequest::InitTransactions { keep, .. } => format!("init keep {}", keep.len()),
        StoreRequest::Begin { name } => format!("begin {name}"),
        StoreRequest::Write { name, index, records } => format!("write {name} {index} {}", records.len()),
        StoreRequest::Prepare { name, writes } => format!("prepare {name} {writes}"),
        StoreRequest::Commit { name } => format!("commit {name}"),
        StoreRequest::File(operation) => operation.sentence(),
        StoreRequest::Table(operation) => operation.sentence(),
        StoreRequest::Snapshots(operation) => operation.sentence(),
        StoreRequest::Log(operation) => operation.sentence(),
    }
}

fn job_manager_line(message: &JobManagerMessage) -> String {
    match message {
        JobManagerMessage::TaskStateChanged { state, last_acknowledged, .. } => {
            format!("state {state:?} {}", last_acknowledged.map_or(0, |checkpoint| checkpoint.0))
        }
        JobManagerMessage::OperatorEvent { event, .. } => format!("event {event:?}"),
        JobManagerMessage::AcknowledgeCheckpoint { checkpoint, .. } => format!("acknowledge {checkpoint}"),
        JobManagerMessage::DeclineCheckpoint { checkpoint, .. } => format!("decline {checkpoint}"),
        JobManagerMessage::EndOfData { .. } => "end-of-data".to_owned(),
        other => format!("{other:?}"),
    }
}

fn event_line(event: &EventKind) -> String {
    let name = event.name();
    match event {
        EventKind::RecordsEmitted { range } | EventKind::RecordsFiltered { range } => {
            format!("{name} {range}")
        }
        EventKind::RecordsWritten { transaction, range } => format!("{name} {transaction} {range}"),
        EventKind::TransactionPrepared { transaction, records, .. } => {
            format!("{name} {transaction} {records}")
        }
        EventKind::BarrierHandled { checkpoint }
        | EventKind::CompletionNoticed { checkpoint, .. }
        | EventKind::AbortNoticed { checkpoint, .. }
        | EventKind::CommitsSettled { checkpoint } => format!("{name} {checkpoint}"),
        EventKind::ReaderSnapshotTaken { checkpoint, splits } => {
            format!("{name} {checkpoint} {}", splits.len())
        }
        EventKind::CommitRequested { transaction, retries, recommit, .. } => {
            format!("{name} {transaction} {retries} {recommit}")
        }
        EventKind::CommitAnswered { transaction, outcome } => format!("{name} {transaction} {outcome:?}"),
        EventKind::CommitRetried { transaction, retries } => format!("{name} {transaction} {retries}"),
        EventKind::UserFailure { moment, record } => format!("{name} {moment:?} {record}"),
        EventKind::TaskEnded { state, .. } => format!("{name} {state:?}"),
        _ => name.to_owned(),
    }
}
