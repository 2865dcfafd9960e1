//! Counts that timing decides, from the rows of the same run.

use crate::rows::{self, Row, Token, number_after};
use std::collections::BTreeMap;

/// What the counts follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Formula {
    /// Duplicates: the split that the enumerator assigned inside its snapshot is read by two readers (FACT 36).
    SplitReadTwice,
    /// Duplicates: the transaction that the restored committer commits again (FACT 99).
    CommittedTwice,
    /// Missing: every transaction whose name an earlier one had taken (FACT 99).
    NamesTaken,
    /// Missing: what was prepared at the end of the input and no checkpoint covered (FACT 97).
    LastBatch,
    /// Missing: everything that no restored committer committed (FACT 74).
    RestoredOnly,
    /// Missing: the rest of the split that was given to a reader which had ended (FACT 55).
    ReportedSplit,
}

/// Checks the counts of a run against its own rows.
pub fn check(formula: Formula, rows: &[Row], run: &str) {
    let counts = rows::counts(rows);
    let (duplicates, missing) = match formula {
        Formula::SplitReadTwice => (records_of_given_back(rows), 0),
        Formula::CommittedTwice => (committed_again(rows), 0),
        Formula::NamesTaken => (0, names_taken(rows)),
        Formula::LastBatch => (0, uncommitted_at_end(rows)),
        Formula::ReportedSplit => (0, reported(rows)),
        Formula::RestoredOnly => (0, counts.expected - committed_again(rows)),
    };
    assert_eq!((counts.duplicates, counts.missing), (duplicates, missing), "{run}: {formula:?}");
    assert_eq!(counts.total, counts.distinct + counts.duplicates, "{run}");
    assert_eq!(counts.expected, counts.distinct + counts.missing, "{run}");
}

/// How many records the split in `[split-0[36,40)]` still has.
fn rest_of_split(text: &str) -> Option<u64> {
    let inside = text.split("[split-").nth(1)?;
    let position = number_after(inside, "[")?;
    let end = inside.split(',').nth(1)?.split(')').next()?.trim().parse::<u64>().ok()?;
    Some(end - position)
}

fn records_of_given_back(rows: &[Row]) -> u64 {
    let row = rows.iter().find(|row| row.text.starts_with("addSplitsBack([split")).expect("it is given back");
    rest_of_split(&row.text).expect("a split")
}

fn reported(rows: &[Row]) -> u64 {
    let reports = |row: &&Row| row.text.starts_with("addReader(") && row.text.contains("[split-");
    let row = rows.iter().find(reports).expect("a reader reports");
    rest_of_split(&row.text).expect("a split")
}

/// The records of what is committed, and not found committed, in an execution that did not prepare it.
fn committed_again(rows: &[Row]) -> u64 {
    let mut again = 0;
    for tokens in rows::task_tokens(rows).values() {
        let mut prepared = Vec::new();
        for token in tokens {
            match token {
                Token::Said("committer") => prepared.clear(),
                Token::Prepare(transaction) => prepared.push(transaction.name.clone()),
                Token::Commit(transaction) if !prepared.contains(&transaction.name) => {
                    again += transaction.records
                }
                _ => {}
            }
        }
    }
    again
}

/// The records of what an execution prepared itself, and was told is committed already.
fn names_taken(rows: &[Row]) -> u64 {
    let mut taken = 0;
    for tokens in rows::task_tokens(rows).values() {
        let mut prepared = BTreeMap::new();
        for token in tokens {
            match token {
                Token::Said("committer") => prepared.clear(),
                Token::Prepare(transaction) => {
                    prepared.insert(transaction.name.clone(), transaction.records);
                }
                Token::Already(transaction) => taken += prepared.get(&transaction.name).copied().unwrap_or(0),
                _ => {}
            }
        }
    }
    taken
}

/// The records that were prepared and never committed.
fn uncommitted_at_end(rows: &[Row]) -> u64 {
    let mut left = 0;
    for tokens in rows::task_tokens(rows).values() {
        let mut prepared = BTreeMap::new();
        for token in tokens {
            match token {
                Token::Prepare(transaction) => {
                    prepared.insert(transaction.name.clone(), transaction.records);
                }
                Token::Commit(transaction) | Token::Already(transaction) => {
                    prepared.remove(&transaction.name);
                }
                _ => {}
            }
        }
        left += prepared.values().sum::<u64>();
    }
    left
}
