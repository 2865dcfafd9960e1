//! What a file source reads.

use crate::connectors::file_source::RecordFormat;
use serde::{Deserialize, Serialize};

/// The files of a source, and how they are cut into splits.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSourceConfig {
    /// All files under this folder; empty for the root that the host gives to the source.
    pub folder: String,
    /// A file that can be cut is cut into parts of so many bytes; at least 1.
    pub block_bytes: u64,
    /// How a part is read.
    pub reader: FileReaderConfig,
    /// Nanoseconds between two looks for new files. `None` looks once: the source ends behind what is there then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery_period_ns: Option<u64>,
}

/// How a reader reads its splits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileReaderConfig {
    /// How records lie in the files.
    pub format: RecordFormat,
    /// So many bytes are read at a time; at least 1.
    pub chunk_bytes: u64,
}
