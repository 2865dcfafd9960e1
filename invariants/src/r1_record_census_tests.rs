use super::*;
use crate::testing::{History, attempt, contents, name, position, range, setup};

fn judge(history: &History) -> Result<(), Violation> {
    let mut checker = RecordCensus::new(&setup());
    history.events().iter().try_for_each(|event| checker.observe(event))
}

fn found(history: &History) -> Subject {
    let violation = judge(history).expect_err("the census must find it");
    assert_eq!(violation.code, Code::R1);
    violation.subject
}

/// One split of ten records; 7 is filtered.
fn started() -> History {
    let mut history = History::new();
    history.coordinator(EventKind::SplitsDiscovered { splits: vec![position(0, 0, 10)] });
    history
}

fn filter(history: &mut History, start: u64, end: u64) {
    history.task(0, attempt(0, 0), EventKind::RecordsFiltered { range: range(0, start, end) });
}

fn checkpoint(history: &mut History, number: u64, contents: CheckpointContents) {
    let checkpoint = CheckpointId(number);
    history.coordinator(EventKind::EnumeratorSnapshotTaken { checkpoint, pending: Vec::new() });
    history.completed(number, contents);
}

fn committable(number: u64, start: u64, end: u64) -> (TransactionName, RecordRanges) {
    (name(0, number), [range(0, start, end)].into_iter().collect())
}

#[test]
fn each_record_has_one_carrier() {
    let mut history = started();
    checkpoint(&mut history, 1, contents(&[(0, 0, 10)], &[], &[]));
    checkpoint(&mut history, 2, contents(&[], &[(0, 0, 4, 10)], &[committable(1, 0, 4)]));
    // The commit shows, and the committer has not had its answer: that is still one carrier.
    history.store(History::visible(name(0, 1), attempt(0, 0), &[range(0, 0, 4)]));
    filter(&mut history, 7, 8);
    let mut third = contents(&[], &[(0, 0, 8, 10)], &[committable(1, 0, 4), committable(2, 4, 6)]);
    third.writers.push((attempt(0, 0).subtask_id(), name(0, 3), [range(0, 6, 7)].into_iter().collect()));
    checkpoint(&mut history, 3, third);
    // In no state: it is read to its end.
    let rest = [committable(2, 4, 6), committable(3, 6, 7), committable(4, 8, 10)];
    checkpoint(&mut history, 4, contents(&[], &[], &rest));
    assert_eq!(judge(&history), Ok(()));
}

#[test]
fn an_older_commit_may_show_before_or_after_the_completion() {
    for shows_first in [true, false] {
        let mut history = started();
        let visible = History::visible(name(0, 1), attempt(0, 0), &[range(0, 0, 4)]);
        if shows_first {
            history.store(visible.clone());
        }
        checkpoint(
            &mut history,
            2,
            contents(&[], &[(0, 0, 6, 10)], &[committable(1, 0, 4), committable(2, 4, 6)]),
        );
        if !shows_first {
            history.store(visible);
        }
        assert_eq!(judge(&history), Ok(()));
    }
}

#[test]
fn a_record_without_a_carrier_is_named() {
    let mut history = started();
    checkpoint(&mut history, 1, contents(&[], &[(0, 0, 5, 10)], &[committable(1, 0, 3)]));
    let violation = judge(&history).unwrap_err();
    assert_eq!(
        violation.to_string(),
        "R1 record census: chk 1 restores split-0 at 5, and nothing carries split-0[3..4]"
    );
    let mut lost = started();
    checkpoint(&mut lost, 1, contents(&[], &[], &[]));
    assert_eq!(found(&lost), Subject::Records(range(0, 0, 10)));
}

#[test]
fn a_carrier_above_the_position_would_be_read_again() {
    let mut history = started();
    checkpoint(&mut history, 1, contents(&[], &[(0, 0, 3, 10)], &[committable(1, 0, 5)]));
    assert_eq!(found(&history), Subject::Records(range(0, 3, 5)));
    let mut visible = started();
    visible.store(History::visible(name(0, 1), attempt(0, 0), &[range(0, 0, 5)]));
    checkpoint(&mut visible, 1, contents(&[(0, 0, 10)], &[], &[]));
    assert_eq!(found(&visible), Subject::Records(range(0, 0, 5)));
}

#[test]
fn two_carriers_are_one_too_many() {
    let mut history = started();
    checkpoint(
        &mut history,
        1,
        contents(&[], &[(0, 0, 5, 10)], &[committable(1, 0, 3), committable(2, 2, 5)]),
    );
    assert_eq!(found(&history), Subject::Records(range(0, 2, 3)));
    let mut visible = started();
    visible.store(History::visible(name(0, 1), attempt(0, 0), &[range(0, 0, 3)]));
    checkpoint(&mut visible, 1, contents(&[], &[(0, 0, 5, 10)], &[committable(2, 2, 5)]));
    assert_eq!(found(&visible), Subject::Records(range(0, 2, 3)));
}

#[test]
fn what_is_filtered_has_no_other_carrier_and_proves_nothing_above() {
    let mut history = started();
    filter(&mut history, 7, 8);
    checkpoint(&mut history, 1, contents(&[], &[(0, 0, 5, 10)], &[committable(1, 0, 5)]));
    assert_eq!(judge(&history), Ok(()), "filtered by an execution that was rolled back");
    filter(&mut history, 7, 8);
    history.store(History::visible(name(0, 2), attempt(0, 0), &[range(0, 5, 10)]));
    assert_eq!(found(&history), Subject::Records(range(0, 7, 8)));
}

#[test]
fn records_of_a_split_that_the_checkpoint_does_not_know_are_carried_too_early() {
    let mut history = started();
    let early = (name(0, 1), [range(9, 90, 91)].into_iter().collect());
    checkpoint(&mut history, 1, contents(&[(0, 0, 10)], &[], &[early]));
    assert_eq!(found(&history), Subject::Records(range(9, 90, 91)));
}
