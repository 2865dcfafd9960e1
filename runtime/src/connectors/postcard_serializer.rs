//! The serialiser of sources whose splits are written as their type says.

use crate::api::source::SimpleVersionedSerializer;
use crate::api::source_state::StateError;
use crate::encoding::encode_onto;
use serde::{Deserialize, Serialize};

/// How splits and the enumerator's own state are written: by postcard, in one version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PostcardSerializer;

impl<T: Serialize + for<'a> Deserialize<'a>> SimpleVersionedSerializer<T> for PostcardSerializer {
    fn version(&self) -> u32 {
        1
    }

    fn serialize(&self, value: &T) -> Vec<u8> {
        encode_onto(value, Vec::new())
    }

    fn deserialize(&self, version: u32, bytes: &[u8]) -> Result<T, StateError> {
        if version != 1 {
            return Err(StateError::UnknownVersion(version));
        }
        Ok(postcard::from_bytes(bytes)?)
    }
}
