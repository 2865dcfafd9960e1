//! The simulated world: virtual clock, network, faults, outside systems, choices, runs and replay.
//!
//! A run is fully determined by a [`scenario::Scenario`] and [`choices::Choices`]: the same two give the same trace hash on
//! any machine, in any build, the first time and the thousandth. Nothing here reads a clock, the environment or ambient
//! randomness, and no state is global.

pub mod choices;
pub mod demonstrations;
pub mod explore;
pub mod input_file;
pub mod judge;
pub mod outside;
pub mod points;
pub mod replay;
pub mod run;
pub mod scenario;
pub mod shrink;
pub mod testing;
pub mod trace_hash_text;
pub mod twice;
pub mod world;
pub mod yardstick;
