//! The traits that connector authors implement, typed, and the adapters that turn them into bytes for the protocol.

pub mod file_io;
pub mod input_io;
pub mod log_io;
pub mod sink;
pub mod snapshots_io;
pub mod source;
pub mod source_state;
pub mod table_io;
pub mod user_code;
