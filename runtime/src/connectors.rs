//! Connectors, as pure logic.

pub mod file_sink;
pub mod file_source;
pub mod range_source;
pub mod two_phase_sink;
