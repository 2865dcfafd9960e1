//! The task manager's endpoint.
