//! What a run really exercised, so that nothing passes because it never happened.
//!
//! Counting an event is one array access; names come in only when a summary is asked for.

mod kinds;
mod recovery;

use crate::table::Table;
use recovery::Recovery;
use serde::{Deserialize, Serialize};
use splitrace_runtime::event::{Event, EventKind, FaultKind, Window};
use splitrace_runtime::ids::ProcessId;
use splitrace_runtime::message::ExecutionState;
use std::collections::BTreeMap;

/// Counts of one run.
#[derive(Clone, Debug)]
pub struct Coverage {
    kinds: [u64; kinds::COUNT],
    windows_entered: BTreeMap<Window, u64>,
    windows_hit: BTreeMap<Window, u64>,
    faults: BTreeMap<FaultKind, u64>,
    job_manager_losses: u64,
    recovery: Recovery,
    split_ends: Table<Option<u64>>,
    split_end_windows: u64,
}

impl Default for Coverage {
    fn default() -> Self {
        Self::new()
    }
}

impl Coverage {
    /// Counts of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            kinds: [0; kinds::COUNT],
            windows_entered: BTreeMap::new(),
            windows_hit: BTreeMap::new(),
            faults: BTreeMap::new(),
            job_manager_losses: 0,
            recovery: Recovery::default(),
            split_ends: Table::default(),
            split_end_windows: 0,
        }
    }

    /// Takes the next event.
    pub fn observe(&mut self, event: &Event) {
        self.kinds[kinds::index(&event.kind)] += 1;
        match &event.kind {
            EventKind::RecordsEmitted { range } => {
                let end = self.split_ends.split(range.split).copied().flatten();
                self.split_end_windows += u64::from(end == Some(range.end));
            }
            EventKind::RecordsWritten { .. } | EventKind::RecordsFiltered { .. } => {}
            _ => self.observe_rare(event),
        }
    }

    fn observe_rare(&mut self, event: &Event) {
        self.recovery.observe(event);
        if let Some(window) = opened(&event.kind) {
            *self.windows_entered.entry(window).or_default() += 1;
        }
        match &event.kind {
            EventKind::SplitsDiscovered { splits } => {
                for split in splits {
                    *self.split_ends.split_mut(split.split) = Some(split.end);
                }
            }
            EventKind::FaultInjected { fault, window } => {
                *self.faults.entry(*fault).or_default() += 1;
                if let Some(window) = window {
                    *self.windows_hit.entry(*window).or_default() += 1;
                }
            }
            EventKind::ProcessCrashed { address } if address.process == ProcessId::JobManager => {
                self.job_manager_losses += 1;
            }
            _ => {}
        }
    }

    /// How many events it took.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.kinds.iter().sum()
    }

    /// The summary.
    #[must_use]
    pub fn exercised(&self) -> Exercised {
        let counted =
            |name: &str| self.kinds[kinds::NAMES.iter().position(|held| *held == name).unwrap_or(0)];
        let mut windows_entered = self.windows_entered.clone();
        if self.split_end_windows > 0 {
            windows_entered.insert(Window::SplitEndToFinish, self.split_end_windows);
        }
        let kinds = kinds::NAMES.iter().zip(self.kinds).filter(|(_, count)| *count > 0);
        Exercised {
            runs: 1,
            events: self.events(),
            kinds: kinds.map(|(name, count)| ((*name).to_owned(), count)).collect(),
            windows_entered,
            windows_hit: self.windows_hit.clone(),
            faults: self.faults.clone(),
            failovers: counted("FailoverStarted") + counted("LeaderGranted").saturating_sub(1),
            second_failures_in_recovery: self.recovery.second_failures(),
            job_manager_losses: self.job_manager_losses,
            leader_terms_ended: counted("LeaderTermEnded"),
            checkpoints_completed: counted("CheckpointCompleted"),
            checkpoints_aborted: counted("CheckpointAborted"),
        }
    }
}

/// The window that an event opens. The end of a split is told by a number, not by a kind; see `observe`.
const fn opened(kind: &EventKind) -> Option<Window> {
    Some(match kind {
        EventKind::GatewaysMarked { .. } => Window::MarkToClose,
        EventKind::GatewaysClosed { .. } => Window::CloseToBarrier,
        EventKind::BarrierHandled { .. } => Window::BarrierToAcknowledge,
        EventKind::CheckpointAcknowledged { last: true, .. } => Window::LastAcknowledgeToAdd,
        EventKind::CheckpointCompleted { .. } => Window::AddToNotice,
        EventKind::CompletionNoticed { .. } => Window::NoticeToCommit,
        EventKind::BecameVisible { .. } => Window::CommitEffectToReply,
        EventKind::TransactionPrepared { end_of_input: false, .. } => Window::PrepareToSnapshot,
        EventKind::TaskStateChanged { state: ExecutionState::Failed, .. } => Window::FailureToReset,
        EventKind::SplitsGivenBack { .. } => Window::ResetToRegistration,
        EventKind::ReaderRegistered { .. } => Window::RegistrationToAssignment,
        EventKind::EndOfInput => Window::EndOfInputToResult,
        _ => return None,
    })
}

