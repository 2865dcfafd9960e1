//! What a checker keeps for the sake of time.
//!
//! Two worlds that differ only in when something happened are the same state to a search that leaves time out, so times
//! stay out of a checker's fingerprint. They may decide what is said at the end of a timed run, never what comes next.

use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// A time, or what is derived from one; no part of a fingerprint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Untimed<T>(pub(crate) T);

impl<T> Hash for Untimed<T> {
    fn hash<H: Hasher>(&self, _hasher: &mut H) {}
}

impl<T> Deref for Untimed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Untimed<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
