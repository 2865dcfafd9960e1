//! The file sink of a job: its writer behind the traits of every sink.
//!
//! Each file is a transaction of its own. It begins with the file, ends with the rename, and its name says which life of
//! which writer made it, because a file system fences nobody off: an older life that goes on writes into files that no
//! newer one touches. So a file in progress that comes with restored state is *sealed*: what of it counts is handed to the
//! committer, and new records go into a new file. Flink goes on in the old one (FACT 83), which is right only as long as
//! the older life is really dead.
//!
//! What a life leaves behind that no state holds, the next one removes when it opens; Flink leaves it (FACT 85).

use super::BucketState;
use super::committable::FileSinkCommittable;
use super::handed_over::{FileContent, FileOfRecords, FileSinkCommitter, file_answer};
use super::lines::line_of;
use super::names::{UniqueNames, transaction_of};
use super::writer::{FileWriter, Recovery};
use crate::api::file_io::{FileAnswer, FileIo, FileOperation};
use crate::api::sink::{
    CommittingSinkWriter, Sink, SinkIo, SinkStateError, SinkWriter, StoreAnswer, WriterInitContext,
    WriterStateElement, WriterVerdict,
};
use crate::config::FileSinkConfig;
use crate::connectors::leftovers::Successor;
use crate::defects::{Defect, DefectSet};
use crate::encoding::encode_onto;
use crate::ids::{CheckpointId, Fence, TransactionName};
use crate::message::StoreRequest;
use crate::records::{Record, RecordRanges};
use std::collections::BTreeMap;

/// The version of an element of the writer's state.
const STATE_VERSION: u32 = 1;

/// How large the blocks are of a writer that forgets the tail behind them.
const BLOCK_BYTES: u64 = 64;

/// The file sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileSink {
    config: FileSinkConfig,
    defects: DefectSet,
}

impl FileSink {
    /// With these settings.
    #[must_use]
    pub const fn new(config: FileSinkConfig, defects: DefectSet) -> Self {
        Self { config, defects }
    }

    /// Its defects.
    pub(super) const fn defects(&self) -> DefectSet {
        self.defects
    }
}

impl Sink for FileSink {
    type Committable = FileOfRecords;
    type Writer = FileSinkWriter;
    type Committer = FileSinkCommitter;

    fn create_writer(&self, context: &WriterInitContext) -> FileSinkWriter {
        FileSinkWriter::new(self.config, self.defects, context)
    }

    fn create_committer(&self, _context: &WriterInitContext) -> FileSinkCommitter {
        FileSinkCommitter::new(self.defects)
    }
}

/// Flink's `FileWriter` as a sink's writer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FileSinkWriter {
    config: FileSinkConfig,
    defects: DefectSet,
    life: Successor,
    number: CheckpointId,
    input_ends: bool,
    writer: FileWriter,
    /// By the hidden path: what is in the files that are not handed over yet.
    contents: BTreeMap<String, FileContent>,
    /// What was restored, until the writer opens.
    restored: Vec<BucketState>,
    /// The state as the last `prepare_commit` left it. Taken there, since it names lengths that must be durable first.
    state: Vec<WriterStateElement>,
}

impl FileSinkWriter {
    fn new(config: FileSinkConfig, defects: DefectSet, context: &WriterInitContext) -> Self {
        debug_assert!(config.is_valid(), "whoever reads a configuration checks it");
        let fence = if defects.has(Defect::FileNamesRestart) { Fence::default() } else { context.fence };
        let number = context.restored.unwrap_or_default().next();
        let names = UniqueNames::of_life(context.subtask, fence, number);
        Self {
            config,
            defects,
            life: Successor::new(&WriterInitContext { fence, ..*context }),
            number,
            input_ends: false,
            writer: FileWriter::new(config.writer(recovery_of(defects)), names, 0),
            contents: BTreeMap::new(),
            restored: Vec::new(),
            state: Vec::new(),
        }
    }

