//! C2: no record is lost. Once the commits of a checkpoint have settled, all that the sink had handed over by then is
//! visible; at the end of a bounded job all of it is visible or was declared filtered.
//!
//! A commit whose answer was lost is *maybe*: it stays owed, and only the ledger at the end says what became of it.
//! Without checkpoints a failover may lose or double records (there is nothing to go back to), so then the end is judged
//! only when no failover happened.

use crate::checker::{Checker, Docket, RunEnd, RunSetup, task_of};
use crate::code::Code;
use crate::kinds::{Kind, KindSet};
use crate::lineage::Lineage;
use crate::promise::Level;
use crate::table::Table;
use crate::transaction_names::TransactionNames;
use crate::violation::{Subject, Violation};
use splitrace_runtime::config::VertexConfig;
use splitrace_runtime::event::{CommitOutcome, Event, EventKind, Header};
use splitrace_runtime::ids::*;
use splitrace_runtime::message::{ExecutionState, JobResult};
use splitrace_runtime::records::{OffsetRange, RecordRanges};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Hash)]
struct Owed {
    name: TransactionName,
    /// The first completed checkpoint that held it.
    since: CheckpointId,
    /// The leader that dealt it to its committer, where one did: an execution of an earlier leader owes nothing of it.
    dealt_by: LeaderEpoch,
    /// Executions whose commit had no answer.
    maybe: Vec<Fence>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
enum EndRule {
    Always,
    UnlessFailover,
    Never,
}

/// That nothing is lost.
#[derive(Clone, Debug, Hash)]
pub struct NoLoss {
    docket: Docket,
    end_rule: EndRule,
    failover: bool,
    /// How many splits there are outside, by source that discovers them one after another.
    outside: Vec<(OperatorUid, u32)>,
    /// From the start of each split to its end.
    discovered: Table<Option<OffsetRange>>,
    /// Visible or filtered.
    accounted: Table<RecordRanges>,
    visible: TransactionNames,
    owed: Table<Vec<Owed>>,
    /// Who holds committables, where that is another subtask than their writer: one of a vertex of committers, or, after a
    /// change of parallelism, whoever restored them.
    elsewhere: BTreeMap<TransactionName, SubtaskId>,
    lineage: Lineage,
    /// Where no last checkpoint comes after the end of input: the subtasks that left, whether or not they had heard of all
    /// that is complete (FACT 97). `None` where each waits for the last one.
    left: Option<Table<bool>>,
}

impl NoLoss {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        let end_rule = match setup.promise.level(Code::C2) {
            Level::Full => EndRule::Always,
            Level::Weaker(_) if setup.config.checkpointing.is_none() => EndRule::UnlessFailover,
            Level::Weaker(_) | Level::None(_) => EndRule::Never,
        };
        Self {
            docket: Docket::new(setup, Code::C2),
            end_rule,
            failover: false,
            outside: splits_to_discover(setup),
            discovered: Table::default(),
            accounted: Table::default(),
            visible: TransactionNames::default(),
            owed: Table::default(),
            elsewhere: BTreeMap::new(),
            lineage: Lineage::new(setup),
            left: (!setup.promise.input.after_tasks_finish).then(Table::default),
        }
    }

    /// The subtask whose committer holds the transaction.
    fn committer_of(&self, name: TransactionName) -> SubtaskId {
        self.elsewhere.get(&name).copied().unwrap_or(name.writer)
    }

    /// From here on this subtask's committer holds it, and owes whatever is owed of it.
    fn hold(&mut self, name: TransactionName, holder: SubtaskId, dealt_by: Option<LeaderEpoch>) {
        let owed = self.owed.subtask_mut(self.committer_of(name));
        if let Some(at) = owed.iter().position(|held| held.name == name) {
            let held = owed.remove(at);
            let dealt_by = dealt_by.unwrap_or(held.dealt_by);
            self.owed.subtask_mut(holder).push(Owed { dealt_by, ..held });
        }
        self.elsewhere.insert(name, holder);
    }

    /// State was dealt to other subtasks: what was owed by one may be owed by another. The subtasks of the job before are
    /// others, also where they have the same number, and some of them may still be at work.
    fn redistribute(&mut self, dealt_by: LeaderEpoch, committables: &[(SubtaskId, TransactionName)]) {
        for (subtask, name) in committables {
            self.hold(*name, *subtask, Some(dealt_by));
        }
    }

    /// An older checkpoint is restored: what later ones held is owed no more, and what is visible stays so.
    fn turn(&mut self) {
        let lineage = &self.lineage;
        self.visible = lineage.visible().clone();
        self.owed.values_mut().for_each(|owed| owed.retain(|held| lineage.covers(held.name)));
        self.elsewhere.retain(|name, _| lineage.covers(*name));
    }

    fn show(&mut self, name: TransactionName, epoch: LeaderEpoch, records: &RecordRanges) {
        if !self.lineage.leaves_behind(name, epoch) {
            self.visible.insert(name);
            self.owed.subtask_mut(self.committer_of(name)).retain(|owed| owed.name != name);
        }
        for range in records.ranges() {
            self.accounted.split_mut(range.split).insert(*range);
        }
    }

    /// A subtask finished, or a new execution of it begins. Who has left commits nothing any more.
    fn leave(&mut self, subtask: SubtaskId, has_left: bool) {
        let Some(left) = &mut self.left else { return };
        *left.subtask_mut(subtask) = has_left;
        if has_left {
            self.owed.subtask_mut(subtask).clear();
        }
    }

