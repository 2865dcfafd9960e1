//! What a campaign found: sums and smallest seeds, merged the same in any order.

use super::{Behind, FailureShape};
use crate::engine::Verdict;
use serde::Serialize;
use splitrace_invariants::{Code, Judgement};
use std::collections::BTreeMap;

/// One run, as a campaign sees it.
#[derive(Clone, Debug)]
pub struct Digest {
    /// The seed.
    pub seed: u64,
    /// Its verdict.
    pub verdict: Verdict,
    /// The defects behind its failure; none where nobody asked.
    pub behind: Behind,
    /// What the scenario promised, in a line.
    pub promise: String,
    /// The names of what it exercised.
    pub marks: Vec<String>,
    /// What each invariant did.
    pub judgements: Vec<(Code, Judgement)>,
    /// How many events it had: what events/s counts.
    pub events: u64,
    /// Whether a bounded job made every record visible exactly once.
    pub all_visible: bool,
    /// Whether the scenario promised exactly-once without a reserve.
    pub full_promise: bool,
}

/// The failures of one shape.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Failure {
    /// How many seeds.
    pub count: u64,
    /// Some of the seeds, the smallest first.
    pub seeds: Vec<u64>,
    /// The sentence of the smallest seed.
    pub sentence: String,
}

/// What one invariant did in many runs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Judged {
    /// In how many seeds it judged.
    pub seeds: u64,
    /// How often in all of them.
    pub times: u64,
    /// In how many seeds there was nothing to judge.
    pub idle_seeds: u64,
    /// In how many seeds it did not judge, by the reason.
    pub not_judged: BTreeMap<String, u64>,
}

impl Judged {
    fn add(&mut self, judgement: Judgement) {
        match judgement {
            Judgement::Judged { count: 0 } => self.idle_seeds += 1,
            Judgement::Judged { count } => {
                self.seeds += 1;
                self.times += count;
            }
            Judgement::NotJudged(why) => *self.not_judged.entry(why).or_default() += 1,
        }
    }

    fn merge(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.times += other.times;
        self.idle_seeds += other.idle_seeds;
        for (why, seeds) in other.not_judged {
            *self.not_judged.entry(why).or_default() += seeds;
        }
    }
}

/// The sum of many runs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Summary {
    /// How many seeds were run.
    pub seeds: u64,
    /// How many events they had: what events/s counts.
    pub events: u64,
    /// How many of them made every record visible exactly once.
    pub all_visible: u64,
    /// How many of them promised exactly-once without a reserve.
    pub full_promise: u64,
    /// How many seeds ended in each outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// How many seeds had each promise.
    pub promises: BTreeMap<String, u64>,
    /// How many seeds exercised each thing.
    pub marks: BTreeMap<String, u64>,
    /// What each invariant did in all of them.
    pub judgements: BTreeMap<Code, Judged>,
    /// The distinct failures.
    #[serde(skip)]
    pub failures: BTreeMap<FailureShape, Failure>,
}

impl Summary {
    /// Takes a run; remembers at most `keep` seeds (at least one) for each distinct failure.
    pub fn add(&mut self, digest: Digest, keep: usize) {
        self.seeds += 1;
        self.events += digest.events;
        self.all_visible += u64::from(digest.all_visible);
        self.full_promise += u64::from(digest.full_promise);
        *self.promises.entry(digest.promise).or_default() += 1;
        for mark in digest.marks {
            *self.marks.entry(mark).or_default() += 1;
        }
        for (code, judgement) in digest.judgements {
            self.judgements.entry(code).or_default().add(judgement);
        }
        let verdict = digest.verdict;
        if !verdict.clean {
            let shape = FailureShape::new(
                &verdict.outcome,
                verdict.code.as_deref(),
                &verdict.sentence,
                &digest.behind,
            );
            let failure = Failure { count: 1, seeds: vec![digest.seed], sentence: verdict.line() };
            self.add_failure(shape, failure, keep);
        }
        *self.outcomes.entry(verdict.outcome).or_default() += 1;
    }

