//! A trace hash as text: `0x` and sixteen hexadecimal digits, the same on the screen, in JSON and in a replay file.
//!
//! A plain JSON number was refused: many programs read numbers as floats and would round a hash silently.

use serde::{Deserialize, Deserializer, Serializer};

/// `0x00000000000000ff`.
#[must_use]
pub fn text(trace_hash: u64) -> String {
    format!("{trace_hash:#018x}")
}

/// Reads what [`text`] writes.
///
/// # Errors
/// A sentence that says what would be right.
pub fn parse(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 16);
    let is_hexadecimal = |digits: &&str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = digits.filter(is_hexadecimal).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    value.ok_or_else(|| format!("a trace hash is 0x and sixteen hexadecimal digits, not '{text}'"))
}

/// For `#[serde(with)]`.
///
/// # Errors
/// The serializer's.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub fn serialize<S: Serializer>(trace_hash: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(*trace_hash))
}

/// For `#[serde(with)]`.
///
/// # Errors
/// The deserializer's, or the sentence of [`parse`].
pub fn deserialize<'input, D: Deserializer<'input>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for value in [0, 0xff, u64::MAX] {
            assert_eq!(parse(&text(value)), Ok(value));
        }
        assert_eq!(text(0xff), "0x00000000000000ff");
        for wrong in ["", "ff", "00000000000000ff", "0xff", "0x00000000000000fg", "0x+0000000000000ff"] {
            assert!(parse(wrong).is_err_and(|why| why.contains("sixteen")), "{wrong}");
        }
    }
}
