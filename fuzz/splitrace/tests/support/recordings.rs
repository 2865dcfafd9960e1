//! Recordings of Flink 2.3.0, replayed through the oracle.
//!
//! A recording is a file of `{"op":..,"want":..}` lines, with `{"label":..}` between them. A run begins at an operation
//! `new`. The random recordings keep only the class of an error, and where two threads took part they keep the order of
//! each thread's effects (`enum`, `main`) and not the order between them; the answers are put into the same form.

use flate2::read::GzDecoder;
use serde_json::Value;
use splitrace::oracle::Oracle;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// One line of a recording.
enum Line {
    Label(String),
    /// The text that is asked, as it was recorded: the order of keys matters in an assignment.
    Operation {
        asked: String,
        wanted: Value,
    },
}

fn read(file: &str) -> Vec<Line> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let text = BufReader::new(GzDecoder::new(File::open(&path).expect("the recording is in the repository")));
    let lines = text.lines().map(|line| {
        let line = line.expect("gzip is whole");
        match line.strip_prefix("{\"op\":").and_then(|rest| rest.split_once(",\"want\":")) {
            Some((asked, wanted)) => {
                let wanted = wanted.strip_suffix('}').expect("a line is an object");
                let wanted = serde_json::from_str(wanted).expect("an answer is JSON");
                Line::Operation { asked: asked.to_owned(), wanted }
            }
            None => Line::Label(line),
        }
    });
    lines.collect()
}

/// Replays a file with an oracle of its own, and answers how many operations were compared.
///
/// # Panics
/// At the first difference, with its run.
pub fn replay(file: &str) -> usize {
    let classes_only = !file.starts_with("ops-");
    let mut oracle = Oracle::new();
    let mut run = Vec::new();
    let mut compared = 0;
    for line in read(file) {
        let (asked, wanted) = match line {
            Line::Label(label) => {
                run.push(label);
                continue;
            }
            Line::Operation { asked, wanted } => (asked, wanted),
        };
        if asked.contains("\"op\":\"new\"") {
            run.clear();
        }
        let answer = oracle.answer(&asked).expect("an operation has an answer");
        run.push(asked);
        let mut answered: Value = serde_json::from_str(&answer).expect("an answer is JSON");
        if wanted.get("enum").is_some() {
            part_by_thread(&mut answered);
        }
        if classes_only {
            keep_error_classes(&mut answered);
        }
        compared += 1;
        assert!(
            answered == wanted,
            "{file}: operation {compared} differs in this run:\n{}\nwanted:   {wanted}\nanswered: {answered}\n",
            run.join("\n")
        );
    }
    println!("{file}: {compared} operations compared");
    compared
}

fn part_by_thread(answered: &mut Value) {
    let fields = answered.as_object_mut().expect("an answer is an object");
    let Some(Value::Array(effects)) = fields.remove("ev") else { panic!("an answer tells its effects") };
    let (of_enumerator, of_main): (Vec<_>, Vec<_>) =
        effects.into_iter().partition(|effect| effect["t"] == "enum");
    fields.insert("enum".to_owned(), of_enumerator.into());
    fields.insert("main".to_owned(), of_main.into());
}

fn keep_error_classes(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "err" => {
                        let class = text.split([':', ' ']).next().unwrap_or_default().to_owned();
                        *text = class;
                    }
                    other => keep_error_classes(other),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(keep_error_classes),
        _ => {}
    }
}
