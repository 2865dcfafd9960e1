//! `splitrace oracle`: answers operations on standard input, one line each.

use crate::error::CommandError;
use crate::oracle::Oracle;
use crate::report::Report;
use std::io::{self, BufRead, BufReader, BufWriter, Write};

/// Answers until the input ends.
pub(super) fn execute() -> Result<Report, CommandError> {
    match answer_all(io::stdin().lock(), io::stdout().lock()) {
        // A reader that hung up has all the answers it wanted.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CommandError::OracleStream(error)),
        _ => Ok(Report::nothing()),
    }
}

/// Answers every line. Answers are written out when no further line is waiting, so that a program can ask, read the
/// answer, and ask again.
fn answer_all(input: impl io::Read, output: impl Write) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut output = BufWriter::with_capacity(1 << 16, output);
    let mut oracle = Oracle::new();
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        if let Some(answer) = oracle.answer(&line) {
            output.write_all(answer.as_bytes())?;
            output.write_all(b"\n")?;
        }
        line.clear();
        if !input.buffer().contains(&b'\n') {
            output.flush()?;
        }
    }
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_line() {
        let asked =
            "# a comment\n\n{\"c\":\"tracker\",\"op\":\"new\"}\n{\"c\":\"tracker\",\"op\":\"dump\",\"i\":7}";
        let mut answers = Vec::new();
        answer_all(asked.as_bytes(), &mut answers).expect("memory takes all");
        let state = r#""state":{"by_ckpt":{},"unck":{}},"ev":[]}"#;
        assert_eq!(String::from_utf8_lossy(&answers), format!("{{{state}\n{{\"i\":7,{state}\n"));
    }
}
