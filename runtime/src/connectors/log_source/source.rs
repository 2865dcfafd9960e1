//! The partitions as a source in the sense of the protocol.

use super::defective::ForgetfulLogSource;
use super::enumerator::{LogEnumerator, LogEnumeratorState};
use super::split_reader::LogSplitReader;
use crate::api::log_io::IsolationLevel;
use crate::api::source::{
    Boundedness, EnumeratorFactory, ReaderAdapter, ReaderPort, Source, SourceEnumerators, SourceSplit,
};
use crate::config::{
    FetcherConfig, LogReaderConfig, LogSourceConfig, ReaderKind, StartPosition, TaskConfig, UpstreamConfig,
    VertexConfig,
};
use crate::connectors::postcard_serializer::PostcardSerializer;
use crate::defects::{Defect, DefectSet};
use crate::ids::{OperatorUid, SplitId};
use crate::reader_base::{ReaderOptions, RecordEmitter, SourceReaderBase};
use crate::records::{Record, SplitPosition};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A partition at its reading position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LogSplit {
    /// Its identity; the index is the partition's number.
    pub id: SplitId,
    /// The offset that is read next.
    pub offset: u64,
    /// The offset behind the last one that is read.
    pub stop: u64,
}

impl SourceSplit for LogSplit {
    fn at(&self) -> SplitPosition {
        debug_assert!(self.offset <= self.stop, "nothing behind the stop is read");
        SplitPosition { split: self.id, position: self.offset, end: self.stop }
    }
}

/// Moves a split behind a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LogRecordEmitter;

impl RecordEmitter<LogSplit> for LogRecordEmitter {
    fn emitted(&self, record: &Record, state: &mut LogSplit) {
        debug_assert_eq!(record.split, state.id, "a record of that split");
        debug_assert!(record.offset < state.stop, "nothing behind the stop is read");
        state.offset = record.offset + 1;
    }
}

/// The source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LogSource {
    /// The operator; it is in every split's identity.
    pub operator: OperatorUid,
    /// So many partitions there are in the end; a bounded source looks until it has found them.
    pub partitions: u32,
    /// What it reads.
    pub config: LogSourceConfig,
    /// How its readers fetch.
    pub fetchers: FetcherConfig,
    /// The planted defects.
    pub defects: DefectSet,
}

impl Source for LogSource {
    type Split = LogSplit;
    type EnumeratorExtra = LogEnumeratorState;
    type Enumerator = LogEnumerator;
    type Reader = SourceReaderBase<LogSplitReader, LogRecordEmitter>;
    type SplitSerializer = PostcardSerializer;
    type ExtraSerializer = PostcardSerializer;

    fn boundedness(&self) -> Boundedness {
        match self.config.stop_offset {
            Some(_) => Boundedness::Bounded,
            None => Boundedness::ContinuousUnbounded,
        }
    }

    fn create_enumerator(&self) -> LogEnumerator {
        LogEnumerator::restore(*self, Vec::new(), None)
    }

    fn restore_enumerator(&self, pending: Vec<LogSplit>, extra: Option<LogEnumeratorState>) -> LogEnumerator {
        LogEnumerator::restore(*self, pending, extra)
    }

    fn create_reader(&self) -> Self::Reader {
        let options = ReaderOptions {
            threading: self.fetchers.threading,
            queue_capacity: self.fetchers.queue_capacity,
            pull: false,
            allows_unaligned_splits: false,
        };
        SourceReaderBase::new(
            options,
            LogSplitReader::new(self.config.reader),
            LogRecordEmitter,
            self.defects,
        )
    }

    fn split_serializer(&self) -> PostcardSerializer {
        PostcardSerializer
    }

    fn extra_serializer(&self) -> PostcardSerializer {
        PostcardSerializer
    }
}

/// What makes the enumerators of a vertex that reads a log.
#[must_use]
pub fn log_enumerators(
    vertex: &VertexConfig,
    config: LogSourceConfig,
    defects: DefectSet,
) -> Arc<dyn EnumeratorFactory> {
    let (operator, partitions) = (vertex.operator, vertex.source.split_count);
    let source = LogSource {
        operator,
        partitions,
        config,
        fetchers: FetcherConfig::DEFAULT,
        defects: DefectSet::NONE,
    };
    if defects.has(Defect::DiscoveredPartitionsForgotten) {
        return Arc::new(SourceEnumerators(ForgetfulLogSource(source)));
    }
    Arc::new(SourceEnumerators(source))
}

/// A reader as a task runs it. It always has fetchers: reading a log blocks.
#[must_use]
pub fn log_reader(reader: LogReaderConfig, task: &TaskConfig, defects: DefectSet) -> Box<dyn ReaderPort> {
    let fetchers = match task.reader {
        ReaderKind::Fetchers(fetchers) => fetchers,
        ReaderKind::Direct | ReaderKind::Blocking => FetcherConfig::DEFAULT,
    };
    // A task knows nothing of the topic but its number.
    let upstream = UpstreamConfig {
        transaction_records: 1,
        transaction_ns: 1,
        aborted_every: 0,
        partition_interval_ns: 0,
        committed: None,
    };
    let isolation = if defects.has(Defect::ReaderBeyondStableOffset) {
        IsolationLevel::ReadUncommitted
    } else {
        reader.isolation
    };
    let config = LogSourceConfig {
        start: StartPosition::Earliest,
        stop_offset: None,
        discovery_period_ns: 1,
        reader: LogReaderConfig { isolation, ..reader },
        upstream,
    };
    let operator = OperatorUid::default();
    Box::new(ReaderAdapter::new(LogSource { operator, partitions: 0, config, fetchers, defects }))
}
