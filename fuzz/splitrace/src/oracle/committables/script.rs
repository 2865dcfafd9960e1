//! A committer that answers by script: committable -> list of answers, one for each call that sees it.
//!
//! An answer is a signal, or two joined with `_`. A last one that ends in `*` stays. Without an answer nothing is
//! signalled, which means committed.

use super::Thrown;
use crate::oracle::{Operation, OperationError};
use serde::Serialize;
use splitrace_runtime::api::sink::CommitRequest;
use std::collections::{BTreeMap, VecDeque};

/// The effect of one call of the committer: everything that it is called with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "t", rename = "commit_call")]
pub(in crate::oracle) struct Call {
    /// `text#retries` for each.
    pub(in crate::oracle) reqs: Vec<String>,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::oracle) struct Script {
    answers: BTreeMap<String, VecDeque<String>>,
}

impl Script {
    /// Takes the field `script` of an operation in, over what was there for the same committables.
    pub(in crate::oracle) fn extend(&mut self, operation: &Operation) -> Result<(), OperationError> {
        let malformed =
            || OperationError::Malformed("'script' must be lists of texts by committable".to_owned());
        let Some(script) = operation.get("script") else { return Ok(()) };
        for (committable, answers) in script.as_object().ok_or_else(malformed)? {
            let answers = answers.as_array().ok_or_else(malformed)?.iter();
            let texts = answers.map(|answer| answer.as_str().map(str::to_owned));
            let texts = texts.collect::<Option<VecDeque<String>>>().ok_or_else(malformed)?;
            self.answers.insert(committable.clone(), texts);
        }
        Ok(())
    }

    /// The script of one operation, and of no other.
    pub(in crate::oracle) fn of(operation: &Operation) -> Result<Self, OperationError> {
        let mut script = Self::default();
        script.extend(operation)?;
        Ok(script)
    }

    fn answer_to(&mut self, committable: &str) -> String {
        let Some(answers) = self.answers.get_mut(committable) else { return String::new() };
        match answers.front().and_then(|answer| answer.strip_suffix('*')) {
            Some(answer) if answers.len() == 1 => answer.to_owned(),
            _ => answers.pop_front().unwrap_or_default(),
        }
    }

    /// The part of a call that is about this request: each signal of the answer in its turn.
    ///
    /// # Errors
    /// When the committer throws, or Flink does because of the signal (FACT 74).
    pub(in crate::oracle) fn commit(&mut self, request: &mut CommitRequest<String>) -> Result<(), Thrown> {
        let text = request.committable().clone();
        for signal in self.answer_to(&text).split('_') {
            match signal.split_once(':').unwrap_or((signal, "")) {
                ("already", _) => request.signal_already_committed(),
                ("retry", _) => request.retry_later(),
                ("update", other) => request.update_and_retry_later(other.to_owned()),
                ("known", _) => request.signal_failed_with_known_reason("known"),
                ("unknown", _) => {
                    request.signal_failed_with_unknown_reason("unknown");
                    let committable = request.committable();
                    let what = format!("IllegalStateException: Failed to commit {committable}");
                    return Err(Thrown(format!("{what} <- RuntimeException: unknown")));
                }
                ("throw", _) => return Err(Thrown(format!("IOException: commit throws for {text}"))),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitrace_runtime::api::sink::CommitSignal;

    fn script_of(json: &str) -> Script {
        Script::of(&Operation::parse(json).expect("an operation")).expect("a script")
    }

    fn signals(script: &mut Script, calls: usize) -> Vec<CommitSignal> {
        let mut request = CommitRequest::new("a".to_owned(), 0);
        let mut signals = Vec::new();
        for _ in 0..calls {
            request = CommitRequest::new("a".to_owned(), request.number_of_retries());
            script.commit(&mut request).expect("nothing throws");
            signals.push(request.signal());
        }
        signals
    }

    #[test]
    fn answers_come_in_turn_and_a_last_one_with_a_star_stays() {
        let mut script = script_of(r#"{"script":{"a":["already_retry","retry_already"]}}"#);
        let wanted = [CommitSignal::RetryLater, CommitSignal::AlreadyCommitted, CommitSignal::Committed];
        assert_eq!(signals(&mut script, 3), wanted);
        let mut script = script_of(r#"{"script":{"a":["ok","retry*"]}}"#);
        let wanted = [CommitSignal::Committed, CommitSignal::RetryLater, CommitSignal::RetryLater];
        assert_eq!(signals(&mut script, 3), wanted);
    }

    #[test]
    fn a_thrown_answer_ends_the_call_in_its_middle() {
        let mut script = script_of(r#"{"script":{"a":["retry_throw","unknown_retry"]}}"#);
        let mut request = CommitRequest::new("a".to_owned(), 0);
        assert_eq!(script.commit(&mut request), Err(Thrown("IOException: commit throws for a".to_owned())));
        assert_eq!(request.signal(), CommitSignal::RetryLater);
        let thrown = script.commit(&mut request).unwrap_err();
        assert_eq!(thrown.0, "IllegalStateException: Failed to commit a <- RuntimeException: unknown");
    }
}
