//! User code that throws, at each of the five moments of a record's journey.

use super::harness::*;
use crate::config::{FailureMoment, SinkKind, UserFailure};
use crate::ids::AttemptNumber;
use crate::message::*;

fn failing(moment: FailureMoment) -> TaskDescriptor {
    let mut descriptor = descriptor(SinkKind::Append);
    descriptor.config.user_failure = Some(UserFailure { record: 2, attempts_below: 1, moment });
    descriptor
}

/// What a task tells until it dies of its record 2, in a batch of four and a checkpoint.
fn death(moment: FailureMoment) -> Vec<String> {
    let mut bench = Bench::running(failing(moment), 4);
    bench.batch_size_max = 4;
    bench.read(1);
    for step in [Bench::trigger, Bench::complete] {
        if !bench.task.has_ended() {
            step(&mut bench, 1);
        }
    }
    if !bench.calls.is_empty() {
        bench.reply(StoreReply::Done);
    }
    assert!(bench.task.has_ended());
    bench.lines()
}

#[test]
fn at_read_the_writer_never_sees_the_record() {
    let expected = [
        "RecordsEmitted split-0[0..1]",
        "RecordsWritten s0-chk1 split-0[0..1]",
        "UserFailure Read 2",
        "mail to task-manager-0",
        "TaskEnded Failed",
    ];
    assert_eq!(death(FailureMoment::Read), expected);
}

#[test]
fn at_write_the_writer_has_taken_it() {
    let expected = [
        "RecordsEmitted split-0[0..2]",
        "RecordsWritten s0-chk1 split-0[0..2]",
        "UserFailure Write 2",
        "mail to task-manager-0",
        "TaskEnded Failed",
    ];
    assert_eq!(death(FailureMoment::Write), expected);
}

#[test]
fn at_prepared_nothing_is_snapshotted() {
    let lines = death(FailureMoment::Prepared);
    let at = lines.iter().position(|line| line.starts_with("TransactionPrepared")).unwrap();
    assert_eq!(lines[at + 1..], ["UserFailure Prepared 2", "mail to task-manager-0", "TaskEnded Failed"]);
}

#[test]
fn at_snapshot_the_acknowledgement_is_out() {
    let lines = death(FailureMoment::Snapshot);
    let at = lines.iter().position(|line| line.starts_with("acknowledge")).unwrap();
    assert_eq!(lines[at + 1..], ["UserFailure Snapshot 2", "mail to task-manager-0", "TaskEnded Failed"]);
}

#[test]
fn at_committing_the_store_has_done_it_and_nobody_learns_of_it() {
    let lines = death(FailureMoment::Committing);
    let at = lines.iter().position(|line| line.starts_with("CommitRequested")).unwrap();
    assert_eq!(lines[at + 1..], ["UserFailure Committing 2", "mail to task-manager-0", "TaskEnded Failed"]);
}

#[test]
fn at_snapshot_a_record_of_the_last_transaction_waits_for_the_final_checkpoint() {
    let mut bench = Bench::running(failing(FailureMoment::Snapshot), 3);
    bench.read(3);
    bench.end_input();
    assert!(!bench.task.has_ended());
    bench.trigger(1);
    assert!(bench.task.has_ended());
}

#[test]
fn a_later_attempt_does_not_fail() {
    let mut descriptor = failing(FailureMoment::Read);
    descriptor.attempt.attempt = AttemptNumber(1);
    let mut bench = Bench::running(descriptor, 4);
    bench.read(4);
    assert!(!bench.task.has_ended());
}
