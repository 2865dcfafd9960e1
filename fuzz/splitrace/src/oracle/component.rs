//! What every component of the oracle is.

use super::{Answer, Operation};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// What a component stored under a name, as bytes: shared by all its instances.
pub type Stored = BTreeMap<String, Vec<u8>>;

/// Why an operation has no ordinary answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OperationError {
    /// The operation threw, in Java's words: simple class names and messages, the cause chain joined with ` <- `.
    #[error("{0}")]
    Thrown(String),
    /// It is no operation of this component.
    #[error("BadOperation: {0}")]
    Malformed(String),
}

/// A component: a host of protocol code that is driven by operations.
pub trait Component: Debug {
    /// Does one operation: fields and effects go into the answer.
    ///
    /// # Errors
    /// When it throws, or makes no sense. Effects that happened before are told all the same, fields are not.
    fn operate(
        &mut self,
        operation: &Operation,
        stored: &mut Stored,
        answer: &mut Answer,
    ) -> Result<(), OperationError>;
}
