//! What the file sink's writer hands to its committer, and that committer.

use super::FileCommitError;
use super::committable::FileSinkCommittable;
use super::committer::FileCommitter;
use crate::api::file_io::FileAnswer;
use crate::api::sink::{CommitRequest, Committer, SinkCommittable, SinkIo, SinkStateError, StoreAnswer};
use crate::encoding::encode_onto;
use crate::ids::TransactionName;
use crate::records::RecordRanges;
use serde::{Deserialize, Serialize};

/// A closed file with the records in it, which is what the census must know of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FileOfRecords {
    pub(super) content: FileContent,
    pub(super) committable: FileSinkCommittable,
}

impl SinkCommittable for FileOfRecords {
    const VERSION: u32 = 1;

    fn transaction(&self) -> TransactionName {
        self.content.transaction
    }

    fn records_held(&self) -> RecordRanges {
        self.content.records.clone()
    }

    fn to_bytes(&self) -> Vec<u8> {
        encode_onto(self, Vec::new())
    }

    fn from_bytes(version: u32, bytes: &[u8]) -> Result<Self, SinkStateError> {
        let what = "file with its records";
        if version != Self::VERSION {
            return Err(SinkStateError::UnknownVersion { what, version });
        }
        postcard::from_bytes(bytes)
            .map_err(|error| SinkStateError::Malformed { what, cause: error.to_string() })
    }
}

/// What a file is, as the invariants see it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct FileContent {
    pub(super) transaction: TransactionName,
    pub(super) records: RecordRanges,
}

/// Flink's `FileCommitter` as a sink's committer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileSinkCommitter(pub(super) FileCommitter);

impl Committer for FileSinkCommitter {
    type Committable = FileOfRecords;

    fn commit(&mut self, request: &mut CommitRequest<FileOfRecords>, io: &mut SinkIo) {
        let operation = self.0.commit(&request.committable().committable);
        io.ask_file(operation.expect("only closed files are handed over"));
    }

    fn answered(
        &mut self,
        request: &mut CommitRequest<FileOfRecords>,
        answer: StoreAnswer,
        _io: &mut SinkIo,
    ) {
        match answer {
            StoreAnswer::Done { before: true } => return request.signal_already_committed(),
            StoreAnswer::Unavailable | StoreAnswer::Unknown => return request.retry_later(),
            _ => {}
        }
        match self.0.answered(&request.committable().committable, file_answer(answer)) {
            Ok(()) => {}
            Err(FileCommitError::Failed { .. }) => request.retry_later(),
            Err(lost) => request.signal_failed_with_unknown_reason(lost.to_string()),
        }
    }
}

/// What a file system answered, which a store's common words may stand for.
pub(super) fn file_answer(answer: StoreAnswer) -> FileAnswer {
    match answer {
        StoreAnswer::Done { before: false } => FileAnswer::Done,
        StoreAnswer::Done { before: true } => FileAnswer::AlreadyDone,
        StoreAnswer::NotFound => FileAnswer::NotFound,
        StoreAnswer::File(answer) => answer,
        other => unreachable!("{other:?} says nothing of a file"),
    }
}
