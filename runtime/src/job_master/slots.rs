//! Slots: how much of the job one task manager holds.
//!
//! Subtasks of one index share a slot, whatever their vertex (Flink's default `SlotSharingGroup`), so a job needs as many
//! slots as its widest vertex has subtasks. A deployment that finds no free slot waits until a task manager registers or
//! something ends. Refused: Flink's `slot.request.timeout`, after which the job fails. Whoever starts a job checks that it
//! fits its task managers, and what is missing comes back with the one that is down.

use super::main_thread::MainThread;
use crate::defects::Defect;
use crate::ids::{ProcessAddress, SubtaskId, SubtaskIndex};
use std::collections::BTreeSet;

impl MainThread {
    /// The slots of a task manager that are taken.
    fn taken_slots(&self, address: ProcessAddress) -> BTreeSet<SubtaskIndex> {
        let on_it = self.graph.on_task_manager(address);
        on_it.into_iter().map(|index| self.graph.get(index).subtask().subtask).collect()
    }

    /// Whether all of these could be deployed now.
    pub(super) fn has_slots_for(&self, subtasks: &[SubtaskId]) -> bool {
        if self.task_managers.len() == 0 {
            return false;
        }
        let Some(room) = self.slots() else { return true };
        let mut wanted: BTreeSet<SubtaskIndex> = subtasks.iter().map(|subtask| subtask.subtask).collect();
        let mut free = 0;
        for address in self.task_managers.addresses() {
            let taken = self.taken_slots(address);
            free += room.saturating_sub(taken.len());
            wanted.retain(|index| !taken.contains(index));
        }
        wanted.len() <= free
    }

    /// The task manager for a subtask: the one that holds its index already, or else the one with the least work among
    /// those with a free slot, the first of equals.
    ///
    /// # Panics
    /// When no slot is free: see [`Self::has_slots_for`].
    pub(super) fn task_manager_for(&self, subtask: SubtaskId) -> ProcessAddress {
        let load = |address: ProcessAddress| self.graph.on_task_manager(address).len();
        let addresses = || self.task_managers.addresses();
        let place = match self.slots() {
            None => addresses().min_by_key(|address| load(*address)),
            Some(room) => {
                let sharing =
                    addresses().find(|address| self.taken_slots(*address).contains(&subtask.subtask));
                let has_room = |address: &ProcessAddress| self.taken_slots(*address).len() < room;
                sharing.or_else(|| addresses().filter(has_room).min_by_key(|address| load(*address)))
            }
        };
        place.expect("deployments wait for a free slot")
    }

    /// The slots of each task manager; `None` where nobody counts them.
    fn slots(&self) -> Option<usize> {
        let slots = self.config.slots_per_task_manager?;
        debug_assert!(slots > 0, "a task manager has a slot");
        (!self.config.defects.has(Defect::SlotsNotCounted)).then_some(slots as usize)
    }
}
