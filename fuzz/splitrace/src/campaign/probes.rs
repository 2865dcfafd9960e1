//! Probes: what must happen sometimes, over many seeds. A campaign in which one never fires has not tested what it stands
//! for, however clean it is.
//!
//! They are the marks that runs leave anyway, listed beforehand: each kind of fault, each window of the protocol with
//! each harm done in it, each moment at which user code throws, each kind of event, and the paths of a recovery. A
//! *rare* one may be missing in a nightly campaign: it is told, and is no failure. Refused: calls of the kind
//! `sometimes!(...)` inside the roles, which would be a second vocabulary beside the events.

use super::Summary;
use super::tame::{
    FAILOVER, HARMS, LEADER_CHANGE, LEADER_LOSS, SECOND_FAULT, THIRD_FAULT, TWO_COORDINATORS, entered_mark,
    event_mark, fault_mark, user_failure_mark, window_mark,
};
use serde::Serialize;
use splitrace_invariants::kind_names;
use splitrace_runtime::config::FailureMoment;
use splitrace_runtime::event::{FaultKind, Window};

/// What must happen sometimes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Probe {
    /// The mark of a run in which it happened.
    pub name: String,
    /// Whether some thousand seeds may do without it.
    pub is_rare: bool,
}

/// Faults that need several others at once: a leader dies with a notice under way, and its successor has spoken first.
const RARE_FAULTS: [FaultKind; 1] = [FaultKind::StaleNotice];

/// Every probe, in the order of their names.
#[must_use]
pub fn probes() -> Vec<Probe> {
    let paths = [
        FAILOVER,
        SECOND_FAULT,
        THIRD_FAULT,
        LEADER_LOSS,
        LEADER_CHANGE,
        TWO_COORDINATORS,
        "leader gave up",
        "checkpoint completed",
        "checkpoint aborted",
    ];
    let mut names: Vec<String> = paths.map(str::to_owned).to_vec();
    for window in Window::ALL {
        names.push(entered_mark(window));
        names.extend(HARMS.map(|harm| window_mark(window, harm)));
    }
    names.extend(FailureMoment::ALL.map(user_failure_mark));
    let mut probes: Vec<Probe> = names.into_iter().map(|name| Probe { name, is_rare: false }).collect();
    probes.extend(kind_names().map(|kind| Probe { name: event_mark(kind), is_rare: false }));
    let fault = |kind: FaultKind| Probe { name: fault_mark(kind), is_rare: RARE_FAULTS.contains(&kind) };
    probes.extend(FaultKind::ALL.map(fault));
    probes.sort();
    probes
}

/// The probes that never fired, the others first.
#[must_use]
pub fn silent(summary: &Summary) -> Vec<Probe> {
    let has_fired = |probe: &Probe| summary.marks.get(&probe.name).is_some_and(|seeds| *seeds > 0);
    let mut silent: Vec<Probe> = probes().into_iter().filter(|probe| !has_fired(probe)).collect();
    silent.sort_by_key(|probe| probe.is_rare);
    silent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_has_a_name_of_its_own_and_is_silent_until_it_fires() {
        let all = probes();
        assert!(all.windows(2).all(|pair| pair[0].name < pair[1].name));
        let mut summary = Summary::default();
        assert_eq!(silent(&summary).len(), all.len());
        let fired = fault_mark(FaultKind::Clog);
        summary.marks.insert(fired.clone(), 1);
        let silent = silent(&summary);
        assert_eq!(silent.len(), all.len() - 1);
        assert!(silent.iter().all(|probe| probe.name != fired));
        assert!(silent.is_sorted_by_key(|probe| probe.is_rare), "those that are owed stand first");
    }
}
