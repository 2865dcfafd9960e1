//! A part file, hidden until it is committed.

use super::names::HIDDEN;
use crate::api::file_io::{FileIo, FileOperation};
use serde::{Deserialize, Serialize};

/// A part file that is not visible yet: what a restore or a commit needs of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct PartFile {
    /// Where it is while it is hidden.
    pub hidden: String,
    /// Where it will be visible.
    pub target: String,
    /// How many bytes of it count.
    pub length: u64,
    /// When it was begun, in milliseconds of processing time.
    pub created_ms: u64,
    /// When it was last written to.
    pub updated_ms: u64,
}

impl PartFile {
    /// A new empty file of a bucket. The hidden name has a unique part of its own, so that what an earlier life left behind
    /// is never written to.
    #[must_use]
    pub(super) fn new(folder: &str, name: &str, unique: &str, now_ms: u64) -> Self {
        let separator = if folder.is_empty() { "" } else { "/" };
        Self {
            hidden: format!("{folder}{separator}.{name}{HIDDEN}{unique}"),
            target: format!("{folder}{separator}{name}"),
            length: 0,
            created_ms: now_ms,
            updated_ms: now_ms,
        }
    }

    /// The folder that it is in; empty for the root.
    pub(super) fn folder(&self) -> &str {
        self.target.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Writes behind what counts.
    pub(super) fn write(&mut self, bytes: &[u8], now_ms: u64, io: &mut FileIo) {
        io.ask(FileOperation::Write { path: self.hidden.clone(), at: self.length, bytes: bytes.to_vec() });
        self.length += bytes.len() as u64;
        self.updated_ms = now_ms;
    }

    /// Makes what counts durable: a state or a committable that names the file may be stored once that is done.
    pub(super) fn persist(&self, io: &mut FileIo) {
        io.ask(FileOperation::Sync { path: self.hidden.clone(), length: self.length });
    }
}
