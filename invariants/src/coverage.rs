//! What a run really exercised, so that nothing passes because it never happened.
//!
//! Counting an event is one array access; names come in only when a summary is asked for.

mod recovery;
mod windows;

use crate::kinds::{self, Kind, KindSet};
use crate::table::Table;
use recovery::Recovery;
use serde::{Deserialize, Serialize};
use splitrace_runtime::config::FailureMoment;
use splitrace_runtime::event::{Event, EventKind, FaultKind, Window};
use splitrace_runtime::ids::{ActorId, OperatorUid, ProcessId};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
pub use windows::WindowFaults;

/// Counts of one run.
#[derive(Clone, Debug)]
pub struct Coverage {
    kinds: [u64; kinds::COUNT],
    windows_entered: [u64; Window::ALL.len()],
    window_faults: WindowFaults,
    faults: [u64; FaultKind::ALL.len()],
    job_manager_losses: u64,
    recovery: Recovery,
    split_ends: Table<Option<u64>>,
    split_end_windows: u64,
    coordinators: BTreeSet<OperatorUid>,
    user_failures: BTreeMap<FailureMoment, u64>,
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
            windows_entered: [0; Window::ALL.len()],
            window_faults: WindowFaults::default(),
            faults: [0; FaultKind::ALL.len()],
            job_manager_losses: 0,
            recovery: Recovery::default(),
            split_ends: Table::default(),
            split_end_windows: 0,
            coordinators: BTreeSet::new(),
            user_failures: BTreeMap::new(),
        }
    }

    /// Takes the next event; answers the window that it opens.
    pub fn observe(&mut self, event: &Event) -> Option<Window> {
        let number = Kind::of(&event.kind) as usize;
        self.kinds[number] += 1;
        if let EventKind::RecordsEmitted { range } = &event.kind {
            let end = self.split_ends.split(range.split).copied().flatten();
            let ends = end == Some(range.end);
            self.split_end_windows += u64::from(ends);
            return ends.then_some(Window::SplitEndToFinish);
        }
        if READS.holds(number) { self.read(event) } else { None }
    }

    fn read(&mut self, event: &Event) -> Option<Window> {
        self.recovery.observe(event);
        let opened = windows::opened(&event.kind);
        if let Some(window) = opened {
            self.windows_entered[window as usize] += 1;
        }
        match &event.kind {
            EventKind::SplitsDiscovered { splits } => {
                for split in splits {
                    *self.split_ends.split_mut(split.split) = Some(split.end);
                }
            }
            EventKind::FaultInjected { fault, window } => {
                self.faults[*fault as usize] += 1;
                if let Some(window) = window {
                    self.window_faults.observe(*fault, *window);
                }
            }
            EventKind::UserFailure { moment, .. } => *self.user_failures.entry(*moment).or_default() += 1,
            EventKind::CoordinatorNotified { .. } => {
                if let ActorId::SourceCoordinator(operator) = event.header.actor {
                    self.coordinators.insert(operator);
                }
            }
            EventKind::ProcessCrashed { address } if address.process == ProcessId::JobManager => {
                self.job_manager_losses += 1;
            }
            _ => {}
        }
        opened
    }

    /// How many events it took.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.kinds.iter().sum()
    }

    /// The summary.
    #[must_use]
    pub fn exercised(&self) -> Exercised {
        let counted = |kind: Kind| self.kinds[kind as usize];
        let mut windows_entered = self.windows_entered;
        windows_entered[Window::SplitEndToFinish as usize] += self.split_end_windows;
        let names = kinds::BY_NAME.iter().map(|number| Cow::Borrowed(kinds::NAMES[*number]));
        Exercised {
            runs: 1,
            events: self.events(),
            kinds: above_zero(names, kinds::BY_NAME.map(|number| self.kinds[number])),
            windows_entered: above_zero(Window::ALL, windows_entered),
            window_faults: self.window_faults.clone(),
            faults: above_zero(FaultKind::ALL, self.faults),
            failovers: counted(Kind::FailoverStarted) + counted(Kind::LeaderGranted).saturating_sub(1),
            second_failures_in_recovery: self.recovery.second_failures(),
            third_failures_in_recovery: self.recovery.third_failures(),
            job_manager_losses: self.job_manager_losses,
            leader_terms_ended: counted(Kind::LeaderTermEnded),
            checkpoints_completed: counted(Kind::CheckpointCompleted),
            checkpoints_aborted: counted(Kind::CheckpointAborted),
            user_failures: self.user_failures.clone(),
            runs_with_two_coordinators: u64::from(self.coordinators.len() >= 2),
        }
    }
}

