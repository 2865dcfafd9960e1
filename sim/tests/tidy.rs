//! The house rules that no compiler holds: rooms stay small, lines short, nothing is left lying about.
//!
//! A rule with its reason: files of one role (median under 200 lines, none over 600) and functions under 70 lines are read
//! in one go; what nobody declares as a module is dead; a leftover marker is a promise without a date.

use std::fs;
use std::path::{Path, PathBuf};

const FILE_LINES_MAX: usize = 600;
const FILE_LINES_MEDIAN_MAX: usize = 200;
const FUNCTION_LINES_MAX: usize = 70;
/// rustfmt holds code at 110; this is for prose in comments, which it leaves alone.
const COLUMNS_MAX: usize = 124;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("sim lies in the workspace").to_owned()
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder of the tree")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            rust_files(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for folder in ["runtime", "sim", "invariants", "fuzz"] {
        rust_files(&workspace().join(folder), &mut found);
    }
    assert!(found.len() > 40, "the walk must see the tree, not {} files", found.len());
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("readable"))).collect()
}

fn is_test(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.contains("/tests/") || text.ends_with("tests.rs") || text.ends_with("testing.rs")
}

/// The lines before the file's own unit tests.
fn product_lines(text: &str) -> usize {
    text.lines().take_while(|line| *line != "#[cfg(test)]").count()
}

/// (name, length) of every function, by indentation: rustfmt puts the closing brace under the `fn`.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let is_function =
            ["fn ", "pub fn ", "pub(super) fn ", "pub(crate) fn ", "const fn ", "pub const fn ", "async fn "]
                .iter()
                .any(|head| code.starts_with(head));
        if !is_function || code.ends_with(';') || code.ends_with('}') {
            continue;
        }
        let opens = lines[start..].iter().find(|later| later.ends_with('{') || later.ends_with(';'));
        if opens.is_none_or(|line| line.ends_with(';')) {
            continue;
        }
        let closing = format!("{}}}", " ".repeat(indent));
        if let Some(length) = lines[start..].iter().position(|later| *later == closing) {
            let name = code.split('(').next().unwrap_or(code).to_owned();
            found.push((name, length + 1));
        }
    }
    found
}

#[test]
fn rooms_are_small() {
    let mut complaints = Vec::new();
    let mut lengths = Vec::new();
    for (path, text) in sources() {
        if is_test(&path) {
            continue;
        }
        let length = product_lines(&text);
        lengths.push(length);
        if length > FILE_LINES_MAX && !path.ends_with("event.rs") && !path.ends_with("message.rs") {
            complaints.push(format!("{}: {length} lines", path.display()));
        }
        for (name, length) in functions(&text) {
            if length >= FUNCTION_LINES_MAX {
                complaints.push(format!("{}: {name}: {length} lines", path.display()));
            }
        }
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median < FILE_LINES_MEDIAN_MAX, "the median file has {median} lines");
    assert!(complaints.is_empty(), "too large:\n{}", complaints.join("\n"));
}

#[test]
fn nothing_is_left_lying_about() {
    let mut complaints = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let place = format!("{}:{}", path.display(), number + 1);
            let is_literal = line.contains('"');
            if line.chars().count() > COLUMNS_MAX && !is_literal {
                complaints.push(format!("{place}: {} columns", line.chars().count()));
            }
            // Split, so that this file does not find itself.
            for leftover in [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")] {
                if line.contains(leftover) {
                    complaints.push(format!("{place}: {leftover}"));
                }
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_file_is_somebodys_module() {
    let files = sources();
    let mut complaints = Vec::new();
    for (path, _) in &files {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let root = ["lib", "main", "mod", "build"].contains(&stem);
        let parent =
            path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
        if root || ["tests", "benches", "examples"].contains(&parent) {
            continue;
        }
        let declarations = [format!("mod {stem};"), format!("#[path = \"{stem}.rs\"]")];
        if !files.iter().any(|(_, text)| declarations.iter().any(|declared| text.contains(declared))) {
            complaints.push(path.display().to_string());
        }
    }
    assert!(complaints.is_empty(), "declared by no module:\n{}", complaints.join("\n"));
}

#[test]
fn the_rules_would_find_a_breach() {
    let long = format!("fn long() {{\n{}}}\n", "    step();\n".repeat(80));
    assert_eq!(functions(&long), [("fn long".to_owned(), 82)]);
    assert_eq!(product_lines("a\nb\n#[cfg(test)]\nmod tests {}\n"), 2);
}
