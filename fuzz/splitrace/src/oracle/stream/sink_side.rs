//! The part of the stream that is about the sink side: summaries that come twice or never, committables without them,
//! commits in any order, answers of every kind, restores of what was stored by whomever.

use super::Operations;

/// What a scripted committer may answer.
const ANSWERS: [&str; 9] =
    ["ok", "retry", "retry*", "already", "known", "unknown", "throw", "update:v1", "already_retry"];

impl Operations {
    fn script(&mut self) -> String {
        let (one, other) = (self.below(6), self.below(6));
        let (answers, more) = (self.pick(&ANSWERS), self.pick(&ANSWERS));
        format!(r#"{{"v{one}":["{answers}","{more}"],"v{other}":["{more}"]}}"#)
    }

    /// A `new` of this component: now and then one that restores what another stored.
    pub(super) fn new_on_sink_side(&mut self, component: &str) -> String {
        let (script, parallelism) = (self.script(), self.parallelism);
        let (flag, checkpointing) = (self.below(2) == 0, self.below(4) > 0);
        let restore = match self.below(3) {
            0 => format!(r#","restore":["x"],"restored_id":{}"#, self.id().max(0)),
            _ => String::new(),
        };
        format!(
            r#"{{"c":"{component}","op":"new","sub":0,"par":{parallelism},"commit_on_input":{flag},"emit":{flag},"ckpt_enabled":{checkpointing},"script":{script}{restore}}}"#
        )
    }

    /// What collectors and both committers are asked.
    pub(super) fn committables(&mut self, component: &str) -> String {
        let (sub, id) = (self.below(3), self.id().max(0));
        let operation = match self.below(10) {
            0..=2 => {
                format!(r#""op":"summary","sub":{sub},"n_sub":{},"ckpt":{id},"n":{}"#, 1 + sub, self.below(3))
            }
            3..=5 => format!(r#""op":"committable","sub":{sub},"ckpt":{id},"val":"v{}""#, self.below(6)),
            6 if component == "collector" => {
                let (script, retries, removes) = (self.script(), self.below(3), self.below(2) == 0);
                format!(r#""op":"commit","id":{id},"retries":{retries},"script":{script},"remove":{removes}"#)
            }
            6 => format!(r#""op":"complete","id":{id}"#),
            7 => {
                self.checkpoint += 1;
                let op = if component == "collector" { "serialize" } else { "snapshot" };
                format!(r#""op":"{op}","id":{},"name":"x","blob":"x""#, self.checkpoint)
            }
            8 if component == "collector" => {
                let op = self.pick(&["merge", "copy", "upto", "dump"]);
                format!(r#""op":"{op}","from":"x","to":"x","id":{id}"#)
            }
            8 => format!(
                r#""op":"{}","script":{}"#,
                self.pick(&["abort", "end_input", "script"]),
                self.script()
            ),
            _ => return self.new_on_sink_side(component),
        };
        format!(r#"{{"c":"{component}",{operation}}}"#)
    }

    /// What a writer and its committer are asked.
    pub(super) fn sink(&mut self) -> String {
        let id = self.id().max(0);
        let operation = match self.below(10) {
            0..=2 => format!(r#""op":"write","vals":["v{}","hold:v"]"#, self.below(6)),
            3..=5 => {
                self.checkpoint += i64::from(self.below(6) > 0);
                let op = self.pick(&["checkpoint", "checkpoint", "pre_barrier", "snapshot"]);
                format!(r#""op":"{op}","id":{},"name":"x""#, self.checkpoint)
            }
            6..=7 => format!(r#""op":"complete","id":{id}"#),
            8 => format!(r#""op":"{}""#, self.pick(&["end_input", "abort", "close", "drop"])),
            _ => return self.new_on_sink_side("sink"),
        };
        format!(r#"{{"c":"sink",{operation}}}"#)
    }
}