/// The kinds that are more than counted; the end of a split comes beside, see `observe`.
const READS: KindSet = Recovery::READS.with(KindSet::of(&[
    Kind::GatewaysMarked,
    Kind::GatewaysClosed,
    Kind::BarrierHandled,
    Kind::CheckpointAcknowledged,
    Kind::CheckpointCompleted,
    Kind::CompletionNoticed,
    Kind::BecameVisible,
    Kind::TransactionPrepared,
    Kind::TaskStateChanged,
    Kind::SplitsGivenBack,
    Kind::ReaderRegistered,
    Kind::EndOfInput,
    Kind::SplitsDiscovered,
    Kind::FaultInjected,
    Kind::ProcessCrashed,
    Kind::UserFailure,
    Kind::CoordinatorNotified,
]));

/// The counts that are not zero, by what is counted.
fn above_zero<K: Ord>(
    keys: impl IntoIterator<Item = K>,
    counts: impl IntoIterator<Item = u64>,
) -> BTreeMap<K, u64> {
    keys.into_iter().zip(counts).filter(|(_, count)| *count > 0).collect()
}

/// What one run, or many, exercised.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Exercised {
    /// How many runs.
    pub runs: u64,
    /// How many events.
    pub events: u64,
    /// Events by kind; kinds that never came are left out.
    pub kinds: BTreeMap<Cow<'static, str>, u64>,
    /// How often each window opened.
    pub windows_entered: BTreeMap<Window, u64>,
    /// What was done inside each window.
    pub window_faults: WindowFaults,
    /// Faults by kind.
    pub faults: BTreeMap<FaultKind, u64>,
    /// How many failovers began; a new leader taking over counts as one.
    pub failovers: u64,
    /// Failures and crashes that came while an earlier one was not recovered from.
    pub second_failures_in_recovery: u64,
    /// Those of them that were at least the third of their recovery.
    #[serde(default)]
    pub third_failures_in_recovery: u64,
    /// How many job managers died.
    pub job_manager_losses: u64,
    /// How many leaders gave up.
    pub leader_terms_ended: u64,
    /// How many checkpoints completed.
    pub checkpoints_completed: u64,
    /// How many checkpoints were given up.
    pub checkpoints_aborted: u64,
    /// How often user code threw at each moment.
    pub user_failures: BTreeMap<FailureMoment, u64>,
    /// In how many runs at least two coordinators were told of checkpoints.
    pub runs_with_two_coordinators: u64,
}

impl Exercised {
    /// Adds what `other` exercised. The order of merges does not matter.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.events += other.events;
        merge_counts(&mut self.kinds, &other.kinds);
        merge_counts(&mut self.windows_entered, &other.windows_entered);
        self.window_faults.merge(&other.window_faults);
        merge_counts(&mut self.faults, &other.faults);
        self.failovers += other.failovers;
        self.second_failures_in_recovery += other.second_failures_in_recovery;
        self.third_failures_in_recovery += other.third_failures_in_recovery;
        self.job_manager_losses += other.job_manager_losses;
        self.leader_terms_ended += other.leader_terms_ended;
        self.checkpoints_completed += other.checkpoints_completed;
        self.checkpoints_aborted += other.checkpoints_aborted;
        merge_counts(&mut self.user_failures, &other.user_failures);
        self.runs_with_two_coordinators += other.runs_with_two_coordinators;
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
    use crate::testing::{History, attempt, every_kind, good_history, position, range};
    use splitrace_runtime::ids::{Incarnation, ProcessAddress};

    fn cover(events: &[Event]) -> Exercised {
        let mut coverage = Coverage::new();
        for event in events {
            coverage.observe(event);
        }
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
    fn what_is_read_is_all_that_counts_for_more() {
        let mut coverage = Coverage::new();
        for event in every_kind().events() {
            if event.kind.name() != "RecordsEmitted" && !READS.contains(&event.kind) {
                coverage.read(event);
            }
        }
        assert_eq!(
            coverage.exercised(),
            Exercised { runs: 1, ..Exercised::default() },
            "what stands outside the set changed a count"
        );
    }

    #[test]
    fn numbers_are_places_in_the_tables() {
        assert!(Window::ALL.iter().enumerate().all(|(at, window)| *window as usize == at));
        assert!(FaultKind::ALL.iter().enumerate().all(|(at, fault)| *fault as usize == at));
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
        let delay = FaultKind::DelaySpike;
        history.world(EventKind::FaultInjected { fault: delay, window: Some(Window::MarkToClose) });
        history.world(EventKind::ProcessCrashed {
            address: ProcessAddress { process, incarnation: Incarnation(0) },
        });
        let mut exercised = cover(history.events());
        let faults = exercised.window_faults.clone();
        assert_eq!((exercised.job_manager_losses, faults.crashes[&Window::AddToNotice]), (1, 1));
        assert_eq!(faults.delays, BTreeMap::from([(Window::MarkToClose, 1)]));
        assert!(faults.failures.is_empty());
        exercised.merge(&exercised.clone());
        assert_eq!((exercised.runs, exercised.faults[&FaultKind::JobManagerCrash]), (2, 2));
    }
}
