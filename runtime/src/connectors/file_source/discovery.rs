//! Which files there are to read: each is taken once, however often its folder is looked at.

use super::split::{FileSourceSplit, RecordFormat, cut};
use crate::api::file_io::FileOperation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The enumerator's view of a folder. Its state is what it has seen: a restored one takes no file a second time, and none
/// is lost that it had seen before it failed, as the splits made of it are in its state or in a reader's.
///
/// A file is read as it was when it was first seen; what is appended later is no input.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Discovery {
    folder: String,
    block: u64,
    format: RecordFormat,
    seen: BTreeSet<String>,
}

impl Discovery {
    /// Of a folder; files are cut into blocks of at most so many bytes.
    #[must_use]
    pub const fn new(folder: String, block: u64, format: RecordFormat) -> Self {
        Self { folder, block, format, seen: BTreeSet::new() }
    }

    /// What to ask for at each look.
    #[must_use]
    pub fn look(&self) -> FileOperation {
        FileOperation::List { folder: self.folder.clone() }
    }

    /// The splits of the files that were not there at any look before, in the order of their names.
    pub fn found(&mut self, listed: &[(String, u64)]) -> Vec<FileSourceSplit> {
        let mut splits = Vec::new();
        for (path, size) in listed {
            if is_input(path) && self.seen.insert(path.clone()) {
                splits.extend(cut(path, *size, self.block, self.format));
            }
        }
        splits
    }
}

/// Whether a file is read at all: nothing in its path is hidden.
#[must_use]
pub fn is_input(path: &str) -> bool {
    path.split('/').all(|part| !part.starts_with('.') && !part.starts_with('_'))
}
