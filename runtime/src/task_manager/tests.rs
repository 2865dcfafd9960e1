//! Fencing and the life of attempts at one task manager.

use super::*;
use crate::config::{EventTime, ReaderKind, SinkKind, TaskConfig};
use crate::defects::DefectSet;
use crate::topology::OperatorKind;

const HEARTBEAT: HeartbeatConfig = HeartbeatConfig { interval_ns: 10, timeout_ns: 50 };

fn address(incarnation: u32) -> ProcessAddress {
    ProcessAddress { process: ProcessId::JobManager, incarnation: Incarnation(incarnation) }
}

fn attempt(number: u32) -> ExecutionAttemptId {
    ExecutionAttemptId { attempt: AttemptNumber(number), ..ExecutionAttemptId::default() }
}

fn deploy(epoch: u32, number: u32) -> TaskManagerMessage {
    TaskManagerMessage::Deploy(Box::new(TaskDescriptor {
        attempt: attempt(number),
        leader_epoch: LeaderEpoch(epoch),
        task_manager: 1,
        job_manager: address(1),
        parallelism: 1,
        config: TaskConfig {
            record_interval_ns: 1,
            filter_every: 0,
            user_failure: None,
            checkpoint_failure: None,
            write_buffer_records: 1,
            commit_retries_max: 10,
            commit_script: None,
            commit_back_off_ns: 0,
            store_timeout_ns: 1,
            reader: ReaderKind::Direct,
            stall: None,
            event_time: EventTime::NUMBER,
            alignment: None,
        },
        bounded: true,
        pull: true,
        files: None,
        log: None,
        reports_splits: false,
        checkpointing: true,
        final_checkpoint: true,
        sink: SinkKind::Append,
        coordinated: None,
        operators: OperatorKind::CHAIN.to_vec(),
        consumes: None,
        produces: None,
        restored: None,
        defects: DefectSet::NONE,
    }))
}

fn leader(epoch: u32) -> TaskManagerMessage {
    TaskManagerMessage::LeaderChanged { epoch: LeaderEpoch(epoch), job_manager: address(epoch) }
}

struct Bench(TaskManagerEndpoint);

impl Bench {
    fn following(epoch: u32) -> Self {
        let mut bench = Self(TaskManagerEndpoint::new(1, HEARTBEAT));
        let process = ProcessId::TaskManager(1);
        let address = ProcessAddress { process, incarnation: Incarnation(1) };
        assert_eq!(bench.give(TaskManagerMail::ProcessStarted { address }), ["subscribe", "timer"]);
        assert!(bench.0.waiting_for().is_some());
        assert_eq!(bench.send(epoch, leader(epoch)), [format!("register {epoch}"), "timer".to_owned()]);
        assert!(bench.0.waiting_for().is_none());
        bench
    }

    fn give(&mut self, mail: TaskManagerMail) -> Vec<String> {
        self.0.enqueue(mail);
        let mut outbox = Outbox::new();
        while self.0.is_runnable() {
            self.0.turn(TurnDecision::default(), &mut outbox);
        }
        outbox.drain().map(|output| line(&output.effect.unwrap())).collect()
    }

    fn send(&mut self, epoch: u32, message: TaskManagerMessage) -> Vec<String> {
        self.give(TaskManagerMail::FromNetwork { from: address(epoch), epoch: LeaderEpoch(epoch), message })
    }

    fn ended(&mut self, epoch: u32, number: u32, state: ExecutionState) -> Vec<String> {
        let epoch = LeaderEpoch(epoch);
        let cause = (state == ExecutionState::Failed).then(|| "lightning".to_owned());
        self.give(TaskManagerMail::TaskEnded { attempt: attempt(number), epoch, state, cause })
    }
}

