//! S5: the order inside a split is kept in what each sink writer writes and in what becomes visible per writer.
//!
//! Two judgements. An execution's writer takes the offsets of a split in growing order: one thread's events, ordered by
//! sequence alone. And what the store makes visible of a split under the names of one writer grows, across all executions
//! that this writer had: a restart goes on from a restored position, and the committer commits checkpoint by checkpoint
//! (FACT 65). Where a restarted subtask reads from the start, the promise is weaker and only the first is judged.
//!
//! A record that a barrier has overtaken lies in the checkpoint as a channel's buffer, and comes back on that channel. Its
//! split may by then be another reader's, on another channel: so such a record may come late, and nothing is said of it.
//!
//! Across writers nothing is said: a split that moves to another reader leaves behind what its former writer has still
//! to commit.

use crate::checker::{Checker, Docket, RunSetup, task_of};
use crate::code::Code;
use crate::kinds::{Kind, KindSet};
use crate::promise::Level;
use crate::table::Table;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{ExecutionAttemptId, LeaderEpoch, ProcessId, SplitId};
use splitrace_runtime::records::{OffsetRange, RecordRanges};

/// Up to where each split was taken: the offset behind the last record.
type Ends = Vec<(SplitId, u64)>;

/// What the writer of one execution has taken.
#[derive(Clone, Debug, Hash)]
struct Written {
    process: ProcessId,
    epoch: LeaderEpoch,
    attempt: ExecutionAttemptId,
    ends: Ends,
}

/// The order inside each split.
#[derive(Clone, Debug, Hash)]
pub struct OrderInsideSplit {
    docket: Docket,
    /// Whether a writer's later executions go on where the earlier ones ended.
    across_executions: bool,
    written: Vec<Written>,
    /// By writer.
    visible: Table<Ends>,
    /// What barriers have overtaken in completed checkpoints.
    overtaken: RecordRanges,
}

/// Notes that `range` comes next; answers where it should have begun at the earliest, when it begins before.
fn follow(ends: &mut Ends, range: OffsetRange) -> Option<u64> {
    match ends.iter_mut().find(|(split, _)| *split == range.split) {
        Some((_, end)) if range.start < *end => Some(*end),
        Some((_, end)) => {
            *end = range.end;
            None
        }
        None => {
            ends.push((range.split, range.end));
            None
        }
    }
}

impl OrderInsideSplit {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self {
            docket: Docket::new(setup, Code::S5),
            across_executions: setup.promise.level(Code::S5) == Level::Full,
            written: Vec::new(),
            visible: Table::default(),
            overtaken: RecordRanges::new(),
        }
    }

    /// Whether it begins with what a barrier has overtaken.
    fn may_be_late(&self, range: OffsetRange) -> bool {
        self.overtaken.contains(range.split, range.start)
    }

    fn write(&mut self, event: &Event, range: OffsetRange) -> Result<(), Violation> {
        let Some((attempt, fence)) = task_of(&event.header) else { return Ok(()) };
        let (process, epoch) = (event.header.process, fence.leader_epoch);
        let same = |held: &Written| (held.attempt, held.epoch, held.process) == (attempt, epoch, process);
        let at = match self.written.iter().position(same) {
            Some(at) => at,
            None => {
                self.written.push(Written { process, epoch, attempt, ends: Ends::new() });
                self.written.len() - 1
            }
        };
        if self.may_be_late(range) {
            return Ok(());
        }
        self.docket.judged();
        let Some(end) = follow(&mut self.written[at].ends, range) else { return Ok(()) };
        let sentence = format!("{attempt} wrote {range} after it had written the records below {end}");
        Err(Violation::new(Code::S5, Subject::Records(range), &event.header, sentence))
    }
}

