//! C5: what a completed checkpoint covers becomes visible within the bound that its sink states. A two-phase sink commits
//! when the notice of the completion arrives, so its bound is the time that a notice and a commit may take
//! ([`RunSetup::visible_within_ns`]). A notice that was lost moves it to the next completed checkpoint, a restart to that
//! restart; faults that have not stopped excuse everything.
//!
//! A sink whose writer keeps work for longer than a checkpoint, as a file sink with a rolling policy does, states a second
//! bound: until when a completed checkpoint holds that work as a committable ([`RunSetup::handed_over_within_ns`]).
//!
//! An invariant about time is judged by virtual time, and only at the end of the run: from the set of what happened when,
//! so that the order in which events of different processes are told cannot matter. What became visible in time is
//! forgotten at once; what is kept are the few that were late. After the job's end nobody owes anything: what is left then
//! is C2's matter.

use crate::checker::{Checker, Docket, RunEnd, RunSetup};
use crate::code::Code;
use crate::kinds::{Kind, KindSet};
use crate::lineage::Lineage;
use crate::transaction_names::TransactionNames;
use crate::untimed::Untimed;
use crate::violation::{Subject, Violation};
use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{CheckpointId, TransactionName};
use std::collections::BTreeMap;

/// What a completed checkpoint covers and what was not visible in time.
#[derive(Clone, Copy, Debug, Hash)]
struct Covered {
    checkpoint: CheckpointId,
    since_ns: u64,
    /// Within this time it is to be visible, or to be handed to the committer.
    within_ns: u64,
    is_committable: bool,
    visible_ns: Option<u64>,
}

/// That what is complete is soon visible.
#[derive(Clone, Debug, Hash)]
pub struct Freshness {
    docket: Docket,
    within_ns: u64,
    handed_over_within_ns: u64,
    /// Whether a subtask may leave before it hears of a completion (FACT 97).
    leaves_early: bool,
    broken: bool,
    healed_ns: Untimed<Option<u64>>,
    /// From here on nothing is owed.
    over_ns: Untimed<Option<u64>>,
    visible: TransactionNames,
    covered: Untimed<BTreeMap<TransactionName, Covered>>,
    /// How many were visible in time.
    in_time: Untimed<u64>,
    /// When checkpoints completed, and when tasks were deployed.
    completed_ns: Untimed<Vec<u64>>,
    deployed_ns: Untimed<Vec<u64>>,
    lineage: Lineage,
}

impl Freshness {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(setup: &RunSetup) -> Self {
        Self {
            docket: Docket::new(setup, Code::C5),
            within_ns: setup.visible_within_ns,
            handed_over_within_ns: setup.handed_over_within_ns,
            leaves_early: !setup.promise.input.after_tasks_finish,
            broken: false,
            healed_ns: Untimed(None),
            over_ns: Untimed(None),
            visible: TransactionNames::default(),
            covered: Untimed(BTreeMap::new()),
            in_time: Untimed(0),
            completed_ns: Untimed(Vec::new()),
            deployed_ns: Untimed(Vec::new()),
            lineage: Lineage::new(setup),
        }
    }

    fn show(&mut self, name: TransactionName, now_ns: u64) {
        self.visible.insert(name);
        let Some(covered) = self.covered.get_mut(&name) else { return };
        if now_ns <= covered.since_ns.saturating_add(covered.within_ns) {
            self.covered.remove(&name);
            *self.in_time += 1;
        } else {
            covered.visible_ns.get_or_insert(now_ns);
        }
    }

    /// A completed checkpoint holds this work, as a committable or still in its writer's state.
    fn cover(&mut self, name: TransactionName, checkpoint: CheckpointId, is_committable: bool, now_ns: u64) {
        if self.visible.contains(name) {
            return;
        }
        let within_ns = if is_committable { self.within_ns } else { self.handed_over_within_ns };
        let covered = Covered { checkpoint, since_ns: now_ns, within_ns, is_committable, visible_ns: None };
        let held = self.covered.entry(name).or_insert(covered);
        let in_time = now_ns <= held.since_ns.saturating_add(held.within_ns);
        if is_committable && !held.is_committable && in_time {
            *held = covered;
            *self.in_time += 1;
        }
    }

