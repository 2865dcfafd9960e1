//! C4: no residue. When a job has finished, nothing that it began in the transactional store is left open or prepared:
//! each transaction became visible or was rolled back, whichever attempt of whichever parallelism began it.
//!
//! The store's ledger alone tells, in the store's own order. Work is counted by name and fence, since a store with a
//! planted defect keeps a zombie's work beside the living writer's. A job that failed or was cancelled has nobody left
//! who could settle anything, and one that is submitted again settles it then; so only the end of a finished job is judged.
//!
//! A file system fences nobody off: an older life that goes on may begin files after its successor has looked for what it
//! left behind ([`EventKind::LeftoversListed`]). Those are nobody's residue; all others are.
//!
//! Refused: to judge each recovery as soon as it is over. A checker would have to know which writers a recovery answers
//! for, which is the connector's business and the very thing that goes wrong (FLINK-23854).

use crate::checker::{Checker, Docket, RunEnd, RunSetup};
use crate::code::Code;
use crate::kinds::{Kind, KindSet};
use crate::violation::{Subject, Violation};
use splitrace_runtime::config::{FileMedium, SinkKind};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{Fence, SubtaskId, TransactionName};
use splitrace_runtime::message::JobResult;
use std::collections::BTreeMap;

/// Work that is neither visible nor rolled back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
struct Work {
    name: TransactionName,
    fence: Fence,
    prepared: bool,
}

/// That nothing is left behind.
#[derive(Clone, Debug, Hash)]
pub struct NoResidue {
    docket: Docket,
    /// In the order in which it was begun; a job holds a few per writer at a time.
    unsettled: Vec<Work>,
    /// Whether there ever was any.
    begun: bool,
    /// Whether an open transaction ends with its session or its upload: that is the server's duty, and the sink owes it no
    /// end.
    has_sessions: bool,
    /// Where nobody is fenced off: the newest life of each writer that has looked for leftovers.
    looked: BTreeMap<SubtaskId, Fence>,
}

impl NoResidue {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self {
            docket: Docket::new(setup, Code::C4),
            unsettled: Vec::new(),
            begun: false,
            has_sessions: match setup.config.sink {
                SinkKind::PreparedTable => true,
                SinkKind::Files(files) => files.medium == FileMedium::ObjectStore,
                _ => false,
            },
            looked: BTreeMap::new(),
        }
    }

    fn begin(&mut self, name: TransactionName, fence: Fence) {
        self.begun = true;
        if !self.has_sessions && !self.is_excused(name, fence) {
            self.unsettled.push(Work { name, fence, prepared: false });
        }
    }

    /// Whether an older life begins this after whoever could have removed it has looked: a newer life of its writer, or,
    /// where the job has that writer no more, any writer of a newer leader.
    fn is_excused(&self, name: TransactionName, fence: Fence) -> bool {
        let is_newer = |(writer, looked): (&SubtaskId, &Fence)| {
            let is_same = *writer == name.writer && *looked > fence;
            is_same || (writer.vertex == name.writer.vertex && looked.leader_epoch > fence.leader_epoch)
        };
        name.part.is_some() && self.looked.iter().any(is_newer)
    }

    /// A ledger that does not tell of what is merely open begins here.
    fn prepare(&mut self, name: TransactionName, fence: Fence) {
        self.begun = true;
        let is_same = |work: &&mut Work| work.name == name && (name.part.is_some() || work.fence == fence);
        let excused = self.is_excused(name, fence);
        match self.unsettled.iter_mut().find(is_same) {
            Some(work) => work.prepared = true,
            None if excused => {}
            None => self.unsettled.push(Work { name, fence, prepared: true }),
        }
    }

    /// One piece of work under that name is visible or gone. Which of several is told by whether it was prepared.
    fn settle(&mut self, name: TransactionName, prepared: bool) {
        let is_same = |work: &Work| work.name == name && (name.part.is_some() || work.prepared == prepared);
        if let Some(at) = self.unsettled.iter().position(is_same) {
            self.unsettled.remove(at);
        }
    }
}

