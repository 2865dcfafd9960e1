//! A split of the file source, and how a file is cut into them.

use serde::{Deserialize, Serialize};

/// How records lie in a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordFormat {
    /// A line each, ended by a line feed, with or without a carriage return before it; the last one may lack it.
    TextLines,
    /// Four bytes of length, the least significant first, then so many bytes.
    Frames,
}

/// Flink's `FileSourceSplit`: a part of a file, and how far it was read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FileSourceSplit {
    /// The file.
    pub path: String,
    /// The first byte of the part.
    pub offset: u64,
    /// How many bytes the part has.
    pub length: u64,
    /// Where the next record begins, at or behind `offset`; behind the part's end once its last record is read.
    pub position: u64,
}

impl FileSourceSplit {
    /// The byte behind the part.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset + self.length
    }
}

/// Cuts a file of so many bytes into parts of at most `block` bytes, at least 1; what cannot be cut stays whole. An empty
/// file has no part.
#[must_use]
pub fn cut(path: &str, size: u64, block: u64, format: RecordFormat) -> Vec<FileSourceSplit> {
    debug_assert!(block > 0, "a block has a size");
    let block = if format == RecordFormat::Frames { size.max(1) } else { block };
    let starts = (0..size).step_by(usize::try_from(block).unwrap_or(usize::MAX));
    let splits: Vec<_> = starts
        .map(|offset| {
            let length = block.min(size - offset);
            FileSourceSplit { path: path.to_owned(), offset, length, position: offset }
        })
        .collect();
    debug_assert_eq!(splits.iter().map(|split| split.length).sum::<u64>(), size, "every byte is in one part");
    splits
}
