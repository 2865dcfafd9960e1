//! Checkers that judge a run of the exactly-once protocol from its events alone.
//!
//! A verdict never rests on what the runtime believes: a checker sees typed events, the outside systems' ledgers among
//! them, and nothing else. So the same checkers judge a simulated run, a madsim run, a real one, and the log of
//! somebody else's engine. One property per file, read-only, cheap: what happens once per record costs a few
//! nanoseconds, what happens once per checkpoint costs one walk over its contents.
//!
//! Order comes from sequence inside a process and from cause between processes, never from time: a verdict is the same
//! on every linear extension of the two. Where two processes could disagree, a checker judges by one process's order
//! alone (the job manager's, the store's, a task's); each file says which.
//!
//! What was refused: one big checker with shared state (a property could not be read, tested or switched off alone),
//! and checkers that ask the world (they could not judge a log).

pub mod b1_bounded_memory;
pub mod c1_no_duplicates;
pub mod c2_no_loss;
pub mod c3_covered_before_visible;
pub mod c4_no_residue;
pub mod c5_freshness;
pub mod checker;
pub mod checkers;
pub mod code;
pub mod coverage;
pub mod d1_same_trace;
mod discovery;
mod event_hasher;
mod finished_history;
pub mod k1_checkpoints_go_on;
pub mod k2_identifiers;
mod kinds;
mod lineage;
pub mod outcome;
pub mod promise;
pub mod r1_record_census;
mod reset_thresholds;
pub mod s1_split_census;
pub mod s2_event_order;
pub mod s3_no_zombie_acts;
pub mod s4_liveness;
pub mod s5_order_inside_split;
mod split_holders;
mod table;
#[doc(hidden)]
pub mod testing;
mod transaction_names;
mod untimed;
pub mod violation;

pub use checker::{Checker, Docket, Judgement, RunEnd, RunSetup, RunStop};
pub use checkers::Checkers;
pub use code::Code;
pub use coverage::{Coverage, Exercised};
pub use d1_same_trace::{Divergence, TraceHash, compare};
pub use kinds::{KindSet, kind_names};
pub use outcome::{Outcome, PanicPlace};
pub use promise::{Level, Promise, PromiseInput};
pub use violation::{Moment, Subject, Violation};
