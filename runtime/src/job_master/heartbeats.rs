//! Which task managers are there, and which have fallen silent.
//!
//! Silence is counted in heartbeat checks, one per interval, so that no role needs a clock: a task manager is dead once
//! the checks since its last heartbeat span more than the timeout.

use super::execution::Phase;
use super::main_thread::MainThread;
use crate::actor::{Effect, Outbox};
use crate::config::HeartbeatConfig;
use crate::ids::{ProcessAddress, ProcessId};
use crate::message::{ExecutionState, Stream, TaskManagerMessage, Timer};
use std::collections::BTreeMap;

/// After so many heartbeat timeouts an execution that was told to stop and has not answered is taken for gone: its
/// answer was lost for good. What may still run of it is fenced by its attempt.
pub(super) const CANCELLATION_HEARTBEAT_TIMEOUTS: u32 = 5;
/// After so many heartbeat timeouts an execution that was deployed and has not registered, or that was not found where it
/// should run and has not told how it ended, is failed: its deployment, its first or its last message was lost for good.
/// Twice the above, because a restore may wait for a slow store.
pub(super) const WORD_HEARTBEAT_TIMEOUTS: u32 = 10;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Registered {
    address: ProcessAddress,
    silent_checks: u32,
}

/// A task manager that is heard and not registered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Stranger {
    address: ProcessAddress,
    /// Its heartbeats go unanswered for so many checks: a registration may be on its way.
    patience: u32,
}

/// The registered task managers, by index.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct TaskManagers {
    timeout_checks: u32,
    registered: BTreeMap<u32, Registered>,
    strangers: BTreeMap<u32, Stranger>,
}

impl TaskManagers {
    pub(super) fn new(config: HeartbeatConfig) -> Self {
        debug_assert!(config.interval_ns > 0, "heartbeats need an interval");
        let timeout_checks = config.timeout_ns.div_ceil(config.interval_ns.max(1)).max(1);
        let timeout_checks = u32::try_from(timeout_checks).unwrap_or(u32::MAX / WORD_HEARTBEAT_TIMEOUTS);
        Self { timeout_checks, registered: BTreeMap::new(), strangers: BTreeMap::new() }
    }

    /// Heartbeat checks in one heartbeat timeout, rounded up.
    pub(super) const fn timeout_checks(&self) -> u32 {
        self.timeout_checks
    }

    pub(super) fn len(&self) -> usize {
        self.registered.len()
    }

    /// The addresses in the order of their indices.
    pub(super) fn addresses(&self) -> impl Iterator<Item = ProcessAddress> {
        self.registered.values().map(|registered| registered.address)
    }

    pub(super) fn is_registered(&self, address: ProcessAddress) -> bool {
        index_of(address)
            .and_then(|index| self.registered.get(&index))
            .is_some_and(|held| held.address == address)
    }

    /// Whether a newer life of the same process has been heard of.
    fn is_outlived(&self, index: u32, address: ProcessAddress) -> bool {
        let newer = |known: ProcessAddress| known.incarnation > address.incarnation;
        self.registered.get(&index).is_some_and(|held| newer(held.address))
            || self.strangers.get(&index).is_some_and(|stranger| newer(stranger.address))
    }

    fn register(&mut self, index: u32, address: ProcessAddress) {
        self.strangers.remove(&index);
        self.registered.insert(index, Registered { address, silent_checks: 0 });
    }

    fn declare_dead(&mut self, index: u32) -> Option<ProcessAddress> {
        let address = self.registered.remove(&index)?.address;
        self.strangers.insert(index, Stranger { address, patience: 0 });
        Some(address)
    }

    /// Takes a heartbeat; answers whether the sender must be told to register anew.
    fn heartbeat(&mut self, index: u32, address: ProcessAddress) -> bool {
        if self.is_outlived(index, address) {
            return false;
        }
        if let Some(held) = self.registered.get_mut(&index)
            && held.address == address
        {
            held.silent_checks = 0;
            return false;
        }
        let patience = self.timeout_checks;
        let stranger = self.strangers.entry(index).or_insert(Stranger { address, patience });
        if stranger.address != address {
            *stranger = Stranger { address, patience };
        }
        let disconnect = stranger.patience == 0;
        if disconnect {
            stranger.patience = patience;
        }
        disconnect
    }

    /// One interval has passed; answers the indices of those that have been silent for too long.
    fn check(&mut self) -> Vec<u32> {
        for stranger in self.strangers.values_mut() {
            stranger.patience = stranger.patience.saturating_sub(1);
        }
        let mut dead = Vec::new();
        for (index, held) in &mut self.registered {
            held.silent_checks += 1;
            if held.silent_checks > self.timeout_checks {
                dead.push(*index);
            }
        }
        dead
    }
}

fn index_of(address: ProcessAddress) -> Option<u32> {
    match address.process {
        ProcessId::TaskManager(index) => Some(index),
        ProcessId::JobManager | ProcessId::HighAvailability | ProcessId::Store => None,
    }
}

