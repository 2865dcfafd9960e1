//! The committer: a pending file becomes visible, and that it does so twice is no harm.

use super::committable::FileSinkCommittable;
use crate::api::file_io::{FileAnswer, FileOperation};
use crate::defects::{Defect, DefectSet};

/// Why a file did not become visible.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum FileCommitError {
    /// Neither the pending nor the visible file is there: its records are lost. Flink says nothing (FACT 86).
    #[error("{hidden} is gone and {target} is not there: the records of a completed checkpoint are lost")]
    Lost {
        /// Where it was.
        hidden: String,
        /// Where it should be.
        target: String,
    },
    /// It is shorter than what was durable.
    #[error("{hidden} has {length} bytes, and {expected} were durable")]
    TooShort {
        /// The file.
        hidden: String,
        /// What it has.
        length: u64,
        /// What it must have.
        expected: u64,
    },
    /// The file system failed; it is worth trying again.
    #[error("{hidden}: {cause}")]
    Failed {
        /// The file.
        hidden: String,
        /// How.
        cause: String,
    },
}

/// Flink's `FileCommitter`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileCommitter {
    defects: DefectSet,
}

impl FileCommitter {
    /// A committer.
    #[must_use]
    pub const fn new(defects: DefectSet) -> Self {
        Self { defects }
    }

    /// What commits this; `None` when there is nothing to do.
    #[must_use]
    pub fn commit(&self, committable: &FileSinkCommittable) -> Option<FileOperation> {
        match committable {
            FileSinkCommittable::Pending(file) | FileSinkCommittable::Compacted { file, .. } => {
                Some(FileOperation::Publish {
                    hidden: file.hidden.clone(),
                    target: file.target.clone(),
                    length: file.length,
                })
            }
            FileSinkCommittable::Cleanup(_) => None,
        }
    }

    /// Judges the answer to what [`Self::commit`] asked for.
    ///
    /// # Errors
    /// When the file is not visible.
    pub fn answered(
        &self,
        committable: &FileSinkCommittable,
        answer: FileAnswer,
    ) -> Result<(), FileCommitError> {
        let file = committable.file();
        let hidden = file.hidden.clone();
        match answer {
            FileAnswer::Done | FileAnswer::AlreadyDone => Ok(()),
            FileAnswer::NotFound if self.defects.has(Defect::MissingPendingFileIgnored) => Ok(()),
            FileAnswer::NotFound => Err(FileCommitError::Lost { hidden, target: file.target.clone() }),
            FileAnswer::TooShort(length) => {
                Err(FileCommitError::TooShort { hidden, length, expected: file.length })
            }
            FileAnswer::NoSpace => Err(FileCommitError::Failed { hidden, cause: "no space left".to_owned() }),
            FileAnswer::Immutable => Err(FileCommitError::Failed {
                hidden,
                cause: "it is complete, and an object is never changed".to_owned(),
            }),
            FileAnswer::Failed(cause) => Err(FileCommitError::Failed { hidden, cause }),
            FileAnswer::Listed(_) | FileAnswer::Bytes(_) => unreachable!("a committer does not read"),
        }
    }
}
