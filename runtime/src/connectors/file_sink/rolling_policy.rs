//! When a part file is closed.

use super::part_file::PartFile;
use serde::{Deserialize, Serialize};

/// Flink's `RollingPolicy`, in the two kinds that its file sink comes with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RollingPolicy {
    /// `DefaultRollingPolicy`: by size and by age. Row formats only.
    Default {
        /// A file that is larger is closed before the next record, or at a checkpoint (FACT 90).
        part_size_max_bytes: u64,
        /// A file that is so old is closed at the next check.
        rollover_interval_ms: u64,
        /// A file that was not written to for so long is closed at the next check.
        inactivity_interval_ms: u64,
    },
    /// `OnCheckpointRollingPolicy`: every file is closed at the next checkpoint, and by nothing else.
    OnCheckpoint,
}

impl RollingPolicy {
    /// Flink's default: 128 MiB, 60 s, 60 s.
    pub const DEFAULT: Self = Self::Default {
        part_size_max_bytes: 128 << 20,
        rollover_interval_ms: 60_000,
        inactivity_interval_ms: 60_000,
    };

    /// Whether the file is closed before one more record goes into it.
    #[must_use]
    pub const fn should_roll_on_event(self, file: &PartFile) -> bool {
        self.is_too_large(file)
    }

    /// Whether the file is closed at a checkpoint.
    #[must_use]
    pub const fn should_roll_on_checkpoint(self, file: &PartFile) -> bool {
        matches!(self, Self::OnCheckpoint) || self.is_too_large(file)
    }

    /// Whether the file is closed by the check at this time.
    #[must_use]
    pub const fn should_roll_on_processing_time(self, file: &PartFile, now_ms: u64) -> bool {
        match self {
            Self::Default { rollover_interval_ms, inactivity_interval_ms, .. } => {
                now_ms.saturating_sub(file.created_ms) >= rollover_interval_ms
                    || now_ms.saturating_sub(file.updated_ms) >= inactivity_interval_ms
            }
            Self::OnCheckpoint => false,
        }
    }

    const fn is_too_large(self, file: &PartFile) -> bool {
        match self {
            Self::Default { part_size_max_bytes, .. } => file.length > part_size_max_bytes,
            Self::OnCheckpoint => false,
        }
    }
}
