//! What is wrong with a job, its file or its folders: one sentence each.

use crate::real_table::TableName;
use std::path::PathBuf;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The job file cannot be read.
    #[error("cannot read '{}': {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The job file is no job.
    #[error("'{}' is no valid job: line {line}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// Another run has the state folder.
    #[error("another run of this job is under way: it holds '{}'", path.display())]
    Locked {
        /// The locked file.
        path: PathBuf,
    },
    /// A folder cannot be used.
    #[error("cannot use the folder '{}': {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The input cannot be listed.
    #[error("cannot use the input in '{}': {what}", path.display())]
    Input {
        /// The folder.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// The state file was not written by a job.
    #[error("'{}' is no state of a job: give the job a state folder of its own", path.display())]
    ForeignState {
        /// The file.
        path: PathBuf,
    },
    /// The state file was written by a version of this program that is not known here.
    #[error("'{}' is of version {version}, and this program knows {known}", path.display())]
    UnknownVersion {
        /// The file.
        path: PathBuf,
        /// What it says.
        version: u32,
        /// What is known.
        known: u32,
    },
    /// The state file is not what was written.
    #[error(
        "'{}' is damaged ({what}): restore it from a copy, or remove it and the job's output to begin anew",
        path.display()
    )]
    DamagedState {
        /// The file.
        path: PathBuf,
        /// How that shows.
        what: String,
    },
    /// The state is another job's.
    #[error(
        "'{}' is the state of a job with another {what} ('{before}', not '{now}'): change it back, or give this job a \
         state folder of its own",
        path.display()
    )]
    OtherJob {
        /// The file.
        path: PathBuf,
        /// Which setting differs.
        what: &'static str,
        /// What it was.
        before: String,
        /// What it is.
        now: String,
    },
    /// The table of the sink cannot be used.
    #[error("cannot use the table '{table}': {what}")]
    Table {
        /// The table.
        table: TableName,
        /// Why.
        what: String,
    },
    /// Another program has the table.
    #[error("another run writes to the table '{table}': a table belongs to one job")]
    TableInUse {
        /// The table.
        table: TableName,
    },
    /// Something cannot be written; nothing that was not kept has counted.
    #[error("the job cannot go on: {0}; start it again with the same command when that is mended")]
    Broken(String),
    /// A thread has ended that should not.
    #[error("the thread of {0} has ended by a bug, which it has told above; what is committed stays so")]
    Bug(splitrace_runtime::ids::ProcessId),
}
