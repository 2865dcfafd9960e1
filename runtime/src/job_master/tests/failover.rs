//! Failures in each phase, order of abort and reset, regions, budget, task managers.

use super::*;
use crate::coordination::coordinator_error::CoordinatorError;

fn fail(script: &mut Script, attempt: ExecutionAttemptId) {
    script.state(attempt, ExecutionState::Failed);
}

#[test]
fn a_failure_aborts_first_then_resets_and_touches_only_its_region() {
    let mut script = Script::with_completed(config());
    script.trigger();
    script.coordinator_completes(2);
    fail(script.skip(), attempt(1, 0));
    assert_eq!(
        script.told(),
        [
            "aborted chk 2",
            "coordinator abort chk 2",
            "abort chk 2 to subtask 0 #0",
            "abort chk 2 to subtask 1 #0",
            "subtask 1 #0 Failed",
            "coordinator failed subtask 1 #0",
            "failover global=false of 1",
        ]
    );
    assert_eq!(script.timers[&Timer::RestartDelay(1)], 700);
    assert!(!script.timers.contains_key(&Timer::CheckpointInterval), "no checkpoint while a region is down");
    script.timer(Timer::RestartDelay(1));
    assert_eq!(
        script.told(),
        [
            "restore Some(CheckpointId(1)) global=false of 1",
            "reset subtask 1 to Some(1)",
            "deployed subtask 1 #1 on 1 from chk 1",
        ]
    );
    script.acknowledge(attempt(1, 0), 2);
    script.start_task(attempt(1, 0));
    assert!(script.told().is_empty(), "the old attempt is not heard");
    script.start_task(attempt(1, 1));
    assert_eq!(script.timers[&Timer::CheckpointInterval], 10 * NANOS_PER_MILLI, "FACT 94");
}

#[test]
fn before_any_checkpoint_and_before_the_gateways_close_everything_is_given_back() {
    let mut script = Script::running(config());
    script.trigger();
    fail(script.skip(), attempt(0, 0));
    assert_eq!(script.told()[0], "aborted chk 1");
    script.coordinator_completes(1);
    assert!(script.told().is_empty(), "the coordinator's late result is nobody's");
    script.timer(Timer::RestartDelay(1));
    assert_eq!(script.told()[..2], ["restore None global=false of 1", "reset subtask 0 to None"]);
}

#[test]
fn a_failure_while_the_identifier_is_raised_skips_the_identifier() {
    let mut script = Script::running(config());
    script.timer(Timer::CheckpointInterval);
    fail(&mut script, attempt(0, 0));
    script.timer(Timer::RestartDelay(1));
    script.start_task(attempt(0, 1));
    script.skip().apply();
    assert!(script.told().is_empty(), "1 is void");
    script.trigger();
    assert!(script.told().contains(&"triggered chk 2".to_owned()));
}

#[test]
fn an_add_under_way_completes_and_is_what_the_failover_restores() {
    let mut script = Script::with_barriers(config());
    script.acknowledge(attempt(0, 0), 1);
    script.acknowledge(attempt(1, 0), 1);
    fail(script.skip(), attempt(1, 0));
    script.timer(Timer::RestartDelay(1));
    let told = script.told();
    assert!(told.iter().all(|line| !line.starts_with("aborted") && !line.starts_with("restore")), "{told:?}");
    assert!(script.main.waiting_for().unwrap().contains("the add of chk 1"));
    script.apply();
    let told = script.told();
    assert_eq!(told[0], "coordinator complete chk 1");
    assert_eq!(told[1], "complete chk 1 to subtask 0 #0");
    assert_eq!(told.last().unwrap(), "deployed subtask 1 #1 on 1 from chk 1");
}

