//! A file system in memory: what it acknowledged and what survives a loss of power are two things.
//!
//! A write is seen by everybody at once, and durable only once the file is synced. A rename is one step and durable with
//! it, for what was synced of the file before: the order that a journalling file system keeps. [`FileSystem::lose_power`]
//! takes back a drawn part of what was not synced; a process that merely dies takes nothing back.
//!
//! The real one beside it gives the same answers to the same operations (`fuzz/splitrace/tests/files_parity.rs`).

use crate::choices::{ChoiceKind, Choices, Draw, Label, Subject};
use serde::{Deserialize, Serialize};
use splitrace_runtime::api::file_io::{FileAnswer, FileOperation};
use std::collections::BTreeMap;

/// What survives is drawn on so many steps.
const SURVIVING_GRID: u64 = 16;

/// A file.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
struct File {
    content: Vec<u8>,
    /// So much of it survives a loss of power.
    durable: usize,
}

impl File {
    fn cut(&mut self, length: usize) {
        self.content.truncate(length);
        self.durable = self.durable.min(self.content.len());
    }
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct FileSystem {
    files: BTreeMap<String, File>,
    /// How many more bytes it takes; `None` for any number.
    space_left: Option<u64>,
}

impl FileSystem {
    /// One that takes so many bytes.
    #[must_use]
    pub const fn with_space(bytes: u64) -> Self {
        Self { files: BTreeMap::new(), space_left: Some(bytes) }
    }

    /// Carries an operation out.
    pub fn perform(&mut self, operation: &FileOperation) -> FileAnswer {
        match operation {
            FileOperation::Write { path, at, bytes } => self.write(path, *at as usize, bytes),
            FileOperation::Sync { path, length } => self.with_file(path, |file| {
                file.durable = file.content.len();
                match file.durable as u64 {
                    short if short < *length => FileAnswer::TooShort(short),
                    _ => FileAnswer::Done,
                }
            }),
            FileOperation::Resume { path, length } => {
                self.with_file(path, |file| cut_to(file, *length as usize))
            }
            FileOperation::Publish { hidden, target, length } => {
                self.publish(hidden, target, *length as usize)
            }
            FileOperation::Delete { path } => match self.files.remove(path) {
                Some(_) => FileAnswer::Done,
                None => FileAnswer::AlreadyDone,
            },
            FileOperation::Read { path, at, length } => self.with_file(path, |file| {
                let from = file.content.get(*at as usize..).unwrap_or_default();
                FileAnswer::Bytes(from[..from.len().min(*length as usize)].to_vec())
            }),
            FileOperation::List { folder } => FileAnswer::Listed(self.list(folder)),
        }
    }

    /// The content of a file.
    #[must_use]
    pub fn read(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(|file| &file.content[..])
    }

    /// The machine loses its power: of what was written since the last sync of a file, a drawn part survives, from its
    /// beginning on. A file of which nothing was ever synced may be gone.
    pub fn lose_power(&mut self, choices: &mut dyn Choices) {
        let label = Label::new(ChoiceKind::CutAt, Subject::World);
        for file in self.files.values_mut() {
            let unsynced = file.content.len() - file.durable;
            // The benign value keeps everything.
            let lost = choices.choose(label, Draw::Below(SURVIVING_GRID + 1)) as usize;
            let survives = unsynced - unsynced * lost / SURVIVING_GRID as usize;
            file.content.truncate(file.durable + survives);
            file.durable = file.content.len();
        }
        self.files.retain(|_, file| !file.content.is_empty());
    }

    fn with_file(&mut self, path: &str, act: impl FnOnce(&mut File) -> FileAnswer) -> FileAnswer {
        self.files.get_mut(path).map_or(FileAnswer::NotFound, act)
    }

