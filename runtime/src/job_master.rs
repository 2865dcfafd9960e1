//! The job manager's main thread: job master, executions, failover, leadership.
