//! Plain data as bytes, by postcard.
//!
//! Postcard's own growing buffer reserves room and calls a copy routine for every number. States, committables and
//! messages are mostly numbers of one or two bytes, and encoding them was a twentieth of a run; here a short piece goes in
//! byte by byte. The bytes are the same.

use postcard::ser_flavors::Flavor;
use serde::Serialize;

/// Pieces from this length on are copied as a whole.
const LONG: usize = 16;

/// A list of bytes that an encoding is appended to.
struct Appended(Vec<u8>);

impl Flavor for Appended {
    type Output = Vec<u8>;

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, piece: &[u8]) -> postcard::Result<()> {
        if piece.len() >= LONG {
            self.0.extend_from_slice(piece);
        } else {
            piece.iter().for_each(|byte| self.0.push(*byte));
        }
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Vec<u8>> {
        Ok(self.0)
    }
}

/// Appends the encoding of a value to `bytes`, whose room is used.
///
/// # Panics
/// When the value is no plain data: a map without a length, or a serialiser that fails by itself.
#[must_use]
pub fn encode_onto<T: Serialize + ?Sized>(value: &T, bytes: Vec<u8>) -> Vec<u8> {
    let before = bytes.len();
    let encoded = postcard::serialize_with_flavor(value, Appended(bytes)).expect("plain data always encodes");
    debug_assert!(encoded.len() >= before, "an encoding is appended");
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_bytes_are_postcards(
            numbers in prop::collection::vec(any::<u64>(), 0..9), text in ".{0,40}", head in prop::collection::vec(any::<u8>(), 0..3),
        ) {
            let value = (numbers, text, Some(-1i32), ());
            let expected = [head.clone(), postcard::to_stdvec(&value).unwrap()].concat();
            prop_assert_eq!(encode_onto(&value, head), expected);
        }
    }
}