#[test]
fn a_region_of_a_vertex_cancels_its_mates_and_resets_in_subtask_order() {
    let mut script = Script::with_completed(JobConfig { region: RegionScope::Vertex, ..config() });
    fail(script.skip(), attempt(1, 0));
    assert_eq!(
        script.told(),
        [
            "subtask 1 #0 Failed",
            "coordinator failed subtask 1 #0",
            "failover global=false of 2",
            "cancel subtask 0 #0 on task-manager-0 (life 0)",
            "coordinator failed subtask 0 #0",
        ]
    );
    script.timer(Timer::RestartDelay(1));
    assert!(script.told().is_empty(), "the mate has not answered");
    assert!(script.main.waiting_for().unwrap().contains("subtask 0 #0 (Canceling on task-manager-0"));
    script.state(attempt(0, 0), ExecutionState::Canceled);
    assert_eq!(
        script.told(),
        [
            "subtask 0 #0 Canceled",
            "restore Some(CheckpointId(1)) global=false of 2",
            "reset subtask 0 to Some(1)",
            "reset subtask 1 to Some(1)",
            "deployed subtask 0 #1 on 0 from chk 1",
            "deployed subtask 1 #1 on 1 from chk 1",
        ]
    );
    script.start_task(attempt(0, 1));
    script.start_task(attempt(1, 1));
    assert_eq!(script.timers[&Timer::CheckpointInterval], 1_000_000, "all restarted: an interval later");
}

#[test]
fn a_finished_mate_restarts_with_its_region_and_empty_when_the_checkpoint_says_finished() {
    let mut script = Script::running(JobConfig { region: RegionScope::Vertex, ..config() });
    script.state(attempt(0, 0), ExecutionState::Finished);
    script.trigger();
    script.complete(1, &[attempt(1, 0)]);
    fail(&mut script, attempt(1, 0));
    script.skip().timer(Timer::RestartDelay(1));
    let deployed: Vec<_> = script
        .outputs
        .iter()
        .filter_map(|output| match &output.effect {
            Some(Effect::Send {
                message: Message::TaskManager { message: TaskManagerMessage::Deploy(descriptor), .. },
                ..
            }) => Some((descriptor.attempt, (*descriptor.restored.clone().unwrap().snapshot).clone())),
            _ => None,
        })
        .collect();
    assert_eq!(deployed, [(attempt(0, 1), TaskSnapshot::default()), (attempt(1, 1), snapshot(1))]);
}

#[test]
fn two_regions_that_fail_together_use_two_restarts_and_the_next_one_ends_the_job() {
    let mut script = Script::running(JobConfig {
        restart: RestartConfig::FixedDelay { delay_ns: 1, attempts_max: 2 },
        ..config()
    });
    fail(&mut script, attempt(0, 0));
    fail(&mut script, attempt(1, 0));
    script.timer(Timer::RestartDelay(1));
    script.timer(Timer::RestartDelay(2));
    script.start_task(attempt(0, 1));
    script.start_task(attempt(1, 1));
    fail(script.skip(), attempt(0, 1));
    let told = script.told();
    assert!(told.contains(&"cancel subtask 1 #1 on task-manager-1 (life 0)".to_owned()), "{told:?}");
    assert_eq!(told.last().unwrap(), "put Failed(\"boom\")");
    script.apply();
    assert_eq!(script.main.job_result(), Some(&JobResult::Failed("boom".to_owned())));
}

#[test]
fn a_global_failover_takes_regional_ones_in_and_replaces_the_coordinators() {
    let mut script = Script::with_completed(config());
    fail(&mut script, attempt(0, 0));
    script.skip().coordinator_says(CoordinatorToMain::FailJob { cause: CoordinatorError::NotStarted });
    assert_eq!(
        script.told(),
        [
            "failover global=true of 2",
            "cancel subtask 1 #0 on task-manager-1 (life 0)",
            "coordinator failed subtask 1 #0",
        ]
    );
    script.mail(MainMail::Timer(Timer::RestartDelay(1)));
    script.timer(Timer::RestartDelay(2));
    assert!(script.told().is_empty(), "a stale timer is harmless; the cancellation is awaited");
    script.state(attempt(1, 0), ExecutionState::Canceled);
    assert_eq!(
        script.told(),
        [
            "subtask 1 #0 Canceled",
            "restore Some(CheckpointId(1)) global=true of 2",
            "coordinator starts from Some(1)",
            "deployed subtask 0 #1 on 0 from chk 1",
            "deployed subtask 1 #1 on 1 from chk 1",
        ]
    );
}

