//! How the job ends: all tasks finished, no restart left, or a user's wish.

use super::main_thread::{JobStatus, MainThread};
use crate::actor::Outbox;
use crate::ids::ExecutionAttemptId;
use crate::message::{CheckpointKind, HighAvailabilityRequest, JobResult};

impl MainThread {
    /// Every subtask has finished: the job has.
    pub(super) fn end_finished_job(&mut self, out: &mut Outbox) {
        let is_whole = self.failovers.active.is_empty() && self.graph.is_wholly_finished();
        if self.status == JobStatus::Running && is_whole {
            let stopped = self.checkpoints.latest_id().filter(|_| self.checkpoints.is_stopped());
            self.end_job(stopped.map_or(JobResult::Finished, JobResult::Stopped), out);
        }
    }

    /// No restart is left.
    pub(super) fn fail_job(&mut self, cause: String, out: &mut Outbox) {
        self.end_job(JobResult::Failed(cause), out);
    }

    /// A current execution says that restarting it is of no use. It may have been taken for failed already.
    pub(super) fn on_restarts_useless(
        &mut self,
        attempt: ExecutionAttemptId,
        cause: String,
        out: &mut Outbox,
    ) {
        if !self.is_job_active() || self.graph.current(attempt).is_none() {
            return;
        }
        let is_stopped = self.checkpoints.is_stopped();
        self.fail_job(if is_stopped { self.stopped_and_failed(&cause) } else { cause }, out);
    }

    /// Why a job that failed after its savepoint had been stored ends, with where to go on from. It never restarts from
    /// an older checkpoint: what the savepoint holds may be committed.
    pub(super) fn stopped_and_failed(&self, cause: &str) -> String {
        debug_assert!(self.checkpoints.is_stopped(), "only a stopped job");
        let savepoint = self.checkpoints.latest_id().unwrap_or_default();
        format!("the savepoint {savepoint} is stored, but the job failed before it had finished: {cause}")
    }

    /// A user stops the job with a savepoint. A wish that comes before the tasks run, or while a failover is under way, is
    /// not kept: its user asks again.
    pub(super) fn on_savepoint_wanted(&mut self, kind: CheckpointKind) {
        if self.is_job_active() && self.failovers.active.is_empty() && !self.checkpoints.is_suspended() {
            self.checkpoints.want_savepoint(kind);
        }
    }

    /// A user cancels the job. Before there is a lease the wish is kept; after the end it comes too late.
    pub(super) fn on_cancel(&mut self, out: &mut Outbox) {
        self.cancel_requested = true;
        if self.is_job_active() {
            self.end_job(JobResult::Cancelled, out);
        }
    }

    fn end_job(&mut self, result: JobResult, out: &mut Outbox) {
        debug_assert!(self.is_job_active(), "a job ends once");
        self.abort_all("the job ends", out);
        self.checkpoints.suspend(out);
        self.failovers.drop_all(out);
        for index in 0..self.graph.executions().len() {
            self.cancel_execution(index, out);
        }
        self.status = JobStatus::Ending;
        // Behind an add that is under way: what that checkpoint holds is complete before the job is over.
        self.call(HighAvailabilityRequest::PutResult(result), out);
    }

    pub(super) fn on_result_stored(&mut self, result: JobResult) {
        debug_assert_eq!(self.status, JobStatus::Ending, "only an ending job stores a result");
        debug_assert!(self.job_result.is_none(), "a job has one result");
        tracing::debug!(?result, "the job is over");
        self.job_result = Some(result);
        self.status = JobStatus::Over;
    }

    /// Whether silence of task managers still matters: `Timer::HeartbeatCheck` goes on.
    pub(super) fn needs_heartbeats(&self) -> bool {
        self.is_job_active() || self.is_anything_left_to_stop()
    }
}
