//! Savepoints, and stopping with one.

use super::*;

fn stored_with(mail: MainMail) -> Script {
    let mut script = Script::running(config());
    script.mail(mail);
    script.apply();
    script.coordinator_completes(1);
    script.acknowledge(attempt(0, 0), 1);
    script.acknowledge(attempt(1, 0), 1);
    script.apply();
    script
}

#[test]
fn a_plain_savepoint_is_told_to_nobody_and_is_no_recovery_point() {
    let mut script = stored_with(MainMail::Savepoint);
    let told = script.told();
    assert!(told.contains(&"trigger chk 1 to subtask 0 #0".to_owned()), "{told:?}");
    assert!(!told.iter().any(|line| line.contains("complete chk 1")), "{told:?}");
    script.state(attempt(0, 0), ExecutionState::Failed);
    script.timer(Timer::RestartDelay(1));
    assert!(script.told().contains(&"reset subtask 0 to None".to_owned()));
}

#[test]
fn stopping_ends_the_job_with_its_savepoint_once_every_task_has_finished() {
    let mut script = stored_with(MainMail::StopWithSavepoint { drain: false });
    let told = script.told();
    assert!(told.contains(&"stop with chk 1 to subtask 1 #0, drain=false".to_owned()), "{told:?}");
    assert!(told.contains(&"complete chk 1 to subtask 1 #0".to_owned()), "{told:?}");
    script.timer(Timer::HeartbeatCheck);
    assert!(
        script.told().contains(&"complete chk 1 to subtask 0 #0".to_owned()),
        "no later checkpoint makes up for a lost notice"
    );
    for subtask in 0..2 {
        script.state_with(attempt(subtask, 0), ExecutionState::Finished, Some(CheckpointId(1)));
    }
    assert_eq!(script.told().last().unwrap(), "put Stopped(CheckpointId(1))");
}

#[test]
fn a_failure_after_the_savepoint_is_stored_ends_the_job_with_its_path() {
    let mut script = stored_with(MainMail::StopWithSavepoint { drain: true });
    script.skip().state(attempt(0, 0), ExecutionState::Failed);
    let told = script.told();
    assert!(told.last().unwrap().starts_with("put Failed(\"the savepoint chk 1 is stored"), "{told:?}");
    assert!(!told.iter().any(|line| line.starts_with("failover")), "it never restarts: {told:?}");
}

#[test]
fn a_failure_before_that_is_an_ordinary_one_and_checkpoints_go_on() {
    let mut script = Script::running(config());
    script.mail(MainMail::StopWithSavepoint { drain: false });
    script.apply();
    script.coordinator_completes(1);
    script.skip().state(attempt(0, 0), ExecutionState::Failed);
    assert_eq!(script.told()[0], "aborted chk 1");
    script.timer(Timer::RestartDelay(1));
    script.start_task(attempt(0, 1));
    script.skip().timer(Timer::CheckpointInterval);
    assert_eq!(script.told(), ["raise chk 2"]);
}
