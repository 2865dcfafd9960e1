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
    Boundedness, EnumeratorFactory, ReaderAdapter, ReaderPort, Source, SourceEnumerators, SourceSplit,
};
use crate::config::{FetcherConfig, FileReaderConfig, FileSourceConfig, ReaderKind, TaskConfig};
use crate::connectors::postcard_serializer::PostcardSerializer;
use crate::defects::DefectSet;
use crate::ids::{OperatorUid, SplitId};
use crate::reader_base::{ReaderOptions, RecordEmitter, SourceReaderBase};
use crate::records::{Record, SplitPosition};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
    type SplitSerializer = PostcardSerializer;
    type ExtraSerializer = PostcardSerializer;

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

    fn split_serializer(&self) -> PostcardSerializer {
        PostcardSerializer
    }

    fn extra_serializer(&self) -> PostcardSerializer {
        PostcardSerializer
    }
}

/// What makes the enumerators of a vertex that reads files.
#[must_use]
pub fn file_enumerators(operator: OperatorUid, config: &FileSourceConfig) -> Arc<dyn EnumeratorFactory> {
    let config = config.clone();
    Arc::new(SourceEnumerators(FileSource {
        operator,
        config,
        fetchers: FetcherConfig::DEFAULT,
        defects: DefectSet::NONE,
    }))
}

/// A reader as a task runs it. It always has fetchers: reading a file blocks.
#[must_use]
pub fn file_reader(files: FileReaderConfig, task: &TaskConfig, defects: DefectSet) -> Box<dyn ReaderPort> {
    let fetchers = match task.reader {
        ReaderKind::Fetchers(fetchers) => fetchers,
        ReaderKind::Direct | ReaderKind::Blocking => FetcherConfig::DEFAULT,
    };
    let config =
        FileSourceConfig { folder: String::new(), block_bytes: 1, reader: files, discovery_period_ns: None };
    Box::new(ReaderAdapter::new(FileSource { operator: OperatorUid::default(), config, fetchers, defects }))
}
