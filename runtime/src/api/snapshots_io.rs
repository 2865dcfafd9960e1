//! What connectors ask of a table format, and what they are told: data files that never change, and snapshots that name
//! them.
//!
//! A commit is optimistic: it makes the next snapshot only if the one that it was built on is still the current one. Nobody
//! checks whether a file is in the table already; whoever commits may look into the summaries of the snapshots, where each
//! commit leaves its name. An object store keeps a file as soon as it is written, so nothing is merely open here.

use crate::ids::TransactionName;
use crate::records::Record;
use serde::{Deserialize, Serialize};

/// One thing asked of the table.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum SnapshotsOperation {
    /// Write a data file. Its name is never used again, so asked twice it is one file.
    WriteFile {
        /// The file.
        file: TransactionName,
        /// What is in it.
        records: Vec<Record>,
    },
    /// Which snapshot is current, and what the summaries of those behind `since` name; `None` asks for no summaries.
    Load {
        /// Behind this snapshot.
        since: Option<u64>,
    },
    /// Make the snapshot that adds the file to `base`, with the file's name in its summary.
    Commit {
        /// The snapshot that must still be current.
        base: u64,
        /// The file.
        file: TransactionName,
    },
}

impl SnapshotsOperation {
    /// What is asked, as a sentence's end.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::WriteFile { file, records } => format!("write {} records as {file}", records.len()),
            Self::Load { since: None } => "load the current snapshot".to_owned(),
            Self::Load { since: Some(since) } => format!("load the snapshots behind {since}"),
            Self::Commit { base, file } => format!("add {file} to snapshot {base}"),
        }
    }
}

/// What became of an operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum SnapshotsAnswer {
    /// It is done.
    Done,
    /// What the table looks like.
    Loaded {
        /// The current snapshot, counted from 0, the empty table.
        current: u64,
        /// The names in the summaries that were asked for, oldest first. Snapshots of other writers have none.
        added: Vec<TransactionName>,
    },
    /// Another snapshot is current by now: nothing was done.
    Conflict,
    /// There is no such file: nothing was done.
    NoFile,
}
