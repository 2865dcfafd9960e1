//! S4: once faults have stopped, every assigned split is read and a bounded job ends.
//!
//! Judged at the end of the run: an end without a result, after nothing more could happen or the virtual time was used
//! up. How long a run may take is the host's matter; a step limit proves nothing, and a deadlock is an outcome of its
//! own. A run in which no fault was injected needs no healing. That the splits of an ended job were read is C2's matter.

use crate::checker::{Checker, Docket, RunEnd, RunSetup, RunStop};
use crate::code::Code;
use crate::kinds::{Kind, KindSet};
use crate::table::Table;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{SubtaskId, SubtaskIndex};
use splitrace_runtime::message::ExecutionState;

/// That a bounded job ends.
#[derive(Clone, Debug, Hash)]
pub struct Liveness {
    docket: Docket,
    bounded: bool,
    broken: bool,
    healed: bool,
    /// What the job master knows of each subtask's current execution.
    states: Table<Option<ExecutionState>>,
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
            states: Table::default(),
        }
    }

    /// Who is not done, as far as the job master's events tell.
    fn culprit(&self) -> Option<(SubtaskId, ExecutionState)> {
        self.states.iter().find_map(|(vertex, index, state)| {
            let subtask = SubtaskId { vertex, subtask: SubtaskIndex(index) };
            state.filter(|state| *state != ExecutionState::Finished).map(|state| (subtask, state))
        })
    }
}

impl Checker for Liveness {
    const CODE: Code = Code::S4;
    const READS: KindSet =
        KindSet::of(&[Kind::TaskDeployed, Kind::TaskStateChanged, Kind::FaultInjected, Kind::Healed]);

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        match &event.kind {
            EventKind::TaskDeployed { attempt, .. } => {
                *self.states.subtask_mut(attempt.subtask_id()) = Some(ExecutionState::Deploying);
            }
            EventKind::TaskStateChanged { attempt, state, .. } => {
                *self.states.subtask_mut(attempt.subtask_id()) = Some(*state);
            }
            EventKind::FaultInjected { .. } => self.broken = true,
            EventKind::Healed => self.healed = true,
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, end: &RunEnd) -> Result<(), Violation> {
        let must_end = self.bounded && (self.healed || !self.broken);
        let is_final = matches!(end.stop, RunStop::Quiescent | RunStop::VirtualTimeout);
        if !self.docket.is_open() || !must_end || (end.job_ended.is_none() && !is_final) {
            return Ok(());
        }
        self.docket.judged();
        if end.job_ended.is_some() {
            return Ok(());
        }
        let (subject, who) = match self.culprit() {
            Some((subtask, state)) => (Subject::Subtask(subtask), format!("{subtask} is {state:?}")),
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
    use crate::testing::{History, attempt, end_of, setup};
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
        assert!(judge(true, None, RunStop::VirtualTimeout).is_err());
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
