//! The coordinator's part of a checkpoint, and of a batch job's snapshot.

use super::SourceCoordinator;
use super::context::ContextCall;
use crate::actor::Outbox;
use crate::api::source::UserError;
use crate::api::source_state::{
    self, StateError, decode_enumerator_state, decode_versioned, encode_enumerator_state, encode_versioned,
};
use crate::coordination::coordinator_error::CoordinatorError;
use crate::defects::Defect;
use crate::event::EventKind;
use crate::ids::*;
use crate::message::*;
use crate::records::SplitPosition;
use serde::{Deserialize, Serialize};

/// The state that a batch job's coordinator keeps: an enumerator's and the tracker's.
#[derive(Default, Serialize, Deserialize)]
struct BatchState {
    enumerator: Vec<u8>,
    tracker: Vec<u8>,
}

impl SourceCoordinator {
    /// The enumerator snapshots, the tracker files, then the main thread hears of it. In Flink the tracker files first
    /// (FACT 35).
    pub(super) fn on_checkpoint(&mut self, checkpoint: CheckpointId, out: &mut Outbox) {
        if self.enumerator.is_none() {
            if !self.started {
                let state = Err(CoordinatorError::NotStarted);
                self.context.mail_main(CoordinatorToMain::CheckpointResult { checkpoint, state }, out);
                self.context.fail_job(CoordinatorError::NotStarted, out);
            }
            return;
        }
        let files_first = self.defects.has(Defect::AssignedInSnapshot);
        if files_first {
            self.file(checkpoint, out);
        }
        let snapshot = self.snapshot(checkpoint, out);
        if !files_first {
            self.file(checkpoint, out);
        }
        let state = match snapshot {
            Ok((state, pending)) => {
                out.emit(EventKind::EnumeratorSnapshotTaken { checkpoint, pending });
                Ok(self.stored(checkpoint, state))
            }
            Err(error) => Err(CoordinatorError::Snapshot(error)),
        };
        self.context.mail_main(CoordinatorToMain::CheckpointResult { checkpoint, state }, out);
    }

    fn file(&mut self, checkpoint: CheckpointId, out: &mut Outbox) {
        if checkpoint != CheckpointId::BATCH {
            self.context.tracker.on_checkpoint(checkpoint);
            let remembered = self.tracked_split_count() as u32;
            out.emit(EventKind::AssignmentsFiled { checkpoint, remembered });
        }
    }

    fn snapshot(
        &mut self,
        checkpoint: CheckpointId,
        out: &mut Outbox,
    ) -> Result<(Vec<u8>, Vec<SplitPosition>), UserError> {
        let enumerator = self.enumerator.as_mut().expect("whoever asks has looked");
        let state =
            enumerator.snapshot_state(checkpoint, &mut ContextCall { context: &mut self.context, out })?;
        let pending = source_state::enumerator_splits_held(&state)?;
        Ok((state, pending))
    }

    /// The enumerator's part of a stored state; the tracker takes over its own.
    pub(super) fn restored_state(
        &mut self,
        checkpoint: CheckpointId,
        stored: Vec<u8>,
    ) -> Result<Vec<u8>, StateError> {
        if checkpoint != CheckpointId::BATCH {
            let with_tracker = self.defects.has(Defect::TrackerInState);
            return if with_tracker { self.without_tracker(&stored) } else { Ok(stored) };
        }
        let batch: BatchState = decode_versioned(&stored)?;
        self.context.tracker.restore_state(&batch.tracker)?;
        Ok(batch.enumerator)
    }

    fn stored(&self, checkpoint: CheckpointId, enumerator: Vec<u8>) -> Vec<u8> {
        if checkpoint != CheckpointId::BATCH {
            let with_tracker = self.defects.has(Defect::TrackerInState);
            return if with_tracker { self.with_tracker(&enumerator) } else { enumerator };
        }
        encode_versioned(&BatchState { enumerator, tracker: self.context.tracker.snapshot_state() })
    }

    /// The enumerator's state with all that the tracker remembers.
    fn with_tracker(&self, enumerator: &[u8]) -> Vec<u8> {
        let mut state = decode_enumerator_state(enumerator).expect("the enumerator has just encoded it");
        let tracker = encode_versioned(&self.context.tracker.all());
        state.extra = encode_versioned(&BatchState { enumerator: state.extra, tracker });
        encode_enumerator_state(&state)
    }

    /// What [`Self::with_tracker`] made, taken apart again.
    fn without_tracker(&mut self, stored: &[u8]) -> Result<Vec<u8>, StateError> {
        let mut state = decode_enumerator_state(stored)?;
        let both: BatchState = decode_versioned(&state.extra)?;
        self.context.tracker.restore_state(&both.tracker)?;
        state.extra = both.enumerator;
        Ok(encode_enumerator_state(&state))
    }
}
