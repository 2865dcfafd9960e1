//! Choices from a seed: one ChaCha8 stream per (kind, subject), opened when it is first asked.
//!
//! Only `next_u64` of the generator is used; how a word becomes a value is ours (see [`Draw::value`]).

use super::{Choices, Draw, Label};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::{Hash, Hasher};

/// How many labels are found by one look into an array.
const RECENT: usize = 128;
/// A run with faults, and the drawing of a scenario, open nearly so many.
const STREAMS_USUALLY: usize = 64;
/// What no label packs to: its kind would be the last of 32.
const NO_LABEL: u64 = u64::MAX;

/// A seed's choices.
#[derive(Clone, Debug)]
pub struct SeedChoices {
    seed: u64,
    index_by_label: FxHashMap<Label, u32>,
    /// Each (kind, subject) is asked again and again, so the last one of each place is looked at first.
    recent: [(u64, u32); RECENT],
    streams: Vec<ChaCha8Rng>,
}

impl SeedChoices {
    /// The choices of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            index_by_label: FxHashMap::with_capacity_and_hasher(STREAMS_USUALLY, FxBuildHasher),
            recent: [(NO_LABEL, 0); RECENT],
            streams: Vec::with_capacity(STREAMS_USUALLY),
        }
    }

    #[inline]
    fn stream_of(&mut self, label: Label) -> usize {
        let Some(packed) = label.packed() else { return self.find_or_open(label) };
        debug_assert!(packed != NO_LABEL, "no label packs to all ones");
        let place = (packed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT.ilog2())) as usize;
        let (held, index) = self.recent[place];
        if held == packed {
            return index as usize;
        }
        let index = self.find_or_open(label);
        self.recent[place] = (packed, index as u32);
        index
    }

    #[cold]
    fn find_or_open(&mut self, label: Label) -> usize {
        if let Some(index) = self.index_by_label.get(&label) {
            return *index as usize;
        }
        self.streams.push(self.open(label));
        self.index_by_label.insert(label, (self.streams.len() - 1) as u32);
        self.streams.len() - 1
    }

    /// The stream's key is the seed followed by the label's canonical bytes, so streams of different labels never meet.
    fn open(&self, label: Label) -> ChaCha8Rng {
        let mut key = KeyBytes { bytes: [0; 32], length: 0 };
        key.write_u64(self.seed);
        label.hash(&mut key);
        debug_assert!(key.length <= 32, "a label fits a key, so that no two labels share a stream");
        ChaCha8Rng::from_seed(key.bytes)
    }
}

impl Choices for SeedChoices {
    fn choose(&mut self, label: Label, draw: Draw) -> u64 {
        if draw.max() == 0 {
            // A choice without alternatives draws nothing, so that switching a fault off costs nothing.
            return 0;
        }
        let index = self.stream_of(label);
        let value = draw.value(self.streams[index].next_u64());
        debug_assert!(value <= draw.max());
        value
    }
}

/// Collects what a derived `Hash` writes as little-endian bytes; discriminants shrink to one byte.
struct KeyBytes {
    bytes: [u8; 32],
    length: usize,
}

impl Hasher for KeyBytes {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.bytes[self.length % 32] ^= *byte;
            self.length += 1;
        }
    }

    fn write_u16(&mut self, value: u16) {
        self.write(&value.to_le_bytes());
    }

    fn write_u32(&mut self, value: u32) {
        self.write(&value.to_le_bytes());
    }

    fn write_u64(&mut self, value: u64) {
        self.write(&value.to_le_bytes());
    }

    fn write_isize(&mut self, value: isize) {
        debug_assert!((0..255).contains(&value), "discriminants are small");
        self.write(&[value as u8 + 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{ChoiceKind, Subject};
    use splitrace_runtime::ids::ProcessId;

    fn label(index: u32) -> Label {
        Label::new(ChoiceKind::Latency, Subject::Process(ProcessId::TaskManager(index)))
    }

    #[test]
    fn a_new_choice_in_one_place_moves_no_other() {
        let (mut quiet, mut busy) = (SeedChoices::new(3), SeedChoices::new(3));
        for visit in 0..100 {
            busy.choose(label(1), Draw::Below(10));
            let value = quiet.choose(label(0), Draw::Below(1000));
            assert_eq!(value, busy.choose(label(0), Draw::Below(1000)), "visit {visit}");
        }
    }

    #[test]
    fn the_stream_of_a_label_is_pinned() {
        let mut choices = SeedChoices::new(42);
        let values: Vec<u64> = (0..4).map(|_| choices.choose(label(0), Draw::Below(1_000_000))).collect();
        insta::assert_debug_snapshot!(values);
    }

    #[test]
    fn different_seeds_and_labels_differ() {
        let draw = Draw::Below(u64::MAX);
        let first = SeedChoices::new(1).choose(label(0), draw);
        assert_ne!(first, SeedChoices::new(2).choose(label(0), draw));
        assert_ne!(first, SeedChoices::new(1).choose(label(1), draw));
    }
}
