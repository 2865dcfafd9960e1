//! A campaign's result for people.

use super::CampaignResult;
use crate::campaign::Summary;
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
        "seeds {}..{}{}: {} in {}.{:01} s, {} seeds/s, {} events/s, {} events per run",
        result.first_seed,
        result.end_seed,
        if result.interrupted { " (interrupted; this is what was run)" } else { "" },
        counted(summary.seeds, "run"),
        millis / 1_000,
        millis % 1_000 / 100,
        grouped(result.seeds_per_second),
        grouped(result.events_per_second),
        grouped(result.events_per_run)
    )?;
    if !result.cut_short.is_empty() {
        let seeds: Vec<String> = result.cut_short.iter().map(u64::to_string).collect();
        writeln!(text, "stopped before their end, so not judged: seed {}", seeds.join(", "))?;
    }
    counts(text, "outcomes", &summary.outcomes, summary.seeds)?;
    counts(text, "promises", &summary.promises, summary.seeds)?;
    // Events and windows that opened are probes only: nearly all are in nearly every seed.
    let is_listed = |mark: &String| !mark.starts_with("event ") && !mark.ends_with(" opened");
    let listed = summary.marks.iter().filter(|(mark, _)| is_listed(mark));
    let listed = listed.map(|(mark, seeds)| (mark.clone(), *seeds)).collect();
    counts(text, "exercised (seeds in which it happened)", &listed, summary.seeds)?;
    probes(text, result)?;
    judgements(text, summary)?;
    writeln!(
        text,
        "\nall records visible exactly once in {}, full exactly-once promise in {} of {}",
        summary.all_visible,
        summary.full_promise,
        counted(summary.seeds, "seed")
    )?;
    failures(text, result)?;
    for defect in &result.defects {
        match (defect.found, defect.first_seed) {
            (true, Some(seed)) => writeln!(
                text,
                "defect {}: FOUND in {}, first in seed {seed}, by {}",
                defect.id,
                counted(defect.seeds, "seed"),
                defect.by.join(", ")
            )?,
            _ => writeln!(text, "defect {}: NOT FOUND by an invariant that its entry names", defect.id)?,
        }
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
    let seeds = counted(summary.seeds, "seed");
    let interrupted = if result.interrupted { "; interrupted before the end" } else { "" };
    writeln!(text, "{verdict}: {} of {seeds} failed{interrupted}", result.failed)
}

/// How many probes fired, and which never did.
fn probes(text: &mut String, result: &CampaignResult) -> fmt::Result {
    let fired = result.probes - result.silent_probes.len();
    writeln!(text, "\nprobes: {fired} of {} fired", result.probes)?;
    for probe in &result.silent_probes {
        let weight = match (probe.is_rare, result.probes_required) {
            (true, _) => "rare",
            (false, true) => "owed",
            (false, false) => "not rare",
        };
        writeln!(text, "  never fired ({weight}): {}", probe.name)?;
    }
    Ok(())
}

/// What became of the replay files.
pub(super) fn files(result: &CampaignResult) -> String {
    let mut text = String::new();
    for file in &result.files {
        text.push_str(&format!("replay file {file}\n"));
    }
    for error in &result.file_errors {
        text.push_str(&format!("error: {error}\n"));
    }
    if result.files_left_out > 0 {
        let left_out = counted(result.files_left_out, "replay file");
        text.push_str(&format!("interrupted: {left_out} not written; the seeds above tell the same\n"));
    }
    text
}

/// Which invariants were judged in how many seeds, and why not in the others.
fn judgements(text: &mut String, summary: &Summary) -> fmt::Result {
    writeln!(text, "\njudged (seeds in which there was something to judge):")?;
    for (code, judged) in &summary.judgements {
        let permille = judged.seeds * 1_000 / summary.seeds.max(1);
        let mut said = Vec::new();
        if judged.seeds > 0 {
            said.push(if judged.times == 1 {
                "once".to_owned()
            } else {
                format!("{} times", grouped(judged.times))
            });
        }
        if judged.idle_seeds > 0 {
            said.push(format!("nothing to judge in {}", counted(judged.idle_seeds, "seed")));
        }
        for (why, seeds) in &judged.not_judged {
            let share = if *seeds == summary.seeds {
                String::new()
            } else {
                format!(" in {}", counted(*seeds, "seed"))
            };
            said.push(format!("not judged{share}: {why}"));
        }
        let (share, rest) = (permille / 10, permille % 10);
        let title = code.title();
        writeln!(text, "  {:>8}  {share:>3}.{rest} %  {code} {title}: {}", judged.seeds, said.join("; "))?;
    }
    Ok(())
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
    writeln!(text, "\n{}:", counted(result.failures.len() as u64, "distinct failure"))?;
    for failure in &result.failures {
        let others = match failure.count {
            0 | 1 => String::new(),
            count => format!(" (and {} more like it)", count - 1),
        };
        writeln!(text, "  seed {}{others}: {}", failure.seed, failure.first)?;
        if !failure.shape.needs.is_empty() {
            writeln!(text, "    does not come about without {}", failure.shape.needs.join(", "))?;
        }
        if !failure.shape.needs_one_of.is_empty() {
            let defects = failure.shape.needs_one_of.join(", ");
            writeln!(text, "    comes about with any one of {defects}, and not without all of them")?;
        }
        writeln!(text, "    {}", failure.replay)?;
    }
    writeln!(text)
}

/// `1 seed`, `2 seeds`.
fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
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
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "seed")), ["0 seeds", "1 seed", "2 seeds"]);
    }

    #[test]
    fn digits_stand_in_threes() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"].map(str::to_owned)
        );
    }
}
