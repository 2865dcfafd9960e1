//! What connectors ask of a file system, and what they are told: one vocabulary for the simulated one, a real one and an
//! object store.
//!
//! Connector logic is pure: it asks through a [`FileIo`] and is told each answer. Operations of one connector are carried
//! out one after the other in the order in which they were asked for, and each is safe to repeat, so one of unknown outcome
//! is asked again. Two of them are more than a system call, because what they promise must hold across a crash in their
//! middle: [`FileOperation::Resume`] and [`FileOperation::Publish`].
//!
//! Refused: handles. A handle dies with its process, and what was asked through it cannot be asked again; a path and a
//! length can.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One thing asked of a file system. Paths are relative to the root that a host was given, with `/` between their parts.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum FileOperation {
    /// Write these bytes at this length of the file, which is made when it is not there. What lies beyond is cut off first:
    /// so the same write, asked twice, is one write.
    Write {
        /// The file.
        path: String,
        /// Behind so many bytes.
        at: u64,
        /// The bytes.
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// Make everything that was written to the file durable: so many bytes. A file that is shorter has lost some of them,
    /// of which a file system that began anew knows nothing.
    Sync {
        /// The file.
        path: String,
        /// The length that it has by all that was written to it.
        length: u64,
    },
    /// Take up a file that an earlier life wrote: cut it to this length. A shorter one has lost what was synced.
    Resume {
        /// The file.
        path: String,
        /// Its length in the state that is restored.
        length: u64,
    },
    /// Make a hidden file visible: cut it to its length, then rename it in one step. When it is gone and the target is
    /// there, that has been done before (`LocalRecoverableFsDataOutputStream.LocalCommitter`).
    Publish {
        /// Where it is.
        hidden: String,
        /// Where it shall be.
        target: String,
        /// Its length.
        length: u64,
    },
    /// Remove a file, if it is there.
    Delete {
        /// The file.
        path: String,
    },
    /// Read up to so many bytes from there on. Fewer come only where the file ends.
    Read {
        /// The file.
        path: String,
        /// Behind so many bytes.
        at: u64,
        /// At most so many.
        length: u64,
    },
    /// Name all files under a folder, hidden ones too.
    List {
        /// The folder; empty for the root.
        folder: String,
    },
}

impl FileOperation {
    /// What is asked, as a sentence's end.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Write { path, at, bytes } => format!("write {} bytes at {at} of {path}", bytes.len()),
            Self::Sync { path, length } => format!("sync {length} bytes of {path}"),
            Self::Resume { path, length } => format!("resume {path} at {length}"),
            Self::Publish { hidden, target, .. } => format!("publish {hidden} as {target}"),
            Self::Delete { path } => format!("delete {path}"),
            Self::Read { path, at, length } => format!("read {length} bytes at {at} of {path}"),
            Self::List { folder } => format!("list /{folder}"),
        }
    }

    /// The file or folder that it is about: the hidden one, where there are two.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Write { path, .. }
            | Self::Sync { path, .. }
            | Self::Resume { path, .. }
            | Self::Delete { path }
            | Self::Read { path, .. } => path,
            Self::Publish { hidden, .. } => hidden,
            Self::List { folder } => folder,
        }
    }
}

/// What became of an operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum FileAnswer {
    /// It is done.
    Done,
    /// It had been done before; nothing changed.
    AlreadyDone,
    /// A file that it needs is not there.
    NotFound,
    /// The file has this length, less than it must have.
    TooShort(u64),
    /// There is no space left; nothing, or a part of the bytes, was written.
    NoSpace,
    /// An object store cannot change what it has: nothing was done. It takes uploads, which a sync completes, and it
    /// copies; it neither cuts nor goes on with what is complete.
    Immutable,
    /// The file system failed otherwise; whether it was done is unknown.
    Failed(String),
    /// The bytes that were read.
    Bytes(#[serde(with = "serde_bytes")] Vec<u8>),
    /// The files under the folder, each with its length, in the order of their names.
    Listed(Vec<(String, u64)>),
}

/// Where connector logic puts the operations that it wants carried out, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct FileIo {
    operations: VecDeque<FileOperation>,
}

impl FileIo {
    /// Asks for an operation behind those that were asked for before.
    pub fn ask(&mut self, operation: FileOperation) {
        self.operations.push_back(operation);
    }

    /// Takes the oldest operation that is not carried out yet.
    pub fn next_operation(&mut self) -> Option<FileOperation> {
        self.operations.pop_front()
    }

    /// Whether all were taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }
}
