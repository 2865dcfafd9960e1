//! Leader lease, checkpoint-id counter, latest completed checkpoint, job result: what outlives a job manager.
//!
//! A checkpoint is complete when the add is applied here, whatever a job master believes. Every write is a
//! compare-and-set on the leader epoch, so of two job masters that both think they lead only one gets anything done.
//!
//! A repeated write gets the recorded answer. Answers are recorded by (asker, epoch, call): a new term of the same
//! process may count its calls anew. A repeated wish for the lease gets a new epoch each time, never a recorded one:
//! a term that was replaced within its process must not meet its old epoch again, and a spare epoch costs nothing.

use super::OutsideDecision;
use splitrace_runtime::actor::{Effect, Outbox};
use splitrace_runtime::checkpointing::contents;
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::{CallId, CheckpointId, LeaderEpoch, ProcessAddress, ProcessId};
use splitrace_runtime::message::{
    CheckpointKind, CompletedCheckpoint, HighAvailabilityReply, HighAvailabilityRequest, JobResult, Message,
    SharedJobConfig, Stream, TaskManagerMessage,
};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

mod durable;
#[cfg(test)]
mod tests;

pub use durable::DurableState;

/// The high-availability service of one job.
#[derive(Clone, Debug, Hash)]
pub struct HighAvailability {
    config: SharedJobConfig,
    /// The epoch of the last grant; 0 before the first.
    epoch: LeaderEpoch,
    leader: Option<ProcessAddress>,
    counter: CheckpointId,
    /// Shared between forks; it is replaced, never changed.
    latest: Option<Arc<CompletedCheckpoint>>,
    /// The last savepoint of a job that went on.
    savepoint: Option<Arc<CompletedCheckpoint>>,
    /// Completed checkpoints before the latest, newest last; as many as the job retains beside it.
    older: Vec<Arc<CompletedCheckpoint>>,
    result: Option<JobResult>,
    /// The newest life of each task manager that wants to be told of leaders.
    subscribers: BTreeMap<ProcessId, ProcessAddress>,
    /// Answers to the writes of the current epoch.
    answered: BTreeMap<(ProcessAddress, CallId), HighAvailabilityReply>,
}

impl HighAvailability {
    /// The service before anybody has led.
    #[must_use]
    pub const fn new(config: SharedJobConfig) -> Self {
        Self {
            config,
            epoch: LeaderEpoch(0),
            leader: None,
            counter: CheckpointId(0),
            latest: None,
            savepoint: None,
            older: Vec::new(),
            result: None,
            subscribers: BTreeMap::new(),
            answered: BTreeMap::new(),
        }
    }

    /// The epoch of the last grant; 0 before the first.
    #[must_use]
    pub const fn epoch(&self) -> LeaderEpoch {
        self.epoch
    }

    /// Who was granted the lease last.
    #[must_use]
    pub const fn leader(&self) -> Option<ProcessAddress> {
        self.leader
    }

    /// The highest checkpoint id that was raised.
    #[must_use]
    pub const fn counter(&self) -> CheckpointId {
        self.counter
    }

    /// The latest completed checkpoint.
    #[must_use]
    pub fn latest(&self) -> Option<&CompletedCheckpoint> {
        self.latest.as_deref()
    }

    /// The entry of a job that has ended is opened for one that is submitted again, with another configuration. It restores
    /// the latest completed checkpoint, or the one that many retained ones before it, and extends that one: later ones are
    /// dropped. The counter stays, so that no identifier comes twice. Answers the checkpoint.
    pub fn submit(&mut self, config: SharedJobConfig, older_by: u32) -> Option<CheckpointId> {
        debug_assert!(self.result.is_some(), "a job is submitted again once it has ended");
        for _ in 0..older_by {
            if let Some(older) = self.older.pop() {
                self.latest = Some(older);
            }
        }
        if let Some(latest) = &mut self.latest {
            // The savepoint that ended the last job is what the next one begins with.
            Arc::make_mut(latest).kind = CheckpointKind::Recovery;
        }
        self.config = config;
        self.result = None;
        // What the last leader still writes is nobody's business any more.
        self.leader = None;
        self.latest_id()
    }