fn line(effect: &Effect) -> String {
    match effect {
        Effect::Send { message: Message::HighAvailability { .. }, .. } => "subscribe".to_owned(),
        Effect::Send { message: Message::JobManager { epoch, message }, to, .. } => {
            assert_eq!(*to, address(epoch.0));
            match message {
                JobManagerMessage::RegisterTaskManager => format!("register {}", epoch.0),
                JobManagerMessage::Heartbeat => "heartbeat".to_owned(),
                JobManagerMessage::TaskStateChanged { attempt, state, .. } => {
                    format!("{state:?} {}", attempt.attempt)
                }
                other => format!("{other:?}"),
            }
        }
        Effect::StartTask(descriptor) => format!("start {}", descriptor.attempt.attempt),
        Effect::StopTask(attempt) => format!("stop {}", attempt.attempt),
        Effect::SetTimer { .. } => "timer".to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn an_attempt_is_started_once_and_older_ones_are_refused() {
    let mut bench = Bench::following(1);
    assert_eq!(bench.send(1, deploy(1, 1)), ["start #1"]);
    assert!(bench.send(1, deploy(1, 1)).is_empty());
    assert!(bench.send(1, deploy(1, 0)).is_empty());
    assert_eq!(bench.send(1, deploy(1, 2)), ["start #2"]);
    assert_eq!(bench.0.running().collect::<Vec<_>>(), [attempt(1), attempt(2)]);
}

#[test]
fn a_new_leader_ends_everything_of_the_old_one_and_the_old_one_is_refused() {
    let mut bench = Bench::following(1);
    bench.send(1, deploy(1, 3));
    assert_eq!(bench.send(2, leader(2)), ["stop #3", "register 2", "timer"]);
    assert!(bench.send(1, leader(1)).is_empty() && bench.send(2, leader(2)).is_empty());
    assert!(bench.send(1, deploy(1, 4)).is_empty());
    assert!(bench.send(1, TaskManagerMessage::Cancel(attempt(3))).is_empty());
    assert!(bench.send(1, TaskManagerMessage::Disconnect).is_empty());
    assert_eq!(bench.send(2, deploy(2, 0)), ["start #0"], "attempts count anew in each epoch");
}

#[test]
fn the_end_of_a_zombie_of_an_older_epoch_is_not_the_new_attempts() {
    let mut bench = Bench::following(1);
    bench.send(1, deploy(1, 0));
    bench.send(2, leader(2));
    bench.send(2, deploy(2, 0));
    assert!(bench.ended(1, 0, ExecutionState::Failed).is_empty());
    assert_eq!(bench.0.running().count(), 1);
    assert_eq!(bench.ended(2, 0, ExecutionState::Failed), ["Failed #0"]);
    assert!(bench.ended(2, 0, ExecutionState::Failed).is_empty(), "told once");
}

#[test]
fn a_finished_task_speaks_for_itself() {
    let mut bench = Bench::following(1);
    bench.send(1, deploy(1, 0));
    assert!(bench.ended(1, 0, ExecutionState::Finished).is_empty());
    assert_eq!(bench.0.running().count(), 0);
}

#[test]
fn a_cancel_is_answered_also_when_nothing_runs() {
    let mut bench = Bench::following(1);
    bench.send(1, deploy(1, 0));
    assert_eq!(bench.send(1, TaskManagerMessage::Cancel(attempt(0))), ["stop #0", "Canceled #0"]);
    assert_eq!(bench.send(1, TaskManagerMessage::Cancel(attempt(0))), ["Canceled #0"]);
    assert_eq!(bench.send(1, TaskManagerMessage::Cancel(attempt(5))), ["Canceled #5"]);
    assert!(bench.send(1, deploy(1, 5)).is_empty(), "a cancelled attempt never starts");
}

#[test]
fn a_disconnected_task_manager_comes_back_with_empty_hands() {
    let mut bench = Bench::following(1);
    bench.send(1, deploy(1, 0));
    assert_eq!(bench.send(1, TaskManagerMessage::Disconnect), ["stop #0", "register 1", "timer"]);
    assert_eq!(bench.send(1, deploy(1, 1)), ["start #1"]);
}

#[test]
fn heartbeats_go_on_and_now_and_then_it_asks_who_leads() {
    let mut bench = Bench::following(1);
    let mut subscriptions = 0;
    for _ in 0..16 {
        let lines = bench.give(TaskManagerMail::Timer(Timer::Heartbeat));
        assert_eq!((lines.first().unwrap().as_str(), lines.last().unwrap().as_str()), ("heartbeat", "timer"));
        subscriptions += lines.iter().filter(|line| *line == "subscribe").count();
    }
    assert_eq!(subscriptions, 2);
}
