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
use defective::{
    AheadReader, AlteredSource, LeakyEnumerator, RepeatingEnumerator, SkippingReader, SwappingReader,
};
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

/// The enumerator keeps nothing beside its splits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NothingSerializer;

impl SimpleVersionedSerializer<()> for NothingSerializer {
    fn version(&self) -> u32 {
        1
    }

    fn serialize(&self, (): &()) -> Vec<u8> {
        Vec::new()
    }

    fn deserialize(&self, version: u32, bytes: &[u8]) -> Result<(), StateError> {
        if version != self.version() {
            return Err(StateError::UnknownVersion(version));
        }
        if bytes.is_empty() {
            Ok(())
        } else {
            Err(StateError::Malformed(format!("{} bytes too many", bytes.len())))
        }
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
        let plan = self.plan;
        let split = |index: u32| {
            let position = u64::from(index) * plan.records_per_split;
            let end = if plan.bounded { position + plan.records_per_split } else { UNBOUNDED_END };
            debug_assert!(position <= end, "the plan is far below the far end");
            RangeSplit {
                at: SplitPosition { split: SplitId { operator: self.operator, index }, position, end },
            }
        };
        (0..plan.split_count).map(split).collect()
    }
}

impl Source for RangeSource {
    type Split = RangeSplit;
    type EnumeratorExtra = ();
    type Enumerator = RangeEnumerator;
    type Reader = RangeReader;
    type SplitSerializer = RangeSplitSerializer;
    type ExtraSerializer = NothingSerializer;

    fn boundedness(&self) -> Boundedness {
        if self.plan.bounded { Boundedness::Bounded } else { Boundedness::ContinuousUnbounded }
    }

    fn create_enumerator(&self) -> RangeEnumerator {
        RangeEnumerator::create(*self)
    }

    fn restore_enumerator(&self, pending: Vec<RangeSplit>, _extra: Option<()>) -> RangeEnumerator {
        RangeEnumerator::restore(*self, pending)
    }

    fn create_reader(&self) -> RangeReader {
        RangeReader::new(self.task, self.plan.policy == AssignmentPolicy::Pull)
    }

    fn split_serializer(&self) -> RangeSplitSerializer {
        RangeSplitSerializer
    }

    fn extra_serializer(&self) -> NothingSerializer {
        NothingSerializer
    }
}

/// What makes the enumerators of a vertex.
#[must_use]
pub fn range_enumerators(config: &VertexConfig, defects: DefectSet) -> Arc<dyn EnumeratorFactory> {
    let source = RangeSource { operator: config.operator, plan: config.source, task: config.task };
    match defects.first_of(&[Defect::EnumeratorRepeatsSplits, Defect::HashMapOrderLeaks]) {
        None => Arc::new(SourceEnumerators(source)),
        Some(Defect::EnumeratorRepeatsSplits) => {
            Arc::new(SourceEnumerators(AlteredSource::<RepeatingEnumerator, RangeReader>::new(source)))
        }
        Some(_) => Arc::new(SourceEnumerators(AlteredSource::<LeakyEnumerator, RangeReader>::new(source))),
    }
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
    };
    let source = RangeSource { operator: OperatorUid::default(), plan, task: *config };
    let altered = [Defect::ReaderSnapshotsAhead, Defect::ReaderSwapsRecords, Defect::PausedRecordsSkipped];
    match defects.first_of(&altered) {
        None => {}
        Some(Defect::ReaderSnapshotsAhead) => return altered_reader::<AheadReader>(source),
        Some(Defect::ReaderSwapsRecords) => return altered_reader::<SwappingReader>(source),
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
    let reader = SourceReaderBase::new(options, RangeSplitReader::new(*config), RangeRecordEmitter, defects);
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
