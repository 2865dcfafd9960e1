//! The one place of the binary that looks at the wall clock.

use std::time::Duration;

/// The wall clock: for speed and `--time`, never for a run.
#[allow(clippy::disallowed_types, reason = "the campaign lives in real time; its runs do not")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopwatch(std::time::Instant);

#[allow(clippy::disallowed_types, reason = "the campaign lives in real time; its runs do not")]
impl Stopwatch {
    /// Starts now.
    pub(super) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Since the start.
    pub(super) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
