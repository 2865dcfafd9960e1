//! What a lineage that begins at an older checkpoint leaves behind.
//!
//! A user may submit a job again from a checkpoint that is not the latest. What later checkpoints made visible is not
//! taken back, and comes a second time: once, and only that. So each name of a transaction belongs to one side: either
//! the restored checkpoint covers it (it was visible when that one completed, or is held by it), or it is left behind,
//! with its records, and is to a checker as if it had never been.
//!
//! What a leader of the job before still has made visible after the turn is left behind as well: it is told by its epoch.
//! Both the turn and the granting of leases are told in the order of the high-availability service.

use crate::checker::RunSetup;
use crate::kinds::{Kind, KindSet};
use crate::transaction_names::TransactionNames;
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{CheckpointId, LeaderEpoch, TransactionName};
use splitrace_runtime::records::{OffsetRange, RecordRanges};
use std::collections::BTreeMap;

/// Where a new lineage began.
#[derive(Clone, Debug, Hash)]
struct Turn {
    /// The last leader of the lineage before.
    last_epoch: LeaderEpoch,
    covered: TransactionNames,
}

/// What became visible under each name, so that what a new lineage leaves behind can be taken out again.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct VisibleByName(BTreeMap<TransactionName, RecordRanges>);

impl VisibleByName {
    /// Adds what became visible; costs nothing where no older checkpoint is restored.
    pub(crate) fn add(&mut self, lineage: &Lineage, name: TransactionName, records: &RecordRanges) {
        if lineage.is_watched {
            self.0.entry(name).or_default().extend(records);
        }
    }

    /// Forgets what the present lineage does not cover, and hands the rest out.
    pub(crate) fn covered(&mut self, lineage: &Lineage) -> impl Iterator<Item = OffsetRange> {
        self.0.retain(|name, _| lineage.covers(*name));
        self.0.values().flat_map(RecordRanges::ranges).copied()
    }
}

/// Which names a run's present lineage extends. Keeps nothing where the scenario restores no older checkpoint.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Lineage {
    is_watched: bool,
    epoch: LeaderEpoch,
    visible: TransactionNames,
    /// What each completed checkpoint covers.
    covered: Vec<(CheckpointId, TransactionNames)>,
    turn: Option<Turn>,
}

impl Lineage {
    /// What it reads.
    pub(crate) const READS: KindSet = KindSet::of(&[
        Kind::LeaderGranted,
        Kind::BecameVisible,
        Kind::CheckpointCompleted,
        Kind::JobSubmitted,
    ]);

    /// The first lineage of a run.
    pub(crate) fn new(setup: &RunSetup) -> Self {
        Self {
            is_watched: setup.promise.input.restores_older,
            epoch: LeaderEpoch(0),
            visible: TransactionNames::default(),
            covered: Vec::new(),
            turn: None,
        }
    }

    /// Takes note of an event; answers whether a new lineage begins with it. The checker then forgets what is not
    /// [covered](Self::covers).
    pub(crate) fn observe(&mut self, event: &Event) -> bool {
        if !self.is_watched {
            return false;
        }
        match &event.kind {
            EventKind::LeaderGranted { epoch } => self.epoch = self.epoch.max(*epoch),
            EventKind::BecameVisible { transaction, epoch, .. } => {
                if !self.leaves_behind(*transaction, *epoch) {
                    self.visible.insert(*transaction);
                }
            }
            EventKind::CheckpointCompleted { checkpoint, contents } => {
                let mut covered = self.visible.clone();
                for (_, name, _) in &contents.committables {
                    covered.insert(*name);
                }
                self.covered.push((*checkpoint, covered));
            }
            EventKind::JobSubmitted { checkpoint: Some(checkpoint), .. } => self.turn(*checkpoint),
            _ => return false,
        }
        matches!(event.kind, EventKind::JobSubmitted { checkpoint: Some(_), .. })
    }

    fn turn(&mut self, checkpoint: CheckpointId) {
        self.covered.retain(|(held, _)| *held <= checkpoint);
        let covered = self.covered.last().filter(|(held, _)| *held == checkpoint);
        // A log that does not tell of the restored checkpoint leaves nothing to go by: then all counts.
        let covered = covered.map_or_else(|| self.visible.clone(), |(_, covered)| covered.clone());
        self.visible = self.visible.common(&covered);
        self.turn = Some(Turn { last_epoch: self.epoch, covered });
    }

    /// The names that are visible in the present lineage.
    pub(crate) const fn visible(&self) -> &TransactionNames {
        &self.visible
    }

    /// Whether the checkpoint that the present lineage began with covers the name. In the first lineage it covers all.
    pub(crate) fn covers(&self, name: TransactionName) -> bool {
        self.turn.as_ref().is_none_or(|turn| turn.covered.contains(name))
    }

