//! The exactly-once source/sink protocol of streaming engines, as Apache Flink 2.3.0 runs it, as pure state machines.
//!
//! Every role is a single-threaded state machine ([`actor::Actor`]): it takes one input, changes its own state and puts
//! outputs into an outbox. Hosts carry the roles: the simulated world of `splitrace-sim`, and madsim. What was refused:
//! async roles (they cannot be forked, hashed or compared) and roles that are generic over user types (states and
//! splits cross as versioned bytes, as in Flink; [`api`] is the typed facade).

pub mod actor;
pub mod api;
pub mod checkpointing;
pub mod config;
pub mod connectors;
pub mod coordination;
pub mod defects;
pub mod encoding;
pub mod event;
pub mod exchange;
pub mod ids;
pub mod job_master;
pub mod message;
pub mod reader_base;
pub mod records;
pub mod session;
pub mod task;
pub mod task_manager;
pub mod topology;
