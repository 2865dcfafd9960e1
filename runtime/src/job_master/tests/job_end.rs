//! How a job ends.

use super::*;

#[test]
fn the_job_is_finished_when_all_subtasks_are() {
    let mut script = Script::with_completed(config());
    script.state_with(attempt(0, 0), ExecutionState::Finished, Some(CheckpointId(1)));
    script.skip().state_with(attempt(1, 0), ExecutionState::Finished, Some(CheckpointId(1)));
    assert_eq!(script.told(), ["subtask 1 #0 Finished", "put Finished"]);
    assert_eq!(script.main.job_result(), None, "the service decides");
    script.apply();
    assert_eq!(script.main.job_result(), Some(&JobResult::Finished));
    assert_eq!(script.main.waiting_for(), None);
}

#[test]
fn a_result_of_unknown_outcome_ends_the_term() {
    let mut script = Script::running(config());
    script.state(attempt(0, 0), ExecutionState::Finished);
    script.state(attempt(1, 0), ExecutionState::Finished);
    let call = script.calls.last().unwrap().0;
    for _ in 0..crate::job_master::leadership::CALL_SENDS_MAX {
        script.timer(Timer::HighAvailabilityTimeout(call));
    }
    assert_eq!(script.told().last().unwrap(), "term ended + end term");
    assert_eq!(script.main.job_result(), None);
}

#[test]
fn a_cancel_stops_everything() {
    let mut script = Script::with_barriers(config());
    script.skip().mail(MainMail::Cancel);
    let told = script.told();
    assert_eq!(told[0], "aborted chk 1");
    assert!(told.contains(&"cancel subtask 0 #0 on task-manager-0 (life 0)".to_owned()));
    assert_eq!(told.last().unwrap(), "put Cancelled");
    script.mail(MainMail::Cancel);
    assert!(script.told().is_empty(), "once");
    script.apply();
    script.state(attempt(0, 0), ExecutionState::Canceled);
    assert_eq!(script.told(), ["subtask 0 #0 Canceled"]);
    assert_eq!(script.main.job_result(), Some(&JobResult::Cancelled));
}

#[test]
fn a_cancel_before_the_lease_is_kept() {
    let mut script = Script::new(config());
    script.mail(MainMail::Cancel);
    script.start();
    script.grant(EPOCH, 0, None, None);
    assert_eq!(script.told().last().unwrap(), "put Cancelled");
}

#[test]
fn the_fingerprint_sees_the_state_and_the_mailbox() {
    use std::hash::{DefaultHasher, Hasher};
    let print = |main: &MainThread| {
        let mut hasher = DefaultHasher::new();
        main.fingerprint(&mut hasher);
        hasher.finish()
    };
    let mut script = Script::running(config());
    let (before, copy) = (print(&script.main), script.main.clone());
    assert_eq!(print(&copy), before);
    script.main.enqueue(MainMail::Cancel);
    assert_ne!(print(&script.main), before);
    script.main = copy;
    script.acknowledge(attempt(0, 0), 9);
    assert_eq!(print(&script.main), before, "what is ignored leaves no trace");
    script.timer(Timer::CheckpointInterval);
    assert_ne!(print(&script.main), before);
}
