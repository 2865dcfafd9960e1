//! Leases, fencing, calls of unknown outcome, take-overs.

use super::*;

fn checkpoint(id: u64, finished: bool) -> Arc<CompletedCheckpoint> {
    let subtasks = (0..2)
        .map(|subtask| SubtaskState {
            subtask: attempt(subtask, 0).subtask_id(),
            snapshot: Arc::new(if finished { TaskSnapshot::default() } else { snapshot(9) }),
            finished,
        })
        .collect();
    Arc::new(CompletedCheckpoint {
        kind: CheckpointKind::Recovery,
        id: CheckpointId(id),
        coordinators: vec![(SOURCE, vec![3])],
        subtasks,
    })
}

fn adding(config: JobConfig) -> Script {
    let mut script = Script::with_barriers(config);
    script.acknowledge(attempt(0, 0), 1);
    script.acknowledge(attempt(1, 0), 1);
    script
}

fn let_call_time_out(script: &mut Script) {
    let call = script.calls.last().unwrap().0;
    for _ in 0..crate::job_master::leadership::CALL_SENDS_MAX {
        script.timer(Timer::HighAvailabilityTimeout(call));
    }
}

#[test]
fn the_lease_is_asked_for_again_and_only_the_newest_answer_counts() {
    let mut script = Script::new(config());
    script.start();
    script.timer(Timer::HighAvailabilityTimeout(CallId(0)));
    assert_eq!(script.calls.len(), 2);
    let reply = HighAvailabilityReply::LeaseGranted {
        epoch: EPOCH,
        counter: CheckpointId(0),
        latest: None,
        result: None,
    };
    script.mail(MainMail::HighAvailabilityReply { call: CallId(0), reply });
    assert_eq!(script.main.epoch(), LeaderEpoch(0), "the second ask has voided the first");
    script.grant(LeaderEpoch(2), 0, None, None);
    assert_eq!(script.main.epoch(), LeaderEpoch(2));
}

#[test]
fn a_job_that_has_ended_never_runs_again() {
    let mut script = Script::new(config());
    script.start();
    script.skip().grant(LeaderEpoch(3), 7, Some(checkpoint(5, false)), Some(JobResult::Finished));
    script.network(task_manager(0, 0), JobManagerMessage::RegisterTaskManager);
    script.network(task_manager(1, 0), JobManagerMessage::RegisterTaskManager);
    assert!(script.told().is_empty());
    assert_eq!(script.main.job_result(), Some(&JobResult::Finished));
    assert_eq!(script.main.waiting_for(), None);
}

#[test]
fn a_new_leader_restores_everything_and_counts_on() {
    let mut script = Script::new(config());
    script.start();
    script.skip().grant(LeaderEpoch(3), 7, Some(checkpoint(5, false)), None);
    assert_eq!(
        script.told(),
        ["restore Some(CheckpointId(5)) global=true of 2", "coordinator starts from Some(5)"]
    );
    script.network(task_manager(1, 0), JobManagerMessage::RegisterTaskManager);
    assert!(script.told().is_empty(), "it waits for the second task manager for a while");
    assert!(script.main.waiting_for().unwrap().contains("1 of 2"));
    script.timer(Timer::RestartDelay(0));
    assert_eq!(
        script.told(),
        ["deployed subtask 0 #0 on 1 from chk 5", "deployed subtask 1 #0 on 1 from chk 5"]
    );
    script.start_task(attempt(0, 0));
    script.start_task(attempt(1, 0));
    script.skip().timer(Timer::CheckpointInterval);
    assert_eq!(script.told(), ["raise chk 8"]);
}

#[test]
fn a_take_over_after_all_have_finished_stores_the_result() {
    let mut script = Script::new(config());
    script.start();
    script.grant(LeaderEpoch(3), 7, Some(checkpoint(7, true)), None);
    script.network(task_manager(0, 0), JobManagerMessage::RegisterTaskManager);
    script.skip().network(task_manager(1, 0), JobManagerMessage::RegisterTaskManager);
    assert_eq!(script.told(), ["put Finished"], "restored as finished");
}

#[test]
fn an_add_of_unknown_outcome_ends_the_term_without_a_word() {
    let mut script = adding(config());
    let_call_time_out(script.skip());
    let told = script.told();
    let (last, adds) = told.split_last().unwrap();
    assert_eq!(last, "term ended + end term");
    assert!(adds.iter().all(|line| line == "add chk 1"), "no notice, no abort: {told:?}");
    let calls: Vec<_> = script.calls.iter().map(|call| call.0).collect();
    assert!(
        calls.windows(2).all(|pair| pair[0] == pair[1]),
        "sent again under the same identifier: {calls:?}"
    );
    script.apply();
    script.state(attempt(0, 0), ExecutionState::Failed);
    assert!(!script.main.is_runnable() && script.told().is_empty(), "inert");
}

#[test]
fn the_defect_treats_an_add_in_doubt_as_an_abort() {
    let mut script = adding(defective(Defect::InDoubtAddTreatedAsAbort));
    let_call_time_out(script.skip());
    assert!(script.told().contains(&"aborted chk 1".to_owned()));
}

#[test]
fn a_fenced_write_ends_the_term() {
    let mut script = adding(config());
    let call = script.calls[0].0;
    script.skip().mail(MainMail::HighAvailabilityReply { call, reply: HighAvailabilityReply::Fenced });
    assert_eq!(script.told(), ["term ended + end term"]);
    script.main.enqueue(MainMail::Cancel);
    assert!(!script.main.is_runnable());
}

#[test]
fn answers_to_others_calls_are_not_heard() {
    let mut script = adding(config());
    for call in [CallId(0), CallId(1)] {
        for reply in [HighAvailabilityReply::Applied, HighAvailabilityReply::Fenced] {
            script.skip().mail(MainMail::HighAvailabilityReply { call, reply });
            assert!(script.told().is_empty());
        }
    }
}

#[test]
fn calls_go_out_one_at_a_time_in_order() {
    let mut script = adding(config());
    script.skip().mail(MainMail::Cancel);
    assert!(script.told().iter().all(|line| !line.starts_with("put")), "behind the add");
    script.apply();
    assert!(script.told().contains(&"put Cancelled".to_owned()));
}

#[test]
fn registrations_that_overtake_the_lease_are_kept_for_their_epoch() {
    let mut script = Script::new(config());
    script.start();
    for (epoch, index) in [(2, 0), (1, 1), (2, 1)] {
        let message = JobManagerMessage::RegisterTaskManager;
        let epoch = LeaderEpoch(epoch);
        script.mail(MainMail::FromNetwork { from: task_manager(index, 0), epoch, message });
    }
    script.skip().grant(LeaderEpoch(2), 0, None, None);
    let told = script.told();
    assert_eq!(told.iter().filter(|line| line.starts_with("deployed")).count(), 2, "{told:?}");
}

#[test]
fn a_leader_that_hears_of_a_newer_one_ends_its_term() {
    let mut script = adding(config());
    let epoch = LeaderEpoch(script.main.epoch().0 + 1);
    script.skip().mail(MainMail::FromNetwork {
        from: task_manager(0, 0),
        epoch,
        message: JobManagerMessage::Heartbeat,
    });
    let told = script.told();
    assert!(told.iter().any(|line| line.contains("term")), "{told:?}");
    assert!(!script.main.is_runnable());
}
