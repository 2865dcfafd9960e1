//! What can be wrong with a command or its input: one clear sentence each, exit code 2, and nothing
//! overwritten.
//!
//! A violation is no error: it is what the command was asked to look for.

use crate::job::JobError;
use splitrace_sim::replay::ReplayError;
use std::path::PathBuf;
use std::time::Duration;

/// Wrong usage or input.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A file could not be read.
    #[error("cannot read '{}': {source}", path.display())]
    UnreadableFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A scenario file is not a scenario; the message names line and column where there is one.
    #[error("'{}' is no valid scenario: {message}", path.display())]
    BadScenario {
        /// The file.
        path: PathBuf,
        /// What is wrong, where.
        message: String,
    },
    /// The settings given on the command line make no valid scenario.
    #[error("these settings make no valid scenario: {0}")]
    BadSettings(String),
    /// A replay file cannot be used.
    #[error("cannot replay: {0}")]
    BadReplayFile(ReplayError),
    /// A seed was given where a file was meant.
    #[error("there is no replay file '{0}'; did you mean --seed {0}?")]
    SeedAsFile(u64),
    /// A replay did not do what the recorded run did.
    #[error("the replay does not reproduce the recorded run: {0}")]
    NotReproduced(String),
    /// A replay file names a seed that gives another run.
    #[error(
        "'{}' names seed {seed}, but that seed gives another run than the one that it records: put the right seed there, \
         or null",
        path.display()
    )]
    ForeignSeed {
        /// The file.
        path: PathBuf,
        /// The seed.
        seed: u64,
    },
    /// The folder for replay files cannot be written to.
    #[error("cannot write to the folder '{}': {source}", path.display())]
    UnwritableFolder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A replay file could not be written. What was found is still told.
    #[error("cannot write {0}")]
    UnwritableFile(ReplayError),
    /// A campaign's time was up before any seed had come to its end. It would look like a success.
    #[error(
        "no seed came to its end within {time:?}, so nothing was checked: give it more time with --time, or a scenario \
         whose runs are shorter"
    )]
    NothingRun {
        /// The time that was given.
        time: Duration,
    },
    /// An option has no meaning for this demo mode.
    #[error("'{option}' moves the injected failure, but demo mode '{mode}' injects none; use 'fail'")]
    NoFailureToMove {
        /// The option.
        option: &'static str,
        /// The mode.
        mode: &'static str,
    },
    /// Nobody has written a scenario for this defect.
    #[error(
        "no scenario was written by hand for '{defect}': let a campaign look for it, with --defect {defect}"
    )]
    NotDemonstrated {
        /// The defect.
        defect: &'static str,
    },
    /// Operations cannot be read, or answers not written.
    #[error("cannot go on answering: {0}")]
    OracleStream(std::io::Error),
    /// A job cannot run, or cannot go on.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Ctrl-C cannot be caught.
    #[error("cannot listen for Ctrl-C: {0}")]
    NoInterruptHandler(std::io::Error),
}
