//! What a command answers: text for people, JSON for programs, and an exit code that agrees with both.

use crate::arguments::OutputFormat;
use serde::Serialize;
use std::fmt;
use std::io::{self, Write};

/// Exit code: nothing was violated.
pub const EXIT_CLEAN: u8 = 0;
/// Exit code: a violation was found.
pub const EXIT_VIOLATION: u8 = 1;
/// Exit code: wrong usage or input.
pub const EXIT_WRONG_INPUT: u8 = 2;

/// Exit code: somebody pressed Ctrl-C before the answer was complete, and nothing was violated so far.
pub const EXIT_INTERRUPTED: u8 = 130;

/// A command's answer.
#[derive(Debug)]
pub struct Report {
    text: String,
    json: serde_json::Value,
    exit: u8,
    then: Option<Then>,
}

/// Work that is left once the answer is told.
struct Then(Box<dyn FnOnce() -> Report>);

impl fmt::Debug for Then {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Then(..)")
    }
}

impl Report {
    /// An answer whose exit code says whether it is clean.
    ///
    /// # Panics
    /// When `json` is no JSON value: a map whose keys are no strings.
    #[must_use]
    pub fn new(text: String, json: &impl Serialize, clean: bool) -> Self {
        let json = serde_json::to_value(json).expect("reports are plain structs with string keys");
        Self { text, json, exit: if clean { EXIT_CLEAN } else { EXIT_VIOLATION }, then: None }
    }

    /// A clean answer without a word: the command has said all itself.
    #[must_use]
    pub const fn nothing() -> Self {
        Self { text: String::new(), json: serde_json::Value::Null, exit: EXIT_CLEAN, then: None }
    }

    /// The same answer, but one that says that the input is at fault.
    #[must_use]
    pub const fn with_wrong_input(mut self) -> Self {
        self.exit = EXIT_WRONG_INPUT;
        self
    }

    /// The same answer, but one that says that it is not the whole one; a violation still counts more.
    #[must_use]
    pub const fn with_interruption(mut self) -> Self {
        if self.exit == EXIT_CLEAN {
            self.exit = EXIT_INTERRUPTED;
        }
        self
    }

    /// What is left to do once the text is told. Its report's text is told after this one's, and its JSON and its exit
    /// code stand for both: JSON is one document, so it is told when all is done.
    #[must_use]
    pub fn and_then(mut self, work: impl FnOnce() -> Self + 'static) -> Self {
        self.then = Some(Then(Box::new(work)));
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

    /// One of [`EXIT_CLEAN`], [`EXIT_VIOLATION`], [`EXIT_WRONG_INPUT`], [`EXIT_INTERRUPTED`].
    #[must_use]
    pub const fn exit(&self) -> u8 {
        self.exit
    }

    /// Writes it to the standard output, does what is left, and answers the exit code, also when nobody reads. An answer
    /// that could not be written is none: that is said on stderr, with [`EXIT_WRONG_INPUT`].
    #[must_use]
    pub fn write(self, format: OutputFormat) -> u8 {
        let told = match (format, &self.then) {
            (OutputFormat::Text, _) => tell(&self.text),
            (OutputFormat::Json, None) if self.json.is_null() => true,
            (OutputFormat::Json, None) => tell(&format!("{:#}\n", self.json)),
            (OutputFormat::Json, Some(_)) => true,
        };
        let exit = match self.then {
            Some(Then(work)) => work().write(format),
            None => self.exit,
        };
        if told { exit } else { EXIT_WRONG_INPUT }
    }
}

/// Writes to the standard output and says on stderr when that fails; answers whether it went well.
pub fn tell(text: &str) -> bool {
    is_told(write_stdout(text))
}

/// Whether a write of the answer went well enough. A reader that hung up has read what it wanted, so a broken pipe
/// changes no verdict; everything else, a full disk above all, loses the answer and is said on stderr.
pub fn is_told(written: io::Result<()>) -> bool {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            write_stderr(&format!(
                "error: the report could not be written to the standard output: {error}\n"
            ));
            false
        }
        _ => true,
    }
}

/// Writes to the standard output.
fn write_stdout(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Writes to the standard error. When that fails there is nobody left to tell.
pub fn write_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