    fn latest_id(&self) -> Option<CheckpointId> {
        self.latest.as_ref().map(|latest| latest.id)
    }

    /// Whether the job was stopped with a savepoint, however it ended.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.latest.as_ref().is_some_and(|latest| matches!(latest.kind, CheckpointKind::Stop { .. }))
    }

    /// How the job ended, once it has.
    #[must_use]
    pub const fn result(&self) -> Option<&JobResult> {
        self.result.as_ref()
    }

    /// Executes one call and answers it. Where the decision is 'unavailable' there is no effect and no answer at all.
    ///
    /// # Panics
    /// When the host routes any other message here, or when the stored bytes of a checkpoint cannot be decoded.
    pub fn handle(
        &mut self,
        from: ProcessAddress,
        message: Message,
        decision: OutsideDecision,
        outbox: &mut Outbox,
    ) {
        let Message::HighAvailability { epoch, call, request } = message else {
            panic!("only calls to the high-availability service are routed to it: {message:?}");
        };
        if decision.unavailable {
            return;
        }
        match request {
            HighAvailabilityRequest::AcquireLease => self.grant(from, call, decision, outbox),
            HighAvailabilityRequest::Subscribe => self.subscribe(from, decision, outbox),
            write => self.write(from, epoch, call, write, decision, outbox),
        }
    }

    /// Feeds the whole state into `hasher`; the configuration, which never changes, is left out.
    pub fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut hasher = hasher;
        (self.epoch, self.leader, self.counter, &self.latest, &self.result).hash(&mut hasher);
        (&self.subscribers, &self.answered, &self.older, &self.savepoint).hash(&mut hasher);
    }

    /// The newest asker leads.
    fn grant(&mut self, from: ProcessAddress, call: CallId, decision: OutsideDecision, outbox: &mut Outbox) {
        // A late request of a life that is over, as of an expired session: granting it would follow a dead leader for ever.
        let is_over =
            |newer: ProcessAddress| newer.process == from.process && newer.incarnation > from.incarnation;
        if self.leader.is_some_and(is_over) {
            return;
        }
        debug_assert!(from.process == ProcessId::JobManager, "only job managers lead");
        // A life asks again while its first request is still under way, and leads once: with a second epoch it would be
        // left behind by those who follow the newest.
        let is_new = self.leader != Some(from);
        if is_new {
            self.epoch = LeaderEpoch(self.epoch.0 + 1);
            self.leader = Some(from);
            self.answered.clear();
        }
        let reply = HighAvailabilityReply::LeaseGranted {
            epoch: self.epoch,
            counter: self.counter,
            latest: self.latest.clone(),
            result: self.result.clone(),
        };
        let event = is_new.then_some(EventKind::LeaderGranted { epoch: self.epoch });
        answer(from, call, reply, event, decision, outbox);
        for subscriber in self.subscribers.values() {
            outbox.send(*subscriber, Stream::HighAvailability, self.leader_changed(from));
        }
        debug_assert!(
            self.latest().is_none_or(|latest| latest.id <= self.counter),
            "ids are raised before use"
        );
    }

    fn subscribe(&mut self, from: ProcessAddress, decision: OutsideDecision, outbox: &mut Outbox) {
        debug_assert!(
            matches!(from.process, ProcessId::TaskManager(_)),
            "only task managers are told of leaders"
        );
        let newest = self.subscribers.entry(from.process).or_insert(from);
        if newest.incarnation > from.incarnation {
            return;
        }
        *newest = from;
        if let Some(leader) = self.leader
            && !decision.lose_reply
        {
            outbox.send(from, Stream::HighAvailability, self.leader_changed(leader));
        }
    }

    fn leader_changed(&self, job_manager: ProcessAddress) -> Message {
        let epoch = self.epoch;
        Message::TaskManager { epoch, message: TaskManagerMessage::LeaderChanged { epoch, job_manager } }
    }

    fn write(
        &mut self,
        from: ProcessAddress,
        epoch: LeaderEpoch,
        call: CallId,
        request: HighAvailabilityRequest,
        decision: OutsideDecision,
        outbox: &mut Outbox,
    ) {
        debug_assert!(epoch <= self.epoch, "nobody has an epoch that was not granted");
        if epoch != self.epoch || self.leader != Some(from) {
            answer(from, call, HighAvailabilityReply::Fenced, None, decision, outbox);
            return;
        }
        if let Some(recorded) = self.answered.get(&(from, call)) {
            answer(from, call, recorded.clone(), None, decision, outbox);
            return;
        }
        let event = self.apply(request);
        self.answered.insert((from, call), HighAvailabilityReply::Applied);
        answer(from, call, HighAvailabilityReply::Applied, event, decision, outbox);
    }

    /// Applies a write of the leader; the event tells of a change.
    fn apply(&mut self, request: HighAvailabilityRequest) -> Option<EventKind> {
        match request {
            HighAvailabilityRequest::RaiseCounter(checkpoint) => {
                self.counter = self.counter.max(checkpoint);
                // Told even where it changes nothing: an id that is raised twice is what K2 looks for.
                Some(EventKind::CounterRaised { checkpoint })
            }
            HighAvailabilityRequest::AddCheckpoint(checkpoint) => self.add(checkpoint),
            HighAvailabilityRequest::PutResult(result) => {
                if self.result.is_some() {
                    return None;
                }
                self.result = Some(result.clone());
                Some(EventKind::JobEnded { result })
            }
            other @ (HighAvailabilityRequest::AcquireLease | HighAvailabilityRequest::Subscribe) => {
                unreachable!("handled before, it is no write: {other:?}")
            }
        }
    }

    fn store_savepoint(&mut self, savepoint: Arc<CompletedCheckpoint>) -> Option<EventKind> {
        if self.savepoint.as_ref().is_some_and(|stored| savepoint.id <= stored.id) {
            return None;
        }
        let contents = contents::decode(&savepoint, &self.config).expect(
            "the facade decodes what the facade encoded: a savepoint that nobody can read is not stored",
        );
        let checkpoint = savepoint.id;
        self.savepoint = Some(savepoint);
        Some(EventKind::SavepointStored { checkpoint, contents: Box::new(contents) })
    }

    fn add(&mut self, checkpoint: Arc<CompletedCheckpoint>) -> Option<EventKind> {
        if checkpoint.kind == CheckpointKind::Savepoint {
            return self.store_savepoint(checkpoint);
        }
        if let Some(latest) = self.latest()
            && checkpoint.id <= latest.id
        {
            // The same id again is a repeated call under another number; an older one would take completion back.
            debug_assert!(checkpoint.id == latest.id, "{} behind {}", checkpoint.id, latest.id);
            return None;
        }
        debug_assert!(checkpoint.id <= self.counter, "ids are raised before use");
        let contents = contents::decode(&checkpoint, &self.config).expect(
            "the facade decodes what the facade encoded: a checkpoint that nobody can read is not stored",
        );
        let id = checkpoint.id;
        if let Some(before) = self.latest.replace(checkpoint) {
            self.older.push(before);
        }
        let retained = self.config.checkpointing.map_or(1, |settings| settings.retained_max.max(1)) as usize;
        let surplus = (self.older.len() + 1).saturating_sub(retained);
        self.older.drain(..surplus);
        debug_assert!(self.older.iter().all(|older| older.id < id), "oldest first");
        Some(EventKind::CheckpointCompleted { checkpoint: id, contents: Box::new(contents) })
    }
}

/// Sends the reply with the event attached; a lost reply leaves the event alone.
fn answer(
    to: ProcessAddress,
    call: CallId,
    reply: HighAvailabilityReply,
    event: Option<EventKind>,
    decision: OutsideDecision,
    outbox: &mut Outbox,
) {
    let message = Message::HighAvailabilityReply { call, reply };
    let send = Effect::Send { to, stream: Stream::HighAvailability, message, token: None };
    match (event, decision.lose_reply) {
        (Some(event), false) => outbox.effect_with(send, event),
        (Some(event), true) => outbox.emit(event),
        (None, false) => outbox.effect(send),
        (None, true) => {}
    }
}
