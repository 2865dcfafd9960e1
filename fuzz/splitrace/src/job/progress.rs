//! How far a job is, on stderr, and only where that is a terminal.

use super::watch::Tally;
use crate::report::write_stderr;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// The bar.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    /// Bytes that earlier lives have read for good.
    done: u64,
}

impl Progress {
    /// For so many bytes, of which some were read before; `None` for a job without an end.
    pub(super) fn new(total: Option<u64>, done: u64) -> Self {
        let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
        let is_shown = std::io::stderr().is_terminal();
        bar.set_draw_target(if is_shown {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        });
        let template = match total {
            Some(_) => "{elapsed_precise} {wide_bar} {bytes}/{total_bytes}, {msg}",
            None => "{elapsed_precise} {spinner} {bytes}, {msg}",
        };
        bar.set_style(ProgressStyle::with_template(template).expect("the template is well formed"));
        Self { bar, done }
    }

    /// Shows where it stands.
    pub(super) fn show(&self, tally: &Tally, is_stopping: bool) {
        let read = self.done + tally.bytes;
        // Chunks reach beyond their splits, and what failed is read again.
        self.bar.set_position(self.bar.length().map_or(read, |length| read.min(length)));
        let stopping = if is_stopping { ", stopping with a last checkpoint" } else { "" };
        let Tally { records, checkpoints, .. } = tally;
        self.bar.set_message(format!("{records} records, {checkpoints} checkpoints{stopping}"));
    }

    /// Tells something on stderr, above the bar where there is one.
    pub(super) fn warn(&self, what: &str) {
        self.bar.suspend(|| write_stderr(&format!("{what}\n")));
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
