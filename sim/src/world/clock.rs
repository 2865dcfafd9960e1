//! What the clock of a process shows. Nothing in the protocol orders anything by it; user code and the log look at it.

/// A clock that may be off, gain or lose, and be set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Clock {
    /// How far it was off at `since_ns`; negative for behind.
    offset_ns: i64,
    /// How many microseconds it gains in a second; negative for loses.
    drift_ppm: i64,
    since_ns: u64,
}

impl Clock {
    /// A clock that starts at this time.
    pub fn new(offset_ns: i64, drift_ppm: i64, now_ns: u64) -> Self {
        debug_assert!(drift_ppm > -1_000_000, "no clock runs backwards by itself");
        Self { offset_ns, drift_ppm, since_ns: now_ns }
    }

    /// What it shows, in nanoseconds; never less than 0.
    pub fn shows_ns(self, now_ns: u64) -> u64 {
        let shown = i128::from(now_ns) + i128::from(self.offset_at(now_ns));
        u64::try_from(shown.max(0)).unwrap_or(u64::MAX)
    }

    /// It is set forwards, or back.
    pub fn step(&mut self, by_ns: i64) {
        self.offset_ns = self.offset_ns.saturating_add(by_ns);
    }

    /// It goes as time does from here on; what it is off by stays.
    pub fn stop_drifting(&mut self, now_ns: u64) {
        self.offset_ns = self.offset_at(now_ns);
        self.since_ns = now_ns;
        self.drift_ppm = 0;
    }

    fn offset_at(self, now_ns: u64) -> i64 {
        if self.drift_ppm == 0 {
            return self.offset_ns;
        }
        debug_assert!(now_ns >= self.since_ns, "time goes forwards");
        let gained = i128::from(now_ns - self.since_ns) * i128::from(self.drift_ppm) / 1_000_000;
        self.offset_ns.saturating_add(i64::try_from(gained).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_off_gains_and_is_set() {
        let mut clock = Clock::new(-10, 100_000, 1_000);
        assert_eq!([1_000, 2_000, 11_000].map(|now_ns| clock.shows_ns(now_ns)), [990, 2_090, 11_990]);
        clock.step(-5_000);
        assert_eq!(clock.shows_ns(2_000), 0, "before its beginning there is no time");
        clock.stop_drifting(11_000);
        assert_eq!([11_000, 21_000].map(|now_ns| clock.shows_ns(now_ns)), [6_990, 16_990]);
        assert_eq!(Clock::default().shows_ns(7), 7);
    }
}
