//! What the network remembers of its links: the truth (frames, order) and, apart from it, what a fault does to them now.
//!
//! The two are kept apart so that healing is exact. A frame that a fault makes late is noted with the time at which it
//! would have arrived; when faults end, it arrives then, or at once.

use super::pending::ItemKey;
use super::process::index_of;
use splitrace_runtime::event::FaultKind;
use splitrace_runtime::ids::{Incarnation, ProcessId};

/// All directed links.
#[derive(Clone, Debug)]
pub(super) struct Network {
    count: usize,
    links: Vec<Link>,
    pub(super) reorder_told: bool,
    /// The newest life of the job manager that each process has heard of.
    pub(super) leaders_heard: Vec<Incarnation>,
    pub(super) stale_told: Vec<FaultKind>,
    /// The room in which frames are encoded.
    pub(super) wire: Vec<u8>,
    late: Vec<Late>,
}

/// One directed link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Link {
    /// How many frames it has carried.
    pub frames: u64,
    /// When the last of them arrives.
    pub last_due_ns: u64,
    /// When the last of them would arrive without faults.
    last_healthy_due_ns: u64,
    /// Until then it lets nothing through.
    pub cut_until_ns: u64,
    /// Whether it holds frames back meanwhile, instead of losing them.
    pub holds: bool,
    /// Frames take up to so much longer.
    pub slow_ns: u64,
    /// Whether it was told that it is slow.
    pub slow_told: bool,
}

impl Link {
    /// When a frame arrives if nothing befalls it, given its latency; in order behind the last one where the link keeps
    /// order.
    pub fn healthy_due_ns(&mut self, due_ns: u64, keeps_order: bool) -> u64 {
        if !keeps_order {
            return due_ns;
        }
        self.last_healthy_due_ns = due_ns.max(self.last_healthy_due_ns + 1);
        self.last_healthy_due_ns
    }
}

/// A frame that a fault makes late.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    /// The pending frame.
    pub key: ItemKey,
    /// Its tie.
    pub tie: u64,
    /// When it would arrive without faults.
    pub healthy_due_ns: u64,
}

impl Network {
    /// As many links as pairs of processes.
    pub fn new(task_managers: u32) -> Self {
        let count = 3 + task_managers as usize;
        Self {
            count,
            links: vec![Link::default(); count * count],
            reorder_told: false,
            leaders_heard: vec![Incarnation(0); count],
            stale_told: Vec::new(),
            wire: Vec::new(),
            late: Vec::new(),
        }
    }

    pub fn link(&mut self, from: ProcessId, to: ProcessId) -> &mut Link {
        &mut self.links[index_of(from) * self.count + index_of(to)]
    }

    /// A directed link loses everything, or holds it back. What was cut for longer stays so.
    pub fn cut(&mut self, from: ProcessId, to: ProcessId, until_ns: u64, holds: bool) {
        let link = self.link(from, to);
        if until_ns > link.cut_until_ns {
            link.cut_until_ns = until_ns;
            link.holds = holds;
        }
    }

    /// Notes a frame that a fault makes late.
    pub fn note_late(&mut self, late: Late) {
        self.late.push(late);
    }

    /// Every link is as it is without faults; answers the frames that were made late, in the order of their sending.
    pub fn heal(&mut self) -> Vec<Late> {
        for link in &mut self.links {
            link.cut_until_ns = 0;
            link.slow_ns = 0;
            link.last_due_ns = link.last_healthy_due_ns;
        }
        std::mem::take(&mut self.late)
    }

    /// Feeds what later frames depend on into `hasher`.
    pub fn fingerprint(&self, now_ns: u64, hasher: &mut dyn std::hash::Hasher) {
        for link in &self.links {
            hasher.write_u64(link.cut_until_ns.saturating_sub(now_ns));
            hasher.write_u64(link.last_due_ns.saturating_sub(now_ns));
            hasher.write_u64(link.slow_ns);
            hasher.write_u8(u8::from(link.holds));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_keeps_order_keeps_it_without_faults_too() {
        let mut link = Link::default();
        assert_eq!([7, 3, 9].map(|due_ns| link.healthy_due_ns(due_ns, true)), [7, 8, 9]);
        assert_eq!([7, 3, 9].map(|due_ns| link.healthy_due_ns(due_ns, false)), [7, 3, 9]);
    }

    #[test]
    fn healing_leaves_nothing_of_a_fault() {
        let mut network = Network::new(1);
        let (from, to) = (ProcessId::JobManager, ProcessId::TaskManager(0));
        network.cut(from, to, 9, true);
        network.cut(from, to, 5, false);
        assert!(network.link(from, to).holds, "the longer cut counts");
        network.link(from, to).slow_ns = 3;
        network.link(from, to).last_due_ns = 9;
        assert!(network.heal().is_empty());
        let link = network.link(from, to);
        assert_eq!((link.cut_until_ns, link.slow_ns, link.last_due_ns), (0, 0, 0));
        assert_eq!(network.link(to, from).cut_until_ns, 0, "a link is directed");
    }
}
