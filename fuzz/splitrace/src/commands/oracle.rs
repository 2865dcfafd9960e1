//! `splitrace oracle`: answers operations on standard input, one line each.

use super::stopwatch::Stopwatch;
use crate::arguments::OracleArguments;
use crate::error::CommandError;
use crate::oracle::Oracle;
use crate::oracle::stream::Operations;
use crate::report::Report;
use serde::Serialize;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::time::Duration;

/// How many operations are drawn before they are asked.
const BATCH: u64 = 10_000;

/// The JSON of a measurement.
#[derive(Debug, Serialize)]
struct Measured {
    operations: u64,
    /// Of processor time, where the system tells it.
    time_us: u64,
    operations_per_second: u64,
}

/// Asks the oracle a random stream, from text to text, and measures nothing but the answers.
fn measure(operations: u64) -> Report {
    let (mut stream, mut oracle, mut time) = (Operations::new(0), Oracle::new(), Duration::ZERO);
    let mut asked = 0;
    while asked < operations {
        let lines: Vec<String> = (0..BATCH.min(operations - asked)).map(|_| stream.next_line()).collect();
        let clock = Stopwatch::start();
        for line in &lines {
            std::hint::black_box(oracle.answer(line));
        }
        time += clock.processor_time();
        asked += lines.len() as u64;
    }
    let time_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
    let rate = u128::from(asked) * 1_000_000 / u128::from(time_us);
    let operations_per_second = u64::try_from(rate).unwrap_or(u64::MAX);
    let text = format!("{asked} random operations: {operations_per_second} operations/s of processor time\n");
    Report::new(text, &Measured { operations: asked, time_us, operations_per_second }, true)
}

/// Answers until the input ends.
pub(super) fn execute(arguments: OracleArguments) -> Result<Report, CommandError> {
    if let Some(operations) = arguments.measure {
        return Ok(measure(operations));
    }
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
