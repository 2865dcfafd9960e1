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
    };

    /// Whether every number is one that may be given, and the format can live with the policy: a bulk format rolls at every
    /// checkpoint.
    #[must_use]
    pub const fn is_valid(&self) -> bool {
        let rolls = matches!(self.policy, RollingPolicy::OnCheckpoint);
        self.bucket_check_interval_ms > 0 && self.buckets > 0 && (rolls || matches!(self.format, Format::Row))
    }

    /// What its writer is made for.
    #[must_use]
    pub const fn writer(&self, recovery: Recovery) -> FileWriterConfig {
        let Self { policy, format, bucket_check_interval_ms, .. } = *self;
        FileWriterConfig { policy, bucket_check_interval_ms, format, recovery }
    }
}
