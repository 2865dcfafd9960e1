//! A fetcher's idleness as a flag that its thread sets and the task's thread clears: a defect.
//!
//! The right fetcher has none; whether it is idle follows from what it has. A flag needs the question and its answer
//! under one lock, and here the fetcher's thread may stand still between the two, while a split is added.

use crate::config::NANOS_PER_MILLI;

/// How long the thread stands still, unless it has something to do.
pub(super) const STANDS_STILL_NS: u64 = 5 * NANOS_PER_MILLI;

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum IdleFlag {
    /// There is something to do.
    #[default]
    Clear,
    /// The fetcher has found nothing to do, and is about to say so; `due` when it goes on.
    Checked { due: bool },
    /// It is idle, it says.
    Set,
}

impl IdleFlag {
    /// Something to do came.
    pub(super) fn clear(&mut self) {
        if *self == Self::Set {
            *self = Self::Clear;
        }
    }

    /// The thread goes on.
    pub(super) fn go_on(&mut self) {
        if let Self::Checked { due } = self {
            *due = true;
        }
    }

    /// Sets the flag behind the question; answers whether it was asked.
    pub(super) fn set_if_checked(&mut self) -> bool {
        let was_checked = matches!(self, Self::Checked { .. });
        if was_checked {
            *self = Self::Set;
        }
        was_checked
    }
}
