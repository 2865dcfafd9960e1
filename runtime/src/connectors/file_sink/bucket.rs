//! One bucket of a writer: the file in progress, and those that are closed and not handed over yet.

use super::committable::FileSinkCommittable;
use super::names::UniqueNames;
use super::part_file::PartFile;
use super::rolling_policy::RollingPolicy;
use super::writer::{FileWriterConfig, Format, Recovery};
use crate::api::file_io::FileIo;
use serde::{Deserialize, Serialize};

/// Flink's `FileWriterBucketState`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct BucketState {
    /// The folder.
    pub folder: String,
    /// The file in progress, with the length that counts.
    pub in_progress: Option<PartFile>,
}

/// Flink's `FileWriterBucket`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FileWriterBucket {
    folder: String,
    /// The unique part of its files' names.
    unique: String,
    part_counter: u64,
    in_progress: Option<PartFile>,
    /// What a bulk format has gathered for the file in progress. It lives nowhere else: no state holds it.
    gathered: Gathered,
    pending: Vec<PartFile>,
    /// The file in progress as the last snapshot named it.
    to_clean_up: Option<PartFile>,
}

impl FileWriterBucket {
    /// An empty bucket.
    pub(super) fn new(folder: String, names: &mut UniqueNames) -> Self {
        Self {
            folder,
            unique: names.next(),
            part_counter: 0,
            in_progress: None,
            gathered: Gathered::default(),
            pending: Vec::new(),
            to_clean_up: None,
        }
    }

    /// A bucket of an earlier life. What was in progress goes on where files can be resumed, and is closed where they
    /// cannot or shall not; new files get a new unique name (FACTS 83, 89).
    pub(super) fn restore(state: BucketState, config: FileWriterConfig, names: &mut UniqueNames) -> Self {
        let mut bucket = Self::new(state.folder, names);
        let goes_on = config.format == Format::Row && config.recovery == Recovery::ResumeInPlace;
        match state.in_progress {
            Some(file) if goes_on => bucket.in_progress = Some(file),
            file => bucket.pending.extend(file),
        }
        bucket
    }

    /// Takes over what a restored bucket of the same folder had: one file in progress is enough (FACT 92).
    pub(super) fn merge(&mut self, mut other: Self) {
        debug_assert_eq!(self.folder, other.folder, "buckets of one folder are merged");
        debug_assert!(
            other.gathered == Gathered::default(),
            "nothing was written into a bucket just restored"
        );
        self.pending.append(&mut other.pending);
        self.pending.extend(other.in_progress.take());
    }

    /// Whether it holds anything; one that does not is forgotten, and a new one gets a new unique name (FACT 89).
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.in_progress.is_some() || self.to_clean_up.is_some() || !self.pending.is_empty()
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// The file in progress.
    #[must_use]
    pub const fn in_progress(&self) -> Option<&PartFile> {
        self.in_progress.as_ref()
    }

    /// Writes one encoded record.
    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        now_ms: u64,
        config: FileWriterConfig,
        names: &mut UniqueNames,
        io: &mut FileIo,
    ) {
        if self.in_progress.as_ref().is_none_or(|file| config.policy.should_roll_on_event(file)) {
            self.close_part_file(io);
            let name = format!("part-{}-{}", self.unique, self.part_counter);
            self.part_counter += 1;
            self.in_progress = Some(PartFile::new(&self.folder, &name, &names.next(), now_ms));
        }
        let file = self.in_progress.as_mut().expect("there is one now");
        match config.format {
            Format::Row => file.write(bytes, now_ms, io),
            Format::Bulk => {
                if self.gathered.records == 0 {
                    // Opening it makes the file, so that a snapshot can name it.
                    file.write(&[], now_ms, io);
                }
                self.gathered.take(bytes);
            }
        }
        debug_assert!(config.format == Format::Bulk || file.length >= bytes.len() as u64);
    }

    /// Closes the file in progress if the policy says so at this time.
    pub(super) fn on_processing_time(&mut self, now_ms: u64, policy: RollingPolicy, io: &mut FileIo) {
        if self.in_progress.as_ref().is_some_and(|file| policy.should_roll_on_processing_time(file, now_ms)) {
            self.close_part_file(io);
        }
    }

    /// Closes what is to be closed and hands over everything that is closed. It must be durable before the committables
    /// count.
    pub(super) fn prepare_commit(
        &mut self,
        end_of_input: bool,
        policy: RollingPolicy,
        io: &mut FileIo,
    ) -> Vec<FileSinkCommittable> {
        if self
            .in_progress
            .as_ref()
            .is_some_and(|file| end_of_input || policy.should_roll_on_checkpoint(file))
        {
            self.close_part_file(io);
        }
        for file in &self.pending {
            file.persist(io);
        }
        let mut committables: Vec<_> = self.pending.drain(..).map(FileSinkCommittable::Pending).collect();
        committables.extend(self.to_clean_up.take().map(FileSinkCommittable::Cleanup));
        debug_assert!(self.pending.is_empty() && self.to_clean_up.is_none());
        committables
    }

    /// Its state; the file in progress must be durable up to its length before that counts.
    pub(super) fn snapshot_state(&mut self, io: &mut FileIo) -> BucketState {
        if let Some(file) = &self.in_progress {
            file.persist(io);
            self.to_clean_up = Some(file.clone());
        }
        BucketState { folder: self.folder.clone(), in_progress: self.in_progress.clone() }
    }

    fn close_part_file(&mut self, io: &mut FileIo) {
        let Some(mut file) = self.in_progress.take() else { return };
        if let Some(bytes) = std::mem::take(&mut self.gathered).finish() {
            let now_ms = file.updated_ms;
            file.write(&bytes, now_ms, io);
        }
        self.pending.push(file);
    }
}

/// Records of a bulk format on their way into one file.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Gathered {
    bytes: Vec<u8>,
    records: u64,
}

impl Gathered {
    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.records += 1;
    }

    /// The file's whole content: the records, and a footer that says how many.
    fn finish(mut self) -> Option<Vec<u8>> {
        if self.records == 0 {
            return None;
        }
        self.bytes.extend_from_slice(&self.records.to_le_bytes());
        self.bytes.extend_from_slice(BULK_MAGIC);
        Some(self.bytes)
    }
}

/// The end of every whole file of the bulk format.
pub const BULK_MAGIC: &[u8] = b"SPLITRACE";
