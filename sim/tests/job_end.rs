//! The job manager is lost around the end of the job: what had finished is not run again, what had not is, and the result
//! is stored once, wherever between the last completion and the result it happens.

use splitrace_invariants::Outcome;
use splitrace_runtime::config::NANOS_PER_MILLI;
use splitrace_runtime::event::{CheckpointContents, Event, EventKind};
use splitrace_runtime::ids::{ActorId, ExecutionAttemptId, OperatorUid, ProcessId, SubtaskId};
use splitrace_sim::choices::SeedChoices;
use splitrace_sim::run::run_with;
use splitrace_sim::scenario::{DemoMode, DemoOptions, FaultConfig, Scenario};
use std::collections::BTreeSet;

const SUBTASKS: u32 = 3;

/// Two sources with three subtasks each, one far shorter, and one loss of the job manager at any time.
fn scenario() -> Scenario {
    let options = DemoOptions {
        delay_ms: 5,
        interval_ms: 15,
        restart_delay_ms: 1,
        splits: 4,
        records_per_split: 3,
        parallelism: SUBTASKS,
        ..DemoOptions::default()
    };
    let mut scenario = Scenario::demo(DemoMode::Normal, options);
    let mut longer = scenario.job.vertices[0].clone();
    longer.operator = OperatorUid(1);
    longer.source.records_per_split = 20;
    scenario.job.vertices.push(longer);
    // So slow that there is a while between the last completion and the result.
    scenario.network.latency_min_ns = 4 * NANOS_PER_MILLI;
    scenario.faults = FaultConfig {
        job_manager_crashes_max: 1,
        down_time_max_ns: 20 * NANOS_PER_MILLI,
        plan_until_ns: 750 * NANOS_PER_MILLI,
        heal_after_ns: 900 * NANOS_PER_MILLI,
        ..FaultConfig::NONE
    };
    scenario
}

/// How much of the job had finished in the checkpoint that the next leader restores.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Finished {
    Nothing,
    SomeSubtasks,
    WholeVertex,
}

fn finished(contents: &CheckpointContents) -> Finished {
    let of =
        |vertex| contents.finished.iter().filter(|subtask| subtask.vertex == OperatorUid(vertex)).count();
    match [of(0), of(1)] {
        [0, 0] => Finished::Nothing,
        counts if counts.contains(&(SUBTASKS as usize)) => Finished::WholeVertex,
        _ => Finished::SomeSubtasks,
    }
}

/// What one run showed of the loss.
#[derive(Default)]
struct Loss {
    restored: Option<Finished>,
    after_last_completion: bool,
    /// Deployed after the loss, though its vertex had wholly finished in what was restored.
    run_again: Vec<ExecutionAttemptId>,
    results: u32,
}

/// Watches a run.
#[derive(Default)]
struct Watch {
    at_end_of_input: BTreeSet<SubtaskId>,
    latest: Option<CheckpointContents>,
    latest_is_last: bool,
    loss: Loss,
}

impl Watch {
    fn see(&mut self, event: &Event) {
        match &event.kind {
            EventKind::EndOfInput => {
                if let ActorId::Task(attempt) = event.header.actor {
                    self.at_end_of_input.insert(attempt.subtask_id());
                }
            }
            EventKind::CheckpointCompleted { contents, .. } => {
                self.latest = Some((**contents).clone());
                self.latest_is_last = self.at_end_of_input.len() == 2 * SUBTASKS as usize;
            }
            EventKind::ProcessCrashed { address }
                if address.process == ProcessId::JobManager && self.loss.results == 0 =>
            {
                self.loss.restored = self.latest.as_ref().map(finished);
                self.loss.after_last_completion = self.latest_is_last;
            }
            EventKind::TaskDeployed { attempt, .. } if self.loss.restored == Some(Finished::WholeVertex) => {
                let contents = self.latest.as_ref().expect("it was restored");
                if contents.finished.iter().filter(|subtask| subtask.vertex == attempt.vertex).count()
                    == SUBTASKS as usize
                {
                    self.loss.run_again.push(*attempt);
                }
            }
            EventKind::JobEnded { .. } => self.loss.results += 1,
            _ => {}
        }
    }
}

#[test]
fn a_loss_of_the_job_manager_around_the_end_costs_nothing() {
    let scenario = scenario();
    let mut by_finished = std::collections::BTreeMap::<Finished, u32>::new();
    let mut between = 0;
    for seed in 0..400 {
        let mut watch = Watch::default();
        let report = run_with(&scenario, SeedChoices::new(seed), Some(&mut |event: &Event| watch.see(event)));
        assert_eq!(report.outcome, Outcome::Passed, "seed {seed}");
        assert_eq!((report.records.duplicates, report.records.missing), (0, 0), "seed {seed}");
        assert_eq!(watch.loss.results, 1, "seed {seed}: the result is stored once");
        assert_eq!(watch.loss.run_again, [], "seed {seed}: what had wholly finished is not run again");
        between += u32::from(watch.loss.after_last_completion);
        if let Some(finished) = watch.loss.restored {
            *by_finished.entry(finished).or_default() += 1;
        }
    }
    println!("{by_finished:?}, {between} between the last completion and the result");
    for finished in [Finished::Nothing, Finished::SomeSubtasks, Finished::WholeVertex] {
        assert!(by_finished.get(&finished).is_some_and(|count| *count >= 20), "{by_finished:?}");
    }
    assert!(between >= 10, "{between}");
}