impl MainThread {
    /// A task manager offers itself. It runs nothing then, so whatever it ran before is lost: it is a new life, or it
    /// was told to drop everything.
    pub(super) fn register_task_manager(&mut self, from: ProcessAddress, out: &mut Outbox) {
        let Some(index) = index_of(from) else { return };
        if self.task_managers.is_outlived(index, from) {
            return;
        }
        if let Some(held) = self.task_managers.registered.get(&index).copied() {
            self.lose_executions(held.address, &format!("{} registered anew as {from}", held.address), out);
            if held.address != from {
                out.effect(Effect::ResetSession { peer: held.address });
            }
        }
        self.task_managers.register(index, from);
        debug_assert!(self.task_managers.is_registered(from), "just registered");
    }

    /// A task manager lives; one that was declared dead is told so.
    pub(super) fn on_heartbeat(&mut self, from: ProcessAddress, out: &mut Outbox) {
        let Some(index) = index_of(from) else { return };
        if self.task_managers.heartbeat(index, from) {
            debug_assert!(!self.task_managers.is_registered(from), "only strangers are sent away");
            let message = self.task_manager_message(TaskManagerMessage::Disconnect);
            out.send(from, Stream::Deployment, message);
        }
    }

    /// One heartbeat interval has passed.
    pub(super) fn on_heartbeat_check(&mut self, out: &mut Outbox) {
        for index in self.task_managers.check() {
            let Some(address) = self.task_managers.declare_dead(index) else { continue };
            self.lose_executions(address, &format!("no heartbeat of {address} in time"), out);
            out.effect(Effect::ResetSession { peer: address });
        }
        self.check_slow_executions(out);
        self.repeat_last_notice(out);
        if self.needs_heartbeats() {
            out.set_timer(Timer::HeartbeatCheck, self.config.heartbeat.interval_ns);
        }
    }

    /// What ran on this life of a task manager runs no more, or must not count any more.
    fn lose_executions(&mut self, address: ProcessAddress, cause: &str, out: &mut Outbox) {
        for index in self.graph.on_task_manager(address) {
            if self.graph.get(index).is_live() {
                self.fail_execution(index, cause.to_owned(), true, out);
            } else if !self.graph.get(index).is_terminal() {
                self.end_execution(index, ExecutionState::Canceled, Some(cause.to_owned()), out);
            }
        }
        self.lose_partitions(address, cause, out);
        debug_assert!(self.graph.on_task_manager(address).is_empty(), "everything on {address} is over");
    }

    /// What a finished task has sent may still have been on its way from there, up to the end of its channels. Whoever
    /// waits for it would wait for ever; whether it has come, only that task knows, so it fails in any case.
    fn lose_partitions(&mut self, address: ProcessAddress, cause: &str, out: &mut Outbox) {
        let finished = self.graph.indices(|execution| {
            execution.phase() == Phase::Finished && execution.task_manager() == Some(address)
        });
        for producer in finished {
            let producer = self.graph.get(producer).subtask();
            for consumer in self.topology.consumers_of(producer) {
                let index = self.graph.index_of(consumer).expect("the graph has the topology's subtasks");
                if self.graph.get(index).is_live() {
                    let cause = format!("what {producer} had sent is lost: {cause}");
                    self.fail_execution(index, cause, true, out);
                }
            }
        }
    }

    fn check_slow_executions(&mut self, out: &mut Outbox) {
        let timeout = self.task_managers.timeout_checks();
        let (cancellation, word) =
            (timeout * CANCELLATION_HEARTBEAT_TIMEOUTS, timeout * WORD_HEARTBEAT_TIMEOUTS);
        let mut slow = Vec::new();
        for (index, execution) in self.graph.executions_mut().iter_mut().enumerate() {
            let limit = match execution.phase() {
                Phase::Canceling => cancellation,
                _ if execution.owes_word() => word,
                _ => continue,
            };
            execution.checks += 1;
            if execution.checks > limit {
                slow.push(index);
            }
        }
        for index in slow {
            if self.graph.get(index).is_live() {
                self.fail_execution(index, "no word of its start or end in time".to_owned(), true, out);
            } else if !self.graph.get(index).is_terminal() {
                let cause = "it did not answer its cancellation in time".to_owned();
                self.end_execution(index, ExecutionState::Canceled, Some(cause), out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Incarnation;

    fn address(incarnation: u32) -> ProcessAddress {
        ProcessAddress { process: ProcessId::TaskManager(4), incarnation: Incarnation(incarnation) }
    }

    fn managers() -> TaskManagers {
        TaskManagers::new(HeartbeatConfig { interval_ns: 10, timeout_ns: 25 })
    }

    #[test]
    fn silence_is_counted_exactly() {
        let mut managers = managers();
        managers.register(4, address(0));
        assert!((0..3).all(|_| managers.check().is_empty()));
        assert!(!managers.heartbeat(4, address(0)));
        assert!((0..3).all(|_| managers.check().is_empty()));
        assert_eq!(managers.check(), [4]);
    }

    #[test]
    fn the_dead_are_disconnected_once_per_timeout_and_older_lives_are_not_heard() {
        let mut managers = managers();
        managers.register(4, address(1));
        assert_eq!(managers.declare_dead(4), Some(address(1)));
        assert!(!managers.heartbeat(4, address(0)), "an older life");
        assert!(managers.heartbeat(4, address(1)));
        assert!(!managers.heartbeat(4, address(1)), "it was told");
        (0..3).for_each(|_| drop(managers.check()));
        assert!(managers.heartbeat(4, address(1)), "the first word may be lost");
        assert!(!managers.heartbeat(4, address(2)), "a new life's registration is on its way");
        assert!(managers.is_outlived(4, address(1)));
    }
}