    fn write(&mut self, path: &str, at: usize, bytes: &[u8]) -> FileAnswer {
        let length = self.files.get(path).map_or(0, |file| file.content.len());
        if length < at {
            return FileAnswer::TooShort(length as u64);
        }
        let room = self.space_left.map_or(bytes.len(), |left| bytes.len().min(left as usize));
        let file = self.files.entry(path.to_owned()).or_default();
        file.cut(at);
        file.content.extend_from_slice(&bytes[..room]);
        if let Some(left) = &mut self.space_left {
            *left -= room as u64;
        }
        debug_assert!(file.durable <= file.content.len());
        if room < bytes.len() { FileAnswer::NoSpace } else { FileAnswer::Done }
    }

    fn publish(&mut self, hidden: &str, target: &str, length: usize) -> FileAnswer {
        let Some(file) = self.files.get_mut(hidden) else {
            let is_there = self.files.contains_key(target);
            return if is_there { FileAnswer::AlreadyDone } else { FileAnswer::NotFound };
        };
        let cut = cut_to(file, length);
        if cut == FileAnswer::Done {
            let file = self.files.remove(hidden).expect("it was there just now");
            self.files.insert(target.to_owned(), file);
        }
        cut
    }

    pub(super) fn list(&self, folder: &str) -> Vec<(String, u64)> {
        listing(folder, self.files.iter().map(|(path, file)| (path, file.content.len())))
    }
}

/// Of these, with their lengths, those that lie below a folder; empty for the root.
pub(super) fn listing<'a>(
    folder: &str,
    all: impl Iterator<Item = (&'a String, usize)>,
) -> Vec<(String, u64)> {
    let lies_in =
        |path: &str| folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    all.filter(|(path, _)| lies_in(path)).map(|(path, length)| (path.clone(), length as u64)).collect()
}

fn cut_to(file: &mut File, length: usize) -> FileAnswer {
    if file.content.len() < length {
        return FileAnswer::TooShort(file.content.len() as u64);
    }
    file.cut(length);
    FileAnswer::Done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{BenignChoices, SeedChoices};

    fn write(path: &str, at: u64, bytes: &[u8]) -> FileOperation {
        FileOperation::Write { path: path.to_owned(), at, bytes: bytes.to_vec() }
    }

    fn sync(path: &str) -> FileOperation {
        FileOperation::Sync { path: path.to_owned(), length: 0 }
    }

    #[test]
    fn a_write_that_is_asked_twice_is_one_write() {
        let mut files = FileSystem::default();
        for _ in 0..2 {
            assert_eq!(files.perform(&write("a", 0, b"one\n")), FileAnswer::Done);
            assert_eq!(files.perform(&write("a", 4, b"two\n")), FileAnswer::Done);
        }
        assert_eq!(files.read("a"), Some(&b"one\ntwo\n"[..]));
        assert_eq!(files.perform(&write("a", 9, b"x")), FileAnswer::TooShort(8));
    }

    #[test]
    fn power_takes_back_only_what_was_not_synced_and_not_always_all() {
        let mut lengths = std::collections::BTreeSet::new();
        for seed in 0..50 {
            let mut files = FileSystem::default();
            for operation in
                [write("a", 0, b"synced"), sync("a"), write("a", 6, b"not synced"), write("b", 0, b"x")]
            {
                assert_eq!(files.perform(&operation), FileAnswer::Done);
            }
            files.lose_power(&mut SeedChoices::new(seed));
            let left = files.read("a").expect("a part of it was synced");
            assert!(b"syncednot synced".starts_with(left) && left.len() >= 6, "{left:?}");
            lengths.insert(left.len());
        }
        assert!(lengths.contains(&6) && lengths.contains(&16) && lengths.len() > 5, "{lengths:?}");
        let mut files = FileSystem::default();
        files.perform(&write("a", 0, b"kept"));
        files.lose_power(&mut BenignChoices);
        assert_eq!(files.read("a"), Some(&b"kept"[..]), "the default is benign");
    }

    #[test]
    fn a_full_one_takes_a_part_and_says_so() {
        let mut files = FileSystem::with_space(5);
        assert_eq!(files.perform(&write("a", 0, b"abc")), FileAnswer::Done);
        assert_eq!(files.perform(&write("a", 3, b"def")), FileAnswer::NoSpace);
        assert_eq!(files.read("a"), Some(&b"abcde"[..]));
    }
}
