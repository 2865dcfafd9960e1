//! S4: once faults have stopped, every assigned split is read and a bounded job ends.
//!
//! Judged at the end of the run: an end without a result, after nothing more could happen, or after the virtual time was
//! used up while for a long time (`PATIENCE_NS`) nothing lasting had been reached. A job that was only given too little
//! time is no violation but a virtual timeout. How long a run may take is the host's matter; a step limit proves nothing,
//! and a deadlock is an outcome of its own. A run in which no fault was injected needs no healing. That the splits of an
//! ended job were read is C2's matter.

use crate::checker::{Checker, Docket, RunEnd, RunSetup, RunStop};
use crate::code::Code;
use crate::kinds::{Kind, KindSet};
use crate::table::Table;
use crate::untimed::Untimed;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{ActorId, SubtaskId, SubtaskIndex};
use splitrace_runtime::message::ExecutionState;

/// So much virtual time without a visible record, a completed checkpoint or a finished split, faults having stopped, is
/// a job that goes round in circles. Jobs of the draw take seconds, and their longest delays are seconds too.
const PATIENCE_NS: u64 = 60_000_000_000;

/// That a bounded job ends.
#[derive(Clone, Debug, Hash)]
pub struct Liveness {
    docket: Docket,
    bounded: bool,
    broken: bool,
    healed: bool,
    /// Virtual time of the last thing reached for good, or of the healing.
    reached_at_ns: Untimed<u64>,
    /// What the job master knows of each subtask's current execution.
    states: Table<Option<ExecutionState>>,
    /// Who waits for its watermark group: what its reader has reached and what is allowed, in milliseconds.
    aligning: Table<Option<(i64, i64)>>,
}

impl Liveness {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self {
            docket: Docket::new(setup, Code::S4),
            bounded: setup.config.vertices.iter().all(|vertex| vertex.source.bounded),
            broken: false,
            healed: false,
            reached_at_ns: Untimed(0),
            states: Table::default(),
            aligning: Table::default(),
        }
    }

    /// Who is not done, as far as the job master's events tell: first of all somebody who waits for the others, since
    /// the others are often done.
    fn culprit(&self) -> Option<(SubtaskId, String)> {
        let waiting = self.aligning.iter().find_map(|(vertex, index, aligning)| {
            let (reached_ms, allowed_ms) = (*aligning)?;
            let subtask = SubtaskId { vertex, subtask: SubtaskIndex(index) };
            let waits = format!(
                "{subtask} waits for its watermark group: it has reached {reached_ms} ms of event time and may go up to \
                 {allowed_ms} ms"
            );
            Some((subtask, waits))
        });
        let not_done = || {
            self.states.iter().find_map(|(vertex, index, state)| {
                let subtask = SubtaskId { vertex, subtask: SubtaskIndex(index) };
                let state = state.filter(|state| *state != ExecutionState::Finished)?;
                Some((subtask, format!("{subtask} is {state:?}")))
            })
        };
        waiting.or_else(not_done)
    }

    /// The task that this execution is of waits for its group, or no more.
    fn aligns(&mut self, event: &Event, aligning: Option<(i64, i64)>) {
        if let ActorId::Task(attempt) = event.header.actor {
            *self.aligning.subtask_mut(attempt.subtask_id()) = aligning;
        }
    }
}

