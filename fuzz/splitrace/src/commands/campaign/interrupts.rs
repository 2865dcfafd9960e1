//! Ctrl-C, counted.
//!
//! The first ends the runs where they are; what was found is told, and then written down. The second leaves out the files
//! that are not written yet, also at once, but between two files and never inside one. The third ends the process, should
//! a disk or a terminal not let go of it.

use crate::error::CommandError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often Ctrl-C was pressed since the campaign began.
#[derive(Clone, Debug)]
pub(super) struct Interrupts(Arc<AtomicU32>);

impl Interrupts {
    /// Starts listening.
    pub(super) fn listen() -> Result<Self, CommandError> {
        let count = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&count);
        let handler = move || {
            if counted.fetch_add(1, Ordering::Relaxed) >= 2 {
                std::process::exit(crate::report::EXIT_INTERRUPTED.into());
            }
        };
        match ctrlc::try_set_handler(handler) {
            // Somebody else listens already, as when a test runs two campaigns in one process.
            Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(Self(count)),
            Err(error) => Err(CommandError::NoInterruptHandler(error)),
        }
    }

    /// How often it was pressed so far.
    pub(super) fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}
