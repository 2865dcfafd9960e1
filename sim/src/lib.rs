//! The simulated world: virtual clock, network, faults, outside systems, choices, search and replay.

pub mod outside;
