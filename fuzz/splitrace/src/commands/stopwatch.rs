//! The one place of the binary that looks at the wall clock.

use std::time::Duration;

/// The wall clock: for speed and `--time`, never for a run.
#[allow(clippy::disallowed_types, reason = "the campaign lives in real time; its runs do not")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopwatch {
    started: std::time::Instant,
    /// The thread's processor time then, where the system tells it.
    processor: Option<Duration>,
}

#[allow(clippy::disallowed_types, reason = "the campaign lives in real time; its runs do not")]
impl Stopwatch {
    /// Starts now.
    pub(super) fn start() -> Self {
        Self { started: std::time::Instant::now(), processor: processor_time() }
    }

    /// Since the start.
    pub(super) fn elapsed(self) -> Duration {
        self.started.elapsed()
    }

    /// Whether [`Stopwatch::processor_time`] is more than the wall clock.
    pub(super) const fn tells_processor_time(self) -> bool {
        self.processor.is_some()
    }

    /// How long the calling thread had a processor since the start, if it is the one that started the watch; since the
    /// start at all where the system does not tell.
    pub(super) fn processor_time(self) -> Duration {
        match (self.processor, processor_time()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.elapsed(),
        }
    }
}

/// The calling thread's processor time; only Linux tells it in a file.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}
