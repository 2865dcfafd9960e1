//! Which invariants were judged in a run, which were not, and why: a verdict without that says too much.

use serde::Serialize;
use splitrace_invariants::{Code, Judgement};

/// What one invariant did in a run, in JSON.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct JudgementResult {
    code: &'static str,
    title: &'static str,
    /// How often it judged; 0 when there was nothing to judge, null when it did not judge.
    judged: Option<u64>,
    /// Why it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_judged: Option<String>,
}

impl JudgementResult {
    pub(super) fn all(judgements: &[(Code, Judgement)]) -> Vec<Self> {
        judgements.iter().map(|(code, judgement)| Self::of(*code, judgement)).collect()
    }

    fn of(code: Code, judgement: &Judgement) -> Self {
        let (judged, not_judged) = match judgement {
            Judgement::Judged { count } => (Some(*count), None),
            Judgement::NotJudged(why) => (None, Some(why.clone())),
        };
        Self { code: code.as_str(), title: code.title(), judged, not_judged }
    }
}

/// A line for what was judged, one for what had nothing to judge, and one per reason for not judging.
pub(super) fn lines(judgements: &[JudgementResult]) -> String {
    let named = |pick: &dyn Fn(&JudgementResult) -> Option<String>| {
        judgements.iter().filter_map(pick).collect::<Vec<_>>().join(", ")
    };
    let judged = named(&|one| {
        one.judged.filter(|count| *count > 0).map(|count| format!("{} {count} times", one.code))
    });
    let idle = named(&|one| (one.judged == Some(0)).then(|| one.code.to_owned()));
    let mut text = String::new();
    for (what, codes) in [("judged", judged), ("nothing to judge for", idle)] {
        if !codes.is_empty() {
            text.push_str(&format!("{what}: {codes}\n"));
        }
    }
    let mut reasons: Vec<&String> = judgements.iter().filter_map(|one| one.not_judged.as_ref()).collect();
    reasons.sort();
    reasons.dedup();
    for reason in reasons {
        let codes = named(&|one| (one.not_judged.as_ref() == Some(reason)).then(|| one.code.to_owned()));
        text.push_str(&format!("not judged: {reason} ({codes})\n"));
    }
    text.replace(" 1 times", " once")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_invariant_stands_in_one_line_with_its_reason() {
        let why = || Judgement::NotJudged("it has no checker yet".to_owned());
        let judgements = [
            (Code::S1, Judgement::Judged { count: 12 }),
            (Code::C1, Judgement::Judged { count: 1 }),
            (Code::K2, Judgement::Judged { count: 0 }),
            (Code::S5, why()),
            (Code::R1, Judgement::NotJudged("no checkpoint is ever taken".to_owned())),
            (Code::B1, why()),
        ];
        assert_eq!(
            lines(&JudgementResult::all(&judgements)),
            "judged: S1 12 times, C1 once\nnothing to judge for: K2\nnot judged: it has no checker yet (S5, B1)\n\
             not judged: no checkpoint is ever taken (R1)\n"
        );
    }
}