impl Checker for OrderInsideSplit {
    const CODE: Code = Code::S5;
    const READS: KindSet = KindSet::of(&[
        Kind::RecordsWritten,
        Kind::BecameVisible,
        Kind::CheckpointCompleted,
        Kind::ExecutionGone,
        Kind::ProcessCrashed,
    ]);

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        match &event.kind {
            EventKind::RecordsWritten { range, .. } => return self.write(event, *range),
            EventKind::BecameVisible { transaction, records, .. } if self.across_executions => {
                self.docket.judged();
                let ends = self.visible.subtask_mut(transaction.writer);
                for range in
                    records.ranges().iter().filter(|range| !self.overtaken.contains(range.split, range.start))
                {
                    if let Some(end) = follow(ends, *range) {
                        let sentence = format!(
                            "{range} became visible in {transaction} after the records below {end} had, of the same writer"
                        );
                        let subject = Subject::Records(*range);
                        return Err(Violation::new(Code::S5, subject, &event.header, sentence));
                    }
                }
            }
            EventKind::CheckpointCompleted { contents, .. } => {
                for (_, records) in &contents.channels {
                    self.overtaken.extend(records);
                }
            }
            EventKind::ExecutionGone { attempt } => {
                let process = event.header.process;
                self.written.retain(|held| (held.process, held.attempt) != (process, *attempt));
            }
            EventKind::ProcessCrashed { address } => {
                self.written.retain(|held| held.process != address.process);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{History, attempt, name, range, setup};
    use splitrace_runtime::event::CheckpointContents;

    fn judge(history: &History) -> Result<(), Violation> {
        let mut checker = OrderInsideSplit::new(&setup());
        history.events().iter().try_for_each(|event| checker.observe(event))
    }

    /// Writes by subtask, attempt, and range of split 0.
    fn writes(writes: &[(u32, u32, u64, u64)]) -> History {
        let mut history = History::new();
        for (subtask, number, start, end) in writes {
            let kind =
                EventKind::RecordsWritten { transaction: name(*subtask, 1), range: range(0, *start, *end) };
            history.task(*subtask, attempt(*subtask, *number), kind);
        }
        history
    }

    fn commits(commits: &[(u32, u64, u64, u64)]) -> History {
        let mut history = History::new();
        for (subtask, number, start, end) in commits {
            let by = attempt(*subtask, 0);
            history.store(History::visible(name(*subtask, *number), by, &[range(0, *start, *end)]));
        }
        history
    }

    #[test]
    fn growing_offsets_are_in_order_and_a_new_execution_may_begin_again() {
        assert_eq!(judge(&writes(&[(0, 0, 0, 3), (0, 0, 3, 4), (0, 1, 2, 4), (1, 0, 0, 1)])), Ok(()));
        assert_eq!(judge(&writes(&[(0, 0, 0, 3), (0, 0, 5, 6)])), Ok(()), "filtered records leave gaps");
    }

    #[test]
    fn an_earlier_record_after_a_later_one_breaks_it() {
        let violation = judge(&writes(&[(0, 0, 0, 1), (0, 0, 2, 3), (0, 0, 1, 2)])).unwrap_err();
        assert_eq!((violation.code, violation.subject), (Code::S5, Subject::Records(range(0, 1, 2))));
        assert_eq!(
            violation.to_string(),
            "S5 order inside a split: subtask 0 #0 wrote split-0[1..1] after it had written the records below 3"
        );
    }

    #[test]
    fn what_a_barrier_has_overtaken_may_come_late_and_nothing_else_may() {
        let mut overtaken = RecordRanges::new();
        overtaken.insert(range(0, 1, 2));
        let contents = CheckpointContents {
            channels: vec![(attempt(0, 0).subtask_id(), overtaken)],
            ..CheckpointContents::default()
        };
        let history = |late: u64| {
            let mut history = History::new();
            history.completed(1, contents.clone());
            for (start, end) in [(2, 3), (late, late + 1), (3, 4)] {
                let kind = EventKind::RecordsWritten { transaction: name(0, 1), range: range(0, start, end) };
                history.task(0, attempt(0, 1), kind);
            }
            history
        };
        assert_eq!(judge(&history(1)), Ok(()));
        assert!(judge(&history(0)).is_err());
    }

    #[test]
    fn commits_of_one_writer_grow_and_those_of_another_do_not_matter() {
        assert_eq!(judge(&commits(&[(0, 1, 0, 3), (0, 2, 3, 5), (1, 1, 1, 2)])), Ok(()));
        let violation = judge(&commits(&[(0, 2, 3, 5), (0, 1, 0, 3)])).unwrap_err();
        assert!(violation.sentence.ends_with("of the same writer"), "{violation}");
    }
}
