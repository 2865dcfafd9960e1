//! A set of sequence numbers as ranges: what is remembered of a stream stays small however long the stream runs.

/// Ranges `start..end`, sorted, disjoint and not adjacent.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(super) struct SequenceSet(Vec<(u64, u64)>);

impl SequenceSet {
    /// Adds a number that is not in it.
    pub(super) fn insert(&mut self, sequence: u64) {
        debug_assert!(!self.contains(sequence), "a message is dealt with once");
        let index = self.0.partition_point(|range| range.1 < sequence);
        match self.0.get_mut(index) {
            Some(range) if range.1 == sequence => {
                range.1 += 1;
                let end = range.1;
                if self.0.get(index + 1).is_some_and(|next| next.0 == end) {
                    let (_, next_end) = self.0.remove(index + 1);
                    self.0[index].1 = next_end;
                }
            }
            Some(range) if range.0 == sequence + 1 => range.0 = sequence,
            _ => self.0.insert(index, (sequence, sequence + 1)),
        }
        debug_assert!(self.0.windows(2).all(|pair| pair[0].1 < pair[1].0), "sorted, with gaps between");
    }

    /// Whether the number is in it.
    pub(super) fn contains(&self, sequence: u64) -> bool {
        let index = self.0.partition_point(|range| range.1 <= sequence);
        self.0.get(index).is_some_and(|range| range.0 <= sequence)
    }

    /// Whether nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_plain_set(numbers in prop::collection::vec(0u64..40, 0..60)) {
            let (mut set, mut plain) = (SequenceSet::default(), BTreeSet::new());
            for number in numbers {
                prop_assert_eq!(set.contains(number), plain.contains(&number));
                if plain.insert(number) {
                    set.insert(number);
                }
                let runs = plain.iter().filter(|number| !plain.contains(&(*number + 1))).count();
                prop_assert_eq!(set.0.len(), runs, "one range per run of numbers");
            }
            for number in 0..45 {
                prop_assert_eq!(set.contains(number), plain.contains(&number));
            }
        }
    }
}
