//! The windows of the protocol: which event opens which, and what was done inside them.
//!
//! This is the one table. The world asks it where a fault may be aimed, so what is hit and what is counted agree.

use serde::{Deserialize, Serialize};
use splitrace_runtime::event::{EventKind, FaultKind, Window};
use splitrace_runtime::message::ExecutionState;
use std::collections::BTreeMap;

/// The window that an event opens. The end of a split is told by a number, not by a kind: the caller knows the splits.
pub(super) const fn opened(kind: &EventKind) -> Option<Window> {
    Some(match kind {
        EventKind::GatewaysMarked { .. } => Window::MarkToClose,
        EventKind::GatewaysClosed { .. } => Window::CloseToBarrier,
        EventKind::BarrierHandled { .. } => Window::BarrierToAcknowledge,
        EventKind::CheckpointAcknowledged { last: true, .. } => Window::LastAcknowledgeToAdd,
        EventKind::CheckpointCompleted { .. } => Window::AddToNotice,
        EventKind::CompletionNoticed { .. } => Window::NoticeToCommit,
        EventKind::BecameVisible { .. } => Window::CommitEffectToReply,
        // The last batch is prepared at the end of the input; no snapshot follows it.
        EventKind::TransactionPrepared { end_of_input: false, .. } => Window::PrepareToSnapshot,
        EventKind::TaskStateChanged { state: ExecutionState::Failed, .. } => Window::FailureToReset,
        EventKind::SplitsGivenBack { .. } => Window::ResetToRegistration,
        EventKind::ReaderRegistered { .. } => Window::RegistrationToAssignment,
        EventKind::EndOfInput => Window::EndOfInputToResult,
        _ => return None,
    })
}

/// What was done inside the windows, each kind of harm apart.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WindowFaults {
    /// How often a task threw inside each window.
    pub failures: BTreeMap<Window, u64>,
    /// How often a process died inside each window.
    pub crashes: BTreeMap<Window, u64>,
    /// How often something stood still or was held up inside each window.
    pub delays: BTreeMap<Window, u64>,
}

impl WindowFaults {
    pub(super) fn observe(&mut self, fault: FaultKind, window: Window) {
        let counts = match fault {
            FaultKind::TaskFailure => &mut self.failures,
            FaultKind::TaskManagerCrash | FaultKind::JobManagerCrash => &mut self.crashes,
            FaultKind::ThreadPause | FaultKind::DelaySpike => &mut self.delays,
            other => unreachable!("{other:?} is not aimed at windows"),
        };
        *counts.entry(window).or_default() += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        super::merge_counts(&mut self.failures, &other.failures);
        super::merge_counts(&mut self.crashes, &other.crashes);
        super::merge_counts(&mut self.delays, &other.delays);
    }
}
