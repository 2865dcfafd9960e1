//! A whole run from bytes.

fn main() {}
