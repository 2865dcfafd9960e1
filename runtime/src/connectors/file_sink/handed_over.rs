//! What the file sink's writer hands to its committer, and that committer.

use super::FileCommitError;
use super::committable::FileSinkCommittable;
use super::committer::FileCommitter;
use crate::api::file_io::{FileAnswer, FileOperation};
use crate::api::sink::{CommitRequest, Committer, SinkCommittable, SinkIo, SinkStateError, StoreAnswer};
use crate::defects::DefectSet;
use crate::encoding::encode_onto;
use crate::ids::TransactionName;
use crate::records::RecordRanges;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FileSinkCommitter {
    committer: FileCommitter,
    /// Of files that are visible now and were made of others: how many of these it has asked to remove.
    removed: BTreeMap<TransactionName, usize>,
}

impl FileSinkCommitter {
    pub(super) const fn new(defects: DefectSet) -> Self {
        Self { committer: FileCommitter::new(defects), removed: BTreeMap::new() }
    }

    /// Asks to remove the next one of what a visible file was made of; false when all are gone.
    fn remove_next(&mut self, file: &FileOfRecords, io: &mut SinkIo) -> bool {
        let removed = self.removed.get(&file.content.transaction).copied().unwrap_or(0);
        let Some(source) = file.committable.sources().get(removed) else {
            self.removed.remove(&file.content.transaction);
            return false;
        };
        debug_assert_ne!(source.hidden, file.committable.file().hidden, "no file is made of itself");
        self.removed.insert(file.content.transaction, removed + 1);
        io.ask_file(FileOperation::Delete { path: source.hidden.clone() });
        true
    }
}

impl Committer for FileSinkCommitter {
    type Committable = FileOfRecords;

    fn commit(&mut self, request: &mut CommitRequest<FileOfRecords>, io: &mut SinkIo) {
        self.removed.remove(&request.committable().content.transaction);
        let operation = self.committer.commit(&request.committable().committable);
        io.ask_file(operation.expect("only closed files are handed over"));
    }

    /// The first answer says whether the file is visible; what follows only removes what it was made of, which is gone
    /// already when a commit is repeated.
    fn answered(&mut self, request: &mut CommitRequest<FileOfRecords>, answer: StoreAnswer, io: &mut SinkIo) {
        let had_been_done = matches!(answer, StoreAnswer::Done { before: true });
        if matches!(answer, StoreAnswer::Unavailable | StoreAnswer::Unknown) {
            return request.retry_later();
        }
        match self.committer.answered(&request.committable().committable, file_answer(answer)) {
            Ok(()) if self.remove_next(request.committable(), io) => {}
            Ok(()) if had_been_done => request.signal_already_committed(),
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
