//! The file sink: records become lines of part files, and a part file becomes visible by one rename.
//!
//! ```text
//!   write ──▶ in progress (.part-U-0.inprogress.V)
//!   roll, or end of input ──▶ pending, named in a committable ──▶ checkpoint complete: renamed to part-U-0
//!   checkpoint, not rolled ──▶ its name and length are writer state; a restore cuts it to that length and goes on
//! ```
//!
//! Each *bucket* (a folder) has a unique name and a counter of its own, so that no two writers, and no two lives of one,
//! ever make the same file (FACT 89). A rolling policy says when a file is closed. The default one closes none at a
//! checkpoint, so what it has written stays hidden until a file is large or old enough (FACTS 82, 91); a bulk format cannot
//! go on with a file of an earlier life and must roll at every checkpoint.
//!
//! A compactor behind the writer may make one file of several that are closed, before the committer hears of them.
//!
//! Everything here is a pure state machine over [`FileIo`](crate::api::file_io::FileIo): Flink's `FileWriter`,
//! `FileWriterBucket` and `FileCommitter`, whose recorded answers it gives (`docs/conformance.md`).

mod bucket;
mod committable;
mod committer;
mod compacting;
mod compactor;
mod handed_over;
mod lines;
mod names;
mod part_file;
mod rolling_policy;
mod sink;
mod writer;

pub use bucket::{BULK_MAGIC, BucketState, FileWriterBucket};
pub use committable::FileSinkCommittable;
pub use committer::{FileCommitError, FileCommitter};
pub use compacting::{CompactingFileSink, CompactingFileWriter};
pub use handed_over::{FileOfRecords, FileSinkCommitter};
pub use lines::provenance;
pub use names::{UniqueNames, transaction_of};
pub use part_file::PartFile;
pub use rolling_policy::RollingPolicy;
pub use sink::{FileSink, FileSinkWriter};
pub use writer::{FileWriter, FileWriterConfig, FileWriterError, Format, Recovery};

use super::defective::{RepeatedCommitIsError, WithCommitters};
use super::{SinkPorts, ports_of};
use crate::api::sink::WriterInitContext;
use crate::config::FileSinkConfig;
use crate::defects::{Defect, DefectSet};

/// The writer and the committer of one subtask, behind bytes.
#[must_use]
pub fn create_ports(config: FileSinkConfig, context: &WriterInitContext, defects: DefectSet) -> SinkPorts {
    let sink = FileSink::new(config, defects);
    if let Some(compaction) = config.compaction {
        return ports_of(&CompactingFileSink { sink, compaction }, context);
    }
    if defects.has(Defect::FinishedFileIsError) {
        return ports_of(&WithCommitters::<_, RepeatedCommitIsError>::new(sink), context);
    }
    ports_of(&sink, context)
}

#[cfg(test)]
mod tests;
