//! The range source: split `i` holds the numbers `i * n .. (i + 1) * n`. It is the demo of Flink's protocol, and the
//! source of every simulated job.
//!
//! A record's offset is the number itself, so that provenance needs no table. An unbounded source has splits without an
//! end worth the name; there each split still has its own identity, though their numbers overlap.

pub mod defective;
mod enumerator;
mod reader;
mod split_reader;

pub use enumerator::RangeEnumerator;
pub use reader::RangeReader;
pub use split_reader::{RangeRecordEmitter, RangeSplitReader};

use crate::api::source::{
    Boundedness, EnumeratorFactory, ReaderAdapter, ReaderPort, SimpleVersionedSerializer, Source,
    SourceEnumerators, SourceReader, SourceSplit,
};
use crate::api::source_state::StateError;
use crate::config::{
    AssignmentPolicy, EnumeratorScript, FetcherConfig, ReaderKind, SourceConfig, TaskConfig, VertexConfig,
};
use crate::defects::{Defect, DefectSet};
use crate::encoding::encode_onto;
use crate::ids::{OperatorUid, SplitId};
use crate::reader_base::{ReaderOptions, SourceReaderBase};
use crate::records::SplitPosition;
use defective::AlteredSource;
use defective::assignment::{
    ForgetsReports, KeepsNamesOnly, LeaksOrder, MovesUnrevoked, PlansAgain, ShelvesReturned,
    TellsAssignedOnly,
};
use defective::discovery::{
    EndsWithFirstPart, MovesPosition, ReordersPlan, ReturnsEarly, ServesGoneReaders, TakesEveryResult,
};
use defective::enumerator::{EnumeratorHabit, HabitualEnumerator};
use defective::readers::{AheadReader, ParkingReader, SkippingReader, SwappingReader};
use defective::split_reader::LosingSplitReader;
use std::ops::Range;
use std::sync::Arc;

/// Where the splits of an unbounded source end: never reached, and far from overflow.
pub const UNBOUNDED_END: u64 = u64::MAX / 2;

/// A range of numbers, of which `at.position` is read next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RangeSplit {
    /// Identity, next number, and the number behind the last one.
    pub at: SplitPosition,
}

impl SourceSplit for RangeSplit {
    fn at(&self) -> SplitPosition {
        self.at
    }
}

/// How a [`RangeSplit`] is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RangeSplitSerializer;

impl SimpleVersionedSerializer<RangeSplit> for RangeSplitSerializer {
    fn version(&self) -> u32 {
        1
    }

    fn serialize(&self, value: &RangeSplit) -> Vec<u8> {
        encode_onto(&value.at, Vec::with_capacity(24))
    }

    fn deserialize(&self, version: u32, bytes: &[u8]) -> Result<RangeSplit, StateError> {
        if version != self.version() {
            return Err(StateError::UnknownVersion(version));
        }
        Ok(RangeSplit { at: postcard::from_bytes(bytes)? })
    }
}

/// How the number of discovered splits is written: what the enumerator keeps beside its splits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DiscoveredSerializer;

impl SimpleVersionedSerializer<u32> for DiscoveredSerializer {
    fn version(&self) -> u32 {
        1
    }

    fn serialize(&self, value: &u32) -> Vec<u8> {
        encode_onto(value, Vec::with_capacity(5))
    }

    fn deserialize(&self, version: u32, bytes: &[u8]) -> Result<u32, StateError> {
        if version != self.version() {
            return Err(StateError::UnknownVersion(version));
        }
        Ok(postcard::from_bytes(bytes)?)
    }
}

/// The source. A task knows nothing of the plan, so a source made for a reader plans no split.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RangeSource {
    /// The operator; it is in every split's identity.
    pub operator: OperatorUid,
    /// The plan.
    pub plan: SourceConfig,
    /// How its readers work.
    pub task: TaskConfig,
}

impl RangeSource {
    /// All splits at their start, in order.
    #[must_use]
    pub fn plan_splits(&self) -> Vec<RangeSplit> {
        self.splits(0..self.plan.split_count)
    }

    /// Some of them.
    #[must_use]
    pub fn splits(&self, indices: Range<u32>) -> Vec<RangeSplit> {
        debug_assert!(indices.end <= self.plan.split_count, "there are no more");
        let plan = self.plan;
        let split = |index: u32| {
            let position = u64::from(index) * plan.records_per_split;
            let end = if plan.bounded { position + plan.records_per_split } else { UNBOUNDED_END };
            debug_assert!(position <= end, "the plan is far below the far end");
            RangeSplit {
                at: SplitPosition { split: SplitId { operator: self.operator, index }, position, end },
            }
        };
        indices.map(split).collect()
    }
}

impl Source for RangeSource {
    type Split = RangeSplit;
    type EnumeratorExtra = u32;
    type Enumerator = RangeEnumerator;
    type Reader = RangeReader;
    type SplitSerializer = RangeSplitSerializer;
    type ExtraSerializer = DiscoveredSerializer;

    fn boundedness(&self) -> Boundedness {
        if self.plan.bounded { Boundedness::Bounded } else { Boundedness::ContinuousUnbounded }
    }

    fn create_enumerator(&self) -> RangeEnumerator {
        RangeEnumerator::create(*self)
    }

    fn restore_enumerator(&self, pending: Vec<RangeSplit>, discovered: Option<u32>) -> RangeEnumerator {
        RangeEnumerator::restore(*self, pending, discovered)
    }

