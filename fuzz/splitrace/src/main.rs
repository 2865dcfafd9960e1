//! The `splitrace` command.

fn main() {}
