//! The measured sequences (FACTS 11 to 17), and a model that keeps one flat list of blocked events.

use super::*;
use proptest::prelude::*;

fn gateway() -> SubtaskGateway {
    SubtaskGateway::new(ExecutionAttemptId::default())
}

fn chk(id: u64) -> CheckpointId {
    CheckpointId(id)
}

fn block(gateway: &mut SubtaskGateway, id: u64) {
    gateway.block(OperatorEventId(id), OperatorEvent::NoMoreSplits);
}

fn opened(gateway: &mut SubtaskGateway, checkpoint: u64) -> Option<Vec<u64>> {
    Some(gateway.open(chk(checkpoint)).ok()??.into_iter().map(|(id, _)| id.0).collect())
}

fn closed_for(ids: &[u64]) -> SubtaskGateway {
    let mut gateway = gateway();
    for id in ids {
        gateway.mark(chk(*id)).unwrap();
        assert!(gateway.close(chk(*id)));
    }
    gateway
}

#[test]
fn fact_9_a_marked_gateway_lets_events_through() {
    let mut gateway = gateway();
    gateway.mark(chk(1)).unwrap();
    assert_eq!(gateway.passage(), Passage::Open);
    assert!(gateway.close(chk(1)));
    assert_eq!(gateway.passage(), Passage::BlockedBehind(chk(1)));
}

#[test]
fn fact_11_a_new_event_goes_behind_the_highest_closed_checkpoint() {
    let mut gateway = closed_for(&[1, 2]);
    block(&mut gateway, 5);
    assert_eq!(gateway.passage(), Passage::BlockedBehind(chk(2)));
    assert_eq!(opened(&mut gateway, 1), Some(vec![]), "it is not behind 1");
    assert_eq!(opened(&mut gateway, 2), Some(vec![5]));
}

#[test]
fn fact_13_opening_a_higher_one_first_sends_nothing_until_the_lower_opens() {
    let mut gateway = closed_for(&[1]);
    block(&mut gateway, 1);
    gateway.mark(chk(2)).unwrap();
    gateway.close(chk(2));
    block(&mut gateway, 2);
    assert_eq!(opened(&mut gateway, 2), Some(vec![]));
    assert_eq!(gateway.passage(), Passage::BlockedBehind(chk(1)));
    assert_eq!(opened(&mut gateway, 1), Some(vec![1, 2]));
}

#[test]
fn fact_14_late_and_repeated_openings_do_nothing() {
    let mut gateway = closed_for(&[1]);
    assert_eq!(opened(&mut gateway, 1), Some(vec![]));
    assert_eq!(opened(&mut gateway, 1), None);
    let unseen = UnseenCheckpoint { latest: Some(chk(1)), checkpoint: chk(9) };
    assert_eq!(gateway.open(chk(9)), Err(unseen));
}

#[test]
fn fact_15_marks_rise() {
    let mut gateway = gateway();
    gateway.mark(chk(2)).unwrap();
    let error = gateway.mark(chk(2)).unwrap_err();
    assert_eq!(error, RegressingCheckpoint { latest: chk(2), checkpoint: chk(2) });
    assert!(gateway.mark(chk(1)).is_err() && gateway.mark(chk(3)).is_ok());
}

#[test]
fn fact_15_a_batch_job_marks_the_same_again() {
    let mut gateway = closed_for(&[3]);
    for _ in 0..2 {
        gateway.mark(CheckpointId::BATCH).unwrap();
        assert!(gateway.close(CheckpointId::BATCH));
    }
    block(&mut gateway, 1);
    assert_eq!(opened(&mut gateway, 0), Some(vec![]));
    assert_eq!(gateway.closed().collect::<Vec<_>>(), [(chk(3), 1)]);
}