    fn owe(&mut self, checkpoint: CheckpointId, committer: SubtaskId, name: TransactionName) {
        if self.committer_of(name) != committer {
            self.hold(name, committer, None);
        }
        if self.left.as_ref().and_then(|left| left.subtask(committer)).is_some_and(|has_left| *has_left) {
            return;
        }
        let owed = self.owed.subtask_mut(committer);
        if !self.visible.contains(name) && owed.iter().all(|held| held.name != name) {
            owed.push(Owed { name, since: checkpoint, dealt_by: LeaderEpoch(0), maybe: Vec::new() });
        }
    }

    fn answer(&mut self, name: TransactionName, outcome: CommitOutcome, header: &Header) {
        let Some((_, fence)) = task_of(header) else { return };
        let owed = self.owed.subtask_mut(self.committer_of(name)).iter_mut().find(|owed| owed.name == name);
        if let Some(owed) = owed.filter(|_| outcome == CommitOutcome::Maybe) {
            owed.maybe.push(fence);
        }
    }

    /// A split that is outside and that nobody has heard of.
    fn undiscovered(&self) -> Option<SplitId> {
        let splits = self
            .outside
            .iter()
            .flat_map(|(operator, count)| (0..*count).map(|index| SplitId { operator: *operator, index }));
        splits.into_iter().find(|split| self.discovered.split(*split).is_none_or(Option::is_none))
    }

    fn settle(&mut self, checkpoint: CheckpointId, header: &Header) -> Result<(), Violation> {
        let Some((attempt, fence)) = task_of(header) else { return Ok(()) };
        self.docket.judged();
        let lost = self.owed.subtask(attempt.subtask_id()).and_then(|owed| {
            let is_due = |owed: &&Owed| owed.since <= checkpoint && owed.dealt_by <= fence.leader_epoch;
            owed.iter().filter(is_due).find(|owed| !owed.maybe.contains(&fence))
        });
        let Some(lost) = lost else { return Ok(()) };
        let sentence = format!(
            "{attempt} has done with {checkpoint}, but {}, which {} holds, is not visible",
            lost.name, lost.since
        );
        Err(Violation::new(Code::C2, Subject::Transaction(lost.name), header, sentence))
    }
}

/// The sources that know all their splits from the start tell of all of them at once, so nothing can be missing there.
fn splits_to_discover(setup: &RunSetup) -> Vec<(OperatorUid, u32)> {
    let discovers = |vertex: &&VertexConfig| vertex.source.discovery.is_some() || vertex.log.is_some();
    let discovering = setup.config.vertices.iter().filter(discovers);
    discovering.map(|vertex| (vertex.operator, vertex.source.split_count)).collect()
}

impl Checker for NoLoss {
    const CODE: Code = Code::C2;
    const READS: KindSet = KindSet::of(&[
        Kind::RecordsFiltered,
        Kind::BecameVisible,
        Kind::SplitsDiscovered,
        Kind::CheckpointCompleted,
        Kind::StateRedistributed,
        Kind::CommitAnswered,
        Kind::CommitsSettled,
        Kind::FailoverStarted,
        Kind::ProcessCrashed,
        Kind::TaskDeployed,
        Kind::TaskEnded,
    ])
    .with(Lineage::READS);

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        if self.lineage.observe(event) {
            self.turn();
        }
        match &event.kind {
            EventKind::RecordsFiltered { range } => {
                self.accounted.split_mut(range.split).insert(*range);
            }
            EventKind::BecameVisible { transaction, epoch, records, .. } => {
                self.show(*transaction, *epoch, records);
            }
            EventKind::SplitsDiscovered { splits } => {
                for split in splits {
                    let all = OffsetRange { split: split.split, start: split.position, end: split.end };
                    self.discovered.split_mut(split.split).get_or_insert(all);
                }
            }
            EventKind::CheckpointCompleted { checkpoint, contents } => {
                let held = contents.committables.iter();
                held.for_each(|(subtask, name, _)| self.owe(*checkpoint, *subtask, *name));
            }
            EventKind::TaskEnded { state: ExecutionState::Finished, .. } => {
                if let Some((attempt, _)) = task_of(&event.header) {
                    self.leave(attempt.subtask_id(), true);
                }
            }
            EventKind::TaskDeployed { attempt, .. } => self.leave(attempt.subtask_id(), false),
            EventKind::StateRedistributed { committables, .. } => {
                self.redistribute(event.header.leader_epoch, committables);
            }
            EventKind::CommitAnswered { transaction, outcome } => {
                self.answer(*transaction, *outcome, &event.header);
            }
            EventKind::CommitsSettled { checkpoint } => return self.settle(*checkpoint, &event.header),
            EventKind::FailoverStarted { .. } | EventKind::ProcessCrashed { .. } => self.failover = true,
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, end: &RunEnd) -> Result<(), Violation> {
        let judges = match self.end_rule {
            EndRule::Always => true,
            EndRule::UnlessFailover => !self.failover,
            EndRule::Never => false,
        };
        if !self.docket.is_open() || !judges || end.job_ended != Some(JobResult::Finished) {
            return Ok(());
        }
        self.docket.judged();
        if let Some(split) = self.undiscovered() {
            let sentence = format!("the job is finished, but {split} was never discovered");
            return Err(Violation::new(Code::C2, Subject::Split(split), end.at, sentence));
        }
        let nothing = RecordRanges::new();
        for (_, _, all) in self.discovered.iter() {
            let Some(all) = all else { continue };
            let accounted = self.accounted.split(all.split).unwrap_or(&nothing);
            if let Some(lost) = accounted.first_gap(*all) {
                let sentence = format!("the job is finished, but {lost} never became visible");
                return Err(Violation::new(Code::C2, Subject::Records(lost), end.at, sentence));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "c2_no_loss_tests.rs"]
mod tests;
