use super::*;
use crate::checker::{Judgement, RunStop};
use crate::testing::{History, attempt, contents, name, range, setup};
use crate::violation::Moment;
use splitrace_runtime::config::SinkKind;
use splitrace_runtime::event::FaultKind;
use splitrace_runtime::message::JobResult;

/// A history in which each event has a time of its own, in milliseconds. The sink promises 10 ms.
struct Timed {
    history: History,
    times: Vec<u64>,
}

impl Timed {
    const fn new() -> Self {
        Self { history: History::new(), times: Vec::new() }
    }

    fn at(&mut self, time_ms: u64) -> &mut History {
        self.times.push(time_ms);
        &mut self.history
    }

    fn completed(&mut self, time_ms: u64, number: u64) {
        let records = [range(0, 4 * number, 4 * number + 4)].into_iter().collect();
        self.at(time_ms).completed(number, contents(&[], &[], &[(name(0, number), records)]));
    }

    fn visible(&mut self, time_ms: u64, number: u64) {
        let visible =
            History::visible(name(0, number), attempt(0, 0), &[range(0, 4 * number, 4 * number + 4)]);
        self.at(time_ms).store(visible);
    }

    fn world(&mut self, time_ms: u64, kind: EventKind) {
        self.at(time_ms).world(kind);
    }

    fn deployed(&mut self, time_ms: u64, number: u32) {
        let deployed =
            EventKind::TaskDeployed { attempt: attempt(0, number), task_manager: 0, restored: None };
        self.at(time_ms).main(deployed);
    }

    fn ended(&mut self, time_ms: u64, result: JobResult) {
        self.at(time_ms).availability(EventKind::JobEnded { result });
    }

    fn judge_with(&self, setup: &RunSetup) -> (Result<(), Violation>, Judgement) {
        let mut checker = Freshness::new(setup);
        let mut events = self.history.events().to_vec();
        for (event, time_ms) in events.iter_mut().zip(&self.times) {
            event.header.virtual_time_ns = time_ms * 1_000_000;
            assert_eq!(checker.observe(event), Ok(()), "only the end is judged");
        }
        let at = Moment::from(&events.last().expect("something happened").header);
        let verdict = checker.finish(&RunEnd {
            job_ended: None,
            stop: RunStop::Quiescent,
            at,
            now_ns: at.virtual_time_ns,
        });
        (verdict, checker.judgement())
    }

    fn judge(&self) -> Result<(), Violation> {
        self.judge_with(&patient()).0
    }
}

fn patient() -> RunSetup {
    RunSetup { visible_within_ns: 10_000_000, ..setup() }
}

/// A checkpoint that finds the work of this number in its writer's state.
fn keeps(timed: &mut Timed, time_ms: u64, checkpoint: u64, number: u64) {
    let records = [range(0, 4 * number, 4 * number + 4)].into_iter().collect();
    let mut contents = contents(&[], &[], &[]);
    contents.writers.push((attempt(0, 0).subtask_id(), name(0, number), records));
    timed.at(time_ms).completed(checkpoint, contents);
}

#[test]
fn a_writer_may_keep_work_for_as_long_as_its_sink_states() {
    let mut setup = patient();
    setup.handed_over_within_ns = 60_000_000;
    let mut timed = Timed::new();
    keeps(&mut timed, 100, 1, 9);
    keeps(&mut timed, 130, 2, 9);
    let records = [range(0, 36, 40)].into_iter().collect();
    timed.at(155).completed(3, contents(&[], &[], &[(name(0, 9), records)]));
    timed.visible(160, 9);
    assert_eq!(timed.judge_with(&setup).0, Ok(()));
    let mut never = Timed::new();
    keeps(&mut never, 100, 1, 9);
    keeps(&mut never, 200, 2, 9);
    let violation = never.judge_with(&setup).0.expect_err("its file is never closed");
    assert!(violation.to_string().contains("not handed to the committer 100 ms"), "{violation}");
    let mut late = Timed::new();
    keeps(&mut late, 100, 1, 9);
    late.completed(190, 9);
    late.visible(191, 9);
    assert!(late.judge_with(&setup).0.is_err(), "visible at once, but closed too late");
    let mut restarted = Timed::new();
    keeps(&mut restarted, 100, 1, 9);
    restarted.deployed(150, 1);
    restarted.completed(190, 9);
    restarted.visible(191, 9);
    assert_eq!(restarted.judge_with(&setup).0, Ok(()), "its age begins anew");
}

const LOSS: EventKind = EventKind::FaultInjected { fault: FaultKind::MessageLoss, window: None };

