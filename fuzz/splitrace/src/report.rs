//! What a command answers: text for people, JSON for programs, and an exit code that agrees with both.

use crate::arguments::OutputFormat;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// Exit code: nothing was violated.
pub const EXIT_CLEAN: u8 = 0;
/// Exit code: a violation was found.
pub const EXIT_VIOLATION: u8 = 1;
/// Exit code: wrong usage or input.
pub const EXIT_WRONG_INPUT: u8 = 2;

/// A command's answer.
#[derive(Clone, Debug)]
pub struct Report {
    text: String,
    json: serde_json::Value,
    exit: u8,
}

impl Report {
    /// An answer whose exit code says whether it is clean.
    ///
    /// # Panics
    /// When `json` is no JSON value: a map whose keys are no strings.
    #[must_use]
    pub fn new(text: String, json: &impl Serialize, clean: bool) -> Self {
        let json = serde_json::to_value(json).expect("reports are plain structs with string keys");
        Self { text, json, exit: if clean { EXIT_CLEAN } else { EXIT_VIOLATION } }
    }

    /// A clean answer without a word: the command has said all itself.
    #[must_use]
    pub const fn nothing() -> Self {
        Self { text: String::new(), json: serde_json::Value::Null, exit: EXIT_CLEAN }
    }

    /// The same answer, but one that says that the input is at fault.
    #[must_use]
    pub fn with_wrong_input(mut self) -> Self {
        self.exit = EXIT_WRONG_INPUT;
        self
    }

    /// What people read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What programs read.
    #[must_use]
    pub const fn json(&self) -> &serde_json::Value {
        &self.json
    }

    /// One of [`EXIT_CLEAN`], [`EXIT_VIOLATION`], [`EXIT_WRONG_INPUT`].
    #[must_use]
    pub const fn exit(&self) -> u8 {
        self.exit
    }

    /// Writes it to the standard output and answers its exit code, also when nobody reads.
    #[must_use]
    pub fn write(&self, format: OutputFormat) -> ExitCode {
        match format {
            OutputFormat::Text => write_stdout(&self.text),
            OutputFormat::Json if self.json.is_null() => {}
            OutputFormat::Json => write_stdout(&format!("{:#}\n", self.json)),
        }
        ExitCode::from(self.exit)
    }
}

/// Writes to the standard output. A reader that hung up has read what it wanted, so a failed write changes no
/// verdict.
pub fn write_stdout(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes to the standard error, as [`write_stdout`] does.
pub fn write_stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
