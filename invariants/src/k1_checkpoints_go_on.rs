//! K1: once faults have stopped, checkpoints complete again, and a restore does not fail for good.
//!
//! Judged once, at the end of a run whose job has no result though it could have gone on: when every subtask runs (or has
//! finished), a checkpoint must have completed within three times the longest delay that the job is configured for; when
//! they do not, because one failover follows the other, within a minute of them or within fifty failovers. The time
//! counts from the last thing that may excuse it: the healing, a completion, a change of any task's state, a new leader. A
//! job that has ended owes no checkpoint any more, and a run that its host cut short proves nothing, unless by those
//! fifty. Only the latest times count, so the verdict does not depend on the order in which the events of different
//! processes are read.

use crate::checker::{Checker, Docket, RunEnd, RunSetup, RunStop};
use crate::code::Code;
use crate::kinds::{Kind, KindSet};
use crate::table::Table;
use crate::untimed::Untimed;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{CheckpointId, SubtaskId};
use splitrace_runtime::message::{ExecutionState, JobResult};

/// So many times the longest configured delay may pass.
const DELAYS_MAX: u64 = 3;
/// A job that restores again and again is given so much virtual time.
const LOOP_NS: u64 = 60_000_000_000;
/// So many failovers in a row without a checkpoint between them are a loop.
const LOOP_FAILOVERS: usize = 3;
/// So many are a loop however little time they take.
const LOOP_FAILOVERS_SURELY: usize = 50;

/// That checkpoints complete.
#[derive(Clone, Debug, Hash)]
pub struct CheckpointsGoOn {
    docket: Docket,
    bound_ns: u64,
    broken: bool,
    healed: bool,
    /// What the job master knows of each subtask's current execution.
    states: Table<Option<ExecutionState>>,
    /// Virtual time of the last thing that excuses a silence.
    excused_ns: Untimed<u64>,
    /// Virtual time of the healing, or of the last completion after it.
    completed_ns: Untimed<u64>,
    /// Virtual times of the last failovers, latest first.
    failovers_ns: Untimed<Vec<u64>>,
    triggered: Option<CheckpointId>,
    completed: Option<CheckpointId>,
    aborted: Option<(CheckpointId, String)>,
}

impl CheckpointsGoOn {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self {
            docket: Docket::new(setup, Code::K1),
            bound_ns: setup.config.longest_delay_ns().saturating_mul(DELAYS_MAX),
            broken: false,
            healed: false,
            states: Table::default(),
            excused_ns: Untimed(0),
            completed_ns: Untimed(0),
            failovers_ns: Untimed(Vec::new()),
            triggered: None,
            completed: None,
            aborted: None,
        }
    }

    /// Whether a checkpoint can be triggered: somebody runs, and nobody is under way.
    fn is_able(&self) -> bool {
        let states = || self.states.iter().filter_map(|(_, _, state)| *state);
        let rests = |state| matches!(state, ExecutionState::Running | ExecutionState::Finished);
        states().any(|state| state == ExecutionState::Running) && states().all(rests)
    }

    fn changed(&mut self, subtask: SubtaskId, state: ExecutionState) {
        *self.states.subtask_mut(subtask) = Some(state);
    }

    fn failed_over(&mut self, at_ns: u64) {
        let place = self.failovers_ns.partition_point(|other| *other > at_ns);
        self.failovers_ns.insert(place, at_ns);
        self.failovers_ns.truncate(LOOP_FAILOVERS_SURELY);
    }

    /// Why there is no checkpoint, as far as the events tell; and which one it is about.
    fn blame(&self) -> (Subject, String) {
        let aborted = self.aborted.as_ref().map(|(checkpoint, _)| *checkpoint);
        match (self.triggered, &self.aborted) {
            (Some(latest), _) if Some(latest) > self.completed && Some(latest) > aborted => (
                Subject::Checkpoint(latest),
                format!("{latest} was triggered, and neither completed nor given up"),
            ),
            (_, Some((latest, reason))) if Some(*latest) > self.completed => {
                (Subject::Checkpoint(*latest), format!("the last one, {latest}, was given up: {reason}"))
            }
            _ => (Subject::Job, "none was triggered".to_owned()),
        }
    }

    fn broken_at(&self, end: &RunEnd) -> Option<Violation> {
        let (subject, why) = self.blame();
        let silent_ns = end.now_ns.saturating_sub(*self.excused_ns);
        let sentence = if self.is_able() && silent_ns > self.bound_ns {
            format!(
                "no checkpoint has completed for {} ms though every task runs, and the longest delay is {} ms: {why}",
                silent_ns / 1_000_000,
                self.bound_ns / DELAYS_MAX / 1_000_000
            )
        } else if self.goes_round(end) {
            format!(
                "the job failed over again and again, and no checkpoint has completed for {} ms: {why}",
                end.now_ns.saturating_sub(*self.completed_ns) / 1_000_000
            )
        } else {
            return None;
        };
        Some(Violation::new(Code::K1, subject, end.at, sentence))
    }

    fn goes_round(&self, end: &RunEnd) -> bool {
        let silent_ns = end.now_ns.saturating_sub(*self.completed_ns);
        let least =
            if silent_ns > LOOP_NS.max(self.bound_ns) { LOOP_FAILOVERS } else { LOOP_FAILOVERS_SURELY };
        self.failovers_ns.get(least - 1).is_some_and(|at_ns| *at_ns > *self.completed_ns)
    }
}

