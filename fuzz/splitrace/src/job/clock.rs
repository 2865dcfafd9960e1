//! The clock of a job: it never goes back, and one life of the program goes on where the one before stopped.

use std::time::Duration;

/// Nanoseconds since 1970, from the system's clock at the start and a steady one from then on. Files in progress keep the
/// time at which they were begun, and their age counts over lives: a time since the start would not do.
#[allow(clippy::disallowed_types, reason = "a real job lives in real time")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    started: std::time::Instant,
    started_ns: u64,
}

#[allow(clippy::disallowed_types, reason = "a real job lives in real time")]
impl Clock {
    /// Starts now.
    pub(super) fn start() -> Self {
        let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Self { started: std::time::Instant::now(), started_ns: nanoseconds(since_1970) }
    }

    /// The time in nanoseconds.
    pub(super) fn now_ns(self) -> u64 {
        self.started_ns.saturating_add(nanoseconds(self.started.elapsed()))
    }

    /// Since the start.
    pub(super) fn elapsed(self) -> Duration {
        self.started.elapsed()
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
