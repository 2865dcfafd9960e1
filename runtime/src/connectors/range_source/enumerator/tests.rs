//! What an enumerator's script makes of what happens; the rest of it is tested with its coordinator.

use super::*;
use crate::api::source::{AsyncCall, AsyncCallName};
use crate::config::{EnumeratorScript, Reassignment, ReturnedSplits, SnapshotAssignment, SourceConfig};
use crate::coordination::test_jobs::job;
use crate::defects::DefectSet;
use crate::ids::OperatorUid;

/// Three subtasks, of which some are registered; writes down what it is asked for.
pub(super) struct Context {
    pub(super) registered: Vec<u32>,
    said: Vec<String>,
}

impl SplitEnumeratorContext<RangeSplit> for Context {
    fn current_parallelism(&self) -> u32 {
        3
    }

    fn registered_readers(&self) -> Vec<SubtaskIndex> {
        self.registered.iter().copied().map(SubtaskIndex).collect()
    }

    fn splits_discovered(&mut self, splits: &[RangeSplit]) {
        self.said.push(format!("{} discovered", splits.len()));
    }

    fn assign_splits(&mut self, assignment: Vec<(SubtaskIndex, Vec<RangeSplit>)>) -> Result<(), UserError> {
        for (subtask, splits) in assignment {
            if !self.registered.contains(&subtask.0) {
                return Err(UserError::new(format!("{} is not registered", subtask.0)));
            }
            let indices: Vec<u32> = splits.iter().map(|split| split.at.split.index).collect();
            self.said.push(format!("{indices:?} to {}", subtask.0));
        }
        Ok(())
    }

    fn signal_no_more_splits(&mut self, subtask: SubtaskIndex) -> Result<(), UserError> {
        if !self.registered.contains(&subtask.0) {
            return Err(UserError::new(format!("{} is not registered", subtask.0)));
        }
        self.said.push(format!("no more to {}", subtask.0));
        Ok(())
    }

    fn send_event_to_source_reader(&mut self, _: SubtaskIndex, _: Vec<u8>) -> Result<(), UserError> {
        panic!("no custom events here")
    }

    fn call_async(&mut self, call: AsyncCall) {
        let period = call.period_ns.map_or("once".to_owned(), |period_ns| format!("each {period_ns}"));
        self.said.push(format!("look after {}, {period}", call.initial_delay_ns));
    }

    fn run_in_coordinator_thread(&mut self, _: AsyncCallName) {
        panic!("no workers here")
    }
}

pub(super) struct Bench {
    pub(super) enumerator: RangeEnumerator,
    pub(super) context: Context,
}

impl Bench {
    fn new(split_count: u32, script: EnumeratorScript, registered: &[u32]) -> Self {
        Self::planned(split_count, script, registered, |plan| plan)
    }

    pub(super) fn planned(
        split_count: u32,
        script: EnumeratorScript,
        registered: &[u32],
        change: impl Fn(SourceConfig) -> SourceConfig,
    ) -> Self {
        let policy = AssignmentPolicy::Pull;
        let plan = SourceConfig {
            split_count,
            records_per_split: 4,
            policy,
            bounded: true,
            script,
            discovery: None,
        };
        let task = job(3, DefectSet::NONE).vertices[0].task;
        let source = RangeSource { operator: OperatorUid(0), plan: change(plan), task };
        let mut bench = Self {
            enumerator: RangeEnumerator::create(source),
            context: Context { registered: registered.to_vec(), said: Vec::new() },
        };
        bench.enumerator.start(&mut bench.context).expect("nothing is scripted there");
        bench.said();
        bench
    }

    pub(super) fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.context.said)
    }

    pub(super) fn request(&mut self, subtask: u32) -> Vec<String> {
        self.enumerator.handle_split_request(SubtaskIndex(subtask), &mut self.context).expect("registered");
        self.said()
    }

    pub(super) fn snapshot(&mut self, checkpoint: u64) -> (Vec<u32>, Vec<String>) {
        let (held, _) = self
            .enumerator
            .snapshot_state(CheckpointId(checkpoint), &mut self.context)
            .expect("nothing is scripted there");
        (held.iter().map(|split| split.at.split.index).collect(), self.said())
    }

    /// Split 0 comes back from a subtask that is not registered any more.
    fn give_back(&mut self, subtask: u32) -> Result<Vec<String>, UserError> {
        let lost = vec![self.enumerator.source.plan_splits()[0]];
        self.context.registered.retain(|registered| *registered != subtask);
        self.enumerator.add_splits_back(lost, SubtaskIndex(subtask), &mut self.context)?;
        Ok(self.said())
    }
}

