//! Encodings of reader and enumerator state, as checkpoints store them.
//!
//! Both are lists of splits that the *connector's own* serialiser wrote, plus free bytes for an enumerator. So the census
//! of a completed checkpoint can read which splits the stored bytes name without knowing the connector, and what it reads
//! is what a restore gets. What was refused: an opaque enumerator state with a list of splits beside it. The list would
//! be right where the state lost a split.
//!
//! The first byte is the version of the encoding; an empty slice is the empty state (a subtask without one, FACT 80).

use crate::encoding::encode_onto;
use crate::message::SplitPayload;
use crate::records::SplitPosition;
use serde::{Deserialize, Serialize};

/// The version of both encodings.
pub const STATE_VERSION: u8 = 1;
/// Room for most states, so that encoding one allocates once.
const ENCODED_USUALLY: usize = 64;

/// Why stored bytes cannot be read.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum StateError {
    /// Written by a version that is not known here.
    #[error("state version {0} is not known")]
    UnknownVersion(u32),
    /// The bytes do not hold what their version says.
    #[error("state cannot be decoded: {0}")]
    Malformed(String),
}

impl From<postcard::Error> for StateError {
    fn from(error: postcard::Error) -> Self {
        Self::Malformed(error.to_string())
    }
}

/// What an enumerator keeps.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct EnumeratorState {
    /// The splits that it holds: not assigned, or given back.
    pub pending: Vec<SplitPayload>,
    /// What else the connector keeps, in its own encoding.
    #[serde(with = "serde_bytes")]
    pub extra: Vec<u8>,
}

/// [`SplitPayload`] as it is looked into, field by field the same encoding: nothing is copied for it.
type SplitBytes<'a> = (SplitPosition, u32, &'a serde_bytes::Bytes);

/// Encodes any serialisable state behind the version byte.
#[must_use]
pub fn encode_versioned<T: Serialize>(state: &T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ENCODED_USUALLY);
    bytes.push(STATE_VERSION);
    let bytes = encode_onto(state, bytes);
    debug_assert_eq!(bytes.first(), Some(&STATE_VERSION));
    debug_assert!(!bytes.is_empty(), "empty bytes mean the empty state");
    bytes
}

/// Decodes what [`encode_versioned`] wrote; an empty slice is the default.
///
/// # Errors
/// When the version is unknown, or the bytes are too few, too many or wrong.
pub fn decode_versioned<'a, T: Deserialize<'a> + Default>(bytes: &'a [u8]) -> Result<T, StateError> {
    let Some((version, body)) = bytes.split_first() else { return Ok(T::default()) };
    if *version != STATE_VERSION {
        return Err(StateError::UnknownVersion(u32::from(*version)));
    }
    let (state, rest) = postcard::take_from_bytes(body)?;
    if !rest.is_empty() {
        return Err(StateError::Malformed(format!("{} bytes too many", rest.len())));
    }
    Ok(state)
}

/// Encodes `SourceReaderState`: the splits of one subtask, in reading order.
#[must_use]
pub fn encode_reader_state(splits: &[SplitPayload]) -> Vec<u8> {
    encode_versioned(&splits)
}

/// Decodes `SourceReaderState`.
///
/// # Errors
/// As [`decode_versioned`].
pub fn decode_reader_state(bytes: &[u8]) -> Result<Vec<SplitPayload>, StateError> {
    decode_versioned(bytes)
}

/// Encodes an enumerator's state.
#[must_use]
pub fn encode_enumerator_state(state: &EnumeratorState) -> Vec<u8> {
    encode_versioned(state)
}

/// Decodes an enumerator's state.
///
/// # Errors
/// As [`decode_versioned`].
pub fn decode_enumerator_state(bytes: &[u8]) -> Result<EnumeratorState, StateError> {
    decode_versioned(bytes)
}

/// The splits that stored reader state names, in order.
///
/// # Errors
/// As [`decode_versioned`].
pub fn reader_splits_held(bytes: &[u8]) -> Result<Vec<SplitPosition>, StateError> {
    let splits: Vec<SplitBytes<'_>> = decode_versioned(bytes)?;
    Ok(splits.into_iter().map(|(at, ..)| at).collect())
}

/// The splits that stored enumerator state names, in order.
///
/// # Errors
/// As [`decode_versioned`].
pub fn enumerator_splits_held(bytes: &[u8]) -> Result<Vec<SplitPosition>, StateError> {
    let (pending, _): (Vec<SplitBytes<'_>>, &serde_bytes::Bytes) = decode_versioned(bytes)?;
    Ok(pending.into_iter().map(|(at, ..)| at).collect())
}

/// Where these splits stand.
#[must_use]
pub fn positions(splits: &[SplitPayload]) -> Vec<SplitPosition> {
    splits.iter().map(|split| split.at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SplitId;
    use proptest::prelude::*;

    fn split() -> impl Strategy<Value = SplitPayload> {
        (any::<u32>(), any::<u64>(), any::<u64>(), any::<u32>(), any::<Vec<u8>>()).prop_map(
            |(index, position, end, version, bytes)| SplitPayload {
                at: SplitPosition { split: SplitId { index, ..SplitId::default() }, position, end },
                version,
                bytes,
            },
        )
    }

    proptest! {
        #[test]
        fn states_come_back_and_name_their_splits(
            splits in prop::collection::vec(split(), 0..5),
            extra in any::<Vec<u8>>(),
        ) {
            let held = positions(&splits);
            let reader = encode_reader_state(&splits);
            prop_assert_eq!(reader_splits_held(&reader), Ok(held.clone()));
            prop_assert_eq!(decode_reader_state(&reader), Ok(splits.clone()));
            let state = EnumeratorState { pending: splits, extra };
            let bytes = encode_enumerator_state(&state);
            prop_assert_eq!(enumerator_splits_held(&bytes), Ok(held));
            prop_assert_eq!(decode_enumerator_state(&bytes), Ok(state));
            prop_assert!(decode_enumerator_state(&bytes[..bytes.len() - 1]).is_err());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in any::<Vec<u8>>()) {
            let _ = reader_splits_held(&bytes);
            let _ = enumerator_splits_held(&bytes);
        }
    }

    #[test]
    fn an_empty_slice_is_the_empty_state_and_a_wrong_version_is_not() {
        assert_eq!(reader_splits_held(&[]), Ok(Vec::new()));
        assert_eq!(enumerator_splits_held(&[]), Ok(Vec::new()));
        assert_eq!(reader_splits_held(&[9, 0]), Err(StateError::UnknownVersion(9)));
        assert!(matches!(reader_splits_held(&[STATE_VERSION, 0, 0]), Err(StateError::Malformed(_))));
    }
}
