//! A campaign's result for people.

use super::CampaignResult;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// The whole text.
pub(super) fn text(result: &CampaignResult) -> String {
    let mut text = String::new();
    write_text(&mut text, result).expect("a string takes all");
    text
}

fn write_text(text: &mut String, result: &CampaignResult) -> fmt::Result {
    let summary = &result.summary;
    let millis = result.wall_time_ms;
    writeln!(
        text,
        "seeds {}..{}{}: {} runs in {}.{:01} s, {} seeds/s, {} events/s, {} events per run",
        result.first_seed,
        result.end_seed,
        if result.interrupted { " (interrupted; this is what was run)" } else { "" },
        summary.seeds,
        millis / 1_000,
        millis % 1_000 / 100,
        grouped(result.seeds_per_second),
        grouped(result.events_per_second),
        grouped(result.events_per_run)
    )?;
    counts(text, "outcomes", &summary.outcomes, summary.seeds)?;
    counts(text, "promises", &summary.promises, summary.seeds)?;
    counts(text, "exercised (seeds in which it happened)", &summary.marks, summary.seeds)?;
    writeln!(
        text,
        "\nall records visible exactly once in {}, full exactly-once promise in {} of {} seeds",
        summary.all_visible, summary.full_promise, summary.seeds
    )?;
    failures(text, result)?;
    for defect in &result.defects {
        match (defect.found, defect.first_seed) {
            (true, Some(seed)) => writeln!(
                text,
                "defect {}: FOUND in {} seeds, first in seed {seed}, by {}",
                defect.id,
                defect.seeds,
                defect.by.join(", ")
            )?,
            _ => writeln!(text, "defect {}: NOT FOUND by an invariant that its entry names", defect.id)?,
        }
    }
    for file in &result.files {
        writeln!(text, "wrote {file}")?;
    }
    for error in &result.file_errors {
        writeln!(text, "error: {error}")?;
    }
    if !result.shortfalls.is_empty() {
        writeln!(text, "\nthe draw is too tame:")?;
        for shortfall in &result.shortfalls {
            writeln!(text, "  {shortfall}")?;
        }
    } else if result.judged_for_tameness {
        writeln!(text, "the draw is not tame: all that is owed occurred often enough")?;
    }
    let verdict = if result.failures.is_empty() { "no violation" } else { "violations found" };
    writeln!(text, "{verdict}: {} of {} seeds failed", result.failed, summary.seeds)
}

fn counts(text: &mut String, title: &str, counts: &BTreeMap<String, u64>, seeds: u64) -> fmt::Result {
    if counts.is_empty() {
        return Ok(());
    }
    writeln!(text, "\n{title}:")?;
    for (name, count) in counts {
        let permille = count * 1_000 / seeds.max(1);
        writeln!(text, "  {count:>8}  {:>3}.{} %  {name}", permille / 10, permille % 10)?;
    }
    Ok(())
}

fn failures(text: &mut String, result: &CampaignResult) -> fmt::Result {
    if result.failures.is_empty() {
        return Ok(());
    }
    writeln!(text, "\n{} distinct failures:", result.failures.len())?;
    for failure in &result.failures {
        writeln!(
            text,
            "  seed {} (and {} more like it): {}",
            failure.seed,
            failure.count - 1,
            failure.first
        )?;
        writeln!(text, "    {}", failure.replay)?;
    }
    writeln!(text)
}

/// `1,234,567`.
pub(in crate::commands) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_threes() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"].map(str::to_owned)
        );
    }
}
