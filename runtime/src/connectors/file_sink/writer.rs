//! The writer of one subtask: its buckets, and the check of their files' age.

use super::bucket::{BucketState, FileWriterBucket};
use super::committable::FileSinkCommittable;
use super::names::UniqueNames;
use super::part_file::PartFile;
use super::rolling_policy::RollingPolicy;
use crate::api::file_io::{FileAnswer, FileIo, FileOperation};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How records lie in a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// One by one: a file can be cut after any of them and gone on with.
    Row,
    /// As a whole, with a footer at its end: a file of an earlier life cannot be gone on with.
    Bulk,
}

/// What a file writer is made for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileWriterConfig {
    /// When files are closed.
    pub policy: RollingPolicy,
    /// Time between two checks of their age, in milliseconds of processing time; 60,000 in Flink.
    pub bucket_check_interval_ms: u64,
    /// How records lie in them.
    pub format: Format,
    /// What becomes of the file in progress of an earlier life.
    pub recovery: Recovery,
}

/// What a writer does with a file that was in progress in the state that it restores.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// It cuts the file to its recorded length and writes on, as Flink does (FACT 83). A file system that fences nobody off
    /// lets an older life that is not dead write on, too.
    ResumeInPlace,
    /// It hands over what the file had, and begins a new one.
    Seal,
}

/// Why a writer cannot start.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum FileWriterError {
    /// A file that the restored state goes on with is gone (FACT 86).
    #[error("File Not Found: {0}")]
    FileNotFound(String),
    /// It is shorter than what was durable: the file system has lost data.
    #[error("{path} has {length} bytes, and {expected} were durable")]
    TooShort {
        /// The file.
        path: String,
        /// What it has.
        length: u64,
        /// What it must have.
        expected: u64,
    },
    /// The file system failed.
    #[error("{path}: {cause}")]
    Failed {
        /// The file.
        path: String,
        /// How.
        cause: String,
    },
}

/// Flink's `FileWriter`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FileWriter {
    config: FileWriterConfig,
    names: UniqueNames,
    buckets: BTreeMap<String, FileWriterBucket>,
    next_check_ms: u64,
}

impl FileWriter {
    /// The writer of a new job, or one that restores no state. The first check comes one interval after its start.
    #[must_use]
    pub fn new(config: FileWriterConfig, names: UniqueNames, now_ms: u64) -> Self {
        debug_assert!(config.bucket_check_interval_ms > 0, "checks need an interval");
        let next_check_ms = now_ms + config.bucket_check_interval_ms;
        Self { config, names, buckets: BTreeMap::new(), next_check_ms }
    }

    /// Takes over the buckets of earlier lives, which may have been several writers'. What it asks for must be answered
    /// before a record is written: see [`Self::answered`].
    pub fn restore(&mut self, states: Vec<BucketState>, io: &mut FileIo) {
        debug_assert!(self.buckets.is_empty(), "restored before the first record");
        for state in states {
            let bucket = FileWriterBucket::restore(state, self.config, &mut self.names);
            if let Some(file) = bucket.in_progress() {
                io.ask(FileOperation::Resume { path: file.hidden.clone(), length: file.length });
            }
            match self.buckets.get_mut(bucket.folder()) {
                Some(same) => same.merge(bucket),
                None => {
                    self.buckets.insert(bucket.folder().to_owned(), bucket);
                }
            }
        }
    }

    /// Judges the answer to an operation that this writer asked for.
    ///
    /// # Errors
    /// When the file cannot be gone on with; the task fails then.
    pub fn answered(&self, operation: &FileOperation, answer: FileAnswer) -> Result<(), FileWriterError> {
        let path = operation.path().to_owned();
        match answer {
            FileAnswer::Done | FileAnswer::AlreadyDone => Ok(()),
            FileAnswer::NotFound => Err(FileWriterError::FileNotFound(path)),
            FileAnswer::TooShort(length) => {
                let (FileOperation::Resume { length: expected, .. }
                | FileOperation::Sync { length: expected, .. }
                | FileOperation::Write { at: expected, .. }) = operation
                else {
                    unreachable!("only what is written has a length to have: {operation:?}")
                };
                Err(FileWriterError::TooShort { path, length, expected: *expected })
            }
            FileAnswer::NoSpace => Err(FileWriterError::Failed { path, cause: "no space left".to_owned() }),
            FileAnswer::Immutable => Err(FileWriterError::Failed {
                path,
                cause: "it is complete, and an object is never changed".to_owned(),
            }),
            FileAnswer::Failed(cause) => Err(FileWriterError::Failed { path, cause }),
            FileAnswer::Listed(_) | FileAnswer::Bytes(_) => {
                unreachable!("a writer does not read: {operation:?}")
            }
        }
    }

    /// The checks begin only now: a writer may be made before its process has a clock.
    pub const fn begin_checks(&mut self, now_ms: u64) {
        self.next_check_ms = now_ms + self.config.bucket_check_interval_ms;
    }

    /// A name that no other file has.
    pub(super) fn unique_name(&mut self) -> String {
        self.names.next()
    }

    /// Changes how new files are named.
    pub(super) fn rename(&mut self, change: impl FnOnce(&mut UniqueNames)) {
        change(&mut self.names);
    }

    /// Writes one encoded record into the bucket of this folder; answers the file that has it now.
    pub fn write(&mut self, folder: &str, bytes: &[u8], now_ms: u64, io: &mut FileIo) -> &PartFile {
        if !self.buckets.contains_key(folder) {
            let bucket = FileWriterBucket::new(folder.to_owned(), &mut self.names);
            self.buckets.insert(folder.to_owned(), bucket);
        }
        let bucket = self.buckets.get_mut(folder).expect("there is one now");
        bucket.write(bytes, now_ms, self.config, &mut self.names, io);
        bucket.in_progress().expect("a record goes into a file in progress")
    }

    /// When it wants to be woken next, in milliseconds of processing time.
    #[must_use]
    pub const fn next_check_ms(&self) -> u64 {
        self.next_check_ms
    }

    /// The time of a check has come: files that are old enough are closed (FACT 91).
    pub fn on_processing_time(&mut self, now_ms: u64, io: &mut FileIo) {
        debug_assert!(now_ms >= self.next_check_ms, "woken too early");
        for bucket in self.buckets.values_mut() {
            bucket.on_processing_time(now_ms, self.config.policy, io);
        }
        self.next_check_ms = now_ms + self.config.bucket_check_interval_ms;
    }

    /// Hands over what is closed, and closes what the policy closes at checkpoints, or everything at the end of the input.
    /// Buckets that hold nothing are forgotten.
    pub fn prepare_commit(&mut self, end_of_input: bool, io: &mut FileIo) -> Vec<FileSinkCommittable> {
        self.buckets.retain(|_, bucket| bucket.is_active());
        let policy = self.config.policy;
        self.buckets.values_mut().flat_map(|bucket| bucket.prepare_commit(end_of_input, policy, io)).collect()
    }

    /// The state: one element a bucket.
    pub fn snapshot_state(&mut self, io: &mut FileIo) -> Vec<BucketState> {
        self.buckets.values_mut().map(|bucket| bucket.snapshot_state(io)).collect()
    }
}
