//! Replay files: a scenario, its choices, and what came of them. Versioned, never overwritten.

use crate::choices::RecordedChoices;
use crate::input_file;
use crate::run::RunReport;
use crate::scenario::{Maker, Scenario};
use crate::trace_hash_text;
use serde::{Deserialize, Serialize};
use splitrace_invariants::Outcome;
use std::io::Write;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The version of the file's shape and of the events that its hash covers.
pub const REPLAY_VERSION: u32 = 2;

/// A run, written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayFile {
    /// [`REPLAY_VERSION`].
    pub version: u32,
    /// The version of the program that wrote it.
    pub splitrace: String,
    /// The seed that it came from, for the reader; the run is fixed by scenario and choices.
    pub seed: Option<u64>,
    /// What made the scenario of the seed, for the reader; `None` for a file, or where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maker: Option<Maker>,
    /// How it ended.
    pub outcome: Outcome,
    /// The hash over its events, as `0x` and sixteen hexadecimal digits.
    #[serde(with = "crate::trace_hash_text")]
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
    #[error("'{path}': {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no replay file.
    #[error("'{path}' is no replay file: line {line}, column {column}: {message}")]
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
        "'{path}' is a replay file of version {found}, but this program reads version {REPLAY_VERSION} only; replay it \
         with the program that wrote it (splitrace {written_by}), or run its seed again"
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
    #[error("'{path}' holds no valid scenario: {message}")]
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
            maker: None,
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
        let text = input_file::read(path).map_err(|source| ReplayError::Io { path: path.into(), source })?;
        let syntax = |error: serde_json::Error| ReplayError::Syntax {
            path: path.into(),
            line: error.line(),
            column: error.column(),
            message: without_place(&error),
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

    /// What stands in the file.
    ///
    /// # Panics
    /// Never: a replay file has only plain data.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a replay file has only plain data");
        text.push('\n');
        text
    }

    /// Writes a new file; one that is there already is left alone. It gets its name once it is whole: half a file would
    /// look like a result and take its name, also for another process that writes into the same folder.
    ///
    /// # Errors
    /// When the file exists or cannot be written.
    pub fn write_new(&self, path: &Path) -> Result<(), ReplayError> {
        let io = |source| ReplayError::Io { path: path.into(), source };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut file = nameless_file(folder.unwrap_or(Path::new("."))).map_err(io)?;
        file.write_all(self.to_text().as_bytes()).map_err(io)?;
        file.persist_noclobber(path).map(drop).map_err(|error| io(error.error))
    }

    /// Whether a file could not be written because another has its name.
    #[must_use]
    pub fn is_taken(error: &ReplayError) -> bool {
        matches!(error, ReplayError::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists)
    }

    /// Where another run of it differs in verdict or hash, in a sentence; `None` when it is reproduced.
    #[must_use]
    pub fn difference(&self, report: &RunReport) -> Option<String> {
        let (recorded, replayed) = (self.outcome.to_string(), report.outcome.to_string());
        if recorded != replayed {
            return Some(format!("recorded is the outcome '{recorded}', and the replay's is '{replayed}'"));
        }
        if self.trace_hash != report.trace_hash {
            return Some(format!(
                "recorded is the trace hash {}, and the replay's is {}",
                trace_hash_text::text(self.trace_hash),
                trace_hash_text::text(report.trace_hash)
            ));
        }
        let is_elsewhere = self.outcome != report.outcome;
        is_elsewhere.then(|| format!("'{recorded}' was recorded at another event than the replay's"))
    }
}

/// What serde_json says, without the place that it appends: that is told once.
fn without_place(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    said.strip_suffix(&place).unwrap_or(&said).to_owned()
}

/// A file on its way to its name. Unlike other temporary ones it is for everybody whom the user lets read files.
fn nameless_file(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::record_seed;
    use crate::scenario::{DemoMode, DemoOptions};
    use serde_json::{Value, json};

    fn written() -> Value {
        let scenario = Scenario::demo(DemoMode::Normal, DemoOptions::default());
        let mut file = ReplayFile::of(&scenario, Some(7), &record_seed(&scenario, 7));
        // The hash moves with every change of the protocol, its notation does not.
        file.trace_hash = 0x2a;
        file.choices.deviations.truncate(1);
        serde_json::to_value(file).expect("plain data")
    }

    fn read(text: &str) -> Result<ReplayFile, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("seed-7.json");
        std::fs::write(&path, text).expect("it is writable");
        let read = ReplayFile::read(&path);
        read.map_err(|error| error.to_string().replace(&*path.to_string_lossy(), "seed-7.json"))
    }

    /// A change of these lines is a change of the file's shape: [`REPLAY_VERSION`] goes up with it.
    #[test]
    fn the_shape_of_a_file_is_pinned() {
        let mut file = written();
        file["scenario"] = json!("see the scenario's own tests");
        insta::assert_snapshot!(serde_json::to_string_pretty(&file).expect("plain data"));
    }

    #[test]
    fn what_is_written_is_read() {
        let file = read(&written().to_string()).expect("it is a replay file");
        assert_eq!((file.seed, file.trace_hash), (Some(7), 0x2a));
    }

    #[test]
    fn what_cannot_be_read_is_refused_in_one_sentence_that_names_the_file_once() {
        let mut old = written();
        (old["version"], old["trace_hash"]) = (json!(1), json!(42));
        let mut rounded = written();
        rounded["trace_hash"] = json!(42);
        let mut empty = written();
        empty["scenario"]["job"]["vertices"] = json!([]);
        for (text, expected) in [
            (
                old.to_string(),
                "'seed-7.json' is a replay file of version 1, but this program reads version 2 only",
            ),
            (rounded.to_string(), "'seed-7.json' is no replay file: line 1, column "),
            (
                "{ not json".to_owned(),
                "'seed-7.json' is no replay file: line 1, column 3: key must be a string",
            ),
            (empty.to_string(), "'seed-7.json' holds no valid scenario: job.vertices: a job has one to four"),
        ] {
            let said = read(&text).expect_err("it is refused");
            assert!(said.starts_with(expected), "{said}");
            assert_eq!((said.matches("seed-7").count(), said.matches(" at line ").count()), (1, 0), "{said}");
        }
    }
}