#[test]
fn a_wholly_finished_vertex_is_restored_as_finished_and_not_run() {
    let mut config = config();
    config.vertices.push(VertexConfig {
        operator: OperatorUid(5),
        parallelism: 1,
        ..config.vertices[0].clone()
    });
    let mut script = Script::running(config);
    let other = ExecutionAttemptId { vertex: OperatorUid(5), ..attempt(0, 0) };
    script.start_task(other);
    script.state(other, ExecutionState::Finished);
    script.trigger();
    let state = Ok(vec![5]);
    let checkpoint = CheckpointId(1);
    script.mail(MainMail::FromCoordinator {
        operator: OperatorUid(5),
        generation: 1,
        message: CoordinatorToMain::CheckpointResult { checkpoint, state },
    });
    script.complete(1, &[attempt(0, 0), attempt(1, 0)]);
    script.coordinator_says(CoordinatorToMain::FailJob { cause: CoordinatorError::NotStarted });
    script.state(attempt(0, 0), ExecutionState::Canceled);
    script.state(attempt(1, 0), ExecutionState::Canceled);
    script.skip().timer(Timer::RestartDelay(1));
    let told = script.told();
    assert_eq!(told.iter().filter(|line| line.starts_with("deployed")).count(), 2, "{told:?}");
    assert!(told.iter().all(|line| !line.contains("deployed subtask 0 of operator-5")), "{told:?}");
}

#[test]
fn a_silent_task_manager_is_dead_and_is_told_so_when_it_speaks_again() {
    let mut script = Script::running(config());
    script.skip();
    for _ in 0..4 {
        script.network(task_manager(0, 0), JobManagerMessage::Heartbeat);
        script.timer(Timer::HeartbeatCheck);
    }
    let told = script.told();
    assert_eq!(told[0], "subtask 1 #0 Failed");
    assert_eq!(told.last().unwrap(), "reset session task-manager-1 (life 0)");
    assert!(told.iter().all(|line| !line.starts_with("cancel")), "nobody is there to be told: {told:?}");
    script.timer(Timer::RestartDelay(1));
    assert_eq!(
        script.told().last().unwrap(),
        "deployed subtask 1 #1 on 0 from nothing",
        "on the one that is left"
    );
    script.network(task_manager(1, 0), JobManagerMessage::Heartbeat);
    script.network(task_manager(1, 0), JobManagerMessage::Heartbeat);
    assert_eq!(script.told(), ["disconnect task-manager-1 (life 0)"]);
    script.network(task_manager(1, 0), JobManagerMessage::RegisterTaskManager);
    script.state(attempt(0, 0), ExecutionState::Failed);
    script.skip().timer(Timer::RestartDelay(2));
    assert_eq!(script.told().last().unwrap(), "deployed subtask 0 #1 on 1 from nothing", "it is back");
}

#[test]
fn a_new_life_of_a_task_manager_fails_what_the_old_one_ran() {
    let mut script = Script::running(config());
    script.skip().network(task_manager(1, 1), JobManagerMessage::RegisterTaskManager);
    let told = script.told();
    assert!(told.contains(&"subtask 1 #0 Failed".to_owned()), "{told:?}");
    assert_eq!(told.last().unwrap(), "reset session task-manager-1 (life 0)");
    script.network(task_manager(1, 0), JobManagerMessage::RegisterTaskManager);
    assert!(script.told().is_empty(), "an older life's registration comes too late");
    script.timer(Timer::RestartDelay(1));
    assert_eq!(script.told().last().unwrap(), "deployed subtask 1 #1 on 1 from nothing");
}

