//! The source behind its ports: any text, cut anywhere, with restores, late answers and splits that come in between.

use super::enumerator::FileEnumerator;
use super::*;
use crate::api::file_io::{FileAnswer, FileOperation};
use crate::api::input_io::{InputAnswer, InputOperation};
use crate::api::source::*;
use crate::config::{FetcherConfig, FileReaderConfig, FileSourceConfig};
use crate::connectors::recording_context::RecordingContext;
use crate::coordination::test_jobs::job;
use crate::defects::DefectSet;
use crate::ids::{CheckpointId, FetcherNumber, OperatorUid, SplitId, SubtaskIndex};
use crate::message::SplitPayload;
use crate::reader_base::FetcherContext;
use proptest::prelude::*;
use std::collections::VecDeque;

fn config(chunk_bytes: u64) -> FileSourceConfig {
    FileSourceConfig {
        folder: "in".to_owned(),
        block_bytes: 4,
        reader: FileReaderConfig { format: RecordFormat::TextLines, chunk_bytes },
        discovery_period_ns: None,
    }
}

fn encoded(split: &FileSplit) -> SplitPayload {
    let source = FileSource {
        operator: OperatorUid(0),
        config: config(1),
        fetchers: FetcherConfig::DEFAULT,
        defects: DefectSet::NONE,
    };
    source.encode_split(split)
}

/// A reader, its only fetcher, and the outside, which answers when it likes.
struct Reading<'a> {
    content: &'a [u8],
    chunk: u64,
    reader: Box<dyn ReaderPort>,
    context: ReaderContext,
    fetchers: Vec<FetcherNumber>,
    asked: VecDeque<(FetcherNumber, InputOperation)>,
    lines: Vec<Vec<u8>>,
}

impl<'a> Reading<'a> {
    fn new(content: &'a [u8], chunk: u64, splits: Vec<SplitPayload>) -> Self {
        let task = job(1, DefectSet::NONE).vertices[0].task;
        let reader = file_reader(config(chunk).reader, &task, DefectSet::NONE);
        let context = ReaderContext::default();
        let (fetchers, asked, lines) = (Vec::new(), VecDeque::new(), Vec::new());
        let mut reading = Self { content, chunk, reader, context, fetchers, asked, lines };
        if !splits.is_empty() {
            reading.add(splits);
        }
        reading
    }

    fn add(&mut self, splits: Vec<SplitPayload>) {
        self.reader.add_splits(splits, &mut self.context);
        self.note_started();
    }

    fn note_started(&mut self) {
        for note in self.context.fetching.drain(..) {
            if let FetchingNote::FetcherStarted(fetcher) = note {
                self.fetchers.push(fetcher);
            }
        }
    }

    /// One thing happens: an answer, a fetcher's turn or a poll, in this order from `first` on.
    fn step(&mut self, first: usize) -> Option<InputStatus> {
        for kind in (0..3).map(|at| (at + first) % 3) {
            match kind {
                0 if !self.asked.is_empty() => return self.answer(),
                1 if self.runnable().is_some() => return self.fetch(),
                2 if self.reader.is_available() => return self.poll(),
                _ => {}
            }
        }
        None
    }

    fn runnable(&self) -> Option<FetcherNumber> {
        self.fetchers.iter().copied().find(|fetcher| self.reader.fetcher_is_runnable(*fetcher))
    }

    fn answer(&mut self) -> Option<InputStatus> {
        let (fetcher, operation) = self.asked.pop_front()?;
        let InputOperation::File(FileOperation::Read { at, length, .. }) = operation else {
            panic!("a reader reads")
        };
        let from = self.content.get(at as usize..).unwrap_or_default();
        self.reader.fetch_answered(
            fetcher,
            InputAnswer::File(FileAnswer::Bytes(from[..from.len().min(length as usize)].to_vec())),
        );
        Some(InputStatus::MoreAvailable)
    }

    fn fetch(&mut self) -> Option<InputStatus> {
        let fetcher = self.runnable()?;
        let mut context = FetcherContext::default();
        self.reader.fetcher_turn(fetcher, 3, &mut context);
        self.asked.extend(context.asks.map(|operation| (fetcher, operation)));
        assert!(self.asked.len() <= 1, "a thread waits for one system call");
        if let Some(error) = context.ended {
            assert_eq!(error, None);
            self.fetchers.retain(|other| *other != fetcher);
        }
        Some(InputStatus::MoreAvailable)
    }

    fn poll(&mut self) -> Option<InputStatus> {
        let mut records = Vec::new();
        let status = self.reader.poll_next(2, &mut records, &mut self.context).expect("it is readable");
        self.note_started();
        self.lines.extend(records.into_iter().map(|record| record.payload));
        Some(status)
    }

    /// A new reader goes on from a snapshot of this one.
    fn restored(mut self) -> Self {
        let snapshot = self.reader.snapshot_state(CheckpointId(1));
        let lines = std::mem::take(&mut self.lines);
        Self { lines, ..Self::new(self.content, self.chunk, snapshot) }
    }
}

