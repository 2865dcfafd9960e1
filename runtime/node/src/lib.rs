//! One life of a process of the protocol: its actors, its session, its timers, and what it has yet to send.
//!
//! It has no clock and no network. A host tells it the time, hands it the frames that arrive, gives it turns and sends
//! what it leaves: madsim's nodes do so (`splitrace-madsim`). What differs between hosts comes in through small traits
//! ([`host`]): who hears of events, who decides what goes on next, which outside system a process is, and who carries out
//! file operations.
//!
//! Refused: to share this with the simulated world as well. There each turn, frame and timer is an item that a search may
//! put anywhere and a fork must copy; here they are simply done.

mod actors;
pub mod host;
mod perform;
mod process;
mod timers;

pub use process::{Process, Step};
