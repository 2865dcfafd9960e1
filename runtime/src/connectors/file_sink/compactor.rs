//! Small files become larger ones before they are committed: Flink's `CompactorOperator` with its coordinator's trigger
//! `enableCompactionOnCheckpoint`.
//!
//! ```text
//! closed files ─▶ gathered, checkpoint after checkpoint ─▶ every n-th one, and at the end of the input, by folder:
//!   one file ─▶ handed on as it is
//!   several  ─▶ read, written behind each other into one hidden file ─▶ one committable, which names its sources too
//! ```
//! What is gathered is state. The sources are removed by whoever commits, once the one file is visible: until its
//! checkpoint is complete, an older one may be restored, whose state goes on with them.
//!
//! Flink compacts behind the barrier, in threads of its own, and so needs state for requests that are under way. Here the
//! task waits for it before the barrier, as it waits for everything else that a checkpoint names. Refused was Flink's way:
//! a file that stays hidden for a checkpoint more shows nothing new of the protocol.

use super::FileWriterError;
use super::committable::FileSinkCommittable;
use super::handed_over::{FileContent, FileOfRecords};
use super::names::transaction_of;
use super::part_file::PartFile;
use crate::api::file_io::{FileIo, FileOperation};
use crate::records::RecordRanges;
use std::collections::{BTreeMap, VecDeque};

/// So many bytes at most are read at once.
const COPIED_BYTES_MAX: u64 = 64 * 1024;

/// Flink's `CompactCoordinator` and `CompactorOperator` of one writer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Compactor {
    every_checkpoints: u32,
    /// How many checkpoints have passed since it last handed on what was gathered.
    passed: u32,
    /// In the order in which they were closed.
    gathered: Vec<FileOfRecords>,
    merges: VecDeque<Merge>,
}

impl Compactor {
    /// One that hands on at every so-manieth checkpoint.
    pub(super) const fn new(every_checkpoints: u32) -> Self {
        debug_assert!(every_checkpoints > 0, "whoever reads a configuration checks it");
        Self { every_checkpoints, passed: 0, gathered: Vec::new(), merges: VecDeque::new() }
    }

    /// Takes closed files behind those that it has.
    pub(super) fn gather(&mut self, files: impl IntoIterator<Item = FileOfRecords>) {
        debug_assert!(self.merges.is_empty(), "what is handed on is settled before more comes");
        self.gathered.extend(files);
    }

    /// What it has and has not handed on.
    pub(super) fn gathered(&self) -> &[FileOfRecords] {
        &self.gathered
    }

    /// A checkpoint passes; answers whether it is one at which everything is handed on.
    pub(super) const fn is_due(&mut self) -> bool {
        self.passed += 1;
        self.passed >= self.every_checkpoints
    }

    /// Hands on everything. What several files of one folder become counts only once all that is asked for here, and in
    /// [`Self::read`], is settled.
    pub(super) fn hand_on(
        &mut self,
        now_ms: u64,
        mut unique_name: impl FnMut() -> String,
        io: &mut FileIo,
    ) -> Vec<FileOfRecords> {
        self.passed = 0;
        let mut folders: BTreeMap<String, Vec<FileOfRecords>> = BTreeMap::new();
        for file in std::mem::take(&mut self.gathered) {
            let folder = file.committable.file().folder().to_owned();
            folders.entry(folder).or_default().push(file);
        }
        let mut handed_on = Vec::new();
        for (folder, files) in folders {
            match <[FileOfRecords; 1]>::try_from(files) {
                Ok([alone]) => handed_on.push(alone),
                Err(several) => handed_on.push(self.merge(&folder, several, (now_ms, unique_name()))),
            }
        }
        self.go_on(io);
        debug_assert!(self.gathered.is_empty() || self.merges.is_empty());
        handed_on
    }

    fn merge(
        &mut self,
        folder: &str,
        files: Vec<FileOfRecords>,
        (now_ms, unique): (u64, String),
    ) -> FileOfRecords {
        debug_assert!(files.len() > 1, "one file is what it is to become");
        let mut file = PartFile::new(folder, &format!("compacted-{unique}"), &unique, now_ms);
        let transaction = transaction_of(&file.hidden).expect("the writer names files by its life");
        let mut records = RecordRanges::new();
        let mut sources = Vec::new();
        for FileOfRecords { content, committable } in files {
            let overlap = records.extend(&content.records);
            debug_assert!(overlap.is_none(), "two closed files hold {overlap:?}");
            file.length += committable.file().length;
            sources.push(committable.file().clone());
        }
        self.merges.push_back(Merge { file: file.clone(), written: 0, sources: sources.clone().into() });
        let content = FileContent { transaction, records };
        FileOfRecords { content, committable: FileSinkCommittable::Compacted { file, sources } }
    }

    /// What was read of a source goes into the file that is made of it.
    ///
    /// # Errors
    /// When it is less than the source had when it was closed.
    pub(super) fn read(
        &mut self,
        asked: &FileOperation,
        bytes: Vec<u8>,
        io: &mut FileIo,
    ) -> Result<(), FileWriterError> {
        let FileOperation::Read { path, at, length } = asked else {
            unreachable!("only what is read has bytes: {asked:?}")
        };
        let merge = self.merges.front_mut().expect("nobody else reads");
        let found = bytes.len() as u64;
        if found < *length {
            let (path, length, expected) = (path.clone(), at + found, at + length);
            return Err(FileWriterError::TooShort { path, length, expected });
        }
        io.ask(FileOperation::Write { path: merge.file.hidden.clone(), at: merge.written, bytes });
        merge.written += found;
        merge.take_off(at + found);
        self.go_on(io);
        Ok(())
    }

    /// Asks for the next part of a source; what has all its parts is made durable.
    fn go_on(&mut self, io: &mut FileIo) {
        while let Some(merge) = self.merges.front() {
            if let Some(next) = merge.next_read() {
                return io.ask(next);
            }
            debug_assert_eq!(merge.written, merge.file.length, "all of every source is in it");
            merge.file.persist(io);
            self.merges.pop_front();
        }
    }
}

/// A file that is being made of several.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Merge {
    /// As it will be.
    file: PartFile,
    written: u64,
    /// What is not read to its end, of which the first one lacks what is written of it.
    sources: VecDeque<PartFile>,
}

impl Merge {
    /// Where in the first source the next part begins.
    fn begin(&self) -> u64 {
        let left: u64 = self.sources.iter().map(|source| source.length).sum();
        debug_assert!(left + self.written >= self.file.length, "what is written is of its sources");
        left + self.written - self.file.length
    }

    fn next_read(&self) -> Option<FileOperation> {
        let source = self.sources.front()?;
        let at = self.begin();
        let length = COPIED_BYTES_MAX.min(source.length - at);
        Some(FileOperation::Read { path: source.hidden.clone(), at, length })
    }

    /// The first source is read up to there.
    fn take_off(&mut self, end: u64) {
        if self.sources.front().is_some_and(|source| source.length <= end) {
            self.sources.pop_front();
        }
    }
}