impl Checker for CheckpointsGoOn {
    const CODE: Code = Code::K1;
    const READS: KindSet = KindSet::of(&[
        Kind::FaultInjected,
        Kind::Healed,
        Kind::LeaderGranted,
        Kind::JobSubmitted,
        Kind::TaskDeployed,
        Kind::TaskStateChanged,
        Kind::FailoverStarted,
        Kind::CheckpointTriggered,
        Kind::CheckpointAborted,
        Kind::CheckpointCompleted,
        Kind::SavepointStored,
    ]);

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        let at_ns = event.header.virtual_time_ns;
        match &event.kind {
            EventKind::FaultInjected { .. } => {
                self.broken = true;
                return Ok(());
            }
            EventKind::CheckpointTriggered { checkpoint } => {
                self.triggered = self.triggered.max(Some(*checkpoint));
                return Ok(());
            }
            EventKind::CheckpointAborted { checkpoint, reason } => {
                let aborted = Some((*checkpoint, reason.clone()));
                self.aborted = self.aborted.take().max(aborted);
                return Ok(());
            }
            EventKind::Healed => {
                self.healed = true;
                *self.completed_ns = self.completed_ns.max(at_ns);
            }
            EventKind::CheckpointCompleted { checkpoint, .. } => {
                self.completed = self.completed.max(Some(*checkpoint));
                *self.completed_ns = self.completed_ns.max(at_ns);
            }
            EventKind::TaskDeployed { attempt, .. } => {
                self.changed(attempt.subtask_id(), ExecutionState::Deploying);
            }
            EventKind::TaskStateChanged { attempt, state, .. } => self.changed(attempt.subtask_id(), *state),
            EventKind::FailoverStarted { .. } => self.failed_over(at_ns),
            EventKind::LeaderGranted { .. }
            | EventKind::JobSubmitted { .. }
            | EventKind::SavepointStored { .. } => {}
            _ => return Ok(()),
        }
        *self.excused_ns = self.excused_ns.max(at_ns);
        Ok(())
    }

    fn finish(&mut self, end: &RunEnd) -> Result<(), Violation> {
        if !self.docket.is_open() || self.broken && !self.healed {
            return Ok(());
        }
        match (&end.job_ended, end.stop) {
            // A job with checkpoints needs one to finish.
            (Some(JobResult::Finished), _) => self.docket.judged(),
            (None, RunStop::StepLimit) if !self.goes_round(end) => {}
            (None, RunStop::Quiescent | RunStop::VirtualTimeout | RunStop::StepLimit) => {
                self.docket.judged();
                return self.broken_at(end).map_or(Ok(()), Err);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{History, attempt, end_of, setup};
    use splitrace_runtime::event::{CheckpointContents, FaultKind};

    const MILLI_NS: u64 = 1_000_000;

    fn chk(checkpoint: u64) -> CheckpointId {
        CheckpointId(checkpoint)
    }

    /// One task in this state, checkpoint 1 complete, after a fault.
    fn history(state: ExecutionState) -> History {
        let mut history = History::new();
        history.world(EventKind::FaultInjected { fault: FaultKind::TaskFailure, window: None });
        history.main(EventKind::TaskDeployed { attempt: attempt(0, 0), task_manager: 0, restored: None });
        history.main(EventKind::TaskStateChanged { attempt: attempt(0, 0), state, cause: None });
        history.main(EventKind::CheckpointTriggered { checkpoint: chk(1) });
        history.completed(1, CheckpointContents::default());
        history.world(EventKind::Healed);
        history
    }

    /// The verdict when the host stops so many milliseconds after the history.
    fn after(history: &History, silent_ms: u64, change: impl FnOnce(&mut RunEnd)) -> Result<(), Violation> {
        let mut checker = CheckpointsGoOn::new(&setup());
        history.events().iter().for_each(|event| checker.observe(event).unwrap());
        let end = end_of(history.events());
        let mut end = RunEnd { stop: RunStop::Quiescent, now_ns: end.now_ns + silent_ms * MILLI_NS, ..end };
        change(&mut end);
        checker.finish(&end)
    }

    /// The longest delay of the set-up is 10 ms.
    #[test]
    fn a_job_that_runs_and_completes_nothing_is_broken_and_the_culprit_is_named() {
        let mut history = history(ExecutionState::Running);
        assert_eq!(after(&history, 30, |_| {}), Ok(()), "three times the longest delay may pass");
        let violation = after(&history, 31, |_| {}).unwrap_err();
        assert_eq!((violation.code, violation.subject), (Code::K1, Subject::Job));
        assert!(violation.sentence.ends_with("none was triggered"), "{violation}");
        history.main(EventKind::CheckpointTriggered { checkpoint: chk(2) });
        let violation = after(&history, 31, |_| {}).unwrap_err();
        assert_eq!(violation.subject, Subject::Checkpoint(chk(2)));
        assert!(
            violation.sentence.ends_with("was triggered, and neither completed nor given up"),
            "{violation}"
        );
        history.main(EventKind::CheckpointAborted { checkpoint: chk(2), reason: "it expired".to_owned() });
        let violation = after(&history, 31, |_| {}).unwrap_err();
        assert!(violation.sentence.ends_with("was given up: it expired"), "{violation}");
        history.completed(3, CheckpointContents::default());
        assert_eq!(after(&history, 20, |_| {}), Ok(()), "it got on");
    }

    #[test]
    fn maybe_is_no_verdict() {
        let running = history(ExecutionState::Running);
        let ended = after(&running, 99, |end| end.job_ended = Some(JobResult::Failed(String::new())));
        assert_eq!(ended, Ok(()), "a job that has ended owes nothing");
        for stop in [RunStop::StepLimit, RunStop::Stopped] {
            assert_eq!(after(&running, 99, |end| end.stop = stop), Ok(()), "{stop:?} proves nothing");
        }
        for state in [ExecutionState::Initializing, ExecutionState::Finished, ExecutionState::Failed] {
            assert_eq!(after(&history(state), 99, |_| {}), Ok(()), "{state:?}: none can be triggered");
        }
        let mut unhealed = History::new();
        running.events()[..5].iter().for_each(|event| {
            unhealed.push(event.header.process, event.header.actor, event.kind.clone());
        });
        assert_eq!(after(&unhealed, 99, |_| {}), Ok(()), "faults go on");
    }

    #[test]
    fn a_restore_that_fails_again_and_again_is_broken() {
        let mut history = history(ExecutionState::Failed);
        let failover =
            || EventKind::FailoverStarted { global: true, subtasks: Vec::new(), cause: String::new() };
        history.main(failover()).main(failover());
        assert_eq!(after(&history, 61_000, |_| {}), Ok(()), "two failures may be bad luck");
        let mut many = history.clone();
        let cut_short = |history: &History| after(history, 1, |end| end.stop = RunStop::StepLimit);
        (2..LOOP_FAILOVERS_SURELY).for_each(|_| {
            assert_eq!(cut_short(&many), Ok(()), "it may come to an end");
            many.main(failover());
        });
        assert_eq!(cut_short(&many).unwrap_err().code, Code::K1);
        many.completed(2, CheckpointContents::default());
        assert_eq!(cut_short(&many), Ok(()), "it did");
        history.main(failover());
        assert_eq!(after(&history, 59_000, |_| {}), Ok(()), "and a minute is not for good");
        let violation = after(&history, 61_000, |_| {}).unwrap_err();
        assert!(violation.sentence.starts_with("the job failed over again and again"), "{violation}");
        history.completed(2, CheckpointContents::default());
        assert_eq!(after(&history, 61_000, |_| {}), Ok(()), "they lie before a completion");
    }
}
