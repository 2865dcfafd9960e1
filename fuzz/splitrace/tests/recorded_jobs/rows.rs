//! Time lines, recorded or ours, as rows; and what is left of them once timing is taken away.
//!
//! Two runs of one job differ in who got which split, in how many checkpoints fell into a stretch, and on which
//! side of a split's end one fell. So each subtask's rows become kinds, every cycle of `prepareCommit`,
//! `snapshotState` and commit becomes one `cycle`, repeated cycles are folded, and a cycle between the end of a
//! split and what the reader hears next is dropped. What is left is the order that the protocol fixes.

use std::collections::BTreeMap;

/// One row of a time line.
#[derive(Clone, Debug)]
pub struct Row {
    pub label: String,
    pub thread: String,
    pub text: String,
}

/// The task of a row: its subtask, and whether it is behind an exchange.
pub type Task = (u64, Part);

/// Which part of a chain a task runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// All of it.
    Whole,
    /// The reader and the user function, before an exchange.
    Reader,
    /// The writer and the committer, behind an exchange.
    Sink,
}

/// A whole chain's thread is named after its sink too, however it is cut.
fn part(thread: &str) -> Part {
    match thread {
        thread if thread.starts_with("Sink") => Part::Sink,
        thread if thread.contains("-> Sink") => Part::Whole,
        _ => Part::Reader,
    }
}

/// The counts of the last line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    pub total: u64,
    pub distinct: u64,
    pub expected: u64,
    pub duplicates: u64,
    pub missing: u64,
}

/// The rows of a recorded log; lines of the job master's logger are not among them.
pub fn recorded(text: &str) -> Vec<Row> {
    let rows = text.lines().filter(|line| line.starts_with('['));
    rows.map(|line| {
        let rest = line.split_once(']').expect("a time in brackets").1;
        let label = rest.split_whitespace().next().expect("a label").to_owned();
        // The thread's name is cut or filled to forty characters.
        let after_label = rest.trim_start().trim_start_matches(label.as_str()).trim_start();
        let thread: String = after_label.chars().take(40).collect();
        let text: String = after_label.chars().skip(40).collect();
        Row { label, thread, text: text.trim().to_owned() }
    })
    .collect()
}

/// The last counts among the rows.
pub fn counts(rows: &[Row]) -> Counts {
    let line = rows
        .iter()
        .rev()
        .find_map(|row| row.text.strip_prefix("committed records: "))
        .expect("each run counts what it committed");
    let number = |key: &str| {
        let rest = line.split(key).nth(1).expect("the key is there");
        leading_number(rest).expect("a number follows")
    };
    Counts {
        total: number("total="),
        distinct: number("distinct="),
        expected: number("expected="),
        duplicates: number("duplicates="),
        missing: number("missing="),
    }
}

fn leading_number(text: &str) -> Option<u64> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The number behind a word.
pub fn number_after(text: &str, word: &str) -> Option<u64> {
    leading_number(text.split(word).nth(1)?)
}

/// One transaction in a row of writer or committer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    pub name: String,
    pub records: u64,
}

/// What one row says, without its numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Token {
    Said(&'static str),
    Prepare(Transaction),
    Commit(Transaction),
    Already(Transaction),
}

fn transaction(text: &str) -> Transaction {
    let name = text.split_whitespace().next().unwrap_or_default().trim_matches(['(', ')']);
    Transaction { name: name.to_owned(), records: number_after(text, "n=").unwrap_or(0) }
}

/// The token of a task's row and its subtask; `before` is the subtask of the reader's row before it.
fn task_token(row: &Row, before: Option<u64>) -> Option<(u64, Token)> {
    if row.text.contains("!!!") {
        let committed = number_after(&row.text, "after committing s");
        let subtask = number_after(&row.text, "(subtask ").or(committed).or(before)?;
        return (row.label != "ENUM" && row.label != "WORLD").then_some((subtask, Token::Said("failure")));
    }
    let subtask = number_after(&row.text, "subtask ")?;
    let said = row.text.splitn(3, ' ').nth(2)?;
    let starts = |word: &str| said.starts_with(word);
    let token = match row.label.as_str() {
        "READER" | "COMMIT" if starts("notifyCheckpointAborted") => Token::Said("aborted"),
        "READER" if starts("start") => Token::Said("start"),
        "READER" if starts("addSplits") => Token::Said("add"),
        "READER" if starts("finished") => Token::Said("finished"),
        "READER" if starts("notifyNoMoreSplits") => Token::Said("no-more"),
        "READER" if starts("snapshotState") => Token::Said("snapshot"),
        "WRITER" if starts("createWriter") => Token::Said("writer"),
        "WRITER" if starts("flush") => Token::Said("flush"),
        "WRITER" if starts("prepareCommit -> nothing") => Token::Prepare(transaction(&said[25..])),
        "WRITER" if starts("prepareCommit -> ") => Token::Prepare(transaction(&said[17..])),
        "COMMIT" if starts("createCommitter") => Token::Said("committer"),
        "COMMIT" if said.contains("already committed") => Token::Already(transaction(said)),
        "COMMIT" if said.contains("(retries=") => Token::Commit(transaction(said)),
        _ => return None,
    };
    Some((subtask, token))
}

