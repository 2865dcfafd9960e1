//! Which failures count as the same: those with one outcome, one code, one sentence up to its numbers, and the same defects
//! behind them.

use serde::Serialize;
use splitrace_runtime::defects::Defect;

/// The defects behind a failure, as far as trials tell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Behind {
    /// Without any of these it does not come about.
    pub each: Vec<Defect>,
    /// It comes about as long as one of these is there.
    pub one_of: Vec<Defect>,
}

/// What distinct failures differ in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct FailureShape {
    /// The outcome's name.
    pub outcome: String,
    /// The code of the violated invariant.
    pub code: Option<String>,
    /// The sentence with `#` for every number.
    pub sentence: String,
    /// The defects without which the seed does not fail so, by their names; empty where nobody asked.
    pub needs: Vec<&'static str>,
    /// The defects of which one is enough, by their names.
    pub needs_one_of: Vec<&'static str>,
}

impl FailureShape {
    /// Of an outcome and what is behind it.
    #[must_use]
    pub fn new(outcome: &str, code: Option<&str>, sentence: &str, behind: &Behind) -> Self {
        let names = |defects: &[Defect]| defects.iter().map(|defect| defect.entry().id).collect();
        Self {
            outcome: outcome.to_owned(),
            code: code.map(str::to_owned),
            sentence: normalised(sentence),
            needs: names(&behind.each),
            needs_one_of: names(&behind.one_of),
        }
    }

    /// `C1 violated`, `deadlocked`.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.code {
            Some(code) => format!("{code} {}", self.outcome),
            None => self.outcome.clone(),
        }
    }
}

/// The sentence with `#` for every number, and a list of alike things as one.
fn normalised(sentence: &str) -> String {
    let mut numbers_out = String::with_capacity(sentence.len());
    let mut in_number = false;
    for letter in sentence.chars() {
        if letter.is_ascii_digit() {
            if !in_number {
                numbers_out.push('#');
            }
            in_number = true;
        } else {
            in_number = false;
            numbers_out.push(letter);
        }
    }
    let named = without_operators(&numbers_out);
    let mut shown: Vec<&str> = Vec::new();
    for item in named.split(", ") {
        // In `[#..#, #..#]` only the brackets differ; the first item and the closing one stand for all.
        let bare = |item: &str| {
            item.rsplit(['[', '(', ' ']).next().unwrap_or_default().trim_end_matches([']', ')']).to_owned()
        };
        match shown.last_mut() {
            Some(last) if bare(last) == bare(item) && last.len() >= item.len() => {}
            _ => shown.push(item),
        }
    }
    shown.join(", ")
}

/// A job with one source names no operator, one with several does: `split-#.#`, `o#-s#-chk#`, `subtask # of operator-#`;
/// and behind an exchange it is a `sink subtask #` or a `committer subtask #`. The failure is the same.
fn without_operators(sentence: &str) -> String {
    let plain = sentence.replace("split-#.#", "split-#").replace("o#-s#-chk#", "s#-chk#");
    let behind = ["sink subtask #", "global committer subtask #", "committer subtask #"];
    let plain = plain.replace("subtask # of operator-#", "subtask #");
    behind.into_iter().fold(plain, |plain, name| plain.replace(name, "subtask #"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_make_a_failure_distinct() {
        let shape = |code, sentence| FailureShape::new("violated", Some(code), sentence, &Behind::default());
        let one = shape("C1", "split-2[3..17] is visible twice");
        assert_eq!(one, shape("C1", "split-0[0..0] is visible twice"));
        assert_eq!(one.sentence, "split-#[#..#] is visible twice");
        assert_ne!(one, shape("C2", "split-0[0..0] is visible twice"));
        assert_ne!(one, shape("C1", "split-0[0..0] is lost"));
    }

    #[test]
    fn what_two_defects_bring_about_are_two_failures() {
        let needs = |defect| {
            let behind = Behind { each: vec![defect], one_of: Vec::new() };
            FailureShape::new("violated", Some("S1"), "split-0 is nowhere", &behind)
        };
        assert_ne!(needs(Defect::EventAwaitedOnce), needs(Defect::AssignedInSnapshot));
    }

    #[test]
    fn whether_operators_are_named_does_not_make_a_failure_distinct() {
        let sentence = |text| FailureShape::new("violated", None, text, &Behind::default()).sentence;
        for (with, without) in [
            ("split-1.2[0..7] became visible again", "split-0[0..7] became visible again"),
            ("in o1-s0-chk1, by subtask 0 of operator-1 #1", "in s0-chk1, by subtask 0 #1"),
            ("subtask 2 of operator-1 is Running", "subtask 0 is Running"),
            ("sink subtask 2 of operator-1 is Running", "subtask 0 is Running"),
            ("global committer subtask 0 has done", "committer subtask 1 has done"),
            ("committer subtask 0 has done", "subtask 1 has done"),
        ] {
            assert_eq!(sentence(with), sentence(without));
        }
        assert_ne!(sentence("event 3 of operator-1"), sentence("event 3"));
    }

    #[test]
    fn the_length_of_a_list_does_not_make_a_failure_distinct() {
        let sentence = |text| FailureShape::new("violated", None, text, &Behind::default()).sentence;
        assert_eq!(
            sentence("lost: split-0[1..2]"),
            sentence("lost: split-0[1..2], split-1[4..4], split-3[0..9]")
        );
        assert_ne!(sentence("lost: split-0[1..2], for good"), sentence("lost: split-0[1..2]"));
    }
}
