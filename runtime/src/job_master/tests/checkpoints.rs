//! Checkpoints: the happy path, aborts in each phase, when one is triggered, the final one.

use super::*;
use crate::coordination::coordinator_error::CoordinatorError;

#[test]
fn a_checkpoint_goes_coordinators_barriers_acknowledgements_add_notices() {
    let mut script = Script::running(config());
    assert_eq!(script.timers[&Timer::CheckpointInterval], 20 * NANOS_PER_MILLI, "FACT 94");
    script.skip().timer(Timer::CheckpointInterval);
    assert_eq!(script.told(), ["raise chk 1"], "the identifier is durable before the trigger");
    script.apply();
    assert_eq!(script.told(), ["triggered chk 1", "coordinator chk 1"]);
    assert!(script.main.waiting_for().unwrap().contains("coordinator state of operator-0"));
    script.coordinator_completes(1);
    assert_eq!(
        script.told(),
        ["barriers chk 1", "trigger chk 1 to subtask 0 #0", "trigger chk 1 to subtask 1 #0"]
    );
    script.acknowledge(attempt(0, 0), 1);
    script.acknowledge(attempt(0, 0), 1);
    assert_eq!(
        script.main.waiting_for().unwrap(),
        "checkpoint 1 waits for the acknowledgement of subtask 1 #0"
    );
    script.acknowledge(attempt(1, 0), 1);
    assert_eq!(
        script.told(),
        [
            "acknowledged chk 1 subtask 0 #0 last=false",
            "acknowledged chk 1 subtask 1 #0 last=true",
            "add chk 1"
        ]
    );
    let HighAvailabilityRequest::AddCheckpoint(added) = script.apply() else { panic!("an add") };
    assert_eq!(added.coordinators, vec![(SOURCE, vec![42])]);
    assert_eq!(*added.subtasks[1].snapshot, snapshot(1));
    assert_eq!(
        script.told(),
        ["coordinator complete chk 1", "complete chk 1 to subtask 0 #0", "complete chk 1 to subtask 1 #0"]
    );
    assert_eq!(script.timers[&Timer::CheckpointInterval], 1_000_000);
    script.trigger();
    assert!(script.told().contains(&"triggered chk 2".to_owned()));
}

#[test]
fn nothing_is_triggered_before_every_reader_is_registered() {
    let mut script = Script::deployed(config());
    script.start_task(attempt(0, 0));
    script.state(attempt(1, 0), ExecutionState::Initializing);
    script.state(attempt(1, 0), ExecutionState::Running);
    assert!(!script.timers.contains_key(&Timer::CheckpointInterval));
    assert!(script.main.waiting_for().unwrap().contains("registration of subtask 1 #0"));
    script.register_reader(attempt(1, 0));
    assert!(script.timers.contains_key(&Timer::CheckpointInterval));
}

#[test]
fn without_checkpointing_nothing_is_ever_triggered() {
    let mut script = Script::running(JobConfig { checkpointing: None, ..config() });
    for number in 0..2 {
        script.network(task_manager(number, 0), JobManagerMessage::EndOfData { attempt: attempt(number, 0) });
    }
    assert!(script.calls.is_empty() && !script.timers.contains_key(&Timer::CheckpointInterval));
}

fn tolerant(failures_tolerable: u32) -> JobConfig {
    let mut config = config();
    config.checkpointing.as_mut().unwrap().failures_tolerable = failures_tolerable;
    config
}

#[test]
fn a_decline_aborts_and_too_many_fail_the_job_over() {
    let mut script = Script::with_barriers(tolerant(1));
    let decline = |checkpoint| JobManagerMessage::DeclineCheckpoint {
        attempt: attempt(0, 0),
        checkpoint: CheckpointId(checkpoint),
        reason: "no".to_owned(),
    };
    script.skip().network(task_manager(0, 0), decline(1));
    let aborted = [
        "aborted chk 1",
        "coordinator abort chk 1",
        "abort chk 1 to subtask 0 #0",
        "abort chk 1 to subtask 1 #0",
    ];
    assert_eq!(script.told(), aborted);
    script.network(task_manager(0, 0), decline(1));
    assert!(script.told().is_empty(), "a repeated decline");
    script.trigger();
    script.skip().coordinator_completes(2);
    script.timer(Timer::CheckpointTimeout(CheckpointId(2)));
    assert!(script.told().contains(&"failover global=true of 2".to_owned()));
}