#[test]
fn fact_30_opening_for_all_lets_everything_out_in_order() {
    let mut gateway = closed_for(&[1]);
    block(&mut gateway, 1);
    gateway.mark(chk(2)).unwrap();
    gateway.close(chk(2));
    block(&mut gateway, 2);
    assert_eq!(gateway.open_all().len(), 2);
    assert_eq!((gateway.marked().count(), gateway.latest_marked()), (0, Some(chk(2))));
}

#[test]
fn fact_16_an_abort_before_the_close_leaves_nothing_closed() {
    let mut gateway = gateway();
    gateway.mark(chk(1)).unwrap();
    assert_eq!(opened(&mut gateway, 1), None, "it was never closed");
    assert!(!gateway.close(chk(1)));
    assert_eq!(gateway.passage(), Passage::Open);
}

#[test]
fn fact_17_closes_may_come_out_of_order() {
    let mut gateway = gateway();
    gateway.mark(chk(1)).unwrap();
    gateway.mark(chk(2)).unwrap();
    assert!(gateway.close(chk(2)));
    block(&mut gateway, 1);
    assert!(gateway.close(chk(1)));
    block(&mut gateway, 2);
    assert_eq!(opened(&mut gateway, 1), Some(vec![]));
    assert_eq!(opened(&mut gateway, 2), Some(vec![1, 2]));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Mark,
    Close(u64),
    Send,
    Open(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Mark),
        3 => (1u64..6).prop_map(Step::Close),
        4 => Just(Step::Send),
        3 => (1u64..6).prop_map(Step::Open),
    ]
}

/// One list of (checkpoint that holds it, event) in the order in which they were sent.
#[derive(Default)]
struct Model {
    marked: Vec<u64>,
    closed: Vec<u64>,
    held: Vec<(u64, u64)>,
}

impl Model {
    fn open(&mut self, checkpoint: u64) -> Option<Vec<u64>> {
        self.marked.retain(|id| *id != checkpoint);
        if !self.closed.contains(&checkpoint) {
            return None;
        }
        self.closed.retain(|id| *id != checkpoint);
        let lower = self.closed.iter().copied().filter(|id| *id < checkpoint).max();
        let mut out = Vec::new();
        for entry in self.held.iter_mut().filter(|entry| entry.0 == checkpoint) {
            match lower {
                Some(lower) => entry.0 = lower,
                None => out.push(entry.1),
            }
        }
        self.held.retain(|entry| !out.contains(&entry.1));
        Some(out)
    }
}

proptest! {
    #[test]
    fn agrees_with_one_flat_list_and_keeps_every_event(steps in prop::collection::vec(step(), 0..60)) {
        let (mut gateway, mut model) = (gateway(), Model::default());
        let (mut next_mark, mut next_event, mut through) = (1, 0, 0usize);
        for step in steps {
            match step {
                Step::Mark => {
                    gateway.mark(chk(next_mark)).unwrap();
                    model.marked.push(next_mark);
                    next_mark += 1;
                }
                Step::Close(id) => {
                    // Lists take events in rising order only when closes come in order, as coordinators' snapshots do.
                    if model.closed.iter().any(|closed| *closed > id) {
                        continue;
                    }
                    let marked = model.marked.contains(&id);
                    prop_assert_eq!(gateway.close(chk(id)), marked);
                    if marked && !model.closed.contains(&id) {
                        model.closed.push(id);
                    }
                }
                Step::Send => {
                    let expected = model.closed.iter().copied().max();
                    match gateway.passage() {
                        Passage::Open => prop_assert_eq!(expected, None),
                        Passage::BlockedBehind(id) => {
                            prop_assert_eq!(expected, Some(id.0));
                            block(&mut gateway, next_event);
                            model.held.push((id.0, next_event));
                        }
                    }
                    through += usize::from(expected.is_none());
                    next_event += 1;
                }
                Step::Open(id) => {
                    let out = model.open(id);
                    through += out.as_ref().map_or(0, Vec::len);
                    prop_assert_eq!(opened(&mut gateway, id), out);
                }
            }
            prop_assert_eq!(gateway.blocked_events().count() + through, next_event as usize, "none is lost");
        }
    }
}
