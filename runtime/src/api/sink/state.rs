//! Encodings of sink state: a version byte, then postcard. No bytes at all stand for an empty state.
//!
//! What the census reads comes from [`committables_held`] and [`decode_writer_state`], which decode the *stored*
//! bytes: a serialiser that loses a record is seen.

use super::commit_request::CommitRequestState;
use super::port::CommittablePayload;
use crate::config::SinkKind;
use crate::connectors;
use crate::encoding::encode_onto;
use crate::ids::{CheckpointId, SubtaskIndex, TransactionName};
use crate::records::RecordRanges;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The version of the committer's state.
const COMMITTER_STATE_VERSION: u8 = 2;
/// The version of the writer's state.
const WRITER_STATE_VERSION: u8 = 2;
/// Room for most states, so that encoding one allocates once.
const ENCODED_USUALLY: usize = 64;

/// Why sink bytes cannot be read.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum SinkStateError {
    /// The bytes were written by a version that this build does not know.
    #[error("unknown version {version} of {what}")]
    UnknownVersion {
        /// Of what.
        what: &'static str,
        /// The version found.
        version: u32,
    },
    /// The bytes are not what their version writes.
    #[error("{what} cannot be read: {cause}")]
    Malformed {
        /// What.
        what: &'static str,
        /// Why.
        cause: String,
    },
}

/// What a committer's state (`streaming_committer_raw_states`, FACT 80) holds of one checkpoint.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct HeldCheckpoint<'a> {
    /// The checkpoint under which the collector files it.
    pub checkpoint: CheckpointId,
    /// How many subtasks are to announce.
    pub number_of_subtasks: u32,
    /// Those that have.
    pub subtasks: Vec<HeldSubtask<'a>>,
}

/// What a subtask has announced, and what came.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct HeldSubtask<'a> {
    /// The subtask.
    pub subtask: SubtaskIndex,
    /// How many it has announced.
    pub announced: u32,
    /// Those that came, also when they are settled.
    pub requests: Vec<HeldRequest<'a>>,
}

/// One committable. Nothing is copied to write it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct HeldRequest<'a> {
    /// How many retry signals it has had; kept across restarts (FACT 71).
    pub retries: u32,
    /// Where it stands.
    pub state: CommitRequestState,
    /// The committable.
    pub payload: Cow<'a, CommittablePayload>,
}

impl<'a> HeldCheckpoint<'a> {
    /// What is still to be committed.
    pub fn pending(&self) -> impl Iterator<Item = &HeldRequest<'a>> {
        let requests = self.subtasks.iter().flat_map(|subtask| &subtask.requests);
        requests.filter(|request| !request.state.is_final())
    }
}

/// [`HeldCheckpoint`], [`HeldSubtask`] and [`HeldRequest`] as they are looked into, field by field the same encoding. Of a
/// request: retries, state, transaction, version and the committable.
type HeldCheckpointBytes<'a> = (CheckpointId, u32, Vec<(SubtaskIndex, u32, Vec<HeldRequestBytes<'a>>)>);
type HeldRequestBytes<'a> = (u32, CommitRequestState, TransactionName, u32, &'a serde_bytes::Bytes);

/// Encodes the committer's state.
#[must_use]
pub fn encode_committer_state<'a>(held: impl Iterator<Item = HeldCheckpoint<'a>>) -> Vec<u8> {
    let held: Vec<_> = held.collect();
    if held.is_empty() { Vec::new() } else { encode(COMMITTER_STATE_VERSION, &held) }
}

/// Decodes the committer's state.
///
/// # Errors
/// When the version is unknown or the bytes are damaged.
pub fn decode_committer_state(bytes: &[u8]) -> Result<Vec<HeldCheckpoint<'static>>, SinkStateError> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    decode("committer state", COMMITTER_STATE_VERSION, bytes)
}

/// One element of a writer's state: work that no committable names yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct WriterStateElement {
    /// The transaction that the work belongs to.
    pub transaction: TransactionName,
    /// The records that a checkpoint carries by it.
    pub records: RecordRanges,
    /// The version of the writer's serialiser.
    pub version: u32,
    /// What the writer needs to go on.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// Encodes the writer's state.
#[must_use]
pub fn encode_writer_state(elements: &[WriterStateElement]) -> Vec<u8> {
    if elements.is_empty() { Vec::new() } else { encode(WRITER_STATE_VERSION, elements) }
}