#[test]
fn a_coordinator_that_fails_its_part_aborts_the_checkpoint() {
    let mut script = Script::running(tolerant(1));
    script.trigger();
    let failed = CoordinatorToMain::CheckpointResult {
        checkpoint: CheckpointId(1),
        state: Err(CoordinatorError::NotStarted),
    };
    script.skip().coordinator_says(failed);
    assert_eq!(script.told()[0], "aborted chk 1");
}

#[test]
fn a_timeout_while_adding_changes_nothing() {
    let mut script = Script::with_barriers(config());
    script.acknowledge(attempt(0, 0), 1);
    script.acknowledge(attempt(1, 0), 1);
    script.skip().mail(MainMail::Timer(Timer::CheckpointTimeout(CheckpointId(1))));
    assert!(script.told().is_empty(), "it may be complete");
    script.apply();
    assert_eq!(script.told()[0], "coordinator complete chk 1");
}

#[test]
fn the_newer_checkpoint_subsumes_the_older_one() {
    let mut config = config();
    config.checkpointing.as_mut().unwrap().concurrent_max = 2;
    let mut script = Script::with_barriers(config);
    script.trigger();
    script.coordinator_completes(2);
    script.acknowledge(attempt(0, 0), 2);
    script.acknowledge(attempt(1, 0), 1);
    script.skip().acknowledge(attempt(1, 0), 2);
    let told = script.told();
    assert!(told.contains(&"add chk 2".to_owned()) && told.contains(&"aborted chk 1".to_owned()), "{told:?}");
    script.acknowledge(attempt(0, 0), 1);
    assert!(script.told().is_empty(), "an older one is never added behind a newer one");
}

#[test]
fn acknowledgements_of_old_epochs_and_attempts_never_count() {
    let mut script = Script::with_barriers(config());
    let message = JobManagerMessage::AcknowledgeCheckpoint {
        attempt: attempt(0, 0),
        checkpoint: CheckpointId(1),
        snapshot: Arc::new(snapshot(0)),
    };
    script.skip().mail(MainMail::FromNetwork { from: task_manager(0, 0), epoch: LeaderEpoch(0), message });
    script.acknowledge(attempt(0, 1), 1);
    script.acknowledge(ExecutionAttemptId { subtask: SubtaskIndex(7), ..attempt(0, 0) }, 1);
    assert!(script.told().is_empty());
}

fn end_of_data(script: &mut Script, number: u32) {
    script.network(task_manager(number, 0), JobManagerMessage::EndOfData { attempt: attempt(number, 0) });
}

#[test]
fn the_last_end_of_data_triggers_at_once() {
    let mut script = Script::with_completed(config());
    end_of_data(&mut script, 0);
    assert!(script.skip().told().is_empty());
    end_of_data(&mut script, 1);
    assert_eq!(script.told(), ["raise chk 2"], "no timer was needed (FACT 96)");
}

#[test]
fn the_final_checkpoint_waits_for_the_pending_one_and_a_raise_under_way_is_it() {
    let mut script = Script::with_barriers(config());
    end_of_data(&mut script, 0);
    end_of_data(&mut script, 1);
    script.skip().acknowledge(attempt(0, 0), 1);
    script.acknowledge(attempt(1, 0), 1);
    script.apply();
    assert_eq!(script.told().last().unwrap(), "raise chk 2");

    let mut script = Script::with_completed(config());
    script.timer(Timer::CheckpointInterval);
    end_of_data(&mut script, 0);
    end_of_data(&mut script, 1);
    script.skip().apply();
    script.complete(2, &[attempt(0, 0), attempt(1, 0)]);
    assert!(script.told().iter().all(|line| !line.starts_with("raise")), "checkpoint 2 began after the end");
}

