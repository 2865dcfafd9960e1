//! A user who ends the job and submits it again: the job is cancelled after some checkpoints, and the high-availability
//! service's entry is opened anew for a job with another parallelism and one of the retained checkpoints.
//!
//! Task managers go on; what the first job's tasks still do is a zombie's doing, fenced like any other. The checkpoint
//! counter is not turned back, so that no identifier comes twice.

use super::World;
use super::pending::{Item, tie};
use super::process::index_of;
use crate::choices::Choices;
use crate::scenario::Ending;
use splitrace_runtime::event::EventKind;
use splitrace_runtime::ids::{ActorId, ProcessId};
use splitrace_runtime::message::{JobResult, Mail, MainMail};
use std::sync::Arc;

/// How far the resubmission is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ResubmissionPhase {
    /// The scenario has none, or it is done, or the job ended by itself.
    None,
    /// So many checkpoints must still complete.
    Awaiting(u32),
    /// The user has asked for the job's end.
    Ending,
    /// The job has ended; the next one is to be submitted.
    Ended,
}

impl World {
    /// Whether the job that runs or has run is the last one.
    #[must_use]
    pub fn is_last_job(&self) -> bool {
        self.resubmission == ResubmissionPhase::None
    }

    /// Takes note of what the high-availability service told.
    pub(super) fn note_for_resubmission(&mut self, kind: &EventKind) {
        self.count_for_savepoint(kind);
        match (self.resubmission, kind) {
            (ResubmissionPhase::Awaiting(left), EventKind::CheckpointCompleted { .. }) => {
                debug_assert!(left > 0, "it counts down to 1 and then ends the job");
                self.resubmission = if left > 1 {
                    ResubmissionPhase::Awaiting(left - 1)
                } else {
                    let delay_ns = self.scenario.resubmission.map_or(0, |resubmission| resubmission.delay_ns);
                    self.pending.push(self.now_ns + delay_ns, tie(6, 0), Item::CancelJob);
                    ResubmissionPhase::Ending
                };
            }
            (ResubmissionPhase::Ending, EventKind::JobEnded { result }) if self.is_resubmittable(result) => {
                let pause_ns = self.scenario.resubmission.map_or(0, |resubmission| resubmission.pause_ns);
                self.pending.push(self.now_ns + pause_ns, tie(6, 1), Item::SubmitJob);
                self.resubmission = ResubmissionPhase::Ended;
            }
            (ResubmissionPhase::Awaiting(_) | ResubmissionPhase::Ending, EventKind::JobEnded { .. }) => {
                self.resubmission = ResubmissionPhase::None;
            }
            _ => {}
        }
    }

    /// Cancelled or stopped, or failed after its savepoint was stored: its user goes on from there.
    fn is_resubmittable(&self, result: &JobResult) -> bool {
        match result {
            JobResult::Cancelled | JobResult::Stopped(_) => true,
            JobResult::Failed(_) => self.high_availability.is_stopped(),
            JobResult::Finished => false,
        }
    }

    /// A user who ends a job to submit it again wants the first one ended, and asks no more once it has.
    pub(super) fn is_wish_granted(&self) -> bool {
        self.scenario.resubmission.is_some() && self.resubmission != ResubmissionPhase::Ending
    }

    /// The user's wish that ends the job.
    pub(super) fn ending_mail(&self) -> MainMail {
        match self.scenario.resubmission.map(|resubmission| resubmission.ending) {
            Some(Ending::Stop) if self.resubmission == ResubmissionPhase::Ending => {
                MainMail::StopWithSavepoint { drain: false }
            }
            Some(Ending::Drain) if self.resubmission == ResubmissionPhase::Ending => {
                MainMail::StopWithSavepoint { drain: true }
            }
            _ => MainMail::Cancel,
        }
    }

    /// A user asks for a savepoint, once.
    pub(super) fn ask_for_savepoint(&mut self, choices: &mut dyn Choices) {
        if let Some(slot) = self.find_actor(index_of(ProcessId::JobManager), ActorId::MainThread) {
            self.actors[slot].body.enqueue(Mail::Main(MainMail::Savepoint));
            self.schedule_turn(slot, choices);
        }
    }

    fn count_for_savepoint(&mut self, kind: &EventKind) {
        if !matches!(kind, EventKind::CheckpointCompleted { .. }) {
            return;
        }
        if let Some(left) = self.savepoint_after {
            self.savepoint_after = left.checked_sub(1).filter(|left| *left > 0);
            if left <= 1 {
                self.pending.push(self.now_ns, tie(6, 2), Item::Savepoint);
            }
        }
    }

    /// The job is submitted again.
    pub(super) fn submit_job(&mut self, choices: &mut dyn Choices) {
        debug_assert_eq!(
            self.resubmission,
            ResubmissionPhase::Ended,
            "a job is submitted after the end of the last"
        );
        let Some(resubmission) = self.scenario.resubmission else { return };
        self.resubmission = ResubmissionPhase::None;
        let mut job = (*self.job).clone();
        job.job.0 += 1;
        job.lineage.0 += u32::from(resubmission.older_by > 0);
        for vertex in &mut job.vertices {
            vertex.parallelism = resubmission.parallelism;
            if let Some(exchange) = &mut vertex.exchange {
                exchange.parallelism = resubmission.parallelism;
            }
            if let Some(committers) = &mut vertex.topology.committers {
                *committers = committers.rescaled(resubmission.parallelism);
            }
        }
        self.job = Arc::new(job);
        let checkpoint = self.high_availability.submit(Arc::clone(&self.job), resubmission.older_by);
        let parallelism = resubmission.parallelism;
        self.judge_mut().job_submitted();
        self.tell_world(EventKind::JobSubmitted { checkpoint, parallelism });
        let manager = index_of(ProcessId::JobManager);
        if self.processes[manager].alive {
            self.end_term(manager, choices);
        }
    }
}
