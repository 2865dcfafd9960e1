//! K2: checkpoint ids increase within a lineage, and no committed transaction name is ever used again for other content.
//!
//! Triggers are ordered by the job manager's sequence, completions by the high-availability service's. A name is used
//! again when it becomes visible with other records, or when an execution that is not older than the one that made it
//! visible prepares other records under it. Comparing fences instead of asking who is current gives the same verdict
//! whether the preparation or the commit is told first, and leaves zombies alone: their preparations are older. A name
//! that was prepared and rolled back may be used again; an empty preparation uses no name.

use crate::checker::{Checker, Docket, RunSetup, task_of};
use crate::code::Code;
use crate::event_hasher::WordHash;
use crate::kinds::{Kind, KindSet};
use crate::lineage::Lineage;
use crate::violation::{Subject, Violation};
use serde::Serialize;
use splitrace_runtime::event::{Event, EventKind, Header};
use splitrace_runtime::ids::*;
use splitrace_runtime::records::RecordRanges;
use std::collections::BTreeMap;

/// One use of a name: by whom, and a hash of what for.
type Use = (Fence, u64);

/// The highest checkpoint ids of one lineage.
#[derive(Clone, Debug, Default, Hash)]
struct Highest {
    lineage: LineageId,
    triggered: Option<CheckpointId>,
    completed: Option<CheckpointId>,
}

/// The identifiers that were used.
#[derive(Clone, Debug, Hash)]
pub struct Identifiers {
    docket: Docket,
    highest: Vec<Highest>,
    prepared: BTreeMap<TransactionName, Vec<Use>>,
    visible: BTreeMap<TransactionName, Use>,
    lineage: Lineage,
}

impl Identifiers {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self {
            docket: Docket::new(setup, Code::K2),
            highest: Vec::new(),
            prepared: BTreeMap::new(),
            visible: BTreeMap::new(),
            lineage: Lineage::new(setup),
        }
    }

    fn highest(&mut self, lineage: LineageId) -> &mut Highest {
        let at = self.highest.iter().position(|held| held.lineage == lineage).unwrap_or_else(|| {
            self.highest.push(Highest { lineage, ..Highest::default() });
            self.highest.len() - 1
        });
        &mut self.highest[at]
    }

    fn raise(&mut self, checkpoint: CheckpointId, completed: bool, header: &Header) -> Result<(), Violation> {
        self.docket.judged();
        let highest = self.highest(header.lineage);
        let (highest, what) = if completed {
            (&mut highest.completed, "completed")
        } else {
            (&mut highest.triggered, "was triggered")
        };
        if let Some(before) = highest.filter(|before| *before >= checkpoint) {
            let sentence = format!("{checkpoint} {what} after {before}");
            return Err(Violation::new(Code::K2, Subject::Checkpoint(checkpoint), header, sentence));
        }
        *highest = Some(checkpoint);
        Ok(())
    }

    fn prepare(
        &mut self,
        name: TransactionName,
        records: &RecordRanges,
        header: &Header,
    ) -> Result<(), Violation> {
        let Some((_, fence)) = task_of(header) else { return Ok(()) };
        if records.is_empty() {
            return Ok(());
        }
        self.docket.judged();
        let content = content(records);
        match self.visible.get(&name) {
            Some((by, held)) if *held != content && fence >= *by => Err(reused(name, header)),
            Some(_) => Ok(()),
            None => {
                let uses = self.prepared.entry(name).or_default();
                if !uses.contains(&(fence, content)) {
                    uses.push((fence, content));
                }
                Ok(())
            }
        }
    }

    fn show(
        &mut self,
        name: TransactionName,
        fence: Fence,
        records: &RecordRanges,
        header: &Header,
    ) -> Result<(), Violation> {
        self.docket.judged();
        let content = content(records);
        let prepared = self.prepared.remove(&name).unwrap_or_default();
        let used_again = prepared.iter().any(|(by, held)| *by >= fence && *held != content);
        let (_, first) = *self.visible.entry(name).or_insert((fence, content));
        if used_again || first != content { Err(reused(name, header)) } else { Ok(()) }
    }
}

fn content(records: &RecordRanges) -> u64 {
    let mut hash = WordHash::new(0);
    records.serialize(&mut hash).expect("ranges are plain numbers and encode");
    hash.value()
}

fn reused(name: TransactionName, header: &Header) -> Violation {
    let sentence = format!("{name} is committed and was used again for other records");
    Violation::new(Code::K2, Subject::Transaction(name), header, sentence)
}

