//! What can be wrong with a command or its input: one clear sentence each, exit code 2, and nothing
//! overwritten.
//!
//! A violation is no error: it is what the command was asked to look for.

use std::path::PathBuf;

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
    #[error("cannot replay '{}': {message}", path.display())]
    BadReplayFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A replay did not do what the recorded run did.
    #[error("the replay does not reproduce the recorded run: {0}")]
    NotReproduced(String),
    /// The folder for replay files cannot be written to.
    #[error("cannot write to the folder '{}': {source}", path.display())]
    UnwritableFolder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A replay file could not be written. What was found is still told.
    #[error("cannot write '{}': {message}", path.display())]
    UnwritableFile {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// An option has no meaning for this demo mode.
    #[error("'{option}' moves the injected failure, but demo mode '{mode}' injects none; use 'fail'")]
    NoFailureToMove {
        /// The option.
        option: &'static str,
        /// The mode.
        mode: String,
    },
    /// Operations cannot be read, or answers not written.
    #[error("cannot go on answering: {0}")]
    OracleStream(std::io::Error),
    /// Ctrl-C cannot be caught.
    #[error("cannot listen for Ctrl-C: {0}")]
    NoInterruptHandler(ctrlc::Error),
}
