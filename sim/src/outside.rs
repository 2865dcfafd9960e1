//! The outside systems, each with its own ledger.
