//! The file source: a split is a part of a file, and each record belongs to exactly one split.
//!
//! A text line belongs to the split in which its first byte lies, so a file may be cut anywhere: who begins inside a line
//! passes over the rest of it, who ends inside one reads it to its end. Length-delimited frames cannot be found from the
//! middle of a file, so a file of frames is one split. What is hidden (`.` or `_` in front) is no input: a file sink that
//! writes into the same folder is not read back half way.
//!
//! Pure logic over [`FileIo`](crate::api::file_io::FileIo), as Flink's `FileSource` with a splittable text format and its
//! `NonSplittingRecursiveEnumerator`, pull only.

mod discovery;
mod split;
mod split_reader;

pub use discovery::Discovery;
pub use split::{FileSourceSplit, RecordFormat, cut};
pub use split_reader::{FileRecord, FileSourceError, FileSplitReader};

#[cfg(test)]
mod tests;
