//! Connectors, as pure logic.

pub mod range_source;
pub mod two_phase_sink;
