//! A hasher of 128 bits for fingerprints: the same on every machine and in every build.
//!
//! Two lanes, each a chain of 64 by 64 bit multiplications folded in half, with constants of their own. Derived
//! hashes feed small integers one by one, which is what it is made for: a streaming XXH3 copies each into a
//! buffer first and took three times as long. Fixed constants are fine, as nobody attacks a search. `std`'s
//! hasher was refused because its algorithm may change with the compiler.

use std::hash::Hasher;

const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xd6e8_feb8_6659_fd93;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprinter {
    first: u64,
    second: u64,
}

impl Default for Fingerprinter {
    fn default() -> Self {
        Self::new()
    }
}

impl Fingerprinter {
    /// A hasher that has taken nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { first: SECOND, second: FIRST }
    }

    /// The fingerprint of what was taken.
    #[must_use]
    pub const fn value(&self) -> u128 {
        (fold(self.first ^ self.second, FIRST) as u128) << 64
            | fold(self.second ^ self.first.rotate_left(32), SECOND) as u128
    }

    #[inline]
    const fn take(&mut self, word: u64) {
        // Adding the old state keeps a product of 0 from wiping it out.
        self.first = fold(self.first ^ word, FIRST).wrapping_add(self.first.rotate_left(29));
        self.second = fold(self.second.wrapping_add(word), SECOND) ^ self.second.rotate_left(37);
    }
}

#[inline]
const fn fold(left: u64, right: u64) -> u64 {
    let product = left as u128 * right as u128;
    product as u64 ^ (product >> 64) as u64
}

impl Hasher for Fingerprinter {
    fn finish(&self) -> u64 {
        self.value() as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.take(u64::from_le_bytes(word));
        }
        self.take(bytes.len() as u64);
    }

    fn write_u8(&mut self, word: u8) {
        self.take(u64::from(word));
    }

    fn write_u16(&mut self, word: u16) {
        self.take(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.take(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.take(word);
    }

    fn write_u128(&mut self, word: u128) {
        self.take(word as u64);
        self.take((word >> 64) as u64);
    }

    fn write_usize(&mut self, word: usize) {
        self.take(word as u64);
    }

    // The signed ones must be here too: the provided methods would go through `write` in the machine's byte order.
    fn write_isize(&mut self, word: isize) {
        self.take(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::hash::Hash;

    fn of(value: impl Hash) -> u128 {
        let mut hasher = Fingerprinter::new();
        value.hash(&mut hasher);
        hasher.value()
    }

    #[test]
    fn near_values_lie_apart_in_both_halves() {
        let pairs = || (0..300u32).flat_map(|left| (0..300u32).map(move |right| (left, right)));
        let values: BTreeSet<u128> = pairs().map(of).collect();
        assert_eq!(values.len(), 300 * 300);
        let low: BTreeSet<u64> = values.iter().map(|value| *value as u64).collect();
        let high: BTreeSet<u64> = values.iter().map(|value| (*value >> 64) as u64).collect();
        assert_eq!((low.len(), high.len()), (300 * 300, 300 * 300));
    }

    #[test]
    fn order_length_and_zeros_count() {
        assert_ne!(of([1u8, 2]), of([2u8, 1]));
        assert_ne!(of([0u64; 3]), of([0u64; 4]));
        assert_ne!(of("ab"), of("ab\0"));
        assert_ne!(of((0u64, 0u64)), of(0u64));
    }
}
