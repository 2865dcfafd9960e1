//! Ctrl-C, counted.
//!
//! SIGTERM counts as well, and so does SIGHUP, unless whoever started the command had it ignored: `nohup` means that a
//! campaign outlives its terminal. (`ctrlc`, which serves elsewhere, hears nothing at all once one signal is ignored.)

use crate::error::CommandError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often Ctrl-C was pressed since somebody began to listen.
#[derive(Clone, Debug)]
pub(super) struct Interrupts(Arc<AtomicU32>);

impl Interrupts {
    /// Starts listening; `heard` is told of each, and the `last`-th ends the process at once.
    pub(super) fn listen(last: u32, heard: impl Fn() + Send + 'static) -> Result<Self, CommandError> {
        let count = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&count);
        let handler = move || {
            if counted.fetch_add(1, Ordering::Relaxed) + 1 >= last {
                std::process::exit(crate::report::EXIT_INTERRUPTED.into());
            }
            heard();
        };
        hear(handler).map_err(CommandError::NoInterruptHandler)?;
        Ok(Self(count))
    }

    /// How often it was pressed so far.
    pub(super) fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Calls `handler` at each wish to end, from a thread of its own.
#[cfg(unix)]
fn hear(handler: impl Fn() + Send + 'static) -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut wishes = vec![SIGINT, SIGTERM];
    if !is_hang_up_ignored() {
        wishes.push(SIGHUP);
    }
    let mut signals = signal_hook::iterator::Signals::new(wishes)?;
    let listener = std::thread::Builder::new().name("interrupts".to_owned());
    listener.spawn(move || signals.forever().for_each(|_| handler()))?;
    Ok(())
}

/// Whether SIGHUP was ignored from the start. Only Linux tells without unsafe code; elsewhere it is not.
#[cfg(unix)]
fn is_hang_up_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // A bit per signal, and SIGHUP is the first.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(not(unix))]
fn hear(handler: impl Fn() + Send + 'static) -> std::io::Result<()> {
    match ctrlc::set_handler(handler) {
        // Somebody else listens already, as when a test runs two campaigns in one process.
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        Err(error) => Err(std::io::Error::other(error)),
    }
}
