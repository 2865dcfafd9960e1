//! What `splitrace bench` compares the simulator with.

pub mod bare_loop;