#[test]
fn a_snapshot_may_assign_a_split_to_the_first_reader_that_still_waits_for_one() {
    let always = SnapshotAssignment::Always;
    let script = EnumeratorScript { assigns_in_snapshot: Some(always), ..EnumeratorScript::NONE };
    let mut bench = Bench::new(3, script, &[0, 1]);
    assert_eq!(bench.snapshot(1), (vec![1, 2], vec!["[0] to 0".to_owned()]));
    assert_eq!([bench.request(0), bench.request(0)], [["[1] to 0"], ["[2] to 0"]]);
    assert_eq!(bench.request(0), ["no more to 0"]);
    bench.give_back(2).expect("it waits");
    assert_eq!(bench.snapshot(2), (vec![], vec!["[0] to 1".to_owned()]), "0 was told that nothing comes");
    let once = EnumeratorScript { assigns_in_snapshot: Some(SnapshotAssignment::In(2)), ..script };
    let mut bench = Bench::new(3, once, &[0]);
    assert_eq!([bench.snapshot(1).1.len(), bench.snapshot(2).1.len(), bench.snapshot(3).1.len()], [0, 1, 0]);
}

#[test]
fn what_comes_back_may_go_to_the_first_reader_and_waits_the_second_time() {
    let script = EnumeratorScript { returned: ReturnedSplits::FirstReader, ..EnumeratorScript::NONE };
    let mut bench = Bench::new(1, script, &[0, 1]);
    assert_eq!(bench.request(1), ["[0] to 1"]);
    assert_eq!(bench.give_back(1), Ok(vec!["[0] to 0".to_owned()]));
    assert_eq!(bench.give_back(0), Ok(vec![]), "it has come back before");
    assert_eq!(bench.snapshot(1).0, [0]);
    bench.context.registered.push(0);
    assert_eq!(bench.request(0), ["[0] to 0"]);
}

#[test]
fn whoever_lost_a_split_is_not_there_to_get_it() {
    let script = EnumeratorScript { returned: ReturnedSplits::WhoLostThem, ..EnumeratorScript::NONE };
    let mut bench = Bench::new(1, script, &[0, 1]);
    assert_eq!(bench.request(1), ["[0] to 1"]);
    assert_eq!(bench.give_back(1), Err(UserError::new("1 is not registered".to_owned())));
}

#[test]
fn everybody_may_be_told_with_the_last_split_and_who_is_not_there_is_passed_over() {
    let script = EnumeratorScript { signals_everyone: true, ..EnumeratorScript::NONE };
    let mut bench = Bench::new(2, script, &[0, 2]);
    assert_eq!(bench.request(2), ["[0] to 2"]);
    assert_eq!(bench.request(2), ["[1] to 2", "no more to 0", "no more to 2"]);
    bench.context.registered.push(1);
    assert_eq!(bench.request(1), ["no more to 1"], "it hears of it when it asks");
}

/// A careless enumerator gives what a reader reports to one that was told that nothing comes. The restored one does not: it
/// would fail the job with every restart.
#[test]
fn what_is_reported_may_go_to_a_reader_that_has_ended_but_not_from_a_restored_enumerator() {
    let script = EnumeratorScript { reassignment: Some(Reassignment::Other), ..EnumeratorScript::NONE };
    let given = |bench: &mut Bench| {
        bench.context.registered = vec![0, 1, 2];
        bench.enumerator.habits.told_no_more(SubtaskIndex(1));
        bench.enumerator.habits.told_no_more(SubtaskIndex(2));
        let reported = bench.enumerator.source.splits(0..1);
        bench.enumerator.pending.clear();
        bench.enumerator.add_reader(SubtaskIndex(1), reported, &mut bench.context).expect("all are there");
        bench.said()
    };
    let mut bench = Bench::new(1, script, &[]);
    assert_eq!(given(&mut bench).last().map(String::as_str), Some("[0] to 2"));
    bench.enumerator = RangeEnumerator::restore(bench.enumerator.source, vec![], Some(1));
    assert_eq!(given(&mut bench), ["[0] to 1"]);
}