fn lines_of(content: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec()).collect()
}

proptest! {
    #[test]
    fn each_line_comes_once_whatever_comes_in_between(
        content in prop::collection::vec(prop::sample::select(&b"ab\n\n\r"[..]), 0..40),
        block in 1_u64..12,
        chunk in 1_u64..9,
        choices in prop::collection::vec(0_usize..10, 0..80),
    ) {
        let splits = cut("f", content.len() as u64, block, RecordFormat::TextLines);
        let mut pending: VecDeque<SplitPayload> = (0..)
            .zip(splits)
            .map(|(index, part)| {
                let id = SplitId { operator: OperatorUid(0), index };
                encoded(&FileSplit { id, part, records: 0 })
            })
            .collect();
        let mut reading = Reading::new(&content, chunk, Vec::new());
        for choice in choices {
            match (choice, pending.pop_front()) {
                (7 | 8, Some(split)) => reading.add(vec![split]),
                (9, split) => {
                    pending.extend(split);
                    reading = reading.restored();
                }
                (choice, split) => {
                    split.into_iter().for_each(|split| pending.push_front(split));
                    // Mostly the fetcher's thread, so that answers come late: those who wait for them are woken up.
                    reading.step([0, 2].get(choice).copied().unwrap_or(1));
                }
            }
        }
        if !pending.is_empty() {
            reading.add(pending.into());
        }
        reading.reader.notify_no_more_splits(&mut reading.context);
        while reading.step(0).expect("it goes on to its end") != InputStatus::EndOfInput {}
        let mut expected = lines_of(&content);
        expected.sort();
        reading.lines.sort();
        prop_assert_eq!(reading.lines, expected);
    }
}

/// What the worker makes of a folder with these files.
fn look(enumerator: &mut FileEnumerator, files: &[(&str, u64)], context: &mut RecordingContext) {
    let call = AsyncCallName(0);
    let asked = enumerator.ask_async(call);
    assert_eq!(asked, Some(InputOperation::File(FileOperation::List { folder: "in".to_owned() })));
    let files = files.iter().map(|(path, size)| ((*path).to_owned(), *size)).collect();
    let result = enumerator.async_answered(call, InputAnswer::File(FileAnswer::Listed(files)));
    enumerator.handle_async_result(call, result, context).expect("it is a list");
}

#[test]
fn who_asks_before_the_look_is_served_after_it_and_then_nothing_more_comes() {
    let mut enumerator = FileEnumerator::create(OperatorUid(0), &config(1));
    let mut context = RecordingContext::default();
    enumerator.start(&mut context).unwrap();
    enumerator.handle_split_request(SubtaskIndex(1), &mut context).unwrap();
    assert_eq!(context.said(), "look, again after None");
    look(&mut enumerator, &[("in/a", 6), ("in/.hidden", 9)], &mut context);
    assert_eq!(context.said(), "2 discovered; split-0 to 1");
    let (pending, state) = enumerator.snapshot_state(CheckpointId(1), &mut context).unwrap();
    let mut restored = FileEnumerator::restore(OperatorUid(0), &config(1), pending, Some(state));
    restored.start(&mut context).unwrap();
    restored.handle_split_request(SubtaskIndex(0), &mut context).unwrap();
    restored.handle_split_request(SubtaskIndex(0), &mut context).unwrap();
    assert_eq!(context.said(), "split-1 to 0; no more to 0", "a bounded source looks once");
}

#[test]
fn a_source_without_an_end_goes_on_looking_and_numbers_on() {
    let config = FileSourceConfig { discovery_period_ns: Some(5), ..config(1) };
    let mut enumerator = FileEnumerator::create(OperatorUid(0), &config);
    let mut context = RecordingContext::default();
    enumerator.start(&mut context).unwrap();
    look(&mut enumerator, &[("in/a", 4)], &mut context);
    enumerator.handle_split_request(SubtaskIndex(0), &mut context).unwrap();
    enumerator.handle_split_request(SubtaskIndex(0), &mut context).unwrap();
    assert_eq!(context.said(), "look, again after Some(5); 1 discovered; split-0 to 0");
    look(&mut enumerator, &[("in/a", 4), ("in/b", 4)], &mut context);
    assert_eq!(context.said(), "1 discovered; split-1 to 0");
    let failed = Err(UserError::new("the folder is gone"));
    assert_eq!(enumerator.handle_async_result(AsyncCallName(0), failed, &mut context), Ok(()));
}

#[test]
fn a_bounded_source_fails_with_its_look() {
    let mut enumerator = FileEnumerator::create(OperatorUid(0), &config(1));
    let result = enumerator
        .async_answered(AsyncCallName(0), InputAnswer::File(FileAnswer::Failed("no disk".to_owned())));
    let told = enumerator.handle_async_result(AsyncCallName(0), result, &mut RecordingContext::default());
    assert!(told.is_err_and(|error| error.message.contains("no disk")));
}
