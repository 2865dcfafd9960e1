//! Telling whose panic it is: a connector's, or the protocol's that called it.
//!
//! An exception of user code is a value ([`UserError`](super::source::UserError)) and fails its task, as in Flink. A panic
//! is a bug, and a run that ends by one says whose. The adapters call a connector's code through [`call`], and what of the
//! protocol a connector calls back goes through [`call_back`]; so the innermost of the two that a panic passes names its
//! owner. It travels in the panic itself: a flag beside the roles would be state that no fingerprint should have, and a
//! panic hook is global.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What a panic carries on from the border between protocol and connector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttributedPanic {
    /// Whether a connector's code panicked; otherwise what it had called of the protocol did.
    pub is_users: bool,
    /// In this call.
    pub method: &'static str,
    /// What it said.
    pub message: String,
}

impl fmt::Display for AttributedPanic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} in {}", self.message, self.method)
    }
}

/// Calls a connector's code.
///
/// # Panics
/// When that does, with an [`AttributedPanic`].
pub fn call<T>(method: &'static str, code: impl FnOnce() -> T) -> T {
    attributed(true, method, code)
}

/// Calls protocol code on behalf of a connector.
///
/// # Panics
/// When that does, with an [`AttributedPanic`].
pub fn call_back<T>(method: &'static str, code: impl FnOnce() -> T) -> T {
    attributed(false, method, code)
}

fn attributed<T>(is_users: bool, method: &'static str, code: impl FnOnce() -> T) -> T {
    // Nobody looks at what the panic left half done: the run is over.
    catch_unwind(AssertUnwindSafe(code)).unwrap_or_else(|panic| {
        if panic.is::<AttributedPanic>() {
            resume_unwind(panic);
        }
        let message = message_of(&*panic);
        resume_unwind(Box::new(AttributedPanic { is_users, method, message }))
    })
}

/// What a panic said, if it said something.
#[must_use]
pub fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .or_else(|| panic.downcast_ref::<AttributedPanic>().map(ToString::to_string))
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caught(code: impl FnOnce()) -> AttributedPanic {
        let panic = catch_unwind(AssertUnwindSafe(code)).expect_err("it panics");
        *panic.downcast::<AttributedPanic>().expect("it says whose it is")
    }

    #[test]
    fn what_does_not_panic_passes() {
        assert_eq!(call("Source::start", || call_back("assignSplits", || 7)), 7);
    }

    #[test]
    fn a_connectors_panic_is_its_own() {
        let panic = caught(|| call("SplitEnumerator::start", || panic!("no such topic: {}", 3)));
        assert_eq!((panic.is_users, panic.method), (true, "SplitEnumerator::start"));
        assert_eq!(panic.to_string(), "no such topic: 3 in SplitEnumerator::start");
    }

    #[test]
    fn what_a_connector_calls_back_is_the_protocols() {
        let panic = caught(|| call("SplitEnumerator::start", || call_back("assign_splits", || panic!("oh"))));
        assert_eq!((panic.is_users, panic.method), (false, "assign_splits"));
    }

    #[test]
    fn a_panic_without_words_is_told_as_such() {
        let panic = caught(|| call("SinkWriter::write", || std::panic::panic_any(5_u8)));
        assert_eq!(panic.message, "a panic without a message");
    }
}