    /// From when on its visibility was owed; `None` when it never was.
    fn due_ns(&self, covered: &Covered, until_ns: u64) -> Option<u64> {
        let healed_ns = if self.broken { (*self.healed_ns)? } else { 0 };
        let due_ns = if covered.since_ns >= healed_ns {
            covered.since_ns
        } else {
            // Its notice may have been lost: the next one is not.
            let later =
                self.completed_ns.iter().chain(self.deployed_ns.iter()).filter(|at_ns| **at_ns >= healed_ns);
            later.copied().min()?
        };
        let restarts = self.deployed_ns.iter().filter(|at_ns| **at_ns <= until_ns);
        Some(restarts.copied().max().unwrap_or(0).max(due_ns))
    }
}

impl Checker for Freshness {
    const CODE: Code = Code::C5;
    const READS: KindSet = KindSet::of(&[
        Kind::TaskDeployed,
        Kind::EndOfInput,
        Kind::FaultInjected,
        Kind::Healed,
        Kind::JobEnded,
    ])
    .with(Lineage::READS);

    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn read(&mut self, event: &Event) -> Result<(), Violation> {
        let now_ns = event.header.virtual_time_ns;
        if self.lineage.observe(event) {
            let lineage = &self.lineage;
            self.visible = lineage.visible().clone();
            self.covered.retain(|name, _| lineage.covers(*name));
        }
        match &event.kind {
            EventKind::CheckpointCompleted { checkpoint, contents } => {
                self.completed_ns.push(now_ns);
                let committables = contents.committables.iter().map(|(_, name, _)| (name, true));
                let kept = contents.writers.iter().map(|(_, name, _)| (name, false));
                for (name, is_committable) in committables.chain(kept) {
                    self.cover(*name, *checkpoint, is_committable, now_ns);
                }
            }
            EventKind::BecameVisible { transaction, epoch, .. }
                if !self.lineage.leaves_behind(*transaction, *epoch) =>
            {
                self.show(*transaction, now_ns);
            }
            EventKind::TaskDeployed { .. } => self.deployed_ns.push(now_ns),
            EventKind::FaultInjected { .. } => self.broken = true,
            EventKind::Healed => *self.healed_ns = Some(now_ns),
            EventKind::EndOfInput if !self.leaves_early => {}
            EventKind::EndOfInput | EventKind::JobEnded { .. } => {
                *self.over_ns = Some(self.over_ns.map_or(now_ns, |over_ns| over_ns.min(now_ns)));
            }
            // The job goes on, and its restart is what counts.
            EventKind::JobSubmitted { .. } => *self.over_ns = None,
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, end: &RunEnd) -> Result<(), Violation> {
        if !self.docket.is_open() {
            return Ok(());
        }
        self.docket.judged_times(*self.in_time);
        let over_ns = self.over_ns.unwrap_or(end.at.virtual_time_ns);
        for (name, covered) in self.covered.iter() {
            let until_ns = covered.visible_ns.unwrap_or(u64::MAX).min(over_ns);
            let Some(due_ns) = self.due_ns(covered, until_ns) else { continue };
            self.docket.judged();
            let late_ns = until_ns.saturating_sub(due_ns);
            if late_ns > covered.within_ns {
                let what = if covered.is_committable { "visible" } else { "handed to the committer" };
                let sentence = format!(
                    "{} holds {name}, which was not {what} {} ms after that was owed; its sink promises {} ms",
                    covered.checkpoint,
                    late_ns / 1_000_000,
                    covered.within_ns / 1_000_000
                );
                return Err(Violation::new(Code::C5, Subject::Transaction(*name), end.at, sentence));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "c5_freshness_tests.rs"]
mod tests;
