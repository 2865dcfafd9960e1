//! `splitrace oracle`: answers operations on standard input, one line each.

use super::stopwatch::Stopwatch;
use crate::arguments::OracleArguments;
use crate::error::CommandError;
use crate::oracle::Oracle;
use crate::oracle::stream::Operations;
use crate::report::Report;
use serde::Serialize;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
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

/// No line has more bytes.
const LINE_BYTES_MAX: u64 = 1 << 24;

/// Answers every line. Answers are written out when no further line is waiting, so that a program can ask, read the
/// answer, and ask again.
fn answer_all(input: impl io::Read, output: impl Write) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut output = BufWriter::with_capacity(1 << 16, output);
    let mut oracle = Oracle::new();
    let mut line = Vec::new();
    while input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? > 0 {
        if line.len() as u64 == LINE_BYTES_MAX {
            let message = format!("a line has {LINE_BYTES_MAX} bytes or more");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let answer = match std::str::from_utf8(&line) {
            Ok(line) => oracle.answer(line),
            Err(error) => Some(Oracle::refuse(format!("no UTF-8 at byte {}", error.valid_up_to()))),
        };
        if let Some(answer) = answer {
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

    #[test]
    fn what_is_no_text_is_answered_and_the_next_line_too() {
        let mut answers = Vec::new();
        answer_all(&b"{\xff}\n{\"c\":\"tracker\",\"op\":\"new\"}\n"[..], &mut answers)
            .expect("memory takes all");
        let answers = String::from_utf8(answers).expect("answers are text");
        let lines: Vec<&str> = answers.lines().collect();
        assert!(
            lines[0].contains("BadOperation: no UTF-8 at byte 1") && lines[1].contains("unck"),
            "{answers}"
        );
    }

    #[test]
    fn a_line_without_an_end_ends_it() {
        let error = answer_all(io::repeat(b' '), io::sink()).expect_err("nothing ends it otherwise");
        assert!(error.to_string().contains("16777216 bytes or more"), "{error}");
    }

    #[test]
    fn a_holder_of_too_many_subtasks_is_refused() {
        let line = r#"{"c":"holder","op":"new","par":4294967295}"#;
        let answer = Oracle::new().answer(line).expect("each operation has an answer");
        assert!(answer.contains("BadOperation: 'par' must lie between 1 and 10000"), "{answer}");
    }
}
