//! What a job's file sink does.

use crate::connectors::file_sink::{FileWriterConfig, Format, Recovery, RollingPolicy};
use serde::{Deserialize, Serialize};

/// A file sink.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSinkConfig {
    /// When files are closed.
    pub policy: RollingPolicy,
    /// How records lie in them.
    pub format: Format,
    /// Time between two checks of the age of files, in milliseconds of processing time, at least 1.
    pub bucket_check_interval_ms: u64,
    /// Into how many folders records are parted by their key, at least 1; one is the root itself.
    pub buckets: u32,
    /// What a line says.
    pub lines: LineContent,
    /// What the files lie in.
    #[serde(default)]
    pub medium: FileMedium,
    /// Whether small files become larger ones before they are committed.
    #[serde(default)]
    pub compaction: Option<CompactionConfig>,
}

/// When closed files become one (Flink's `FileCompactStrategy`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionConfig {
    /// At every so-manieth checkpoint, at least 1, those of one folder do (`enableCompactionOnCheckpoint`).
    pub every_checkpoints: u32,
}

/// What files lie in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileMedium {
    /// A file system, as POSIX has it.
    #[default]
    FileSystem,
    /// An object store: what is complete is never changed, and what is not is gone with whoever was sending it. So no file
    /// stays open over a checkpoint.
    ObjectStore,
}

/// What a record's line says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineContent {
    /// Where the record comes from, so that whoever reads the file knows which records are in it.
    Provenance,
    /// The record's own bytes.
    Payload,
}

impl FileSinkConfig {
    /// Flink's defaults: rows, in files of a minute.
    pub const DEFAULT: Self = Self {
        policy: RollingPolicy::DEFAULT,
        format: Format::Row,
        bucket_check_interval_ms: 60_000,
        buckets: 1,
        lines: LineContent::Provenance,
        medium: FileMedium::FileSystem,
        compaction: None,
    };

    /// Whether every number is one that may be given, and format and medium can live with the policy: a bulk format rolls
    /// at every checkpoint, and so does an object store. Files that end with a footer cannot become one by being written
    /// behind each other.
    #[must_use]
    pub const fn is_valid(&self) -> bool {
        let rolls = matches!(self.policy, RollingPolicy::OnCheckpoint);
        let may_stay_open =
            matches!(self.format, Format::Row) && matches!(self.medium, FileMedium::FileSystem);
        let compacts_well = match self.compaction {
            None => true,
            Some(CompactionConfig { every_checkpoints }) => {
                every_checkpoints > 0 && matches!(self.format, Format::Row)
            }
        };
        self.bucket_check_interval_ms > 0 && self.buckets > 0 && (rolls || may_stay_open) && compacts_well
    }

    /// What its writer is made for.
    #[must_use]
    pub const fn writer(&self, recovery: Recovery) -> FileWriterConfig {
        let Self { policy, format, bucket_check_interval_ms, .. } = *self;
        FileWriterConfig { policy, bucket_check_interval_ms, format, recovery }
    }
}
