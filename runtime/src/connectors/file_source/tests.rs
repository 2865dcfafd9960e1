//! Any text, cut anywhere, read in chunks of any size, with a restore at any moment: each line comes once.

use super::*;
use crate::api::file_io::{FileAnswer, FileOperation};
use proptest::prelude::*;

/// Reads a split of a file with this content; `restore_after` counts the records before each restore.
fn read(
    content: &[u8],
    split: FileSourceSplit,
    format: RecordFormat,
    chunk: u64,
    restore_after: &[usize],
) -> Result<Vec<FileRecord>, FileSourceError> {
    let mut reader = FileSplitReader::new(split, format, chunk);
    let (mut records, mut restores) = (Vec::new(), restore_after.iter().copied());
    let mut until_restore = restores.next();
    loop {
        if until_restore == Some(0) {
            reader = FileSplitReader::new(reader.snapshot(), format, chunk);
            until_restore = restores.next();
        }
        if let Some(record) = reader.next_record()? {
            records.push(record);
            until_restore = until_restore.map(|left| left.saturating_sub(1));
            continue;
        }
        let Some(FileOperation::Read { at, length, .. }) = reader.next_operation() else {
            assert!(reader.is_finished(), "nothing to ask for and not finished: {reader:?}");
            return Ok(records);
        };
        let from = content.get(at as usize..).unwrap_or_default();
        reader.answered(FileAnswer::Bytes(from[..from.len().min(length as usize)].to_vec()))?;
    }
}

fn lines_of(content: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec()).collect()
}

/// Short lines of few letters, so that ends of lines and of blocks meet in every way.
fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(&b"ab\n\n\r"[..]), 0..60)
}

proptest! {
    #[test]
    fn each_line_belongs_to_one_split(
        content in text(),
        block in 1_u64..12,
        chunk in 1_u64..9,
        restore_after in prop::collection::vec(0_usize..4, 0..4),
    ) {
        let splits = cut("f", content.len() as u64, block, RecordFormat::TextLines);
        let mut read_lines = Vec::new();
        for split in splits {
            let end = split.end();
            let begin = split.offset;
            let records = read(&content, split, RecordFormat::TextLines, chunk, &restore_after).expect("readable");
            prop_assert!(records.iter().all(|record| (begin..end).contains(&record.offset)));
            read_lines.extend(records.into_iter().map(|record| record.bytes));
        }
        prop_assert_eq!(read_lines, lines_of(&content));
    }

    #[test]
    fn frames_come_as_they_were_written(
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..9),
        chunk in 1_u64..9,
        restore_after in prop::collection::vec(0_usize..4, 0..4),
        torn in 0_usize..3,
    ) {
        let mut content: Vec<u8> = frames
            .iter()
            .flat_map(|frame| (frame.len() as u32).to_le_bytes().into_iter().chain(frame.iter().copied()))
            .collect();
        let torn = torn.min(frames.last().map_or(0, |frame| frame.len() + 3));
        content.truncate(content.len() - torn);
        let splits = cut("f", content.len() as u64, 4, RecordFormat::Frames);
        prop_assert!(splits.len() <= 1, "a file of frames is one split");
        for split in splits {
            let records = read(&content, split, RecordFormat::Frames, chunk, &restore_after);
            if torn == 0 {
                let read_frames: Vec<_> = records.expect("whole").into_iter().map(|record| record.bytes).collect();
                prop_assert_eq!(&read_frames, &frames);
            } else {
                let is_torn = matches!(records, Err(FileSourceError::TornFrame { .. }));
                prop_assert!(is_torn, "{:?}", records);
            }
        }
    }
}

#[test]
fn a_file_that_has_lost_bytes_since_it_was_found_is_told() {
    let content = b"one\ntwo\nthree\n";
    let splits = cut("f", content.len() as u64, content.len() as u64, RecordFormat::TextLines);
    let [split] = &splits[..] else { panic!("one block: {splits:?}") };
    let found = read(&content[..8], split.clone(), RecordFormat::TextLines, 5, &[]);
    let expected = FileSourceError::Shorter { path: "f".to_owned(), found: 8, expected: 14 };
    assert_eq!(found.expect_err("it is shorter"), expected);
}

#[test]
fn a_file_is_found_once_and_what_is_hidden_is_no_input() {
    let mut discovery = Discovery::new(String::new(), 4, RecordFormat::TextLines);
    let listed = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 6)).collect::<Vec<_>>();
    let first = discovery.found(&listed(&[".part-0-0.inprogress.1", "a", "_tmp/b"]));
    assert_eq!(first.iter().map(|split| (split.offset, split.length)).collect::<Vec<_>>(), [(0, 4), (4, 2)]);
    let restored: Discovery =
        postcard::from_bytes(&postcard::to_stdvec(&discovery).expect("plain data")).expect("it");
    for mut discovery in [discovery, restored] {
        let found = discovery.found(&listed(&["a", "folder/c"]));
        assert!(found.iter().all(|split| split.path == "folder/c") && found.len() == 2);
    }
}

#[test]
fn a_file_that_is_gone_is_told_by_its_name() {
    let [split] = &cut("gone", 3, 8, RecordFormat::TextLines)[..] else { panic!("one part") };
    let mut reader = FileSplitReader::new(split.clone(), RecordFormat::TextLines, 8);
    assert_eq!(reader.answered(FileAnswer::NotFound).unwrap_err().to_string(), "gone is gone");
}
