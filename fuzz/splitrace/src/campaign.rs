//! Many seeds on many threads, summed up so that the number of threads cannot be told from the result.
//!
//! Workers take the next seed from one counter, so what was run is always a gapless range, also when time is
//! up or Ctrl-C comes. Each worker keeps its own [`Summary`]; merging sums and keeps smallest seeds, which is
//! the same in any order. Refused: chunks per worker (a stop would leave holes) and a channel of results (a
//! slow reader would hold up the workers).

mod driver;
mod probes;
mod progress;
mod shape;
mod summary;
mod tame;

pub use driver::{Driven, Plan, drive};
pub use probes::{Probe, probes, silent};
pub use progress::Progress;
pub use shape::{Behind, FailureShape};
pub use summary::{Digest, Failure, Judged, Summary};
pub use tame::{
    FAILOVER, Harm, LATE_WORDS, LEADER_CHANGE, LEADER_LOSS, SECOND_FAULT, SEEDS_MIN, THIRD_FAULT,
    TWO_COORDINATORS, entered_mark, event_mark, fault_mark, shortfalls, user_failure_mark, window_mark,
};
