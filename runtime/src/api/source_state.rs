//! Encodings of reader and enumerator state.
