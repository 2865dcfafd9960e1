//! The coordinator of an operator that is no source.