/// The committables that a committer's stored state has still to commit, with the records that each commit makes visible.
/// The kind of sink tells whose bytes they are.
///
/// # Errors
/// When the bytes cannot be read.
pub fn committables_held(
    kind: SinkKind,
    bytes: &[u8],
) -> Result<Vec<(TransactionName, RecordRanges)>, SinkStateError> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let held: Vec<HeldCheckpointBytes<'_>> = decode("committer state", COMMITTER_STATE_VERSION, bytes)?;
    let requests =
        held.into_iter().flat_map(|(_, _, subtasks)| subtasks).flat_map(|(_, _, requests)| requests);
    requests
        .filter(|(_, state, ..)| !state.is_final())
        .map(|(_, _, transaction, version, payload)| {
            Ok((transaction, connectors::records_held(kind, version, payload)?))
        })
        .collect()
}

/// Decodes the writer's state.
///
/// # Errors
/// When the version is unknown or the bytes are damaged.
pub fn decode_writer_state(bytes: &[u8]) -> Result<Vec<WriterStateElement>, SinkStateError> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    decode("writer state", WRITER_STATE_VERSION, bytes)
}

fn encode<T: Serialize + ?Sized>(version: u8, value: &T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ENCODED_USUALLY);
    bytes.push(version);
    let bytes = encode_onto(value, bytes);
    debug_assert_eq!(bytes.first(), Some(&version), "the version stands first");
    bytes
}

fn decode<'a, T: Deserialize<'a>>(
    what: &'static str,
    known: u8,
    bytes: &'a [u8],
) -> Result<T, SinkStateError> {
    let (&version, rest) = bytes.split_first().expect("the caller has dealt with empty bytes");
    if version != known {
        return Err(SinkStateError::UnknownVersion { what, version: u32::from(version) });
    }
    match postcard::take_from_bytes(rest) {
        Ok((value, [])) => Ok(value),
        Ok((_, surplus)) => {
            Err(SinkStateError::Malformed { what, cause: format!("{} surplus bytes", surplus.len()) })
        }
        Err(error) => Err(SinkStateError::Malformed { what, cause: error.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::sink::SinkCommittable;
    use crate::connectors::two_phase_sink::TwoPhaseCommittable;
    use crate::ids::SplitId;
    use crate::records::OffsetRange;
    use proptest::prelude::*;

    fn ranges(spans: &[(u64, u64)]) -> RecordRanges {
        spans
            .iter()
            .map(|(start, len)| OffsetRange { split: SplitId::default(), start: *start, end: start + len })
            .collect()
    }

    proptest! {
        #[test]
        fn committables_come_back_with_their_records(
            spans in prop::collection::vec((0u64..100, 1u64..9), 0..6), retries in 0u32..12, checkpoint in 1u64..9,
        ) {
            let name = TransactionName { number: CheckpointId(checkpoint), ..TransactionName::default() };
            let committable = TwoPhaseCommittable::Transactional { name, records: ranges(&spans) };
            let payload = CommittablePayload {
                transaction: name, version: TwoPhaseCommittable::VERSION, bytes: committable.to_bytes(),
            };
            let request = |state| HeldRequest { retries, state, payload: Cow::Owned(payload.clone()) };
            let requests = vec![request(CommitRequestState::Retry), request(CommitRequestState::Committed)];
            let subtasks = vec![HeldSubtask { subtask: SubtaskIndex(2), announced: 2, requests }];
            let checkpoint = CheckpointId(checkpoint);
            let held = vec![HeldCheckpoint { checkpoint, number_of_subtasks: 3, subtasks }];
            let bytes = encode_committer_state(held.iter().cloned());
            prop_assert_eq!(decode_committer_state(&bytes).unwrap(), held);
            prop_assert_eq!(committables_held(SinkKind::Transactional, &bytes).unwrap(), vec![(name, ranges(&spans))]);
            let element = WriterStateElement {
                transaction: name, records: ranges(&spans), version: 1, bytes: vec![7; spans.len()],
            };
            let writer = encode_writer_state(std::slice::from_ref(&element));
            prop_assert_eq!(decode_writer_state(&writer).unwrap(), vec![element]);
        }

        #[test]
        fn damaged_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = committables_held(SinkKind::Transactional, &bytes);
            let _ = decode_writer_state(&bytes);
        }
    }

    #[test]
    fn no_bytes_are_an_empty_state_and_unknown_versions_are_named() {
        assert_eq!(committables_held(SinkKind::Append, &[]), Ok(Vec::new()));
        assert_eq!(decode_writer_state(&[]), Ok(Vec::new()));
        let unknown = committables_held(SinkKind::Append, &[9, 0]);
        assert_eq!(unknown, Err(SinkStateError::UnknownVersion { what: "committer state", version: 9 }));
        assert!(matches!(decode_writer_state(&[2, 0, 7]), Err(SinkStateError::Malformed { .. })));
    }
}
