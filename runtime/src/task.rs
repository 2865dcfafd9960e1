//! The task: a mailbox and a default action over the chain reader -> map -> writer -> committer, or over one of the parts
//! into which exchanges cut it.
//!
//! One turn handles one mail, or polls the reader when there is none: mail comes before the default action, as in
//! Flink's `MailboxProcessor`. The timer that wakes the reader is the exception that saves half of all turns: when no
//! other mail is there, its turn polls at once, so a record costs one turn.
//!
//! A step ends at each request whose answer matters. The task is then in a named waiting state ([`TaskStatus`]); the
//! store's replies and their timers are handled, everything else stays in the mailbox in its order, as if the thread
//! were blocked. Requests of the writer between two barriers do not block: they go out one by one while records are
//! taken.
//!
//! ```text
//! Created ─▶ Recommitting ─▶ OpeningWriter ─▶ Running ─┬─▶ PreparingCheckpoint(N) ─▶ Running
//!                                                      ├─▶ Committing(N) ─▶ Running or Ended
//!                                                      └─▶ PreparingEndOfInput ─▶ Running (ended input) or Committing
//! ```
//! Refused: waiting inside a call (nothing could happen meanwhile that happens to a blocked thread in truth, such as
//! its death), and an actor per operator (a chain shares one thread, and its order in a checkpoint is the protocol).

mod chain;
mod checkpoint_committer;
mod checkpointing;
mod commit_signals;
mod committable_collector;
mod committer_operator;
mod committing;
mod coordinated_operator;
mod ending;
mod fetching;
mod global_committer_operator;
mod initialization;
mod mailbox;
mod map_operator;
mod overtaken;
mod reading;
mod receiving;
mod sink_writer_operator;
mod source_operator;
mod status;
mod store_client;
mod task_committer;
mod task_error;
#[cfg(test)]
mod tests;
mod user_code;

pub use checkpoint_committer::{CommitProgress, CommitTurn, Emission};
pub use checkpointing::CheckpointProgress;
pub use committable_collector::{
    CheckpointCommit, CheckpointCommittableManager, CollectedRequest, CommitStep, CommittableCollector,
    CommittableError, CommittableMessage, CommittableSummary, CommittableWithLineage, END_OF_INPUT,
    SubtaskCommittableManager,
};
pub use committer_operator::{CommitterOperator, CommitterSettings};
pub use coordinated_operator::CoordinatedOperator;
pub use global_committer_operator::GlobalCommitterOperator;
pub use mailbox::{MailGate, Mailbox};
pub use map_operator::MapOperator;
pub use sink_writer_operator::{PreparedMessages, QUEUED_REQUESTS_MAX, SinkWriterOperator};
pub use source_operator::{
    DataInputStatus, OperatingMode, SourceOperator, SourceOperatorError, SplitOutputs, StopMode,
};
pub use status::TaskStatus;
pub use store_client::StoreClient;
pub use task_error::TaskError;
pub use user_code::UserCode;

use crate::actor::{Actor, Effect, Outbox, TurnDecision};
use crate::api::sink::WriterInitContext;
use crate::api::source::ReaderPort;
use crate::connectors::create_sink;
use crate::connectors::file_source::file_reader;
use crate::connectors::log_source::log_reader;
use crate::connectors::range_source::range_reader;
use crate::defects::{Defect, DefectSet};
use crate::event::EventKind;
use crate::exchange::{InputGate, RecordWriter};
use crate::ids::{ActorId, CheckpointId, Fence};
use crate::message::*;
use crate::topology::OperatorKind;
use chain::{Head, Tail};
use std::hash::{Hash, Hasher};
use task_committer::TaskCommitter;

/// `sink.committer.retries` when nobody sets it.
const DEFAULT_RETRIES: u32 = 10;

/// One execution of a subtask.
#[derive(Clone, Hash, Debug)]
pub struct Task {
    descriptor: Box<TaskDescriptor>,
    status: TaskStatus,
    mailbox: Mailbox,
    head: Head,
    map: MapOperator,
    coordinated: Option<CoordinatedOperator>,
    tail: Tail,
    store: StoreClient,
    user_code: UserCode,
    progress: CheckpointProgress,
    /// The input is read to its end and the last `prepare_commit` is settled.
    input_ended: bool,
}

