//! The committable of sinks whose records wait in the outside system under a name that no other life makes.

use crate::api::sink::{SinkCommittable, SinkStateError};
use crate::encoding::encode_onto;
use crate::ids::TransactionName;
use crate::records::RecordRanges;
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct NamedCommittable {
    /// What a commit makes visible.
    pub transaction: TransactionName,
    /// Which records wait there; for the census, the commit does not need them.
    pub records: RecordRanges,
    /// What the outside system told the writer and wants to see again at the commit; 0 where it is nothing.
    pub token: u64,
}

impl SinkCommittable for NamedCommittable {
    const VERSION: u32 = 1;

    fn transaction(&self) -> TransactionName {
        self.transaction
    }

    fn records_held(&self) -> RecordRanges {
        self.records.clone()
    }

    fn to_bytes(&self) -> Vec<u8> {
        encode_onto(self, Vec::with_capacity(32))
    }

    fn from_bytes(version: u32, bytes: &[u8]) -> Result<Self, SinkStateError> {
        let what = "named committable";
        if version != Self::VERSION {
            return Err(SinkStateError::UnknownVersion { what, version });
        }
        postcard::from_bytes(bytes)
            .map_err(|error| SinkStateError::Malformed { what, cause: error.to_string() })
    }
}
