//! Draws from madsim's generator, mapped by own code, so that an update of its distributions changes no run.

/// A number below `bound`; 0 when the bound is 0.
pub(crate) fn below(bound: u64) -> u64 {
    let draw: u64 = madsim::rand::random();
    ((u128::from(draw) * u128::from(bound)) >> 64) as u64
}

/// A number of `least..=most`.
pub(crate) fn within(least: u64, most: u64) -> u64 {
    debug_assert!(least <= most, "a range has a least and a most");
    least + below(most - least + 1)
}