#[test]
fn finished_waits_for_its_acknowledgement_and_aborts_what_it_will_never_see() {
    let mut script = Script::with_barriers(config());
    script.skip().state_with(attempt(0, 0), ExecutionState::Finished, Some(CheckpointId(1)));
    assert!(script.told().is_empty(), "its acknowledgement of 1 is still on the way");
    assert!(script.main.waiting_for().unwrap().contains("acknowledgements"));
    script.acknowledge(attempt(0, 0), 1);
    assert_eq!(script.told(), ["acknowledged chk 1 subtask 0 #0 last=false", "subtask 0 #0 Finished"]);

    let mut script = Script::with_barriers(config());
    script.skip().state_with(attempt(0, 0), ExecutionState::Finished, None);
    let told = script.told();
    assert_eq!(told[0], "aborted chk 1");
    assert!(!told.iter().any(|line| line.starts_with("failover")), "no failure of the job's");
    assert!(told.contains(&"subtask 0 #0 Finished".to_owned()));
    script.trigger();
    script.coordinator_completes(2);
    let told = script.told();
    assert!(told.contains(&"trigger chk 2 to subtask 1 #0".to_owned()));
    assert!(!told.contains(&"trigger chk 2 to subtask 0 #0".to_owned()), "it is recorded as finished");
    script.acknowledge(attempt(1, 0), 2);
    let HighAvailabilityRequest::AddCheckpoint(added) = script.apply() else { panic!("an add") };
    assert_eq!(added.subtasks.iter().map(|part| part.finished).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_finished_whose_acknowledgement_is_lost_is_accepted_when_the_checkpoint_expires() {
    let mut script = Script::with_barriers(tolerant(1));
    script.state_with(attempt(0, 0), ExecutionState::Finished, Some(CheckpointId(1)));
    script.skip().timer(Timer::CheckpointTimeout(CheckpointId(1)));
    assert_eq!(script.told().last().unwrap(), "subtask 0 #0 Finished");
}

#[test]
fn the_pause_holds_a_periodic_checkpoint_back() {
    let mut config = config();
    config.checkpointing.as_mut().unwrap().pause_min_ns = 50;
    let mut script = Script::with_completed(config);
    script.skip().timer(Timer::CheckpointInterval);
    assert!(script.told().is_empty());
    script.timer(Timer::CheckpointPause);
    assert_eq!(script.told(), ["raise chk 2"]);
}

#[test]
fn a_barrier_that_finds_no_task_aborts_and_the_missing_task_fails_when_no_word_comes() {
    let mut script = Script::with_barriers(config());
    let token = script
        .outputs
        .iter()
        .filter_map(|output| match &output.effect {
            Some(Effect::Send { stream: Stream::Triggers(attempt), token, .. }) => Some((*attempt, *token)),
            _ => None,
        })
        .find_map(|(to, token)| token.filter(|_| to == attempt(1, 0)))
        .unwrap();
    script.skip().mail(MainMail::DeliveryOutcome { token, outcome: DeliveryOutcome::Delivered });
    assert!(script.told().is_empty());
    script.mail(MainMail::DeliveryOutcome { token, outcome: DeliveryOutcome::NotDelivered });
    assert_eq!(script.told()[0], "aborted chk 1");
    for check in 0..31 {
        assert!(script.told().iter().all(|line| line != "subtask 1 #0 Failed"), "too early: {check}");
        script.network(task_manager(0, 0), JobManagerMessage::Heartbeat);
        script.network(task_manager(1, 0), JobManagerMessage::Heartbeat);
        script.timer(Timer::HeartbeatCheck);
    }
    let told = script.told();
    assert!(told.contains(&"subtask 1 #0 Failed".to_owned()), "{told:?}");
    assert!(told.contains(&"failover global=false of 1".to_owned()), "{told:?}");
}
