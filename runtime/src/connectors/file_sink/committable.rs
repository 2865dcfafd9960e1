//! What the file writer hands to the file committer.

use super::part_file::PartFile;
use crate::api::sink::SinkStateError;
use crate::encoding::encode_onto;
use serde::{Deserialize, Serialize};

/// Flink's `FileSinkCommittable`, of one bucket.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum FileSinkCommittable {
    /// A closed file that is to become visible.
    Pending(PartFile),
    /// An in-progress file in an older state, which some file systems keep resources for. On a local one there is nothing
    /// to do, so a committable does not mean a visible file (FACT 82).
    Cleanup(PartFile),
    /// One file that was made of several closed ones. When it is visible, these are removed: it holds all that was in them.
    Compacted {
        /// The file that is to become visible.
        file: PartFile,
        /// What it was made of, in that order.
        sources: Vec<PartFile>,
    },
}

impl FileSinkCommittable {
    /// The version that [`Self::to_bytes`] writes.
    pub const VERSION: u32 = 1;

    /// The file that it is about.
    #[must_use]
    pub const fn file(&self) -> &PartFile {
        match self {
            Self::Pending(file) | Self::Compacted { file, .. } | Self::Cleanup(file) => file,
        }
    }

    /// The files that it was made of; none of a file that a writer closed.
    #[must_use]
    pub fn sources(&self) -> &[PartFile] {
        match self {
            Self::Compacted { sources, .. } => sources,
            Self::Pending(_) | Self::Cleanup(_) => &[],
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encode_onto(self, Vec::new())
    }

    /// The committable in these bytes.
    ///
    /// # Errors
    /// When the version is unknown or the bytes are not what that version writes.
    pub fn from_bytes(version: u32, bytes: &[u8]) -> Result<Self, SinkStateError> {
        let what = "file committable";
        if version != Self::VERSION {
            return Err(SinkStateError::UnknownVersion { what, version });
        }
        postcard::from_bytes(bytes)
            .map_err(|error| SinkStateError::Malformed { what, cause: error.to_string() })
    }
}
