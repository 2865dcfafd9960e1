//! The faults of this host: nodes killed and restarted, links clogged, datagrams lost; all of it ends before the healing.

use crate::chance;
use crate::court::{FIRST_TASK_MANAGER, JOB_MANAGER, Setup};
use crate::node::now_ns;
use madsim::net::NetSim;
use madsim::runtime::Handle;
use madsim::task::NodeId;
use splitrace_runtime::config::NANOS_PER_MILLI;
use splitrace_runtime::event::FaultKind;

const TASK_MANAGER_CRASHES_MAX: u64 = 3;
const JOB_MANAGER_CRASHES_MAX: u64 = 2;
const CLOGS_MAX: u64 = 3;
const DOWN_TIME_MAX_NS: u64 = 200 * NANOS_PER_MILLI;
const CLOG_MAX_NS: u64 = 600 * NANOS_PER_MILLI;

/// Something that the harness does at a time.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// Kill a node, at once or in the middle of its next turn.
    Crash { index: usize, in_turn: bool },
    /// Start a killed node again.
    Restart { index: usize },
    /// Let nothing through from one node to another.
    Clog { from: usize, to: usize },
    /// Let it through again.
    Unclog { from: usize, to: usize },
    /// From here on everything works.
    Heal,
}

/// What breaks in a run, and when.
#[derive(Debug)]
pub(crate) struct Faults {
    nodes: Vec<NodeId>,
    actions: Vec<(u64, Action)>,
    crash_count: u32,
    clog_count: u32,
}

impl Faults {
    /// Draws a plan. Crashes hit the first `until_ns`; healing comes at `heal_ns`.
    pub fn plan(setup: &Setup, nodes: Vec<NodeId>, until_ns: u64, heal_ns: u64) -> Self {
        debug_assert!(until_ns <= heal_ns, "faults end with the healing");
        let mut faults = Self { nodes, actions: Vec::new(), crash_count: 0, clog_count: 0 };
        let task_managers = u64::from(setup.job.task_managers);
        for _ in 0..chance::below(TASK_MANAGER_CRASHES_MAX + 1) {
            let index = FIRST_TASK_MANAGER + chance::below(task_managers) as usize;
            faults.plan_crash(index, until_ns);
        }
        for _ in 0..chance::below(JOB_MANAGER_CRASHES_MAX + 1) {
            faults.plan_crash(JOB_MANAGER, until_ns);
        }
        for _ in 0..chance::below(CLOGS_MAX + 1) {
            faults.plan_clog(until_ns);
        }
        faults.at(heal_ns, Action::Heal);
        faults
    }

    fn plan_crash(&mut self, index: usize, until_ns: u64) {
        let in_turn = chance::below(2) == 1;
        self.at(chance::below(until_ns), Action::Crash { index, in_turn });
    }

    /// A clog is one-way or both ways.
    fn plan_clog(&mut self, until_ns: u64) {
        let count = self.nodes.len() as u64;
        let from = chance::below(count);
        let to = (from + 1 + chance::below(count - 1)) % count;
        let (from, to) = (from as usize, to as usize);
        let begin_ns = chance::below(until_ns);
        let end_ns = begin_ns + chance::within(NANOS_PER_MILLI, CLOG_MAX_NS);
        self.at(begin_ns, Action::Clog { from, to });
        self.at(end_ns, Action::Unclog { from, to });
        if chance::below(2) == 1 {
            self.at(begin_ns, Action::Clog { from: to, to: from });
            self.at(end_ns, Action::Unclog { from: to, to: from });
        }
    }

    fn at(&mut self, due_ns: u64, action: Action) {
        self.actions.push((due_ns, action));
    }

    /// Does what is due, and kills the nodes that stopped in the middle of a turn.
    pub fn tick(&mut self, setup: &Setup) {
        let now_ns = now_ns();
        for index in 0..self.nodes.len() {
            if setup.court().is_crash_due(index) {
                self.kill(setup, index, now_ns);
            }
        }
        let is_due = |(due_ns, _): &(u64, Action)| *due_ns <= now_ns;
        let (mut due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.actions).into_iter().partition(is_due);
        self.actions = later;
        due.sort_by_key(|(due_ns, _)| *due_ns);
        for (_, action) in due {
            self.perform(setup, action, now_ns);
        }
    }

    fn perform(&mut self, setup: &Setup, action: Action, now_ns: u64) {
        tracing::debug!(?action, now_ns, "fault");
        let network = NetSim::current();
        match action {
            Action::Crash { index, .. } if !setup.court().is_alive(index) => {}
            Action::Crash { index, in_turn: true } => setup.court().arm_crash(index),
            Action::Crash { index, in_turn: false } => self.kill(setup, index, now_ns),
            Action::Restart { index } => Handle::current().restart(self.nodes[index]),
            Action::Clog { from, to } => {
                self.clog_count += 1;
                setup.court().tell_fault(FaultKind::Partition, now_ns);
                network.clog_link(self.nodes[from], self.nodes[to]);
            }
            Action::Unclog { from, to } => network.unclog_link(self.nodes[from], self.nodes[to]),
            Action::Heal => self.heal(setup, now_ns),
        }
    }

    fn kill(&mut self, setup: &Setup, index: usize, now_ns: u64) {
        debug_assert!(index == JOB_MANAGER || index >= FIRST_TASK_MANAGER, "outside systems do not die");
        self.crash_count += 1;
        setup.court().end_life(index, now_ns);
        Handle::current().kill(self.nodes[index]);
        let restart_ns = now_ns + chance::within(NANOS_PER_MILLI, DOWN_TIME_MAX_NS);
        self.at(restart_ns, Action::Restart { index });
    }

    fn heal(&mut self, setup: &Setup, now_ns: u64) {
        let network = NetSim::current();
        network.update_config(|config| config.packet_loss_rate = 0.0);
        for from in &self.nodes {
            for to in self.nodes.iter().filter(|to| *to != from) {
                network.unclog_link(*from, *to);
            }
        }
        // Crashes and clogs were planned for before; what is left of them is the way back up.
        self.actions.retain(|(_, action)| matches!(action, Action::Restart { .. }));
        setup.court().disarm_crashes();
        setup.court().heal(now_ns);
    }

    /// Kills every node, so that what they hold is freed once their timers have fired.
    pub fn kill_all(&self) {
        for node in &self.nodes {
            Handle::current().kill(*node);
        }
    }

    /// How many nodes were killed.
    pub const fn crash_count(&self) -> u32 {
        self.crash_count
    }

    /// How many directed links were clogged.
    pub const fn clog_count(&self) -> u32 {
        self.clog_count
    }
}
