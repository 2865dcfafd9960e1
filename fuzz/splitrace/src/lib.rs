//! The `splitrace` command as a library: arguments in, a [`report::Report`] and an exit code out.
//!
//! A command never prints by itself. It answers a report that knows its text and its JSON, and [`run`] writes
//! it in one go: so `--format` means the same everywhere, a reader that hangs up (`splitrace replay | head`)
//! can cut no verdict short, a full disk is noticed, and tests read values instead of scraping a terminal. What may
//! take long after that (a campaign's replay files) is a second report. Refused: printing as one goes, which is
//! livelier for long runs; what a campaign has to say meanwhile goes to its progress bar on stderr.

pub mod arguments;
pub mod benchmark;
pub mod campaign;
pub mod commands;
pub mod engine;
pub mod error;
pub mod file_watch;
pub mod invocation;
pub mod job;
pub mod oracle;
pub mod parse;
pub mod real_files;
pub mod real_objects;
pub mod real_table;
pub mod report;
pub mod story;
pub mod timeline;

use arguments::{CommandLine, OutputFormat, TraceLevel};
use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

/// Parses the arguments (the program's name first), runs the command, writes its report.
///
/// The exit code is 0 when all is clean, 1 when a violation was found, 2 when the command or its input is
/// wrong or the answer could not be written, 130 when it was interrupted before it had an answer.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let is_json = |pair: &[OsString]| pair[0] == "--format" && pair[1] == "json";
    let wants_json = arguments.windows(2).any(is_json) || arguments.iter().any(|one| one == "--format=json");
    let command_line = match CommandLine::try_parse_from(arguments) {
        Ok(command_line) => command_line,
        Err(error) => {
            // `--help` and `--version` come this way too: clap gives those exit code 0 and all others 2.
            let told = report::is_told(error.print());
            if error.exit_code() != 0 && wants_json {
                let said = error.to_string();
                let sentence = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
                report::tell(&format!("{}\n", serde_json::json!({ "error": sentence })));
            }
            let exit = u8::try_from(error.exit_code()).unwrap_or(report::EXIT_WRONG_INPUT);
            return ExitCode::from(if told { exit } else { report::EXIT_WRONG_INPUT });
        }
    };
    if let Some(level) = command_line.trace {
        listen(level);
    }
    match commands::execute(&command_line) {
        Ok(report) => ExitCode::from(report.write(command_line.format)),
        Err(error) => {
            if command_line.format == OutputFormat::Json {
                report::tell(&format!("{}\n", serde_json::json!({ "error": error.to_string() })));
            }
            report::write_stderr(&format!("error: {error}\n"));
            ExitCode::from(report::EXIT_WRONG_INPUT)
        }
    }
}

/// Writes what the protocol traces to stderr. Without this nobody listens, and tracing costs nothing. There is no wall
/// clock in it: the time of a run is virtual, and each line carries it.
fn listen(level: TraceLevel) {
    let level = match level {
        TraceLevel::Error => tracing::Level::ERROR,
        TraceLevel::Debug => tracing::Level::DEBUG,
        TraceLevel::Trace => tracing::Level::TRACE,
    };
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(ansi)
        // A line that nobody takes is lost; to complain about it on the same stderr would panic, and a run be blamed.
        .log_internal_errors(false)
        .without_time()
        .with_max_level(level)
        .init();
}
