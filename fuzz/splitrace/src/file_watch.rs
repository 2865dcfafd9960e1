//! What somebody sees who looks into the folder of a file sink: which files appear, and how old their records are then.
//!
//! Pure, from events: when a record was read, and when the file system made it visible.

use splitrace_runtime::event::{Event, EventKind};
use splitrace_runtime::ids::{SplitId, TransactionName};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Time between two looks, in nanoseconds.
const LOOK_NS: u64 = 10_000_000_000;
/// A tenth of a second.
const TENTH_NS: u64 = 100_000_000;

/// Looks on.
#[derive(Clone, Debug, Default)]
pub struct FileWatch {
    lines: Vec<String>,
    next_look_ns: u64,
    read_ns: BTreeMap<(SplitId, u64), u64>,
    hidden: BTreeSet<TransactionName>,
    files: usize,
    latencies_ns: Vec<u64>,
}

impl FileWatch {
    /// Takes the next event of a run.
    pub fn observe(&mut self, event: &Event) {
        let now_ns = event.header.virtual_time_ns;
        while self.next_look_ns + LOOK_NS <= now_ns {
            self.next_look_ns += LOOK_NS;
            let line = format!(
                "t={:>6}s committed files={}, records visible={}, hidden={}",
                seconds(self.next_look_ns),
                self.files,
                self.latencies_ns.len(),
                self.hidden.len()
            );
            self.lines.push(line);
        }
        match &event.kind {
            EventKind::RecordsEmitted { range } => {
                for offset in range.start..range.end {
                    // What is read again after a failure has been waiting since it was first read.
                    self.read_ns.entry((range.split, offset)).or_insert(now_ns);
                }
            }
            EventKind::TransactionBegun { transaction, .. } => drop(self.hidden.insert(*transaction)),
            EventKind::TransactionRolledBack { transaction, .. } => drop(self.hidden.remove(transaction)),
            EventKind::BecameVisible { transaction, records, .. } => {
                let offsets = records
                    .ranges()
                    .iter()
                    .flat_map(|range| (range.start..range.end).map(|offset| (range.split, offset)));
                let ages_ns: Vec<u64> =
                    offsets.filter_map(|record| Some(now_ns - self.read_ns.get(&record)?)).collect();
                self.hidden.remove(transaction);
                self.files += 1;
                self.lines.push(format!(
                    "t={:>6}s new committed file {transaction}: {} records, visible after {}s ~ {}s",
                    seconds(now_ns),
                    records.len(),
                    seconds(ages_ns.iter().copied().min().unwrap_or(0)),
                    seconds(ages_ns.iter().copied().max().unwrap_or(0)),
                ));
                self.latencies_ns.extend(ages_ns);
            }
            _ => {}
        }
    }

    /// What was seen, a line each, and the latencies at the end.
    #[must_use]
    pub fn text(&self, mode: &str) -> String {
        let mut text = self.lines.join("\n");
        let mut sorted = self.latencies_ns.clone();
        sorted.sort_unstable();
        let [least, median, most] = match (sorted.first(), sorted.get(sorted.len() / 2), sorted.last()) {
            (Some(least), Some(median), Some(most)) => [*least, *median, *most].map(seconds),
            _ => [0; 3].map(seconds),
        };
        write!(
            text,
            "\nmode={mode}: records visible={}, hidden files={}, latency min={least}s median={median}s max={most}s\n",
            sorted.len(),
            self.hidden.len(),
        )
        .expect("a string takes all");
        text
    }
}

/// Seconds with one digit behind the point, rounded.
fn seconds(nanoseconds: u64) -> String {
    let tenths = (nanoseconds + TENTH_NS / 2) / TENTH_NS;
    format!("{}.{}", tenths / 10, tenths % 10)
}
