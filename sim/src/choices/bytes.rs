//! Choices from bytes, for coverage-guided fuzzers and `arbitrary`.
//!
//! Each choice with alternatives eats as many bytes as its range needs, little-endian; when the bytes end, everything is
//! 0. So a fuzzer's zero byte is the benign default, and a shorter input is a tamer run: its own shrinker works for us.

use super::{Choices, Draw, Label};

/// The choices that a byte string stands for.
#[derive(Clone, Debug)]
pub struct ByteChoices<'a> {
    rest: &'a [u8],
}

impl<'a> ByteChoices<'a> {
    /// Reads choices off `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl Choices for ByteChoices<'_> {
    fn choose(&mut self, _label: Label, draw: Draw) -> u64 {
        let max = draw.max();
        if max == 0 {
            return 0;
        }
        let width = (u64::BITS - max.leading_zeros()).div_ceil(8) as usize;
        let taken = width.min(self.rest.len());
        let (bytes, rest) = self.rest.split_at(taken);
        self.rest = rest;
        let mut word = [0; 8];
        word[..taken].copy_from_slice(bytes);
        draw.clamp(u64::from_le_bytes(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{ChoiceKind, Subject};

    #[test]
    fn bytes_are_eaten_by_range_and_end_in_zeros() {
        let label = Label::new(ChoiceKind::Latency, Subject::World);
        let mut choices = ByteChoices::new(&[5, 0x34, 0x12, 9]);
        assert_eq!(choices.choose(label, Draw::Below(10)), 5);
        assert_eq!(choices.choose(label, Draw::Below(0x10000)), 0x1234);
        assert_eq!(choices.choose(label, Draw::Below(1)), 0, "no alternative, no byte");
        assert_eq!(choices.choose(label, Draw::Below(4)), 1, "made legal: 9 mod 4");
        assert_eq!(choices.choose(label, Draw::Below(4)), 0, "the bytes have ended");
    }
}
