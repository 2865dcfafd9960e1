//! Rows of a task's thread: READER, MAP, WRITER, COMMIT.

use super::{Label, Line, ThreadNames, Weight, checkpoint_or_none, positions, subtask_name, watermark};
use splitrace_runtime::config::FailureMoment;
use splitrace_runtime::event::{CommitOutcome, EventKind};
use splitrace_runtime::ids::{ExecutionAttemptId, FetcherNumber};
use splitrace_runtime::records::RecordRanges;
use splitrace_runtime::topology::OperatorKind;

/// The row of an event that a fetcher's thread emitted.
pub(super) fn fetcher_row(
    kind: &EventKind,
    task: ExecutionAttemptId,
    fetcher: FetcherNumber,
    threads: &ThreadNames,
) -> Option<Line> {
    let (said, weight) = match kind {
        EventKind::BatchFetched { records } => (format!("fetched {records} records"), Weight::Detail),
        EventKind::BatchHandedOver { queued } => {
            (format!("hands its batch over (queued={queued})"), Weight::Detail)
        }
        EventKind::FetcherEnded { cause: None } => ("ends".to_owned(), Weight::Step),
        EventKind::FetcherEnded { cause: Some(cause) } => (format!("!!! fails: {cause}"), Weight::Turn),
        _ => return None,
    };
    let text = format!("{} {fetcher} {said}", subtask_name(task.subtask));
    Line::new(Label::Reader, threads.of(task.vertex), text, weight)
}

/// The row of an event that a task emitted.
pub(super) fn task_row(
    kind: &EventKind,
    attempt: ExecutionAttemptId,
    pull: bool,
    threads: &ThreadNames,
) -> Option<Line> {
    if let EventKind::UserFailure { moment, record } = kind {
        let (label, moment) = failure_moment(*moment);
        let reader = subtask_name(attempt.subtask);
        let text = match kind {
            EventKind::UserFailure { moment: FailureMoment::ReaderSnapshot, .. } => {
                format!("!!! injected failure in snapshotState({record}) ({reader})")
            }
            EventKind::UserFailure { moment: FailureMoment::CheckpointCompleted, .. } => {
                format!("!!! injected failure after checkpoint {record} completed ({reader})")
            }
            _ => format!("!!! injected failure at record {record}{moment} ({reader})"),
        };
        return Line::new(label, threads.of(attempt.vertex), text, Weight::Turn);
    }
    if matches!(kind, EventKind::EndOfInput)
        && let Some(label) = end_without_writer(threads.operators(attempt.vertex))
    {
        let text = format!("{} has read everything", subtask_name(attempt.subtask));
        return Line::new(label, threads.of(attempt.vertex), text, Weight::Step);
    }
    let (label, said, weight) = reader_says(kind, pull)
        .or_else(|| writer_says(kind))
        .or_else(|| committer_says(kind))
        .or_else(|| task_says(kind))?;
    let text = format!("{} {said}", subtask_name(attempt.subtask));
    Line::new(label, threads.of(attempt.vertex), text, weight)
}

/// Whose input ends in a chain without a writer, which would be flushed.
fn end_without_writer(operators: &[OperatorKind]) -> Option<Label> {
    match operators.first()? {
        _ if operators.contains(&OperatorKind::Writer) => None,
        OperatorKind::Source => Some(Label::Reader),
        _ => Some(Label::Commit),
    }
}

type Said = Option<(Label, String, Weight)>;

fn reader_says(kind: &EventKind, pull: bool) -> Said {
    let request = if pull { " -> sendSplitRequest" } else { "" };
    let (said, weight) = match kind {
        EventKind::ReaderStarted { splits } if splits.is_empty() && pull => {
            (format!("start{request}"), Weight::Step)
        }
        EventKind::ReaderStarted { splits } => {
            (format!("start (holding {})", positions(splits)), Weight::Step)
        }
        EventKind::SplitRestored { split } => (format!("addSplits[{split}] (restored)"), Weight::Step),
        EventKind::SplitAdded { split } => (format!("addSplits[{split}]"), Weight::Step),
        EventKind::SplitFinished { split } => (format!("finished {split}{request}"), Weight::Step),
        EventKind::AbortNoticed { checkpoint, .. } => {
            (format!("notifyCheckpointAborted({})", checkpoint.0), Weight::Step)
        }
        EventKind::SplitsPaused { paused, resumed } => {
            let said = [("pauses", paused), ("resumes", resumed)].map(|(does, splits)| {
                let splits: Vec<String> = splits.iter().map(ToString::to_string).collect();
                if splits.is_empty() { String::new() } else { format!("{does} {}", splits.join(", ")) }
            });
            (said.join(" ").trim().to_owned(), Weight::Step)
        }
        EventKind::AlignmentWaitBegan { watermark_ms, allowed_ms } => (
            format!(
                "at {} waits for the others (up to {})",
                watermark(*watermark_ms),
                watermark(*allowed_ms)
            ),
            Weight::Step,
        ),
        EventKind::AlignmentWaitEnded { allowed_ms } => {
            (format!("goes on (up to {})", watermark(*allowed_ms)), Weight::Step)
        }
        EventKind::NoMoreSplitsNoticed => ("notifyNoMoreSplits".to_owned(), Weight::Step),
        EventKind::ReaderSnapshotTaken { checkpoint, splits } => {
            (format!("snapshotState({checkpoint}) = {}", positions(splits)), Weight::Step)
        }
        EventKind::FetcherStarted { fetcher } => (format!("starts {fetcher}"), Weight::Step),
        EventKind::BatchTaken { queued } => (format!("takes a batch (queued={queued})"), Weight::Detail),
        EventKind::OperatorEventHandled { id, .. } => (format!("handles {id}"), Weight::Detail),
        EventKind::RecordsEmitted { range } => (format!("emits {range}"), Weight::Detail),
        _ => return None,
    };
    Some((Label::Reader, said, weight))
}

