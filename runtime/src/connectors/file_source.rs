//! The file source: a split is a part of a file, and each record belongs to exactly one split.
//!
//! A text line belongs to the split in which its first byte lies, so a file may be cut anywhere: who begins inside a line
//! passes over the rest of it, who ends inside one reads it to its end. Length-delimited frames cannot be found from the
//! middle of a file, so a file of frames is one split. What is hidden (`.` or `_` in front) is no input: a file sink that
//! writes into the same folder is not read back half way.
//!
//! ```text
//!   worker: list ──▶ Discovery: new files, cut into parts ──▶ FileEnumerator ── a split for each request ──▶ reader
//!   fetcher: FileSourceSplitReader ── Read ──▶ the outside ── bytes ──▶ FileSplitReader: records ──▶ SourceReaderBase
//! ```
//! Pure logic over [`FileOperation`](crate::api::file_io::FileOperation)s: a fetcher's thread and the coordinator's worker
//! ask for them as for a system call ([`Effect::AskInput`](crate::actor::Effect::AskInput)) and go on with the answer. It
//! is Flink's `FileSource` with a splittable text format and its `NonSplittingRecursiveEnumerator`, pull only.

mod discovery;
mod enumerator;
mod source;
mod source_split_reader;
mod split;
mod split_reader;

pub use discovery::{Discovery, is_input};
pub use enumerator::{FileEnumerator, FileEnumeratorState};
pub use source::{FileRecordEmitter, FileSource, FileSplit, file_enumerators, file_reader};
pub use source_split_reader::FileSourceSplitReader;
pub use split::{FileSourceSplit, RecordFormat, cut};
pub use split_reader::{FileRecord, FileSourceError, FileSplitReader};

#[cfg(test)]
mod source_tests;
#[cfg(test)]
mod tests;
