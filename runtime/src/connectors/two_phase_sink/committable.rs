//! What the two-phase sink's writer hands to its committer.

use crate::api::sink::{SinkCommittable, SinkStateError};
use crate::encoding::encode_onto;
use crate::ids::TransactionName;
use crate::records::{Record, RecordRanges};
use serde::{Deserialize, Serialize};

/// A committable of the two-phase sink.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TwoPhaseCommittable {
    /// The commit carries the records.
    Append {
        /// The name they are appended under.
        name: TransactionName,
        /// The records.
        records: Vec<Record>,
    },
    /// The records wait in the store.
    Transactional {
        /// The prepared transaction.
        name: TransactionName,
        /// Which records wait there; for the census, the commit does not need them.
        records: RecordRanges,
    },
}

impl SinkCommittable for TwoPhaseCommittable {
    const VERSION: u32 = 1;

    fn transaction(&self) -> TransactionName {
        match self {
            Self::Append { name, .. } | Self::Transactional { name, .. } => *name,
        }
    }

    fn records_held(&self) -> RecordRanges {
        match self {
            Self::Append { records, .. } => records.iter().collect(),
            Self::Transactional { records, .. } => records.clone(),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        // With room for most, so that encoding one allocates once.
        encode_onto(self, Vec::with_capacity(48))
    }

    fn from_bytes(version: u32, bytes: &[u8]) -> Result<Self, SinkStateError> {
        let what = "two-phase committable";
        if version != Self::VERSION {
            return Err(SinkStateError::UnknownVersion { what, version });
        }
        postcard::from_bytes(bytes)
            .map_err(|error| SinkStateError::Malformed { what, cause: error.to_string() })
    }
}
