//! Whether the default draw is tame. A campaign in which nothing breaks passes too, and proves nothing.

use super::Summary;
use splitrace_runtime::event::{FaultKind, Window};

/// Below so many seeds a share says too little to be held against anyone.
pub const SEEDS_MIN: u64 = 2_000;

/// The mark of a run with a failover.
pub const FAILOVER: &str = "failover";
/// The mark of a run with a second fault inside a recovery.
pub const SECOND_FAULT: &str = "second fault in a recovery";
/// The mark of a run that lost its job master.
pub const LEADER_LOSS: &str = "job-master loss";

/// The mark of a kind of fault.
#[must_use]
pub fn fault_mark(fault: FaultKind) -> String {
    format!("fault {}", kebab(&fault))
}

/// The mark of a window that was hit.
#[must_use]
pub fn window_mark(window: Window) -> String {
    format!("window {}", kebab(&window))
}

fn kebab(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).expect("a unit variant is a string");
    value.as_str().unwrap_or_default().to_owned()
}

/// The marks and the least percentage of the seeds in which each must occur.
fn bars() -> Vec<(String, u64)> {
    let mut bars =
        vec![(FAILOVER.to_owned(), 95), (SECOND_FAULT.to_owned(), 20), (LEADER_LOSS.to_owned(), 10)];
    bars.extend(FaultKind::ALL.map(|fault| (fault_mark(fault), 1)));
    bars.extend(Window::ALL.map(|window| (window_mark(window), 1)));
    bars
}

/// What occurred too rarely, a sentence each; none for a campaign of fewer than [`SEEDS_MIN`] seeds.
#[must_use]
pub fn shortfalls(summary: &Summary) -> Vec<String> {
    if summary.seeds < SEEDS_MIN {
        return Vec::new();
    }
    let mut sentences = Vec::new();
    let mut hold = |name: &str, count: u64, percent: u64| {
        if count * 100 < summary.seeds * percent {
            sentences
                .push(format!("'{name}' in {count} of {} seeds, and {percent} % are owed", summary.seeds));
        }
    };
    for (mark, percent) in bars() {
        hold(&mark, summary.marks.get(&mark).copied().unwrap_or_default(), percent);
    }
    hold("all records visible", summary.all_visible, 95);
    hold("full exactly-once promise", summary.full_promise, 80);
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(seeds: u64, share_percent: u64) -> Summary {
        let marks = bars().into_iter().map(|(mark, _)| (mark, seeds * share_percent / 100)).collect();
        Summary { seeds, marks, all_visible: seeds, full_promise: seeds, ..Summary::default() }
    }

    #[test]
    fn a_wild_campaign_has_no_shortfall() {
        assert_eq!(shortfalls(&summary(SEEDS_MIN, 95)), Vec::<String>::new());
    }

    #[test]
    fn each_bar_is_exact() {
        for (mark, percent) in bars() {
            let mut wild = summary(SEEDS_MIN, 100);
            wild.marks.insert(mark.clone(), SEEDS_MIN * percent / 100);
            assert_eq!(shortfalls(&wild), Vec::<String>::new(), "{mark}");
            wild.marks.insert(mark.clone(), SEEDS_MIN * percent / 100 - 1);
            assert_eq!(shortfalls(&wild).len(), 1, "{mark}");
            wild.marks.remove(&mark);
            assert!(shortfalls(&wild)[0].contains(&mark), "{mark}");
        }
    }

    #[test]
    fn a_draw_that_finishes_too_seldom_or_promises_too_little_falls_short() {
        let wild = summary(SEEDS_MIN, 100);
        assert_eq!(shortfalls(&Summary { all_visible: SEEDS_MIN * 95 / 100 - 1, ..wild.clone() }).len(), 1);
        assert_eq!(shortfalls(&Summary { full_promise: SEEDS_MIN * 80 / 100 - 1, ..wild }).len(), 1);
    }

    #[test]
    fn a_small_campaign_is_not_judged() {
        assert!(shortfalls(&summary(SEEDS_MIN - 1, 0)).is_empty());
        assert_eq!(shortfalls(&summary(SEEDS_MIN, 0)).len(), bars().len());
    }
}
