//! Numbers, timers and resets.

use super::*;
use crate::actor::Effect;

const CONFIG: CoordinatedConfig =
    CoordinatedConfig { operator: OperatorUid(9), event_interval_ns: 5, event_count: 3 };

fn attempt(subtask: u32, attempt: u32) -> ExecutionAttemptId {
    ExecutionAttemptId {
        vertex: OperatorUid(0),
        subtask: SubtaskIndex(subtask),
        attempt: AttemptNumber(attempt),
    }
}

fn ready(subtask: u32, number: u32) -> CoordinatorMail {
    CoordinatorMail::ExecutionAttemptReady(attempt(subtask, number))
}

fn reset(subtask: u32, restored: Option<u64>) -> CoordinatorMail {
    let subtask = attempt(subtask, 0).subtask_id();
    CoordinatorMail::SubtaskReset { subtask, restored: restored.map(CheckpointId) }
}

const TICK: CoordinatorMail = CoordinatorMail::Timer(Timer::CoordinatedEvent);

/// (subtask, number) of each event, states, and how often the timer was set.
fn told(
    coordinator: &mut EventCoordinator,
    mail: CoordinatorMail,
) -> (Vec<(u32, u64)>, Vec<Vec<u64>>, usize) {
    let mut out = Outbox::new();
    coordinator.handle(mail, &mut out);
    let (mut events, mut states, mut timers) = (Vec::new(), Vec::new(), 0);
    for effect in out.drain().filter_map(|output| output.effect) {
        match effect {
            Effect::SetTimer { timer: Timer::CoordinatedEvent, after_ns: 5 } => timers += 1,
            Effect::CancelTimer { .. } => {}
            Effect::Mail { mail: Mail::Main(MainMail::FromCoordinator { message, .. }), .. } => match message
            {
                CoordinatorToMain::SendEvent { attempt, event: OperatorEvent::Custom(bytes) } => {
                    events.push((attempt.subtask.0, decode_event_number(&bytes).unwrap()));
                }
                CoordinatorToMain::CheckpointResult { state: Ok(state), .. } => {
                    states.push(decode_event_coordinator_state(&state).unwrap());
                }
                other => panic!("unexpected {other:?}"),
            },
            other => panic!("unexpected {other:?}"),
        }
    }
    (events, states, timers)
}

fn started(parallelism: u32) -> EventCoordinator {
    let mut coordinator = EventCoordinator::new(CONFIG, parallelism);
    told(&mut coordinator, CoordinatorMail::Start { generation: 1, restored: None });
    coordinator
}

#[test]
fn numbers_rise_per_subtask_and_the_timer_rests_once_all_are_out() {
    let mut coordinator = started(2);
    assert_eq!(told(&mut coordinator, ready(0, 0)).2, 1);
    assert_eq!(told(&mut coordinator, TICK), (vec![(0, 1)], vec![], 1));
    assert_eq!(told(&mut coordinator, ready(1, 0)).2, 0, "it is set already");
    assert_eq!(told(&mut coordinator, TICK), (vec![(0, 2), (1, 1)], vec![], 1));
    assert_eq!(told(&mut coordinator, TICK).0, [(0, 3), (1, 2)]);
    assert_eq!(told(&mut coordinator, TICK), (vec![(1, 3)], vec![], 0));
    assert_eq!(told(&mut coordinator, TICK), (vec![], vec![], 0), "a stray timer");
}

#[test]
fn a_reset_continues_behind_the_restored_checkpoint() {
    let mut coordinator = started(1);
    told(&mut coordinator, ready(0, 0));
    for checkpoint in 1..=2 {
        told(&mut coordinator, TICK);
        let state = told(&mut coordinator, CoordinatorMail::Checkpoint(CheckpointId(checkpoint))).1;
        assert_eq!(state, [[checkpoint]]);
    }
    told(&mut coordinator, CoordinatorMail::NotifyCheckpointComplete(CheckpointId(1)));
    told(&mut coordinator, CoordinatorMail::NotifyCheckpointAborted(CheckpointId(2)));
    told(&mut coordinator, reset(0, Some(1)));
    assert_eq!(told(&mut coordinator, TICK), (vec![], vec![], 0), "nobody is ready");
    told(&mut coordinator, ready(0, 1));
    assert_eq!(told(&mut coordinator, TICK).0, [(0, 2)]);
    told(&mut coordinator, reset(0, None));
    told(&mut coordinator, ready(0, 2));
    assert_eq!(told(&mut coordinator, TICK).0, [(0, 1)]);
}

#[test]
fn a_restored_coordinator_knows_its_checkpoint() {
    let mut coordinator = started(1);
    told(&mut coordinator, ready(0, 0));
    let state = encode_versioned(&vec![2u64]);
    let restored = Some((CheckpointId(4), state));
    told(&mut coordinator, CoordinatorMail::Start { generation: 2, restored });
    told(&mut coordinator, ready(0, 1));
    assert_eq!(told(&mut coordinator, TICK).0, [(0, 3)]);
    told(&mut coordinator, reset(0, Some(4)));
    told(&mut coordinator, ready(0, 2));
    assert_eq!(told(&mut coordinator, TICK).0, [(0, 3)]);
}