    /// Takes what another worker found.
    pub fn merge(&mut self, other: Self, keep: usize) {
        self.seeds += other.seeds;
        self.events += other.events;
        self.all_visible += other.all_visible;
        self.full_promise += other.full_promise;
        for (counts, others) in [
            (&mut self.outcomes, other.outcomes),
            (&mut self.promises, other.promises),
            (&mut self.marks, other.marks),
        ] {
            for (name, count) in others {
                *counts.entry(name).or_default() += count;
            }
        }
        for (code, judged) in other.judgements {
            self.judgements.entry(code).or_default().merge(judged);
        }
        for (shape, failure) in other.failures {
            self.add_failure(shape, failure, keep);
        }
    }

    /// How many seeds failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().map(|failure| failure.count).sum()
    }

    fn add_failure(&mut self, shape: FailureShape, new: Failure, keep: usize) {
        let Some(held) = self.failures.get_mut(&shape) else {
            self.failures.insert(shape, new);
            return;
        };
        if new.seeds.first() < held.seeds.first() {
            held.sentence = new.sentence;
        }
        held.count += new.count;
        held.seeds.extend(new.seeds);
        held.seeds.sort_unstable();
        held.seeds.truncate(keep.max(1));
        debug_assert!(held.seeds.is_sorted() && !held.seeds.is_empty(), "the smallest seed stands first");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn digest(seed: u64) -> Digest {
        let clean = !seed.is_multiple_of(3);
        let verdict = Verdict {
            outcome: if clean { "passed" } else { "violated" }.to_owned(),
            code: (!clean).then(|| format!("C{}", seed % 2)),
            sentence: if clean { String::new() } else { format!("split-{seed} is lost") },
            records: String::new(),
            clean,
        };
        let marks = if seed.is_multiple_of(2) { vec!["failover".to_owned()] } else { Vec::new() };
        Digest {
            seed,
            verdict,
            behind: Behind::default(),
            promise: "exactly-once".to_owned(),
            marks,
            judgements: vec![(Code::C1, Judgement::Judged { count: seed % 5 }), (Code::K1, no_checker())],
            events: seed,
            all_visible: clean,
            full_promise: clean,
        }
    }

    fn no_checker() -> Judgement {
        Judgement::NotJudged("it has no checker yet".to_owned())
    }

    #[test]
    fn judgements_are_summed_up_by_seeds_and_times() {
        let mut summary = Summary::default();
        (0..30).for_each(|seed| summary.add(digest(seed), 1));
        let judged = &summary.judgements[&Code::C1];
        assert_eq!((judged.seeds, judged.times, judged.idle_seeds), (24, 60, 6));
        assert_eq!(summary.judgements[&Code::K1].not_judged["it has no checker yet"], 30);
        assert_eq!(summary.judgements[&Code::K1].seeds, 0);
    }

    #[test]
    fn failures_are_grouped_and_keep_the_smallest_seeds() {
        let mut summary = Summary::default();
        for seed in (0..30).rev() {
            summary.add(digest(seed), 2);
        }
        assert_eq!((summary.seeds, summary.failed(), summary.failures.len()), (30, 10, 2));
        let shape = FailureShape::new("violated", Some("C1"), "split-0 is lost", &Behind::default());
        assert_eq!(
            summary.failures[&shape],
            Failure { count: 5, seeds: vec![3, 9], sentence: "C1 violated: split-3 is lost".to_owned() }
        );
        assert_eq!(summary.marks["failover"], 15);
    }

    proptest! {
        #[test]
        fn merging_does_not_see_who_ran_what(owners in prop::collection::vec(0usize..4, 0..60), keep in 0usize..4) {
            let mut whole = Summary::default();
            let mut parts = vec![Summary::default(); 4];
            for (seed, owner) in owners.iter().enumerate() {
                whole.add(digest(seed as u64), keep);
                parts[*owner].add(digest(seed as u64), keep);
            }
            let mut merged = Summary::default();
            for part in parts.into_iter().rev() {
                merged.merge(part, keep);
            }
            prop_assert_eq!(merged, whole);
        }
    }
}