    /// Learns of more that an older life's state holds.
    pub(super) fn keep(&mut self, transaction: TransactionName) {
        self.life.keep(&[transaction]);
    }

    /// A name that no other file has.
    pub(super) fn unique_name(&mut self) -> String {
        self.writer.unique_name()
    }

    /// Passes on what the file writer asks for.
    pub(super) fn forward(&self, mut files: FileIo, io: &mut SinkIo) {
        let is_dropped = |operation: &FileOperation| {
            matches!(operation, FileOperation::Sync { .. }) && self.defects.has(Defect::PendingFileNotSynced)
        };
        while let Some(operation) = files.next_operation() {
            if !is_dropped(&operation) {
                io.ask_file(operation);
            }
        }
    }

    fn folder_of(&self, record: &Record) -> String {
        match self.config.buckets {
            1 => String::new(),
            buckets => format!("bucket-{}", record.key % u64::from(buckets)),
        }
    }

    /// The state of a bucket, unless nothing is in progress in it.
    fn element_of(&self, bucket: BucketState) -> Option<WriterStateElement> {
        let content = &self.contents[&bucket.in_progress.as_ref()?.hidden];
        Some(WriterStateElement {
            transaction: content.transaction,
            records: content.records.clone(),
            version: STATE_VERSION,
            bytes: encode_onto(&bucket, Vec::new()),
        })
    }

    /// Hands over what is closed and takes the state: the first half of a `prepare_commit`.
    pub(super) fn close_files(&mut self, io: &mut SinkIo) -> Vec<FileOfRecords> {
        let mut files = FileIo::default();
        let prepared = self.writer.prepare_commit(self.input_ends, &mut files);
        let buckets = self.writer.snapshot_state(&mut files);
        self.forward(files, io);
        self.state = buckets.into_iter().filter_map(|bucket| self.element_of(bucket)).collect();
        let pending = prepared.into_iter().filter(|committable| match committable {
            FileSinkCommittable::Pending(_) | FileSinkCommittable::Compacted { .. } => true,
            // The file systems that this serves keep nothing that would have to be cleaned up.
            FileSinkCommittable::Cleanup(_) => false,
        });
        let committables: Vec<_> = pending
            .map(|committable| {
                let content = self.contents.remove(&committable.file().hidden);
                FileOfRecords { content: content.expect("each file holds records"), committable }
            })
            .collect();
        debug_assert_eq!(self.contents.len(), self.state.len(), "what is not handed over is in the state");
        committables
    }

    /// From here on files are named, and counted, under the next number: the second half.
    pub(super) fn begin_next_number(&mut self) {
        self.number = self.number.next();
        let (writer, fence) = (self.life.writer(), self.life.fence());
        self.writer.rename(|names| names.go_on_under(writer, fence, self.number));
    }

    /// Removes what older lives left behind.
    fn clean_up(&self, listed: &[(String, u64)], io: &mut SinkIo) {
        for (path, _) in listed {
            if transaction_of(path).is_some_and(|name| self.life.is_lost(name)) {
                io.ask_file(FileOperation::Delete { path: path.clone() });
            }
        }
    }
}

/// How much of a file of an earlier life is there. A writer that sends whole blocks keeps what is behind the last of them
/// beside the file, and has to read that, too.
const fn length_restored(length: u64, defects: DefectSet) -> u64 {
    if defects.has(Defect::TailNotReadBack) { length - length % BLOCK_BYTES } else { length }
}

/// What becomes of the file in progress of an earlier life.
const fn recovery_of(defects: DefectSet) -> Recovery {
    if defects.has(Defect::FileResumedInPlace) { Recovery::ResumeInPlace } else { Recovery::Seal }
}

impl SinkWriter for FileSinkWriter {
    fn transaction(&self) -> TransactionName {
        TransactionName::new(self.life.writer(), self.number)
    }

