//! The parts as a source in the sense of the protocol: splits with an identity, serialisers, enumerators and readers.
//!
//! A record's offset is its number in its split, counted from 0: the protocol and its checkers name batches by ranges of
//! offsets, and bytes would leave gaps in them. The bytes are in the split too, and a record's key is the byte behind it,
//! so whoever emits it knows where the next one begins. Refused: to restore by number alone, as Flink does for formats
//! whose readers cannot tell a position (`CheckpointedPosition`): all records before would be read again.

use super::enumerator::{FileEnumerator, FileEnumeratorState};
use super::source_split_reader::FileSourceSplitReader;
use super::split::FileSourceSplit;
use crate::api::source::{
    Boundedness, EnumeratorFactory, ReaderAdapter, ReaderPort, SimpleVersionedSerializer, Source,
    SourceEnumerators, SourceSplit,
};
use crate::api::source_state::StateError;
use crate::config::{
    FetcherConfig, FetcherThreading, FileReaderConfig, FileSourceConfig, ReaderKind, TaskConfig,
};
use crate::defects::DefectSet;
use crate::encoding::encode_onto;
use crate::ids::{OperatorUid, SplitId};
use crate::reader_base::{ReaderOptions, RecordEmitter, SourceReaderBase};
use crate::records::{Record, SplitPosition};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The hand-over queue's room when the job says nothing of fetchers (`source.reader.element.queue.capacity`).
const QUEUE_CAPACITY: u32 = 2;

/// A part of a file with its identity in the job.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FileSplit {
    /// Its identity.
    pub id: SplitId,
    /// The part, at its reading position.
    pub part: FileSourceSplit,
    /// How many records of it were emitted.
    pub records: u64,
}

impl SourceSplit for FileSplit {
    /// No record is shorter than a byte, so there are at most as many as bytes; how many, only reading tells.
    fn at(&self) -> SplitPosition {
        debug_assert!(self.records <= self.part.length, "each record has a byte of the part");
        SplitPosition { split: self.id, position: self.records, end: self.part.length }
    }
}

/// How splits and the enumerator's own state are written: by postcard, in one version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileSourceSerializer;

impl<T: Serialize + for<'a> Deserialize<'a>> SimpleVersionedSerializer<T> for FileSourceSerializer {
    fn version(&self) -> u32 {
        1
    }

    fn serialize(&self, value: &T) -> Vec<u8> {
        encode_onto(value, Vec::new())
    }

    fn deserialize(&self, version: u32, bytes: &[u8]) -> Result<T, StateError> {
        if version != 1 {
            return Err(StateError::UnknownVersion(version));
        }
        Ok(postcard::from_bytes(bytes)?)
    }
}

/// Moves a split behind a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileRecordEmitter;

impl RecordEmitter<FileSplit> for FileRecordEmitter {
    fn emitted(&self, record: &Record, state: &mut FileSplit) {
        debug_assert_eq!((record.split, record.offset), (state.id, state.records), "one after the other");
        debug_assert!(record.key > state.part.position, "a record has a byte");
        state.records += 1;
        state.part.position = record.key;
    }
}

/// The source. A task knows nothing of folders, so a source made for a reader looks for no file.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FileSource {
    /// The operator; it is in every split's identity.
    pub operator: OperatorUid,
    /// What it reads.
    pub config: FileSourceConfig,
    /// How its readers fetch.
    pub fetchers: FetcherConfig,
    /// The planted defects.
    pub defects: DefectSet,
}

impl Source for FileSource {
    type Split = FileSplit;
    type EnumeratorExtra = FileEnumeratorState;
    type Enumerator = FileEnumerator;
    type Reader = SourceReaderBase<FileSourceSplitReader, FileRecordEmitter>;
    type SplitSerializer = FileSourceSerializer;
    type ExtraSerializer = FileSourceSerializer;

    fn boundedness(&self) -> Boundedness {
        match self.config.discovery_period_ns {
            None => Boundedness::Bounded,
            Some(_) => Boundedness::ContinuousUnbounded,
        }
    }

    fn create_enumerator(&self) -> FileEnumerator {
        FileEnumerator::create(self.operator, &self.config)
    }

    fn restore_enumerator(
        &self,
        pending: Vec<FileSplit>,
        extra: Option<FileEnumeratorState>,
    ) -> FileEnumerator {
        FileEnumerator::restore(self.operator, &self.config, pending, extra)
    }

    fn create_reader(&self) -> Self::Reader {
        let options = ReaderOptions {
            threading: self.fetchers.threading,
            queue_capacity: self.fetchers.queue_capacity,
            pull: true,
            allows_unaligned_splits: false,
        };
        let split_reader = FileSourceSplitReader::new(self.config.reader);
        SourceReaderBase::new(options, split_reader, FileRecordEmitter, self.defects)
    }

    fn split_serializer(&self) -> FileSourceSerializer {
        FileSourceSerializer
    }

    fn extra_serializer(&self) -> FileSourceSerializer {
        FileSourceSerializer
    }
}

/// What a reader has when its job says nothing of fetchers.
pub(super) const FETCHERS: FetcherConfig =
    FetcherConfig { threading: FetcherThreading::Multiplexed, queue_capacity: QUEUE_CAPACITY };

/// What makes the enumerators of a vertex that reads files.
#[must_use]
pub fn file_enumerators(operator: OperatorUid, config: &FileSourceConfig) -> Arc<dyn EnumeratorFactory> {
    let config = config.clone();
    Arc::new(SourceEnumerators(FileSource { operator, config, fetchers: FETCHERS, defects: DefectSet::NONE }))
}

/// A reader as a task runs it. It always has fetchers: reading a file blocks.
#[must_use]
pub fn file_reader(files: FileReaderConfig, task: &TaskConfig, defects: DefectSet) -> Box<dyn ReaderPort> {
    let fetchers = match task.reader {
        ReaderKind::Fetchers(fetchers) => fetchers,
        ReaderKind::Direct | ReaderKind::Blocking => FETCHERS,
    };
    let config =
        FileSourceConfig { folder: String::new(), block_bytes: 1, reader: files, discovery_period_ns: None };
    Box::new(ReaderAdapter::new(FileSource { operator: OperatorUid::default(), config, fetchers, defects }))
}
