//! The protocol as madsim nodes.
