//! Which splits were discovered as of an enumerator's snapshot.
//!
//! All of it happens in the job manager's process, so its sequence alone orders it. A restored enumerator goes back to
//! what was discovered as of the snapshot that it restores.

use crate::kinds::{Kind, KindSet};
use splitrace_runtime::event::{Event, EventKind, Header};
use splitrace_runtime::ids::{ActorId, CheckpointId, OperatorUid, SplitId};
use splitrace_runtime::records::SplitPosition;
use std::sync::Arc;

/// How many snapshots of one enumerator are remembered: more than can ever be pending or restored from.
const SNAPSHOTS_MAX: usize = 64;

/// Splits at their start, sorted by split.
type Splits = Arc<Vec<SplitPosition>>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Enumerator {
    operator: OperatorUid,
    known: Splits,
    snapshots: Vec<(CheckpointId, Splits)>,
}

impl Enumerator {
    fn snapshot(&self, checkpoint: CheckpointId) -> Option<&Splits> {
        self.snapshots.iter().rev().find(|(held, _)| *held == checkpoint).map(|(_, splits)| splits)
    }

    fn add(&mut self, splits: &[SplitPosition]) {
        for split in splits {
            if let Err(at) = self.known.binary_search_by_key(&split.split, |held| held.split) {
                Arc::make_mut(&mut self.known).insert(at, *split);
            }
        }
        debug_assert!(self.known.is_sorted_by_key(|held| held.split));
    }
}

/// The discoveries of every enumerator of a job.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Discovery {
    enumerators: Vec<Enumerator>,
}

impl Discovery {
    /// What it reads.
    pub(crate) const READS: KindSet =
        KindSet::of(&[Kind::EnumeratorStarted, Kind::SplitsDiscovered, Kind::EnumeratorSnapshotTaken]);

    /// Takes note of what an enumerator says.
    pub(crate) fn observe(&mut self, event: &Event) {
        match &event.kind {
            EventKind::EnumeratorStarted { pending, restored } => {
                let enumerator = self.enumerator(operator_of(&event.header, pending));
                enumerator.known = restored
                    .and_then(|checkpoint| enumerator.snapshot(checkpoint).cloned())
                    .unwrap_or_default();
                // Whether the discovery is told before or after the start, what is pending has been discovered.
                enumerator.add(pending);
            }
            EventKind::SplitsDiscovered { splits } => {
                self.enumerator(operator_of(&event.header, splits)).add(splits);
            }
            EventKind::EnumeratorSnapshotTaken { checkpoint, pending } => {
                let enumerator = self.enumerator(operator_of(&event.header, pending));
                enumerator.snapshots.retain(|(held, _)| held != checkpoint);
                enumerator.snapshots.push((*checkpoint, Arc::clone(&enumerator.known)));
                if enumerator.snapshots.len() > SNAPSHOTS_MAX {
                    enumerator.snapshots.remove(0);
                }
            }
            _ => {}
        }
    }

    /// The splits that each enumerator had discovered as of its snapshot for `checkpoint`.
    pub(crate) fn as_of(&self, checkpoint: CheckpointId) -> impl Iterator<Item = &SplitPosition> {
        self.enumerators
            .iter()
            .filter_map(move |enumerator| enumerator.snapshot(checkpoint))
            .flat_map(|splits| splits.iter())
    }

    /// Whether `split` had been discovered as of the snapshot for `checkpoint`; nothing when the enumerator told of
    /// no such snapshot.
    pub(crate) fn knows(&self, checkpoint: CheckpointId, split: SplitId) -> Option<bool> {
        let enumerator = self.enumerators.iter().find(|held| held.operator == split.operator)?;
        let splits = enumerator.snapshot(checkpoint)?;
        Some(splits.binary_search_by_key(&split, |held| held.split).is_ok())
    }

    fn enumerator(&mut self, operator: OperatorUid) -> &mut Enumerator {
        let at = self.enumerators.iter().position(|held| held.operator == operator).unwrap_or_else(|| {
            self.enumerators.push(Enumerator { operator, known: Splits::default(), snapshots: Vec::new() });
            self.enumerators.len() - 1
        });
        &mut self.enumerators[at]
    }
}

fn operator_of(header: &Header, splits: &[SplitPosition]) -> OperatorUid {
    match header.actor {
        ActorId::SourceCoordinator(operator) => operator,
        _ => splits.first().map_or(OperatorUid(0), |first| first.split.operator),
    }
}
