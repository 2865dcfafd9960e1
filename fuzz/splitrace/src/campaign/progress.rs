//! The progress bar of a campaign, on stderr, and only where that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};

/// Shows how far a campaign is.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    failed: AtomicU64,
}

impl Progress {
    /// For so many seeds; `None` for a campaign that ends with its time.
    ///
    /// # Panics
    /// Never: the template is a constant.
    #[must_use]
    pub fn new(seeds: Option<u64>) -> Self {
        let bar = seeds.map_or_else(ProgressBar::no_length, ProgressBar::new);
        let visible = std::io::stderr().is_terminal();
        bar.set_draw_target(if visible {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        });
        let template = if seeds.is_some() {
            "{elapsed_precise} {wide_bar} {pos}/{len} seeds, {per_sec}, {msg}"
        } else {
            "{elapsed_precise} {spinner} {pos} seeds, {per_sec}, {msg}"
        };
        bar.set_style(ProgressStyle::with_template(template).expect("the template is well formed"));
        bar.set_message("0 failed");
        Self { bar, failed: AtomicU64::new(0) }
    }

    /// One more seed is done.
    pub fn seed_done(&self, clean: bool) {
        if !clean {
            let failed = self.failed.fetch_add(1, Ordering::Relaxed) + 1;
            self.bar.set_message(format!("{failed} failed"));
        }
        self.bar.inc(1);
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
