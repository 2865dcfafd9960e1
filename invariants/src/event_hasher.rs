//! The canonical encoding of what an event carries for the trace hash: serde's data model, word by word, straight into
//! the hash. The header goes in beside, by hand; see `d1_same_trace`.
//!
//! What goes in is what the schema says and nothing of the machine: each integer as one 64-bit word whatever its width,
//! each variant by its index, each sequence and string behind its length, bytes as little-endian words. Field names do
//! not go in, so a renamed field keeps the hash and a moved one does not, as with postcard's bytes.
//!
//! Refused: writing postcard bytes into a buffer and hashing that (measured, it took an eighth of a run), and the derived
//! `Hash` (what it feeds is the compiler's affair, and integers in slices come in the machine's byte order).

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use std::fmt;

/// Odd, with as many ones as zeroes, and otherwise nothing special.
const FACTOR: u64 = 0x9e6c_63d0_876a_9a35;
/// Keeps a zero word from erasing what came before.
const SALT: u64 = 0x2d35_8dcc_aa6c_78a5;

/// A running hash of 64-bit words; the order of the words counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WordHash(u64);

impl WordHash {
    pub(crate) const fn new(value: u64) -> Self {
        Self(value)
    }

    pub(crate) const fn value(self) -> u64 {
        self.0
    }

    /// The product's two halves, folded: each bit of the word reaches every bit of the hash.
    #[inline]
    pub(crate) const fn word(&mut self, word: u64) {
        let product = ((self.0 ^ word) as u128 ^ SALT as u128) * FACTOR as u128;
        self.0 = (self.0.rotate_left(23)) ^ (product as u64) ^ ((product >> 64) as u64);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }
}

/// Nothing in the schema is what this cannot take: floats and sequences of unknown length.
type Refused = fmt::Error;
type Done = Result<(), Refused>;

macro_rules! integers {
    ($($method:ident $integer:ty),+) => {
        $(
            #[inline]
            fn $method(self, value: $integer) -> Done {
                self.word(value as u64);
                Ok(())
            }
        )+
    };
}

impl Serializer for &mut WordHash {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    // A negative number is extended by its sign, so that its word does not depend on its width either.
    integers!(
        serialize_bool bool, serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64, serialize_char char
    );

    fn serialize_f32(self, _value: f32) -> Done {
        Err(fmt::Error)
    }

    fn serialize_f64(self, _value: f64) -> Done {
        Err(fmt::Error)
    }

    fn serialize_str(self, value: &str) -> Done {
        self.bytes(value.as_bytes());
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Done {
        self.bytes(value);
        Ok(())
    }

    #[inline]
    fn serialize_none(self) -> Done {
        self.word(0);
        Ok(())
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        self.word(1);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Done {
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Done {
        Ok(())
    }

    #[inline]
    fn serialize_unit_variant(self, _name: &'static str, index: u32, _variant: &'static str) -> Done {
        self.word(u64::from(index));
        Ok(())
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Done {
        value.serialize(self)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
        value: &T,
    ) -> Done {
        self.word(u64::from(index));
        value.serialize(self)
    }

    #[inline]
    fn serialize_seq(self, length: Option<usize>) -> Result<Self, Refused> {
        self.word(length.ok_or(fmt::Error)? as u64);
        Ok(self)
    }

    #[inline]
    fn serialize_tuple(self, _length: usize) -> Result<Self, Refused> {
        Ok(self)
    }

    #[inline]
    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<Self, Refused> {
        Ok(self)
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self, Refused> {
        self.word(u64::from(index));
        Ok(self)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self, Refused> {
        self.word(length.ok_or(fmt::Error)? as u64);
        Ok(self)
    }

    #[inline]
    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Self, Refused> {
        Ok(self)
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self, Refused> {
        self.word(u64::from(index));
        Ok(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

macro_rules! compounds {
    ($($kind:ident::$method:ident),+) => {
        $(
            impl $kind for &mut WordHash {
                type Ok = ();
                type Error = Refused;

                #[inline]
                fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
                    value.serialize(&mut **self)
                }

                #[inline]
                fn end(self) -> Done {
                    Ok(())
                }
            }
        )+
    };
}

macro_rules! named_compounds {
    ($($kind:ident),+) => {
        $(
            impl $kind for &mut WordHash {
                type Ok = ();
                type Error = Refused;

                #[inline]
                fn serialize_field<T: Serialize + ?Sized>(&mut self, _key: &'static str, value: &T) -> Done {
                    value.serialize(&mut **self)
                }

                #[inline]
                fn end(self) -> Done {
                    Ok(())
                }
            }
        )+
    };
}

compounds!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);
named_compounds!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for &mut WordHash {
    type Ok = ();
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        value.serialize(&mut **self)
    }

    fn end(self) -> Done {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(value: &impl Serialize) -> u64 {
        let mut hash = WordHash::new(0);
        value.serialize(&mut hash).unwrap();
        hash.value()
    }

    #[test]
    fn the_hash_of_a_value_is_pinned() {
        let value = (1u8, -1i64, Some("transaction"), vec![(7u32, true)], None::<u64>);
        // Worked out by another program from the description above, not copied from a run.
        assert_eq!(hash(&value), 0x09fb_7ee7_6ac0_a21b);
    }

    #[test]
    fn width_does_not_count_but_order_and_borders_do() {
        assert_eq!(hash(&(1u8, -2i16)), hash(&(1u64, -2i64)));
        assert_ne!(hash(&(1u8, 2u8)), hash(&(2u8, 1u8)));
        assert_ne!(hash(&(vec![1u8], vec![2u8, 3])), hash(&(vec![1u8, 2], vec![3u8])));
        assert_ne!(hash(&("a", "")), hash(&("", "a")));
        assert_ne!(hash(&[0u8; 3]), hash(&[0u8; 4]));
        assert!(1.5f64.serialize(&mut WordHash::new(0)).is_err());
    }

    #[test]
    fn single_bits_reach_half_of_the_hash() {
        for bit in 0..64 {
            let differing = (hash(&(7u64, 1u64 << bit, 9u64)) ^ hash(&(7u64, 0u64, 9u64))).count_ones();
            assert!((12..=52).contains(&differing), "bit {bit} changed {differing} bits");
        }
    }
}
