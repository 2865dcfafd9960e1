//! `splitrace oracle`: one JSON operation a line in, one answer a line out, in the format of recordings of Flink 2.3.0.
//!
//! The answers come from the protocol modules that the simulator runs, with Flink's quirks switched on. Nothing here
//! models the protocol a second time: a component is a *host* of protocol code. It plays what lies around it (the
//! scheduler, the tasks, a scripted coordinator or enumerator), it performs the outputs, and it words errors the way Java
//! does: class names and messages stand in the tables of this folder and nowhere in the protocol.
//!
//! A component implements [`Component`] and has its line in `new_component`. Each `c` and `inst` has its own; what is
//! stored under a name is shared by all instances of a component. Refused: an answer as a tree of JSON values. Effects are
//! written as they happen, in the order of the recordings, and an operation costs a few microseconds.

mod answer;
mod collector;
mod committables;
mod committer;
mod component;
mod global;
mod holder;
mod operation;
mod reader;
mod sink;
pub mod stream;
mod tracker;

pub use answer::Answer;
pub use component::{Component, OperationError, Stored};
pub use operation::Operation;

use std::collections::BTreeMap;

/// A new instance of a component, or `None` when there is none of that name.
fn new_component(name: &str) -> Option<Box<dyn Component>> {
    match name {
        "collector" => Some(Box::new(collector::CollectorComponent::default())),
        "committer" => Some(Box::new(committer::CommitterComponent::default())),
        "global" => Some(Box::new(global::GlobalComponent::default())),
        "reader" => Some(Box::new(reader::ReaderComponent::default())),
        "holder" => Some(Box::new(holder::HolderComponent::default())),
        "sink" => Some(Box::new(sink::SinkComponent::default())),
        "tracker" => Some(Box::new(tracker::TrackerComponent::default())),
        _ => None,
    }
}

/// The instances of one component.
#[derive(Debug, Default)]
struct Instances {
    by_name: BTreeMap<String, Box<dyn Component>>,
    stored: Stored,
}

/// All components; see the module.
#[derive(Debug, Default)]
pub struct Oracle {
    components: BTreeMap<String, Instances>,
}

impl Oracle {
    /// An oracle without any state.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers one line, without a line break. `None`: the line is empty or a comment (`#`), and has no answer.
    ///
    /// A line that is no operation is answered with an `err` that begins with `BadOperation`, a name that no recording has.
    pub fn answer(&mut self, line: &str) -> Option<String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let operation = match Operation::parse(line) {
            Ok(operation) => operation,
            Err(error) => return Some(Answer::new(None).finish(Err(error))),
        };
        let mut answer = Answer::new(operation.echo());
        let result = self.operate(&operation, &mut answer);
        Some(answer.finish(result))
    }

    /// The answer to a line that is none, for this reason.
    #[must_use]
    pub fn refuse(why: String) -> String {
        Answer::new(None).finish(Err(OperationError::Malformed(why)))
    }

    fn operate(&mut self, operation: &Operation, answer: &mut Answer) -> Result<(), OperationError> {
        let name = operation.component()?;
        if !self.components.contains_key(name) {
            self.components.insert(name.to_owned(), Instances::default());
        }
        let instances = self.components.get_mut(name).expect("just put there");
        let instance = operation.instance();
        if !instances.by_name.contains_key(instance) {
            let component = new_component(name)
                .ok_or_else(|| OperationError::Malformed(format!("there is no component '{name}'")))?;
            instances.by_name.insert(instance.to_owned(), component);
        }
        let component = instances.by_name.get_mut(instance).expect("just put there");
        component.operate(operation, &mut instances.stored, answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_have_no_answer_and_nonsense_has_one() {
        let mut oracle = Oracle::new();
        assert_eq!(oracle.answer("  "), None);
        assert_eq!(oracle.answer("# T1"), None);
        for line in ["{", "[]", "{}", r#"{"c":"tracker"}"#, r#"{"c":"none","op":"new"}"#] {
            let answer = oracle.answer(line).expect("an answer");
            assert!(answer.starts_with(r#"{"err":"BadOperation: "#), "{answer}");
        }
        let unknown = oracle.answer(r#"{"c":"tracker","op":"fly","i":3}"#).expect("an answer");
        assert!(unknown.starts_with(r#"{"i":3,"err":"BadOperation: "#), "{unknown}");
    }

    #[test]
    fn instances_have_their_own_state_and_share_what_is_stored() {
        let mut oracle = Oracle::new();
        oracle.answer(r#"{"c":"tracker","op":"assign","assign":{"1":["a"]}}"#);
        let other = oracle.answer(r#"{"c":"tracker","inst":"b","op":"dump"}"#);
        assert_eq!(other.as_deref(), Some(r#"{"state":{"by_ckpt":{},"unck":{}},"ev":[]}"#));
        oracle.answer(r#"{"c":"tracker","op":"snapshot","name":"s"}"#);
        let restored = oracle.answer(r#"{"c":"tracker","inst":"b","op":"restore","name":"s"}"#);
        assert_eq!(restored.as_deref(), Some(r#"{"state":{"by_ckpt":{},"unck":{"1":["a"]}},"ev":[]}"#));
    }
}