#[test]
fn what_is_visible_in_time_is_fresh() {
    let mut timed = Timed::new();
    timed.completed(100, 1);
    timed.visible(110, 1);
    timed.completed(200, 2);
    timed.visible(201, 2);
    timed.completed(300, 3);
    assert_eq!(timed.judge_with(&patient()), (Ok(()), Judgement::Judged { count: 3 }));
}

#[test]
fn what_comes_late_or_not_at_all_is_named() {
    let mut late = Timed::new();
    late.completed(100, 1);
    late.visible(111, 1);
    let mut never = Timed::new();
    never.completed(100, 1);
    never.completed(150, 2);
    for timed in [late, never] {
        let violation = timed.judge().unwrap_err();
        assert_eq!((violation.code, violation.subject), (Code::C5, Subject::Transaction(name(0, 1))));
    }
}

#[test]
fn what_a_fault_may_have_lost_is_owed_from_the_next_completion_after_the_healing() {
    let mut timed = Timed::new();
    timed.world(10, LOSS);
    timed.completed(20, 1);
    timed.world(100, EventKind::Healed);
    timed.completed(150, 2);
    timed.visible(151, 2);
    timed.visible(160, 1);
    assert_eq!(timed.judge(), Ok(()));
    let mut late = Timed::new();
    late.world(10, LOSS);
    late.completed(20, 1);
    late.world(100, EventKind::Healed);
    late.completed(150, 2);
    late.visible(151, 2);
    late.visible(161, 1);
    assert!(late.judge().is_err());
}

#[test]
fn faults_that_go_on_excuse_everything() {
    let mut timed = Timed::new();
    timed.world(10, LOSS);
    timed.completed(20, 1);
    timed.completed(500, 2);
    assert_eq!(timed.judge(), Ok(()));
}

#[test]
fn a_restart_begins_anew() {
    let mut timed = Timed::new();
    timed.completed(100, 1);
    timed.deployed(400, 1);
    timed.visible(409, 1);
    assert_eq!(timed.judge(), Ok(()));
    timed.completed(500, 2);
    timed.deployed(600, 2);
    timed.visible(611, 2);
    assert!(timed.judge().is_err(), "it had its ten milliseconds after the restart");
}

#[test]
fn after_the_end_of_the_job_nothing_is_owed() {
    for result in [JobResult::Cancelled, JobResult::Finished] {
        let mut timed = Timed::new();
        timed.completed(100, 1);
        timed.ended(105, result);
        timed.world(900, EventKind::Healed);
        assert_eq!(timed.judge(), Ok(()));
    }
}

/// Without a last checkpoint a subtask may leave before it hears of a completion.
#[test]
fn without_a_final_checkpoint_the_end_of_the_input_ends_it() {
    let mut timed = Timed::new();
    timed.completed(100, 1);
    timed.at(105).task(0, attempt(0, 0), EventKind::EndOfInput);
    timed.completed(300, 2);
    let mut setup = patient();
    assert!(timed.judge_with(&setup).0.is_err());
    setup.promise.input.after_tasks_finish = false;
    assert_eq!(timed.judge_with(&setup).0, Ok(()));
}

#[test]
fn what_an_older_checkpoint_leaves_behind_is_owed_no_more() {
    let mut timed = Timed::new();
    timed.completed(100, 1);
    timed.visible(101, 1);
    timed.completed(110, 2);
    timed.ended(112, JobResult::Cancelled);
    timed.world(120, EventKind::JobSubmitted { checkpoint: Some(CheckpointId(1)), parallelism: 1 });
    timed.completed(900, 5);
    let mut setup = patient();
    assert!(timed.judge_with(&setup).0.is_err(), "restored as the latest, it would have been owed");
    setup.promise.input.restores_older = true;
    assert_eq!(timed.judge_with(&setup).0, Ok(()));
}

/// An append under a name that a later checkpoint took does nothing, so nothing becomes visible that could be in time.
#[test]
fn behind_an_older_checkpoint_an_append_store_owes_nothing() {
    let mut timed = Timed::new();
    timed.completed(100, 1);
    timed.completed(110, 2);
    timed.visible(111, 2);
    timed.ended(112, JobResult::Cancelled);
    timed.world(120, EventKind::JobSubmitted { checkpoint: Some(CheckpointId(1)), parallelism: 1 });
    timed.completed(130, 3);
    timed.completed(900, 4);
    let mut setup = patient();
    setup.promise.input.restores_older = true;
    setup.promise.input.sink = SinkKind::Append;
    assert!(matches!(timed.judge_with(&setup), (Ok(()), Judgement::NotJudged(_))));
}
