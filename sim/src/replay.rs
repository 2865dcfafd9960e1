//! Replay files: a scenario, its choices, and what came of them. Versioned, never overwritten.

use crate::choices::RecordedChoices;
use crate::run::RunReport;
use crate::scenario::Scenario;
use serde::{Deserialize, Serialize};
use splitrace_invariants::Outcome;
use std::io::Write;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The version of the file's shape and of the events that its hash covers.
pub const REPLAY_VERSION: u32 = 1;

/// A run, written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReplayFile {
    /// [`REPLAY_VERSION`].
    pub version: u32,
    /// The version of the program that wrote it.
    pub splitrace: String,
    /// The seed that it came from, for the reader; the run is fixed by scenario and choices.
    pub seed: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
    /// The hash over its events.
    pub trace_hash: u64,
    /// The scenario.
    pub scenario: Scenario,
    /// The choices that differ from the default.
    pub choices: RecordedChoices,
}

/// What is wrong with a replay file.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// It cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no replay file.
    #[error("{path}: line {line}, column {column}: not a replay file: {message}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// It was written by another version.
    #[error(
        "{path}: this is a replay file of version {found}, but this program reads version {REPLAY_VERSION} only; \
             run it with the program that wrote it (splitrace {written_by})"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The program that wrote it.
        written_by: String,
    },
    /// The scenario in it makes no sense.
    #[error("{path}: {message}")]
    Scenario {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
}

impl ReplayFile {
    /// What to write down of a run whose choices were recorded.
    #[must_use]
    pub fn of(scenario: &Scenario, seed: Option<u64>, report: &RunReport) -> Self {
        Self {
            version: REPLAY_VERSION,
            splitrace: env!("CARGO_PKG_VERSION").to_owned(),
            seed,
            outcome: report.outcome.clone(),
            trace_hash: report.trace_hash,
            scenario: scenario.clone(),
            choices: report.choices.clone(),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is no replay file, or is of another version.
    pub fn read(path: &Path) -> Result<Self, ReplayError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| ReplayError::Io { path: path.into(), source })?;
        let syntax = |error: serde_json::Error| ReplayError::Syntax {
            path: path.into(),
            line: error.line(),
            column: error.column(),
            message: error.to_string(),
        };
        // The version is looked at first: a file of another version has another shape, and that is not its fault.
        let value: serde_json::Value = serde_json::from_str(&text).map_err(syntax)?;
        let found = value.get("version").and_then(serde_json::Value::as_u64);
        if let Some(found) = found
            && found != u64::from(REPLAY_VERSION)
        {
            let written_by = value.get("splitrace").and_then(|version| version.as_str()).unwrap_or("unknown");
            return Err(ReplayError::Version { path: path.into(), found, written_by: written_by.to_owned() });
        }
        let file: Self = serde_json::from_str(&text).map_err(syntax)?;
        let valid = file.scenario.validate();
        valid.map_err(|error| ReplayError::Scenario { path: path.into(), message: error.to_string() })?;
        Ok(file)
    }

    /// Writes a new file; one that is there already is left alone.
    ///
    /// # Errors
    /// When the file exists or cannot be written.
    pub fn write_new(&self, path: &Path) -> Result<(), ReplayError> {
        let io = |source| ReplayError::Io { path: path.into(), source };
        let mut text = serde_json::to_string_pretty(self).expect("a replay file has only plain data");
        text.push('\n');
        let mut file = std::fs::File::create_new(path).map_err(io)?;
        file.write_all(text.as_bytes()).map_err(|source| {
            // Half a file would look like a result and take its name.
            let _ = std::fs::remove_file(path);
            io(source)
        })
    }

    /// Where another run of it differs in verdict or hash, in a sentence; `None` when it is reproduced.
    #[must_use]
    pub fn difference(&self, report: &RunReport) -> Option<String> {
        if self.outcome != report.outcome {
            return Some(format!(
                "recorded is the outcome '{}', and the replay's is '{}'",
                self.outcome, report.outcome
            ));
        }
        (self.trace_hash != report.trace_hash).then(|| {
            format!(
                "recorded is the trace hash {:016x}, and the replay's is {:016x}",
                self.trace_hash, report.trace_hash
            )
        })
    }
}