impl Task {
    /// A task that has done nothing yet, with the reader and the sink of its descriptor; its first turn initialises it.
    #[must_use]
    pub fn new(descriptor: TaskDescriptor) -> Self {
        let TaskDescriptor { config, defects, .. } = &descriptor;
        let reader = match (descriptor.files, descriptor.log) {
            (Some(files), _) => file_reader(files, config, *defects),
            (None, Some(log)) => log_reader(log, config, *defects),
            (None, None) => range_reader(config, descriptor.pull, *defects),
        };
        Self::with_reader(descriptor, reader)
    }

    /// The same with another reader; behind an exchange there is none.
    #[must_use]
    pub fn with_reader(descriptor: TaskDescriptor, reader: Box<dyn ReaderPort>) -> Self {
        let attempt = descriptor.attempt;
        let config = descriptor.config;
        let (head, tail) = ends_of_chain(&descriptor, reader);
        let restored = descriptor.restored.as_ref().map(|restored| restored.checkpoint);
        debug_assert!(
            restored.is_none() || descriptor.checkpointing,
            "there is nothing to restore without checkpoints"
        );
        Self {
            status: TaskStatus::Created,
            mailbox: Mailbox::default(),
            user_code: UserCode::new(&config, attempt, &head, &tail),
            head,
            map: MapOperator::new(config.filter_every),
            coordinated: descriptor.coordinated.map(CoordinatedOperator::new),
            tail,
            store: StoreClient::new(attempt, descriptor.leader_epoch, config.store_timeout_ns),
            progress: CheckpointProgress::new(restored),
            input_ended: false,
            descriptor: Box::new(descriptor),
        }
    }

    /// What it was deployed with; the restored state is taken out at the first turn.
    #[must_use]
    pub const fn descriptor(&self) -> &TaskDescriptor {
        &self.descriptor
    }

    /// Where it stands.
    #[must_use]
    pub const fn status(&self) -> TaskStatus {
        self.status
    }

