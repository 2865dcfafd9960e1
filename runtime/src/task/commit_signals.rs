//! What a committer's signals and the store's answers mean for a request.

use super::committable_collector::CollectedRequest;
use super::task_error::TaskError;
use crate::api::sink::{CommitRequestState, CommitSignal, StoreAnswer};
use crate::api::table_io::TableAnswer;
use crate::defects::{Defect, DefectSet};
use crate::event::CommitOutcome;
use crate::ids::TransactionName;

/// Takes a signal to heart.
///
/// # Errors
/// When nobody knows why it failed (FACT 74), or it can never be committed: Flink drops that in silence (FACT 73).
pub(super) fn heed(
    request: &mut CollectedRequest,
    signal: CommitSignal,
    defects: DefectSet,
) -> Result<(), TaskError> {
    request.signalled(&signal);
    let transaction = request.committable.payload.transaction;
    match signal {
        CommitSignal::Committed | CommitSignal::AlreadyCommitted => {}
        CommitSignal::RetryLater => heed_retry_later(request, defects),
        CommitSignal::FailedWithKnownReason(cause) => heed_known_reason(transaction, cause, defects)?,
        CommitSignal::FailedWithUnknownReason(cause) => heed_unknown_reason(transaction, cause, defects)?,
    }
    Ok(())
}

const fn heed_retry_later(request: &mut CollectedRequest, defects: DefectSet) {
    if defects.has(Defect::CommitGivenUpSilently) {
        request.state = CommitRequestState::Failed;
    }
}

fn heed_known_reason(
    transaction: TransactionName,
    cause: String,
    defects: DefectSet,
) -> Result<(), TaskError> {
    let is_dropped = defects.has(Defect::KnownReasonDropped);
    if is_dropped { Ok(()) } else { Err(TaskError::CommitGivenUp { transaction, cause }) }
}

fn heed_unknown_reason(
    transaction: TransactionName,
    cause: String,
    defects: DefectSet,
) -> Result<(), TaskError> {
    let is_success = defects.has(Defect::UnknownErrorIsSuccess);
    if is_success { Ok(()) } else { Err(TaskError::CommitFailed { transaction, cause }) }
}

/// What a signal says of a commit that the store was not asked for.
pub(super) const fn outcome_signalled(signal: &CommitSignal) -> CommitOutcome {
    match signal {
        CommitSignal::Committed => CommitOutcome::Committed,
        CommitSignal::AlreadyCommitted => CommitOutcome::AlreadyCommitted,
        CommitSignal::RetryLater => CommitOutcome::RetryLater,
        CommitSignal::FailedWithKnownReason(_) | CommitSignal::FailedWithUnknownReason(_) => {
            CommitOutcome::Failed
        }
    }
}

/// What an answer says of a commit, whatever the committer makes of it; `None` where it is about something else, and only
/// the committer knows what it means for the commit.
pub(super) const fn outcome(answer: &StoreAnswer) -> Option<CommitOutcome> {
    Some(match answer {
        StoreAnswer::Done { before: false } => CommitOutcome::Committed,
        StoreAnswer::Done { before: true } => CommitOutcome::AlreadyCommitted,
        StoreAnswer::Unknown => CommitOutcome::Maybe,
        StoreAnswer::Unavailable => CommitOutcome::RetryLater,
        StoreAnswer::Table(TableAnswer::Proof(true)) => CommitOutcome::AlreadyCommitted,
        StoreAnswer::NotFound | StoreAnswer::Fenced => CommitOutcome::Failed,
        StoreAnswer::File(_) | StoreAnswer::Table(_) | StoreAnswer::Log(_) => CommitOutcome::Failed,
        StoreAnswer::Snapshots(_) => return None,
    })
}
