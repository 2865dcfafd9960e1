//! Whether the default draw is tame. A campaign in which nothing breaks passes too, and proves nothing.

use super::Summary;
use serde::Serialize;
use splitrace_runtime::config::FailureMoment;
use splitrace_runtime::event::{FaultKind, Window};

/// Below so many seeds a share says too little to be held against anyone.
pub const SEEDS_MIN: u64 = 2_000;

/// What is done inside a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Harm {
    /// A task throws.
    Failure,
    /// A process dies.
    Crash,
    /// Something stands still or is held up.
    Delay,
}

pub(super) const HARMS: [Harm; 3] = [Harm::Failure, Harm::Crash, Harm::Delay];

/// A dead leader's words that reach a task manager late.
pub const LATE_WORDS: [FaultKind; 3] =
    [FaultKind::StaleNotice, FaultKind::StaleDeploy, FaultKind::StaleCancel];

/// The mark of a run with a failover.
pub const FAILOVER: &str = "failover";
/// The mark of a run with a second fault inside a recovery.
pub const SECOND_FAULT: &str = "second fault in a recovery";
/// The mark of a run with a third fault inside a recovery that had a second one.
pub const THIRD_FAULT: &str = "third fault in a recovery";
/// The mark of a run that lost its job master.
pub const LEADER_LOSS: &str = "job-master loss";

/// The mark of a run in which at least two coordinators took part in checkpoints.
pub const TWO_COORDINATORS: &str = "two coordinators";
/// The mark of a run in which a leader was lost with a write of its under way, and its notices, deploys or cancels arrived
/// after its successor's first words.
pub const LEADER_CHANGE: &str = "leader change with a stale write and late words";

/// The mark of a kind of fault.
#[must_use]
pub fn fault_mark(fault: FaultKind) -> String {
    format!("fault {}", kebab(&fault))
}

/// The mark of a window in which some harm was done.
#[must_use]
pub fn window_mark(window: Window, harm: Harm) -> String {
    format!("window {} {}", kebab(&window), kebab(&harm))
}

/// The mark of a window that opened.
#[must_use]
pub fn entered_mark(window: Window) -> String {
    format!("window {} opened", kebab(&window))
}

/// The mark of a kind of event.
#[must_use]
pub fn event_mark(kind: &str) -> String {
    format!("event {kind}")
}

/// The mark of a failure of user code.
#[must_use]
pub fn user_failure_mark(moment: FailureMoment) -> String {
    format!("user failure {}", kebab(&moment))
}

fn kebab(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).expect("a unit variant is a string");
    value.as_str().unwrap_or_default().to_owned()
}

/// The marks and in how many of a thousand seeds each must occur at least.
fn bars() -> Vec<(String, u64)> {
    let mut bars = vec![
        (FAILOVER.to_owned(), 950),
        (SECOND_FAULT.to_owned(), 200),
        (THIRD_FAULT.to_owned(), 50),
        (LEADER_LOSS.to_owned(), 100),
        (TWO_COORDINATORS.to_owned(), 200),
        (LEADER_CHANGE.to_owned(), 20),
    ];
    bars.extend(FaultKind::ALL.map(|fault| {
        // The whole of a bad leader change has a bar of its own; each kind of late word only has to be there.
        let permille = if LATE_WORDS.contains(&fault) { 5 } else { 10 };
        (fault_mark(fault), permille)
    }));
    for window in Window::ALL {
        bars.extend(HARMS.map(|harm| (window_mark(window, harm), 10)));
    }
    // One seed in ten draws a failure of user code, at one of five moments, at a record that the job may not have.
    bars.extend(FailureMoment::ALL.map(|moment| (user_failure_mark(moment), 5)));
    bars
}

/// What occurred too rarely, a sentence each; none for a campaign of fewer than [`SEEDS_MIN`] seeds.
#[must_use]
pub fn shortfalls(summary: &Summary) -> Vec<String> {
    if summary.seeds < SEEDS_MIN {
        return Vec::new();
    }
    let mut sentences = Vec::new();
    let mut hold = |name: &str, count: u64, permille: u64| {
        if count * 1_000 < summary.seeds * permille {
            let (whole, tenth) = (permille / 10, permille % 10);
            let seeds = summary.seeds;
            sentences.push(format!("'{name}' in {count} of {seeds} seeds, and {whole}.{tenth} % are owed"));
        }
    };
    for (mark, permille) in bars() {
        hold(&mark, summary.marks.get(&mark).copied().unwrap_or_default(), permille);
    }
    hold("all records visible", summary.all_visible, 950);
    hold("full exactly-once promise", summary.full_promise, 800);
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
        for (mark, permille) in bars() {
            let mut wild = summary(SEEDS_MIN, 100);
            wild.marks.insert(mark.clone(), SEEDS_MIN * permille / 1_000);
            assert_eq!(shortfalls(&wild), Vec::<String>::new(), "{mark}");
            wild.marks.insert(mark.clone(), SEEDS_MIN * permille / 1_000 - 1);
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
