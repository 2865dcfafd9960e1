//! What the tests of enumerators hand to them.

use crate::api::source::*;
use crate::ids::SubtaskIndex;

/// Two subtasks; writes down what it is asked for.
pub(super) struct RecordingContext {
    /// Who is registered.
    pub(super) registered: Vec<SubtaskIndex>,
    said: Vec<String>,
}

impl Default for RecordingContext {
    fn default() -> Self {
        Self::with_registered(&[0, 1])
    }
}

impl<S: SourceSplit> SplitEnumeratorContext<S> for RecordingContext {
    fn current_parallelism(&self) -> u32 {
        2
    }

    fn registered_readers(&self) -> Vec<SubtaskIndex> {
        self.registered.clone()
    }

    fn splits_discovered(&mut self, splits: &[S]) {
        self.said.push(format!("{} discovered", splits.len()));
    }

    fn assign_splits(&mut self, assignment: Vec<(SubtaskIndex, Vec<S>)>) -> Result<(), UserError> {
        for (subtask, splits) in assignment {
            assert!(self.registered.contains(&subtask), "{} is not registered", subtask.0);
            let splits: Vec<String> = splits.iter().map(|split| split.at().split.to_string()).collect();
            self.said.push(format!("{} to {}", splits.join(", "), subtask.0));
        }
        Ok(())
    }

    fn signal_no_more_splits(&mut self, subtask: SubtaskIndex) -> Result<(), UserError> {
        self.said.push(format!("no more to {}", subtask.0));
        Ok(())
    }

    fn send_event_to_source_reader(&mut self, _: SubtaskIndex, _: Vec<u8>) -> Result<(), UserError> {
        panic!("no custom events here")
    }

    fn call_async(&mut self, call: AsyncCall) {
        self.said.push(format!("look, again after {:?}", call.period_ns));
    }

    fn run_in_coordinator_thread(&mut self, _: AsyncCallName) {
        panic!("nothing is run there")
    }
}

impl RecordingContext {
    /// Only these are registered.
    pub(super) fn with_registered(subtasks: &[u32]) -> Self {
        Self { registered: subtasks.iter().copied().map(SubtaskIndex).collect(), said: Vec::new() }
    }

    /// What it was asked for since it was asked last.
    pub(super) fn said(&mut self) -> String {
        std::mem::take(&mut self.said).join("; ")
    }
}