    fn restore_state(&mut self, elements: Vec<WriterStateElement>) -> Result<(), SinkStateError> {
        for WriterStateElement { transaction, records, version, bytes } in elements {
            let what = "bucket state";
            if version != STATE_VERSION {
                return Err(SinkStateError::UnknownVersion { what, version });
            }
            let mut bucket: BucketState = postcard::from_bytes(&bytes)
                .map_err(|error| SinkStateError::Malformed { what, cause: error.to_string() })?;
            if let Some(file) = &mut bucket.in_progress {
                file.length = length_restored(file.length, self.defects);
                let content = FileContent { transaction, records };
                self.contents.insert(file.hidden.clone(), content);
                self.life.keep(&[transaction]);
            }
            self.restored.push(bucket);
        }
        Ok(())
    }

    fn open(&mut self, keep: &[TransactionName], io: &mut SinkIo) {
        self.life.keep(keep);
        let mut files = FileIo::default();
        self.writer.begin_checks(io.processing_time_ms());
        self.writer.restore(std::mem::take(&mut self.restored), &mut files);
        self.forward(files, io);
        if !self.defects.has(Defect::FileOrphansKept) {
            io.ask_file(FileOperation::List { folder: String::new() });
        }
    }

    fn write(&mut self, record: Record, io: &mut SinkIo) {
        let (split, offset) = (record.split, record.offset);
        let folder = self.folder_of(&record);
        let line = line_of(record, self.config.lines);
        let mut files = FileIo::default();
        let file = self.writer.write(&folder, &line, io.processing_time_ms(), &mut files);
        if !self.contents.contains_key(&file.hidden) {
            let transaction = transaction_of(&file.hidden).expect("the writer names files by its life");
            let content = FileContent { transaction, records: RecordRanges::new() };
            self.contents.insert(file.hidden.clone(), content);
        }
        let content = self.contents.get_mut(&file.hidden).expect("it is there now");
        content.records.insert_record(split, offset);
        self.forward(files, io);
    }

    fn flush(&mut self, end_of_input: bool, _io: &mut SinkIo) {
        self.input_ends = end_of_input;
    }

    fn snapshot_state(&mut self, _checkpoint: CheckpointId) -> Vec<WriterStateElement> {
        self.state.clone()
    }

    fn wake_at_ms(&self) -> Option<u64> {
        Some(self.writer.next_check_ms())
    }

    fn on_processing_time(&mut self, io: &mut SinkIo) {
        let mut files = FileIo::default();
        self.writer.on_processing_time(io.processing_time_ms(), &mut files);
        self.forward(files, io);
    }

    fn answered(&mut self, request: &StoreRequest, answer: StoreAnswer, io: &mut SinkIo) -> WriterVerdict {
        let StoreRequest::File(operation) = request else {
            unreachable!("a file sink asks a file system: {request:?}");
        };
        match answer {
            // Space may come back, and whatever is asked again is one thing.
            StoreAnswer::Unavailable | StoreAnswer::Unknown | StoreAnswer::File(FileAnswer::NoSpace) => {
                WriterVerdict::AskAgain
            }
            StoreAnswer::File(FileAnswer::Listed(files)) => {
                self.clean_up(&files, io);
                WriterVerdict::Settled
            }
            StoreAnswer::Done { .. } => WriterVerdict::Settled,
            other => match self.writer.answered(operation, file_answer(other)) {
                Ok(()) => WriterVerdict::Settled,
                Err(error) => WriterVerdict::Failed(error.to_string()),
            },
        }
    }
}

impl CommittingSinkWriter for FileSinkWriter {
    type Committable = FileOfRecords;

    fn prepare_commit(&mut self, io: &mut SinkIo) -> Vec<FileOfRecords> {
        let committables = self.close_files(io);
        self.begin_next_number();
        committables
    }
}

#[cfg(test)]
mod tests;
