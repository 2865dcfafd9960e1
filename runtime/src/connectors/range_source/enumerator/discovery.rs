//! Splits that a worker discovers while the job runs.
//!
//! A look begins at the first split that is not known and tells where it began: by the time its result is handled, that
//! of another look that began at the same place may have been. Only the handler moves the position on, in the step that
//! takes the splits, so that no snapshot holds the one without the others.
//!
//! A periodic call cannot be taken back, so the worker goes on looking when everything is found, and finds nothing.

use super::super::RangeSplit;
use super::RangeEnumerator;
use crate::api::source::{AsyncCall, AsyncCallName, SplitEnumeratorContext, UserError};
use crate::api::source_state::StateError;
use crate::config::AssignmentPolicy;
use serde::{Deserialize, Serialize};

/// What the worker is asked for.
pub(super) const DISCOVERY: AsyncCallName = AsyncCallName(0);

/// What a look found: so many splits from this one on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(in super::super) struct Discovered {
    pub from: u32,
    pub count: u32,
}

impl Discovered {
    pub(in super::super) fn encode(self) -> Vec<u8> {
        postcard::to_stdvec(&self).expect("two numbers always serialise")
    }

    pub(in super::super) fn decode(bytes: &[u8]) -> Result<Self, UserError> {
        Ok(postcard::from_bytes(bytes).map_err(StateError::from)?)
    }
}

type Context<'a> = &'a mut dyn SplitEnumeratorContext<RangeSplit>;

impl RangeEnumerator {
    /// Has the worker look for what is not known yet; where splits are not discovered, knows all.
    pub(super) fn begin_discovery(&mut self, context: Context<'_>) {
        let plan = self.source.plan;
        match plan.discovery {
            None => self.discover(plan.split_count, context),
            Some(discovery) if self.discovered < plan.split_count => context.call_async(AsyncCall {
                name: DISCOVERY,
                initial_delay_ns: discovery.initial_delay_ns,
                period_ns: discovery.period_ns,
            }),
            Some(_) => {}
        }
    }

    /// The splits below `end` are known from now on.
    fn discover(&mut self, end: u32, context: Context<'_>) {
        debug_assert!(self.discovered <= end, "what is known stays known");
        let splits = self.source.splits(self.discovered..end);
        if !splits.is_empty() {
            context.splits_discovered(&splits);
            self.pending.extend(splits);
            self.discovered = end;
        }
    }

    /// One look, in the worker's thread.
    pub(in super::super) fn look(&mut self) -> Result<Discovered, UserError> {
        let plan = self.source.plan;
        let discovery = plan.discovery.expect("without discovery no worker is asked for anything");
        self.looks += 1;
        if discovery.failing_of > 0 && self.looks % discovery.failing_of == 1 {
            return Err(UserError::new(format!("injected failure in look {}", self.looks)));
        }
        let left = plan.split_count - self.discovered;
        let count = if discovery.period_ns.is_some() { left.min(discovery.splits_per_look) } else { left };
        Ok(Discovered { from: self.discovered, count })
    }

    /// What came of a look.
    pub(in super::super) fn looked(
        &mut self,
        result: Result<Discovered, UserError>,
        context: Context<'_>,
    ) -> Result<(), UserError> {
        let discovery = self.source.plan.discovery.expect("somebody has looked");
        match result {
            Ok(found) if found.from == self.discovered && found.count > 0 => {
                self.discover(found.from + found.count, context);
                self.hand_out(context)
            }
            // Another look that began there was faster, or there is nothing more.
            Ok(_) => Ok(()),
            Err(error) if !discovery.failures_tolerated => Err(error),
            Err(error) => {
                tracing::debug!(%error, "a look has failed");
                if discovery.period_ns.is_none() {
                    self.begin_discovery(context);
                }
                Ok(())
            }
        }
    }

    /// Splits are there that nobody could have asked for before.
    pub(in super::super) fn hand_out(&mut self, context: Context<'_>) -> Result<(), UserError> {
        match self.source.plan.policy {
            AssignmentPolicy::Pull => self.serve_waiting(context),
            // The first deal is when every reader is there.
            AssignmentPolicy::Push if !self.dealt => Ok(()),
            AssignmentPolicy::Push => self.deal_again(context),
        }
    }

    /// Who waits may have failed since: then it is not there, and asks again when it is restored.
    fn serve_waiting(&mut self, context: Context<'_>) -> Result<(), UserError> {
        let registered = context.registered_readers();
        for subtask in std::mem::take(&mut self.waiting) {
            if registered.contains(&subtask) {
                self.serve(subtask, context)?;
            }
        }
        Ok(())
    }

    /// Deals out what is new, if everybody is there. If not, all of it waits for whoever is missing, and the others
    /// hear that nothing more comes when that is so.
    fn deal_again(&mut self, context: Context<'_>) -> Result<(), UserError> {
        let registered = context.registered_readers();
        if registered.len() == context.current_parallelism() as usize {
            return self.deal(context);
        }
        if self.is_discovery_over() {
            for subtask in registered {
                self.signal_no_more(subtask, context)?;
            }
        }
        Ok(())
    }
}
