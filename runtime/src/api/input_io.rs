//! What sources ask of the outside that they read, and what they are told, whatever that is.

use super::file_io::{FileAnswer, FileOperation};
use super::log_io::{LogReadAnswer, LogReadOperation};
use serde::{Deserialize, Serialize};

/// One thing asked. It changes nothing outside.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum InputOperation {
    /// Of files.
    File(FileOperation),
    /// Of a log.
    Log(LogReadOperation),
}

/// What became of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum InputAnswer {
    /// Of files.
    File(FileAnswer),
    /// Of a log.
    Log(LogReadAnswer),
}

impl InputAnswer {
    /// How many bytes of a file it brings.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        match self {
            Self::File(FileAnswer::Bytes(bytes)) => bytes.len() as u64,
            Self::File(_) | Self::Log(_) => 0,
        }
    }
}
