//! C3: nothing becomes visible before a checkpoint that covers it has completed or, without checkpoints, before its
//! writer's end of input.
//!
//! A checkpoint covers what its committables name, with those very records; what an aborted one prepared may ride on the
//! next. A visible event that is not caused by a completion shows as a violation in every order that reports the
//! completion later; whether the reported order was the true one is the host's matter.

use crate::checker::{Checker, Docket, RunSetup, task_of};
use crate::code::Code;
use crate::kinds::{Kind, KindSet};
use crate::transaction_names::TransactionNames;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{Event, EventKind, Header};
use splitrace_runtime::ids::*;
use splitrace_runtime::records::RecordRanges;
use std::collections::{BTreeMap, BTreeSet};

/// What may become visible.
#[derive(Clone, Debug, Hash)]
pub struct CoveredBeforeVisible {
    docket: Docket,
    checkpointing: bool,
    /// Covered, not visible yet. A name has two contents only when K2 is broken.
    covered: BTreeMap<TransactionName, Vec<RecordRanges>>,
    visible: TransactionNames,
    ended: BTreeSet<(LeaderEpoch, ExecutionAttemptId)>,
}

impl CoveredBeforeVisible {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self {
            docket: Docket::new(setup, Code::C3),
            checkpointing: setup.config.checkpointing.is_some(),
            covered: BTreeMap::new(),
            visible: TransactionNames::default(),
            ended: BTreeSet::new(),
        }
    }

    fn cover(&mut self, name: TransactionName, records: &RecordRanges) {
        if self.visible.contains(name) {
            return;
        }
        let contents = self.covered.entry(name).or_default();
        if !contents.contains(records) {
            contents.push(records.clone());
        }
    }

    fn show(
        &mut self,
        name: TransactionName,
        records: &RecordRanges,
        header: &Header,
    ) -> Result<(), Violation> {
        self.docket.judged();
        // What becomes visible a second time is a matter of C1 and K2.
        if self.visible.insert(name) {
            return Ok(());
        }
        let covered = self.covered.remove(&name);
        let sentence = match covered {
            Some(contents) if contents.contains(records) => return Ok(()),
            Some(_) => format!(
                "{name} became visible with {records}, which no completed checkpoint holds under that name"
            ),
            None => format!("{name} became visible although no completed checkpoint holds it"),
        };
        Err(Violation::new(Code::C3, Subject::Transaction(name), header, sentence))
    }

    fn show_at_end(
        &mut self,
        name: TransactionName,
        by: (LeaderEpoch, ExecutionAttemptId),
        header: &Header,
    ) -> Result<(), Violation> {
        self.docket.judged();
        if self.ended.contains(&by) {
            return Ok(());
        }
        let sentence =
            format!("{name} became visible although {} had not reached the end of its input", by.1);
        Err(Violation::new(Code::C3, Subject::Transaction(name), header, sentence))
    }
}

impl Checker for CoveredBeforeVisible {
    const CODE: Code = Code::C3;
    const READS: KindSet = KindSet::of(&[Kind::CheckpointCompleted, Kind::EndOfInput, Kind::BecameVisible]);

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        match &event.kind {
            EventKind::CheckpointCompleted { contents, .. } => {
                contents.committables.iter().for_each(|(_, name, records)| self.cover(*name, records));
            }
            EventKind::EndOfInput if !self.checkpointing => {
                if let Some((attempt, fence)) = task_of(&event.header) {
                    self.ended.insert((fence.leader_epoch, attempt));
                }
            }
            EventKind::BecameVisible { transaction, by, epoch, records } if !records.is_empty() => {
                return if self.checkpointing {
                    self.show(*transaction, records, &event.header)
                } else {
                    self.show_at_end(*transaction, (*epoch, *by), &event.header)
                };
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{History, attempt, contents, name, range, setup, setup_without_checkpoints};

    fn judge(setup: &RunSetup, history: &History) -> Result<(), Violation> {
        let mut checker = CoveredBeforeVisible::new(setup);
        history.events().iter().try_for_each(|event| checker.observe(event))
    }

    #[test]
    fn what_an_aborted_checkpoint_prepared_rides_on_the_next() {
        let mut history = History::new();
        let held = [(name(0, 3), [range(0, 0, 4)]), (name(0, 4), [range(0, 4, 6)])];
        let held = held.map(|(name, records)| (name, records.into_iter().collect()));
        history.completed(4, contents(&[], &[], &held));
        for (name, records) in held {
            history.store(EventKind::BecameVisible {
                transaction: name,
                by: attempt(0, 0),
                epoch: LeaderEpoch(1),
                records,
            });
        }
        assert_eq!(judge(&setup(), &history), Ok(()));
    }

    #[test]
    fn a_commit_before_the_completion_is_too_early() {
        let mut history = History::new();
        history.store(History::visible(name(0, 1), attempt(0, 0), &[range(0, 0, 4)]));
        history.completed(1, contents(&[], &[], &[(name(0, 1), [range(0, 0, 4)].into_iter().collect())]));
        let violation = judge(&setup(), &history).unwrap_err();
        assert_eq!((violation.code, violation.subject), (Code::C3, Subject::Transaction(name(0, 1))));
    }

    #[test]
    fn other_records_than_the_covered_ones_are_not_covered() {
        let mut history = History::new();
        history.completed(1, contents(&[], &[], &[(name(0, 1), [range(0, 0, 4)].into_iter().collect())]));
        history.store(History::visible(name(0, 1), attempt(0, 0), &[range(0, 0, 5)]));
        assert_eq!(judge(&setup(), &history).unwrap_err().code, Code::C3);
    }

    #[test]
    fn without_checkpoints_the_end_of_input_covers() {
        let mut history = History::new();
        history.task(0, attempt(0, 0), EventKind::EndOfInput);
        history.store(History::visible(name(0, 1), attempt(0, 0), &[range(0, 0, 4)]));
        assert_eq!(judge(&setup_without_checkpoints(), &history), Ok(()));
        history.store(History::visible(name(1, 1), attempt(1, 0), &[range(1, 0, 4)]));
        assert_eq!(judge(&setup_without_checkpoints(), &history).unwrap_err().code, Code::C3);
    }
}
