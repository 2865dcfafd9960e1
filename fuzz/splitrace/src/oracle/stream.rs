//! Operations for the oracle, drawn at random: for measuring it, and for asking what nobody recorded.
//!
//! The draw is like the recordings', and wilder: turns are held back, checkpoints come twice and out of order, batch
//! checkpoints come in between, subtasks answer that were never started. Whatever comes, an answer must come back.

mod sink_side;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// How many operations a run has before the next `new`.
const RUN_LENGTH: u64 = 40;

/// What a run is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Tracker,
    Scripted,
    Source,
    /// A collector, or one of the committers.
    Committables(&'static str),
    Sink,
}

/// What the runs are drawn from.
const KINDS: [Kind; 8] = [
    Kind::Tracker,
    Kind::Scripted,
    Kind::Source,
    Kind::Source,
    Kind::Committables("collector"),
    Kind::Committables("committer"),
    Kind::Committables("global"),
    Kind::Sink,
];

/// An endless stream of operations, one JSON line each.
#[derive(Clone, Debug)]
pub struct Operations {
    random: ChaCha8Rng,
    kind: Kind,
    parallelism: u64,
    left: u64,
    checkpoint: i64,
    named: u64,
}

impl Operations {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed);
        Self { random, kind: Kind::Tracker, parallelism: 1, left: 0, checkpoint: 0, named: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        let index = self.below(from.len() as u64) as usize;
        from[index]
    }

    /// A checkpoint near the latest: mostly one that there is.
    fn id(&mut self) -> i64 {
        match self.below(20) {
            0 => -1,
            1 => self.checkpoint + 2,
            _ => self.checkpoint - self.below(3) as i64,
        }
        .max(-1)
    }

    fn assignment(&mut self) -> String {
        let count = self.below(3);
        let mut lists = Vec::new();
        let first = self.below(self.parallelism);
        for index in 0..=count.min(self.parallelism - 1) {
            let splits: Vec<String> = (0..self.below(3)).map(|_| format!("\"s{}\"", self.below(9))).collect();
            lists.push(format!("\"{}\":[{}]", (first + index) % self.parallelism, splits.join(",")));
        }
        format!("{{{}}}", lists.join(","))
    }

    fn renew(&mut self) -> String {
        self.kind = KINDS[self.below(KINDS.len() as u64) as usize];
        self.parallelism = 1 + self.below(3);
        (self.left, self.checkpoint, self.named) = (RUN_LENGTH, 0, 0);
        let parallelism = self.parallelism;
        let ack = self.pick(&["auto", "manual"]);
        match self.kind {
            Kind::Tracker => r#"{"c":"tracker","op":"new"}"#.to_owned(),
            Kind::Committables(component) => self.new_on_sink_side(component),
            Kind::Sink => self.new_on_sink_side("sink"),
            Kind::Scripted => {
                let (snap, checkpointing) = (self.pick(&["auto", "manual"]), self.below(9) > 0);
                format!(
                    r#"{{"c":"holder","op":"new","par":{parallelism},"ack":"{ack}","snap":"{snap}","checkpointing":{checkpointing}}}"#
                )
            }
            Kind::Source => {
                let policy = self.pick(&["pull", "push", "manual"]);
                format!(
                    r#"{{"c":"holder","op":"new","provider":"source","par":{parallelism},"policy":"{policy}","splits":["s0","s1","s2"],"ack":"{ack}"}}"#
                )
            }
        }
    }

    fn tracker(&mut self) -> String {
        let (id, sub) = (self.id(), self.below(self.parallelism));
        match self.below(5) {
            0 => format!(r#"{{"c":"tracker","op":"checkpoint","id":{id}}}"#),
            1 => format!(r#"{{"c":"tracker","op":"complete","id":{id}}}"#),
            2 => format!(r#"{{"c":"tracker","op":"take","sub":{sub},"restored":{id}}}"#),
            3 => {
                let op = self.pick(&["snapshot", "restore", "dump"]);
                format!(r#"{{"c":"tracker","op":"{op}","name":"x"}}"#)
            }
            _ => format!(r#"{{"c":"tracker","op":"assign","assign":{}}}"#, self.assignment()),
        }
    }

    /// What both providers are asked.
    fn holder(&mut self) -> String {
        let sub = self.below(self.parallelism);
        match self.below(15) {
            0..=2 => {
                self.checkpoint += i64::from(self.below(6) > 0);
                let id = if self.below(20) == 0 { -1 } else { self.checkpoint };
                format!(r#""op":"ckpt","id":{id}"#)
            }
            3..=5 => format!(r#""op":"ack_ckpt","sub":{sub},"id":{}"#, self.id()),
            6 => {
                let op = self.pick(&["complete", "abort", "abort", "abort_trigger"]);
                format!(r#""op":"{op}","id":{}"#, self.id())
            }
            7..=8 => {
                let op = self.pick(&["running", "running", "attempt_failed", "stopping", "start"]);
                format!(r#""op":"{op}","sub":{sub}"#)
            }
            9 => format!(r#""op":"subtask_reset","sub":{sub},"id":{}"#, self.id()),
            10..=12 => {
                let (op, k) = (self.pick(&["ack", "ack", "nack"]), self.below(8));
                format!(r#""op":"{op}","k":{k}"#)
            }
            13 => {
                let op = self.pick(&["step", "drain", "dump", "send_throws"]);
                format!(r#""op":"{op}","n":1,"sub":{sub},"on":{}"#, self.below(2) > 0)
            }
            _ if self.below(3) == 0 => format!(r#""op":"reset","id":{}"#, self.id()),
            _ => format!(r#""op":"running","sub":{sub}"#),
        }
    }

    fn scripted(&mut self) -> String {
        let sub = self.below(self.parallelism);
        self.named += 1;
        match self.below(8) {
            0..=3 => format!(r#""op":"send","sub":{sub},"e":"e{}""#, self.named),
            4..=5 => {
                format!(r#""op":"{}","id":{}"#, self.pick(&["snap_ok", "snap_ok", "snap_fail"]), self.id())
            }
            6 => format!(r#""op":"snap_throw","on":{}"#, self.below(3) == 0),
            _ => r#""op":"fail_job""#.to_owned(),
        }
    }

    fn source(&mut self) -> String {
        let sub = self.below(self.parallelism);
        match self.below(12) {
            0..=5 => {
                let kind =
                    self.pick(&["register", "register", "request", "request", "request", "custom", "weird"]);
                format!(r#""op":"event","sub":{sub},"kind":"{kind}""#)
            }
            6..=7 => format!(r#""op":"assign","assign":{}"#, self.assignment()),
            8 => format!(r#""op":"no_more","sub":{}"#, self.below(self.parallelism + 1)),
            9 => format!(r#""op":"custom","sub":{},"e":"x""#, self.below(self.parallelism + 1)),
            10 => format!(r#""op":"assign_in_snapshot","sub":{sub}"#),
            _ => {
                let place = self.pick(&["start", "addReader", "addSplitsBack", "snapshotState", "complete"]);
                format!(r#""op":"throw_in","where":"{place}""#)
            }
        }
    }

    /// The next line.
    pub fn next_line(&mut self) -> String {
        if self.left == 0 {
            return self.renew();
        }
        self.left -= 1;
        match self.kind {
            Kind::Tracker => return self.tracker(),
            Kind::Committables(component) => return self.committables(component),
            Kind::Sink => return self.sink(),
            Kind::Scripted | Kind::Source => {}
        }
        let begun = RUN_LENGTH - self.left;
        let operation = if begun == 1 {
            r#""op":"start""#.to_owned()
        } else if begun - 2 < self.parallelism {
            format!(r#""op":"running","sub":{}"#, begun - 2)
        } else if self.below(5) < 3 {
            self.holder()
        } else if self.kind == Kind::Scripted {
            self.scripted()
        } else {
            self.source()
        };
        let dump = if self.below(2) == 0 { r#","dump":true"# } else { "" };
        let held = if self.below(12) == 0 { r#","drain":false"# } else { "" };
        format!(r#"{{"c":"holder",{operation}{dump}{held}}}"#)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Oracle;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_oracle_answers_whatever_it_is_asked(seed in any::<u64>()) {
            let (mut operations, mut oracle, mut replayed) = (Operations::new(seed), Oracle::new(), Oracle::new());
            for _ in 0..600 {
                let line = operations.next_line();
                let answer = oracle.answer(&line);
                let parsed: serde_json::Value =
                    serde_json::from_str(answer.as_deref().expect("an operation has an answer")).expect("JSON");
                prop_assert!(parsed["ev"].is_array(), "{line}: {parsed}");
                prop_assert_eq!(answer, replayed.answer(&line), "the same question, the same answer");
            }
        }
    }
}
