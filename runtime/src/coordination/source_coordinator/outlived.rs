//! An enumerator that outlives its reset: a defect.
//!
//! Closing a coordinator takes time, and what the old one has under way may still come to its end. Here it is a split
//! request that waits in its inbox: when the next checkpoint is complete it answers that, through the context of its
//! successor.

use super::SourceCoordinator;
use super::context::ContextCall;
use crate::actor::Outbox;
use crate::api::source::{EnumeratorContext, EnumeratorPort};
use crate::coordination::coordinator_error::CoordinatorError;

impl SourceCoordinator {
    /// Keeps the enumerator that is replaced; it acts once more.
    pub(super) fn outlive(&mut self, old: Box<dyn EnumeratorPort>) {
        self.outlived = Some(old);
    }

    /// The old enumerator answers its request, if there is one.
    pub(super) fn outlived_acts(&mut self, out: &mut Outbox) {
        let Some(mut old) = self.outlived.take() else { return };
        let mut context = ContextCall { context: &mut self.context, out: &mut *out };
        let Some(reader) = context.registered_readers().into_iter().next() else { return };
        if let Err(error) = old.handle_split_request(reader, &mut context) {
            self.context.fail_job(CoordinatorError::Enumerator(error), out);
        }
    }
}
