//! The splits of a split reader that are ahead of the others and stand still.

use crate::ids::SplitId;

/// See the module; each is in it once, in the order in which they were paused.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PausedSplits(Vec<SplitId>);

impl PausedSplits {
    /// None.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Whether this one stands still.
    #[must_use]
    pub fn contains(&self, split: &SplitId) -> bool {
        self.0.contains(split)
    }

    /// Flink's `pauseOrResumeSplits`: whichever is in neither list stays as it is.
    pub fn pause_or_resume(&mut self, pause: &[SplitId], resume: &[SplitId]) {
        self.forget(resume);
        for split in pause {
            if !self.contains(split) {
                self.0.push(*split);
            }
        }
    }

    /// These are the reader's no more, or go on.
    pub fn forget(&mut self, splits: &[SplitId]) {
        self.0.retain(|split| !splits.contains(split));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_paused_twice_is_resumed_by_one_word() {
        let [one, two] = [0, 1].map(|index| SplitId { index, ..SplitId::default() });
        let mut paused = PausedSplits::default();
        paused.pause_or_resume(&[one, two], &[]);
        paused.pause_or_resume(&[one], &[]);
        paused.pause_or_resume(&[], &[one]);
        assert_eq!([one, two].map(|split| paused.contains(&split)), [false, true]);
        paused.forget(&[two]);
        assert_eq!(paused, PausedSplits::default());
    }
}