/// The tokens of each task, in order.
pub fn task_tokens(rows: &[Row]) -> BTreeMap<Task, Vec<Token>> {
    let mut tokens: BTreeMap<Task, Vec<Token>> = BTreeMap::new();
    let mut before = None;
    for row in rows {
        if let Some((subtask, token)) = task_token(row, before) {
            tokens.entry((subtask, part(&row.thread))).or_default().push(token);
            if row.label == "READER" {
                before = Some(subtask);
            }
        }
    }
    tokens.values_mut().for_each(drop_asked_again);
    tokens.iter_mut().for_each(|((_, part), tokens)| complete_cycles(*part, tokens));
    tokens
}

/// Half of a chain goes through half of each cycle: the other half is put beside it, so that cycles are folded alike.
fn complete_cycles(part: Part, tokens: &mut Vec<Token>) {
    let whole = std::mem::take(tokens);
    for token in whole {
        let prepares = matches!(token, Token::Prepare(_));
        if part == Part::Reader && token == Token::Said("snapshot") {
            tokens.push(Token::Prepare(Transaction { name: String::new(), records: 0 }));
        }
        tokens.push(token);
        if part == Part::Sink && prepares {
            tokens.push(Token::Said("snapshot"));
        }
    }
}

/// We tell a commit when it is asked for and again when the store knew it; the recorded job tells the latter only.
fn drop_asked_again(tokens: &mut Vec<Token>) {
    let mut at = 0;
    while at < tokens.len() {
        let is_told_again = match &tokens[at] {
            Token::Commit(asked) => tokens[at + 1..]
                .iter()
                .find_map(|later| match later {
                    Token::Commit(other) | Token::Already(other) if other.name == asked.name => {
                        Some(matches!(later, Token::Already(_)))
                    }
                    Token::Said("committer") => Some(false),
                    _ => None,
                })
                .unwrap_or(false),
            _ => false,
        };
        if is_told_again {
            let records = match &tokens[at] {
                Token::Commit(asked) => asked.clone(),
                _ => unreachable!("just matched"),
            };
            for later in &mut tokens[at + 1..] {
                if let Token::Already(other) = later
                    && other.name == records.name
                {
                    other.records = records.records;
                    break;
                }
            }
            tokens.remove(at);
        } else {
            at += 1;
        }
    }
}

/// What is left of one subtask's rows without timing.
pub fn canonical(tokens: &[Token]) -> Vec<&'static str> {
    let mut tokens = mark_end(tokens);
    attach_commits(&mut tokens);
    let mut words = fold_cycles(&tokens);
    // A job that is cancelled ends in the middle of whatever it was doing.
    while words.last().is_some_and(|word| word.ends_with("uncommitted") || *word == "aborted") {
        words.pop();
    }
    drop_floating_cycles(words)
}

/// `flush(endOfInput=true)` and the last `prepareCommit`, told in either order, become one.
fn mark_end(tokens: &[Token]) -> Vec<Token> {
    let mut marked: Vec<Token> = Vec::new();
    let mut flushed = false;
    for token in tokens {
        match token {
            Token::Said("flush") if matches!(marked.last(), Some(Token::Prepare(_))) => {
                let at = marked.len() - 1;
                marked.insert(at, Token::Said("end"));
            }
            Token::Said("flush") => flushed = true,
            Token::Prepare(_) if std::mem::take(&mut flushed) => {
                marked.push(Token::Said("end"));
                marked.push(token.clone());
            }
            _ => marked.push(token.clone()),
        }
    }
    marked
}

/// Takes out each commit that follows its `prepareCommit` in the same execution; what was never committed keeps its
/// records, what was keeps none. That the name was found taken is a matter of the counts.
fn attach_commits(tokens: &mut Vec<Token>) {
    let mut at = 0;
    while at < tokens.len() {
        let Token::Prepare(prepared) = tokens[at].clone() else {
            at += 1;
            continue;
        };
        let mut committed = None;
        for (later, token) in tokens.iter().enumerate().skip(at + 1) {
            match token {
                Token::Commit(other) | Token::Already(other) if other.name == prepared.name => {
                    committed = Some(later);
                    break;
                }
                Token::Said("committer") => break,
                Token::Prepare(other) if other.name == prepared.name => break,
                _ => {}
            }
        }
        if let Some(later) = committed {
            tokens.remove(later);
            tokens[at] = Token::Prepare(Transaction { records: 0, ..prepared });
        }
        at += 1;
    }
}

