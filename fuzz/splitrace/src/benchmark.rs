//! The bug benchmark: how soon a random search finds each bug of the registry.
//!
//! For each defect its [demonstration](splitrace_sim::demonstrations) is run both ways, and campaigns with different base
//! seeds look for it, each until its first find or the end of its budget. Only a violation of an invariant that the
//! defect's entry names counts as a find. The first find of the first campaign is shrunk.
//!
//! What a campaign finds first is the smallest finding seed behind its base, whatever the number of threads; seconds are of
//! the wall clock and belong to the machine.

mod search;
mod table;

pub use search::{Find, Searched, search, shrunk_length};
pub use table::text;

use serde::Serialize;
use splitrace_runtime::defects::{Defect, DefectKind, REGISTRY};
use splitrace_sim::demonstrations::Demonstration;
use std::time::Duration;

/// How far apart the base seeds of two campaigns are.
pub const CAMPAIGN_STRIDE: u64 = 10_000_000;

/// Whether a defect shows where it was written down to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Demonstrated {
    /// It passes without the defect, its plan is carried out, and it fails with it.
    Yes,
    /// It does not.
    No,
    /// Nobody wrote a scenario for it.
    NotWritten,
}

/// What became of one defect.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Score {
    /// Its name.
    pub defect: &'static str,
    /// Where it comes from.
    pub reference: &'static str,
    /// Whether its own scenario shows it.
    pub demonstrated: Demonstrated,
    /// How many campaigns looked for it.
    pub campaigns: u32,
    /// How many found it.
    pub found: u32,
    /// How many seeds it took, the median over the campaigns; one without a find counts as its whole budget.
    pub median_seeds: u64,
    /// How long it took, likewise, in milliseconds.
    pub median_ms: u64,
    /// By which invariants, the first campaign's first.
    pub invariants: Vec<String>,
    /// How many choices the first find had, and how many are left once it is shrunk.
    pub choices: Option<(usize, usize)>,
}

impl Score {
    /// Whether at least half of the campaigns found it, so that the medians mean a find.
    #[must_use]
    pub const fn is_found(&self) -> bool {
        self.found * 2 > self.campaigns
    }
}

/// The whole result.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Benchmark {
    /// The budget of one campaign for one defect, in milliseconds.
    pub budget_ms: u64,
    /// How many threads looked.
    pub jobs: u32,
    /// Every defect.
    pub scores: Vec<Score>,
}

/// The defects that are looked for: all but the quirks, which are Flink's own and found by its profile.
#[must_use]
pub fn defects() -> Vec<Defect> {
    REGISTRY.iter().filter(|entry| entry.kind != DefectKind::Quirk).map(|entry| entry.defect).collect()
}

/// Whether a defect's demonstration shows it.
#[must_use]
pub fn demonstrated(defect: Defect) -> Demonstrated {
    let Some(demonstration) = Demonstration::of(defect) else { return Demonstrated::NotWritten };
    let clean = demonstration.run_clean();
    let shows = clean.is_success() && clean.is_plan_carried_out() && demonstration.is_found();
    if shows { Demonstrated::Yes } else { Demonstrated::No }
}

/// Adds up what the campaigns of one defect came to.
#[must_use]
pub fn score(
    defect: Defect,
    demonstrated: Demonstrated,
    searched: &[Searched],
    shrunk: Option<usize>,
) -> Score {
    debug_assert!(!searched.is_empty(), "a score is of campaigns");
    let entry = defect.entry();
    let median = |figures: Vec<u64>| {
        let mut figures = figures;
        figures.sort_unstable();
        figures[figures.len() / 2]
    };
    let finds = || searched.iter().filter_map(|one| one.find.as_ref());
    let mut invariants: Vec<String> = Vec::new();
    for find in finds() {
        if !invariants.contains(&find.invariant) {
            invariants.push(find.invariant.clone());
        }
    }
    Score {
        defect: entry.id,
        reference: entry.reference,
        demonstrated,
        campaigns: u32::try_from(searched.len()).unwrap_or(u32::MAX),
        found: u32::try_from(finds().count()).unwrap_or(u32::MAX),
        median_seeds: median(searched.iter().map(|one| one.seeds).collect()),
        median_ms: median(searched.iter().map(|one| millis(one.time)).collect()),
        invariants,
        choices: finds().next().and_then(|find| shrunk.map(|shrunk| (find.choices, shrunk))),
    }
}

/// Milliseconds, rounded down.
#[must_use]
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(seeds: u64, ms: u64, invariant: Option<&str>) -> Searched {
        let find = invariant.map(|code| Find { seed: seeds, invariant: code.to_owned(), choices: 9 });
        Searched { find, seeds, time: Duration::from_millis(ms) }
    }

    #[test]
    fn a_score_is_the_median_of_its_campaigns() {
        let all = [searched(3, 30, Some("S1")), searched(900, 9_000, None), searched(5, 50, Some("C2"))];
        let score = score(Defect::GatewayNeverCloses, Demonstrated::Yes, &all, Some(4));
        assert_eq!((score.found, score.campaigns, score.is_found()), (2, 3, true));
        assert_eq!((score.median_seeds, score.median_ms), (5, 50));
        assert_eq!((score.invariants, score.choices), (vec!["S1".to_owned(), "C2".to_owned()], Some((9, 4))));
    }

    #[test]
    fn what_most_campaigns_miss_is_not_found() {
        let all = [searched(3, 30, Some("S1")), searched(900, 9_000, None), searched(900, 9_000, None)];
        assert!(!score(Defect::GatewayNeverCloses, Demonstrated::No, &all, None).is_found());
    }

    #[test]
    fn quirks_are_not_looked_for() {
        assert!(defects().iter().all(|defect| defect.entry().kind != DefectKind::Quirk));
        assert!(defects().len() > 50);
    }
}
