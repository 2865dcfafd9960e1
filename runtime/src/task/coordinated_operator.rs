//! A coordinated operator that is no source: it keeps the last number that its coordinator sent, as state.

use super::task_error::TaskError;
use crate::ids::OperatorUid;

/// The operator; its gateway is usable from INITIALIZING on, so it registers with nobody.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CoordinatedOperator {
    operator: OperatorUid,
    last: Option<u64>,
}

impl CoordinatedOperator {
    /// An operator that has had no event.
    #[must_use]
    pub const fn new(operator: OperatorUid) -> Self {
        Self { operator, last: None }
    }

    /// Its uid.
    #[must_use]
    pub const fn operator(&self) -> OperatorUid {
        self.operator
    }

    /// Takes the state of a checkpoint; no bytes are the state of an operator that has had no event.
    ///
    /// # Errors
    /// When the bytes are no number.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), TaskError> {
        debug_assert!(self.last.is_none(), "restored before the first event");
        self.last = if bytes.is_empty() { None } else { Some(number(bytes)?) };
        Ok(())
    }

    /// Handles an event of its coordinator.
    ///
    /// # Errors
    /// When the bytes are no number.
    pub fn handle(&mut self, event: &[u8]) -> Result<(), TaskError> {
        self.last = Some(number(event)?);
        Ok(())
    }

    /// Its state.
    #[must_use]
    pub fn snapshot_state(&self) -> Vec<u8> {
        self.last
            .map_or_else(Vec::new, |last| postcard::to_stdvec(&last).expect("a number always serialises"))
    }
}

fn number(bytes: &[u8]) -> Result<u64, TaskError> {
    postcard::from_bytes(bytes).map_err(|error| TaskError::CoordinatedOperator(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_is_the_state() {
        let mut operator = CoordinatedOperator::new(OperatorUid(9));
        assert!(operator.snapshot_state().is_empty());
        for event in [3u64, 300] {
            operator.handle(&postcard::to_stdvec(&event).unwrap()).unwrap();
        }
        let mut restored = CoordinatedOperator::new(OperatorUid(9));
        restored.restore(&operator.snapshot_state()).unwrap();
        assert_eq!(restored, operator);
        assert!(restored.handle(&[0xFF]).is_err());
    }
}