    fn create_reader(&self) -> RangeReader {
        RangeReader::new(self.task, self.plan.policy == AssignmentPolicy::Pull)
    }

    fn split_serializer(&self) -> RangeSplitSerializer {
        RangeSplitSerializer
    }

    fn extra_serializer(&self) -> DiscoveredSerializer {
        DiscoveredSerializer
    }
}

/// What makes the enumerators of a vertex.
#[must_use]
pub fn range_enumerators(config: &VertexConfig, defects: DefectSet) -> Arc<dyn EnumeratorFactory> {
    let source = RangeSource { operator: config.operator, plan: config.source, task: config.task };
    let altered = [
        Defect::EnumeratorRepeatsSplits,
        Defect::HashMapOrderLeaks,
        Defect::EmptyDiscoveryReturnsEarly,
        Defect::DiscoveredSplitForGoneReader,
        Defect::DiscoveryResultTwice,
        Defect::WorkerMovesPosition,
        Defect::ReturnedSplitsShelved,
        Defect::SplitMovedUnrevoked,
        Defect::IdleReaderNeverTold,
        Defect::ReportedSplitsForgotten,
        Defect::RestoredPlanReordered,
        Defect::FirstPartEndsSource,
        Defect::HeldPositionsForgotten,
    ];
    match defects.first_of(&altered) {
        None => Arc::new(SourceEnumerators(source)),
        Some(Defect::EnumeratorRepeatsSplits) => habitual::<PlansAgain>(source),
        Some(Defect::EmptyDiscoveryReturnsEarly) => habitual::<ReturnsEarly>(source),
        Some(Defect::DiscoveredSplitForGoneReader) => habitual::<ServesGoneReaders>(source),
        Some(Defect::DiscoveryResultTwice) => habitual::<TakesEveryResult>(source),
        Some(Defect::WorkerMovesPosition) => habitual::<MovesPosition>(source),
        Some(Defect::ReturnedSplitsShelved) => habitual::<ShelvesReturned>(source),
        Some(Defect::SplitMovedUnrevoked) => habitual::<MovesUnrevoked>(source),
        Some(Defect::IdleReaderNeverTold) => habitual::<TellsAssignedOnly>(source),
        Some(Defect::ReportedSplitsForgotten) => habitual::<ForgetsReports>(source),
        Some(Defect::RestoredPlanReordered) => habitual::<ReordersPlan>(source),
        Some(Defect::FirstPartEndsSource) => habitual::<EndsWithFirstPart>(source),
        Some(Defect::HeldPositionsForgotten) => habitual::<KeepsNamesOnly>(source),
        Some(_) => habitual::<LeaksOrder>(source),
    }
}

fn habitual<H: EnumeratorHabit>(source: RangeSource) -> Arc<dyn EnumeratorFactory> {
    Arc::new(SourceEnumerators(AlteredSource::<HabitualEnumerator<H>, RangeReader>::new(source)))
}

/// A reader as a task runs it. `pull`: it asks for splits when it is idle.
#[must_use]
pub fn range_reader(config: &TaskConfig, pull: bool, defects: DefectSet) -> Box<dyn ReaderPort> {
    let policy = if pull { AssignmentPolicy::Pull } else { AssignmentPolicy::Push };
    let plan = SourceConfig {
        split_count: 0,
        records_per_split: 0,
        policy,
        bounded: true,
        script: EnumeratorScript::NONE,
        discovery: None,
    };
    let source = RangeSource { operator: OperatorUid::default(), plan, task: *config };
    let altered = [
        Defect::ReaderSnapshotsAhead,
        Defect::ReaderSwapsRecords,
        Defect::PausedRecordsSkipped,
        Defect::ParkedSplitsNotSnapshotted,
    ];
    match defects.first_of(&altered) {
        None => {}
        Some(Defect::ReaderSnapshotsAhead) => return altered_reader::<AheadReader>(source),
        Some(Defect::ReaderSwapsRecords) => return altered_reader::<SwappingReader>(source),
        Some(Defect::ParkedSplitsNotSnapshotted) => return altered_reader::<ParkingReader>(source),
        Some(_) => return altered_reader::<SkippingReader>(source),
    }
    let ReaderKind::Fetchers(FetcherConfig { threading, queue_capacity }) = config.reader else {
        return Box::new(ReaderAdapter::new(source));
    };
    let options = ReaderOptions {
        threading,
        queue_capacity,
        pull,
        allows_unaligned_splits: config.alignment.is_some_and(|alignment| alignment.allow_unaligned_splits),
    };
    let split_reader = RangeSplitReader::new(*config);
    if defects.has(Defect::WokenReadDropped) {
        let losing = LosingSplitReader::from(split_reader);
        let reader = SourceReaderBase::new(options, losing, RangeRecordEmitter, defects);
        return Box::new(ReaderAdapter::with_reader(source, reader));
    }
    let reader = SourceReaderBase::new(options, split_reader, RangeRecordEmitter, defects);
    Box::new(ReaderAdapter::with_reader(source, reader))
}

fn altered_reader<R>(source: RangeSource) -> Box<dyn ReaderPort>
where
    R: SourceReader<Split = RangeSplit> + From<RangeReader>,
{
    Box::new(ReaderAdapter::new(AlteredSource::<RangeEnumerator, R>::new(source)))
}

#[cfg(test)]
mod tests;