impl Checker for Identifiers {
    const CODE: Code = Code::K2;
    const READS: KindSet = KindSet::of(&[
        Kind::CheckpointTriggered,
        Kind::CheckpointCompleted,
        Kind::TransactionPrepared,
        Kind::BecameVisible,
    ])
    .with(Lineage::READS);

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        let header = &event.header;
        if self.lineage.observe(event) {
            self.prepared.retain(|name, _| self.lineage.covers(*name));
            self.visible.retain(|name, _| self.lineage.covers(*name));
        }
        match &event.kind {
            EventKind::CheckpointTriggered { checkpoint } => self.raise(*checkpoint, false, header),
            EventKind::CheckpointCompleted { checkpoint, .. } => self.raise(*checkpoint, true, header),
            EventKind::TransactionPrepared { transaction, .. }
                if self.lineage.leaves_behind(*transaction, header.leader_epoch) =>
            {
                Ok(())
            }
            EventKind::BecameVisible { transaction, epoch, .. }
                if self.lineage.leaves_behind(*transaction, *epoch) =>
            {
                Ok(())
            }
            EventKind::TransactionPrepared { transaction, records, .. } => {
                self.prepare(*transaction, records, header)
            }
            EventKind::BecameVisible { transaction, by, epoch, records } => {
                let fence = Fence { leader_epoch: *epoch, attempt: by.attempt };
                self.show(*transaction, fence, records, header)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{History, attempt, name, range, setup};

    fn judge(history: &History) -> Result<(), Violation> {
        let mut checker = Identifiers::new(&setup());
        history.events().iter().try_for_each(|event| checker.observe(event))
    }

    fn prepared(number: u64, start: u64, end: u64) -> EventKind {
        let records = (start < end).then(|| range(0, start, end)).into_iter().collect();
        EventKind::TransactionPrepared { transaction: name(0, number), records, end_of_input: false }
    }

    fn visible(by: u32, number: u64, start: u64, end: u64) -> EventKind {
        History::visible(name(0, number), attempt(0, by), &[range(0, start, end)])
    }

    #[test]
    fn a_rolled_back_name_may_be_used_again() {
        let mut history = History::new();
        history.task(0, attempt(0, 0), prepared(3, 0, 4));
        history.task(0, attempt(0, 1), prepared(3, 0, 2));
        history.store(visible(1, 3, 0, 2));
        // A zombie and an empty preparation.
        history.task(0, attempt(0, 0), prepared(3, 0, 7));
        history.task(0, attempt(0, 1), prepared(3, 0, 0));
        assert_eq!(judge(&history), Ok(()));
    }

    #[test]
    fn a_committed_name_may_not_whichever_is_told_first() {
        for commit_first in [true, false] {
            let mut history = History::new();
            history.task(0, attempt(0, 0), prepared(1, 0, 4));
            if commit_first {
                history.store(visible(0, 1, 0, 4));
            }
            history.task(0, attempt(0, 1), prepared(1, 4, 6));
            if !commit_first {
                history.store(visible(0, 1, 0, 4));
            }
            let violation = judge(&history).unwrap_err();
            assert_eq!((violation.code, violation.subject), (Code::K2, Subject::Transaction(name(0, 1))));
        }
    }

    #[test]
    fn a_name_that_becomes_visible_with_other_records_is_used_again() {
        let mut history = History::new();
        history.store(visible(0, 1, 0, 4));
        history.store(visible(0, 1, 0, 4));
        assert_eq!(judge(&history), Ok(()), "the same content twice is a matter of C1");
        history.store(visible(0, 1, 4, 8));
        assert_eq!(judge(&history).unwrap_err().code, Code::K2);
    }

    #[test]
    fn checkpoint_ids_increase() {
        let mut history = History::new();
        for checkpoint in [1, 2, 4] {
            history.main(EventKind::CheckpointTriggered { checkpoint: CheckpointId(checkpoint) });
        }
        history.completed(2, Default::default());
        history.completed(4, Default::default());
        assert_eq!(judge(&history), Ok(()));
        let mut triggered = history.clone();
        triggered.main(EventKind::CheckpointTriggered { checkpoint: CheckpointId(4) });
        assert_eq!(judge(&triggered).unwrap_err().code, Code::K2);
        history.completed(3, Default::default());
        assert_eq!(judge(&history).unwrap_err().subject, Subject::Checkpoint(CheckpointId(3)));
    }
}