impl Checker for Liveness {
    const CODE: Code = Code::S4;
    const READS: KindSet = KindSet::of(&[
        Kind::TaskDeployed,
        Kind::TaskStateChanged,
        Kind::FaultInjected,
        Kind::Healed,
        Kind::BecameVisible,
        Kind::CheckpointCompleted,
        Kind::SplitFinished,
        Kind::AlignmentWaitBegan,
        Kind::AlignmentWaitEnded,
    ]);

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        match &event.kind {
            EventKind::TaskDeployed { attempt, .. } => {
                *self.states.subtask_mut(attempt.subtask_id()) = Some(ExecutionState::Deploying);
                *self.aligning.subtask_mut(attempt.subtask_id()) = None;
            }
            EventKind::TaskStateChanged { attempt, state, .. } => {
                *self.states.subtask_mut(attempt.subtask_id()) = Some(*state);
            }
            EventKind::AlignmentWaitBegan { watermark_ms, allowed_ms } => {
                self.aligns(event, Some((*watermark_ms, *allowed_ms)));
            }
            EventKind::AlignmentWaitEnded { .. } => self.aligns(event, None),
            EventKind::FaultInjected { .. } => self.broken = true,
            EventKind::Healed => {
                self.healed = true;
                *self.reached_at_ns = event.header.virtual_time_ns;
            }
            EventKind::BecameVisible { .. }
            | EventKind::CheckpointCompleted { .. }
            | EventKind::SplitFinished { .. } => *self.reached_at_ns = event.header.virtual_time_ns,
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, end: &RunEnd) -> Result<(), Violation> {
        let must_end = self.bounded && (self.healed || !self.broken);
        let is_final = match end.stop {
            RunStop::Quiescent => true,
            RunStop::VirtualTimeout => end.at.virtual_time_ns >= *self.reached_at_ns + PATIENCE_NS,
            RunStop::StepLimit | RunStop::Stopped => false,
        };
        if !self.docket.is_open() || !must_end || (end.job_ended.is_none() && !is_final) {
            return Ok(());
        }
        self.docket.judged();
        if end.job_ended.is_some() {
            return Ok(());
        }
        let (subject, who) = match self.culprit() {
            Some((subtask, what)) => (Subject::Subtask(subtask), what),
            None if self.states.iter().all(|(_, _, state)| state.is_none()) => {
                (Subject::Job, "no task was ever deployed".to_owned())
            }
            None => (Subject::Job, "every task that was deployed is finished".to_owned()),
        };
        let sentence = format!("the bounded job has no result although nothing broke any more: {who}");
        Err(Violation::new(Code::S4, subject, end.at, sentence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{History, attempt, end_of, name, range, setup};
    use splitrace_runtime::event::FaultKind;
    use splitrace_runtime::message::JobResult;

    fn judge(healed: bool, job_ended: Option<JobResult>, stop: RunStop) -> Result<(), Violation> {
        let mut history = History::new();
        history.main(EventKind::TaskDeployed { attempt: attempt(0, 0), task_manager: 0, restored: None });
        history.world(EventKind::FaultInjected { fault: FaultKind::TaskFailure, window: None });
        if healed {
            history.world(EventKind::Healed);
        }
        let mut checker = Liveness::new(&setup());
        history.events().iter().for_each(|event| checker.observe(event).unwrap());
        checker.finish(&RunEnd { job_ended, stop, ..end_of(history.events()) })
    }

    #[test]
    fn a_job_that_ends_is_alive() {
        assert_eq!(judge(true, Some(JobResult::Finished), RunStop::Stopped), Ok(()));
        assert_eq!(judge(true, Some(JobResult::Failed(String::new())), RunStop::Stopped), Ok(()));
    }

    #[test]
    fn a_job_without_a_result_is_not() {
        let violation = judge(true, None, RunStop::Quiescent).unwrap_err();
        assert_eq!(violation.code, Code::S4);
        assert_eq!(violation.subject, Subject::Subtask(attempt(0, 0).subtask_id()));
    }

    #[test]
    fn whoever_waits_for_its_watermark_group_is_named_before_whoever_merely_runs() {
        let mut history = History::new();
        for subtask in 0..2 {
            history.main(EventKind::TaskDeployed {
                attempt: attempt(subtask, 0),
                task_manager: 0,
                restored: None,
            });
        }
        history.task(0, attempt(1, 0), EventKind::AlignmentWaitBegan { watermark_ms: 90, allowed_ms: 70 });
        let finish = |history: &History| {
            let mut checker = Liveness::new(&setup());
            history.events().iter().for_each(|event| checker.observe(event).unwrap());
            let end = RunEnd { stop: RunStop::Quiescent, ..end_of(history.events()) };
            checker.finish(&end).unwrap_err()
        };
        let waiting = finish(&history);
        assert_eq!(waiting.subject, Subject::Subtask(attempt(1, 0).subtask_id()));
        assert!(waiting.sentence.ends_with("it has reached 90 ms of event time and may go up to 70 ms"));
        history.task(0, attempt(1, 0), EventKind::AlignmentWaitEnded { allowed_ms: 90 });
        assert_eq!(finish(&history).subject, Subject::Subtask(attempt(0, 0).subtask_id()));
    }

    #[test]
    fn a_job_that_goes_round_in_circles_is_not_alive_and_one_with_too_little_time_may_be() {
        let mut history = History::new();
        history.world(EventKind::Healed);
        history.main(EventKind::TaskDeployed { attempt: attempt(0, 0), task_manager: 0, restored: None });
        let mut checker = Liveness::new(&setup());
        history.events().iter().for_each(|event| checker.observe(event).unwrap());
        let mut end = RunEnd { stop: RunStop::VirtualTimeout, ..end_of(history.events()) };
        assert_eq!(checker.finish(&end), Ok(()), "nothing was reached yet, and there was no time for it");
        end.at.virtual_time_ns = PATIENCE_NS;
        let violation = checker.finish(&end).unwrap_err();
        assert_eq!(violation.subject, Subject::Subtask(attempt(0, 0).subtask_id()));
        history.store(History::visible(name(0, 1), attempt(0, 0), &[range(0, 0, 1)]));
        history.events().iter().for_each(|event| checker.observe(event).unwrap());
        assert_eq!(checker.finish(&end), Ok(()), "it got on");
    }

    #[test]
    fn a_job_that_never_deployed_anything_is_not_called_finished() {
        let mut history = History::new();
        history.world(EventKind::Healed);
        let mut checker = Liveness::new(&setup());
        history.events().iter().for_each(|event| checker.observe(event).unwrap());
        let end = RunEnd { stop: RunStop::Quiescent, ..end_of(history.events()) };
        let violation = checker.finish(&end).unwrap_err();
        assert_eq!(violation.subject, Subject::Job);
        assert!(violation.sentence.ends_with("no task was ever deployed"), "{violation}");
    }

    #[test]
    fn nothing_is_known_before_healing_or_at_a_step_limit() {
        assert_eq!(judge(false, None, RunStop::Quiescent), Ok(()));
        assert_eq!(judge(true, None, RunStop::StepLimit), Ok(()));
    }
}