    /// Whether its thread has ended.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        matches!(self.status, TaskStatus::Ended(_))
    }

    /// What is owed to it, as a sentence for a deadlock's report; `None` when it owes the next step itself.
    #[must_use]
    pub fn waiting_for(&self) -> Option<String> {
        let subtask = self.descriptor.attempt.subtask_id();
        if let Some(what) = self.tail.waiting_for(self.status) {
            return Some(format!("{subtask} waits for {what}"));
        }
        if let Head::Source(source) = &self.head
            && let Some((watermark_ms, allowed_ms)) = source.waits_for_alignment()
        {
            return Some(format!(
                "{subtask} waits for its watermark group: it has reached {watermark_ms} ms of event time and may go \
                 up to {allowed_ms} ms"
            ));
        }
        if let Head::Gate(gate) = &self.head
            && let Some(what) = gate.waiting_for()
        {
            return Some(format!("{subtask} waits for {what}"));
        }
        (self.status == TaskStatus::Running && self.input_ended)
            .then(|| format!("{subtask} waits for a checkpoint after its end of input to complete"))
    }

    /// An exception ends the task's thread: the task manager is told, nothing else is done any more. Hosts call it to
    /// inject a failure at any turn. Does nothing when the thread has ended.
    pub fn fail(&mut self, cause: &str, outbox: &mut Outbox) {
        if !self.has_ended() {
            tracing::debug!(attempt = %self.descriptor.attempt, cause, "task failed");
            self.end(ExecutionState::Failed, Some(cause.to_owned()), outbox);
        }
    }

    /// Ends the thread.
    fn end(&mut self, state: ExecutionState, cause: Option<String>, outbox: &mut Outbox) {
        debug_assert!(!self.has_ended(), "a thread ends once");
        debug_assert!(matches!(state, ExecutionState::Finished | ExecutionState::Failed));
        self.status = TaskStatus::Ended(state);
        self.mailbox.clear();
        if let Some(source) = self.head.as_source_mut() {
            source.close();
        }
        let attempt = self.descriptor.attempt;
        let epoch = self.descriptor.leader_epoch;
        let mail =
            Mail::TaskManager(TaskManagerMail::TaskEnded { attempt, epoch, state, cause: cause.clone() });
        let to = ActorId::TaskManager(self.descriptor.task_manager);
        outbox.effect_with(Effect::Mail { to, mail }, EventKind::TaskEnded { state, cause });
    }

    /// Whether the default action may run.
    fn can_poll(&self) -> bool {
        let is_available = |head: &Head| match head {
            Head::Source(source) => {
                !self.input_ended && !self.progress.stopped_reading && source.is_available()
            }
            Head::Gate(gate) => gate.is_available(),
        };
        let is_urgent = matches!(&self.head, Head::Gate(gate) if gate.is_urgent());
        self.status == TaskStatus::Running
            && is_available(&self.head)
            && (self.tail.is_available() || is_urgent)
    }

    fn step(&mut self, decision: TurnDecision, outbox: &mut Outbox) -> Result<(), TaskError> {
        if let Some(writer) = &mut self.tail.writer {
            writer.set_processing_time_ms(decision.processing_time_ms);
        }
        if self.status == TaskStatus::Created {
            return self.initialize(outbox);
        }
        match self.mailbox.take(self.status.gate()) {
            None => match self.head {
                Head::Source(_) => self.poll(decision, outbox),
                Head::Gate(_) => self.poll_gate(outbox),
            },
            Some(TaskMail::Timer(Timer::ReaderWake)) => {
                self.head.source_mut().wake();
                if self.status == TaskStatus::BlockedInPoll {
                    self.status = TaskStatus::Running;
                    return self.poll(decision, outbox);
                }
                if self.mailbox.is_empty() && self.can_poll() { self.poll(decision, outbox) } else { Ok(()) }
            }
            Some(TaskMail::Timer(Timer::UserCodeStall)) => self.stall_over(outbox),
            Some(TaskMail::Timer(Timer::WatermarkReport)) => {
                self.report_watermark(outbox);
                Ok(())
            }
            Some(TaskMail::Timer(Timer::OpenChannels)) => {
                if let Head::Gate(gate) = &mut self.head {
                    gate.open(outbox);
                }
                Ok(())
            }
            Some(TaskMail::Timer(Timer::WriterWake)) => {
                self.wake_writer(outbox);
                Ok(())
            }
            Some(TaskMail::Timer(Timer::StoreTimeout(call))) => self.store_call_timed_out(call, outbox),
            Some(TaskMail::Timer(Timer::StoreCallDue(call))) => {
                self.store.send_held(call, outbox);
                Ok(())
            }
            Some(TaskMail::Timer(timer)) => {
                debug_assert!(false, "{timer:?} is no timer of a task");
                Ok(())
            }
            Some(TaskMail::FromNetwork(message)) => self.handle(message, outbox),
        }
    }

    fn handle(&mut self, message: TaskMessage, outbox: &mut Outbox) -> Result<(), TaskError> {
        match message {
            TaskMessage::OperatorEvent { operator, id, event } => {
                self.handle_operator_event(operator, id, event, outbox)
            }
            TaskMessage::TriggerCheckpoint(checkpoint) => self.trigger_checkpoint(checkpoint, outbox),
            TaskMessage::TriggerStop { checkpoint, drain } => self.trigger_stop(checkpoint, drain, outbox),
            TaskMessage::NotifyCheckpointComplete(notice) => self.notify_checkpoint_complete(notice, outbox),
            TaskMessage::NotifyCheckpointAborted(notice) => self.notify_checkpoint_aborted(notice, outbox),
            TaskMessage::StoreReply { call, reply } => self.store_replied(call, reply, outbox),
            TaskMessage::Channel { .. } => unreachable!("it went to the gate when it arrived"),
            TaskMessage::ChannelRequest { consumer, request } => {
                if let Some(channels) = &mut self.tail.channels {
                    channels.requested(consumer, request, outbox);
                    if self.status == TaskStatus::Running {
                        self.finish_if_due(outbox);
                    }
                }
                Ok(())
            }
        }
    }

    /// To the job manager, in one of this execution's streams.
    fn tell_job_manager(
        &self,
        stream: Stream,
        message: JobManagerMessage,
        event: Option<EventKind>,
        outbox: &mut Outbox,
    ) {
        let message = Message::JobManager { epoch: self.descriptor.leader_epoch, message };
        let effect = Effect::Send { to: self.descriptor.job_manager, stream, message, token: None };
        match event {
            Some(event) => outbox.effect_with(effect, event),
            None => outbox.effect(effect),
        }
    }

    /// The planted failure of user code has come as often in this job as it is meant to: it will not come here.
    pub fn disarm_user_failure(&mut self) {
        self.user_code.disarm();
    }

    /// A change of state, in the stream of the subtask's events.
    fn tell_state(&self, state: ExecutionState, outbox: &mut Outbox) {
        let attempt = self.descriptor.attempt;
        let last_acknowledged = self.progress.last_answered;
        let message = JobManagerMessage::TaskStateChanged { attempt, state, cause: None, last_acknowledged };
        self.tell_job_manager(Stream::SubtaskEvents(attempt), message, None, outbox);
    }
}