fn fold_cycles(tokens: &[Token]) -> Vec<&'static str> {
    let mut words: Vec<&'static str> = Vec::new();
    let mut ended = false;
    for token in tokens {
        let word = match token {
            Token::Said("committer") => {
                ended = false;
                "committer"
            }
            // What follows the end is a race between the last checkpoints and the other subtasks' ends.
            Token::Said("snapshot" | "aborted") | Token::Prepare(_) if ended => continue,
            Token::Said("snapshot") => match words.last() {
                Some(&"prepared") => {
                    words.pop();
                    "cycle"
                }
                Some(&"prepared, uncommitted") => {
                    words.pop();
                    "cycle, uncommitted"
                }
                _ => "snapshot",
            },
            Token::Said("end") => {
                ended = true;
                "end"
            }
            Token::Said(word) => word,
            Token::Prepare(transaction) if transaction.records == 0 => "prepared",
            Token::Prepare(_) => "prepared, uncommitted",
            Token::Commit(_) => "commit",
            Token::Already(_) => "already",
        };
        if words.last() != Some(&word) || !matches!(word, "cycle" | "add") {
            words.push(word);
        }
    }
    words
}

/// A checkpoint falls before or after the end of a split, and before or after a start's first split, by timing.
fn drop_floating_cycles(words: Vec<&'static str>) -> Vec<&'static str> {
    let mut kept: Vec<&'static str> = Vec::new();
    for word in words {
        let floats =
            word == "cycle" && matches!(kept.last(), Some(&"finished" | &"start" | &"no-more" | &"cycle"));
        // The recorded enumerator says 'no more splits' to everybody whenever somebody restarts, ours to that one.
        let begun = kept.iter().rposition(|kept| *kept == "start").unwrap_or(0);
        let folds = (word == "add" && kept.last() == Some(&"add"))
            || (word == "no-more" && kept[begun..].contains(&"no-more"));
        if !floats && !folds {
            kept.push(word);
        }
    }
    kept
}

/// What the enumerator did for one subtask, folded.
pub fn enumerator(rows: &[Row], subtask: u64) -> Vec<&'static str> {
    let own = format!("subtask {subtask}");
    let mut words: Vec<&'static str> = Vec::new();
    for row in rows.iter().filter(|row| row.label == "ENUM" && !row.text.contains("!!!")) {
        let text = row.text.as_str();
        let is_own = |text: &str| text.contains(&own);
        let word = if text.starts_with("start") {
            "start"
        } else if text.contains("signalNoMoreSplits") && (is_own(text) || text.contains("to all")) {
            "no-more"
        } else if (text.starts_with("addSplitsBack") || text.starts_with("nothing to give back"))
            && is_own(text)
        {
            "back"
        } else if text.starts_with("addReader") && is_own(text) {
            "reader"
        } else if receives(text, &own) {
            "assign"
        } else {
            continue;
        };
        let begun = words.iter().rposition(|word| *word == "reader").unwrap_or(0);
        let folds = match word {
            "assign" => words.last() == Some(&"assign"),
            "no-more" => words[begun..].contains(&"no-more"),
            _ => false,
        };
        if !folds {
            words.push(word);
        }
    }
    words
}

fn receives(text: &str, own: &str) -> bool {
    let receiver = own.trim_start_matches("subtask ");
    text.starts_with(&format!("{own} requests a split -> assign"))
        || (text.starts_with("push split") && text.ends_with(own))
        || (text.starts_with("reassign") && text.ends_with(&format!("-> {receiver}")))
        || (text.contains(" assigns ") && text.ends_with(own))
}

/// How the checkpoints went for the enumerator, folded; what is aborted at the job's end does not count.
pub fn checkpoints(rows: &[Row]) -> Vec<&'static str> {
    let mut words: Vec<&'static str> = Vec::new();
    for row in rows.iter().filter(|row| row.label == "ENUM") {
        let word = if row.text.starts_with("start") {
            "start"
        } else if row.text.starts_with("notifyCheckpointComplete") {
            "complete"
        } else if row.text.starts_with("notifyCheckpointAborted") {
            "aborted"
        } else {
            continue;
        };
        if words.last() != Some(&word) {
            words.push(word);
        }
    }
    if words.last() == Some(&"aborted") {
        words.pop();
    }
    words
}

/// The rows before and after the job is submitted again; the latter are none when it is not.
pub fn before_and_after_submission(rows: &[Row]) -> (&[Row], &[Row]) {
    let submits = |row: &Row| {
        row.label == "MAIN" && (row.text.starts_with("phase 2:") || row.text.starts_with("submitted again"))
    };
    rows.split_at(rows.iter().position(submits).unwrap_or(rows.len()))
}

/// The splits that each subtask restores, or reports, sorted: where a share is made of two old subtasks' lists, the
/// recorded job may read the later list first.
pub fn restored(rows: &[Row]) -> BTreeMap<u64, Vec<u64>> {
    let mut restored: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut started = Vec::new();
    for row in rows {
        let Some(subtask) = number_after(&row.text, "subtask ") else { continue };
        let is_start = row.label == "READER" && row.text.contains(" start");
        let is_restored =
            row.label == "READER" && row.text.contains(" addSplits[") && !started.contains(&subtask);
        let is_report =
            row.label == "ENUM" && row.text.starts_with("addReader(") && row.text.contains("[split-");
        if is_start {
            started.push(subtask);
        }
        if is_restored || is_report {
            let splits = row.text.split("split-").skip(1);
            restored.entry(subtask).or_default().extend(splits.filter_map(leading_number));
        }
    }
    restored.values_mut().for_each(|splits| splits.sort_unstable());
    restored
}
