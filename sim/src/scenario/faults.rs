//! What may break in links, processes and storage, beside crashes and single frames.
//!
//! Each group is a table of its own in a scenario file and may be left out: then none of it happens. All of it ends at
//! healing, exactly: what was held back is let go then, and no clock goes wrong any more.

use super::Odds;
use serde::{Deserialize, Serialize};

/// What befalls links as a whole. The budget: at most so many clogs and swizzles as are planned; a slow link stays slow
/// until healing. What is held back arrives in the end: a session that gives up on it first has lost it all the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFaults {
    /// Links that hold back everything and release it together, at most.
    pub clogs_max: u32,
    /// Swizzles, at most: a drawn set of processes is clogged one by one and released in another order.
    pub swizzles_max: u32,
    /// How long a clog lasts at most.
    pub clog_max_ns: u64,
    /// A directed link is slow: its frames take longer, each by a time of its own.
    pub slow: Odds,
    /// By how much at most.
    pub slow_max_ns: u64,
}

impl LinkFaults {
    /// Links are as they are.
    pub const NONE: Self =
        Self { clogs_max: 0, swizzles_max: 0, clog_max_ns: 1, slow: Odds::NEVER, slow_max_ns: 1 };

    /// Whether none of it happens.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// Whether it can keep a message from being acknowledged in time.
    #[must_use]
    pub const fn can_break(&self) -> bool {
        self.clogs_max > 0 || self.swizzles_max > 0
    }

    /// The longest that a frame is held back or slowed down by it.
    #[must_use]
    pub const fn held_up_ns(&self) -> u64 {
        let clog_ns = if self.can_break() { self.clog_max_ns } else { 0 };
        let slow_ns = if self.slow.numerator > 0 { self.slow_max_ns } else { 0 };
        clog_ns.saturating_add(slow_ns)
    }
}

impl Default for LinkFaults {
    fn default() -> Self {
        Self::NONE
    }
}

/// What befalls processes that do not die. The budget: so many stops and clock steps as are planned, each of one process;
/// the outside systems never stop, and the clock of the high-availability service decides nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessFaults {
    /// Stops of all threads of a process, at most: a collector of garbage, a frozen machine.
    pub stops_max: u32,
    /// How long one lasts at most. Longer than a heartbeat time-out, the process is taken for dead and wakes up a zombie.
    pub stop_max_ns: u64,
    /// Times that a clock is set, at most.
    pub clock_steps_max: u32,
    /// How far it is set forwards or back at most.
    pub clock_step_max_ns: u64,
    /// How many microseconds a clock gains or loses in a second at most.
    pub clock_drift_max_ppm: u32,
    /// A stopped execution takes long to go, and whoever stopped it waits for that.
    pub slow_close: Odds,
    /// How long at most.
    pub slow_close_max_ns: u64,
}

impl ProcessFaults {
    /// Processes live or die.
    pub const NONE: Self = Self {
        stops_max: 0,
        stop_max_ns: 1,
        clock_steps_max: 0,
        clock_step_max_ns: 0,
        clock_drift_max_ppm: 0,
        slow_close: Odds::NEVER,
        slow_close_max_ns: 1,
    };

    /// Whether none of it happens.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// The longest that a thread stands still by it.
    #[must_use]
    pub const fn held_up_ns(&self) -> u64 {
        let stop_ns = if self.stops_max > 0 { self.stop_max_ns } else { 0 };
        let close_ns = if self.slow_close.numerator > 0 { self.slow_close_max_ns } else { 0 };
        stop_ns.saturating_add(close_ns)
    }

    /// The furthest that a clock can be from where it was, within `run_ns` of a run.
    #[must_use]
    pub const fn clock_moves_ns(&self, run_ns: u64) -> u64 {
        let steps_ns = self.clock_step_max_ns.saturating_mul(self.clock_steps_max as u64);
        let drift_ns = (run_ns / 1_000_000).saturating_mul(self.clock_drift_max_ppm as u64);
        steps_ns.saturating_add(drift_ns)
    }
}

impl Default for ProcessFaults {
    fn default() -> Self {
        Self::NONE
    }
}