#[test]
fn a_failover_waits_for_a_task_manager() {
    let mut script = Script::running(JobConfig { task_managers: 1, ..config() });
    for _ in 0..4 {
        script.timer(Timer::HeartbeatCheck);
    }
    script.timer(Timer::RestartDelay(1));
    script.skip().timer(Timer::RestartDelay(2));
    assert!(script.told().is_empty());
    assert!(script.main.waiting_for().unwrap().contains("free slots, 0 task managers are registered"));
    script.network(task_manager(0, 1), JobManagerMessage::RegisterTaskManager);
    assert_eq!(script.told().iter().filter(|line| line.starts_with("deployed")).count(), 2);
}

/// Loses task manager 1 of two with `slots` each, and lets the restart delay pass.
fn lose_one_of_two(slots: Option<u32>) -> Script {
    let mut script = Script::running(JobConfig { slots_per_task_manager: slots, ..config() });
    for _ in 0..4 {
        script.network(task_manager(0, 0), JobManagerMessage::Heartbeat);
        script.timer(Timer::HeartbeatCheck);
    }
    script.skip().timer(Timer::RestartDelay(1));
    script
}

#[test]
fn a_failover_waits_for_a_slot_where_slots_are_counted() {
    let mut script = lose_one_of_two(Some(1));
    assert!(script.told().is_empty(), "task manager 0 is full");
    assert!(script.main.waiting_for().unwrap().contains("free slots, 1 task managers are registered"));
    script.network(task_manager(1, 1), JobManagerMessage::RegisterTaskManager);
    assert_eq!(script.told().last().unwrap(), "deployed subtask 1 #1 on 1 from nothing");
    for slots in [None, Some(2)] {
        let told = lose_one_of_two(slots).told();
        assert_eq!(told.last().unwrap(), "deployed subtask 1 #1 on 0 from nothing", "{slots:?}");
    }
}

#[test]
fn a_slot_is_free_again_once_its_subtask_has_ended() {
    let mut script = Script::running(JobConfig { slots_per_task_manager: Some(1), ..config() });
    script.state(attempt(1, 0), ExecutionState::Failed);
    script.skip().timer(Timer::RestartDelay(1));
    assert_eq!(script.told().last().unwrap(), "deployed subtask 1 #1 on 1 from nothing");
}

#[test]
fn a_cancellation_without_an_answer_and_a_deployment_without_a_start_end_some_time() {
    let mut script = Script::running(JobConfig { region: RegionScope::Vertex, ..config() });
    fail(&mut script, attempt(1, 0));
    script.timer(Timer::RestartDelay(1));
    let pass = |script: &mut Script, checks: u32| {
        for _ in 0..checks {
            script.network(task_manager(0, 0), JobManagerMessage::Heartbeat);
            script.network(task_manager(1, 0), JobManagerMessage::Heartbeat);
            script.timer(Timer::HeartbeatCheck);
        }
    };
    pass(script.skip(), 15);
    assert!(script.told().is_empty(), "five timeouts of three checks");
    pass(&mut script, 1);
    assert_eq!(script.told()[0], "subtask 0 #0 Canceled");
    pass(&mut script, 30);
    assert!(script.told().is_empty());
    pass(&mut script, 1);
    let told = script.told();
    assert_eq!(
        told[..2],
        ["cancel subtask 0 #1 on task-manager-0 (life 0)", "subtask 0 #1 Failed"],
        "{told:?}"
    );
}

#[test]
fn a_lost_operator_event_fails_its_subtask() {
    let mut script = Script::running(config());
    script.coordinator_says(CoordinatorToMain::SendEvent {
        attempt: attempt(1, 0),
        event: OperatorEvent::NoMoreSplits,
    });
    let token = script
        .outputs
        .iter()
        .find_map(|output| match &output.effect {
            Some(Effect::Send { token, .. }) => *token,
            _ => None,
        })
        .expect("an operator event was sent");
    script.skip().mail(MainMail::DeliveryOutcome { token, outcome: DeliveryOutcome::Unknown });
    let told = script.told();
    assert_eq!(
        told[..2],
        ["cancel subtask 1 #0 on task-manager-1 (life 0)", "subtask 1 #0 Failed"],
        "{told:?}"
    );
}
