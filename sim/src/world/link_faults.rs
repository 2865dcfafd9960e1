//! Applying faults of links: partitions, clogs, swizzles, slow links.
//!
//! **Fault budget.** As many partitions, clogs and swizzles as are planned, each over before its longest time and at
//! healing at the latest; any link may be slow until then. Several at once on one link act like the longest. Every link
//! may break, those of the outside systems as well. No protocol could survive a link that never heals: the job would
//! neither get through nor be allowed to give up. Afterwards the protocol owes what it owed before: sessions resend,
//! and what they gave up is made good by a restart.

use super::World;
use super::faults::PlannedFault;
use crate::choices::{ChoiceKind, Choices, Draw, Label, Subject};
use splitrace_runtime::event::FaultKind;
use splitrace_runtime::ids::ProcessId;

/// Times are drawn on so many steps.
const GRID: u64 = 64;

impl World {
    /// Draws which links are slow, and how slow.
    pub(super) fn plan_slow_links(&mut self, choices: &mut dyn Choices) {
        let links = self.scenario.faults.links;
        if links.slow.numerator == 0 {
            return;
        }
        let processes: Vec<ProcessId> = self.processes.iter().map(|process| process.id).collect();
        for from in &processes {
            for to in processes.iter().filter(|to| *to != from) {
                let label = Label::new(ChoiceKind::SlowLink, Subject::Link(*from, *to));
                let steps = choices.choose(label, super::faults::draw(links.slow, GRID));
                self.network.link(*from, *to).slow_ns = links.slow_max_ns * steps / GRID;
            }
        }
    }

    /// A link loses everything for a while, or holds it back; every other time both ways.
    pub(super) fn cut_a_link(&mut self, fault: FaultKind, choices: &mut dyn Choices) {
        debug_assert!(matches!(fault, FaultKind::Partition | FaultKind::Clog));
        let holds = fault == FaultKind::Clog;
        let faults = self.scenario.faults;
        let label = Label::new(ChoiceKind::FaultTarget, Subject::Fault(fault));
        let count = self.processes.len() as u64;
        let first = choices.choose(label, Draw::Below(count)) as usize;
        let second = (first + 1 + choices.choose(label, Draw::Below(count - 1)) as usize) % count as usize;
        let is_two_way = choices.choose(label, Draw::Below(2)) == 1;
        let length = Label::new(ChoiceKind::PartitionLength, Subject::Fault(fault));
        let steps = 1 + choices.choose(length, Draw::Below(GRID));
        let longest_ns = if holds { faults.links.clog_max_ns } else { faults.partition_max_ns };
        let until_ns = self.now_ns + longest_ns * steps / GRID;
        let (first, second) = (self.processes[first].id, self.processes[second].id);
        debug_assert_ne!(first, second, "a link has two ends");
        self.network.cut(first, second, until_ns, holds);
        if is_two_way {
            self.network.cut(second, first, until_ns, holds);
        }
        self.tell_fault(fault, None);
    }

    /// Some processes are clogged one by one and released one by one, in an order that has nothing to do with the first:
    /// so each pair of them is apart for a time of its own.
    pub(super) fn swizzle(&mut self, choices: &mut dyn Choices) {
        let label = Label::new(ChoiceKind::FaultTarget, Subject::Fault(FaultKind::Swizzle));
        let half_ns = self.scenario.faults.links.clog_max_ns / 2;
        let mut clogged = 0;
        for index in 0..self.processes.len() {
            if choices.choose(label, Draw::Below(2)) == 0 {
                continue;
            }
            let begins_ns = self.now_ns + half_ns * choices.choose(label, Draw::Below(GRID)) / GRID;
            let ends_ns =
                self.now_ns + half_ns + half_ns * (1 + choices.choose(label, Draw::Below(GRID))) / GRID;
            debug_assert!(begins_ns <= ends_ns, "all are clogged before the first is released");
            let process = self.processes[index].id;
            self.schedule_fault(begins_ns, PlannedFault::ClogProcess { process, until_ns: ends_ns });
            clogged += 1;
        }
        if clogged > 0 {
            self.tell_fault(FaultKind::Swizzle, None);
        }
    }

    /// Every link of a process, both ways, holds back what it carries.
    pub(super) fn clog_process(&mut self, process: ProcessId, until_ns: u64) {
        for index in 0..self.processes.len() {
            let other = self.processes[index].id;
            if other != process {
                self.network.cut(process, other, until_ns, true);
                self.network.cut(other, process, until_ns, true);
            }
        }
    }
}