/// What one run, or many, exercised.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Exercised {
    /// How many runs.
    pub runs: u64,
    /// How many events.
    pub events: u64,
    /// Events by kind; kinds that never came are left out.
    pub kinds: BTreeMap<String, u64>,
    /// How often each window opened.
    pub windows_entered: BTreeMap<Window, u64>,
    /// How often a fault was aimed into each window.
    pub windows_hit: BTreeMap<Window, u64>,
    /// Faults by kind.
    pub faults: BTreeMap<FaultKind, u64>,
    /// How many failovers began; a new leader taking over counts as one.
    pub failovers: u64,
    /// Failures and crashes that came while an earlier one was not recovered from.
    pub second_failures_in_recovery: u64,
    /// How many job managers died.
    pub job_manager_losses: u64,
    /// How many leaders gave up.
    pub leader_terms_ended: u64,
    /// How many checkpoints completed.
    pub checkpoints_completed: u64,
    /// How many checkpoints were given up.
    pub checkpoints_aborted: u64,
}

impl Exercised {
    /// Adds what `other` exercised. The order of merges does not matter.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.events += other.events;
        merge_counts(&mut self.kinds, &other.kinds);
        merge_counts(&mut self.windows_entered, &other.windows_entered);
        merge_counts(&mut self.windows_hit, &other.windows_hit);
        merge_counts(&mut self.faults, &other.faults);
        self.failovers += other.failovers;
        self.second_failures_in_recovery += other.second_failures_in_recovery;
        self.job_manager_losses += other.job_manager_losses;
        self.leader_terms_ended += other.leader_terms_ended;
        self.checkpoints_completed += other.checkpoints_completed;
        self.checkpoints_aborted += other.checkpoints_aborted;
    }
}

fn merge_counts<K: Ord + Clone>(into: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
    for (key, count) in from {
        *into.entry(key.clone()).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{History, attempt, good_history, position, range};
    use splitrace_runtime::ids::{Incarnation, ProcessAddress};

    fn cover(events: &[Event]) -> Exercised {
        let mut coverage = Coverage::new();
        events.iter().for_each(|event| coverage.observe(event));
        coverage.exercised()
    }

    #[test]
    fn a_good_history_enters_windows_and_counts_its_kinds() {
        let history = good_history();
        let exercised = cover(history.events());
        assert_eq!(exercised.events, history.events().len() as u64);
        assert_eq!(exercised.events, exercised.kinds.values().sum::<u64>());
        assert!(exercised.windows_entered[&Window::AddToNotice] >= 2);
        assert_eq!(exercised.kinds["CheckpointCompleted"], exercised.checkpoints_completed);
    }

    #[test]
    fn the_last_record_of_a_split_opens_its_window() {
        let mut history = History::new();
        history.coordinator(EventKind::SplitsDiscovered { splits: vec![position(0, 0, 10)] });
        history.task(0, attempt(0, 0), EventKind::RecordsEmitted { range: range(0, 0, 9) });
        assert!(cover(history.events()).windows_entered.is_empty());
        history.task(0, attempt(0, 0), EventKind::RecordsEmitted { range: range(0, 9, 10) });
        assert_eq!(cover(history.events()).windows_entered[&Window::SplitEndToFinish], 1);
    }

    #[test]
    fn faults_hit_windows_and_summaries_add_up() {
        let mut history = History::new();
        let process = ProcessId::JobManager;
        history.world(EventKind::FaultInjected {
            fault: FaultKind::JobManagerCrash,
            window: Some(Window::AddToNotice),
        });
        history.world(EventKind::ProcessCrashed {
            address: ProcessAddress { process, incarnation: Incarnation(0) },
        });
        let mut exercised = cover(history.events());
        assert_eq!((exercised.job_manager_losses, exercised.windows_hit[&Window::AddToNotice]), (1, 1));
        exercised.merge(&exercised.clone());
        assert_eq!((exercised.runs, exercised.faults[&FaultKind::JobManagerCrash]), (2, 2));
    }
}
