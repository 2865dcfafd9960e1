//! C1: no record becomes visible twice. The store's ledger alone tells.
//!
//! Where a user restores an older checkpoint, what only later ones made visible may come once more, and nothing else (see
//! `lineage`).

use crate::checker::{Checker, Docket, RunSetup};
use crate::code::Code;
use crate::kinds::KindSet;
use crate::lineage::{Lineage, VisibleByName};
use crate::table::Table;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::records::RecordRanges;

/// What is visible.
#[derive(Clone, Debug, Hash)]
pub struct NoDuplicates {
    docket: Docket,
    visible: Table<RecordRanges>,
    lineage: Lineage,
    by_name: VisibleByName,
}

impl NoDuplicates {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self {
            docket: Docket::new(setup, Code::C1),
            visible: Table::default(),
            lineage: Lineage::new(setup),
            by_name: VisibleByName::default(),
        }
    }

    /// An older checkpoint is restored.
    fn turn(&mut self) {
        self.visible = Table::default();
        for range in self.by_name.covered(&self.lineage) {
            self.visible.split_mut(range.split).insert(range);
        }
    }
}

impl Checker for NoDuplicates {
    const CODE: Code = Code::C1;
    const READS: KindSet = Lineage::READS;

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        if self.lineage.observe(event) {
            self.turn();
        }
        let EventKind::BecameVisible { transaction, records, by, epoch } = &event.kind else { return Ok(()) };
        if self.lineage.leaves_behind(*transaction, *epoch) {
            return Ok(());
        }
        self.docket.judged();
        self.by_name.add(&self.lineage, *transaction, records);
        for range in records.ranges() {
            if let Some(twice) = self.visible.split_mut(range.split).insert(*range) {
                let sentence = format!("{twice} became visible again in {transaction}, by {by}");
                return Err(Violation::new(Code::C1, Subject::Records(twice), &event.header, sentence));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{History, attempt, name, range, setup};

    fn judge(commits: &[(u64, u64, u64)]) -> Result<(), Violation> {
        let mut history = History::new();
        for (number, start, end) in commits {
            history.store(History::visible(name(0, *number), attempt(0, 0), &[range(0, *start, *end)]));
        }
        let mut checker = NoDuplicates::new(&setup());
        history.events().iter().try_for_each(|event| checker.observe(event))
    }

    #[test]
    fn neighbours_are_no_duplicates() {
        assert_eq!(judge(&[(1, 0, 5), (2, 5, 9), (3, 12, 20), (4, 9, 12)]), Ok(()));
    }

    #[test]
    fn an_overlap_names_the_records() {
        let violation = judge(&[(1, 0, 5), (2, 4, 9)]).unwrap_err();
        assert_eq!((violation.code, violation.subject), (Code::C1, Subject::Records(range(0, 4, 5))));
        assert_eq!(
            violation.to_string(),
            "C1 no duplicates: split-0[4..4] became visible again in s0-chk2, by subtask 0 #0"
        );
    }

    #[test]
    fn the_same_commit_twice_is_one_duplicate() {
        assert!(judge(&[(1, 0, 5), (1, 0, 5)]).is_err());
    }
}