    /// Whether what a leader of this epoch does under the name belongs to a lineage that is over.
    pub(crate) fn leaves_behind(&self, name: TransactionName, epoch: LeaderEpoch) -> bool {
        self.turn.as_ref().is_some_and(|turn| epoch <= turn.last_epoch && !turn.covered.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{History, attempt, contents, name, range, setup};
    use splitrace_runtime::message::JobResult;

    /// chk 1 holds name 1 and chk 2 name 2; both are visible when the job is submitted again from chk 1. The second life
    /// uses name 2 for what it reads again.
    fn history() -> History {
        let mut history = History::new();
        history.availability(EventKind::LeaderGranted { epoch: LeaderEpoch(1) });
        history.completed(1, contents(&[], &[], &[(name(0, 1), [range(0, 0, 4)].into_iter().collect())]));
        history.store(visible(1, 1));
        history.completed(2, contents(&[], &[], &[(name(0, 2), [range(0, 4, 8)].into_iter().collect())]));
        history.store(visible(2, 1));
        history.availability(EventKind::JobEnded { result: JobResult::Cancelled });
        history.world(EventKind::JobSubmitted { checkpoint: Some(CheckpointId(1)), parallelism: 1 });
        history.availability(EventKind::LeaderGranted { epoch: LeaderEpoch(2) });
        history
    }

    fn visible(number: u64, epoch: u32) -> EventKind {
        let (start, end) = (4 * (number - 1), 4 * number);
        EventKind::BecameVisible {
            transaction: name(0, number),
            by: attempt(0, 0),
            epoch: LeaderEpoch(epoch),
            records: [range(0, start, end)].into_iter().collect(),
        }
    }

    fn watched() -> RunSetup {
        let mut setup = setup();
        setup.promise.input.restores_older = true;
        setup
    }

    fn after(setup: &RunSetup, history: &History) -> Lineage {
        let mut lineage = Lineage::new(setup);
        for event in history.events() {
            lineage.observe(event);
        }
        lineage
    }

    #[test]
    fn a_name_is_covered_or_left_behind() {
        let lineage = after(&watched(), &history());
        assert!(lineage.covers(name(0, 1)) && !lineage.covers(name(0, 2)));
        assert!(lineage.visible().contains(name(0, 1)) && !lineage.visible().contains(name(0, 2)));
        assert!(lineage.leaves_behind(name(0, 2), LeaderEpoch(1)), "a late word of the job before");
        assert!(!lineage.leaves_behind(name(0, 2), LeaderEpoch(2)), "the name is used again");
        assert!(!lineage.leaves_behind(name(0, 1), LeaderEpoch(1)), "whoever commits what is covered");
    }

    /// What the restored checkpoint holds may become visible after it, in either lineage, and is one and the same.
    #[test]
    fn what_the_restored_checkpoint_holds_is_covered_before_it_is_visible() {
        let mut history = History::new();
        history.completed(1, contents(&[], &[], &[(name(0, 1), [range(0, 0, 4)].into_iter().collect())]));
        history.world(EventKind::JobSubmitted { checkpoint: Some(CheckpointId(1)), parallelism: 1 });
        let lineage = after(&watched(), &history);
        assert!(lineage.covers(name(0, 1)) && !lineage.visible().contains(name(0, 1)));
    }

    #[test]
    fn where_no_older_checkpoint_is_restored_nothing_is_left_behind() {
        let lineage = after(&setup(), &history());
        assert!(lineage.covers(name(0, 2)) && !lineage.leaves_behind(name(0, 2), LeaderEpoch(1)));
    }

    #[test]
    fn what_was_left_behind_may_come_once_more_and_not_twice() {
        use crate::c1_no_duplicates::NoDuplicates;
        use crate::checker::Checker;
        let judge = |events: &[EventKind]| {
            let mut history = history();
            for kind in events {
                history.store(kind.clone());
            }
            let mut checker = NoDuplicates::new(&watched());
            history.events().iter().try_for_each(|event| checker.observe(event))
        };
        assert_eq!(judge(&[visible(2, 2)]), Ok(()));
        assert_eq!(judge(&[visible(2, 1), visible(2, 2)]), Ok(()), "the job before was late");
        assert!(judge(&[visible(2, 2), visible(2, 2)]).is_err());
        assert!(judge(&[visible(1, 2)]).is_err(), "it was covered");
    }

    #[test]
    fn a_name_may_be_used_again_for_what_was_left_behind_only() {
        use crate::checker::Checker;
        use crate::k2_identifiers::Identifiers;
        let judge = |number| {
            let mut history = history();
            let prepared = EventKind::TransactionPrepared {
                transaction: name(0, number),
                records: [range(0, 4, 9)].into_iter().collect(),
                end_of_input: false,
            };
            history.lead(2).task(0, attempt(0, 0), prepared);
            let mut checker = Identifiers::new(&watched());
            history.events().iter().try_for_each(|event| checker.observe(event))
        };
        assert_eq!(judge(2), Ok(()));
        assert!(judge(1).is_err());
    }
}
