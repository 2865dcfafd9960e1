//! The file sink with a compactor between its writer and its committer.
//!
//! Both are one chain, so what the compactor does is part of what the task waits for before a barrier, and its state lies
//! beside the writer's: an element for each closed file that it has not handed on.

use super::compactor::Compactor;
use super::handed_over::{FileOfRecords, FileSinkCommitter};
use super::sink::{FileSink, FileSinkWriter};
use crate::api::file_io::{FileAnswer, FileIo, FileOperation};
use crate::api::sink::{
    CommittingSinkWriter, Sink, SinkCommittable, SinkIo, SinkStateError, SinkWriter, StoreAnswer,
    WriterInitContext, WriterStateElement, WriterVerdict,
};
use crate::config::CompactionConfig;
use crate::defects::{Defect, DefectSet};
use crate::ids::{CheckpointId, TransactionName};
use crate::message::StoreRequest;
use crate::records::Record;

/// The version of an element that holds a closed file. The writer's own elements have smaller ones.
const CLOSED_FILE_VERSION: u32 = 101;

/// A file sink that compacts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompactingFileSink {
    /// The sink around whose writer the compactor stands.
    pub sink: FileSink,
    /// When it compacts.
    pub compaction: CompactionConfig,
}

impl Sink for CompactingFileSink {
    type Committable = FileOfRecords;
    type Writer = CompactingFileWriter;
    type Committer = FileSinkCommitter;

    fn create_writer(&self, context: &WriterInitContext) -> CompactingFileWriter {
        CompactingFileWriter {
            writer: self.sink.create_writer(context),
            compactor: Compactor::new(self.compaction.every_checkpoints),
            defects: self.sink.defects(),
            input_ends: false,
            state: Vec::new(),
        }
    }

    fn create_committer(&self, context: &WriterInitContext) -> FileSinkCommitter {
        self.sink.create_committer(context)
    }
}

/// The writer, and the compactor behind it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CompactingFileWriter {
    writer: FileSinkWriter,
    compactor: Compactor,
    defects: DefectSet,
    input_ends: bool,
    /// The compactor's part of the state as the last `prepare_commit` left it.
    state: Vec<WriterStateElement>,
}

impl CompactingFileWriter {
    /// What the closed files of earlier lives are: those in these elements.
    fn closed_files(elements: Vec<WriterStateElement>) -> Result<Vec<FileOfRecords>, SinkStateError> {
        let file =
            |element: WriterStateElement| FileOfRecords::from_bytes(FileOfRecords::VERSION, &element.bytes);
        elements.into_iter().map(file).collect()
    }

    /// Whether everything is handed on in this `prepare_commit`: no other may follow the end of the input.
    fn hands_on(&mut self) -> bool {
        let is_last = self.input_ends && !self.defects.has(Defect::CompactorEndsUnflushed);
        self.compactor.is_due() || is_last
    }

    /// A source goes when the file that was made of it is visible. A defective compactor does not wait.
    fn remove_early(&self, source: &FileOperation, io: &mut SinkIo) {
        if self.defects.has(Defect::SourcesRemovedEarly) {
            io.ask_file(FileOperation::Delete { path: source.path().to_owned() });
        }
    }
}

impl SinkWriter for CompactingFileWriter {
    fn transaction(&self) -> TransactionName {
        self.writer.transaction()
    }

    fn restore_state(&mut self, elements: Vec<WriterStateElement>) -> Result<(), SinkStateError> {
        let is_closed = |element: &WriterStateElement| element.version == CLOSED_FILE_VERSION;
        let (closed, own): (Vec<_>, Vec<_>) = elements.into_iter().partition(is_closed);
        let mut closed = Self::closed_files(closed)?;
        if self.defects.has(Defect::OneLeftoverCompacted) {
            closed.truncate(1);
        }
        for file in &closed {
            self.writer.keep(file.transaction());
        }
        self.compactor.gather(closed);
        self.writer.restore_state(own)
    }

    fn open(&mut self, keep: &[TransactionName], io: &mut SinkIo) {
        self.writer.open(keep, io);
    }

    fn write(&mut self, record: Record, io: &mut SinkIo) {
        self.writer.write(record, io);
    }

    fn flush(&mut self, end_of_input: bool, io: &mut SinkIo) {
        self.input_ends = end_of_input;
        self.writer.flush(end_of_input, io);
    }

    fn snapshot_state(&mut self, checkpoint: CheckpointId) -> Vec<WriterStateElement> {
        let mut elements = self.writer.snapshot_state(checkpoint);
        debug_assert!(elements.iter().all(|element| element.version != CLOSED_FILE_VERSION));
        elements.extend_from_slice(&self.state);
        elements
    }

    fn wake_at_ms(&self) -> Option<u64> {
        self.writer.wake_at_ms()
    }

    fn on_processing_time(&mut self, io: &mut SinkIo) {
        self.writer.on_processing_time(io);
    }

    fn answered(&mut self, request: &StoreRequest, answer: StoreAnswer, io: &mut SinkIo) -> WriterVerdict {
        let (StoreRequest::File(asked), StoreAnswer::File(FileAnswer::Bytes(bytes))) = (request, &answer)
        else {
            return self.writer.answered(request, answer, io);
        };
        let mut files = FileIo::default();
        match self.compactor.read(asked, bytes.clone(), &mut files) {
            Ok(()) => {
                self.writer.forward(files, io);
                self.remove_early(asked, io);
                WriterVerdict::Settled
            }
            Err(error) => WriterVerdict::Failed(error.to_string()),
        }
    }
}

impl CommittingSinkWriter for CompactingFileWriter {
    type Committable = FileOfRecords;

    fn prepare_commit(&mut self, io: &mut SinkIo) -> Vec<FileOfRecords> {
        let closed = self.writer.close_files(io);
        self.compactor.gather(closed);
        let mut handed_on = Vec::new();
        if self.hands_on() {
            let mut files = FileIo::default();
            let now_ms = io.processing_time_ms();
            handed_on = self.compactor.hand_on(now_ms, || self.writer.unique_name(), &mut files);
            self.writer.forward(files, io);
        }
        let element = |file: &FileOfRecords| WriterStateElement {
            transaction: file.transaction(),
            records: file.records_held(),
            version: CLOSED_FILE_VERSION,
            bytes: file.to_bytes(),
        };
        self.state = self.compactor.gathered().iter().map(element).collect();
        self.writer.begin_next_number();
        handed_on
    }
}

#[cfg(test)]
mod tests;