impl Checker for NoResidue {
    const CODE: Code = Code::C4;
    const READS: KindSet = KindSet::of(&[
        Kind::TransactionBegun,
        Kind::TransactionDurable,
        Kind::TransactionRolledBack,
        Kind::BecameVisible,
        Kind::LeftoversListed,
    ]);

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        match event.kind {
            EventKind::TransactionBegun { transaction: name, fence } => self.begin(name, fence),
            EventKind::LeftoversListed { writer, fence } => {
                let looked = self.looked.entry(writer).or_insert(fence);
                *looked = fence.max(*looked);
            }
            EventKind::TransactionDurable { transaction, fence, .. } => self.prepare(transaction, fence),
            EventKind::TransactionRolledBack { transaction, prepared } => self.settle(transaction, prepared),
            EventKind::BecameVisible { transaction, .. } => self.settle(transaction, true),
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, end: &RunEnd) -> Result<(), Violation> {
        if !self.docket.is_open() || !self.begun || end.job_ended != Some(JobResult::Finished) {
            return Ok(());
        }
        self.docket.judged();
        let Some(left) = self.unsettled.first() else { return Ok(()) };
        let state = if left.prepared { "prepared" } else { "open" };
        let sentence = format!("the job is finished, but {} is still {state} in the store", left.name);
        Err(Violation::new(Code::C4, Subject::Transaction(left.name), end.at, sentence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::RunStop;
    use crate::testing::{History, attempt, end_of, file, name, range, setup};
    use splitrace_runtime::ids::{AttemptNumber, LeaderEpoch};

    const FIRST: Fence = Fence { leader_epoch: LeaderEpoch(1), attempt: AttemptNumber(0) };
    const SECOND: Fence = Fence { leader_epoch: LeaderEpoch(1), attempt: AttemptNumber(1) };

    fn begun(number: u64, fence: Fence) -> EventKind {
        EventKind::TransactionBegun { transaction: name(0, number), fence }
    }

    fn durable(number: u64, fence: Fence) -> EventKind {
        let records = [range(0, 0, 4)].into_iter().collect();
        EventKind::TransactionDurable { transaction: name(0, number), fence, records }
    }

    fn rolled_back(number: u64, prepared: bool) -> EventKind {
        EventKind::TransactionRolledBack { transaction: name(0, number), prepared }
    }

    fn visible(number: u64) -> EventKind {
        History::visible(name(0, number), attempt(0, 0), &[range(0, 0, 4)])
    }

    fn judge(kinds: Vec<EventKind>, result: Option<JobResult>) -> (Result<(), Violation>, NoResidue) {
        let mut history = History::new();
        for kind in kinds {
            history.store(kind);
        }
        let mut checker = NoResidue::new(&setup());
        for event in history.events() {
            assert_eq!(checker.observe(event), Ok(()), "only the end is judged");
        }
        let end = end_of(history.events());
        let verdict = checker.finish(&RunEnd { job_ended: result, stop: RunStop::Quiescent, ..end });
        (verdict, checker)
    }

    fn finished(kinds: Vec<EventKind>) -> Result<(), Violation> {
        judge(kinds, Some(JobResult::Finished)).0
    }

    #[test]
    fn everything_is_visible_or_rolled_back() {
        let good = vec![
            begun(1, FIRST),
            durable(1, FIRST),
            begun(2, FIRST),
            visible(1),
            rolled_back(2, false),
            begun(2, SECOND),
            durable(2, SECOND),
            rolled_back(2, true),
        ];
        assert_eq!(finished(good), Ok(()));
    }

    #[test]
    fn a_file_is_residue_unless_it_came_after_the_look_for_leftovers() {
        let (first, second) = (file(0, 1, FIRST, 1), file(0, 1, SECOND, 1));
        let begun = |transaction: TransactionName, fence| EventKind::TransactionBegun { transaction, fence };
        let looked = |fence| EventKind::LeftoversListed { writer: first.writer, fence };
        let removed = EventKind::TransactionRolledBack { transaction: first, prepared: false };
        let shown = History::visible(second, attempt(0, 1), &[range(0, 0, 4)]);
        // Whoever publishes it need not be who began it, and nothing tells that it was ever durable.
        let good =
            [begun(first, FIRST), looked(SECOND), removed.clone(), begun(second, SECOND), shown.clone()];
        assert_eq!(finished(good.to_vec()), Ok(()));
        let late = [looked(SECOND), begun(first, FIRST), begun(second, SECOND), shown.clone()];
        assert_eq!(finished(late.to_vec()), Ok(()), "a zombie began it");
        let left = [begun(first, FIRST), looked(SECOND), begun(second, SECOND), shown];
        assert_eq!(finished(left.to_vec()).unwrap_err().subject, Subject::Transaction(first));
        let own = [looked(SECOND), begun(second, SECOND)];
        assert_eq!(finished(own.to_vec()).unwrap_err().subject, Subject::Transaction(second));
    }

    #[test]
    fn a_prepared_transaction_is_residue_unless_a_zombie_prepared_it_late_and_an_open_one_ends_with_its_session()
     {
        let mut setup = setup();
        setup.config.sink = SinkKind::PreparedTable;
        let finished = |kinds: &[EventKind]| {
            let mut history = History::new();
            for kind in kinds {
                history.store(kind.clone());
            }
            let mut checker = NoResidue::new(&setup);
            history.events().iter().try_for_each(|event| checker.observe(event))?;
            let end = end_of(history.events());
            checker.finish(&RunEnd { job_ended: Some(JobResult::Finished), stop: RunStop::Quiescent, ..end })
        };
        let first = file(0, 1, FIRST, 0);
        let begun = EventKind::TransactionBegun { transaction: first, fence: FIRST };
        let looked = EventKind::LeftoversListed { writer: first.writer, fence: SECOND };
        let records = [range(0, 0, 4)].into_iter().collect();
        let durable = EventKind::TransactionDurable { transaction: first, fence: FIRST, records };
        assert_eq!(finished(&[begun.clone(), looked.clone()]), Ok(()));
        assert_eq!(finished(&[begun.clone(), looked.clone(), durable.clone()]), Ok(()));
        assert!(finished(&[begun, durable, looked]).is_err(), "it was there to be found");
    }

    #[test]
    fn what_is_left_is_named_with_its_state() {
        let violation = finished(vec![begun(1, FIRST), durable(1, FIRST)]).unwrap_err();
        assert_eq!((violation.code, violation.subject), (Code::C4, Subject::Transaction(name(0, 1))));
        assert_eq!(
            violation.to_string(),
            "C4 no residue: the job is finished, but s0-chk1 is still prepared in the store"
        );
        let violation = finished(vec![begun(1, FIRST)]).unwrap_err();
        assert!(violation.to_string().contains("s0-chk1 is still open"), "{violation}");
    }

    #[test]
    fn a_zombies_work_under_the_same_name_is_told_from_the_living_ones() {
        let both = |settled| vec![begun(1, FIRST), begun(1, SECOND), durable(1, SECOND), settled];
        let violation = finished(both(visible(1))).unwrap_err();
        assert!(violation.to_string().contains("still open"), "{violation}");
        let violation = finished(both(rolled_back(1, false))).unwrap_err();
        assert!(violation.to_string().contains("still prepared"), "{violation}");
    }

    /// A commit whose reply was lost is *maybe* to the committer; the ledger knows, and only it is asked.
    #[test]
    fn a_commit_of_unknown_outcome_is_settled_by_the_ledger() {
        assert_eq!(finished(vec![begun(1, FIRST), durable(1, FIRST), visible(1)]), Ok(()));
        assert!(finished(vec![begun(1, FIRST), durable(1, FIRST)]).is_err());
    }

    #[test]
    fn nobody_settles_anything_after_a_cancel_or_a_failure() {
        for result in [None, Some(JobResult::Cancelled), Some(JobResult::Failed("gave up".to_owned()))] {
            assert_eq!(judge(vec![begun(1, FIRST)], result).0, Ok(()));
        }
    }

    #[test]
    fn a_store_without_transactions_gives_nothing_to_judge() {
        let (verdict, checker) = judge(vec![visible(1)], Some(JobResult::Finished));
        assert_eq!(verdict, Ok(()));
        assert_eq!(checker.judgement(), crate::checker::Judgement::Judged { count: 0 });
    }
}