/// What a task begins and ends with.
fn ends_of_chain(descriptor: &TaskDescriptor, reader: Box<dyn ReaderPort>) -> (Head, Tail) {
    let (attempt, defects) = (descriptor.attempt, descriptor.defects);
    let (config, me) = (&descriptor.config, (attempt, descriptor.leader_epoch));
    let restored = descriptor.restored.as_ref().map(|restored| restored.checkpoint);
    let head = match descriptor.consumes.as_deref() {
        Some(ConsumerEnd { credit, producers }) => {
            Head::Gate(InputGate::new(me, *credit, producers, restored, defects))
        }
        None => Head::Source(
            SourceOperator::new(reader, descriptor.reports_splits, defects).aligned(config.alignment),
        ),
    };
    let produces = descriptor.produces.as_deref();
    let channels = produces.map(|end| RecordWriter::new(me, end.edge, &end.consumers));
    let has = |kind| descriptor.operators.contains(&kind);
    let (writes, commits_globally) = (has(OperatorKind::Writer), has(OperatorKind::GlobalCommitter));
    let commits = commits_globally || has(OperatorKind::Committer);
    if !writes && !commits {
        return (head, Tail { writer: None, committer: None, channels });
    }
    let context = WriterInitContext {
        subtask: attempt.subtask_id(),
        fence: Fence { leader_epoch: descriptor.leader_epoch, attempt: attempt.attempt },
        parallelism: descriptor.parallelism,
        restored,
        write_buffer_records: config.write_buffer_records,
        commit_script: config.commit_script,
        commit_back_off_ns: config.commit_back_off_ns,
    };
    let (writer, committer) = create_sink(descriptor.sink, &context, defects);
    let place = (attempt.subtask, descriptor.parallelism);
    let writer = writes
        .then(|| Box::new(SinkWriterOperator::new(writer, place, restored).ending_under(magic_id(defects))));
    let settings = CommitterSettings {
        retries_max: own_retries(config.commit_retries_max, defects),
        emission: None,
        commits_at_end: !descriptor.checkpointing || defects.has(Defect::BadShutdownCommit),
    };
    let committer = commits.then(|| {
        Box::new(if commits_globally {
            let operator = GlobalCommitterOperator::new(committer, settings.retries_max, false, defects);
            TaskCommitter::Global { operator, commits_at_end: settings.commits_at_end }
        } else {
            TaskCommitter::Subtask(CommitterOperator::new(committer, settings, defects))
        })
    });
    (head, Tail { writer, committer, channels })
}

/// The number that stands for the end of the input, where each end gets it in place of one of its own.
fn magic_id(defects: DefectSet) -> Option<CheckpointId> {
    let with_magic_id = [Defect::EndOfInputMagicId, Defect::SecondEndOfInputRejected];
    defects.first_of(&with_magic_id).map(|_| END_OF_INPUT)
}

/// What the committer's operator finds in its own configuration: in Flink 2.3.0 the job's does not get there (FACT 70).
const fn own_retries(of_job: u32, defects: DefectSet) -> u32 {
    if defects.has(Defect::CommitterRetriesIgnored) { DEFAULT_RETRIES } else { of_job }
}

impl Actor for Task {
    type Mail = TaskMail;

    fn enqueue(&mut self, mail: TaskMail) {
        match (mail, &mut self.head) {
            _ if matches!(self.status, TaskStatus::Ended(_)) => {}
            // It is no mail: the network fills the channels while the task's thread does something else.
            (TaskMail::FromNetwork(TaskMessage::Channel { producer, element }), Head::Gate(gate)) => {
                gate.receive(producer, element);
            }
            (mail, _) => self.mailbox.push(mail),
        }
    }

    fn is_runnable(&self) -> bool {
        match self.status {
            TaskStatus::Ended(_) => false,
            TaskStatus::Created => true,
            status => self.mailbox.has(status.gate()) || self.can_poll(),
        }
    }

    fn turn(&mut self, decision: TurnDecision, outbox: &mut Outbox) {
        debug_assert!(self.is_runnable(), "a turn without anything to do: {:?}", self.status);
        debug_assert!(decision.batch_size_max >= 1, "a poll may hand on a record");
        if let Err(error) = self.step(decision, outbox) {
            if error.is_final() {
                let message = JobManagerMessage::RestartsUseless {
                    attempt: self.descriptor.attempt,
                    cause: error.to_string(),
                };
                let stream = Stream::SubtaskEvents(self.descriptor.attempt);
                self.tell_job_manager(stream, message, None, outbox);
            }
            self.fail(&error.to_string(), outbox);
        }
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        self.hash(&mut hasher);
    }
}
