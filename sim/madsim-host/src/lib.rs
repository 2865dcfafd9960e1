//! The protocol as madsim nodes: the second host of the same role modules.
//!
//! The simulated world of `splitrace-sim` is where bugs are searched; this host is the proof that the roles do not lean on
//! it. Here each process is a node with one async task that owns it (`splitrace-node` has its code), and frames cross a
//! network that somebody else wrote, as bytes. madsim kills nodes and clogs links; the same checkers judge.
//!
//! What this host cannot do, because madsim cannot: double a frame, record and replay a schedule, shrink. What it must
//! not do, because madsim punishes it: receive inside a `select!` (a cancelled receive loses its datagram; receiving has
//! tasks of its own here), use `tokio::select!` without an order, use hash maps seeded by the process, end a run with live
//! nodes (they leak), run two seeds on one thread.

#[cfg(not(madsim))]
compile_error!(
    "splitrace-madsim exists only on madsim's clock and network: run `cargo sim` (the alias in .cargo/config.toml), with \
     RUSTFLAGS unset, because an environment RUSTFLAGS silently replaces the flags of the alias"
);

#[cfg(madsim)]
mod chance;
#[cfg(madsim)]
mod court;
#[cfg(madsim)]
mod faults;
#[cfg(madsim)]
mod inbox;
#[cfg(madsim)]
mod node;
#[cfg(madsim)]
mod place;
#[cfg(madsim)]
mod run;

#[cfg(madsim)]
pub use run::{Exhibit, run_seed, scenario_of};