fn writer_says(kind: &EventKind) -> Said {
    let (said, weight) = match kind {
        EventKind::WriterCreated { restored } => {
            (format!("createWriter (restoredCheckpointId={})", checkpoint_or_none(*restored)), Weight::Step)
        }
        EventKind::TransactionPrepared { transaction, records, .. } if records.is_empty() => {
            (format!("prepareCommit -> nothing ({transaction})"), Weight::Step)
        }
        EventKind::TransactionPrepared { transaction, records, .. } => {
            (format!("prepareCommit -> {transaction} {}", counted(records)), Weight::Step)
        }
        EventKind::EndOfInput => ("flush(endOfInput=true)".to_owned(), Weight::Step),
        EventKind::RecordsWritten { transaction, range } => {
            (format!("writes {range} into {transaction}"), Weight::Detail)
        }
        _ => return None,
    };
    Some((Label::Writer, said, weight))
}

fn committer_says(kind: &EventKind) -> Said {
    let (said, weight) = match kind {
        EventKind::CommitterCreated { restored } => (
            format!("createCommitter (restoredCheckpointId={})", checkpoint_or_none(*restored)),
            Weight::Step,
        ),
        EventKind::CommitRequested { transaction, records, retries, recommit } => {
            let again = if *recommit { ", from the restored checkpoint" } else { "" };
            (format!("{transaction} {} (retries={retries}{again})", counted(records)), Weight::Step)
        }
        EventKind::CommitAnswered { transaction, outcome } => return Some(answered(transaction, *outcome)),
        EventKind::CommitRetried { transaction, retries } => {
            (format!("{transaction} is tried again (getNumberOfRetries={retries})"), Weight::Step)
        }
        EventKind::CommitsSettled { checkpoint } => (format!("done with {checkpoint}"), Weight::Detail),
        EventKind::CompletionNoticed { checkpoint, .. } => {
            (format!("notifyCheckpointComplete({})", checkpoint.0), Weight::Detail)
        }
        _ => return None,
    };
    Some((Label::Commit, said, weight))
}

/// How many pieces of a transaction are shown one by one: what an exchange deals out is in many.
const PIECES_SHOWN_MAX: usize = 4;

/// `n=80 [40..119]`.
fn counted(records: &RecordRanges) -> String {
    let (count, pieces) = (records.len(), records.ranges());
    match (pieces.first(), pieces.last()) {
        (Some(first), Some(last)) if pieces.len() > PIECES_SHOWN_MAX => {
            format!("n={count} [{}..{}] in {} pieces", first.start, last.end - 1, pieces.len())
        }
        _ => format!("n={count} {records}"),
    }
}

fn answered(transaction: &impl std::fmt::Display, outcome: CommitOutcome) -> (Label, String, Weight) {
    let (said, weight) = match outcome {
        CommitOutcome::Committed => ("committed", Weight::Detail),
        CommitOutcome::AlreadyCommitted => ("already committed -> signalAlreadyCommitted", Weight::Step),
        CommitOutcome::Maybe => ("has had no answer: maybe committed", Weight::Step),
        CommitOutcome::RetryLater => ("refused for now -> retryLater", Weight::Step),
        CommitOutcome::Failed => ("cannot be committed", Weight::Turn),
    };
    (Label::Commit, format!("{transaction} {said}"), weight)
}

fn task_says(kind: &EventKind) -> Said {
    Some(match kind {
        EventKind::RecordsFiltered { range } => (Label::Map, format!("drops {range}"), Weight::Detail),
        EventKind::BarrierHandled { checkpoint } => {
            (Label::Map, format!("takes the barrier of {checkpoint}"), Weight::Detail)
        }
        EventKind::TaskEnded { state, cause } => {
            let cause = cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
            (Label::Map, format!("switched to {state:?}{cause}"), Weight::Step)
        }
        _ => return None,
    })
}

const fn failure_moment(moment: FailureMoment) -> (Label, &'static str) {
    match moment {
        FailureMoment::Read => (Label::Map, ""),
        FailureMoment::Write => (Label::Writer, ", after the writer took it"),
        FailureMoment::Prepared => (Label::Writer, ", after prepareCommit"),
        FailureMoment::Snapshot => (Label::Writer, ", after the snapshot was acknowledged"),
        FailureMoment::Committing => (Label::Commit, ", after the store committed it"),
        FailureMoment::ReaderSnapshot => (Label::Reader, ""),
        FailureMoment::CheckpointPending => (Label::Map, " with the checkpoint pending"),
        FailureMoment::CheckpointCompleted => (Label::Map, ""),
    }
}
