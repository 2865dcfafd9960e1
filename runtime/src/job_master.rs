//! The job manager's main thread: job master, executions, failover, leadership.
//!
//! One actor, [`MainThread`], because Flink runs job master, checkpoint coordinator, holders and gateways in one thread,
//! and the order 'abort, then reset' rests on it (FACT 28). Each concern has its file; what needs several of them is an
//! `impl MainThread` in the file of the concern that drives it.

mod checkpoints;
mod deployment;
mod execution;
mod execution_graph;
mod failover;
mod heartbeats;
mod job_end;
mod leadership;
mod main_thread;
mod restart_strategy;
mod slots;
mod waiting;

#[cfg(test)]
mod tests;

pub use main_thread::MainThread;
