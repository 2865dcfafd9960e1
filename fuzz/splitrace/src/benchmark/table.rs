//! The benchmark as a page: Markdown that a terminal shows as well.

use super::{Benchmark, Demonstrated, Score};
use std::fmt::Write;

/// At least so many defects of a hundred are found by the search.
const FOUND_BAR_PERCENT: usize = 95;
/// The median time to a find, over all defects, is at most this.
const MEDIAN_BAR_MS: u64 = 2_000;

/// The page, without a title.
#[must_use]
pub fn text(benchmark: &Benchmark) -> String {
    let mut text = String::from(
        "| defect | from | own scenario | found | seeds | seconds | invariant | choices, shrunk |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for score in &benchmark.scores {
        text.push_str(&row(score));
    }
    text + "\n" + &totals(benchmark)
}

fn row(score: &Score) -> String {
    let demonstrated = match score.demonstrated {
        Demonstrated::Yes => "shows it",
        Demonstrated::No => "DOES NOT SHOW IT",
        Demonstrated::NotWritten => "none",
    };
    let (seeds, seconds) = if score.is_found() {
        (score.median_seeds.to_string(), seconds(score.median_ms))
    } else {
        (format!("> {}", score.median_seeds), format!("> {}", seconds(score.median_ms)))
    };
    let choices = score.choices.map(|(all, left)| format!("{all} -> {left}")).unwrap_or_default();
    let invariants = score.invariants.join(", ");
    let (defect, reference, found, campaigns) = (score.defect, score.reference, score.found, score.campaigns);
    format!(
        "| {defect} | {reference} | {demonstrated} | {found} of {campaigns} | {seeds} | {seconds} | {invariants} | {choices} |\n"
    )
}

fn seconds(ms: u64) -> String {
    format!("{}.{:02}", ms / 1_000, ms % 1_000 / 10)
}

fn totals(benchmark: &Benchmark) -> String {
    let scores = &benchmark.scores;
    let mut medians: Vec<u64> = scores.iter().map(|score| score.median_ms).collect();
    medians.sort_unstable();
    let median_ms = medians.get(medians.len() / 2).copied().unwrap_or_default();
    let found = scores.iter().filter(|score| score.is_found()).count();
    let shown = scores.iter().filter(|score| score.demonstrated == Demonstrated::Yes).count();
    let all = scores.len();
    let reached = |bar: bool| if bar { "reached" } else { "MISSED" };
    let mut text = String::new();
    let mut line = |what: String, bar: bool| {
        writeln!(text, "- {what}: {}", reached(bar)).expect("a string takes all");
    };
    line(format!("{shown} of {all} shown by a scenario of their own (all owed)"), shown == all);
    line(
        format!(
            "{found} of {all} found by the search within {} s on {} threads ({FOUND_BAR_PERCENT} of 100 owed)",
            seconds(benchmark.budget_ms),
            benchmark.jobs
        ),
        found * 100 >= all * FOUND_BAR_PERCENT,
    );
    line(
        format!(
            "median time to the first find over all {} s ({} s owed)",
            seconds(median_ms),
            seconds(MEDIAN_BAR_MS)
        ),
        median_ms <= MEDIAN_BAR_MS,
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_that_is_missed_is_told() {
        let score = |found| Score {
            defect: "some-defect",
            reference: "made up",
            demonstrated: if found > 0 { Demonstrated::Yes } else { Demonstrated::NotWritten },
            campaigns: 5,
            found,
            median_seeds: 12,
            median_ms: 1_234,
            invariants: vec!["S1".to_owned()],
            choices: Some((90, 3)),
        };
        let with = |scores| text(&Benchmark { budget_ms: 60_000, jobs: 2, scores });
        let good = with(vec![score(5)]);
        assert!(
            good.contains("| some-defect | made up | shows it | 5 of 5 | 12 | 1.23 | S1 | 90 -> 3 |"),
            "{good}"
        );
        assert!(!good.contains("MISSED"), "{good}");
        let bad = with(vec![score(5), score(0)]);
        assert!(bad.contains("| none | 0 of 5 | > 12 | > 1.23 |") && bad.contains("MISSED"), "{bad}");
    }
}
